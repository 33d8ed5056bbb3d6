"""Small contracts, and devices whose time and faults a test decides."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from solo.deploy.camera import DepthImage
from solo.deploy.command import OperatorInput
from solo.deploy.contract import Contract, DepthContract, JointContract
from solo.deploy.drivers.protocols import JointCommand, RobotHealth, RobotState
from solo.deploy.log import LogWriter, RunLog
from solo.deploy.phase import Phase, Request
from solo.deploy.recorder import Recorder
from solo.deploy.runtime import Runtime, RuntimeCfg
from solo.deploy.safety import SafetyCfg

NAMES = ("hip", "knee", "ankle")
PERIOD_S = 0.02
PATIENT = SafetyCfg(
    max_state_age_s=60.0, max_depth_age_s=60.0, lost_depth_age_s=60.0, max_pause_s=60.0,
    min_rate=0.0, max_frozen_state_s=60.0, min_depth_hz=0.01,
)  # fmt: skip
"""A test machine may pause for longer than a robot's computer."""


def tiny_joints() -> JointContract:
    ones = np.ones(3)
    return JointContract(
        names=NAMES,
        default_pos=np.array([0.1, 0.2, 0.3]),
        action_scale=0.5 * ones,
        kp=np.array([10.0, 20.0, 30.0]),
        kd=np.array([1.0, 2.0, 3.0]),
        pos_low=-ones,
        pos_high=ones,
        vel_limit=10.0 * ones,
        effort_limit=100.0 * ones,
    )


def tiny_contract(needs_depth: bool = True) -> Contract:
    depth = DepthContract(
        width=8, height=6, output_width=4, output_height=3, frames=2, stride=2
    )
    return Contract(
        tiny_joints(), depth, proprioception_frames=3, needs_depth=needs_depth
    )


def healthy(**changes) -> RobotHealth:
    """Three motors that are well."""
    values = {
        "clock_ms": 0,
        "motors": NAMES,
        "errors": np.zeros(3, dtype=np.uint32),
        "casing_c": np.full(3, 40.0),
        "winding_c": np.full(3, 60.0),
        "voltage": np.full(3, 50.0),
        "battery": 80.0,
    }
    return RobotHealth(**{**values, **changes})


class FakeRobot:
    """Answers with the state the test set; remembers what it was told."""

    name = "fake"

    def __init__(self) -> None:
        self.time_s, self.is_silent, self.fails = 0.0, False, False
        self.joint_pos, self.joint_vel = np.zeros(3), np.zeros(3)
        self.quat_wxyz, self.ang_vel_b = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3)
        self.commands: list[JointCommand] = []
        self.problems: dict[str, str] = {}
        self.health: RobotHealth | None = None
        self.is_frozen, self._noise = False, 0.0
        self._last: RobotState | None = None

    def start(self) -> None: ...

    def read(self) -> RobotState | None:
        if not self.is_silent:
            self._noise += 1e-14 * (not self.is_frozen)  # No gyroscope stands still.
            self._last = RobotState(
                self.time_s,
                self.joint_pos.copy(),
                self.joint_vel.copy(),
                self.quat_wxyz.copy(),
                self.ang_vel_b + self._noise,
                np.zeros(3),
                problems=self.problems,
                health=self.health,
            )
        return self._last

    def write(self, command: JointCommand) -> None:
        if self.fails:
            raise OSError("cable pulled")
        self.commands.append(command)

    def close(self) -> None: ...


class FakeOperator:
    def __init__(self) -> None:
        self.time_s, self.is_silent = 0.0, False
        self.velocity, self.request = (0.0, 0.0, 0.0), Request.NONE
        self._last_s = 0.0

    def start(self) -> None: ...

    def read(self, now: float) -> OperatorInput:
        self._last_s = self._last_s if self.is_silent else now
        request, self.request = self.request, Request.NONE
        return OperatorInput(self._last_s, self.velocity, request)

    def close(self) -> None: ...


