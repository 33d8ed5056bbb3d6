"""The golden sequence: what the policy did when it was exported, to be done again.

It holds depth in millimetres and proprioception of some control steps, and what torch
computed from them with nothing reused between steps. Replayed when a bundle is loaded,
it shows that file, onnxruntime, provider, windows and normalisation work together as in
training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from solo.deploy.bundle.format import pack, unpack
from solo.deploy.bundle.policy import BundlePolicy
from solo.deploy.camera import DepthProcessor
from solo.deploy.contract import Contract
from solo.deploy.observation import Observation, Observer
from solo.errors import SoloError

STEPS = 50
"""Length of the sequence."""

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

    Args:
        inputs: See `pack_golden`.
        resets: Steps at which an episode begins.
        contract: What the policy was trained with.
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
    """Do the sequence again; the largest difference.

    Raises:
        SoloError: The policy does something else.
    """
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
