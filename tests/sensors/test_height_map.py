"""The height map at places where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from solo.sensors.height_map import HeightMap, HeightMapCfg
from solo.terrains.grid import HeightGrid


def quat_of_yaw(*yaw: float) -> torch.Tensor:
    half = torch.tensor(yaw) / 2
    zero = torch.zeros_like(half)
    return torch.stack([half.cos(), zero, zero, half.sin()], dim=-1)


def grid_of(heights_in_units: np.ndarray) -> HeightGrid:
    """A grid of 0.05 m cells centred on the world origin."""
    num_x, num_y = heights_in_units.shape
    return HeightGrid(heights_in_units, (-num_x * 0.025, -num_y * 0.025))


def stair(at_cell: int = 100) -> np.ndarray:
    """Ground of 200 x 200 cells, 20 cm (40 units) higher from a cell on."""
    units = np.zeros((200, 200), np.int16)
    units[at_cell:] = 40
    return units


def sample(units: np.ndarray, position, *yaw: float) -> np.ndarray:
    pos = torch.tensor(position, dtype=torch.float32).reshape(-1, 3)
    height_map = HeightMap(grid_of(units), HeightMapCfg(), "cpu")
    return height_map.sample(pos, quat_of_yaw(*yaw)).numpy()


def test_flat_ground_is_the_base_height_below():
    heights = sample(np.zeros((200, 200), np.int16), [0.0, 0.0, 0.75], 0.3)
    assert heights.shape == (1, 16, 32)
    np.testing.assert_allclose(heights, -0.75, atol=1e-6)


def test_riser_is_in_the_right_column():
    """The riser is at x = 0. From x = -0.5 it is 0.5 m ahead.

    The window begins 0.3 m behind, so the riser is 0.8 m = 16 cells into it.
    """
    heights = sample(stair(), [-0.5, 0.0, 0.7], 0.0)[0]
    np.testing.assert_allclose(heights[:, :16], -0.7, atol=1e-6)
    np.testing.assert_allclose(heights[:, 16:], -0.5, atol=1e-6)


def test_turned_left_the_riser_is_on_the_right():
    """Facing +y, the higher ground at x > 0 is to the right: low row index."""
    heights = sample(stair(), [0.001, 0.0, 0.0], math.pi / 2)[0]
    np.testing.assert_allclose(heights[:8], 0.2, atol=1e-6)
    np.testing.assert_allclose(heights[8:], 0.0, atol=1e-6)


def test_yaw_does_not_change_the_map_of_a_round_terrain():
    x = (np.arange(200) - 99.5) * 0.05
    cone = (20 * np.hypot(*np.meshgrid(x, x))).astype(np.int16)  # 10 cm per metre
    maps = sample(cone, [[0.0, 0.0, 0.0]] * 5, 0.0, 0.4, 1.3, -2.0, 3.1)
    # A cell of 5 cm on a slope of 0.1, and rounding to 5 mm.
    assert np.abs(maps - maps[0]).max() <= 0.0101


def test_roll_and_pitch_are_ignored():
    yaw, tilt = 0.7, 0.3
    flat = quat_of_yaw(yaw)[0]
    pitch = torch.tensor([math.cos(tilt / 2), 0.0, math.sin(tilt / 2), 0.0])
    w, x, y, z = flat.unbind()
    a, b, c, d = pitch.unbind()
    tilted = torch.stack(
        [w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c,
         w * c - x * d + y * a + z * b, w * d + x * c - y * b + z * a]
    )  # fmt: skip
    height_map = HeightMap(grid_of(stair()), HeightMapCfg(), "cpu")
    position = torch.tensor([[-0.31, 0.17, 0.7]])
    np.testing.assert_array_equal(
        height_map.sample(position, tilted[None]),
        height_map.sample(position, flat[None]),
    )


@pytest.mark.parametrize("position", [[50.0, 0.0, 1.0], [4.9, -80.0, 1.0]])
def test_outside_the_grid_it_reads_the_border(position):
    np.testing.assert_allclose(sample(stair(), position, 0.0), -0.8, atol=1e-6)


def test_compiled_loop_equals_tensor_operations():
    rng = np.random.default_rng(0)
    units = rng.integers(-200, 200, (200, 200)).astype(np.int16)
    height_map = HeightMap(grid_of(units), HeightMapCfg(), "cpu")
    pos = torch.tensor(rng.uniform(-6, 6, (64, 3)), dtype=torch.float32)
    quat = torch.nn.functional.normalize(
        torch.tensor(rng.normal(size=(64, 4)), dtype=torch.float32)
    )
    compiled = height_map.sample(pos, quat).flatten(1)
    tensors = height_map.sample_with_tensors(pos, quat)
    # Centres on the border of two cells may be rounded to either.
    assert (compiled - tensors).abs().lt(1e-5).float().mean() > 0.999


def test_it_agrees_with_the_grid_itself():
    rng = np.random.default_rng(1)
    units = rng.integers(-200, 200, (200, 200)).astype(np.int16)
    grid = grid_of(units)
    heights = sample(units, [1.03, -0.52, 0.4], 0.0)[0]
    centres = HeightMapCfg().centres_h() + np.array([1.03, -0.52])
    expected = grid.height_at(centres[..., 0], centres[..., 1]) - 0.4
    np.testing.assert_allclose(heights, expected, atol=1e-5)
