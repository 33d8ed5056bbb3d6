"""Strips in the simulation: changing legs goes unnoticed, the obstacle is there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from solo.evaluation.failures import RecordedEnv
from solo.evaluation.mdp import move
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import LimitsCfg, Start
from solo.evaluation.rollout import run_rollouts
from solo.evaluation.route import ROUTE, RouteProtocol
from solo.evaluation.sim_env import make_sim_env
from solo.evaluation.strips import COURSE
from solo.results import Outcome
from solo.sim.threads import stepping_threads
from solo.terrains.strips.catalogue import PAD_M
from solo.terrains.strips.segments import Flat, Stairs
from solo.terrains.strips.strip import Strip, StripSceneCfg, make_strip
from tests.evaluation.fake import FakePolicy

pytestmark = pytest.mark.slow

SEEN = ("height_map", "proprioception_window", "depth", "base_velocity")
TURN = math.radians(50.0)


class Still(FakePolicy):
    """Holds the default pose, so robots fall forward."""

    def __init__(self) -> None:
        super().__init__(32)

    def act(self, observations: Any):
        return torch.zeros(32, 25), {}


def make_start(index: int, leg: int, x_m: float) -> Start:
    return Start(index, leg, np.array([x_m, 0.3]), np.ones(25), 0.7, (index,))


@dataclass(frozen=True)
class TwoLegs(RouteProtocol):
    """A way over given strips."""

    strips: tuple[Strip, ...] = ()

    def scene(self, cell: Any) -> StripSceneCfg:
        return StripSceneCfg(strips=self.strips, patch_m=2 * PAD_M)

    def turns(self, cell: Any) -> list[tuple[float, float]]:
        first, second = self.strips
        return [(first.finish_m, TURN), (second.finish_m, 0.0)]

    def limits_of(self, cell: Any) -> LimitsCfg:
        return LimitsCfg(time_s=20.0)


@pytest.fixture(scope="module")
def legs():
    """Two legs of level ground at different heights, one with stairs before it."""
    pads: Any = {
        "approach_m": PAD_M,
        "run_out_m": 1.0,
        "before_m": PAD_M,
        "after_m": PAD_M,
    }
    strips = (
        make_strip((Stairs(0.15, 0.3, 4, "stairs"),), **pads),
        make_strip((Flat(1.0),), **pads),
    )
    lengths = np.array([strip.finish_m for strip in strips])
    source = replace(open_policy("zero"), stage="perceptive", groups=SEEN)
    env = make_sim_env(source, TwoLegs(strips=strips), ROUTE.cells[0], 32)
    with stepping_threads(), torch.inference_mode():
        yield env, lengths
    env.close()


def test_a_robot_does_not_notice_that_it_changes_legs(legs):
    """Twins come over a finish line; one of them is on its last leg and goes on."""
    env, lengths = legs
    env.begin(range(32), [make_start(i, 0, lengths[0] - 0.1) for i in range(32)])
    terrain, robot = env.env.scene.terrain, env.env.scene["robot"]
    terrain.terrain_levels[::2] = 1
    velocity = torch.tensor([[0.8, 0.1, 0.0, 0.0, 0.0, 0.2]]).expand(32, 6)
    robot.write_root_link_velocity_to_sim(velocity)
    generator = torch.Generator().manual_seed(0)
    steps = 0  # Since the change.
    while steps < 5:
        actions = 0.1 * torch.randn(1, 25, generator=generator).expand(32, 25)
        report = env.step(actions)
        assert not report.has_fallen.any()
        steps += int(terrain.terrain_levels[1]) == 1
        errors = {
            name: (values[1] - values[0]).abs()
            for name, values in env.observations().items()
        }
        errors["proprioception_window"][:, 6:9] = 0.0  # The command asks for a turn.
        depth = errors.pop("depth")
        if steps <= 1:
            assert max(error.max() for error in errors.values()) < 1e-5
            # Rays that graze a limb may round differently.
            assert (depth > 1e-5).sum() <= 3
        # Then feet touch other triangles of the ground, which round differently.
        assert max(depth.max(), errors["height_map"].max()) < 1e-3
        if steps == 1:
            heading = robot.data.heading_w[1] - robot.data.heading_w[0]
            assert heading.item() == pytest.approx(-TURN, abs=1e-5)
            yaw_rate = env.observations()["proprioception_window"][:2, -1, 8]
            # The gain is 0.5; the line is elsewhere for both, a little.
            assert yaw_rate[1] - yaw_rate[0] == pytest.approx(TURN / 2, abs=0.1)
    depth = env.observations()["depth"][1]
    assert 0.5 < depth[:, 0].min() <= depth[:, 0].max() < 1.0  # It sees the ground.


def test_distance_goes_on_from_leg_to_leg(legs):
    env, lengths = legs
    starts = [make_start(i, 0, lengths[0] - 0.005) for i in range(32)]
    env.begin(range(32), starts)
    velocity = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]).expand(32, 6)
    env.env.scene["robot"].write_root_link_velocity_to_sim(velocity)
    report = env.step(torch.zeros(32, 25))
    x, y = report.position_m[0]
    # The offset (0.015, 0.3) from the finish line, turned to the right by the bend.
    ahead = 0.015 * math.cos(TURN) + 0.3 * math.sin(TURN)
    aside = 0.3 * math.cos(TURN) - 0.015 * math.sin(TURN)
    assert x == pytest.approx(lengths[0] + ahead, abs=0.01)
    assert y == pytest.approx(aside, abs=0.01)
    assert not report.has_fallen.any()


def test_a_fall_behind_a_bend_is_recorded_where_it_happened(legs):
    """Robots fall forward over the finish line, one of them far in front of it."""
    env, lengths = legs
    recorded = RecordedEnv(env, "g1", 2)
    starts = [make_start(0, 0, lengths[0] - 0.1), make_start(1, 0, 1.0)]
    limits = LimitsCfg(pass_m=1000.0, time_s=5.0)
    policy = Still()
    over, before = run_rollouts(recorded, policy, starts, limits, recorded.on_end)
    assert over.distance_m > lengths[0]
    assert before.distance_m < lengths[0]
    scene = env.env.scene.terrain.terrain_scene
    for index, rollout in enumerate((over, before)):
        failure, leg = recorded.failures[0, index], 1 - index
        assert failure.outcome == Outcome.FALL
        origin_m = scene.origins_m[leg, 0]
        np.testing.assert_array_equal(failure.origin_m, origin_m)
        begin_m = lengths[0] if leg == 1 else 0.0
        assert rollout.distance_m is not None
        walked_m = rollout.distance_m - begin_m
        assert failure.qpos[-1, 0] - origin_m[0] == pytest.approx(walked_m, abs=0.05)
        # Legs are twelve metres apart; the ground is that of one of them.
        assert np.ptp(failure.qpos[:, :2], axis=0).max() < 2.0
        assert max(failure.ground.grid.size_m) < 10.0
    # The one that changed legs is known from there on only.
    times = [recorded.failures[0, index].time_s[0] for index in (0, 1)]
    assert times[0] > 0.0
    assert times[1] == pytest.approx(0.0, abs=0.1)


def test_move_is_rigid():
    pose = torch.tensor([[1.0, 2.0, 0.7, 1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    velocity = torch.tensor([[1.0, 0.0, 0.3, 0.1, 0.2, 0.3]], dtype=torch.float64)
    there = torch.tensor([[5.0, 5.0, 1.0]], dtype=torch.float64)
    here = torch.tensor([[1.0, 1.0, 0.0]], dtype=torch.float64)
    quarter = torch.tensor([math.pi / 2], dtype=torch.float64)
    new_pose, new_velocity = move(pose, velocity, here, there, quarter)
    # One metre to the left of the point becomes one metre behind it.
    half = math.sqrt(0.5)
    expected = [[4.0, 5.0, 1.7, half, 0.0, 0.0, half]]
    torch.testing.assert_close(new_pose, torch.tensor(expected, dtype=torch.float64))
    expected = [[0.0, 1.0, 0.3, 0.1, 0.2, 0.3]]
    torch.testing.assert_close(
        new_velocity, torch.tensor(expected, dtype=torch.float64)
    )


def test_the_obstacle_stands_on_the_course_of_every_robot():
    from solo.envs.obstacle import obstacle_pose

    protocol = replace(COURSE, rollouts=3)
    scene = protocol.scene(protocol.cells[0])
    at_m = scene.strips[0].obstacle_at_m
    assert at_m is not None
    source = replace(open_policy("zero"), groups=("height_map",))
    with stepping_threads(), torch.inference_mode():
        env = make_sim_env(source, protocol, protocol.cells[0], 32)
        try:
            # Half a metre before the box, whose front is 0.2 m before its middle.
            starts = [make_start(i, i % 3, at_m - 0.7) for i in range(32)]
            env.begin(range(32), starts)
            position, _ = obstacle_pose(env.env)
            expected = env.env.scene.env_origins + torch.tensor([at_m, 0.0, 0.0])
            torch.testing.assert_close(position[:, :2], expected[:, :2])
            heights = env.observations()["height_map"][0]
            heights = heights - heights.min()
            assert heights.max() == pytest.approx(0.2, abs=0.01)
        finally:
            env.close()
