"""The simulated robot: MuJoCo C, PD control in every physics step, a depth camera.

It knows nothing of policies and of middleware; `sim` and `sim_dds` put it into a
process of its own and talk to it the way one talks to a robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from solo.deploy.camera import picked_pixels
from solo.deploy.contract import DepthContract
from solo.deploy.drivers.protocols import JointCommand
from solo.errors import SoloError

PHYSICS_HZ = 1000
"""Physics and PD control, as fast as the robot's own motor control."""

CAMERA = "depth_camera"
"""Name of the camera in the model."""


@dataclass(frozen=True)
class HarnessCfg:
    """Ropes that carry the robot until it stands by itself, as a gantry does.

    Springs and dampers hold the base where it was put. Seconds count from the first
    command with stiffness.
    """

    release_s: float = 2.5
    """When the ropes are let go."""
    stiffness: float = 20000.0
    """N/m on the position; the rotation gets a tenth of it, Nm/rad."""
    damping: float = 1000.0
    """N s/m on the velocity; the rotation gets a tenth of it."""


class SimRobot:
    """One robot with a free base as first joint, in a MuJoCo model."""

    def __init__(
        self, model: mujoco.MjModel, harness: HarnessCfg | None = None
    ) -> None:
        """Put the robot into the model's first keyframe, or its zero pose.

        Of the model's own actuators only the force limits are used. Without a harness
        the robot falls until it is controlled.
        """
        self.model, self.data = model, mujoco.MjData(model)
        model.opt.timestep = 1.0 / PHYSICS_HZ
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        hinges = [j for j in range(model.njnt) if model.jnt_type[j] == 3]
        if model.njnt == 0 or model.jnt_type[0] != 0 or len(hinges) != model.njnt - 1:
            raise SoloError(
                "The simulated robot needs a model with one free joint, first, and "
                f"hinge joints; this one has joint types {model.jnt_type.tolist()}."
            )
        self.joint_names = tuple(model.joint(j).name.split("/")[-1] for j in hinges)
        self._qpos, self._qvel = model.jnt_qposadr[hinges], model.jnt_dofadr[hinges]
        self._limit = np.full(len(hinges), np.inf)
        for actuator in range(model.nu):
            joint = int(model.actuator_trnid[actuator, 0])
            self._limit[hinges.index(joint)] = model.actuator_forcerange[actuator, 1]
        self._harness = harness
        self._stiff_since: float | None = None
        self.torque = np.zeros(len(hinges))
        self.reset()

    @classmethod
    def from_file(cls, path: Path, harness: HarnessCfg | None = None) -> SimRobot:
        """Load a model file (MJCF)."""
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise SoloError(
                f"Cannot load the simulated robot from {str(path)!r}: {error}"
            ) from error
        return cls(model, harness)

    def reset(self) -> None:
        """Back to the start, hanging in the harness if there is one."""
        if self.model.nkey:
            mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        else:
            mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        self._stiff_since = None
        self._base = self.data.qpos[:7].copy()

    @property
    def time_s(self) -> float:
        """Simulated time."""
        return float(self.data.time)

    @property
    def is_released(self) -> bool:
        """Whether the robot stands, or falls, by itself."""
        if self._harness is None:
            return True
        since = self._stiff_since
        return since is not None and self.time_s - since >= self._harness.release_s

    def step(self, command: JointCommand | None, num_steps: int) -> None:
        """Track a command for some physics steps; without one the motors are limp."""
        data, model = self.data, self.model
        if command is not None and self._stiff_since is None and command.kp.any():
            self._stiff_since = self.time_s
        for _ in range(num_steps):
            if command is not None:
                torque = command.tau + command.kp * (command.q - self.joint_pos)
                torque += command.kd * (command.dq - self.joint_vel)
                np.clip(torque, -self._limit, self._limit, out=self.torque)
            else:
                self.torque[:] = 0.0
            data.qfrc_applied[self._qvel] = self.torque
            data.qfrc_applied[:6] = 0.0 if self.is_released else self._rope_force()
            mujoco.mj_step(model, data)

    @property
    def joint_pos(self) -> np.ndarray:
        """Positions [joints], rad, in the model's order."""
        return self.data.qpos[self._qpos]

    @property
    def joint_vel(self) -> np.ndarray:
        """Velocities [joints], rad/s."""
        return self.data.qvel[self._qvel]

    @property
    def quat_wxyz(self) -> np.ndarray:
        """Orientation of the base in the world [4]."""
        return self.data.qpos[3:7]

    @property
    def ang_vel_b(self) -> np.ndarray:
        """Angular velocity of the base [3], base frame, rad/s."""
        return self.data.qvel[3:6]

    @property
    def base_height_m(self) -> float:
        """Height of the base above the world's origin."""
        return float(self.data.qpos[2])

    def _rope_force(self) -> np.ndarray:
        """Force in the world and torque in the base frame [6] towards the start."""
        harness, data = self._harness, self.data
        assert harness is not None
        force = harness.stiffness * (self._base[:3] - data.qpos[:3])
        force -= harness.damping * data.qvel[:3]
        turn_b = np.zeros(3)
        mujoco.mju_subQuat(turn_b, self._base[3:], data.qpos[3:7])
        torque = 0.1 * (harness.stiffness * turn_b - harness.damping * data.qvel[3:6])
        return np.concatenate([force, torque])


