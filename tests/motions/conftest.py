"""The robot and its clips, made once."""

from __future__ import annotations

import pytest

from solo.motions.catalogue import make_clips
from solo.motions.clip import MotionClip
from solo.motions.skeleton import Skeleton, make_skeleton
from solo.robots.g1 import G1


@pytest.fixture(scope="session")
def skeleton() -> Skeleton:
    return make_skeleton(G1)


@pytest.fixture(scope="session")
def clips() -> dict[str, MotionClip]:
    return {clip.name: clip for clip in make_clips(G1)}
