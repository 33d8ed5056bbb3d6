"""What may go wrong in a rollout, as data, and the environment in which it does.

A condition changes what the policy sees of the depth camera, how the camera is mounted,
or pushes the robot. Everything goes through `make_condition_env`; the rollout loop does
not know of it. Conditions draw from the rollouts' own seeds, so they depend on neither
the batch nor each other. The one exception is ``shuffled``: whose images a robot gets
depends on who else is in the batch, so it always runs with `LANES` slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

from solo.envs.events_cfg import PUSH, make_events
from solo.errors import unknown_name
from solo.evaluation.protocols import EvalCell, Protocol, Range, Start
from solo.evaluation.rollout import LANES, PolicySource, StepReport
from solo.evaluation.sim_env import SimEnv, make_sim_env
from solo.reconstruction.perceiver import DEPTH
from solo.robots.robot_cfg import RobotCfg

PUSH_EVERY_S = (3.0, 5.0)
"""Time from one push to the next.

Training pushes every 10 to 15 s; most rollouts would be over before the first one.
"""


@dataclass(frozen=True)
class Condition:
    """What is different from the nominal evaluation."""

    name: str
    """What results are labelled with."""
    depth: Literal["seen", "zeroed", "frozen", "shuffled"] = "seen"
    """Images as they are, black, the first ones of the rollout for ever, or those of
    another robot."""
    delay_steps: int = 0
    """Age of the images in control steps."""
    tilt_deg: float = 0.0
    """How much farther down the camera looks than the policy assumes."""
    push_every_s: Range | None = None
    """Time between two pushes, which are as strong as in training; None for none."""

    @property
    def needs_depth(self) -> bool:
        """Whether it changes nothing for a policy without a camera."""
        return self.depth != "seen" or self.delay_steps > 0 or self.tilt_deg != 0.0

    def describe(self) -> dict[str, Any]:
        """For result files, as it is read from them."""
        pushes = None if self.push_every_s is None else list(self.push_every_s)
        return {**asdict(self), "push_every_s": pushes}


NOMINAL = Condition("nominal")
CONDITIONS = {
    condition.name: condition
    for condition in (
        NOMINAL,
        Condition("zeroed", depth="zeroed"),
        Condition("frozen", depth="frozen"),
        Condition("shuffled", depth="shuffled"),
        *(Condition(f"delayed_{n}", delay_steps=n) for n in (2, 5, 10)),
        Condition("pushed", push_every_s=PUSH_EVERY_S),
        *(Condition(f"tilted_{n}", tilt_deg=float(n)) for n in (1, 2, 3, 5)),
    )
}
"""Name to condition, the nominal one first."""


def get_condition(name: str) -> Condition:
    """A condition by its name.

    Raises:
        SoloError: There is none of that name.
    """
    if name not in CONDITIONS:
        raise unknown_name("condition", name, CONDITIONS, "Choose some of these.")
    return CONDITIONS[name]


class ConditionEnv:
    """An environment under a condition; see `solo.evaluation.rollout.RolloutEnv`."""

    lanes = LANES

    def __init__(self, inner: SimEnv, condition: Condition, robot: RobotCfg) -> None:
        self._inner, self.condition, self.env = inner, condition, inner.env
        self.num_slots, self.step_s = inner.num_slots, inner.step_s
        self.half_patch_m = inner.half_patch_m
        self._past = torch.empty(0)
        """Ring of the windows of the last steps, [delay + 1, B, frames, H, W]."""
        self._newest = 0
        ranges = make_events(robot)[PUSH].params["velocity_range"]
        self._push_m_s = np.array([ranges[axis] for axis in ("x", "y")])
        self._generators: dict[int, np.random.Generator] = {}
        self._steps_left = np.full(self.num_slots, -1)

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Begin rollouts in some slots."""
        self._inner.begin(slots, starts)
        for slot, start in zip(slots, starts, strict=True):
            self._generators[slot] = np.random.default_rng((*start.seed, 2))
            self._plan_push(slot)
        if self._remembers:
            depth = self._inner.observations()[DEPTH]
            if len(self._past) == 0:
                length = self.condition.delay_steps + 1
                self._past = depth.new_zeros(length, *depth.shape)
            rows = list(slots)
            self._past[:, rows] = depth[rows]  # The first one stands in for older ones.

    def observations(self) -> Any:
        """Observation groups by name, with the depth of the condition."""
        seen, condition = self._inner.observations(), self.condition
        if not condition.needs_depth:
            return seen
        depth = seen[DEPTH]
        if condition.depth == "zeroed":
            depth = torch.zeros_like(depth)
        elif condition.depth == "shuffled":
            depth = depth.roll(self.num_slots // 2, dims=0)
        elif self._remembers:
            oldest = (self._newest + 1) % len(self._past)
            depth = self._past[oldest].clone()
        return {**seen, DEPTH: depth}

    def step(self, actions: torch.Tensor) -> StepReport:
        """Push whom it is time for, then step."""
        self._steps_left -= 1
        due = np.flatnonzero(self._steps_left == 0)
        if len(due):
            self._push(due)
        report = self._inner.step(actions)
        if self.condition.delay_steps > 0:
            self._newest = (self._newest + 1) % len(self._past)
            self._past[self._newest] = self._inner.observations()[DEPTH]
        return report

    def close(self) -> None:
        """Free the simulation."""
        self._inner.close()

    @property
    def _remembers(self) -> bool:
        return self.condition.depth == "frozen" or self.condition.delay_steps > 0

    def _plan_push(self, slot: int) -> None:
        if self.condition.push_every_s is not None:
            time_s = self._generators[slot].uniform(*self.condition.push_every_s)
            self._steps_left[slot] = max(1, round(time_s / self.step_s))

    def _push(self, slots: np.ndarray) -> None:
        """Add a horizontal velocity, as the event of training does."""
        robot, ids = self.env.scene["robot"], torch.from_numpy(slots)
        velocity = robot.data.root_link_vel_w[ids].clone()  # [N, 6]
        for row, slot in enumerate(slots):
            push = self._generators[slot].uniform(*self._push_m_s.T)
            velocity[row, :2] += torch.from_numpy(push).to(velocity)
            self._plan_push(slot)
        robot.write_root_link_velocity_to_sim(velocity, env_ids=ids.to(velocity.device))


def make_condition_env(
    source: PolicySource,
    protocol: Protocol,
    cell: EvalCell,
    num_slots: int,
    num_threads: int | None = None,
    condition: Condition | None = None,
) -> SimEnv | ConditionEnv:
    """Build the environment of a job under a condition, nominal if None."""
    if condition is None or condition == NOMINAL:
        return make_sim_env(source, protocol, cell, num_slots, num_threads)
    robot = source.robot
    if condition.tilt_deg != 0.0:
        # The policy was made for the other mount and is not told.
        mount = robot.camera_mount
        pitch_deg = mount.pitch_down_deg + condition.tilt_deg
        robot = replace(robot, camera_mount=replace(mount, pitch_down_deg=pitch_deg))
    if condition.depth == "shuffled":
        num_slots = LANES
    source = replace(source, robot=robot)
    inner = make_sim_env(source, protocol, cell, num_slots, num_threads)
    return ConditionEnv(inner, condition, robot)
