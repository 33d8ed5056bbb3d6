"""Policies that need no training: the baselines of the benchmark and of the demo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs.mdp.actions import JointPositionAction
from mjlab.utils.lab_api.math import quat_apply_inverse, yaw_quat

from solo.errors import SoloError
from solo.evaluation.protocols import Start
from solo.evaluation.rollout import Policy
from solo.robots.robot_cfg import RobotCfg

Action = tuple[torch.Tensor, Mapping[str, np.ndarray]]
"""What `Policy.act` returns."""


class ZeroPolicy(Policy):
    """Always asks for the default pose; the G1 tips over within two seconds."""

    def __init__(self, env: ManagerBasedRlEnv) -> None:
        shape = (env.num_envs, env.action_manager.total_action_dim)
        self._actions = torch.zeros(shape, device=env.device)

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Nothing to forget."""

    def act(self, observations: Any) -> Action:
        """Zeros."""
        return self._actions.clone(), {}


class RandomPolicy(Policy):
    """Draws every action from a normal distribution around the default pose."""

    std = 0.5
    """Standard deviation, in units of action."""

    def __init__(self, num_slots: int, num_actions: int) -> None:
        self._shape = (num_slots, num_actions)
        self._generators: dict[int, np.random.Generator] = {}

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Draw from the rollouts' own seeds."""
        for slot, start in zip(slots, starts, strict=True):
            self._generators[slot] = np.random.default_rng((*start.seed, 1))

    def act(self, observations: Any) -> Action:
        """Draw actions."""
        actions = np.zeros(self._shape, dtype=np.float32)
        for slot, generator in self._generators.items():
            actions[slot] = self.std * generator.standard_normal(self._shape[1])
        return torch.from_numpy(actions), {}


@dataclass(frozen=True)
class StandCfg:
    """Joints and gains of the standing feedback; the defaults are the G1's.

    Joints are patterns as in `RobotCfg`. Not from the paper; the gains were chosen
    because with them 1 of 192 robots falls within 4 s under the domain randomisation
    of training (motor gains 30 % off). With 12, 2 and a roll share of 0.5 it is 17 of
    128.
    """

    ankle_pitch: tuple[str, ...] = (".*_ankle_pitch_joint",)
    """Joints whose positive direction pushes the body backwards."""
    ankle_roll: tuple[str, ...] = (".*_ankle_roll_joint",)
    """Joints whose positive direction pushes the body to the left."""
    waist_pitch: tuple[str, ...] = ("waist_pitch_joint",)
    """Joints whose positive direction bends the torso forwards."""
    waist_roll: tuple[str, ...] = ("waist_roll_joint",)
    """Joints whose positive direction bends the torso to the right."""
    aim_m: float = -0.02
    """Where to hold the centre of mass, ahead of the foot sites.

    The G1's sites are 4 cm ahead of its ankles.
    """
    offset_gain: float = 20.0
    """Lean per distance from the aim, rad/m."""
    velocity_gain: float = 4.0
    """Lean per velocity of the base, rad s/m."""
    roll_share: float = 1.0
    """Share of the lean that the ankle rolls take; two feet apart help sideways."""
    waist_gain: float = 2.0
    """Waist angle per tilt of the torso, rad/rad."""


class StandPolicy(Policy):
    """Stands still: ankles hold the centre of mass over the feet, the waist upright.

    PD control alone cannot: tipping over the ankles takes 219 Nm/rad, both ankles of
    the G1 give 57 Nm/rad. It reads the true state of the environment, so no robot could
    run it.
    """

    def __init__(
        self, env: ManagerBasedRlEnv, robot: RobotCfg, cfg: StandCfg | None = None
    ) -> None:
        self.cfg, self._env = cfg or StandCfg(), env
        entity = env.scene["robot"]
        self._root = entity.indexing.root_body_id
        self._feet, _ = entity.find_sites([foot.site for foot in robot.feet])
        self._torso, _ = entity.find_bodies(robot.torso_body)
        term = env.action_manager.get_term("joint_pos")
        assert isinstance(term, JointPositionAction)
        names = term.target_names
        self._scale = torch.ones_like(term.raw_action) * term.scale
        """Radians per unit of action, [B, joints]."""

        def ids(patterns: tuple[str, ...]) -> list[int]:
            found = robot.find_joints(patterns)
            if not found:
                raise SoloError(
                    f"{robot.name}: pattern {' | '.join(patterns)!r} of the standing "
                    f"agent matches no policy joint. Policy joints: "
                    f"{', '.join(robot.joint_names)}. Give a StandCfg for this robot."
                )
            return [names.index(name) for name in found]

        self._ankle_pitch = ids(self.cfg.ankle_pitch)
        self._ankle_roll = ids(self.cfg.ankle_roll)
        self._waist_pitch = ids(self.cfg.waist_pitch)
        self._waist_roll = ids(self.cfg.waist_roll)

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Nothing to forget."""

    def act(self, observations: Any) -> Action:
        """Lean against the fall, from the environment's present state."""
        cfg, env = self.cfg, self._env
        data = env.scene["robot"].data
        heading = yaw_quat(data.root_link_quat_w)
        feet_w = data.site_pos_w[:, self._feet].mean(dim=1)
        offset_h = quat_apply_inverse(
            heading, env.sim.data.subtree_com[:, self._root] - feet_w
        )
        velocity_h = quat_apply_inverse(heading, data.root_link_lin_vel_w)
        offset_h[:, 0] -= cfg.aim_m
        lean_h = cfg.offset_gain * offset_h + cfg.velocity_gain * velocity_h  # [B, 3]

        # The world's up in the torso: x is positive when it leans back, y when it
        # leans right.
        torso_quat_w = data.body_link_quat_w[:, self._torso[0]]
        up_w = torch.zeros_like(offset_h)
        up_w[:, 2] = 1.0
        up_torso = quat_apply_inverse(torso_quat_w, up_w)

        offsets = torch.zeros_like(self._scale)  # [B, joints], radians.
        offsets[:, self._ankle_pitch] = lean_h[:, :1]
        offsets[:, self._ankle_roll] = -cfg.roll_share * lean_h[:, 1:2]
        offsets[:, self._waist_pitch] = cfg.waist_gain * up_torso[:, :1]
        offsets[:, self._waist_roll] = -cfg.waist_gain * up_torso[:, 1:2]
        return offsets / self._scale, {}


AGENTS: dict[str, Callable[[ManagerBasedRlEnv, RobotCfg], Policy]] = {
    "zero": lambda env, robot: ZeroPolicy(env),
    "random": lambda env, robot: RandomPolicy(
        env.num_envs, env.action_manager.total_action_dim
    ),
    "stand": StandPolicy,
}
"""Name to a function that makes the policy for an environment and its robot."""
