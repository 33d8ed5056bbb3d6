"""Recordings of failures: the right states, of the right rollouts, and their strips."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from solo.envs.obstacle import ObstacleCfg
from solo.errors import SoloError
from solo.evaluation import failures as module
from solo.evaluation.evaluate import run_cell
from solo.evaluation.failures import RecordedEnv, write_failures
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import STRESS, LimitsCfg, Start
from solo.evaluation.rollout import run_rollouts
from solo.evaluation.strips import StripCell, StripProtocol
from solo.gl import INSTALL_HINT, has_gl
from solo.pictures.failures import draw_failure, read_recording
from solo.results import Outcome
from solo.terrains.scene import TerrainSceneCfg
from tests.evaluation.fake import FakeEnv, FakePolicy, Script, make_start

LIMITS = LimitsCfg(pass_m=5.0, time_s=6.0)
CELL = replace(STRESS, terrains=("flat",)).cells[0]
SCENE = TerrainSceneCfg(("stairs_up_25",), num_levels=3, seed=5, difficulty=0.5).build()


class Walked(FakeEnv):
    """The scripted environment; a state is the rollout and its steps so far."""

    changes_level_at = -1
    """After this many steps a robot is on the next patch."""

    def __init__(self, scripts, num_slots):
        super().__init__(scripts, num_slots)
        data = SimpleNamespace(qpos=torch.zeros(num_slots, 2))
        self.levels = torch.zeros(num_slots, dtype=torch.int64)
        terrain = SimpleNamespace(terrain_scene=SCENE, terrain_levels=self.levels)
        self.env = SimpleNamespace(
            sim=SimpleNamespace(data=data),
            scene=SimpleNamespace(terrain=terrain, entities={}),
        )

    def _show(self):
        for slot, index in enumerate(self.playing):
            self.env.sim.data.qpos[slot, 0] = -1 if index is None else index
            self.env.sim.data.qpos[slot, 1] = self.taken[slot]
            self.levels[slot] += self.taken[slot] == self.changes_level_at

    def begin(self, slots, starts):
        super().begin(slots, starts)
        for slot, start in zip(slots, starts, strict=True):
            self.levels[slot] = start.patch
        self._show()

    def step(self, actions):
        report = super().step(actions)
        self._show()
        return report


FALLS = Script(((0.0, 0.0),), falls_at=45)
FALLS_SOON = Script(((0.0, 0.0),), falls_at=4)
SUCCEEDS = Script(((6.0, 0.0),))
WAITS = Script(((0.0, 0.0),))


@pytest.fixture(autouse=True)
def _scene(monkeypatch):
    real = module.grid_terrain
    monkeypatch.setattr(
        module,
        "grid_terrain",
        lambda env: (
            env.scene.terrain if isinstance(env, SimpleNamespace) else real(env)
        ),
    )


def record(scripts, num_slots, keep=3, waves=1, env_type=Walked):
    env = RecordedEnv(env_type(scripts, num_slots), "g1", keep)  # type: ignore[arg-type] - A stand-in.
    starts = [make_start(i) for i in range(len(scripts))]
    for _ in range(waves):
        run_rollouts(env, FakePolicy(num_slots), starts, LIMITS, env.on_end)
    return env.failures


def test_a_recording_ends_with_the_end_and_reaches_three_seconds_back():
    failure = record([SUCCEEDS, FALLS], 1)[0, 1]
    # Steps of 0.1 s: ten states per second are all of them.
    assert failure.qpos[:, 0].tolist() == [1.0] * 31
    assert failure.qpos[:, 1].tolist() == list(range(15, 46))
    np.testing.assert_allclose(failure.time_s, np.arange(15, 46) * 0.1)
    assert failure.outcome == Outcome.FALL
    assert failure.origin_m.tolist() == SCENE.origins_m[1, 0].tolist()


def test_a_short_rollout_is_recorded_from_its_start_and_no_earlier():
    failure = record([WAITS, FALLS_SOON], 1)[0, 1]
    assert failure.qpos[:, 0].tolist() == [1.0] * 5
    assert failure.qpos[:, 1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("num_slots", [1, 2, 5])
def test_the_first_failures_by_number_are_kept_in_any_batch(num_slots):
    scripts = [WAITS, SUCCEEDS, FALLS, FALLS_SOON, FALLS_SOON]
    found = record(scripts, num_slots, keep=2)
    assert sorted(found) == [(0, 0), (0, 2)]
    assert found[0, 0].outcome == Outcome.TIME_OUT
    assert record(scripts, num_slots, keep=0) == {}


def test_nothing_before_a_change_of_legs_is_kept():
    class Changes(Walked):
        changes_level_at = 20

    failure = record([FALLS], 1, env_type=Changes)[0, 0]
    assert failure.qpos[:, 1].tolist() == list(range(20, 46))
    np.testing.assert_allclose(failure.time_s, np.arange(20, 46) * 0.1)
    assert failure.origin_m.tolist() == SCENE.origins_m[1, 0].tolist()


def test_first_walks_come_before_second_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "has_gl", lambda: False)
    found = record([FALLS, FALLS_SOON, SUCCEEDS], 2, keep=3, waves=2)
    assert sorted(found) == [(0, 0), (0, 1), (1, 0)]
    names = write_failures(tmp_path, CELL, found.values())
    assert [name[9:] for name in names] == [
        "flat-8m-0.990-0.npz", "flat-8m-0.990-1.npz", "flat-8m-0.990-0-1.npz"
    ]  # fmt: skip


def test_a_file_has_all_that_a_picture_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "has_gl", lambda: False)
    found = record([FALLS_SOON], 1)
    names = write_failures(tmp_path, CELL, found.values())
    assert names == ["failures/flat-8m-0.990-0.npz"]
    assert [p.name for p in (tmp_path / "failures").iterdir()] == [names[0][9:]]
    recording = read_recording(tmp_path / names[0])
    assert recording.robot == "g1"
    assert recording.qpos[:, 1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert recording.boxes_m.shape == (0, 3)
    # The states went from (0, 0) to (0, 4); the ground reaches 4 m farther.
    grid, ground = recording.ground.grid, found[0, 0].ground
    assert grid.size_m == pytest.approx((8.05, 12.05))
    assert grid.corner_xy_m == pytest.approx((-4.0, -4.0))
    x, y = np.random.default_rng(0).uniform((-3.9, -3.9), (3.9, 7.9), (200, 2)).T
    np.testing.assert_array_equal(grid.height_at(x, y), SCENE.grid.height_at(x, y))
    assert recording.ground.families == ground.families == ("stairs",) * 161
    with np.load(tmp_path / names[0]) as saved:
        assert str(saved["outcome"]) == "fall"
        assert int(saved["index"]) == int(saved["walk"]) == 0
        page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
        assert set(saved.files) <= set(re.findall(r"`([^`]+)`", page))


def test_a_file_of_another_format_is_told_in_one_line(tmp_path):
    path = tmp_path / "old.npz"
    np.savez(path, qpos=np.zeros((3, 32)), time_s=np.arange(3), terrain="flat")
    with pytest.raises(SoloError, match="corner_xy_m") as error:
        read_recording(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"PK nothing", None])
def test_a_file_that_is_none_gets_one_line(tmp_path, content):
    path = tmp_path / "a.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SoloError, match="Cannot read the recording") as error:
        read_recording(path)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_the_strip_of_a_fall_ends_with_the_fall(tmp_path):
    protocol = replace(
        STRESS,
        terrains=("flat",),
        rollouts=3,
        num_patches=2,
        limits=LimitsCfg(time_s=4.0),
    )
    cell = protocol.cells[0]
    result = run_cell(
        protocol, open_policy("zero"), cell, folder=tmp_path, num_failures=1
    )
    assert result.failures == ("failures/flat-8m-0.990-0.npz",)
    assert result.rollouts[0].outcome == Outcome.FALL
    path = tmp_path / result.failures[0]
    recording = read_recording(path)
    assert recording.time_s[-1] == pytest.approx(0.02 * result.rollouts[0].steps)
    height = recording.qpos[:, 2]
    assert height[0] > 0.6  # It stood,
    assert height[-1] < 0.45  # and it lies.
    if not has_gl():
        pytest.skip(f"no OpenGL to draw with: {INSTALL_HINT}")
    with Image.open(path.with_suffix(".png")) as strip:
        assert strip.size == (960, 200)
    frames = draw_failure(recording)
    assert len(frames) == 6
    # The robot is in the upper half of the first picture, not of the last.
    sky = [_dark_share(frame[:100]) for frame in (frames[0], frames[-1])]
    assert sky[0] > 2 * sky[1]


class InFrontOfTheBox(StripProtocol):
    """Robots begin right in front of the obstacle."""

    def draw_start(self, cell: StripCell, index: int, num_joints: int) -> Start:
        at_m = self.scene(cell).strips[0].obstacle_at_m
        assert at_m is not None
        start = super().draw_start(cell, index, num_joints)
        return replace(start, offset_m=np.array([at_m - 0.6, 0.0]))


@pytest.mark.slow
def test_a_fall_over_the_obstacle_shows_the_obstacle(tmp_path):
    """A robot that falls forward, put right in front of the box."""
    protocol = InFrontOfTheBox(
        "close", ("movable_obstacle",), (1.0,), 1, forward_m_s=(2.0, 2.0)
    )
    cell, source = protocol.cells[0], open_policy("zero")
    result = run_cell(protocol, source, cell, folder=tmp_path, num_failures=1)
    (name,) = result.failures
    recording = read_recording(tmp_path / name)
    assert set(recording.ground.families) >= {"flat", "boxes"}
    np.testing.assert_allclose(recording.boxes_m, [ObstacleCfg().size_m], atol=1e-6)
    num_robot = 7 + len(source.robot.joint_names)
    box_w = recording.qpos[:, num_robot:]
    assert box_w.shape[1] == 7
    # It stood on the ground in front of the robot.
    ahead_m = box_w[0, 0] - recording.qpos[0, 0]
    assert ahead_m == pytest.approx(0.6, abs=0.15)
    assert box_w[0, 2] == pytest.approx(ObstacleCfg().size_m[2] / 2, abs=0.02)
    if not has_gl():
        pytest.skip(f"no OpenGL to draw with: {INSTALL_HINT}")
    with_box = draw_failure(recording)
    moved = recording.qpos.copy()
    moved[:, num_robot + 2] = -100.0
    without = draw_failure(replace(recording, qpos=moved))
    for seen, hidden in zip(with_box, without, strict=True):
        # Box and ground are both brown, but not the same.
        assert 0.02 < (seen != hidden).any(axis=-1).mean() < 0.15


def _dark_share(pixels: np.ndarray) -> float:
    return float((pixels.astype(int).sum(axis=-1) < 300).mean())
