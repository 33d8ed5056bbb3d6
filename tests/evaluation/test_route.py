"""The route: its plan, and exact numbers of scripted robots that walk it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from solo.evaluation import evaluate as module
from solo.evaluation.evaluate import describe_job, evaluate, gather, run_waves
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import Start, StartRangeCfg
from solo.evaluation.rollout import Policy, StepReport
from solo.evaluation.route import ROUTE, RouteProtocol, RouteStage
from solo.result_files import parse_result, to_json
from solo.results import RouteSummary
from solo.robots import get_robot
from solo.sensors.depth.camera import longest_ray_m
from solo.terrains.patch import CELL_M
from solo.terrains.strips.catalogue import PAD_M, SIGHT_M, draw_leg

STEP_M = 0.25
"""0.5 m/s at 2 Hz."""
SHORT = replace(
    ROUTE, length_m=130.0, stage_m=45.0, rollouts=3, start=StartRangeCfg(offset_m=0.0)
)


class Walkers:
    """Robots that walk at 0.5 m/s and fall, stop or leave the way at given places."""

    step_s = 0.5
    half_patch_m = 3.0

    def __init__(self, stage: RouteStage, events: dict, num_slots: int) -> None:
        self.stage, self.events = stage, events
        self.num_slots = self.lanes = num_slots
        self.robots: list[int | None] = [None] * num_slots
        self.x = np.zeros(num_slots)

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        for slot, start in zip(slots, starts, strict=True):
            self.robots[slot] = start.index
            self.x[slot] = self.stage.legs[start.patch].begin_m + start.offset_m[0]

    def observations(self) -> np.ndarray:
        return self.x

    def step(self, actions: torch.Tensor) -> StepReport:
        position = np.zeros((self.num_slots, 2))
        fallen = np.zeros(self.num_slots, dtype=bool)
        for slot, robot in enumerate(self.robots):
            before, after = self.x[slot], self.x[slot] + STEP_M
            for place_m, what in self.events.get((self.stage.level, robot), ()):
                if what == "stop" and before >= place_m:
                    after = before
                elif before < place_m <= after:
                    fallen[slot] |= what == "fall"
                    position[slot, 1] = 4.0 if what == "leave" else 0.0
            self.x[slot] = position[slot, 0] = after
        return StepReport(position, fallen, np.zeros_like(fallen), {})


class Eyes(Policy):
    """A policy whose map is wrong by a millimetre per metre along the stage."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        pass

    def act(self, observations: np.ndarray):
        errors = {"height_map_l1_m": 0.001 * observations}
        return torch.zeros(self.num_slots, 1), errors


def walk_stage(
    protocol: RouteProtocol, stage: RouteStage, events: dict, num_slots: int
):
    """One stage, as `run_cell` does it in the simulation."""
    env, watch = Walkers(stage, events, num_slots), protocol.watch(stage)
    waves = run_waves(protocol, stage, env, Eyes(num_slots), 2, watch=watch)
    job = describe_job(stage, [rollout for _, rollout in waves[0]], 1000, 2.0)
    return protocol.describe_job(job, stage, waves, watch)


def walk(protocol: RouteProtocol, events: dict, num_slots: int = 4) -> RouteSummary:
    """The numbers of the whole route."""
    jobs = [walk_stage(protocol, stage, events, num_slots) for stage in protocol.cells]
    config = {"protocol": {"name": "route"}, "policy": {"name": "eyes"}}
    found = protocol.describe_all(gather(config, jobs)).route
    assert found is not None
    return found


def test_who_never_falls_walks_the_whole_route():
    route = walk(SHORT, {})
    assert route.distance_m == pytest.approx(3 * 130.0)
    assert route.share_walked == pytest.approx(1.0)
    assert route.completed.successes == 3
    assert (route.falls, route.incidents, route.falls_per_km) == (0, 0, 0.0)
    assert route.mean_distance_between_falls_m is None
    assert route.longest_m == pytest.approx(130.0)