class FakeDepth:
    def __init__(self) -> None:
        self.is_silent, self.count, self._last = False, 0, None
        self.now, self.is_frozen, self.is_covered, self.every = 0.0, False, False, 1
        self._num_reads, self._level = 0, 0

    def newest(self) -> DepthImage | None:
        self._num_reads += 1
        if not self.is_silent and self._num_reads % self.every == 0:
            self.count += 1
            self._level += not self.is_frozen
            depth_mm = np.full((3, 4), 1000 + self._level, dtype=np.uint16)
            if self.is_covered:
                depth_mm[:, 1:] = 0
            depth = (depth_mm * np.float32(1e-3 / 3.0)).astype(np.float32)
            self._last = DepthImage(self.now, depth_mm, depth, self.count)
        return self._last


class FakePolicy:
    def __init__(self) -> None:
        self.action, self.num_resets, self.seen = np.full(3, 0.2), 0, []
        self.error: Exception | None = None

    def reset(self) -> None:
        self.num_resets += 1

    def step(self, observation):
        self.seen.append(observation)
        if self.error is not None:
            raise self.error
        return self.action + 0.01 * observation.proprioception[:3]


class Rig:
    """A runtime on fake devices and a virtual clock."""

    def __init__(
        self,
        folder: Path | None = None,
        log: Path | None = None,
        needs_depth: bool = True,
        cfg: RuntimeCfg | None = None,
        contract: Contract | None = None,
    ) -> None:
        self.contract = contract or tiny_contract(needs_depth)
        self.robot, self.operator = FakeRobot(), FakeOperator()
        self.depth, self.policy = FakeDepth(), FakePolicy()
        self.writer = LogWriter()
        self.run_log = RunLog(log, self.contract, self.writer) if log else None
        self.runtime = Runtime(
            self.contract,
            self.robot,
            self.policy,
            self.operator,
            self.depth if needs_depth else None,
            cfg or RuntimeCfg(stand_up_s=0.1, blend_s=0.0),
            Recorder(self.contract, 2.0, folder, self.run_log, self.writer),
        )
        self.now = 100.0

    def tick(self, num: int = 1) -> bool:
        go_on = True
        for _ in range(num):
            self.now += PERIOD_S
            self.robot.time_s = self.depth.now = self.now
            go_on = self.runtime.tick(self.now)
        return go_on

    def walk(self) -> None:
        self.operator.request = Request.STAND_UP
        self.tick(8)
        self.operator.request = Request.WALK
        self.tick(2)
        assert self.runtime.phase == Phase.WALKING

    def close(self) -> None:
        if self.run_log is not None:
            self.run_log.close()
        self.writer.close()

    @property
    def last(self) -> JointCommand:
        return self.robot.commands[-1]

    @property
    def is_damped(self) -> bool:
        """Whether the last command has damping but no stiffness."""
        return not self.last.kp.any() and bool((self.last.kd > 0.0).all())


def g1_contract(needs_depth: bool = False) -> Contract:
    """The G1 as trained."""
    return Contract(_g1_joints(), needs_depth=needs_depth)


@functools.cache
def _g1_joints() -> JointContract:
    import mujoco  # noqa: F401
    from mjlab.asset_zoo.robots.unitree_g1 import g1_constants

    from solo.robots.build import build_spec
    from solo.robots.g1 import G1

    speed = {25.0: 37.0, 50.0: 37.0, 88.0: 32.0, 139.0: 20.0}
    model = build_spec(G1, visual=False).compile()
    low, high = np.array([model.joint(name).range for name in G1.joint_names]).T
    group = {n: a for a in G1.actuators for n in G1.find_joints(a.target_names_expr)}
    groups = [group[name] for name in G1.joint_names]
    assert g1_constants.ACTUATOR_5020.velocity_limit == 37.0
    return JointContract(
        names=G1.joint_names,
        default_pos=np.array(G1.joint_values(G1.default_joint_pos)),
        action_scale=np.array(G1.joint_values(G1.action_scale)),
        kp=np.array([g.stiffness for g in groups]),
        kd=np.array([g.damping for g in groups]),
        pos_low=low,
        pos_high=high,
        vel_limit=np.array([speed[g.effort_limit or 0.0] for g in groups]),
        effort_limit=np.array([g.effort_limit for g in groups]),
    )
