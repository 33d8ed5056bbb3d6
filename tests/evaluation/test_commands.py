"""Commands in all directions: what robots are asked for, and what is measured."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from solo.cli.eval import EvalCommands
from solo.envs.names import COMMAND
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import DIRECTIONS
from solo.evaluation.sim_env import make_sim_env

NUM_JOINTS = 25


@pytest.fixture(scope="module")
def env():
    source = open_policy("stand", "g1")
    made = make_sim_env(source, DIRECTIONS, DIRECTIONS.cells[0], len(DIRECTIONS.cells))
    yield made
    made.close()


@torch.inference_mode()
def test_every_slot_gets_the_command_of_its_job(env):
    """Turning robots turn on; the others are led back to their heading."""
    starts = [DIRECTIONS.draw_start(c, 0, NUM_JOINTS) for c in DIRECTIONS.cells]
    env.begin(range(len(starts)), starts)
    manager, robot = env.env.command_manager, env.env.scene["robot"]
    asked = dict(DIRECTIONS.commands)
    names = list(asked)
    pose = robot.data.root_link_pose_w.clone()
    pose[:, 3:] = torch.tensor([np.cos(0.1), 0.0, 0.0, np.sin(0.1)])  # 0.2 rad left.
    robot.write_root_link_pose_to_sim(pose)
    env.env.sim.forward()
    manager.compute(dt=0.02)
    found = manager.get_command(COMMAND)[: len(names)]
    for name, (forward, left, turn) in zip(names, found.tolist(), strict=True):
        wanted = asked[name]
        assert (forward, left) == pytest.approx(wanted[:2]), name
        back = -0.5 * 0.2  # Training's stiffness times the error of the heading.
        assert turn == pytest.approx(back if wanted[2] is None else wanted[2], abs=1e-3)


@pytest.mark.slow
def test_who_stands_for_ten_seconds_has_not_fallen_but_not_moved_either(
    tmp_path, capsys
):
    result = EvalCommands(
        policy="stand", rollouts=1, time_s=0.4, output=tmp_path / "out"
    ).run()
    jobs = {job["setting"]["label"]: job for job in result["cells"]}
    assert set(jobs) == {name for name, _ in DIRECTIONS.commands}
    for job in jobs.values():
        assert job["outcomes"]["success"] == 1
    moved = jobs["forward"]["measures"]["moved_forward"]["mean"]
    assert abs(moved) < 0.2
    assert jobs["left"]["rollouts"][0]["measures"].keys() >= {
        "moved_sideways",
        "turned",
    }
    assert "turn rad/s" in capsys.readouterr().out
