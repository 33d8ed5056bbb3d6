"""A training that is killed and goes on ends as one that was never stopped."""

from __future__ import annotations

import itertools
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from solo.reconstruction.networks.interface import ReconstructionIoCfg
from solo.robots.g1 import G1
from solo.runs.folder import checkpoints
from solo.runs.run import load_checkpoint
from solo.stages.runner import VecEnv, learner_state, set_learner_state
from solo.stages.train import train_perceptive, train_student, train_teacher
from solo.stages.train_cfg import PerceptiveCfg, StudentCfg, TeacherCfg
from solo.tasks.profiles import SMOKE, HolesCfg
from solo.terrains import TerrainSceneCfg
from tests.reconstruction.networks.helpers import SIZES

TERRAIN = TerrainSceneCfg(("flat", "gap"), num_levels=2, border_m=4.0)
STEPS = 24
ITERATIONS = {"teacher": 6, "student": 4, "perceptive": 4}
IO = ReconstructionIoCfg(depth_shape=(16, 25), query_block=4)
PROFILE = replace(
    SMOKE,
    save_interval=1,
    perception=replace(SMOKE.perception, network={"io": IO, **SIZES["qr"]}),
    holes=HolesCfg(),
)


def run(stage: str, output: Path, before: Path, **changes: Any) -> dict[str, Any]:
    """Train a stage on the run of the one before."""
    options: dict[str, Any] = {
        "robot": G1,
        "profile": PROFILE,
        "output": output,
        "num_envs": 4,
        "terrain": TERRAIN,
        "iterations": ITERATIONS[stage],
    } | changes
    if stage == "teacher":
        return train_teacher(TeacherCfg(**options))
    if stage == "student":
        return train_student(StudentCfg(**options, teacher=before))
    return train_perceptive(PerceptiveCfg(**options, student=before))


def resume(stage: str, folder: Path, **changes: Any) -> dict[str, Any]:
    """Go on with a run; nothing but its folder is given."""
    if stage == "teacher":
        return train_teacher(TeacherCfg(resume=folder, **changes))
    if stage == "student":
        return train_student(StudentCfg(resume=folder, **changes))
    return train_perceptive(PerceptiveCfg(resume=folder, **changes))


KILLED = """
import itertools, os, signal
from pathlib import Path
from solo.stages.runner import VecEnv
from tests.stages import test_resume
step = VecEnv.step
for stage, output, before in {jobs}:
    last, count = test_resume.half(stage) * test_resume.STEPS + 10, itertools.count(1)
    def step_or_die(self, actions):
        if next(count) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, actions)
    VecEnv.step = step_or_die
    if (child := os.fork()) == 0:
        test_resume.run(stage, Path(output), Path(before))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
"""
"""Trains each stage in a process that dies in the middle of an iteration."""


def half(stage: str) -> int:
    """Iterations before the kill."""
    return ITERATIONS[stage] // 2


def bits(tensor: torch.Tensor) -> tuple[torch.Size, bytes]:
    return tensor.shape, tensor.numpy().tobytes()


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Paths at which two checkpoints differ in at least one bit."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key), other.get(key), f"{path}/{key}")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        yield from differences(dict(enumerate(one)), dict(enumerate(other)), path)
    elif isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.dtype != other.dtype or bits(one) != bits(other):
            yield path
    elif one != other:
        yield path


