"""The walk of the demo: the runtime acts, commands and pushes arrive, counts add up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from solo.bundles import shipped_teacher
from solo.errors import SoloError
from solo.evaluation.policies import open_policy
from solo.pictures.images import Perception, attention_colours, cell_points_w
from solo.pictures.terrain_mesh import cut_at
from solo.pictures.video import save_gif, save_mp4
from solo.progress import make_progress
from solo.sim.threads import stepping_threads
from solo.terrains.strips.catalogue import STRIPS
from solo.terrains.variants import VARIANTS
from solo.viewer.film import record, thin_out
from solo.viewer.ground import (
    FORWARD_M_S,
    ROUTE_NAME,
    TERRAINS,
    TRAINING,
    make_ground,
    spread,
)
from solo.viewer.tally import Odometer, Tally
from solo.viewer.walk import END_WORDS, Moment, Walk
from tests.export.helpers import bundle_path


def make_moment(x: float, seconds: float, error_m: float = 0.02, end=None) -> Moment:
    three = np.zeros(3)
    return Moment(
        seconds, np.zeros(32), np.array([x, 0.0]), three, three,
        error_m, 0.004, 0.01, end,
    )  # fmt: skip


def test_sway_is_no_distance_and_a_new_start_is_none_either():
    odometer = Odometer()
    for step in range(101):  # 2 s at 1 m/s with a sway of 5 cm, twice a second.
        seconds = 0.02 * step
        sway = 0.05 * np.sin(4 * np.pi * seconds)
        odometer.add(np.array([seconds, sway]), seconds)
    assert odometer.distance_m == pytest.approx(2.0, abs=1e-6)
    odometer.begin()
    odometer.add(np.array([-7.0, 3.0]), 0.0)
    odometer.add(np.array([-7.0, 2.5]), 0.5)
    assert odometer.distance_m == pytest.approx(2.5, abs=1e-6)


def test_a_tally_counts_ends_and_leaves_out_what_was_not_measured():
    tally = Tally(step_s=0.02)
    for moment in (
        make_moment(0.0, 0.0, 0.01),
        make_moment(0.3, 0.02, 0.03),
        make_moment(0.5, 0.04, np.nan, "fall"),
    ):
        tally.add(moment)
    tally.begin()
    tally.add(make_moment(0.0, 0.0, 0.02, "success"))
    ground = make_ground("gap", 0.5, seed=3)
    summary = tally.summarise(open_policy(str(bundle_path())), ground)
    assert (summary["falls"], summary["finished"]) == (1, 1)
    assert summary["height_map_l1_cm"] == pytest.approx(2.0)
    assert summary["distance_m"] == pytest.approx(0.5)
    assert summary["simulated_s"] == pytest.approx(0.08)
    assert summary["step_ms"] == {"mean": 10.0, "p95": 10.0}
    assert summary["real_time_factor"] == pytest.approx(2.0)
    assert (summary["terrain"], summary["difficulty"], summary["seed"]) == (
        "gap", 0.5, 3
    )  # fmt: skip


def test_every_terrain_can_be_chosen_at_both_ends_of_difficulty():
    assert set(TERRAINS) == {ROUTE_NAME, TRAINING} | set(STRIPS) | set(VARIANTS)
    assert len(set(TERRAINS)) == len(TERRAINS)
    for name in TERRAINS:
        for difficulty in (0.0, 1.0):
            ground = make_ground(name, difficulty)
            assert ground.finish_m / FORWARD_M_S < ground.time_s
            assert ground.finish_m > 1.0
            assert all(e.end_m <= ground.finish_m for e in ground.elements)
    assert make_ground("course").elements[0].name == "stairs_up"


def test_a_wrong_terrain_or_policy_is_one_clear_line(tmp_path: Path):
    checkpoint = tmp_path / "model_3.pt"
    checkpoint.write_bytes(b"")
    calls = (
        (lambda: make_ground("stares"), ["'stares'", "course", "stairs_up_25"]),
        (lambda: open_policy(str(tmp_path / "no.onnx")), ["no.onnx", "stand"]),
        (lambda: open_policy(str(checkpoint)), ["run.json"]),
    )
    for call, parts in calls:
        with pytest.raises(SoloError) as info:
            call()
        assert "\n" not in str(info.value)
        assert all(part in str(info.value) for part in parts)


def test_cells_lie_where_the_base_looks():
    half = np.sqrt(0.5)  # Turned by 90 degrees to the left: ahead is +y.
    qpos = np.array([2.0, 3.0, 0.8, half, 0.0, 0.0, half])
    map_m, centres_h = np.array([[-0.7]]), np.array([[[1.0, 0.2]]])
    points = cell_points_w(map_m, centres_h, qpos)
    np.testing.assert_allclose(points, [[[1.8, 4.0, 0.1]]], atol=1e-12)


def test_attention_is_bright_where_it_is_and_dim_where_it_is_even():
    def colours(attention):
        zeros = np.zeros((2, 4))
        return attention_colours(
            Perception(zeros, zeros, np.zeros((2, 4, 3)), zeros, attention)
        )

    even = colours(np.full((1, 2), 0.5)).sum(axis=-1)
    assert even.shape == (2, 4)
    assert np.ptp(even) == 0
    one = colours(np.array([[0.0, 1.0]])).sum(axis=-1)
    assert (one[:, 2:] > even.max()).all()
    assert (one[:, :2] < even.min()).all()


def test_a_surface_is_cut_where_segments_meet():
    # A slope from (0, 0) to (2, 1) in x and height, 1 m wide.
    quad = np.array([[[0, 0, 0], [2, 0, 1], [2, 1, 1], [0, 1, 0]]], dtype=float)
    front, behind = cut_at(quad, 0.5)
    np.testing.assert_allclose(front[0, :, 0], [0, 0.5, 0.5, 0])
    np.testing.assert_allclose(front[0, :, 2], [0, 0.25, 0.25, 0])
    np.testing.assert_allclose(behind[0, :, 0], [0.5, 2, 2, 0.5])
    np.testing.assert_allclose(behind[0, :, 2], [0.25, 1, 1, 0.25])
    assert len(cut_at(quad, 2.0)[1]) == 0
    assert len(cut_at(quad, 0.0)[0]) == 0


def test_few_frames_are_kept_and_the_last_is_one_of_them():
    frames = [(make_moment(k, 0.1 * k), None) for k in range(10)]
    kept = thin_out(frames, 4)  # type: ignore[arg-type] - No perception needed.
    assert [moment.position_m[0] for moment, _ in kept] == [0, 3, 6, 9]
    assert thin_out(frames, 20) == frames  # type: ignore[arg-type] - As above.


def test_a_movie_is_made_small_enough(tmp_path: Path):
    rng = np.random.default_rng(0)
    noise = [
        Image.fromarray(rng.integers(0, 255, (60, 80, 3), np.uint8)) for _ in range(12)
    ]
    path = tmp_path / "a.gif"
    sizes, lengths = [], []
    for limit in (10**6, 25_000):
        save_gif(noise, path, 0.1, limit)
        sizes.append(path.stat().st_size)
        with Image.open(path) as file:
            lengths.append(file.n_frames * file.info["duration"])
    assert sizes[1] <= 25_000 < sizes[0]
    assert lengths == [1200, 1200]  # It plays as long as before.


def test_a_film_has_all_frames(tmp_path: Path):
    frames = [Image.new("RGB", (65, 49), (k, 0, 0)) for k in range(10)]
    save_mp4(frames, tmp_path / "a.mp4", fps=10, hold_s=0.5)
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "a.mp4"))
    assert (count, seconds) == (15, pytest.approx(1.5))


def test_robots_are_spread_over_columns_and_levels():
    levels, columns = spread(34, 10, 17)
    assert sorted(columns) == sorted([*range(17)] * 2)
    assert set(levels) == set(range(10))
    assert (levels[:17] != levels[17:]).all()
    assert list(spread(2, 10, 17)[1]) == [0, 8]
    assert list(spread(3, 1, 2)[0]) == [0, 0, 0]


@pytest.fixture(scope="module")
def walk() -> Iterator[Walk]:
    with stepping_threads():
        walk = Walk(open_policy(str(bundle_path())), make_ground("movable_obstacle"))
        yield walk
    walk.close()


@pytest.mark.slow
def test_who_drives_is_obeyed_and_the_course_takes_over_again(walk: Walk):
    walk.begin()
    walk.step()
    assert walk.step().command[0] == pytest.approx(FORWARD_M_S, abs=0.1)
    walk.drive((0.3, -0.1, 0.2))
    walk.step()  # It is the command of the next observation.
    np.testing.assert_allclose(walk.step().command, [0.3, -0.1, 0.2], atol=1e-6)
    walk.drive(None)
    walk.step()
    assert walk.step().command[0] == pytest.approx(FORWARD_M_S, abs=0.1)


@pytest.mark.slow
def test_a_push_changes_the_velocity_by_just_that(walk: Walk):
    walk.begin()
    walk.step()
    before = walk.env.sim.data.qvel[0, :6].clone().numpy()
    walk.push((0.6, -0.8))
    after = walk.env.sim.data.qvel[0, :6].numpy()
    np.testing.assert_allclose(after - before, [0.6, -0.8, 0, 0, 0, 0], atol=1e-5)
    quiet = walk.step().position_m
    moved = walk.step().position_m - quiet  # 1 m/s for 0.02 s, and what the legs do.
    assert np.linalg.norm(moved) > 0.008


@pytest.mark.slow
def test_an_attempt_is_recorded_to_its_end_and_counted_once(walk: Walk):
    walk.begin()
    tally = Tally(walk.step_s)
    with make_progress() as progress:
        moments, frames = record(walk, 20.0, tally, progress)
    last, steps = moments[-1], len(moments)
    # Nobody has trained it: the runtime damps, and it falls or kneels.
    assert last.end in END_WORDS
    assert last.end != "success"
    assert sum(tally.ends.values()) == 1
    assert steps * walk.step_s == pytest.approx(last.seconds + walk.step_s)
    errors = np.array([moment.map_error_m for moment in moments])
    assert np.isfinite(errors[:10]).all()
    assert np.isnan(errors[-1])
    assert frames[0][0] is moments[0]
    assert frames[-1][0] is last
    seen = frames[0][1]
    true_error = np.abs(seen.seen_m - seen.true_m).mean()
    assert errors[0] == pytest.approx(true_error, rel=1e-5)


@pytest.mark.slow
def test_the_obstacle_is_in_the_state_where_the_strip_says(walk: Walk):
    walk.begin()
    moment = walk.step()
    assert moment.qpos.shape == (7 + 25 + 7,)
    (element,) = walk.ground.elements
    middle = (element.begin_m + element.end_m) / 2
    x = moment.qpos[32] - walk.terrain.origins_m[0, 0, 0]
    assert x == pytest.approx(middle, abs=0.02)


@pytest.mark.slow
def test_a_checkpoint_acts_on_the_true_map_and_shows_where_it_looks():
    ground = make_ground("gap", 0.5)
    with stepping_threads():
        walk = Walk(open_policy(str(shipped_teacher())), ground, depth_errors=True)
        try:
            moment = walk.step()
            perception = walk.perception
        finally:
            walk.close()
    assert perception is not None
    assert perception.seen_m is None
    assert np.isnan(moment.map_error_m)
    assert perception.attention is not None
    assert perception.attention.sum() == pytest.approx(1.0, abs=1e-4)
    assert perception.clean_depth_m is not None
    assert perception.clean_depth_m.shape == perception.depth_m.shape
    assert not np.array_equal(perception.clean_depth_m, perception.depth_m)


@pytest.mark.slow
def test_robots_stand_on_lanes_of_their_own():
    with stepping_threads():
        walk = Walk(open_policy("stand"), make_ground("gap", 1.0, num_robots=3), 3)
        try:
            moments = [walk.step() for _ in range(5)]
        finally:
            walk.close()
    last = moments[-1]
    assert last.other_ends == ()
    places = np.array([last.qpos[:3], *last.others[:, :3]])
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert (apart + 10.0 * np.eye(3) > 2.0).all()
    assert (places[:, 2] > 0.6).all()
