"""Level curves from TensorBoard files."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from torch.utils.tensorboard import SummaryWriter

from solo.cli.curves import read_levels
from solo.errors import SoloError
from solo.files import write_json
from solo.pictures.training import band, draw_curriculum, smooth
from solo.results import LEVEL_TAG
from solo.stages.curves import group_runs


def write(folder, values, first=0, wall_time=1000.0):
    writer = SummaryWriter(str(folder), filename_suffix=f".{first}.{wall_time}")
    for i, value in enumerate(values):
        writer.add_scalar(LEVEL_TAG, value, first + i, walltime=wall_time + i)
    writer.close()


def test_a_curve_is_read_whole(tmp_path):
    write(tmp_path / "run", np.linspace(0.0, 5.0, 20_00))
    curve = read_levels(tmp_path / "run", "TA-MSE")
    assert curve.name == "TA-MSE"
    assert len(curve.levels) == 2000
    assert curve.final_level == pytest.approx(5.0 * 0.95, abs=0.01)


def test_a_resumed_run_counts_what_it_repeated_once(tmp_path):
    write(tmp_path, [1.0, 1.0, 1.0, 1.0])
    write(tmp_path, [2.0, 2.0, 2.0], first=2, wall_time=2000.0)
    curve = read_levels(tmp_path, "run")
    assert curve.iterations == (0, 1, 2, 3, 4)
    assert curve.levels == (1.0, 1.0, 2.0, 2.0, 2.0)


def test_missing_curves_are_told(tmp_path):
    with pytest.raises(SoloError, match="no folder"):
        read_levels(tmp_path / "nowhere", "run")
    with pytest.raises(SoloError, match="has no curve"):
        read_levels(tmp_path, "run")


def test_the_figure_has_a_line_per_run(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, [0.0, 1.0, 2.0])
    names = {"a": "PPO", "b": "TA-MSE"}
    curves = [read_levels(tmp_path / folder, name) for folder, name in names.items()]
    output = tmp_path / "curves.png"
    draw_curriculum({curve.name: [curve] for curve in curves}, 5.5, output)
    colours = {tuple(c) for c in np.asarray(Image.open(output).convert("RGB"))[::2, ::2]
               .reshape(-1, 3)}  # fmt: skip
    assert len(colours) > 10


def test_smoothing_looks_back_only():
    np.testing.assert_allclose(smooth(np.array([0.0, 2.0, 4.0]), 2), [0.0, 1.0, 3.0])


def test_a_band_spans_the_seeds_where_all_have_values():
    low = np.arange(0.0, 11.0), np.zeros(11)
    high = np.arange(2.0, 21.0), np.full(19, 4.0)
    x, least, mean, most = band([low, high])
    assert (x[0], x[-1]) == (2.0, 10.0)
    np.testing.assert_allclose(least, 0.0)
    np.testing.assert_allclose(mean, 2.0)
    np.testing.assert_allclose(most, 4.0)


def test_runs_that_differ_in_their_seed_alone_are_one_group(tmp_path):
    def run(name, **settings):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "run.json", {"stage": "student", **settings})
        return tmp_path / name

    ppo = [run("ppo_s0", seed=0, objective="ppo")]  # From before num_processes.
    ppo += [run("ppo_s1", seed=1, objective="ppo", num_processes=1)]
    mse = run("mse_s0", seed=0, objective="ta-mse")
    (tmp_path / "bare").mkdir()
    folders = [*ppo, mse, tmp_path / "bare"]
    groups = group_runs(folders)
    assert groups == {
        "ppo, 2 seeds": ppo,
        "mse_s0": [mse],
        "bare": [tmp_path / "bare"],
    }
    assert group_runs(folders, ["a", "b", "a", "b"]) == {
        "a": [ppo[0], mse],
        "b": [ppo[1], tmp_path / "bare"],
    }
    with pytest.raises(SoloError, match="name 1 of 4 runs"):
        group_runs(folders, ["a"])