@pytest.fixture(scope="module")
def straight_teacher(tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("straight") / "teacher"
    run("teacher", output, output)
    return output


@pytest.fixture(scope="module")
def straight_student(straight_teacher, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("straight") / "student"
    run("student", output, straight_teacher)
    return output


@pytest.fixture(scope="module")
def killed(straight_teacher, straight_student, tmp_path_factory) -> dict[str, Path]:
    """Stage to its killed run. All have one parent, which has imported and no more."""
    folder = tmp_path_factory.mktemp("killed")
    starts = {
        "teacher": straight_teacher,
        "student": straight_teacher,
        "perceptive": straight_student,
    }
    jobs = [(stage, str(folder / stage), str(run)) for stage, run in starts.items()]
    root = Path(__file__).parent.parent.parent
    code = KILLED.format(jobs=jobs)
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)
    return {stage: folder / stage for stage in starts}


@pytest.mark.slow
@pytest.mark.parametrize("stage", ITERATIONS)
def test_killed_and_resumed_is_the_same_to_the_bit(
    stage, straight_teacher, straight_student, killed, tmp_path
):
    straight = {"teacher": straight_teacher, "student": straight_student}.get(stage)
    if straight is None:
        straight = tmp_path / "straight"
        run(stage, straight, straight_student)
    folder = killed[stage]
    names = [path.name for path in checkpoints(folder)]
    assert names == [f"model_{k}.pt" for k in range(half(stage))]
    resume(stage, folder)

    last = f"model_{ITERATIONS[stage] - 1}.pt"
    expected, found = load_checkpoint(straight / last), load_checkpoint(folder / last)
    keys = {"actor_state_dict", "critic_state_dict", "optimizer_state_dict"}
    assert keys | {"amp_state_dict"} <= expected.keys()
    # Each stage goes on counting where the one before ended.
    stages = list(ITERATIONS)
    past = sum(ITERATIONS[name] for name in stages[: stages.index(stage) + 1])
    assert expected["infos"]["env"]["common_step_counter"] == past * STEPS
    # Networks, normalisers, optimisers, replay, curriculum, simulation, random state.
    assert set(differences(expected, found)) <= {"/infos/total_time_s"}
    halfway = load_checkpoint(folder / f"model_{half(stage) - 1}.pt")
    qpos = "/infos/env_snapshot/tensors/state/qpos/exact"
    assert qpos in set(differences(halfway, found))
    if stage != "teacher":
        hidden, cell = found["infos"]["learner"]["hidden_states"]["actor"]
        assert hidden.any()
        assert cell.any()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_is_saved_and_goes_on(number, tmp_path, monkeypatch):
    output, step, count = tmp_path / "run", VecEnv.step, itertools.count(1)

    def step_or_stop(self, actions):
        if next(count) == STEPS + 10:
            signal.raise_signal(number)
        return step(self, actions)

    monkeypatch.setattr(VecEnv, "step", step_or_stop)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        summary = run("teacher", output, output, iterations=3)
    finally:
        signal.signal(signal.SIGINT, before)
    assert summary["stopped"]
    assert summary["checkpoint"] == str(checkpoints(output)[-1])
    load_checkpoint(checkpoints(output)[-1])
    summary = resume("teacher", output)
    assert summary["iteration"] == 2
    assert not summary["stopped"]


@pytest.mark.slow
def test_another_number_of_environments_keeps_the_levels(
    straight_teacher, tmp_path, capsys
):
    output = tmp_path / "more"
    shutil.copytree(straight_teacher, output)
    resume("teacher", output, num_envs=3, iterations=7)
    assert "of 4 environments, here are 3" in capsys.readouterr().out
    infos = load_checkpoint(output / "model_6.pt")["infos"]
    assert len(infos["env"]["terrain_levels"]) == 3
    assert infos["env"]["common_step_counter"] == 7 * STEPS


@pytest.mark.slow
def test_a_checkpoint_without_the_environment_begins_new_episodes(
    straight_teacher, tmp_path
):
    output = tmp_path / "without"
    shutil.copytree(straight_teacher, output)
    saved = load_checkpoint(straight_teacher / "model_5.pt")
    saved["infos"]["env_snapshot"] = None
    torch.save(saved, output / "model_5.pt")
    summary = resume("teacher", output, iterations=7)
    assert summary["iteration"] == 6


class Memory:
    """A model with a hidden state, and an algorithm that carries something."""

    def __init__(self, value: float) -> None:
        self.hidden: Any = (torch.full((1, 2, 3), value), torch.full((1, 2, 3), value))
        self.actor, self.seen = self, torch.full((2,), value)

    def get_hidden_state(self) -> Any:
        return self.hidden

    def reset(self, dones: Any = None, hidden_state: Any = None) -> None:
        self.hidden = hidden_state

    def carried_state(self) -> dict[str, torch.Tensor]:
        return {"seen": self.seen}

    def set_carried_state(self, state: dict[str, torch.Tensor]) -> None:
        self.seen = state["seen"]


def test_the_learner_remembers_models_episodes_and_what_the_algorithm_carries():
    def runner(value: float) -> Any:
        logger = SimpleNamespace(
            cur_reward_sum=torch.full((2,), value),
            cur_episode_length=torch.full((2,), value),
            rewbuffer=deque([value], maxlen=100),
            lenbuffer=deque([value], maxlen=100),
        )
        return SimpleNamespace(alg=Memory(value), logger=logger)

    one, other = runner(1.0), runner(2.0)
    set_learner_state(other, learner_state(one))
    assert torch.equal(other.alg.hidden[1], one.alg.hidden[1])
    assert other.alg.hidden[1] is not one.alg.hidden[1]
    assert torch.equal(other.alg.seen, one.alg.seen)
    assert torch.equal(other.logger.cur_reward_sum, one.logger.cur_reward_sum)
    assert other.logger.lenbuffer == deque([1.0])
    assert other.logger.lenbuffer.maxlen == 100
