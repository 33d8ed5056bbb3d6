"""Recordings of failures: the right states, of the right rollouts, and their strips."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from solo.errors import SoloError
from solo.evaluation import failures as module
from solo.evaluation.evaluate import run_cell
from solo.evaluation.failures import RecordedEnv, write_failures
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import STRESS, LimitsCfg
from solo.evaluation.rollout import Outcome, run_rollouts
from solo.gl import INSTALL_HINT, has_gl
from solo.terrains.scene import TerrainSceneCfg
from solo.viewer.failure_frames import draw_failure, read_recording
from tests.evaluation.fake import FakeEnv, FakePolicy, Script, make_start

LIMITS = LimitsCfg(pass_m=5.0, time_s=6.0)
CELL = replace(STRESS, terrains=("flat",)).cells[0]
SCENE = TerrainSceneCfg(("flat",), num_levels=3, seed=5, difficulty=0.5)


class Walked(FakeEnv):
    """The scripted environment; a state is the rollout and its steps so far."""

    def __init__(self, scripts, num_slots):
        super().__init__(scripts, num_slots)
        data = SimpleNamespace(qpos=torch.zeros(num_slots, 2))
        self.env = SimpleNamespace(sim=SimpleNamespace(data=data))

    def _show(self):
        for slot, index in enumerate(self.playing):
            self.env.sim.data.qpos[slot, 0] = -1 if index is None else index
            self.env.sim.data.qpos[slot, 1] = self.taken[slot]

    def begin(self, slots, starts):
        super().begin(slots, starts)
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
    origins = np.arange(9.0).reshape(3, 1, 3)
    terrain = SimpleNamespace(
        terrain_scene=SimpleNamespace(cfg=SCENE, origins_m=origins)
    )
    real = module.grid_terrain
    monkeypatch.setattr(
        module,
        "grid_terrain",
        lambda env: terrain if isinstance(env, SimpleNamespace) else real(env),
    )


def record(scripts, num_slots, keep=3):
    env = RecordedEnv(Walked(scripts, num_slots), keep)  # type: ignore[arg-type] - A stand-in.
    starts = [make_start(i) for i in range(len(scripts))]
    run_rollouts(env, FakePolicy(num_slots), starts, LIMITS, env.on_end)
    return env.failures


def test_a_recording_ends_with_the_end_and_reaches_three_seconds_back():
    failure = record([SUCCEEDS, FALLS], 1)[1]
    # Steps of 0.1 s: ten states per second are all of them.
    assert failure.qpos[:, 0].tolist() == [1.0] * 31
    assert failure.qpos[:, 1].tolist() == list(range(15, 46))
    np.testing.assert_allclose(failure.time_s, np.arange(15, 46) * 0.1)
    assert failure.outcome == Outcome.FALL
    assert failure.patch == 1
    assert failure.origin_m.tolist() == [3.0, 4.0, 5.0]


def test_a_short_rollout_is_recorded_from_its_start_and_no_earlier():
    failure = record([WAITS, FALLS_SOON], 1)[1]
    assert failure.qpos[:, 0].tolist() == [1.0] * 5
    assert failure.qpos[:, 1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("num_slots", [1, 2, 5])
def test_the_first_failures_by_number_are_kept_in_any_batch(num_slots):
    scripts = [WAITS, SUCCEEDS, FALLS, FALLS_SOON, FALLS_SOON]
    found = record(scripts, num_slots, keep=2)
    assert sorted(found) == [0, 2]
    assert found[0].outcome == Outcome.TIME_OUT
    assert record(scripts, num_slots, keep=0) == {}


def test_a_file_has_all_that_the_scene_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "has_gl", lambda: False)
    names = write_failures(tmp_path, CELL, record([FALLS_SOON], 1), "g1")
    assert names == ["failures/flat-8m-0.990-0.npz"]
    assert [p.name for p in (tmp_path / "failures").iterdir()] == [names[0][9:]]
    recording = read_recording(tmp_path / names[0])
    assert recording.scene == SCENE
    assert recording.robot == "g1"
    assert recording.qpos[:, 1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    with np.load(tmp_path / names[0]) as saved:
        assert str(saved["outcome"]) == "fall"
        assert int(saved["index"]) == int(saved["patch"]) == 0


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
    assert result["failures"] == ["failures/flat-8m-0.990-0.npz"]
    assert result["rollouts"][0]["outcome"] == "fall"
    path = tmp_path / result["failures"][0]
    recording = read_recording(path)
    assert recording.time_s[-1] == pytest.approx(0.02 * result["rollouts"][0]["steps"])
    height = recording.qpos[:, 2]
    assert height[0] > 0.6  # It stood,
    assert height[-1] < 0.45  # and it lies.
    if not has_gl():
        pytest.skip(f"no OpenGL to draw with: {INSTALL_HINT}")
    with Image.open(path.with_suffix(".png")) as strip:
        assert strip.size == (960, 200)
    frames = draw_failure(path)
    assert len(frames) == 6
    # The robot is in the upper half of the first picture, not of the last.
    sky = [_dark_share(frame[:100]) for frame in (frames[0], frames[-1])]
    assert sky[0] > 2 * sky[1]


def _dark_share(pixels: np.ndarray) -> float:
    return float((pixels.astype(int).sum(axis=-1) < 300).mean())
