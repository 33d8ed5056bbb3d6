"""Stage 2: the recurrent student learns from the teacher, with the privileged map.

TA-MSE and its two baselines are one algorithm with other weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solo.algorithms.ta_mse import TaMse
from solo.errors import unknown_name
from solo.networks.ame_model import AmeModel
from solo.networks.transfer import copy_matching
from solo.stages.exploration import set_action_noise
from solo.stages.learning_cfg import make_student_cfg
from solo.stages.run_folder import find_checkpoint
from solo.stages.runner import (
    Runner,
    carry_curriculum,
    load_checkpoint,
    samples_as_steps,
)
from solo.stages.student_start import start_from_policy
from solo.stages.train import TrainCfg, make_motions, train

OBJECTIVES = {"ta-mse": (5.0, 1.0), "mse-ppo": (5.0, 0.0), "ppo": (0.0, 0.0)}
"""Objective to the paper's lambda (loss) and beta (reward)."""


def train_student(
    cfg: TrainCfg,
    teacher: Path | None,
    objective: str = "ta-mse",
    start_from: Path | None = None,
    action_noise: float | None = None,
) -> dict[str, Any]:
    """Distil a teacher into a student.

    Args:
        cfg: The run.
        teacher: Run folder or checkpoint of stage 1; None for a resumed run, whose
            checkpoints have the teacher inside.
        objective: Key of `OBJECTIVES`.
        start_from: Bundle, or run folder or checkpoint of another student, whose
            weights are taken over; see `solo.stages.student_start`.
        action_noise: Mean deviation of the actions to go on with; if None the other
            student's, or the teacher's after a bundle.

    Raises:
        SoloError: A name is unknown, or a checkpoint or bundle does not fit.
    """
    if objective not in OBJECTIVES:
        raise unknown_name("objective", objective, OBJECTIVES, "Choose one of these.")
    mse_weight, penalty_weight = OBJECTIVES[objective]
    checkpoint = None if teacher is None else find_checkpoint(teacher)
    if checkpoint is not None:
        state = load_checkpoint(checkpoint, cfg.device)

    def prepare(runner: Runner) -> None:
        algorithm = runner.alg
        assert isinstance(algorithm, TaMse)
        algorithm.load_teacher(state["actor_state_dict"])
        env = runner.env.unwrapped
        student, expert = algorithm.actor, algorithm.teacher
        assert isinstance(student, AmeModel)
        assert isinstance(expert, AmeModel)
        copied = copy_matching(student, expert)
        if start_from is not None:
            source = start_from_policy(algorithm, start_from, state)
            carry_curriculum(env, source["infos"]["env"])
            if action_noise is not None:
                set_action_noise(student, action_noise)
            print(f"Started from the student {str(start_from)!r}.")
            return
        print(f"Copied {len(copied)} tensors of the teacher's map encoder.")
        # What eases in goes on where it was: the teacher knows nothing easier, nor
        # harder. The levels of the terrain begin anew.
        env.common_step_counter = samples_as_steps(env, state["infos"]["env"])

    motions = make_motions(cfg.robot, cfg.device)
    learning = make_student_cfg(
        cfg.robot,
        cfg.profile,
        motions if cfg.amp else None,
        mse_weight,
        penalty_weight,
    )
    record = {
        "teacher": None if checkpoint is None else str(checkpoint),
        "objective": objective,
        "start_from": None if start_from is None else str(start_from),
        "action_noise": action_noise,
    }
    return train(cfg, "student", learning, motions, prepare, record)
