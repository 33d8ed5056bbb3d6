"""A policy that runs in onnxruntime, and the golden sequence that tests it.

The sequence is what the policy did when it was exported: depth in millimetres and
proprioception of some control steps, and what torch computed from them with nothing
reused between steps. Replayed when a bundle is loaded, it shows that file, onnxruntime,
provider, windows and normalisation work together as in training.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from solo.deploy.bundle.format import pack, unpack
from solo.deploy.camera import DepthProcessor
from solo.deploy.contract import Contract
from solo.deploy.observation import Observation, Observer
from solo.errors import SoloError

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
"""Name to onnxruntime's name, from the slowest to the fastest."""

SENSORS = ("image", "depth", "proprioception")
"""Inputs of a graph that are not state."""


@dataclass(frozen=True, eq=False)
class PolicyView:
    """What a policy thought in its last step; replaced, never changed."""

    height_map: np.ndarray
    """Terrain height minus base height [Y, X], metres, as reconstructed."""
    velocity: np.ndarray
    """Velocity of the base [3], base frame, m/s, as estimated."""
    attention: np.ndarray
    """How much the policy looks at each cell [Y', X'], mean over the heads."""


class BundlePolicy:
    """Runs the graph; carries its state from step to step and clears it at a reset."""

    def __init__(
        self, session: onnxruntime.InferenceSession, outputs: list[str]
    ) -> None:
        """Take a session over.

        Of its outputs, ``x_out`` becomes ``x_in`` of the next step.
        """
        self.session = session
        self.view: PolicyView | None = None
        """Of the last step; None before the first."""
        self._outputs = outputs
        inputs = {i.name: tuple(i.shape) for i in session.get_inputs()}
        self._sensors = [name for name in inputs if name in SENSORS]
        self._zeros = {
            name: np.zeros(shape, dtype=np.float32)
            for name, shape in inputs.items()
            if name not in SENSORS
        }
        self._state = dict(self._zeros)
        states = [name for name in outputs if name.endswith("_out")]
        self._next = {name: name.removesuffix("_out") + "_in" for name in states}

    def reset(self) -> None:
        """Forget the past."""
        self._state = dict(self._zeros)

    def step(self, observation: Observation) -> np.ndarray:
        """Action [joints] of one control step."""
        if observation.depth is None or observation.depth_window is None:
            raise SoloError("The policy needs a depth image and was given none.")
        sensed = {
            "image": observation.depth,
            "depth": observation.depth_window,
            "proprioception": observation.proprioception_window,
        }
        feed = self._state | {name: sensed[name][None] for name in self._sensors}
        values = self.session.run(self._outputs, feed)
        found: dict[str, Any] = dict(zip(self._outputs, values, strict=True))
        self._state = {into: found[name] for name, into in self._next.items()}
        self.view = PolicyView(
            found["height_map"][0], found["velocity"][0], found["attention"][0]
        )
        return found["actions"][0]


def make_session(
    graph: bytes,
    sha256: str,
    provider: str = "cpu",
    threads: int = 1,
) -> onnxruntime.InferenceSession:
    """Load a graph.

    One thread leaves the other cores to camera and robot. The checksum names the folder
    of compiled engines.

    Raises:
        SoloError: There is no such provider here, or it does not take the graph.
    """
    check_provider(provider)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if threads > 1:
        # Threads wait in a busy loop within a step, and sleep between steps.
        options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        session = onnxruntime.InferenceSession(
            graph, options, providers=provider_options(provider, sha256)
        )
    except Exception as error:  # onnxruntime's errors have no common base.
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"onnxruntime {onnxruntime.__version__} does not load the policy on "
            f"{provider!r}: {reason}. Use --provider cpu, or export it again."
        ) from error
    found = session.get_providers()[0]
    if found != PROVIDERS[provider]:
        raise SoloError(
            f"Provider {provider!r} was asked for but onnxruntime fell back to "
            f"{found}: a library of CUDA or TensorRT is missing or of another version. "
            "See docs/deploy.md, or use --provider cpu."
        )
    return session


def check_provider(provider: str) -> None:
    """Refuse a provider that this onnxruntime was built without."""
    there = onnxruntime.get_available_providers()
    if PROVIDERS[provider] not in there:
        names = [name for name, full in PROVIDERS.items() if full in there]
        raise SoloError(
            f"Provider {provider!r} is not in this onnxruntime "
            f"{onnxruntime.__version__}, which has: {', '.join(names)}. Install "
            "onnxruntime-gpu in its place (docs/deploy.md), or use --provider cpu."
        )


