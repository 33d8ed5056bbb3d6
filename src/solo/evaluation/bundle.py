"""Exported bundles: the runtime of the robot walks the simulated one, slot by slot.

Each rollout has a `solo.deploy` runtime of its own: its observation windows, its ONNX
policy, its joint limits and its safety checks, called once per control step with
simulated time. What it reads is what a robot measures (joints, orientation, angular
velocity, depth in millimetres), and what it writes is a joint command.

Two things differ from a robot. The runtime starts in the walking phase, and the rate
limit of the operator's command is off: the protocol says what is commanded, from the
first step on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.envs.mdp.actions import JointPositionAction

from solo.deploy.bundle.load import Bundle, load_bundle
from solo.deploy.bundle.policy import BundlePolicy
from solo.deploy.camera import DepthImage, DepthProcessor
from solo.deploy.command import CommandCfg, ScriptedOperator
from solo.deploy.contract import reorder
from solo.deploy.drivers.protocols import DepthFrame, JointCommand, RobotState
from solo.deploy.phase import Phase
from solo.deploy.runtime import Runtime, RuntimeCfg
from solo.envs.names import COMMAND
from solo.errors import SoloError
from solo.evaluation.policies import MEASURES, TRUE_GROUPS, shared_out
from solo.evaluation.protocols import Start
from solo.evaluation.rollout import Policy, PolicySource
from solo.reconstruction.perceiver import DEPTH
from solo.robots.robot_cfg import RobotCfg
from solo.runs.run import robot_of_bundle

TIMESTEP_S = 0.005
"""Physics step (paper); a bundle knows its control rate alone."""

DAMPED = "runtime_damped"
"""Measure: 1 in steps in which the runtime had taken the policy's control away."""


class SlotRobot:
    """One slot as the runtime's robot and camera: it holds what was last exchanged."""

    name = "evaluation"

    def __init__(self) -> None:
        self.state: RobotState | None = None
        self.image: DepthImage | None = None
        self.command: JointCommand | None = None

    def start(self) -> None:
        """Nothing to connect to."""

    def read(self) -> RobotState | None:
        """What was measured in this step."""
        return self.state

    def newest(self) -> DepthImage | None:
        """The image of this step."""
        return self.image

    def write(self, command: JointCommand) -> None:
        """Take the command of this step."""
        self.command = command

    def close(self) -> None:
        """Nothing to let go of."""


