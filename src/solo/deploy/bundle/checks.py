"""Everything that must agree before a policy may move a robot.

Each check says in one line what was expected and what was found. The order matters:
what is wrong in particular is found before the checksum, which only says that
something is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solo.deploy.bundle.format import (
    FORMAT,
    GOLDEN_KEY,
    OPSET,
    POLICY_KEY,
    VERSION,
    ModelFile,
    checksum,
)
from solo.deploy.bundle.policy import STEPS
from solo.deploy.contract import (
    CONTROL_HZ,
    Contract,
    DepthContract,
    JointContract,
)
from solo.deploy.drivers.g1_messages import MOTOR_LIMITS, Limits
from solo.deploy.observation import TERMS, term_slices
from solo.errors import SoloError

AGAIN = "Export it again with `solo export`."
FOR_ROBOT = "Use a bundle that was exported for this robot."


@dataclass(frozen=True)
class Expected:
    """What a robot and our drivers for it provide, and what is plausible on it."""

    joints: Mapping[str, Limits]
    """All joints of the robot in its order, the policy's among them, to their limits:
    lowest and highest position (rad), largest speed (rad/s) and torque (Nm)."""
    camera: tuple[int, int]
    """Columns and rows of the raw depth stream."""
    focal_px: float
    """Focal length of that stream, raw pixels."""
    max_kp: float
    """Largest stiffness, Nm/rad."""
    max_kd: float
    """Largest damping, Nm s/rad."""
    control_hz: float = CONTROL_HZ
    """Rate of the control loop."""
    max_velocity: tuple[float, float, float] = (2.0, 2.0, 3.0)
    """Largest command vx, vy (m/s) and wz (rad/s), in both directions; the vendor of
    the G1 gives 2 m/s as its speed."""


EXPECTED = {
    "g1": Expected(
        joints=MOTOR_LIMITS,
        camera=(DepthContract.width, DepthContract.height),
        focal_px=DepthContract.fx,
        # Unitree's own policies use up to 200 Nm/rad and 5 Nm s/rad (unitree_rl_lab).
        max_kp=400.0,
        max_kd=15.0,
    )
}
"""Robot in the metadata to what our drivers for it provide."""

MOST = {"kp": 5000.0, "kd": 500.0, "vel_limit": 100.0, "effort_limit": 1000.0}
"""What no joint of a humanoid has, whoever makes it: Nm/rad, Nm s/rad, rad/s, Nm."""

MAX_FOCAL_DIFFERENCE = 0.03
"""Share by which focal lengths may differ: the rays at the edge of the image then move
by two pixels of the paper's network image."""