def test_falls_are_counted_and_what_is_skipped_is_not_walked():
    first, second = SHORT.cells[0], SHORT.cells[1]
    assert len(first.legs) == len(second.legs) == 2
    leg_m = first.legs[1].begin_m
    # Robot 0 falls after 10 m and goes on at leg 1. Robot 1 falls in the second stage
    # 5 m after its second start line, which is its last leg. Robot 2 falls twice.
    again_m = second.legs[1].begin_m + 5.0
    events = {
        (0, 0): [(10.0, "fall")],
        (1, 1): [(again_m, "fall")],
        (0, 2): [(10.0, "fall"), (leg_m + 2.0, "fall")],
    }
    route = walk(SHORT, events)
    robots = route.per_robot
    skipped_0 = leg_m - 10.0
    skipped_1 = second.length_m - again_m
    skipped_2 = (leg_m - 10.0) + (first.length_m - leg_m - 2.0)
    for robot, skipped in zip(robots, (skipped_0, skipped_1, skipped_2), strict=True):
        assert robot["distance_m"] == pytest.approx(130.0 - skipped, abs=STEP_M)
    assert [robot["falls"] for robot in robots] == [1, 1, 2]
    assert robots[0]["first_m"] == pytest.approx(10.0, abs=STEP_M)
    assert robots[0]["longest_m"] == pytest.approx(130.0 - leg_m, abs=STEP_M)
    assert robots[1]["first_m"] == pytest.approx(first.length_m + again_m, abs=STEP_M)
    assert robots[2]["longest_m"] == pytest.approx(130.0 - first.length_m, abs=STEP_M)
    walked = sum(robot["distance_m"] for robot in robots)
    assert route.falls == 4
    assert route.falls_per_km == pytest.approx(4000.0 / walked)
    assert route.mean_distance_between_falls_m == pytest.approx(walked / 4)
    assert route.completed.successes == 0


def test_whoever_leaves_the_way_goes_on_at_the_next_leg_and_whoever_is_stuck_waits():
    stage = SHORT.cells[0]
    events = {(0, 0): [(7.0, "leave")], (0, 1): [(7.0, "stop")]}
    route = walk(SHORT, events)
    left, stuck, fine = route.per_robot
    leg_m = stage.legs[1].begin_m
    assert left["distance_m"] == pytest.approx(130.0 - leg_m + 7.0, abs=2 * STEP_M)
    assert stuck["distance_m"] == pytest.approx(
        130.0 - stage.length_m + 7.0, abs=2 * STEP_M
    )
    assert fine["distance_m"] == pytest.approx(130.0)
    assert (route.falls, route.incidents) == (0, 2)


def test_a_robot_that_always_falls_at_once_gets_through_the_legs():
    events = {
        (stage.level, robot): [(leg.begin_m + STEP_M / 2, "fall") for leg in stage.legs]
        for stage in SHORT.cells
        for robot in range(3)
    }
    route = walk(SHORT, events)
    num_legs = sum(len(stage.legs) for stage in SHORT.cells)
    assert route.falls == 3 * num_legs
    assert route.distance_m == pytest.approx(3 * num_legs * STEP_M, abs=1e-6)


def test_the_error_of_the_map_is_averaged_per_ten_metres():
    pieces = walk(replace(SHORT, length_m=35.0), {}).height_map_l1_m
    assert [piece.from_m for piece in pieces] == [0.0, 10.0, 20.0, 30.0]
    # 40 states per piece from its beginning on, a quarter of a metre apart.
    means = [0.001 * (10.0 * k + (10.0 - STEP_M) / 2) for k in range(3)]
    assert [piece.mean for piece in pieces[:3]] == pytest.approx(means, abs=1e-9)
    assert pieces[1].steps == 3 * 40


def test_the_batch_changes_nothing():
    events = {(0, 0): [(10.0, "fall")], (1, 2): [(30.0, "fall")]}
    first = walk(SHORT, events, num_slots=4)
    assert walk(SHORT, events, num_slots=1) == first
    assert walk(SHORT, events, num_slots=2) == first


class Stopped(Exception):
    """Stands for a kill."""


