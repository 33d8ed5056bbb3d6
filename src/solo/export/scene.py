"""Sensor data of a walk up a staircase, for the golden sequence and for tests.

Made, not recorded, so that an export needs no simulation: the stairs are what the
camera would see, the joints move in a rhythm, and nothing is random but for a seed.
"""

from __future__ import annotations

import numpy as np

from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import DepthCameraCfg

STEP_HEIGHT_M, STEP_DEPTH_M, NUM_STEPS = 0.15, 0.30, 6
SPEED_M_S = 0.6
CONTROL_HZ = 50.0


def walk_inputs(
    robot: RobotCfg, camera: DepthCameraCfg, steps: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """``depth_mm`` [T, H, W], uint16, and ``proprioception`` [T, 9 + 3 joints].

    Args:
        robot: The robot, for the camera's mount and the number of joints.
        camera: The camera; its output size is that of the images.
        steps: Number of control steps T.
        seed: Seed of noise and holes.
    """
    rng = np.random.default_rng(seed)
    # What one metre of depth is in the base frame of an upright robot.
    rays = camera.pixel_rays() @ robot.camera_mount.rotation_camera_to_body().T
    shape = (steps, camera.output_height, camera.output_width)
    depth_mm = np.zeros(shape, dtype=np.uint16)
    for step in range(steps):
        time_s = step / CONTROL_HZ
        ahead = (0.9 - SPEED_M_S * time_s) % 1.2  # The stairs come closer, then anew.
        bob = 0.02 * np.sin(2.0 * np.pi * 1.5 * time_s)
        depth_m = _look(robot, rays, ahead, bob)
        depth_m *= 1.0 + 0.002 * rng.standard_normal(depth_m.shape)
        depth_m[depth_m > 10.0] = 0.0
        depth_mm[step] = np.rint(1e3 * depth_m)
        for _ in range(3):  # Holes, as stereo has them.
            row, column = rng.integers(shape[1]), rng.integers(shape[2])
            depth_mm[step, row : row + 4, column : column + 6] = 0
    return {
        "depth_mm": depth_mm,
        "proprioception": _proprioception(len(robot.joint_names), steps, rng),
    }


def _look(robot: RobotCfg, rays: np.ndarray, ahead: float, bob: float) -> np.ndarray:
    """Depth [H, W] in metres of a staircase that begins ``ahead`` of the robot."""
    x0 = robot.camera_mount.pos_m[0]
    height = robot.base_height_m + robot.camera_mount.pos_m[2] + bob
    forward, down = np.maximum(rays[..., 0], 1e-6), np.maximum(-rays[..., 2], 1e-6)
    edges = ahead - x0 + STEP_DEPTH_M * np.arange(NUM_STEPS)
    edges = np.concatenate([[-np.inf], edges, [np.inf]])
    depth = np.full(rays.shape[:2], np.inf)
    for step in range(NUM_STEPS + 1):
        top = STEP_HEIGHT_M * step
        tread = (height - top) / down
        on_tread = (tread * forward >= edges[step]) & (
            tread * forward < edges[step + 1]
        )
        depth = np.where(on_tread & (tread > 0.0), np.minimum(depth, tread), depth)
        if step > 0:
            riser = edges[step] / forward
            above_ground = height - riser * down
            on_riser = (above_ground >= top - STEP_HEIGHT_M) & (above_ground <= top)
            depth = np.where(on_riser & (riser > 0.0), np.minimum(depth, riser), depth)
    return depth


def _proprioception(
    num_joints: int, steps: int, rng: np.random.Generator
) -> np.ndarray:
    """Proprioception in the contract's order [T, 9 + 3 joints], float32."""
    time_s = np.arange(steps)[:, None] / CONTROL_HZ
    phase = rng.uniform(0.0, 2.0 * np.pi, (1, num_joints))
    rhythm = 2.0 * np.pi * 1.5
    swing = np.sin(rhythm * time_s + phase)
    base = np.sin(rhythm * time_s + np.arange(3)) * (0.3, 0.4, 0.2)
    lean = 0.05 * np.sin(rhythm * time_s + np.arange(2))
    gravity = np.concatenate([lean, -np.sqrt(1.0 - (lean**2).sum(1, keepdims=True))], 1)
    command = np.tile((SPEED_M_S, 0.0, 0.1), (steps, 1))
    position = 0.2 * swing
    velocity = 0.2 * rhythm * np.cos(rhythm * time_s + phase)
    velocity = velocity + 0.3 * rng.standard_normal(velocity.shape)
    parts = [base, gravity, command, position, velocity, 0.5 * swing]
    return np.concatenate(parts, axis=1).astype(np.float32)
