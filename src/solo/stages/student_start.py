"""A student that does not begin from nothing: with a bundle's weights, or a run's.

Bundles are what outlives trainings: a policy that was shipped can go on learning, e.g.
from a better teacher, when its checkpoints are long gone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solo.algorithms.ta_mse import TaMse
from solo.errors import SoloError
from solo.export.read import read_student
from solo.stages.run_folder import find_checkpoint
from solo.stages.runner import load_checkpoint

BUNDLE = ".onnx"
"""How the name of a bundle ends."""

NORMALIZER_COUNT = "obs_normalizer.count"
"""Number of samples that a normaliser has seen, among the weights of a model."""


def start_from_policy(
    algorithm: TaMse, path: Path, teacher: dict[str, Any]
) -> dict[str, Any]:
    """Take over the student of a bundle, or student, critic and optimiser of a run.

    A bundle has the student alone. Critic, motion prior, action noise, learning rate
    and the age of the normaliser are then the teacher's, which walks as well: with the
    first learning rate and a critic that knows nothing, the first updates would undo
    what the student can do, and a normaliser that has seen nothing would forget what it
    knows with the first observation.

    Args:
        algorithm: Receives them, in place; its teacher is loaded already.
        path: The bundle, or a run folder or checkpoint of `solo train student`.
        teacher: Checkpoint of the teacher.

    Returns:
        The checkpoint whose curriculum goes on.

    Raises:
        SoloError: It cannot be read, or the networks have other sizes.
    """
    try:
        if path.suffix == BUNDLE:
            _take_bundle(algorithm, path, teacher)
            return teacher
        state = load_checkpoint(find_checkpoint(path), str(algorithm.device))
        parts = {"actor": True, "critic": True, "optimizer": True}
        algorithm.load(state, parts | _motion_prior(state), strict=True)
        return state
    except (RuntimeError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"The student to start from does not fit: {reason}. Give a bundle or a run "
            "of the same stage and profile."
        ) from error


def _take_bundle(algorithm: TaMse, path: Path, teacher: dict[str, Any]) -> None:
    taken = {
        name: value
        for name, value in teacher["actor_state_dict"].items()
        if name.startswith("distribution.") or name == NORMALIZER_COUNT
    }
    student = algorithm.actor.state_dict() | taken | read_student(path)
    algorithm.actor.load_state_dict(student)
    algorithm.load(teacher, {"critic": True} | _motion_prior(teacher), strict=True)
    algorithm.learning_rate = teacher["optimizer_state_dict"]["param_groups"][0]["lr"]
    for group in algorithm.optimizer.param_groups:
        group["lr"] = algorithm.learning_rate


def _motion_prior(state: dict[str, Any]) -> dict[str, bool]:
    return {"amp": "amp_state_dict" in state}
