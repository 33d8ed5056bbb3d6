"""`solo play`: pictures of what a robot perceives, and the panel of the viewer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mjlab.envs import ManagerBasedRlEnv
from PIL import Image

from solo.cli.play import Play
from solo.envs.agents import ZeroAgent
from solo.envs.mdp.terrain import grid_terrain
from solo.errors import SoloError
from solo.gl import INSTALL_HINT, NoGraphicsError, has_gl
from solo.sensors.perception_cfg import DepthCameraCfg, HeightMapCfg
from solo.viewer import panels, play_pictures
from solo.viewer.browser import start_server
from solo.viewer.play_run import PlayCfg, Tally, make_play_env, record
from solo.viewer.sight import Eyes
from solo.viewer.sight_panel import SightPanel

PERCEPTIVE, TEACHER = "Solo-Perceptive-Unitree-G1", "Solo-Teacher-Unitree-G1"
BASE_HEIGHT_M = 0.8


@pytest.fixture(scope="module")
def env() -> Iterator[ManagerBasedRlEnv]:
    cfg = PlayCfg(
        PERCEPTIVE, 2, ("random_grid", "gap"), difficulty=0.9, clean_depth=True
    )
    env = make_play_env(cfg)
    yield env
    env.close()


def test_the_map_lies_on_the_ground_around_the_robot(env: ManagerBasedRlEnv):
    env.reset()
    robot = env.scene["robot"]
    pose_w = robot.data.root_link_pose_w.clone()
    pose_w[:, 0] += 2.2  # From the level start onto the relief,
    pose_w[:, 3:] = torch.tensor([0.9, 0.0, 0.0, 0.436])  # looking aside.
    robot.write_root_link_pose_to_sim(pose_w)
    env.step(ZeroAgent()(env))
    sight = Eyes(env).look(0)
    assert np.ptp(sight.map_m) > 0.05
    x, y, z = sight.points_w.reshape(-1, 3).T
    ground_m = grid_terrain(env).grid.height_at(x, y)
    # Single cells may read their neighbour, as positions are rounded to 32 bits.
    assert (np.abs(z - ground_m) < 1e-4).mean() > 0.98


def test_without_errors_the_network_gets_the_clean_image(env: ManagerBasedRlEnv):
    env.reset()
    sight = Eyes(env).look(1)
    assert sight.window_m is not None
    assert sight.clean_m is not None
    assert sight.window_m.shape == (4, 64, 113)
    np.testing.assert_allclose(sight.window_m[-1], sight.clean_m, atol=1e-5)


def test_any_callable_is_an_agent_and_its_steps_are_counted(env: ManagerBasedRlEnv):
    env.reset()
    tally, seen = Tally(env), []

    def agent(env: ManagerBasedRlEnv) -> torch.Tensor:
        seen.append(env.common_step_counter)
        return torch.zeros(env.num_envs, 25)

    moments = list(islice(record(env, agent, 1, 2, tally), 3))
    assert [moment.step for moment in moments] == [0, 2, 4]
    assert moments[-1].seconds == pytest.approx(0.08)
    assert len(seen) == tally.steps == 4
    assert not np.array_equal(moments[0].qpos, moments[1].qpos)
    summary = tally.summarise()
    assert summary["falls"] == 0
    assert len(summary["mean_reward_per_s"]) == 21
    assert summary["mean_reward_per_s"]["termination_penalty"] == 0.0
    assert summary["mean_reward_per_s"]["energy"] < 0.0


def test_the_panel_follows_the_robot_on_loopback_only(env: ManagerBasedRlEnv):
    env.reset()
    server = start_server(8790)
    try:
        assert server.get_host() == "127.0.0.1"
        panel = SightPanel(server, env, BASE_HEIGHT_M)
        assert len(panel._images) == 3
        for robot in (0, 1):  # At once, although the last update was just now.
            panel.update(robot)
            assert panel._dots is not None
            expected = Eyes(env).look(robot).points_w.reshape(-1, 3)
            above_m = panel._dots.points - expected
            np.testing.assert_allclose(above_m[:, :2], 0.0, atol=1e-4)
            assert ((above_m[:, 2] > 0.0) & (above_m[:, 2] < 0.03)).all()
    finally:
        server.stop()


def test_ahead_on_the_left_is_up_on_the_left():
    cfg = HeightMapCfg()
    map_m = np.full(cfg.cells, -BASE_HEIGHT_M)
    map_m[-1, -1] += 0.4  # The last index is ahead on the left.
    image = panels.height_image(map_m, cfg, BASE_HEIGHT_M, cell_px=4)
    assert image.shape == (128, 64, 3)
    brightness = image.sum(axis=-1)
    assert (brightness[:4, :4] > brightness[:4, 4:].max()).all()
    # The robot's mark is white, 1.3 m of 1.6 m down, in the middle.
    assert (image[104, 32] == 255).all()


def test_depth_is_bright_when_near_and_black_when_missing():
    depth_m = np.array([[0.0, 0.4, 2.9]])
    image = panels.depth_image(depth_m, DepthCameraCfg(), width=120)
    assert image.shape == (90, 120, 3)
    missing, near, far = image[45, 20], image[45, 60], image[45, 100]
    assert missing.max() == 0
    assert near.sum() > far.sum() > 0


@pytest.mark.parametrize("task", [TEACHER, PERCEPTIVE])
def test_without_opengl_only_perception_is_drawn(
    task: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def refuse(*args: object) -> None:
        raise NoGraphicsError("none here")

    monkeypatch.setattr(play_pictures, "draw_views", refuse)
    output = tmp_path / "play.png"
    result = Play(
        task,
        agent="zero",
        num_envs=1,
        terrains=("gap",),
        difficulty=0.5,
        headless_frames=2,
        frame_steps=1,
        output=output,
    ).run()
    assert "libegl1" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["play.png"]
    assert np.asarray(Image.open(output).convert("RGB")).std() > 20.0
    assert result["has_3d_view"] is False
    assert result["steps"] == 1  # The first frame is the start.
    assert result["place"] == "gap, difficulty 0.50"


@pytest.mark.slow
@pytest.mark.skipif(not has_gl(), reason=f"No OpenGL without a screen: {INSTALL_HINT}")
def test_movie_with_the_robot_in_3d(tmp_path: Path):
    # In its own process: in this one MuJoCo may have settled on another OpenGL.
    script = (
        "from pathlib import Path; from solo.cli.play import Play; "
        f"result = Play({PERCEPTIVE!r}, num_envs=1, terrains=('gap',), difficulty=0.5, "
        "headless_frames=3, frame_steps=2, output=Path('play.gif')).run(); "
        "assert result['has_3d_view'] and result['steps'] == 4"
    )
    environment = {k: v for k, v in os.environ.items() if k != "MUJOCO_GL"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "play.gif") as movie:
        assert movie.n_frames == 3
        assert movie.info["duration"] == 40
        assert movie.width > 4 * 200 + play_pictures.VIEW_PX[0]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"task": "Solo-Techer"}, ["'Solo-Techer'", TEACHER, "`solo tasks`"]),
        ({"agent": "walk"}, ["'walk'", "zero, random, stand"]),
        ({"terrains": ("stares",)}, ["'stares'", "stairs_up_25"]),
        ({"terrains": ("gap", "gap")}, ["gap, gap"]),
        ({"difficulty": 1.5}, ["1.5", "0 to 1"]),
        ({"num_envs": 0}, ["--num-envs is 0"]),
        ({"port": 70000}, ["70000"]),
        ({"headless_frames": 0}, ["--headless-frames is 0"]),
        ({"headless_frames": 2, "frame_steps": 0}, ["--frame-steps is 0"]),
        ({"headless_frames": 2, "output": Path("a.jpg")}, ["'a.jpg'", ".png or .gif"]),
        ({"headless_frames": 2, "output": Path("no/a.png")}, ["'no'"]),
        ({"output": Path("a.png")}, ["--headless-frames"]),
    ],
)
def test_unusable_options_are_one_clear_line(options: dict[str, Any], parts: list[str]):
    with pytest.raises(SoloError) as info:
        Play(**{"task": TEACHER, **options}).run()
    assert "\n" not in str(info.value)
    for part in parts:
        assert part in str(info.value)
