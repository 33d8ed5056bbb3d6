"""What a bundle says about itself, as plain data; see docs/deploy.md for the format."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from torch import nn

from solo import __version__
from solo.deploy.bundle.checks import Expected, expected_from
from solo.deploy.bundle.format import FORMAT, OPSET, VERSION
from solo.deploy.contract import CONTROL_HZ
from solo.deploy.observation import TERMS, term_slices
from solo.errors import SoloError
from solo.export.graph import PolicyGraph
from solo.networks.student import StudentModel
from solo.reconstruction.networks import RECONSTRUCTORS
from solo.reconstruction.networks.interface import Reconstructor
from solo.robots.build import build_spec
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.depth.cfg import DepthCameraCfg

UNITS = {
    "base_ang_vel": "rad/s, base frame",
    "projected_gravity": "unit vector, base frame",
    "command": "vx, vy in m/s and wz in rad/s, heading frame",
    "joint_pos": "rad, minus default_pos",
    "joint_vel": "rad/s",
    "last_action": "as the policy gave it",
}
"""Observation term to its unit."""
PER_JOINT = ("joint_pos", "joint_vel", "last_action")
"""Terms with one number per joint."""


@dataclass(frozen=True)
class ExportRecord:
    """Where a policy comes from, and what only its training knows."""

    profile: str
    """Name of the training's profile."""
    seed: int
    """Seed of the training."""
    command_low: tuple[float, float, float]
    """Smallest vx, vy, wz of the training's commands; m/s, m/s, rad/s."""
    command_high: tuple[float, float, float]
    """Largest vx, vy, wz."""
    control_hz: float = CONTROL_HZ
    """Rate of the policy (paper)."""
    iteration: int | None = None
    """Iteration of the checkpoint."""
    versions: dict[str, str] = field(default_factory=dict)
    """Software of the training."""
    notes: dict[str, Any] = field(default_factory=dict)
    """Anything else worth keeping: differences from the paper, names of files."""


def describe(
    graph: PolicyGraph,
    student: StudentModel,
    robot: RobotCfg,
    camera: DepthCameraCfg,
    record: ExportRecord,
) -> dict[str, Any]:
    """All metadata but the checksums."""
    joints, io = describe_joints(robot), graph.io
    names = joints["names"]
    terms = []
    for name, part in term_slices(len(names)).items():
        term: dict[str, Any] = {"name": name, "size": part.stop - part.start}
        term |= {"unit": UNITS[name], "scale": 1.0}
        terms.append(term | ({"joints": names} if name in PER_JOINT else {}))
    assert len(terms) == len(TERMS)
    return {
        "format": FORMAT,
        "version": VERSION,
        "robot": robot.name,
        "control_hz": record.control_hz,
        "graph": {"opset": OPSET, **_shapes(graph)},
        "joints": joints,
        "action": {
            "joints": names,
            "rule": "target = default_pos + action_scale * action, clipped to limits",
        },
        "observation": {
            "terms": terms,
            "frames": io.proprioception_frames,
            "order": "oldest first; the first frame stands in for older ones",
        },
        "depth": {
            **asdict(camera),
            "crop": [0, 0, camera.width, camera.height],
            "resize": "raw pixel at the centre of each output pixel",
            "unit": "share of max_range_m along the optical axis; invalid is 0",
            "frames": io.depth_frames,
            "stride": io.depth_stride,
            "order": "oldest first; the first image stands in for older ones",
            "mount": {
                **asdict(robot.camera_mount),
                "rotation_camera_to_body": (
                    robot.camera_mount.rotation_camera_to_body().tolist()
                ),
            },
        },
        "height_map": {
            **asdict(io.height_map),
            "frame": "heading",
            "unit": "m, terrain height minus base height",
        },
        "command": {
            "low": list(record.command_low),
            "high": list(record.command_high),
            "unit": "vx, vy in m/s and wz in rad/s, heading frame",
        },
        "training": {
            "profile": record.profile,
            "seed": record.seed,
            "iteration": record.iteration,
            "versions": record.versions,
            "exported_with": __version__,
            **record.notes,
        },
        "architecture": {
            "student": describe_student(student),
            "reconstructor": describe_reconstructor(graph.reconstructor),
        },
    }


