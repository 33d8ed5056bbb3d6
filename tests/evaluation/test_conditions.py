"""What conditions do to images and robots, on an environment that is made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from solo.errors import SoloError
from solo.evaluation.conditions import (
    CONDITIONS,
    NOMINAL,
    Condition,
    ConditionEnv,
    get_condition,
)
from solo.evaluation.rollout import LANES
from solo.robots.g1 import G1
from tests.evaluation.fake import make_start


class Robot:
    """Keeps the velocities that are written to it."""

    def __init__(self, num: int) -> None:
        self.data = SimpleNamespace(root_link_vel_w=torch.zeros(num, 6))

    def write_root_link_velocity_to_sim(self, velocity, env_ids):
        self.data.root_link_vel_w[env_ids] = velocity


class Camera:
    """Images of slot s after t steps of its rollout are 100 s + t."""

    step_s, half_patch_m = 0.02, 4.0

    def __init__(self, num_slots: int = LANES) -> None:
        self.num_slots, self.taken = num_slots, torch.zeros(num_slots)
        self.robot = Robot(num_slots)
        self.env = SimpleNamespace(scene={"robot": self.robot})

    def begin(self, slots, starts):
        self.taken[list(slots)] = 0.0

    def observations(self):
        value = 100.0 * torch.arange(self.num_slots) + self.taken
        return {"depth": value.view(-1, 1, 1, 1).expand(-1, 4, 2, 3), "other": value}

    def step(self, actions):
        self.taken += 1.0


def make(condition: Condition, num_slots: int = LANES) -> Any:
    camera: Any = Camera(num_slots)
    env = ConditionEnv(camera, condition, G1)
    env.begin(range(num_slots), [make_start(i) for i in range(num_slots)])
    return env


def images(env: Any) -> list[float]:
    """What each slot sees, all pixels of all images being the same."""
    seen = env.observations()
    assert (seen["depth"] == seen["depth"][:, :1, :1, :1]).all()
    return seen["depth"][:, 0, 0, 0].tolist()


ACTIONS = torch.zeros(LANES, 25)


def test_zeroed_images_arrive_black_and_nothing_else_changes():
    env = make(CONDITIONS["zeroed"])
    env.step(ACTIONS)
    assert images(env) == [0.0] * LANES
    assert env.observations()["other"][2] == 201.0


def test_frozen_images_are_the_first_of_each_rollout():
    env = make(CONDITIONS["frozen"])
    for _ in range(7):
        env.step(ACTIONS)
    assert images(env)[:3] == [0.0, 100.0, 200.0]
    # A rollout that begins later has a first image of its own.
    env._inner.taken[1] = 50.0
    env._inner.begin = lambda slots, starts: None
    env.begin([1], [make_start(40)])
    env.step(ACTIONS)
    assert images(env)[:3] == [0.0, 150.0, 200.0]


@pytest.mark.parametrize("delay", [2, 5, 10])
def test_delayed_images_are_as_many_steps_old(delay):
    env = make(CONDITIONS[f"delayed_{delay}"])
    for step in range(25):
        assert images(env)[3] == 300.0 + max(0, step - delay)
        if step == 12:
            env.begin([4], [make_start(50)])
        if step >= 12:  # The new rollout sees nothing of the old one.
            assert images(env)[4] == 400.0 + max(0, step - 12 - delay)
        env.step(ACTIONS)


def test_shuffled_images_are_those_of_another_robot():
    env = make(CONDITIONS["shuffled"])
    env.step(ACTIONS)
    seen = images(env)
    assert sorted(seen) == [100.0 * slot + 1.0 for slot in range(LANES)]
    assert all(value != 100.0 * slot + 1.0 for slot, value in enumerate(seen))


def pushes(num_slots: int, slot: int, index: int) -> list[tuple[int, list[float]]]:
    """When and how one rollout is pushed."""
    env = make(CONDITIONS["pushed"], num_slots)
    env.begin([slot], [make_start(index)])
    found, velocity = [], env._inner.robot.data.root_link_vel_w
    for step in range(1, 801):
        before = velocity[slot].clone()
        env.step(ACTIONS)
        if not torch.equal(before, velocity[slot]):
            found.append((step, (velocity[slot] - before).tolist()))
    return found


def test_pushes_belong_to_the_rollout_and_are_those_of_training():
    found = pushes(LANES, 3, 7)
    assert found == pushes(2 * LANES, LANES + 9, 7)
    assert found != pushes(LANES, 3, 8)
    steps = np.array([0, *(step for step, _ in found)])
    assert len(found) >= 3
    # Every 3 to 5 s of 0.02 s each.
    assert (np.diff(steps) >= 150).all()
    assert (np.diff(steps) <= 250).all()
    changes = np.array([change for _, change in found])
    assert (np.abs(changes[:, :2]) <= 1.0 + 1e-6).all()
    assert (changes[:, 2:] == 0.0).all()
    assert np.abs(changes[:, :2]).max() > 0.1


def test_only_what_concerns_the_camera_needs_one():
    free = [name for name, c in CONDITIONS.items() if not c.needs_depth]
    assert free == ["nominal", "pushed"]
    assert next(iter(CONDITIONS.values())) == NOMINAL
    with pytest.raises(SoloError, match=r"Unknown condition 'fog'.*zeroed"):
        get_condition("fog")
