"""The verbs: what they print, write and refuse."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from solo.cli.recon import (
    ReconCollect,
    ReconCompare,
    ReconRun,
    ReconTrain,
    make_sampler,
)
from solo.errors import SoloError
from solo.files import write_json
from solo.pictures.recon import (
    draw_error_per_cell,
    draw_extent_shift,
    draw_reconstructions,
)
from solo.reconstruction.comparison import Example
from solo.reconstruction.data.shards import FORMAT, MANIFEST
from tests.evaluation.runs import write_run


def test_wrong_options_are_refused_before_any_work(tmp_path):
    with pytest.raises(SoloError, match="no policy 'teacher'"):
        ReconCollect(policy="teacher").run()
    with pytest.raises(SoloError, match="frames is 0"):
        ReconCollect(frames=0, output=tmp_path).run()
    with pytest.raises(SoloError, match="no recording in"):
        ReconCompare(data=tmp_path, output=tmp_path / "runs").run()
    manifest = {"format": FORMAT, "sampler": "none", "config": {}, "shards": {}}
    (tmp_path / "train").mkdir()
    write_json(tmp_path / "train" / MANIFEST, manifest)
    with pytest.raises(SoloError, match="Unknown method 'unet'"):
        ReconTrain(method="unet", data=tmp_path).run()
    with pytest.raises(SoloError, match="Unknown method 'unet'"):
        ReconCompare(methods=("start", "unet"), data=tmp_path).run()
    assert list(tmp_path.iterdir()) == [tmp_path / "train"]


def test_one_command_records_all_splits_then_compares(tmp_path, monkeypatch):
    calls = []
    for verb in (ReconCollect, ReconCompare):
        monkeypatch.setattr(verb, "run", lambda self: calls.append(self))
    with pytest.raises(SoloError, match="Unknown method 'unet'"):
        ReconRun(methods=("unet",), data=tmp_path).run()
    assert not calls
    ReconRun(profile="reduced", clean=True, data=tmp_path).run()
    assert [call.split for call in calls[:3]] == ["train", "eval", "extent"]
    for call in calls[:3]:
        assert (call.profile, call.clean, call.output) == ("reduced", True, tmp_path)
        assert (call.frames, call.terrain_seeds) == (249_000, (0, 1, 2, 3))
    assert isinstance(calls[3], ReconRun)


def test_the_camera_has_the_size_of_the_profile_and_errors_unless_clean():
    sensor = make_sampler("shipped-teacher", "laptop").describe()["sensor"]
    camera = sensor["camera"]
    assert (camera["output_height"], camera["output_width"]) == (32, 57)
    assert camera["width"] == 640
    assert sensor["corruption"] is not None
    clean = make_sampler("shipped-teacher", clean=True).describe()["sensor"]
    assert clean["corruption"] is clean["extrinsics"] is None
    assert (clean["max_delay"], clean["camera"]["output_width"]) == (0, 113)


@pytest.mark.slow
def test_a_teacher_can_be_the_sampler(tmp_path):
    run = write_run(tmp_path / "run", "teacher")
    # Not a whole block of robots, and episodes that end in between.
    options = {"frames": 1, "robots": 5, "steps": 40, "terrain_seeds": (0,)}
    collect = ReconCollect(
        **options, policy=str(run), output=tmp_path / "data", profile="laptop"
    )
    manifest = collect.run()
    assert manifest["sampler"].startswith("teacher ")
    assert manifest["frames"] == 5 * 40
    shard = np.load(tmp_path / "data" / "train" / "shard_00000.npz")
    assert all(np.isfinite(shard[name]).all() for name in shard.files)
    assert shard["depth_planes"].shape[-2:] == (32, 57)
    student = write_run(tmp_path / "student", "student")
    with pytest.raises(SoloError, match="is a student"):
        make_sampler(str(student))


def test_figures_have_one_row_per_terrain(tmp_path):
    rng = np.random.default_rng(0)
    truth = np.zeros((16, 32))
    truth[:, 16:] = 0.2

    def row(terrain: str) -> Example:
        maps = {"qr": truth + 0.01, "dpl": 0.5 * truth}
        return Example(terrain, rng.uniform(size=(64, 113)), truth, maps)

    heights = []
    for num in (1, 3):
        path = tmp_path / f"{num}.png"
        draw_reconstructions([row("stairs_up_25")] * num, ("qr", "dpl"), path)
        heights.append(Image.open(path).size[1])
    assert heights[1] - heights[0] == pytest.approx(2 * 1.3 * 120, abs=2)


def test_extent_figure_is_drawn(tmp_path):
    curve = {"difficulty": [0.0, 1.0], "l1_cm": [1.0, 3.0]}
    path = tmp_path / "extent.png"
    draw_extent_shift({"qr": {"8": curve, "10": curve}}, path)
    assert Image.open(path).size[0] > 300


def test_the_figure_of_cells_has_the_front_to_the_right(tmp_path):
    near = np.zeros((16, 32))
    near[:, 24:] = 10.0  # Wrong far ahead only: bright there.
    path = tmp_path / "cells.png"
    draw_error_per_cell({"qr": near.tolist()}, (-0.8, 2.4), (-0.8, 0.8), path)
    gray = np.asarray(Image.open(path).convert("L"), dtype=float)
    row = gray[gray.shape[0] // 2]
    dark = np.flatnonzero(row < 30.0)
    assert len(dark) > 100
    assert row[dark.max() + 20] > 150.0
