"""`solo motions make`, `check` and `show`."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest
from PIL import Image

from solo.cli.motions import MotionsCheck, MotionsMake, MotionsShow
from solo.errors import SoloError
from solo.gl import has_gl
from solo.motions.files import load_clip, save_clip
from solo.names import MOTIONS
from solo.robots.g1 import G1

needs_gl = pytest.mark.skipif(not has_gl(), reason="no OpenGL library")


@pytest.mark.slow
def test_made_clips_can_be_read_and_checked(tmp_path, capsys):
    result = MotionsMake(output=tmp_path / "clips").run()
    assert sorted(p.stem for p in (tmp_path / "clips").iterdir()) == sorted(MOTIONS)
    assert "22 clips" in capsys.readouterr().out
    json.dumps(result)
    path = tmp_path / "clips" / "turn_left_0.70.npz"
    checked = MotionsCheck(files=(path,)).run()
    made = next(c for c in result["clips"] if c["name"] == "turn_left_0.70")
    assert checked["clips"] == [made]


def test_check_prints_what_is_poor_and_refuses_what_is_unusable(
    clips, tmp_path, capsys
):
    clip = clips["walk_forward_0.50"]
    floating = dataclasses.asdict(clip)
    derived = ("joint_vel", "root_lin_vel_w", "root_ang_vel_b")
    fields = {k: v for k, v in floating.items() if k not in derived}
    up = np.array([0.0, 0.0, 0.02])
    poor = type(clip)(**{**fields, "root_pos_w": clip.root_pos_w + up})
    save_clip(poor, tmp_path / "poor.npz")
    MotionsCheck(files=(tmp_path / "poor.npz",)).run()
    assert "20.0!" in capsys.readouterr().out
    far = type(clip)(**{**fields, "root_pos_w": clip.root_pos_w + 10.0 * up})
    save_clip(far, tmp_path / "far.npz")
    with pytest.raises(SoloError, match="cannot be used: ground is 200 mm"):
        MotionsCheck(files=(tmp_path / "far.npz",)).run()


@needs_gl
@pytest.mark.slow
def test_show_draws_a_strip_and_a_movie(tmp_path):
    MotionsShow("walk_forward_0.90", tmp_path / "a.png").run()
    strip = np.asarray(Image.open(tmp_path / "a.png"), dtype=float)
    panels = np.split(strip, 8, axis=1)
    # Poses differ, while the ground and the sky stay as they are.
    assert all(np.abs(a - b).max() > 50 for a, b in itertools.pairwise(panels))
    MotionsShow("walk_forward_0.90", tmp_path / "a.gif").run()
    with Image.open(tmp_path / "a.gif") as movie:
        # One period of 1 s in real time.
        assert getattr(movie, "n_frames", 1) == 25
        assert movie.info["duration"] == 40


def test_show_refuses_what_it_cannot_do(tmp_path):
    with pytest.raises(SoloError, match=r"\.mp4"):
        MotionsShow("stand", tmp_path / "a.mp4").run()
    with pytest.raises(SoloError, match="folder"):
        MotionsShow("stand", tmp_path / "no" / "a.png").run()
    with pytest.raises(SoloError, match="Unknown motion 'moonwalk'"):
        MotionsShow("moonwalk", tmp_path / "a.png").run()
    with pytest.raises(SoloError, match="no motion file"):
        MotionsShow("gone.csv", tmp_path / "a.png").run()


def test_make_refuses_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SoloError, match="Cannot create the folder"):
        MotionsMake(output=tmp_path / "file").run()


def test_a_saved_clip_is_what_training_makes(clips, tmp_path):
    clip = clips["turn_right_1.00"]
    save_clip(clip, tmp_path / "a.npz")
    found = load_clip(tmp_path / "a.npz", G1)
    np.testing.assert_array_equal(found.qpos, clip.qpos)
