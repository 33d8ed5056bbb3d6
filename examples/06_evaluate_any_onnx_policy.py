"""Evaluate an ONNX policy that was not exported by us, in the stress test.

It must take proprioception [1, 84] in the order of docs/conventions.md and give actions
[1, 25]; change `ForeignPolicy` for others. What `solo export` wrote needs none of this:
`solo.open_policy("policy.onnx")` is its source. Without a file, a network of zeros is
evaluated: robots that hold the default pose, and fall.

    python examples/06_evaluate_any_onnx_policy.py [POLICY.onnx]
"""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

import solo
from solo.evaluation.protocols import STRESS, Start
from solo.evaluation.rollout import Policy, PolicySource

PROPRIOCEPTION = "teacher_proprioception"  # Without noise, as in all evaluations.


class ForeignPolicy(Policy):
    """Feeds the network and keeps nothing between steps."""

    def __init__(self, path: Path) -> None:
        self._session = onnxruntime.InferenceSession(path)
        self._input = self._session.get_inputs()[0].name

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """A recurrent policy would clear its state in these slots."""

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        rows = observations[PROPRIOCEPTION].cpu().numpy()[:, None]  # [B, 1, 84]
        found = [self._session.run(None, {self._input: row})[0] for row in rows]
        return torch.from_numpy(np.vstack([np.asarray(row) for row in found])), {}


def main() -> None:
    path = Path(sys.argv[1]) if sys.argv[1:] else write_zeros(Path("zeros.onnx"))
    source = PolicySource(
        name=path.name,
        kind="foreign",
        robot=solo.get_robot("g1"),
        stage="teacher",
        groups=(PROPRIOCEPTION,),
        make=lambda env: ForeignPolicy(path),
        # Results are kept and reused; those of another policy must not be.
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )
    # The whole test has eight terrains and 100 rollouts of each.
    protocol = replace(STRESS, name="small", terrains=("gap",), rollouts=4)
    found = solo.evaluate(protocol, source, Path("results") / source.slug)
    for job in found.cells:
        print(f"{job.terrain}: {job.success.successes} of {job.success.rollouts} pass")
        print({name: count for name, count in job.outcomes.items() if count})


def write_zeros(path: Path) -> Path:
    """A linear layer of zeros, in the place of a policy."""
    layer = torch.nn.Linear(84, 25).eval()
    for values in layer.parameters():
        torch.nn.init.zeros_(values)
    torch.onnx.export(layer, (torch.zeros(1, 84),), path, verbose=False)
    return path


if __name__ == "__main__":
    main()