def provider_options(provider: str, sha256: str) -> list[tuple[str, dict[str, Any]]]:
    """The provider and, behind it, those that take what it cannot.

    TensorRT takes minutes to compile a graph, so engines are kept, in a folder of the
    graph and of onnxruntime's version: an engine is never used for other weights.
    """
    rows: list[tuple[str, dict[str, Any]]] = [(PROVIDERS["cpu"], {})]
    if provider in ("cuda", "tensorrt"):
        # Full float32: the golden sequence is float32.
        rows.insert(0, (PROVIDERS["cuda"], {"use_tf32": "0"}))
    if provider == "tensorrt":
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        root = Path(base) / "solo" / "tensorrt"
        folder = root / f"{sha256[:16]}-{onnxruntime.__version__}"
        folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": str(folder),
            "trt_timing_cache_enable": "1",
            "trt_timing_cache_path": str(root),
            "trt_fp16_enable": "0",
        }
        rows.insert(0, (PROVIDERS["tensorrt"], settings))
    return rows


STEPS = 50
"""Length of the golden sequence."""

TOLERANCE = {"cpu": 1e-3, "cuda": 1e-3, "tensorrt": 1e-2}
"""Largest difference allowed at load, of actions, metres and m/s, per provider.

A thousandth of an action is half a milliradian. Different processors add in different
order, which gives some 1e-5; TensorRT may round products to 10 bits (TF32).
"""


def pack_golden(
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    resets: list[int],
) -> dict[str, Any]:
    """The sequence as JSON.

    Args:
        inputs: ``depth_mm`` [T, H, W] uint16 and ``proprioception`` [T, D] float32.
        outputs: ``actions`` [T, joints], ``velocity`` [T, 3] and the last
            ``height_map`` [Y, X].
        resets: Steps at which an episode begins; the first is 0.
    """
    return {
        "steps": len(inputs["proprioception"]),
        "resets": resets,
        "inputs": {name: pack(value) for name, value in inputs.items()},
        "outputs": {name: pack(value) for name, value in outputs.items()},
    }


def observations(
    inputs: Mapping[str, np.ndarray], resets: list[int], contract: Contract
) -> Iterator[tuple[bool, Observation]]:
    """What the runtime would show a policy: whether an episode begins, and the rest.

    Inputs and resets are those of `pack_golden`.
    """
    observer, processor = Observer(contract), DepthProcessor(contract.depth)
    for step, (depth_mm, vector) in enumerate(
        zip(inputs["depth_mm"], inputs["proprioception"], strict=True)
    ):
        if step in resets:
            observer.reset()
        yield step in resets, observer.push(vector, processor.normalise(depth_mm))


def replay(
    policy: BundlePolicy,
    golden: Mapping[str, Any],
    contract: Contract,
    tolerance: float,
) -> float:
    """Do the sequence again; the largest difference."""
    inputs = {name: unpack(value) for name, value in golden["inputs"].items()}
    expected = {name: unpack(value) for name, value in golden["outputs"].items()}
    worst = 0.0
    for step, (is_new, seen) in enumerate(
        observations(inputs, golden["resets"], contract)
    ):
        if is_new:
            policy.reset()
        action = policy.step(seen)
        assert policy.view is not None
        found = {"actions": action, "velocity": policy.view.velocity}
        wanted = {name: expected[name][step] for name in found}
        if step == golden["steps"] - 1:
            found["height_map"] = policy.view.height_map
            wanted["height_map"] = expected["height_map"]
        for name, value in found.items():
            if value.shape != wanted[name].shape:
                raise SoloError(
                    f"The golden sequence has {name} of shape {wanted[name].shape}, "
                    f"the policy gives {value.shape}. Export the bundle again."
                )
            difference = float(np.abs(value - wanted[name]).max())
            worst = max(worst, difference)
            if not difference <= tolerance:  # Also if it is not a number.
                raise SoloError(
                    f"The policy does not do what it did when exported: {name} of step "
                    f"{step} of the golden sequence differs by {difference:.2g}, "
                    f"allowed is {tolerance:g}. Try --provider cpu, or export it again."
                )
    policy.reset()
    policy.view = None
    return worst