class SimCamera:
    """Depth along one ray per pixel of the network's image, as a D455 would give it.

    A ray goes through the centre of the raw pixel that resizing picks, so that the
    frame equals a resized frame of the raw size, at a fortieth of the cost.
    """

    def __init__(self, robot: SimRobot, cfg: DepthContract) -> None:
        model = robot.model
        names = [model.camera(i).name for i in range(model.ncam)]
        if CAMERA not in names:
            raise SoloError(
                f"The simulated robot has no camera {CAMERA!r}. Its cameras: "
                f"{', '.join(names) or 'none'}."
            )
        self._robot, self._id, self.cfg = robot, names.index(CAMERA), cfg
        focal = 0.5 * cfg.height / np.tan(0.5 * np.radians(model.cam_fovy[self._id]))
        rows, columns = (pixels + 0.5 for pixels in picked_pixels(cfg))
        x, y = np.meshgrid(columns - 0.5 * cfg.width, rows - 0.5 * cfg.height)
        rays = np.stack([x / focal, -y / focal, -np.ones_like(x)], -1).reshape(-1, 3)
        self._stretch = np.linalg.norm(rays, axis=1)  # Length per depth.
        self._rays = rays / self._stretch[:, None]
        self._geom_ids = np.zeros(len(rays), dtype=np.int32)
        self._distance = np.zeros(len(rays))
        self._random = np.random.default_rng(0)

    def render(self) -> np.ndarray:
        """Depth [output H, output W], uint16, millimetres; 0 where nothing is hit."""
        data, cfg = self._robot.data, self.cfg
        rotation = data.cam_xmat[self._id].reshape(3, 3)
        rays_w = self._rays @ rotation.T
        mujoco.mj_multiRay(
            self._robot.model, data, data.cam_xpos[self._id], rays_w.ravel(), None, 1,
            -1, self._geom_ids, self._distance, None, len(rays_w), 65.0,
        )  # fmt: skip
        depth_m = np.where(self._distance > 0.0, self._distance / self._stretch, 0.0)
        shape = (cfg.output_height, cfg.output_width)
        # A sensor never gives the same image twice.
        depth_mm = 1e3 * depth_m + self._random.uniform(-1.0, 1.0, depth_m.shape)
        depth_mm[depth_m == 0.0] = 0.0
        return np.round(depth_mm).astype(np.uint16).reshape(shape)
