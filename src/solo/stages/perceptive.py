"""Stage 3: the student gives up the true map and walks by its own eyes.

The student of stage 2 goes on learning with TA-MSE, but sees the map and the velocity
that a reconstructor estimates from depth and proprioception; the reconstructor learns
along from the states the student visits. Teacher, critic and motion prior are those of
stage 2, and so is the terrain curriculum: the paper fine-tunes, it does not start over.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rsl_rl.modules import EmpiricalNormalization

from solo.algorithms.perceptive_ta_mse import PerceptiveTaMse
from solo.errors import SoloError, unknown_name
from solo.export.read import read_reconstructor
from solo.networks.reconstruction.interface import Reconstructor
from solo.networks.student import StudentModel
from solo.stages.env_cfg import STAGES
from solo.stages.perceptive_cfg import (
    PerceptionCfg,
    make_io,
    make_perceptive_cfg,
    perception_of,
    with_camera,
)
from solo.stages.run_folder import checkpoints, find_checkpoint
from solo.stages.runner import Runner, carry_curriculum, load_checkpoint
from solo.stages.student import OBJECTIVES
from solo.stages.student_start import BUNDLE
from solo.stages.train import TrainCfg, make_motions, train


def train_perceptive(
    cfg: TrainCfg,
    student: Path | None,
    reconstructor: str = "qr",
    objective: str = "ta-mse",
    reconstructor_checkpoint: Path | None = None,
    perception: PerceptionCfg | None = None,
) -> dict[str, Any]:
    """Fine-tune a student on the estimates of a reconstructor that learns along.

    Args:
        cfg: The run.
        student: Run folder or checkpoint of stage 2; None for a resumed run, whose
            checkpoints hold everything.
        reconstructor: Key of `solo.networks.reconstruction.RECONSTRUCTORS`.
        objective: Key of `solo.stages.student.OBJECTIVES`.
        reconstructor_checkpoint: Folder of a training by `solo recon train` or of
            stage 3, a checkpoint, or a bundle; None starts from nothing, as the paper
            does.
        perception: The reconstructor's part; the profile's if None.

    Raises:
        SoloError: A name is unknown, or a checkpoint does not fit.
    """
    if objective not in OBJECTIVES:
        raise unknown_name("objective", objective, OBJECTIVES, "Choose one of these.")
    perception = perception or perception_of(cfg.profile)
    if student is None and not cfg.resume:
        raise SoloError(
            "A new perceptive run needs a student. Give a run folder or a checkpoint "
            "of `solo train student`."
        )
    checkpoint = None if student is None else find_checkpoint(student)
    state = {} if checkpoint is None else _load_student(checkpoint, cfg.device)

    def prepare(runner: Runner) -> None:
        algorithm = runner.alg
        assert isinstance(algorithm, PerceptiveTaMse)
        start_from_student(algorithm, state)
        carry_curriculum(runner.env.unwrapped, state["infos"]["env"])
        if reconstructor_checkpoint is not None:
            load_pretrained(
                algorithm.learner.model, reconstructor, reconstructor_checkpoint
            )
            algorithm.perceiver.weights_changed()

    motions = make_motions(cfg.robot, cfg.device)
    iterations = cfg.iterations or cfg.profile.iterations[STAGES.index("perceptive")]
    learning = make_perceptive_cfg(
        cfg.robot,
        cfg.profile,
        motions if cfg.amp else None,
        reconstructor,
        iterations,
        perception,
        *OBJECTIVES[objective],
    )
    record = {
        "student": None if checkpoint is None else str(checkpoint),
        "objective": objective,
        "reconstructor": learning["reconstruction"],
        "reconstructor_checkpoint": reconstructor_checkpoint
        and str(reconstructor_checkpoint),
    }
    for name, (paper, here) in perception.differences().items():
        print(f"perception.{name}: {here} (paper: {paper})")
    robot = with_camera(cfg.robot, make_io(cfg.robot, cfg.profile, perception))
    run = replace(cfg, robot=robot)
    return train(run, "perceptive", learning, motions, prepare, record)


def _load_student(path: Path, device: str) -> dict[str, Any]:
    state = load_checkpoint(path, device)
    if "teacher_state_dict" not in state:
        raise SoloError(
            f"The checkpoint {str(path)!r} holds no teacher, so it is not one of a "
            "student. Give a checkpoint of `solo train student`."
        )
    return state


def start_from_student(algorithm: PerceptiveTaMse, state: dict[str, Any]) -> None:
    """Take over student, critic, teacher and motion prior of a stage 2 checkpoint.

    The student's groups have other names than in stage 2, but the same sizes in the
    same order. The reconstructor gets the student's statistics of proprioception. The
    optimiser goes on, too: with its first learning rate again, the first update moved
    the student eight times as far from the teacher as stage 2 had brought it.

    Raises:
        SoloError: The networks have other sizes.
    """
    parts = {"actor": True, "critic": True, "teacher": True, "optimizer": True}
    parts["amp"] = "amp_state_dict" in state
    try:
        algorithm.load(state, parts, strict=True)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"The student does not fit: {reason}. Use the profile it was trained with."
        ) from error
    student = algorithm.actor
    assert isinstance(student, StudentModel)
    normaliser = student.obs_normalizer
    if isinstance(normaliser, EmpiricalNormalization):
        part = student.memory_slice
        algorithm.learner.model.set_statistics(
            normaliser.mean[part], normaliser.std[part]
        )


def load_pretrained(model: Reconstructor, name: str, path: Path) -> None:
    """Take over a reconstructor of `solo recon train`, of stage 3 or of a bundle.

    Its statistics of proprioception are included.

    Raises:
        SoloError: There is none, it cannot be read, or it is another network.
    """
    file = path
    if path.is_dir():
        offline = path / "checkpoint.pt"
        file = checkpoints(path)[-1] if checkpoints(path) else offline
    method = name
    try:
        if path.suffix == BUNDLE:
            weights = read_reconstructor(path)
        else:
            saved = torch.load(file, map_location="cpu", weights_only=True)
            if "reconstructor" in saved:
                saved = saved["reconstructor"]
                method, weights = saved["name"], saved["model"]
            else:
                method, weights = saved["cfg"]["method"], saved["model"]
        if method == name:
            model.load_state_dict(weights)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise SoloError(
            f"Cannot take the reconstructor {str(file)!r}: {reason}. Give the folder "
            "of a training by `solo recon train` or `solo train perceptive`, or a "
            "bundle, with the same profile."
        ) from error
    if method != name:
        raise SoloError(
            f"The reconstructor {str(file)!r} is {method!r}, not {name!r}. Use "
            f"--reconstructor {method}, or another checkpoint."
        )
