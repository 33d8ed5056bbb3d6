"""A log drives the runtime again, to the bit; broken logs are refused."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from solo.deploy.log import LogWriter, Ring, RunLog, read_log, write_npz
from solo.deploy.replay import Recording, ReplayCamera, replay
from solo.deploy.runtime import RuntimeCfg
from solo.errors import SoloError

from .helpers import FakePolicy, Rig, tiny_contract

CFG = RuntimeCfg(stand_up_s=0.1)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run of 13 s with a lost camera in it; do not change it."""
    folder = tmp_path_factory.mktemp("recorded") / "log"
    rig = Rig(log=folder, cfg=CFG)
    rng = np.random.default_rng(0)
    rig.walk()
    for k in range(640):
        rig.robot.joint_pos = 0.1 * rng.standard_normal(3)
        rig.robot.ang_vel_b = rng.standard_normal(3)
        rig.operator.velocity = (0.5 * np.sin(0.01 * k), 0.0, 0.2)
        rig.depth.is_silent = 300 < k < 330
        rig.tick()
    rig.close()
    return folder


@pytest.fixture
def log(recorded, tmp_path):
    """A copy of the run, to damage."""
    return shutil.copytree(recorded, tmp_path / "log")


def test_ring_keeps_the_last_records_in_order():
    ring = Ring(tiny_contract(), 4)
    for k in range(10):
        ring.append({"time_s": k})
    assert ring.copy()["time_s"].tolist() == [6, 7, 8, 9]


def test_log_is_written_in_parts_and_read_as_one(log):
    assert sorted(p.name for p in log.iterdir()) == [
        "00000.npz", "00001.npz", "run.json",
    ]  # fmt: skip
    _, records = read_log(log, tiny_contract())
    assert len(records["time_s"]) == 650
    assert np.diff(records["time_s"]) == pytest.approx(0.02)
    assert records["depth_mm"].dtype == np.uint16


def test_replay_gives_the_recorded_actions_to_the_bit(log):
    contract = tiny_contract()
    recording = Recording(log, contract)
    result = replay(recording, FakePolicy(), CFG)
    assert result.max_abs_difference == 0.0
    assert result.num_phase_differences == 0
    assert np.abs(result.actions[-1]).max() > 0.0
    assert recording.commands[-1].q == pytest.approx(recording.records["target"][-1])
    again = replay(recording, FakePolicy(), CFG)
    assert (again.actions == result.actions).all()


def test_replay_shows_another_policy(log):
    other = FakePolicy()
    other.action = np.full(3, 0.3)
    result = replay(Recording(log, tiny_contract()), other, CFG)
    assert result.max_abs_difference == pytest.approx(0.1, abs=0.01)


def test_replayed_camera_keeps_the_recorded_times(log):
    now = [50.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    camera = ReplayCamera(log, tiny_contract(), lambda: now[0], sleep)
    camera.start()
    frames = []
    while len(frames) < 330:
        frame = camera.wait(0.1)
        if frame is not None:
            frames.append(frame)
    gaps = np.diff([frame.time_s for frame in frames])
    assert gaps[:200] == pytest.approx(0.02, abs=1e-6)
    assert gaps.max() > 0.5  # The camera was lost for 30 ticks.


def test_a_log_of_other_joints_is_refused(log):
    meta = json.loads((log / "run.json").read_text())
    meta["joint_names"] = ["hip", "ankle", "knee"]
    (log / "run.json").write_text(json.dumps(meta))
    with pytest.raises(SoloError, match=r"hip, ankle, knee.*hip, knee, ankle"):
        Recording(log, tiny_contract())


def test_a_log_of_another_version_or_none_is_refused(log, tmp_path):
    with pytest.raises(SoloError, match="not the log"):
        read_log(tmp_path, tiny_contract())
    (log / "run.json").write_text('{"version": 99}')
    with pytest.raises(SoloError, match="version 99"):
        read_log(log, tiny_contract())


def _rewrite(log, **changes):
    path = log / "00001.npz"
    with np.load(path) as archive:
        arrays = {**archive, **changes}
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})


@pytest.mark.parametrize(
    "changes",
    [
        {"joint_pos": None},
        {"joint_pos": np.zeros((150, 4))},
        {"joint_pos": np.zeros((149, 3))},
        {"joint_pos": np.full((150, 3), "x")},
        {"request": np.full(150, 77, np.uint8)},
        {"time_s": np.full(150, np.nan)},
        {"time_s": np.zeros(150)},
    ],
)
def test_damaged_records_are_refused(log, changes):
    _rewrite(log, **changes)
    with pytest.raises(SoloError, match=r"The (log|parts of the log)"):
        Recording(log, tiny_contract())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1, "start": 7}'])
def test_a_cut_description_is_refused(log, content):
    (log / "run.json").write_text(content)
    with pytest.raises(SoloError, match=r"run.json|The log"):
        Recording(log, tiny_contract())


def test_a_part_with_broken_compression_is_refused(log):
    path = log / "00000.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    path.write_bytes(content)
    with pytest.raises(SoloError, match=r"not a whole .npz file"):
        Recording(log, tiny_contract())


def test_logs_are_not_overwritten(log):
    with pytest.raises(SoloError, match="not empty"):
        RunLog(log, tiny_contract(), LogWriter())


def test_a_full_disk_does_not_end_the_run(tmp_path):
    writer = LogWriter()
    writer.put(tmp_path / "missing" / "a.npz", {"a": np.zeros(3)})
    writer.close()
    assert "missing" in str(writer.failure)
    write_npz(tmp_path / "a.npz", {"a": np.arange(3)})
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]
