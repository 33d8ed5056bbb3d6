"""Level curves from TensorBoard files."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from torch.utils.tensorboard import SummaryWriter

from solo.errors import SoloError
from solo.evaluation.curriculum import TAG, read_curve, read_curves
from solo.viewer.curriculum_picture import draw_curriculum, smooth


def write(folder, values, first=0, wall_time=1000.0):
    writer = SummaryWriter(str(folder), filename_suffix=f".{first}.{wall_time}")
    for i, value in enumerate(values):
        writer.add_scalar(TAG, value, first + i, walltime=wall_time + i)
    writer.close()


def test_a_curve_is_read_whole(tmp_path):
    write(tmp_path / "run", np.linspace(0.0, 5.0, 20_00))
    curve = read_curve(tmp_path / "run")
    assert curve.name == "run"
    assert len(curve.levels) == 2000
    assert curve.final_level == pytest.approx(5.0 * 0.95, abs=0.01)


def test_a_resumed_run_counts_what_it_repeated_once(tmp_path):
    write(tmp_path, [1.0, 1.0, 1.0, 1.0])
    write(tmp_path, [2.0, 2.0, 2.0], first=2, wall_time=2000.0)
    curve = read_curve(tmp_path)
    assert curve.iterations.tolist() == [0, 1, 2, 3, 4]
    assert curve.levels.tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]


def test_missing_curves_and_labels_are_told(tmp_path):
    with pytest.raises(SoloError, match="no folder"):
        read_curve(tmp_path / "nowhere")
    with pytest.raises(SoloError, match="has no curve"):
        read_curve(tmp_path)
    with pytest.raises(SoloError, match="2 labels for 1 runs"):
        read_curves([tmp_path], ["a", "b"])


def test_the_figure_has_a_line_per_run(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, [0.0, 1.0, 2.0])
    curves = read_curves([tmp_path / "a", tmp_path / "b"], ["PPO", "TA-MSE"])
    output = tmp_path / "curves.png"
    draw_curriculum(curves, 5.5, output)
    colours = {tuple(c) for c in np.asarray(Image.open(output).convert("RGB"))[::2, ::2]
               .reshape(-1, 3)}  # fmt: skip
    assert len(colours) > 10


def test_smoothing_looks_back_only():
    np.testing.assert_allclose(smooth(np.array([0.0, 2.0, 4.0]), 2), [0.0, 1.0, 3.0])
