"""The picture of depth images, and the poses it is taken from."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from solo.cli.terrains import DepthShow
from solo.errors import SoloError
from solo.pictures.depth import (
    NUM_TOGETHER,
    SINGLES,
    STRIDES,
    find_spot,
    render_view,
    strong_end,
)
from solo.robots.g1 import G1
from solo.sensors.depth.cfg import DepthCorruptionCfg
from solo.terrains.grid import HeightGrid


def test_show_writes_one_png_and_says_what_is_in_it(tmp_path: Path) -> None:
    output = tmp_path / "two.png"
    result = DepthShow(("gap", "stairs_up_30"), 0.5, output=output).run()
    assert result["terrains"] == ["gap", "stairs_up_30"]
    assert [path.name for path in tmp_path.iterdir()] == ["two.png"]
    assert matplotlib.image.imread(output).std() > 0.05
    shares = result["invalid_share"]
    assert len(shares) == 1 + len(SINGLES) + NUM_TOGETHER
    assert shares["blur"] == pytest.approx(shares["clean"])
    assert shares["clean"] < shares["missing pixels"] < shares["blind regions"]


def test_the_robot_stops_before_a_wall_on_level_ground() -> None:
    units = np.zeros((160, 160), dtype=np.int16)
    units[110:] = round(0.4 / 0.005)  # From x = 1.5 m on.
    x, y = find_spot(HeightGrid(units, (-4.0, -4.0), unit_m=0.005))
    assert y == 0.0
    assert 0.2 < x < 1.3  # The toes are 0.15 m ahead of the base.


def test_own_legs_come_into_view_when_they_swing() -> None:
    standing, swinging, _ = (render_view(G1, "flat", s, 0.0, 0)[0] for s in STRIDES)
    middle = slice(28, 85)  # The hands are at the sides of the image.
    assert standing[:, middle].min() > 0.8
    assert 0.3 < swinging[:, middle].min() < 0.7


def test_strong_end_has_no_spread_left() -> None:
    strong = strong_end(DepthCorruptionCfg())
    assert strong.missing is not None
    assert strong.missing.pixel_prob == (0.01, 0.01)
    assert strong.side_masks is not None
    assert strong.side_masks.prob == (1.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"difficulty": 1.2},
            r"difficulty is 1\.2; it must be from 0 to 1",
        ),
        ({"terrains": ("stair",)}, "Unknown terrain 'stair'"),
        ({"seed": -2}, "seed is -2"),
        ({"output": Path("depth.jpg")}, r"only \.png"),
        ({"output": Path("nowhere/depth.png")}, "Cannot write 'nowhere/depth.png'"),
    ],
)
def test_show_explains_what_is_wrong(arguments, message) -> None:
    with pytest.raises(SoloError, match=message):
        DepthShow(**arguments).run()