class BundleRollouts(Policy):
    """A bundle in every slot; see `solo.evaluation.rollout.Policy`."""

    def __init__(self, bundle: Bundle, env: ManagerBasedRlEnv, robot: RobotCfg) -> None:
        contract = bundle.contract
        self._bundle, self._env, self._contract = bundle, env, contract
        unlimited = CommandCfg(
            bundle.command.low, bundle.command.high, (np.inf, np.inf, np.inf)
        )
        self._cfg = RuntimeCfg(start=Phase.WALKING, command=unlimited)
        self._process = DepthProcessor(contract.depth)
        self._order = reorder(
            tuple(env.scene["robot"].joint_names), contract.joints.names, robot.name
        )
        self._inverse = reorder(contract.joints.names, robot.joint_names, "bundle")
        term = env.action_manager.get_term("joint_pos")
        assert isinstance(term, JointPositionAction)
        self._offset, self._scale = (
            torch.as_tensor(value).cpu().double().expand(env.num_envs, -1).numpy()
            for value in (term._offset, term._scale)
        )
        self._kp, self._kd = _gains(robot, contract.joints.names)
        self._step = 0
        self._run = shared_out(env) or (lambda work, num_items: work(0, 0, num_items))
        self._robots = [SlotRobot() for _ in range(env.num_envs)]
        self._operators = [ScriptedOperator() for _ in range(env.num_envs)]
        self._runtimes: list[Runtime | None] = [None] * env.num_envs
        self._errors = {name: np.zeros(env.num_envs) for name in MEASURES}

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Give some slots a new runtime."""
        outputs = list(self._bundle.metadata["graph"]["outputs"])
        for slot in slots:
            robot = self._robots[slot] = SlotRobot()
            operator = self._operators[slot] = ScriptedOperator()
            policy = BundlePolicy(self._bundle.policy.session, outputs)
            self._runtimes[slot] = Runtime(
                self._contract, robot, policy, operator, robot, self._cfg
            )

    def end(self, slots: Sequence[int]) -> None:
        """Save the time of ticking for nobody."""
        for slot in slots:
            self._runtimes[slot] = None

    def runtime(self, slot: int) -> Runtime | None:
        """The runtime of a slot, to look at; None if nobody walks there."""
        return self._runtimes[slot]

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        """One tick of the runtime of every rollout.

        Returns:
            Actions [B, joints] that lead to the commanded joint targets, and measures.
            Where the runtime has taken over from the policy, the errors of the estimate
            stay those of the policy's last step.
        """
        states, depth_mm, commands = self._measure(observations[DEPTH])
        truth = [observations[name].cpu().numpy() for name in TRUE_GROUPS]
        now, targets = self._step * self._contract.period_s, self._offset.copy()
        damped = np.zeros(len(self._robots))

        def tick(_thread: int, low: int, high: int) -> None:
            for slot in range(low, high):
                runtime, robot = self._runtimes[slot], self._robots[slot]
                if runtime is None:
                    continue
                robot.state = RobotState(now, *(part[slot] for part in states))
                robot.image = self._process(DepthFrame(now, depth_mm[slot], self._step))
                self._operators[slot].velocity = tuple(commands[slot].tolist())
                runtime.tick(now)
                assert robot.command is not None
                wanted = self._target(robot.command, robot.state)
                targets[slot] = wanted[list(self._inverse)]
                damped[slot] = runtime.phase != Phase.WALKING
                if not damped[slot]:
                    self._compare(slot, runtime, *(part[slot] for part in truth))

        self._run(tick, len(self._runtimes))
        self._step += 1
        actions = torch.from_numpy((targets - self._offset) / self._scale).float()
        errors = {name: values.copy() for name, values in self._errors.items()}
        return actions, {**errors, DAMPED: damped}

    def _measure(
        self, depth: torch.Tensor
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
        """Joints and base [B, ...], newest depth [B, H, W] in mm, commands [B, 3]."""
        data, order = self._env.scene["robot"].data, list(self._order)
        parts = (
            data.joint_pos[:, order],
            data.joint_vel[:, order],
            data.root_link_quat_w,
            data.root_link_ang_vel_b,
        )
        states = tuple(part.cpu().double().numpy() for part in parts)
        range_mm = 1e3 * self._contract.depth.max_range_m
        depth_mm = (depth[:, -1].cpu().numpy() * range_mm).round().astype(np.uint16)
        command = self._env.command_manager.get_command(COMMAND)
        assert command is not None
        return states, depth_mm, command.cpu().double().numpy()

    def _target(self, command: JointCommand, state: RobotState) -> np.ndarray:
        """The position that makes the simulated motors give the commanded torque [J].

        The simulated gains are those of training. With others, as when the runtime
        damps, the torque is that of the present state, held for one control step.
        """
        if np.array_equal(command.kp, self._kp) and not command.dq.any():
            return command.q
        torque = command.tau + command.kp * (command.q - state.joint_pos)
        torque += command.kd * (command.dq - state.joint_vel)
        return state.joint_pos + (torque + self._kd * state.joint_vel) / self._kp

    def _compare(
        self, slot: int, runtime: Runtime, height: np.ndarray, velocity: np.ndarray
    ) -> None:
        policy = runtime.policy
        assert isinstance(policy, BundlePolicy)
        assert policy.view is not None
        error = np.abs(policy.view.height_map - height).mean()
        self._errors["height_map_l1_m"][slot] = error
        error = np.linalg.norm(policy.view.velocity - velocity)
        self._errors["reconstructed_velocity_error"][slot] = error


def bundle_source(path: Path) -> PolicySource:
    """An exported policy, in a robot with the camera that it was exported for.

    Raises:
        SoloError: It is no bundle of ours, or its control rate cannot be simulated.
    """
    bundle = load_bundle(path)
    meta, hz = bundle.metadata, bundle.contract.control_hz
    if not bundle.contract.needs_depth:
        raise SoloError(
            f"The bundle {path.name!r} is of a policy without a camera, which cannot "
            "be evaluated as a bundle. Give the checkpoint of its run instead."
        )
    decimation = round(1.0 / (hz * TIMESTEP_S))
    if decimation < 1 or abs(decimation * TIMESTEP_S * hz - 1.0) > 1e-6:
        raise SoloError(
            f"The bundle {path.name!r} runs at {hz:g} Hz; the simulation of "
            f"{1 / TIMESTEP_S:g} Hz can be stepped at whole fractions of that alone. "
            "Give the checkpoint of its run instead."
        )
    robot = robot_of_bundle(meta)

    def make(env: ManagerBasedRlEnv) -> Policy:
        return BundleRollouts(bundle, env, robot)

    training = meta["training"]
    return PolicySource(
        name=f"{path.resolve().parent.name}/{path.name}",
        kind="bundle",
        robot=robot,
        stage="perceptive",
        groups=(DEPTH, *TRUE_GROUPS),
        make=make,
        physics=(TIMESTEP_S, decimation),
        checkpoint=path,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        details={
            "reconstructor": meta["architecture"]["reconstructor"]["name"],
            "training": {k: training[k] for k in ("profile", "seed", "iteration")},
        },
    )


def _gains(robot: RobotCfg, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of the simulated motors, in the order of ``names``."""
    groups = {
        name: group
        for group in robot.actuators
        for name in robot.find_joints(group.target_names_expr)
    }
    kp, kd = zip(
        *((groups[n].stiffness, groups[n].damping) for n in names), strict=True
    )
    return np.array(kp, dtype=np.float64), np.array(kd, dtype=np.float64)
