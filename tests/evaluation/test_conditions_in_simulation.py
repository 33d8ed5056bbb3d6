"""Conditions with everything real: a camera that is tilted, batches, a trained run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from solo.evaluation.conditions import CONDITIONS, make_condition_env
from solo.evaluation.evaluate import run_cell
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import STRESS, LimitsCfg, StartRangeCfg
from solo.evaluation.rollout import LANES
from solo.sim.threads import stepping_threads
from tests.evaluation.runs import write_perceptive_run
from tests.stages.test_perceptive import perceptive, student  # noqa: F401 - Fixtures.

pytestmark = pytest.mark.slow

SHORT = replace(
    STRESS,
    terrains=("flat",),
    rollouts=LANES,
    num_patches=2,
    limits=LimitsCfg(time_s=0.3),
    start=StartRangeCfg(joint_scale=(1.0, 1.0)),
)
CELL = SHORT.cells[0]


def first_image(source, condition) -> np.ndarray:
    """Depth in metres [H, W] of a robot that has just been put on flat ground."""
    with stepping_threads(), torch.inference_mode():
        env = make_condition_env(source, SHORT, CELL, LANES, None, condition)
        env.begin(range(LANES), SHORT.starts(CELL, 25))
        image = env.observations()["depth"][0, -1]
        height = env.env.scene["robot"].data.root_link_pos_w[0, 2]
        env.close()
    assert height > 0.0
    return source.robot.depth_camera.max_range_m * image.numpy()


def test_a_tilted_camera_sees_the_ground_higher_up_in_the_image(tmp_path):
    source = open_policy(str(write_perceptive_run(tmp_path / "run")))
    camera, mount = source.robot.depth_camera, source.robot.camera_mount
    column = camera.output_width // 2  # Ahead, between the robot's own links.
    depth_m = 1.6
    rows = []
    for name in ("nominal", "tilted_5"):
        profile = first_image(source, CONDITIONS[name])[:, column]
        # Ground gets nearer down the image.
        centres = (np.arange(camera.output_height) + 0.5) * camera.height
        centres = centres / camera.output_height
        top = slice(0, camera.output_height // 2)
        assert (np.diff(profile[top]) < 0.0).all()
        # 1 / depth grows evenly with the row.
        row = np.interp(1.0 / depth_m, 1.0 / profile[top], centres[top])
        rows.append(row)
    # The camera is h above the ground; a row y below the axis sees ground at depth d
    # where h / d = sin(pitch) + y / f cos(pitch).
    pitch = math.radians(mount.pitch_down_deg)
    y = (rows[0] - camera.cy) / camera.fy
    height_m = depth_m * (math.sin(pitch) + y * math.cos(pitch))
    assert 1.0 < height_m < 1.5
    tilted = math.radians(mount.pitch_down_deg + 5.0)
    expected = (height_m / depth_m - math.sin(tilted)) / math.cos(tilted)
    assert rows[1] == pytest.approx(camera.cy + camera.fy * expected, abs=1.0)
    assert rows[0] - rows[1] > 20.0


@pytest.mark.parametrize("name", ["pushed", "delayed_2"])
def test_a_condition_gives_the_same_in_any_batch(name, tmp_path):
    source = open_policy(str(write_perceptive_run(tmp_path / "run")))
    protocol = replace(SHORT, rollouts=LANES + 2)
    condition = replace(CONDITIONS[name], push_every_s=(0.1, 0.2))
    first, second = (
        repr(run_cell(protocol, source, CELL, num, condition=condition).rollouts)
        for num in (LANES, 2 * LANES)
    )
    assert first == second
    nominal = run_cell(protocol, source, CELL, LANES).rollouts
    assert repr(nominal) != first


def test_a_trained_run_is_evaluated_from_its_folder(perceptive):  # noqa: F811
    cfg, _ = perceptive
    source = open_policy(str(cfg.output))
    assert source.kind == "perceptive"
    assert source.describe()["depth_shape"] == [16, 25]
    first, second = (
        run_cell(SHORT, source, CELL, num, threads).rollouts
        for num, threads in ((LANES, 1), (2 * LANES, 2))
    )
    assert repr(first) == repr(second)
    errors = [rollout.measures["height_map_l1_m"] for rollout in first]
    assert 0.0 < min(errors) <= max(errors) < 1.0
