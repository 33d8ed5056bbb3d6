"""Stage 2: the recurrent student learns from the teacher, with the privileged map.

TA-MSE and its two baselines are one algorithm: ``mse_weight`` is the paper's lambda,
``penalty_weight`` its beta; both 0 is PPO, beta = 0 is MSE+PPO.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from solo.algorithms.ta_mse import TaMse
from solo.networks.ame_model import AmeModel
from solo.networks.transfer import copy_matching
from solo.stages.learning_cfg import make_student_cfg
from solo.stages.run_folder import find_checkpoint
from solo.stages.runner import Runner, load_checkpoint
from solo.stages.train import TrainCfg, make_motions, train


def train_student(
    cfg: TrainCfg,
    teacher: Path,
    mse_weight: float = 5.0,
    penalty_weight: float = 1.0,
) -> dict[str, Any]:
    """Distil a teacher into a student.

    Args:
        cfg: The run.
        teacher: Run folder or checkpoint of stage 1.
        mse_weight: The paper's lambda.
        penalty_weight: The paper's beta.
    """
    checkpoint = find_checkpoint(teacher)
    state = load_checkpoint(checkpoint, cfg.device)["actor_state_dict"]

    def prepare(runner: Runner) -> None:
        algorithm = runner.alg
        assert isinstance(algorithm, TaMse)
        algorithm.load_teacher(state)
        student, expert = algorithm.actor, algorithm.teacher
        assert isinstance(student, AmeModel)
        assert isinstance(expert, AmeModel)
        copied = copy_matching(student, expert)
        print(f"Copied {len(copied)} tensors of the teacher's map encoder.")

    motions = make_motions(cfg.robot, cfg.device)
    learning = make_student_cfg(
        cfg.robot,
        cfg.profile,
        motions if cfg.amp else None,
        mse_weight,
        penalty_weight,
    )
    record = {
        "teacher": str(checkpoint),
        "mse_weight": mse_weight,
        "penalty_weight": penalty_weight,
    }
    return train(cfg, "student", learning, motions, prepare, record)
