"""`solo demo` without a screen: a bundle that walks."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from solo import bundles
from solo.bundles import SHIPPED_DIFFICULTY, shipped_bundle
from solo.cli.main import main
from solo.gl import INSTALL_HINT, NoGraphicsError, has_gl
from solo.pictures.terrain_mesh import make_terrain_meshes
from solo.pictures.video import MAX_BYTES
from solo.terrains.scene import TerrainSceneCfg, build_scene
from solo.viewer import film
from tests.export.helpers import bundle_path

WALK = ["demo", "--headless", "--terrain", "gap", "--seconds", "0.5", "--seed", "4"]


def run_alone(options: list[str]) -> subprocess.CompletedProcess[str]:
    """In its own process: in this one MuJoCo may have settled on another OpenGL."""
    environment = {k: v for k, v in os.environ.items() if k != "MUJOCO_GL"}
    return subprocess.run(
        [sys.executable, "-m", "solo.cli.main", *options],
        capture_output=True,
        text=True,
        env=environment,
    )


def check_picture(path: Path) -> None:
    pixels = np.asarray(Image.open(path).convert("RGB"))
    assert pixels.std() > 20.0


@pytest.mark.slow
@pytest.mark.skipif(not has_gl(), reason=f"No OpenGL without a screen: {INSTALL_HINT}")
def test_a_bundle_walks_into_a_movie_plots_and_a_summary(tmp_path: Path):
    bundle = bundle_path()
    done = run_alone([*WALK, "--policy", str(bundle), "--output", str(tmp_path)])
    assert done.returncode == 0, done.stderr
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["demo.gif", "demo.png", "summary.json"]
    assert all(name in done.stdout for name in written)
    check_picture(tmp_path / "demo.png")
    assert (tmp_path / "demo.gif").stat().st_size < MAX_BYTES
    with Image.open(tmp_path / "demo.gif") as movie:
        assert movie.n_frames == 5  # At 0, 0.1, ..., 0.4 s.
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["simulated_s"] == 0.5
    assert summary["sha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    assert (summary["terrain"], summary["difficulty"]) == ("gap", 1.0)
    assert summary["seed"] == 4
    assert (summary["falls"], summary["finished"]) == (0, 0)
    assert 0.0 < summary["distance_m"] < 0.5
    assert summary["height_map_l1_cm"] > 0.0
    assert 0.0 < summary["policy_ms"]["mean"] < summary["step_ms"]["mean"]


@pytest.mark.slow
def test_a_bundle_walks_without_opengl(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def refuse(*args: object) -> None:
        raise NoGraphicsError("none here")

    monkeypatch.setattr(film, "render", refuse)
    monkeypatch.setattr(bundles, "shipped_bundle", bundle_path)
    assert main([*WALK, "--output", str(tmp_path)]) == 0
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["demo.gif", "demo.png", "summary.json"]
    check_picture(tmp_path / "demo.png")
    assert "libegl1" in capsys.readouterr().out
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["has_3d_view"] is False
    assert summary["difficulty"] == SHIPPED_DIFFICULTY


def test_the_shipped_bundle_is_found_only_if_it_is_there(tmp_path, monkeypatch):
    path = tmp_path / "g1.onnx"
    monkeypatch.setattr(bundles, "_SHIPPED", str(path))
    assert shipped_bundle() is None
    path.touch()
    assert shipped_bundle() == path


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--seconds", "-1"),
        ("--seconds", "nan"),
        ("--difficulty", "1.5"),
        ("--difficulty", "nan"),
        ("--seed", "-1"),
        ("--port", "70000"),
        ("--output", "/dev/null/folder"),
        ("--terrain", "stares"),
        ("--policy", "no/such.onnx"),
    ],
)
def test_unusable_options_are_refused_in_one_line(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["demo", "--headless", option, value]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert value in captured.err


def test_light_terrain_lies_on_the_surface_with_few_triangles():
    cfg = TerrainSceneCfg(
        variants=("stairs_down_30", "slope_up", "rough_coarse"),
        num_levels=1,
        border_m=1.0,
        difficulty=0.8,
    )
    scene = build_scene(cfg)
    meshes = make_terrain_meshes(scene)
    assert sum(len(mesh.triangles) for mesh in meshes) < 60_000  # Of 600 000.
    rng = np.random.default_rng(0)
    for mesh in meshes:
        corners = mesh.vertices[mesh.triangles]  # [F, 3, 3]
        edge_1, edge_2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        normal = np.cross(edge_1, edge_2)
        assert (normal[:, 2] > 0.0).all()
        # Points all over the ground, but not on risers, where an overlap of 1.5 mm
        # sideways is centimetres in height.
        is_level = normal[:, 2] > 0.7 * np.linalg.norm(normal, axis=1)
        area = normal[:, 2] * is_level
        chosen = rng.choice(len(corners), 20_000, p=area / area.sum())
        weights = rng.dirichlet((1.0, 1.0, 1.0), len(chosen))[:, :, None]
        points = (weights * corners[chosen]).sum(axis=1)
        error = np.abs(scene.grid.surface_at(*points[:, :2].T) - points[:, 2])
        assert np.quantile(error, 0.99) < 0.012
