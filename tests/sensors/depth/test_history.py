"""The depth window: order, stride, delay, and nothing of the previous episode."""

from __future__ import annotations

import random

import pytest
import torch

from solo.sensors.depth.camera import DepthHistory


class SlowHistory:
    """The definition, with one Python list per env that a reset empties."""

    def __init__(self, num_envs: int, frames: int, stride: int) -> None:
        self.images: list[list[float]] = [[] for _ in range(num_envs)]
        self.frames, self.stride = frames, stride

    def window(self, env: int, delay: int) -> list[float]:
        images = self.images[env]
        ages = [delay + k * self.stride for k in reversed(range(self.frames))]
        return [images[max(len(images) - 1 - age, 0)] for age in ages]


def history(num: int, **options) -> DepthHistory:
    return DepthHistory(num, shape=(1, 2), **options)


@pytest.mark.parametrize(("frames", "stride", "max_delay"), [(4, 4, 3), (2, 3, 0)])
def test_equals_the_definition_with_random_resets(frames, stride, max_delay):
    num, rng = 5, random.Random(0)
    fast = history(num, frames=frames, stride=stride, max_delay=max_delay)
    slow = SlowHistory(num, frames, stride)
    for step in range(200):
        ids = [env for env in range(num) if rng.random() < 0.05]
        if ids:
            fast.reset(torch.tensor(ids))
            for env in ids:
                slow.images[env].clear()
        images = torch.tensor([step + 1000.0 * env for env in range(num)])
        fast.push(images[:, None, None].expand(num, 1, 2))
        for env in range(num):
            slow.images[env].append(step + 1000.0 * env)
        window = fast.read()
        assert window.shape == (num, frames, 1, 2)
        for env in range(num):
            expected = slow.window(env, int(fast.delays[env]))
            assert window[env, :, 0, 1].tolist() == expected


def test_order_is_oldest_first_with_stride_and_delay():
    fast = history(4)
    fast.delays[:] = torch.arange(4)
    for step in range(30):
        fast.push(torch.full((4, 1, 2), float(step)))
    window = fast.read()[:, :, 0, 0].tolist()
    assert window[0] == [17.0, 21.0, 25.0, 29.0]
    assert window[3] == [14.0, 18.0, 22.0, 26.0]


def test_first_image_after_a_reset_fills_the_whole_window():
    fast = history(2)
    for step in range(20):
        fast.push(torch.full((2, 1, 2), float(step)))
    fast.reset(torch.tensor([1]))
    fast.push(torch.full((2, 1, 2), 99.0))
    window = fast.read()[:, :, 0, 0]
    assert window[1].tolist() == [99.0] * 4
    assert 99.0 not in window[0, :3]


def test_before_its_first_image_an_episode_shows_nothing():
    fast = history(2)
    for _ in range(20):
        fast.push(torch.ones(2, 1, 2))
    fast.reset(torch.tensor([1]))
    window = fast.read()
    assert (window[0] == 1.0).all()
    assert (window[1] == 0.0).all()


def test_a_reset_env_can_begin_within_the_present_step():
    fast = history(2, frames=2, stride=1, max_delay=0)
    for step in range(5):
        fast.push(torch.full((2, 1, 2), float(step)))
    fast.reset(torch.tensor([1]))
    fast.push(torch.full((2, 1, 2), 50.0), torch.tensor([1]))
    assert fast.read()[:, :, 0, 0].tolist() == [[3.0, 4.0], [50.0, 50.0]]
    fast.push(torch.full((2, 1, 2), 60.0))
    assert fast.read()[:, :, 0, 0].tolist() == [[4.0, 60.0], [50.0, 60.0]]


def test_delays_are_uniform_and_seeded():
    draws = history(4000).delays
    share = torch.bincount(draws, minlength=4) / 4000
    assert share.tolist() == pytest.approx([0.25] * 4, abs=0.03)
    again = history(4000, generator=torch.Generator().manual_seed(0)).delays
    other = history(4000, generator=torch.Generator().manual_seed(1)).delays
    assert again.equal(draws)
    assert not other.equal(draws)


def test_reset_draws_delays_of_the_reset_envs_only():
    fast = history(1000)
    before = fast.delays.clone()
    fast.reset(torch.arange(500))
    assert fast.delays[500:].equal(before[500:])
    assert not fast.delays[:500].equal(before[:500])


def test_the_window_does_not_alias_the_ring():
    fast = history(1, max_delay=0)
    fast.push(torch.ones(1, 1, 2))
    window = fast.read()
    fast.push(torch.zeros(1, 1, 2))
    assert (window == 1.0).all()


def test_reading_an_empty_history_is_refused():
    with pytest.raises(RuntimeError, match="push images before read"):
        history(1).read()
