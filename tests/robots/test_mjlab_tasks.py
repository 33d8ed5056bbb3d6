"""mjlab's own commands find the tasks of a robot that an installed package brings."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from solo.runs import open_run

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = """
import sys
import booster_t1
print(booster_t1.T1.name, file=sys.stderr)

# Now mjlab first. What both import of others may stay: it knows nothing of tasks.
for name in list(sys.modules):
    if name.split(".")[0] in ("booster_t1", "mjlab", "solo"):
        del sys.modules[name]
print("AGAIN", file=sys.stderr)
from pathlib import Path
from mjlab.scripts.train import TrainConfig, run_train
from mjlab.tasks.registry import list_tasks, load_env_cfg, load_rl_cfg
from solo.terrains.scene import TerrainSceneCfg

task = "Solo-Teacher-Booster-T1"
assert {f"Solo-{s}-Booster-T1" for s in ("Teacher", "Student", "Perceptive")} <= set(
    list_tasks()
)
env, agent = load_env_cfg(task), load_rl_cfg(task)
env.scene.num_envs, agent.max_iterations = 2, 1
env.scene.terrain.scene = TerrainSceneCfg(("flat",), num_levels=2, border_m=4.0)
agent.algorithm["num_learning_epochs"] = 1
run_train(task, TrainConfig(env=env, agent=agent), Path(sys.argv[1]))
"""
"""Imports the robot's module first, then mjlab first, and trains."""

pytestmark = pytest.mark.skipif(
    find_spec("holosoma") is None,
    reason="The T1's model: pip install --no-deps holosoma==0.0.3",
)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder of a process in which the example is an installed package, and what
    it said in each of its halves.
    """
    folder = tmp_path_factory.mktemp("installed")
    info = folder / "robots-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: robots\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[solo.robots]\nbooster_t1 = booster_t1:T1\nbroken = no_such_module:ROBOT\n"
    )
    path = os.pathsep.join([str(folder), str(EXAMPLES), *filter(None, sys.path)])
    env = {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder / "run")],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stderr.split("AGAIN")


@pytest.mark.slow
def test_mjlabs_train_finds_the_tasks_and_trains(done, monkeypatch):
    folder, (_, said) = done
    assert "no tasks for the robot 'broken': " in said
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    trained = open_run(folder / "run")
    assert trained.robot.name == "booster_t1"
    assert len(trained.robot.joint_names) == 21


@pytest.mark.slow
def test_the_robots_module_may_be_imported_first(done):
    _, (said, _) = done
    assert said.strip().endswith("booster_t1:T1")
    assert "Traceback" not in said
    assert "'booster_t1'" not in said