def test_a_killed_run_goes_on_at_its_stage(monkeypatch, tmp_path):
    ran, stop_at = [], [1]

    def run_cell(protocol, source, stage, *settings):
        if len(ran) == stop_at[0]:
            raise Stopped
        ran.append(stage.level)
        return walk_stage(protocol, stage, {(0, 0): [(10.0, "fall")]}, 4)

    monkeypatch.setattr(module, "run_cell", run_cell)
    source = open_policy("stand")
    with pytest.raises(Stopped):
        evaluate(SHORT, source, tmp_path / "killed")
    assert not (tmp_path / "killed" / "result.json").exists()
    stop_at[0] = 99
    resumed = evaluate(SHORT, source, tmp_path / "killed")
    assert ran == [stage.level for stage in SHORT.cells]
    ran.clear()
    straight = evaluate(SHORT, source, tmp_path / "straight")
    assert to_json(resumed) == to_json(straight)
    path = tmp_path / "straight" / "result.json"
    assert to_json(parse_result(path, json.loads(path.read_text()))) == to_json(
        straight
    )
    assert straight.env_steps_per_s == 500.0
    assert straight.route is not None
    assert straight.route.falls == 1


def test_the_route_is_as_long_as_asked_for():
    assert sum(stage.length_m for stage in ROUTE.cells) == pytest.approx(1500.0)
    for before, after in zip(ROUTE.cells, ROUTE.cells[1:], strict=False):
        assert after.begin_m == pytest.approx(before.begin_m + before.length_m)
        assert after.first_leg == before.first_leg + len(before.legs)
        assert before.length_m >= ROUTE.stage_m
    names = {e.name for s in ROUTE.cells for leg in s.legs for e in leg.elements}
    assert names == {
        "stairs_up",
        "stairs_down",
        "slope_up",
        "slope_down",
        "grass",
        "uneven",
    }


def test_a_longer_route_begins_like_a_shorter_one():
    longer = replace(ROUTE, length_m=3000.0)
    assert longer.cells[:13] == ROUTE.cells[:13]
    assert replace(ROUTE, seed=1).cells[0] != ROUTE.cells[0]


def test_memory_does_not_grow_with_the_length():
    def largest(length_m: float) -> int:
        protocol = replace(ROUTE, length_m=length_m)
        scenes = [protocol.scene(stage) for stage in protocol.cells]
        width = round(2 * PAD_M / CELL_M)
        return max(
            max(strip.cells for strip in scene.strips) * width * len(scene.strips)
            for scene in scenes
        )

    short, long = largest(300.0), largest(6000.0)
    assert long < 1.5 * short
    assert long < 2_500_000  # Cells; the training grid has 8 million.
    stage = ROUTE.cells[0]
    grid = ROUTE.scene(stage).build().grid
    assert grid.units.size < 2_500_000


def test_around_both_lines_the_ground_is_level_as_far_as_a_robot_sees():
    robot = get_robot("g1")
    x, y, _ = robot.camera_mount.pos_m
    assert longest_ray_m(robot.depth_camera) + np.hypot(x, y) < SIGHT_M
    map_reach = np.abs(robot.height_map.centres_h()).max()
    assert map_reach < SIGHT_M
    for stage in ROUTE.cells[:2]:
        scene = ROUTE.scene(stage).build()
        for index, leg in enumerate(stage.legs):
            x0, y0, z0 = scene.origins_m[index, 0]
            around = np.arange(-PAD_M + 0.01, PAD_M, 0.04)
            grid_x, grid_y = np.meshgrid(x0 + around, y0 + around)
            np.testing.assert_allclose(scene.grid.height_at(grid_x, grid_y), z0)
            end = x0 + leg.length_m
            ahead = np.arange(-0.9, PAD_M - 0.01, 0.04)
            grid_x, grid_y = np.meshgrid(end + ahead, y0 + around)
            assert np.ptp(scene.grid.height_at(grid_x, grid_y)) == 0.0


def test_an_easier_route_is_lower():
    hard, easy = draw_leg(0, 3), draw_leg(0, 3, 0.5)
    assert easy.turn_deg == hard.turn_deg
    high, low = (np.ptp(leg.strip.build(20).astype(int)) for leg in (hard, easy))
    assert low == pytest.approx(high / 2, rel=0.2)


@pytest.mark.parametrize("length_m", [0.0, float("inf"), float("nan")])
def test_an_impossible_length_is_refused(length_m):
    with pytest.raises(ValueError, match="at least 1 m"):
        replace(ROUTE, length_m=length_m)