class Checker:
    """Refuses what does not fit, naming the file: all checks raise a `SoloError`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def equal(self, what: str, expected: Any, found: Any, hint: str = AGAIN) -> None:
        """Refuse if ``found`` is not ``expected``."""
        if expected != found:
            raise SoloError(
                f"The bundle {self.name!r} does not fit: {what} is {found!r}, expected "
                f"is {expected!r}. {hint}"
            )

    def within(self, what: str, found: float, low: float, high: float) -> None:
        """Refuse if ``found`` is not from ``low`` to ``high``."""
        if not low <= float(found) <= high:
            raise SoloError(
                f"The bundle {self.name!r} does not fit: {what} is {found:g}, allowed "
                f"is {low:g} to {high:g}. {FOR_ROBOT}"
            )

    def file(self, model: ModelFile) -> tuple[dict[str, Any], dict[str, Any]]:
        """Metadata and golden sequence of a file; checks format, version and opset."""
        if POLICY_KEY not in model.metadata or GOLDEN_KEY not in model.metadata:
            raise SoloError(
                f"{self.name!r} is an ONNX file without the metadata of a policy. Use "
                "a file that `solo export` wrote."
            )
        try:
            meta = json.loads(model.metadata[POLICY_KEY])
            golden = json.loads(model.metadata[GOLDEN_KEY])
            found = (meta["format"], meta["version"])
        except (ValueError, KeyError, TypeError) as error:
            raise SoloError(
                f"The metadata of the bundle {self.name!r} cannot be read: {error}. "
                f"{AGAIN}"
            ) from error
        self.equal("format", FORMAT, found[0])
        self.equal("version of the format", VERSION, found[1], "Use matching software.")
        self.equal("opset", OPSET, model.opset)
        return meta, golden

    def sums(
        self, model: ModelFile, meta: Mapping[str, Any], golden: Mapping[str, Any]
    ) -> None:
        """Checksums of the graph, the golden sequence and the metadata."""
        graph, sequence = meta["graph"]["sha256"], meta["golden"]["sha256"]
        self.equal("checksum of graph and weights", graph, model.sha256)
        self.equal("checksum of the golden sequence", sequence, checksum(golden))
        self.equal("checksum of the metadata", meta["sha256"], checksum(meta))

    def meaning(self, meta: Mapping[str, Any]) -> None:
        """Whether the parts of the metadata agree with each other and this code."""
        names = meta["joints"]["names"]
        doubled = next((n for n in names if names.count(n) > 1), None)
        self.equal("a joint that appears twice", None, doubled)
        self._joint_order("the action", names, meta["action"]["joints"])
        observed = meta["observation"]["terms"]
        found = [term["name"] for term in observed]
        self.equal("the list of observation terms", list(TERMS), found)
        for term, part in zip(observed, term_slices(len(names)).values(), strict=True):
            what = f"the observation term {term['name']!r}"
            self.equal(f"the size of {what}", part.stop - part.start, term["size"])
            self.equal(f"the scale of {what}", 1.0, term["scale"])
            if "joints" in term:
                self._joint_order(what, names, term["joints"])
        depth = meta["depth"]
        whole = [0, 0, depth["width"], depth["height"]]
        self.equal("the crop of the depth image", whole, depth["crop"])
        for axis in ("x_range_m", "y_range_m"):
            ends = len(meta["height_map"][axis])
            self.equal(f"the number of ends of the map's {axis}", 2, ends)

    def sizes(self, meta: Mapping[str, Any]) -> None:
        """Whether the graph's inputs and outputs have the sizes of the metadata."""
        shapes = {**meta["graph"]["inputs"], **meta["graph"]["outputs"]}
        depth, observation = meta["depth"], meta["observation"]
        size = sum(term["size"] for term in observation["terms"])
        image = [depth["output_height"], depth["output_width"]]
        wanted = {
            "actions": [1, len(meta["joints"]["names"])],
            "proprioception": [1, observation["frames"], size],
            "height_map": [1, *meta["height_map"]["cells"]],
            "velocity": [1, 3],
        }
        if "image" in shapes:
            wanted["image"] = [1, *image]
        else:
            wanted["depth"] = [1, depth["frames"], *image]
        for name, shape in wanted.items():
            self.equal(f"the shape of the graph's {name}", shape, shapes.get(name))

    def session(self, meta: Mapping[str, Any], session: Any) -> None:
        """Whether the loaded graph is the one the metadata describe."""
        for kind, found in (
            ("inputs", session.get_inputs()),
            ("outputs", session.get_outputs()),
        ):
            shapes = {item.name: list(item.shape) for item in found}
            self.equal(f"the list of {kind}", meta["graph"][kind], shapes)

    def robot(self, meta: Mapping[str, Any], expected: Expected) -> None:
        """Whether the robot's side provides what the policy needs."""
        joints, depth = meta["joints"], meta["depth"]
        names = joints["names"]
        missing = [name for name in names if name not in expected.joints]
        self.equal("a joint that the robot lacks", None, next(iter(missing), None))
        ordered = [name for name in expected.joints if name in names]
        self._joint_order("the policy", ordered, names)
        for index, name in enumerate(names):
            low, high, speed, torque = expected.joints[name]
            ranges = {
                "kp": (1e-3, expected.max_kp),
                "kd": (1e-3, expected.max_kd),
                "pos_low": (low - 0.01, high),
                "pos_high": (low, high + 0.01),
                "vel_limit": (1e-3, speed),
                "effort_limit": (1e-3, torque),
                "action_scale": (-math.pi, math.pi),
            }
            for key, allowed in ranges.items():
                self.within(f"{key} of {name}", joints[key][index], *allowed)
        rate, hint = meta["control_hz"], FOR_ROBOT
        self.equal("the control rate in Hz", expected.control_hz, rate, hint)
        size = (depth["width"], depth["height"])
        self.equal("the camera's image", expected.camera, size, hint)
        for key in ("fx", "fy"):
            allowed = [
                expected.focal_px * (1 + s * MAX_FOCAL_DIFFERENCE) for s in (-1, 1)
            ]
            self.within(f"the camera's {key}", depth[key], *allowed)
        for key in ("low", "high"):
            ends = zip(meta["command"][key], expected.max_velocity, strict=True)
            for axis, (found, most) in zip(("vx", "vy", "wz"), ends, strict=True):
                self.within(f"the command's {key} {axis}", found, -most, most)

    def golden(self, golden: Mapping[str, Any]) -> None:
        """Whether the golden sequence is long enough to say something."""
        steps = int(golden["steps"])
        self.within("the number of golden steps", steps, STEPS, 100 * STEPS)
        self.equal("the first reset of the golden sequence", 0, golden["resets"][0])
        for kind, name in (
            ("inputs", "depth_mm"),
            ("inputs", "proprioception"),
            ("outputs", "actions"),
            ("outputs", "velocity"),
        ):
            found = golden[kind][name]["shape"][0]
            self.equal(f"the number of golden {name}", steps, found)

    def _joint_order(self, where: str, wanted: list[str], found: list[str]) -> None:
        self.equal(f"the number of joints of {where}", len(wanted), len(found))
        for index, (name, other) in enumerate(zip(wanted, found, strict=True)):
            self.equal(f"joint {index} of {where}", name, other)


def expected_from(joints: Mapping[str, Any], camera: Mapping[str, Any]) -> Expected:
    """What is plausible on a robot that we have no driver for.

    Joints and camera are as in a bundle's metadata.
    """
    bounded = {key: [min(v, most) for v in joints[key]] for key, most in MOST.items()}
    limits = zip(
        joints["pos_low"],
        joints["pos_high"],
        bounded["vel_limit"],
        bounded["effort_limit"],
        strict=True,
    )
    return Expected(
        joints=dict(zip(joints["names"], limits, strict=True)),
        camera=(camera["width"], camera["height"]),
        focal_px=camera["fx"],
        max_kp=max(bounded["kp"]),
        max_kd=max(bounded["kd"]),
    )


def make_contract(meta: Mapping[str, Any]) -> Contract:
    """What the runtime needs to know, from the metadata."""
    joints, depth = meta["joints"], meta["depth"]
    arrays = (
        "default_pos", "action_scale", "kp", "kd", "pos_low", "pos_high", "vel_limit",
        "effort_limit",
    )  # fmt: skip
    return Contract(
        joints=JointContract(
            tuple(joints["names"]), **{name: np.array(joints[name]) for name in arrays}
        ),
        depth=DepthContract(
            **{name: depth[name] for name in DepthContract.__dataclass_fields__}
        ),
        control_hz=float(meta["control_hz"]),
        proprioception_frames=int(meta["observation"]["frames"]),
        needs_depth=True,
    )
