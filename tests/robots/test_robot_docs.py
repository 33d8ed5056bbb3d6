"""docs/conventions.md states what the config holds."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from solo.robots.g1 import G1
from solo.robots.view import standing_pose

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"


def test_joint_table_is_the_config():
    effort = {
        name: group.effort_limit
        for group in G1.actuators
        for name in G1.find_joints(group.target_names_expr)
    }
    rows = [
        f"| {index} | `{name}` | {default:g} | {scale:.3f} | {effort[name]:g} |"
        for index, (name, default, scale) in enumerate(
            zip(
                G1.joint_names,
                G1.joint_values(G1.default_joint_pos),
                G1.joint_values(G1.action_scale),
                strict=True,
            )
        )
    ]
    assert "\n".join(rows) in PAGE.read_text()


def test_map_corners_are_the_config():
    text = PAGE.read_text()
    centres = G1.height_map.centres_h()
    for iy, ix in ((0, 0), (0, 31), (15, 0), (15, 31)):
        x, y = centres[iy, ix]
        assert f"| `m[{iy}, {ix}]` | x = {x:+.3f}, y = {y:+.3f}:" in text


def test_picture_draws_the_view_from_the_first_visible_column():
    _, data = standing_pose(G1)
    picture = runpy.run_path(str(PAGE.parent / "images" / "conventions.py"))
    corners = picture["ground_corners_w"](data, G1.depth_camera)
    # Bottom row, 84.0 deg down from 1.041 m: 0.106 + 1.041 / tan(84.0 deg).
    assert corners[2:, 0] == pytest.approx(0.215, abs=2e-3)
    assert corners[2:, 2] == pytest.approx(0.0, abs=1e-12)
    assert corners[2, 1] == pytest.approx(-corners[3, 1])
