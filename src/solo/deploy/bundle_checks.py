"""Everything that must agree before a policy may move a robot.

Each check says in one line what was expected and what was found. The order matters:
what is wrong in particular is found before the checksum, which only says that
something is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solo.deploy.bundle_format import (
    FORMAT,
    GOLDEN_KEY,
    OPSET,
    POLICY_KEY,
    VERSION,
    ModelFile,
    checksum,
)
from solo.deploy.contract import Contract, DepthContract, JointContract
from solo.deploy.drivers.g1_messages import MOTOR_NAMES
from solo.deploy.observation import TERMS, term_slices
from solo.errors import SoloError

AGAIN = "Export it again with `solo export`."


@dataclass(frozen=True)
class Expected:
    """What the robot's side provides; None where anything goes."""

    joints: tuple[str, ...] | None = None
    """All joints of the robot; the policy's must be among them, in this order."""
    control_hz: float | None = None
    """Rate of the control loop."""
    camera: tuple[int, int] | None = None
    """Columns and rows of the raw depth stream."""


EXPECTED = {"g1": Expected(MOTOR_NAMES, 50.0, (640, 480))}
"""Robot in the metadata to what our drivers for it provide."""


class Checker:
    """Refuses what does not fit, naming the file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def equal(self, what: str, expected: Any, found: Any, hint: str = AGAIN) -> None:
        """Refuse if ``found`` is not ``expected``.

        Raises:
            SoloError: They differ.
        """
        if expected != found:
            raise SoloError(
                f"The bundle {self.name!r} does not fit: {what} is {found!r}, expected "
                f"is {expected!r}. {hint}"
            )

    def file(self, model: ModelFile) -> tuple[dict[str, Any], dict[str, Any]]:
        """Metadata and golden sequence of a file; checks format, version and opset.

        Raises:
            SoloError: It is not a bundle, or not one that we can use.
        """
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
        """Checksums of the graph, the golden sequence and the metadata.

        Raises:
            SoloError: Something was edited.
        """
        graph, sequence = meta["graph"]["sha256"], meta["golden"]["sha256"]
        self.equal("checksum of graph and weights", graph, model.sha256)
        self.equal("checksum of the golden sequence", sequence, checksum(golden))
        self.equal("checksum of the metadata", meta["sha256"], checksum(meta))

    def meaning(self, meta: Mapping[str, Any]) -> None:
        """Whether the parts of the metadata agree with each other and with this code.

        Raises:
            SoloError: They do not.
        """
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

    def sizes(self, meta: Mapping[str, Any]) -> None:
        """Whether the graph's inputs and outputs have the sizes of the metadata.

        Raises:
            SoloError: They do not.
        """
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
        """Whether the loaded graph is the one the metadata describe.

        Raises:
            SoloError: It is not.
        """
        for kind, found in (
            ("inputs", session.get_inputs()),
            ("outputs", session.get_outputs()),
        ):
            shapes = {item.name: list(item.shape) for item in found}
            self.equal(f"the list of {kind}", meta["graph"][kind], shapes)

    def robot(self, meta: Mapping[str, Any], expected: Expected) -> None:
        """Whether the robot's side provides what the policy needs.

        Raises:
            SoloError: It does not.
        """
        hint = "Use a bundle that was exported for this robot."
        names = meta["joints"]["names"]
        if expected.joints is not None:
            missing = [name for name in names if name not in expected.joints]
            self.equal("a joint that the robot lacks", None, next(iter(missing), None))
            ordered = [name for name in expected.joints if name in names]
            self._joint_order("the policy", ordered, names)
        if expected.control_hz is not None:
            rate = meta["control_hz"]
            self.equal("the control rate in Hz", expected.control_hz, rate, hint)
        if expected.camera is not None:
            camera = (meta["depth"]["width"], meta["depth"]["height"])
            self.equal("the camera's image", expected.camera, camera, hint)

    def _joint_order(self, where: str, wanted: list[str], found: list[str]) -> None:
        self.equal(f"the number of joints of {where}", len(wanted), len(found))
        for index, (name, other) in enumerate(zip(wanted, found, strict=True)):
            self.equal(f"joint {index} of {where}", name, other)


def make_contract(meta: Mapping[str, Any]) -> Contract:
    """What the runtime needs to know, from the metadata."""
    joints, depth = meta["joints"], meta["depth"]
    arrays = (
        "default_pos", "action_scale", "kp", "kd", "pos_low", "pos_high", "vel_limit"
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
