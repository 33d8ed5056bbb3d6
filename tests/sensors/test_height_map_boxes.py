"""Boxes in the height map at places where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from solo.sensors.height_map import HeightMap, HeightMapCfg
from tests.sensors.depth.test_boxes import boxes_of, turn
from tests.sensors.test_height_map import grid_of, quat_of_yaw, stair

CFG = HeightMapCfg()
BOX = [0.4, 0.6, 0.2]
GROUND = np.zeros((200, 200), np.int16)


def sample(units, position, yaw, boxes) -> np.ndarray:
    pos = torch.tensor(position, dtype=torch.float32).reshape(1, 3)
    return (
        HeightMap(grid_of(units), CFG, "cpu")
        .sample(pos, quat_of_yaw(yaw), boxes)[0]
        .numpy()
    )


def test_an_upright_box_is_a_rectangle_of_its_size():
    """From x = 0.41 to 0.81 and y = -0.31 to 0.29, seen from 0.7 m up at the origin.

    Centres are at -0.275 + 0.05 k ahead: 0.425 is the 14th and 0.775 the 21st. Across
    they are at -0.375 + 0.05 k: -0.275 is the 2nd and 0.275 the 13th.
    """
    boxes = boxes_of(([0.61, -0.01, 0.1], turn(0.0), BOX))
    heights = sample(GROUND, [0.0, 0.0, 0.7], 0.0, boxes)
    expected = np.full((16, 32), -0.7)
    expected[2:14, 14:22] = -0.5
    np.testing.assert_allclose(heights, expected, atol=1e-6)


def test_turned_by_30_degrees_its_corners_and_sides_are():
    """Each cell against the sides of the turned rectangle, by their own equations."""
    yaw, centre = math.radians(30), np.array([0.5, 0.05])
    boxes = boxes_of(([*centre, 0.1], turn(yaw), BOX))
    heights = sample(GROUND, [0.0, 0.0, 0.7], 0.0, boxes)
    offset = CFG.centres_h() - centre  # [Y, X, 2]
    along = offset @ [math.cos(yaw), math.sin(yaw)]
    across = offset @ [-math.sin(yaw), math.cos(yaw)]
    on_box = (np.abs(along) < 0.2) & (np.abs(across) < 0.3)
    np.testing.assert_allclose(heights, np.where(on_box, -0.5, -0.7), atol=1e-6)
    # 0.24 m2 of cells of 25 cm2.
    assert on_box.sum() == pytest.approx(96, abs=6)


def test_the_window_turns_with_the_robot_and_the_box_does_not():
    boxes = boxes_of(([0.0, 0.61, 0.1], turn(math.pi / 2), BOX))
    ahead = sample(GROUND, [0.0, 0.0, 0.7], math.pi / 2, boxes)
    expected = np.full((16, 32), -0.7)
    expected[2:14, 14:22] = -0.5
    np.testing.assert_allclose(ahead, expected, atol=1e-6)


def test_a_tilted_box_is_its_upper_surface():
    """Tilted by 20 deg about y; the top face is the plane through its centre.

    Going up x the top falls by tan 20; the centre of the top is 0.1 m along the normal
    (sin 20, 0, cos 20).
    """
    tilt = math.radians(20)
    centre = np.array([0.6, 0.0, 0.3])
    boxes = boxes_of((centre, turn(0.0, tilt), BOX))
    heights = sample(GROUND, [0.0, 0.0, 0.0], 0.0, boxes)
    top = centre + 0.1 * np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    x = CFG.centres_h()[8, :, 0]
    plane = top[2] - (x - top[0]) * math.tan(tilt)
    on_top = np.abs((x - top[0]) / math.cos(tilt)) < 0.2
    assert on_top.sum() > 5
    np.testing.assert_allclose(heights[8, on_top], plane[on_top], atol=1e-6)
    # Beyond the top's far end there is the front face; beyond that the ground.
    far = x > top[0] + 0.2 * math.cos(tilt) + 1e-6
    np.testing.assert_allclose(heights[8, far], 0.0, atol=1e-6)


def test_the_higher_of_ground_and_box_counts():
    """A box of 0.1 m beside and half in a step of 0.2 m at x = 0."""
    boxes = boxes_of(([0.0, 0.0, 0.05], turn(0.0), [0.41, 0.41, 0.1]))
    heights = sample(stair(), [-0.5, 0.0, 0.7], 0.0, boxes)
    np.testing.assert_allclose(heights[:, 16:], -0.5, atol=1e-6)
    np.testing.assert_allclose(heights[4:12, 12:16], -0.6, atol=1e-6)
    np.testing.assert_allclose(heights[:, :12], -0.7, atol=1e-6)


def test_a_box_elsewhere_changes_no_bit():
    boxes = boxes_of(([3.0, 2.0, 0.1], turn(0.4), BOX))
    args = stair(), [-0.31, 0.17, 0.7], 0.7
    np.testing.assert_array_equal(sample(*args, boxes), sample(*args, None))
