"""Write a policy bundle: graph, metadata, golden sequence, in one file.

The golden sequence is a walk up a staircase. Its sensor data are made, not recorded, so
that an export needs no simulation: the stairs are what the camera would see, the joints
move in a rhythm, and nothing is random but for a seed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from solo.deploy.bundle.checks import EXPECTED, make_contract
from solo.deploy.bundle.format import (
    GOLDEN_KEY,
    POLICY_KEY,
    checksum,
    join_model,
    split_model,
    to_json,
)
from solo.deploy.bundle.load import Bundle, load_bundle
from solo.deploy.bundle.policy import STEPS, observations, pack_golden
from solo.deploy.contract import CONTROL_HZ
from solo.errors import SoloError
from solo.export.graph import PolicyGraph, make_graph, write_graph
from solo.export.metadata import ExportRecord, describe, expected_of
from solo.files import written_aside
from solo.networks.student import StudentModel
from solo.reconstruction.networks.interface import Reconstructor
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import DepthCameraCfg

RESETS = [0, 20]
"""Steps of the golden sequence at which an episode begins."""


def export_bundle(
    student: StudentModel,
    reconstructor: Reconstructor | None,
    robot: RobotCfg,
    path: Path,
    record: ExportRecord,
    streaming: bool = True,
) -> Bundle:
    """Write a bundle of networks on CPU and load it again, with all checks.

    If ``streaming``, each image is encoded once, where the reconstructor can.
    """
    check_deployable(student, reconstructor, robot)
    assert reconstructor is not None
    graph = make_graph(student, reconstructor, streaming)
    rows, columns = graph.io.depth_shape
    camera = replace(robot.depth_camera, output_height=rows, output_width=columns)
    meta = describe(graph, student, robot, camera, record)
    meta = json.loads(to_json(meta))  # Tuples become lists, as after reading.

    inputs = walk_inputs(robot, camera, STEPS)
    outputs = run_torch(
        make_graph(student, reconstructor, streaming=False), inputs, meta
    )
    golden = pack_golden(inputs, outputs, RESETS)
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "graph.onnx"
        write_graph(graph, plain)
        model = split_model(plain.read_bytes(), path.name)
    meta["graph"]["sha256"] = model.sha256
    meta["golden"] = {"steps": STEPS, "sha256": checksum(golden)}
    meta["sha256"] = checksum(meta)
    entries = {POLICY_KEY: to_json(meta), GOLDEN_KEY: to_json(golden)}
    with written_aside(path) as unfinished:
        unfinished.write_bytes(join_model(model.graph, entries))
        expected = None if robot.name in EXPECTED else expected_of(robot)
        return load_bundle(unfinished, robot=robot.name, expected=expected)


def check_deployable(
    student: Any, reconstructor: Reconstructor | None, robot: RobotCfg
) -> None:
    """Refuse policies that see what a robot cannot measure."""
    if not isinstance(student, StudentModel) or reconstructor is None:
        raise SoloError(
            "This policy sees the true height map and velocity, which a robot does not "
            "have. Export a student of the perceptive stage (`solo train perceptive`)."
        )
    size = 9 + 3 * len(robot.joint_names)
    found = reconstructor.io.proprioception_dim
    if found != size or student.group_dims.get("proprioception") != size:
        raise SoloError(
            f"The reconstructor takes {found} numbers of proprioception; robot "
            f"{robot.name!r} with {len(robot.joint_names)} joints has {size}. Export "
            "networks that were trained on this robot."
        )


@torch.no_grad()
def run_torch(
    graph: PolicyGraph, inputs: dict[str, np.ndarray], meta: dict[str, Any]
) -> dict[str, np.ndarray]:
    """What torch computes from whole windows, with nothing reused between steps."""
    actions, velocities, state = [], [], graph.initial_state()
    height_map = torch.zeros(())
    for is_new, seen in observations(inputs, RESETS, make_contract(meta)):
        if is_new:
            state = graph.initial_state()
        assert seen.depth_window is not None
        action, height_map, velocity, _, *state = graph(
            torch.from_numpy(seen.depth_window)[None],
            torch.from_numpy(seen.proprioception_window)[None],
            *state,
        )
        actions.append(action[0].numpy())
        velocities.append(velocity[0].numpy())
    return {
        "actions": np.stack(actions),
        "velocity": np.stack(velocities),
        "height_map": height_map[0].numpy(),
    }


STEP_HEIGHT_M, STEP_DEPTH_M, NUM_STEPS = 0.15, 0.30, 6
SPEED_M_S = 0.6


def walk_inputs(
    robot: RobotCfg, camera: DepthCameraCfg, steps: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """``depth_mm`` [T, H, W], uint16, and ``proprioception`` [T, 9 + 3 joints].

    The seed is that of noise and holes; images have the camera's output size.
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
