"""For tests that train."""

from __future__ import annotations

import pytest

from solo.motions import catalogue


@pytest.fixture(scope="session", autouse=True)
def _gaits_are_synthesised_once():
    """They are most of the time of a training of the smallest size."""
    make_gait, made = catalogue.make_gait, {}

    def make_once(robot, skeleton, cfg):
        key = id(robot), cfg
        if key not in made:
            made[key] = robot, make_gait(robot, skeleton, cfg)  # Keeps the id its own.
        return made[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "make_gait", make_once)
        yield
