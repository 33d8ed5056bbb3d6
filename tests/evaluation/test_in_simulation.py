"""Evaluations with everything real, as small as they get."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from solo.evaluation.evaluate import run_cell
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import STRESS, LimitsCfg
from solo.evaluation.rollout import classify
from solo.evaluation.sim_env import make_sim_env
from solo.results import Outcome
from solo.sim.threads import stepping_threads
from tests.evaluation.runs import write_perceptive_run, write_run

pytestmark = pytest.mark.slow

SHORT = replace(
    STRESS,
    terrains=("random_grid",),
    rollouts=40,
    num_patches=3,
    limits=LimitsCfg(time_s=1.5),
)
CELL = SHORT.cells[0]


def rollouts(policy: str, num_slots: int = 64, num_threads: int | None = None) -> str:
    """All rollouts as text, to be compared to the last digit."""
    result = run_cell(SHORT, open_policy(policy), CELL, num_slots, num_threads)
    return repr(result.rollouts)


@pytest.mark.parametrize("stage", ["teacher", "student", "perceptive"])
def test_a_checkpoint_gives_the_same_in_any_batch_and_with_any_threads(stage, tmp_path):
    write = write_perceptive_run if stage == "perceptive" else write_run
    policy = str(write(tmp_path / stage, *(() if stage == "perceptive" else (stage,))))
    first = rollouts(policy, num_slots=64, num_threads=1)
    assert rollouts(policy, num_slots=64, num_threads=2) == first
    assert rollouts(policy, num_slots=32, num_threads=2) == first


def test_an_agent_that_draws_gives_the_same_in_any_batch():
    first = rollouts("random", num_slots=64)
    assert rollouts("random", num_slots=64) == first
    assert rollouts("random", num_slots=32) == first


@pytest.mark.parametrize("policy", ["zero", "random", "stand"])
@pytest.mark.parametrize("terrain", ["gap", "high_plane"])
def test_whoever_does_not_walk_fails(policy, terrain):
    protocol = replace(
        STRESS, terrains=(terrain,), rollouts=32, limits=LimitsCfg(time_s=4.0)
    )
    result = run_cell(protocol, open_policy(policy), protocol.cells[0])
    assert result.success.successes == 0
    assert result.outcomes["diverged"] == 0
    expected = "time_out" if policy == "stand" else "fall"
    assert result.outcomes[expected] >= 31
    assert (result.measures["velocity_error"].mean or 0.0) > 0.3


@pytest.fixture(scope="module")
def stairs():
    """An environment on descending stairs whose robots have just begun."""
    protocol = replace(STRESS, terrains=("stairs_down_25",), rollouts=32)
    source, cell = open_policy("zero"), protocol.cells[0]
    env = make_sim_env(source, protocol, cell, 32)
    with stepping_threads(), torch.inference_mode():
        yield env, protocol.starts(cell, 25)
    env.close()


def test_rollouts_begin_as_drawn_and_nothing_disturbs_them(stairs):
    env, starts = stairs
    env.begin(range(32), starts)
    robot = env.env.scene["robot"].data
    origins = env.env.scene.env_origins
    offset = (robot.root_link_pos_w - origins)[:, :2].numpy()
    expected = np.array([start.offset_m for start in starts])
    np.testing.assert_allclose(offset, expected, atol=1e-5)
    np.testing.assert_allclose(robot.heading_w.numpy(), 0.0, atol=1e-6)
    assert robot.root_link_vel_w.abs().max() == 0.0
    command = env.env.command_manager.get_command("twist").numpy()
    np.testing.assert_allclose(command[:, 0], [s.forward_m_s for s in starts])
    np.testing.assert_array_equal(command[:, 1:], 0.0)
    assert list(env.env.event_manager.active_terms) == ["reset"]


def test_a_robot_behind_the_line_has_succeeded(stairs):
    env, starts = stairs
    there = [
        replace(start, offset_m=np.array([4.9 if i % 2 else 5.1, 0.0]))
        for i, start in enumerate(starts)
    ]
    env.begin(range(32), there)
    report = env.step(torch.zeros(32, 25))
    outcomes = classify(report, np.ones(32), 1500, 5.0, env.half_patch_m)
    assert outcomes == [Outcome.SUCCESS, None] * 16


def test_the_row_of_patches_goes_on_behind_the_first(stairs):
    env, _ = stairs
    scene = env.env.scene.terrain.terrain_scene
    x, y, _ = scene.origins_m[9, 0]  # The last patch that robots start on.
    heights = scene.grid.height_at(x + np.arange(0.0, 5.5, 0.05) + 0.01, y)
    assert heights[0] == pytest.approx(11 * 0.25)
    assert heights.min() == pytest.approx(0.0)
    assert heights[-1] > 0.9  # It goes up again on the next patch.


def test_a_foot_on_an_edge_and_a_fallen_robot_are_noticed(stairs):
    env, starts = stairs
    on_edge = [replace(s, offset_m=np.array([1.2 + 0.01 * i, 0.0]), patch=0)
               for i, s in enumerate(starts)]  # fmt: skip
    env.begin(range(32), on_edge)
    foothold, fallen = np.zeros(32), np.zeros(32, dtype=bool)
    for _ in range(120):
        report = env.step(torch.zeros(32, 25))
        foothold += report.measures["foothold_grad_penalty"]
        fallen |= report.has_fallen
        assert not report.has_diverged.any()
    assert (foothold > 0.0).mean() > 0.5
    assert fallen.all()
