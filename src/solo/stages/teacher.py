"""Stage 1: the privileged teacher, PPO with AMP over the terrain curriculum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solo.errors import SoloError
from solo.stages.exploration import set_action_noise
from solo.stages.learning_cfg import make_teacher_cfg
from solo.stages.run_folder import find_checkpoint
from solo.stages.runner import Runner, carry_curriculum, load_checkpoint
from solo.stages.train import TrainCfg, make_motions, train


def train_teacher(
    cfg: TrainCfg, start_from: Path | None = None, action_noise: float | None = None
) -> dict[str, Any]:
    """Train a teacher from scratch, from another one, or go on with one.

    Args:
        cfg: The run.
        start_from: Run folder or checkpoint of another teacher with networks of the
            same size, whose weights, optimiser and curriculum are taken over.
        action_noise: Mean deviation of the actions to go on with; the other teacher's
            if None.

    Raises:
        SoloError: The other teacher does not fit.
    """
    checkpoint = None if start_from is None else find_checkpoint(start_from)
    state = None if checkpoint is None else load_checkpoint(checkpoint, cfg.device)

    def prepare(runner: Runner) -> None:
        if state is not None:
            start_from_teacher(runner, state)
            if action_noise is not None:
                set_action_noise(runner.alg.actor, action_noise)

    motions = make_motions(cfg.robot, cfg.device)
    learning = make_teacher_cfg(cfg.robot, cfg.profile, motions if cfg.amp else None)
    record = {
        "start_from": None if checkpoint is None else str(checkpoint),
        "action_noise": action_noise,
    }
    return train(cfg, "teacher", learning, motions, prepare, record)


def start_from_teacher(runner: Runner, state: dict[str, Any]) -> None:
    """Take over networks, optimiser, motion prior and curriculum of a checkpoint.

    Raises:
        SoloError: It is no teacher's, or its networks have other sizes.
    """
    if "teacher_state_dict" in state:
        raise SoloError(
            "--start-from is a student, not a teacher. Give a run folder or a "
            "checkpoint of `solo train teacher`."
        )
    parts = {"actor": True, "critic": True, "optimizer": True}
    parts["amp"] = "amp_state_dict" in state
    try:
        runner.alg.load(state, parts, strict=True)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"The teacher to start from does not fit: {reason}. Use the profile it was "
            "trained with."
        ) from error
    carry_curriculum(runner.env.unwrapped, state["infos"]["env"])