def describe_joints(robot: RobotCfg) -> dict[str, Any]:
    """Names, default pose, gains and limits; lists have one number per joint."""
    names = robot.joint_names
    groups = {
        name: group
        for group in robot.actuators
        for name in robot.find_joints(group.target_names_expr)
    }
    model = build_spec(robot, visual=False).compile()
    ranges = [model.joint(name).range for name in names]
    return {
        "names": list(names),
        "default_pos": list(robot.joint_values(robot.default_joint_pos)),
        "action_scale": list(robot.joint_values(robot.action_scale)),
        "kp": [float(groups[name].stiffness) for name in names],
        "kd": [float(groups[name].damping) for name in names],
        "pos_low": [float(low) for low, _ in ranges],
        "pos_high": [float(high) for _, high in ranges],
        "vel_limit": _speeds(robot),
        "effort_limit": [float(groups[name].effort_limit or 0.0) for name in names],
        "units": {
            "default_pos": "rad",
            "action_scale": "rad per unit of action",
            "kp": "Nm/rad",
            "kd": "Nm s/rad",
            "pos_low": "rad",
            "pos_high": "rad",
            "vel_limit": "rad/s",
            "effort_limit": "Nm",
        },
    }


def expected_of(robot: RobotCfg) -> Expected:
    """What a bundle for the robot may ask of it, from the config alone."""
    return expected_from(describe_joints(robot), asdict(robot.depth_camera))


def _speeds(robot: RobotCfg) -> list[float]:
    """Largest speed of each joint, rad/s."""
    if robot.velocity_limits is None:
        raise SoloError(
            f"The largest speeds of the joints of robot {robot.name!r} are not known, "
            "which a bundle needs. Set RobotCfg.velocity_limits, in rad/s."
        )
    return list(robot.joint_values(robot.velocity_limits))


def describe_student(student: StudentModel) -> dict[str, Any]:
    """What `StudentModel` is built from, as plain data."""
    layers = list(student.mlp)
    widths = [layer.out_features for layer in layers if isinstance(layer, nn.Linear)]
    distribution = student.distribution
    groups = [(name, [size]) for name, size in student.group_dims.items()]
    groups.append((student.map_group, list(student.height_map_cfg.cells)))
    memory = student.rnn.rnn
    return {
        "groups": groups,
        "output_dim": widths[-1],
        "hidden_dims": widths[:-1],
        "activation": type(layers[1]).__name__.lower(),
        "obs_normalization": not isinstance(student.obs_normalizer, nn.Identity),
        "distribution": None if distribution is None else type(distribution).__name__,
        "ame_cfg": asdict(student.ame_cfg),
        "height_map_cfg": asdict(student.height_map_cfg),
        "rnn_hidden_dim": int(memory.hidden_size),
        "rnn_num_layers": int(memory.num_layers),
        "mirror": None if student.mirror is None else student.mirror.plain,
        "foot_view_cfg": student.foot_view_cfg and asdict(student.foot_view_cfg),
    }


def describe_reconstructor(model: Reconstructor) -> dict[str, Any]:
    """What `make_reconstructor` builds a network from, as plain data."""
    cfg: Any = model.cfg
    name = next(n for n, kind in RECONSTRUCTORS.items() if type(cfg) is kind.cfg)
    return {"name": name, "fields": asdict(cfg)}


def _shapes(graph: PolicyGraph) -> dict[str, Any]:
    """Names and shapes of the graph's inputs and outputs."""
    inputs = graph.dummy_inputs()
    outputs = graph(*inputs)
    return {
        "inputs": {
            name: list(value.shape)
            for name, value in zip(graph.input_names, inputs, strict=True)
        },
        "outputs": {
            name: list(value.shape)
            for name, value in zip(graph.output_names, outputs, strict=True)
        },
    }
