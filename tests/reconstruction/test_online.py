"""Stage 3: reconstructor and student learn side by side without touching each other."""

from __future__ import annotations

import io
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed
from tensordict import TensorDict
from torch import nn
from torch.multiprocessing.spawn import spawn

from solo.algorithms.perceptive_ta_mse import window_mirrors
from solo.errors import SoloError
from solo.reconstruction.networks import RECONSTRUCTORS, make_reconstructor
from solo.reconstruction.networks.dense import DenseReconstructor
from solo.reconstruction.online import (
    ReconstructionLearner,
    ReconstructionLearnerCfg,
    WindowBuffer,
    share_images,
)
from solo.reconstruction.perceiver import (
    DEPTH,
    MAP,
    PROPRIOCEPTION,
    TRUE_MAP,
    TRUE_VELOCITY,
    VELOCITY,
    WINDOW,
)
from solo.reconstruction.update import make_optimizer
from tests.algorithms.tiny import STEPS, all_parameters, assert_same
from tests.algorithms.tiny_perceptive import (
    IO,
    LINEAR,
    TINY_QR,
    TINY_START,
    TinyPerceptiveEnv,
    make_perceptive,
    roll_out,
)


@pytest.fixture(autouse=True)
def linear(monkeypatch):
    monkeypatch.setitem(RECONSTRUCTORS, "linear", LINEAR)


