"""`solo play`: any policy on any terrain, as a film."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from solo.cli.play import Play
from solo.errors import SoloError
from solo.gl import INSTALL_HINT, NoGraphicsError, has_gl
from solo.pictures import images
from solo.sensors.depth.cfg import DepthCameraCfg
from solo.sensors.height_map import HeightMapCfg
from solo.viewer import film

BASE_HEIGHT_M = 0.8


def test_ahead_on_the_left_is_up_on_the_left():
    cfg = HeightMapCfg()
    map_m = np.full(cfg.cells, -BASE_HEIGHT_M)
    map_m[-1, -1] += 0.4  # The last index is ahead on the left.
    image = images.height_image(map_m, cfg, BASE_HEIGHT_M, cell_px=4)
    assert image.shape == (128, 64, 3)
    brightness = image.sum(axis=-1)
    assert (brightness[:4, :4] > brightness[:4, 4:].max()).all()
    # The robot's mark is white, 1.3 m of 1.6 m down, in the middle.
    assert (image[104, 32] == 255).all()


def test_depth_is_bright_when_near_and_black_when_missing():
    depth_m = np.array([[0.0, 0.4, 2.9]])
    image = images.depth_image(depth_m, DepthCameraCfg(), width=120)
    assert image.shape == (90, 120, 3)
    missing, near, far = image[45, 20], image[45, 60], image[45, 100]
    assert missing.max() == 0
    assert near.sum() > far.sum() > 0


def test_the_shipped_policy_is_shown_where_it_can_walk():
    assert Play("shipped").pick_difficulty() == 0.3
    assert Play("runs/a").pick_difficulty() == 1.0
    assert Play("shipped", "training").pick_difficulty() is None
    assert Play("shipped", "gap", 0.5).pick_difficulty() == 0.5
    assert Play("runs/a", "gap", level=9).pick_difficulty() == 1.0


@pytest.mark.slow
def test_without_opengl_only_perception_is_drawn(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def refuse(*args: object) -> None:
        raise NoGraphicsError("none here")

    monkeypatch.setattr(film, "render", refuse)
    output = tmp_path / "play.png"
    result = Play("zero", "gap", 0.5, output=output, seconds=0.3).run()
    assert "libegl1" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["play.png"]
    assert np.asarray(Image.open(output).convert("RGB")).std() > 20.0
    assert result["has_3d_view"] is False
    assert (result["kind"], result["terrain"]) == ("agent", "gap")
    assert result["simulated_s"] == pytest.approx(0.3)


@pytest.mark.slow
@pytest.mark.skipif(not has_gl(), reason=f"No OpenGL without a screen: {INSTALL_HINT}")
def test_a_teacher_walks_the_route_into_a_film(tmp_path: Path):
    # In its own process: in this one MuJoCo may have settled on another OpenGL.
    environment = {k: v for k, v in os.environ.items() if k != "MUJOCO_GL"}
    options = "--terrain route --difficulty 0.1 --seconds 0.4 --output a.mp4"
    done = subprocess.run(
        [sys.executable, "-m", "solo.cli.main", "play", "shipped-teacher",
         *options.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Wrote a.mp4" in done.stdout
    count, _ = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    assert count == 10 + 25  # 25 per second, and the last stays for a second.


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"policy": "walk"}, ["'walk'", "zero, random, stand"]),
        ({"policy": "Solo-Teacher-Unitree-G1"}, ["is a task", "shipped-teacher"]),
        ({"terrain": "stares"}, ["'stares'", "stairs_up_25"]),
        ({"difficulty": 1.5}, ["1.5", "0 to 1"]),
        ({"level": 10}, ["--level is 10", "0 to 9"]),
        ({"level": 3, "difficulty": 0.5}, ["--level is 3", "one of the two"]),
        ({"num_robots": 0}, ["num_robots is 0"]),
        ({"port": 70000}, ["70000"]),
        ({"seconds": 1.0}, ["--seconds is 1.0", "--output"]),
        ({"output": Path("a.jpg")}, ["'a.jpg'", ".mp4 or .gif or .png"]),
        ({"output": Path("no/a.png")}, ["'no'"]),
    ],
)
def test_unusable_options_are_one_clear_line(options: dict[str, Any], parts: list[str]):
    with pytest.raises(SoloError) as info:
        Play(**{"policy": "stand", **options}).run()
    assert "\n" not in str(info.value)
    for part in parts:
        assert part in str(info.value)
