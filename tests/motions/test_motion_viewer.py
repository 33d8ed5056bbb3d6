"""Clips in the browser: a real server, the page's controls, the robot's place."""

from __future__ import annotations

import numpy as np
import pytest

from solo.robots.g1 import G1
from solo.viewer.motions import LOOP_S, MotionPlayer, playable_qpos
from solo.viewer.server import start_server


@pytest.fixture(scope="module")
def walking_and_turning(clips):
    return clips["walk_forward_0.50"], clips["turn_left_0.70"]


def test_a_loop_walks_on_instead_of_jumping_back(walking_and_turning):
    walk, _ = walking_and_turning
    qpos = playable_qpos(walk)
    seconds = (len(qpos) - 1) / walk.fps
    assert seconds >= LOOP_S
    steps = np.diff(qpos[:, 0])
    assert steps.min() > -0.005
    # The clip is named by its speed.
    assert (qpos[-1, 0] - qpos[0, 0]) / seconds == pytest.approx(0.5, abs=0.01)


@pytest.mark.slow
def test_the_page_plays_stops_and_changes_the_clip(walking_and_turning):
    walk, turn = walking_and_turning
    server = start_server(8790)
    try:
        player = MotionPlayer(G1, (walk, turn), server)
        player.advance(0.0)
        start = player.base_position_m
        player.advance(1.0)
        assert player.base_position_m[0] - start[0] == pytest.approx(0.5, abs=0.03)
        player.plays.value = False
        here = player.base_position_m
        player.advance(1.0)
        assert np.array_equal(player.base_position_m, here)
        player.time.value = 0.0  # By hand.
        player.advance(1.0)
        assert np.array_equal(player.base_position_m, start)
        player.chooser.value, player.plays.value = turn.name, True
        player._choose()  # What the page calls.
        player.advance(1.0)
        assert np.abs(player.base_position_m[:2]).max() < 0.1
    finally:
        server.stop()
