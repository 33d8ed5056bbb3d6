"""Stage 1: the privileged teacher, PPO with AMP over the terrain curriculum."""

from __future__ import annotations

from typing import Any

from solo.stages.learning_cfg import make_teacher_cfg
from solo.stages.runner import Runner
from solo.stages.train import TrainCfg, make_motions, train


def train_teacher(cfg: TrainCfg) -> dict[str, Any]:
    """Train a teacher from scratch, or go on with one."""
    motions = make_motions(cfg.robot, cfg.device)
    learning = make_teacher_cfg(cfg.robot, cfg.profile, motions if cfg.amp else None)
    return train(cfg, "teacher", learning, motions, _nothing)


def _nothing(runner: Runner) -> None:
    """A teacher starts from nothing."""
