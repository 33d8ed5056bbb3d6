"""The simulated robot: PD control, harness, depth, and its process."""

from __future__ import annotations

import numpy as np
import pytest

from solo.deploy.command import ScriptedOperator
from solo.deploy.contract import DepthContract
from solo.deploy.drivers.protocols import JointCommand, RobotState
from solo.deploy.drivers.sim import SimulatedCamera, SimulatedRobot
from solo.deploy.drivers.sim_robot import HarnessCfg, SimCamera, SimRobot
from solo.deploy.phase import Phase
from solo.deploy.replay import Recording, replay
from solo.deploy.runtime import Runtime, RuntimeCfg
from solo.deploy.session import run_session
from solo.errors import SoloError
from tests.deploy.stand import StandPolicy

from .helpers import PATIENT, g1_contract


class Lockstep:
    """The simulation as a robot without a process: a tick is 20 ms of physics."""

    name = "lockstep"

    def __init__(self, sim: SimRobot) -> None:
        self.sim = sim

    def start(self) -> None: ...

    def read(self) -> RobotState:
        sim = self.sim
        return RobotState(
            sim.time_s, sim.joint_pos, sim.joint_vel, sim.quat_wxyz.copy(),
            sim.ang_vel_b.copy(), sim.torque.copy(),
        )  # fmt: skip

    def write(self, command: JointCommand) -> None:
        self.sim.step(command, 20)

    def close(self) -> None: ...


def test_joints_are_the_policys(contract, model):
    assert SimRobot.from_file(model).joint_names == contract.joints.names


def test_pd_control_holds_the_robot_in_its_harness(contract, model):
    sim = SimRobot.from_file(model, HarnessCfg(release_s=100.0))
    joints, zeros = contract.joints, np.zeros(25)
    target = joints.default_pos.copy()
    target[18] += 0.5  # Left elbow.
    sim.step(JointCommand(target, zeros, joints.kp, joints.kd, zeros), 1500)
    assert sim.joint_pos[18] == pytest.approx(target[18], abs=0.08)
    assert sim.base_height_m == pytest.approx(0.757, abs=0.02)
    assert np.abs(sim.joint_vel).max() < 0.2


def test_without_control_the_robot_falls_once_it_is_released(model):
    sim = SimRobot.from_file(model)
    sim.step(None, 1500)
    assert sim.base_height_m < 0.5


def test_torques_are_limited_as_on_the_robot(contract, model):
    sim = SimRobot.from_file(model, HarnessCfg())
    joints, zeros = contract.joints, np.zeros(25)
    sim.step(JointCommand(joints.default_pos + 9.0, zeros, joints.kp, zeros, zeros), 1)
    assert sim.torque[0] == 88.0
    assert sim.torque[4] == 50.0


@pytest.mark.parametrize("seconds", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_stands_on_with_what_a_robot_measures(contract, model, seconds):
    sim = SimRobot.from_file(model, HarnessCfg())
    runtime = Runtime(
        contract, Lockstep(sim), StandPolicy(contract.joints), ScriptedOperator()
    )
    for _ in range((3 + seconds) * 50):
        assert runtime.tick(sim.time_s)
    assert runtime.phase == Phase.WALKING
    assert sim.is_released
    assert sim.base_height_m > 0.7
    assert not runtime.recorder.fault_counts


def test_a_hard_push_ends_in_damping(contract, model):
    sim = SimRobot.from_file(model, HarnessCfg())
    runtime = Runtime(
        contract, Lockstep(sim), StandPolicy(contract.joints), ScriptedOperator()
    )
    for tick in range(400):
        if tick == 200:
            sim.data.qvel[:3] += [3.0, 0.0, 0.0]
        runtime.tick(sim.time_s)
    assert runtime.phase == Phase.DAMPING
    assert sim.base_height_m < 0.6


def test_depth_of_the_floor_is_the_geometry_of_the_mount(model):
    sim, cfg = SimRobot.from_file(model), DepthContract()
    depth_mm = SimCamera(sim, cfg).render()
    camera = sim.data.camera("depth_camera")
    pitch = np.radians(52.0)
    height_m = float(camera.xpos[2])
    rows = np.floor((np.arange(64) + 0.5) * 7.5) + 0.5
    # A ray of row v falls by sin + y cos per unit of depth, y = (v - 240) / 384.
    expected = height_m / (np.sin(pitch) + (rows - 240.0) / 384.0 * np.cos(pitch))
    assert depth_mm.shape == (64, 113)
    middle = depth_mm[:, 56]
    assert middle[:40] == pytest.approx(1e3 * expected[:40], abs=3.0)


def test_a_model_without_a_free_base_is_refused(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(
        "<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody>"
        "</mujoco>"
    )
    with pytest.raises(SoloError, match="free joint"):
        SimRobot.from_file(path)
    path.write_text("<mujoco>")
    with pytest.raises(SoloError, match=r"arm\.xml"):
        SimRobot.from_file(path)


def test_a_session_in_its_own_process_can_be_replayed(model, tmp_path):
    contract = g1_contract(needs_depth=True)
    robot = SimulatedRobot(model, contract.joints, contract.depth)
    cfg = RuntimeCfg(stand_up_s=0.5, safety=PATIENT)
    result = run_session(
        contract,
        StandPolicy(contract.joints),
        robot,
        SimulatedCamera(robot),
        ScriptedOperator(),
        cfg,
        tmp_path / "faults",
        tmp_path / "log",
        max_ticks=100,
    )
    assert result["phase"] == "walking"
    assert result["faults"] == {}
    assert result["depth_frames"] > 1  # On a busy machine not many.
    recording = Recording(tmp_path / "log", contract)
    assert (recording.records["depth_mm"][-1] > 0).any()
    again = replay(recording, StandPolicy(contract.joints), cfg)
    assert again.max_abs_difference == 0.0
    assert again.num_phase_differences == 0


def test_a_broken_model_is_one_clear_error(contract, tmp_path):
    path = tmp_path / "broken.xml"
    path.write_text("<mujoco>")
    robot = SimulatedRobot(path, contract.joints, contract.depth)
    with pytest.raises(SoloError, match="did not start"):
        robot.start()