def copy(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {k: v.clone() for k, v in module.state_dict().items()}


def differ(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return any(not torch.equal(left[k], right[k]) for k in left)


@pytest.mark.parametrize("name", ["linear", "qr"])
def test_no_gradient_crosses_between_student_and_reconstructor(name, monkeypatch):
    env = TinyPerceptiveEnv()
    algorithm = make_perceptive(env, name)
    learner = algorithm.learner
    roll_out(algorithm, env)
    learn = learner.update
    monkeypatch.setattr(learner, "update", dict)

    student, reconstructor = all_parameters(algorithm), copy(learner.model)
    algorithm.update()
    assert differ(student, all_parameters(algorithm))
    assert_same(reconstructor, copy(learner.model))
    assert all(p.grad is None for p in learner.model.parameters())

    student = all_parameters(algorithm)
    grads = [p.grad.clone() for p in algorithm.actor.parameters() if p.grad is not None]
    learn()
    assert_same(student, all_parameters(algorithm))
    left = [p.grad for p in algorithm.actor.parameters() if p.grad is not None]
    assert all(torch.equal(a, b) for a, b in zip(grads, left, strict=True))
    assert differ(reconstructor, copy(learner.model))


def test_batches_shrink_with_the_rollout():
    cfg = ReconstructionLearnerCfg(samples=8192, batch=512, updates=16)
    sizes = {
        envs: ReconstructionLearner("linear", {"io": IO}, cfg, envs, 24).batch
        for envs in (1, 8, 2048)
    }
    # 24, 192 and (342 of each step) 8208 windows, each of them used once.
    assert sizes == {1: 1, 8: 12, 2048: 512}


def test_the_rollout_storage_has_estimates_and_no_images():
    env = TinyPerceptiveEnv()
    algorithm = make_perceptive(env)
    observed = roll_out(algorithm, env)[:-1]
    stored = algorithm.storage.observations
    assert DEPTH not in stored
    assert WINDOW not in stored
    assert not stored[MAP].requires_grad
    for step, obs in enumerate(observed):
        assert torch.equal(stored[PROPRIOCEPTION][step], obs[WINDOW][:, -1])
        estimate, _ = algorithm.learner.model(obs[DEPTH], obs[WINDOW])
        assert torch.equal(stored[VELOCITY][step], estimate["velocity"])
        assert torch.equal(stored[MAP][step], estimate["height"])
        assert torch.equal(stored[TRUE_MAP][step], obs[TRUE_MAP])


def test_every_observation_is_perceived_once(monkeypatch):
    env = TinyPerceptiveEnv()
    algorithm = make_perceptive(env, "qr")
    asked, estimate = [], algorithm.perceiver.estimate

    def count(obs, dones=None):
        asked.append(dones is not None)
        return estimate(obs, dones)

    monkeypatch.setattr(algorithm.perceiver, "estimate", count)
    roll_out(algorithm, env)
    assert asked == [False] + [True] * STEPS


def test_buffer_keeps_windows_with_their_labels():
    env = TinyPerceptiveEnv()
    buffer = WindowBuffer(IO, env.num_envs, STEPS, 2 * STEPS + 1, "cpu")
    assert buffer.per_step == 3  # Rounded up.
    observed = []
    for _ in range(STEPS):
        observed.append(obs := env.get_observations())
        buffer.add(obs)
        env.step(torch.randn(env.num_envs, env.num_actions))
    assert len(buffer) == 3 * STEPS
    buffer.add(obs)
    assert len(buffer) == 3 * STEPS
    depth, window, height, velocity = buffer.take(torch.arange(len(buffer)))[:4]
    for row in range(len(buffer)):
        obs = observed[row // 3]
        matches = (obs[WINDOW] == window[row]).flatten(1).all(dim=1).nonzero()
        assert len(matches) == 1
        env_id = int(matches)
        assert torch.equal(depth[row], obs[DEPTH][env_id])
        assert torch.equal(height[row], obs[TRUE_MAP][env_id])
        assert torch.equal(velocity[row], obs[TRUE_VELOCITY][env_id])


def test_buffer_keeps_mirror_images_of_some_windows():
    frame = {"source": [1, 0, 2, 3, 4, 5, 6], "signs": [1.0] * 6 + [-1.0]}
    env = TinyPerceptiveEnv()
    buffer = WindowBuffer(IO, env.num_envs, 9, 999, "cpu", window_mirrors(frame))
    obs = env.get_observations()
    before = obs.clone()
    for _ in range(9):
        buffer.add(obs)
    assert all(torch.equal(obs[k], before[k]) for k in (DEPTH, WINDOW, TRUE_MAP))
    num_images = 0
    for depth, window, height, velocity in zip(
        *buffer.take(torch.arange(len(buffer)))[:4], strict=True
    ):
        is_image = not (obs[WINDOW][:, 0, 6] == window[0, 6]).any()
        last = -window[0, 6] if is_image else window[0, 6]
        own = int((obs[WINDOW][:, 0, 6] == last).nonzero())
        num_images += is_image
        expected = {k: obs[k][own] for k in (DEPTH, WINDOW, TRUE_MAP, TRUE_VELOCITY)}
        if is_image:
            swapped = expected[WINDOW][:, frame["source"]]
            swapped[:, 6] *= -1.0
            expected = {
                DEPTH: expected[DEPTH][:, :, [5, 4, 3, 2, 1, 0]],
                WINDOW: swapped,
                TRUE_MAP: expected[TRUE_MAP][[3, 2, 1, 0]],
                TRUE_VELOCITY: expected[TRUE_VELOCITY] * torch.tensor([1, -1, 1]),
            }
        assert torch.equal(depth, expected[DEPTH])
        assert torch.equal(window, expected[WINDOW])
        assert torch.equal(height, expected[TRUE_MAP])
        assert torch.equal(velocity, expected[TRUE_VELOCITY])
    assert 10 < num_images < 44  # Of 54; a coin leaves that range once in 10 million.


def test_some_cells_per_update_teach_the_whole_map():
    """Ground higher than an untrained network thinks, two blocks of it at a time."""
    torch.manual_seed(0)
    cfg = ReconstructionLearnerCfg(updates=150, batch=8, cells=2, learning_rate=2e-2)
    env, fields = TinyPerceptiveEnv(), {**TINY_QR, "io": IO}
    learner = ReconstructionLearner("qr", fields, cfg, env.num_envs, STEPS)
    obs = env.get_observations()
    obs[TRUE_MAP] = torch.full_like(obs[TRUE_MAP], IO.height_unit_m - IO.base_height_m)

    def error() -> float:
        with torch.no_grad():
            outputs, _ = learner.model(obs[DEPTH], obs[WINDOW])
        return (outputs["height"] - obs[TRUE_MAP]).abs().max().item()

    assert error() > 0.5 * IO.height_unit_m
    learner.buffer.add(obs)
    learner.update()
    assert error() < 0.3 * IO.height_unit_m


def test_the_reconstructor_learns_along_and_its_rate_falls_as_a_cosine():
    env = TinyPerceptiveEnv()
    algorithm = make_perceptive(env, learner={"updates": 30, "learning_rate": 1e-2})
    reports = []
    for _ in range(11):
        roll_out(algorithm, env)
        reports.append(algorithm.update())
    assert reports[-1]["recon_height_cm"] < 0.5 * reports[0]["recon_height_cm"]
    assert reports[-1]["recon_velocity"] < 0.7 * reports[0]["recon_velocity"]
    rates = [report["recon_learning_rate"] for report in reports]
    assert rates[0] == pytest.approx(1e-2)
    assert rates[5] == pytest.approx(5e-3)
    assert rates[10] == pytest.approx(0.0)
    # Checks come every second iteration.
    assert ["depth_zeroed_gap" in report for report in reports[:4]] == [True, False] * 2


def test_reported_errors_are_those_of_the_estimates_acted_on():
    env = TinyPerceptiveEnv()
    algorithm = make_perceptive(env)
    roll_out(algorithm, env)
    stored = algorithm.storage.observations
    error = stored[MAP] - stored[TRUE_MAP]
    expected = 100.0 * error.abs().mean().item()
    assert algorithm.update()["recon_height_cm"] == pytest.approx(expected, rel=1e-5)


def follow(env: TinyPerceptiveEnv, buffer: WindowBuffer, steps: int) -> None:
    for _ in range(steps):
        buffer.add(env.get_observations())
        env.step(torch.randn(env.num_envs, env.num_actions))


def test_images_that_neighbours_share_are_there_once():
    env = TinyPerceptiveEnv()
    buffer = WindowBuffer(IO, env.num_envs, 9, 4 * 9, "cpu", follows=True)
    follow(env, buffer, 9)
    # Two robots, at steps 0 and 3: three windows each, two steps (a stride) apart.
    first = torch.tensor([1, 3 * 4 + 2])
    rows = first[:, None] + IO.depth_stride * 4 * torch.arange(3)
    batch = buffer.take(rows.flatten())
    batch.depth[4, :2] = 0.5  # As if an episode had begun before this window alone.
    shared = share_images(batch, 3)
    assert shared.frame_of is not None
    assert torch.equal(shared.depth[shared.frame_of], batch.depth)
    # 3 + 1 + 1 of the first group; 3 + 3 + 2 of the second.
    assert len(shared.depth) == 13


def test_neighbours_are_learned_from():
    env = TinyPerceptiveEnv()
    fields = {"io": IO, **TINY_QR}
    cfg = ReconstructionLearnerCfg(samples=54, batch=6, updates=2, neighbours=3)
    learner = ReconstructionLearner("qr", fields, cfg, env.num_envs, 9)
    before = copy(learner.model)
    follow(env, learner.buffer, 9)
    assert learner.update()["recon_loss"] > 0.0
    assert differ(before, copy(learner.model))
    cfg = ReconstructionLearnerCfg(neighbours=6)
    with pytest.raises(ValueError, match="neighbours is 6, which takes 11 steps"):
        ReconstructionLearner("qr", fields, cfg, env.num_envs, 9)


def test_a_memory_is_streamed_and_learned_from_the_states_it_had():
    env = TinyPerceptiveEnv()
    fields = {"io": asdict(IO), **TINY_START}
    learner = {"samples": 6 * STEPS, "sequence": 3}
    algorithm = make_perceptive(env, "start_memory", fields=fields, learner=learner)
    roll_out(algorithm, env)
    model, buffer = algorithm.learner.model, algorithm.learner.buffer
    assert isinstance(model, DenseReconstructor)
    # Row r is of robot envs[r % 6]; from the states before their first steps, sequences
    # lead to the maps that were acted on, also across the ends of episodes.
    first = torch.arange(6 * (STEPS - 2))
    batch, state = buffer.take_sequences(first, 3)
    assert batch.begins is not None
    assert batch.begins[:6, 0].all()
    assert batch.begins[:, 1:].any()
    with torch.no_grad():
        outputs, _ = model.unroll(
            batch.depth, batch.proprioception, batch.begins, state
        )
    height = outputs["height"].unflatten(0, (-1, 3))
    acted_on = algorithm.storage.observations[MAP]  # [STEPS, 6, Y, X]
    for row in range(len(first)):
        robot, step = int(buffer._envs[row % 6]), row // 6
        torch.testing.assert_close(height[row], acted_on[step : step + 3, robot])
    before = copy(model)
    assert algorithm.update()["recon_loss"] > 0.0
    assert differ(before, copy(model))


def test_a_run_that_began_with_adam_goes_on_with_it():
    twins = [nn.Linear(3, 2), nn.Linear(3, 2)]
    twins[1].load_state_dict(twins[0].state_dict())
    optimizers = [
        torch.optim.Adam(twins[0].parameters(), lr=0.1),
        make_optimizer(twins[1], 0.1),
    ]
    optimizers[1].load_state_dict(optimizers[0].state_dict())
    for twin, optimizer in zip(twins, optimizers, strict=True):
        for _ in range(3):
            optimizer.zero_grad()
            twin(torch.ones(1, 3)).square().sum().backward()
            optimizer.step()
    assert_same(copy(twins[0]), copy(twins[1]))


def warm_up(iterations: int) -> dict[str, int]:
    return {"warm_up_iterations": iterations, "warm_up_updates": 5}


def test_the_student_sees_the_truth_until_the_reconstructor_has_warmed_up():
    env = TinyPerceptiveEnv()
    algorithm = make_perceptive(env, "qr", learner=warm_up(2))
    is_true, has_errors, updates = [], [], []
    for _ in range(3):
        roll_out(algorithm, env)
        stored = algorithm.storage.observations
        # What a rollout begins with was seen before the last update.
        same = (stored[VELOCITY] == stored[TRUE_VELOCITY]).all(dim=-1)[1:]  # [T, B]
        is_true.append(same.float().mean().item())
        has_errors.append("recon_height_cm" in algorithm.update())
        adam = algorithm.learner.optimizer.state_dict()["state"][0]
        updates.append(int(adam["step"]))
    assert is_true == [1.0, 1.0, 0.0]
    assert has_errors == [False, False, True]
    assert updates == [5, 10, 13]


def test_the_student_sees_the_blurred_velocity_where_there_is_one():
    class Blurred(TinyPerceptiveEnv):
        def get_observations(self) -> TensorDict:
            seen = super().get_observations()
            seen["blurred_velocity"] = seen[TRUE_VELOCITY] + 0.5
            return seen

    env = Blurred()
    algorithm = make_perceptive(env, "qr", learner=warm_up(1))
    for is_warm in (False, True):
        roll_out(algorithm, env)
        stored = algorithm.storage.observations
        error = stored[VELOCITY][1:] - stored[TRUE_VELOCITY][1:]
        assert torch.allclose(error, torch.tensor(0.5), atol=1e-6) is not is_warm
        algorithm.update()


def test_warm_up_without_updates_is_refused():
    with pytest.raises(SoloError, match="warm_up_updates is 0"):
        ReconstructionLearnerCfg(warm_up_iterations=2)


@pytest.mark.parametrize("name", ["linear", "qr"])
def test_a_checkpoint_has_all_that_going_on_needs(name):
    env = TinyPerceptiveEnv()
    first = make_perceptive(env, name)
    for _ in range(2):
        roll_out(first, env)
        first.update()
    file = io.BytesIO()
    torch.save(first.save(), file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    second = make_perceptive(TinyPerceptiveEnv(), name, seed=5)
    second.load(saved, None, strict=True)
    assert second.learner.iteration == 2
    assert_same(copy(first.learner.model), copy(second.learner.model))
    # The same windows in the same order lead both to the same place.
    states = []
    for algorithm in (first, second):
        torch.manual_seed(7)
        other_env = TinyPerceptiveEnv(seed=3)
        for _ in range(STEPS):
            algorithm.learner.buffer.add(other_env.get_observations())
            other_env.step(torch.ones(env.num_envs, env.num_actions))
        algorithm.learner.update()
        states.append(copy(algorithm.learner.model))
    assert_same(*states)

    state = saved["reconstructor"]
    model = make_reconstructor(state["name"], **state["fields"])
    model.load_state_dict(state["model"])
    assert_same(copy(model), state["model"])
    other = make_perceptive(TinyPerceptiveEnv(), "linear" if name == "qr" else "qr")
    with pytest.raises(SoloError, match="Resume it with --reconstructor"):
        other.load(saved, None, strict=True)


def learn_on(algorithm: Any, env: TinyPerceptiveEnv, obs: TensorDict) -> TensorDict:
    """An iteration that begins where the last one ended, as rsl_rl's runner does."""
    with torch.inference_mode():
        for _ in range(STEPS):
            obs, *rest = env.step(algorithm.act(obs))
            algorithm.process_env_step(obs, *rest)
        algorithm.compute_returns(obs)
    algorithm.update()
    return obs


@pytest.mark.parametrize(
    "warm_up_iterations",
    [
        pytest.param(0, marks=pytest.mark.slow),
        2,
        pytest.param(4, marks=pytest.mark.slow),
    ],
)
def test_going_on_from_a_checkpoint_gives_the_same_bits(warm_up_iterations):
    env = TinyPerceptiveEnv()
    learner = warm_up(warm_up_iterations)
    first = make_perceptive(env, "qr", learner=learner)
    obs = env.get_observations()
    for _ in range(2):
        obs = learn_on(first, env, obs)
    saved, carried, rng = deepcopy(
        (first.save(), first.carried_state(), torch.get_rng_state())
    )
    memory = first.actor.get_hidden_state()
    copied_env = deepcopy(env)

    second = make_perceptive(copied_env, "qr", seed=5, learner=learner)
    second.load(saved, None, strict=True)
    second.actor.reset(hidden_state=deepcopy(memory))
    second.set_carried_state(carried)
    results = []
    for algorithm, world, start in (
        (first, env, obs),
        (second, copied_env, copied_env.get_observations()),
    ):
        torch.set_rng_state(rng)
        for _ in range(2):
            start = learn_on(algorithm, world, start)
        state = all_parameters(algorithm) | copy(algorithm.learner.model)
        results.append(state)
    assert_same(*results)


def learn_in_parallel(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2
    )
    env = TinyPerceptiveEnv(seed=rank)
    ranks = {"global_rank": rank, "local_rank": rank, "world_size": 2}
    algorithm = make_perceptive(env, "qr", seed=rank, multi_gpu=ranks)
    algorithm.broadcast_parameters()
    for _ in range(3):
        roll_out(algorithm, env)
        algorithm.update()
    torch.save(copy(algorithm.learner.model), f"{folder}/{rank}.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_keep_the_same_reconstructor(tmp_path: Path):
    spawn(learn_in_parallel, (str(tmp_path),), nprocs=2)
    assert_same(*(torch.load(tmp_path / f"{rank}.pt") for rank in range(2)))
