"""The picture and the two commands around it."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from solo.cli.terrains import TerrainsList, TerrainsShow
from solo.errors import SoloError
from solo.pictures.terrains import draw_relief
from solo.terrains import VARIANTS, HeightGrid


def test_list_prints_and_returns_every_variant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = TerrainsList().run()["terrains"]
    assert [entry["name"] for entry in listed] == list(VARIANTS)
    printed = capsys.readouterr().out
    assert all(name in printed for name in VARIANTS)


def test_show_writes_one_png_and_nothing_else(tmp_path: Path) -> None:
    output = tmp_path / "two.png"
    result = TerrainsShow(0.5, ("gap", "stairs_up_25"), output=output).run()
    assert result == {
        "output": str(output),
        "difficulty": 0.5,
        "terrains": ["gap", "stairs_up_25"],
    }
    assert [path.name for path in tmp_path.iterdir()] == ["two.png"]
    assert matplotlib.image.imread(output).std() > 0.05


def draw_wall_with_bump(bump_y: slice) -> np.ndarray:
    """A wall of 1 m across the grid and a bump of 0.2 m before or behind it."""
    units = np.zeros((40, 40), dtype=np.int16)
    units[:, 20:22] = 200
    units[15:25, bump_y] = 40
    return draw_relief(HeightGrid(units, (-1.0, -1.0)), (0.5, 0.5, 0.5), width_px=80)


def test_relief_hides_what_lies_behind_a_wall() -> None:
    # The view is from -y, so larger y is further away.
    without = draw_wall_with_bump(slice(0))
    np.testing.assert_array_equal(draw_wall_with_bump(slice(25, 29)), without)
    assert not np.array_equal(draw_wall_with_bump(slice(10, 14)), without)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"difficulty": 1.2}, r"difficulty is 1\.2; allowed are numbers from 0 to 1"),
        ({"terrains": ("stair",)}, "Unknown terrain 'stair'"),
        ({"patch_m": 1.0}, r"patch size is 1\.0 m"),
        ({"seed": -2}, "seed is -2"),
        ({"output": Path("terrains.jpg")}, r"only \.png"),
        ({"output": Path("no/such/place.png")}, "does not exist"),
    ],
)
def test_show_refuses_unusable_input_in_one_line(arguments: dict, message: str) -> None:
    with pytest.raises(SoloError, match=message) as caught:
        TerrainsShow(**arguments).run()
    assert "\n" not in str(caught.value)
