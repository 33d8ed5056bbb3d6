"""Write a policy bundle: graph, metadata, golden sequence, in one file."""

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
from solo.deploy.bundle.golden import STEPS, observations, pack_golden
from solo.deploy.bundle.load import Bundle, load_bundle
from solo.errors import SoloError
from solo.export.graph import PolicyGraph, make_graph, write_graph
from solo.export.metadata import ExportRecord, describe, expected_of
from solo.export.scene import walk_inputs
from solo.files import written_aside
from solo.networks.student import StudentModel
from solo.reconstruction.networks.interface import Reconstructor
from solo.robots.robot_cfg import RobotCfg

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
    """Write a bundle and load it again, with all checks.

    Args:
        student: The student, on CPU.
        reconstructor: What it sees the ground with, on CPU.
        robot: The robot it was trained on.
        path: File to write.
        record: Where it comes from.
        streaming: Encode each image once, where the reconstructor can.

    Raises:
        SoloError: The policy needs what a robot does not have, or cannot be written.
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
    """Refuse policies that see what a robot cannot measure.

    Raises:
        SoloError: The policy is one of those.
    """
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
