"""The initial weights of a new run, and the network sizes they require.

- A teacher starts from scratch, or from another teacher.
- A student starts with its teacher's map encoder, or from another student or a bundle.
  A bundle is enough: a shipped policy can be trained further, e.g. with a better
  teacher, even if its checkpoints are gone.
- A perceptive student continues from stage 2, as the paper fine-tunes it. Its
  reconstructor may be pretrained.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rsl_rl.models import MLPModel
from rsl_rl.modules import EmpiricalNormalization

from solo.algorithms.perceptive_ta_mse import PerceptiveTaMse
from solo.algorithms.ta_mse import TaMse
from solo.bundles import shipped_path
from solo.checkpoints import read_checkpoint
from solo.errors import FieldError, SoloError
from solo.export.read import read_reconstructor, read_student
from solo.networks.ame_model import AmeModel, copy_matching
from solo.networks.student import StudentModel
from solo.reconstruction.networks.interface import Reconstructor
from solo.runs import open_run
from solo.runs.folder import BUNDLE, checkpoints
from solo.runs.run import Run, acting_weights, load_checkpoint
from solo.stages.runner import Runner, carry_curriculum, samples_as_steps
from solo.tasks.agent_cfg import AgentCfg

NOISE = "distribution.std_param"
"""Name of the action std [joints] in an actor's parameters."""

NORMALIZER_COUNT = "obs_normalizer.count"
"""Number of samples that a normaliser has seen, among the weights of a model."""

_OWN = ("distribution_cfg", "mirror")
"""Settings of a network that do not decide which weights fit."""


class StartingRuns:
    """The runs that an agent names, opened; sizes first, weights later."""

    def __init__(self, agent: AgentCfg) -> None:
        """Open the runs and give the agent's networks the sizes of their weights.

        Args:
            agent: Changed in place.

        Raises:
            SoloError: A run is missing, or is of another stage.
        """
        self._agent = agent
        self.start = self.teacher = self.student = None
        if agent.stage == "student":
            self.teacher = _open(agent.teacher_run, "teacher_run", ("teacher",))
        if agent.stage == "perceptive":
            stages = ("student", "perceptive")
            self.student = _open(agent.student_run, "student_run", stages)
        if agent.start_from:
            own = (
                ("teacher",) if agent.stage == "teacher" else ("student", "perceptive")
            )
            self.start = _open(agent.start_from, "start_from", own)
        self._match_networks()

    def _match_networks(self) -> None:
        agent = self._agent
        if self.teacher is not None:
            assert agent.teacher is not None
            expert = self.teacher.agent
            _take(agent.teacher, expert.actor)
            for name in ("ame_cfg", "height_map_cfg"):  # Its encoder is copied.
                agent.actor[name] = expert.actor[name]
            _take_rest(agent, expert)
        if self.student is not None:
            assert agent.teacher is not None
            before = self.student.agent
            assert before.teacher is not None
            _take(agent.actor, before.actor)
            _take(agent.teacher, before.teacher)
            _take_rest(agent, before)
        if self.start is None:
            return
        if self.start.is_bundle:
            recipe = self.start.metadata["architecture"]["student"]
            taken = agent.actor.keys() - {*_OWN} | {"rnn_hidden_dim", "rnn_num_layers"}
            agent.actor.update({k: v for k, v in recipe.items() if k in taken})
            agent.actor["foot_view_cfg"] = recipe.get("foot_view_cfg")
        else:
            _take(agent.actor, self.start.agent.actor)
            if agent.stage == "teacher":
                _take_rest(agent, self.start.agent)

    def load(self, runner: Runner) -> None:
        """Put the weights and the curriculum into a new run.

        Raises:
            SoloError: They do not fit.
        """
        agent, device = self._agent, str(runner.device)
        env = runner.env.unwrapped
        if self.teacher is not None:
            state = _load(self.teacher.path, device)
            _load_teacher(runner.alg, state)
            if self.start is None:
                # Schedules continue where the teacher's ended: it was trained for that.
                # Terrain levels start from the bottom again.
                env.common_step_counter = samples_as_steps(env, state["infos"]["env"])
            else:
                assert isinstance(runner.alg, TaMse)
                source = start_from_policy(runner.alg, self.start.path, state)
                carry_curriculum(env, source["infos"]["env"])
                print(f"Started from the student {str(self.start.path)!r}.")
        elif self.student is not None:
            state = _load(self.student.path, device)
            assert isinstance(runner.alg, PerceptiveTaMse)
            start_from_student(runner.alg, state)
            carry_curriculum(env, state["infos"]["env"])
            if agent.reconstructor_run:
                assert agent.reconstruction is not None
                model, name = runner.alg.learner.model, agent.reconstruction["name"]
                load_pretrained(model, name, Path(agent.reconstructor_run))
                runner.alg.perceiver.weights_changed()
        elif self.start is not None:
            start_from_teacher(runner, _load(self.start.path, device))
        if self.start is not None and agent.action_noise is not None:
            set_action_noise(runner.alg.actor, agent.action_noise)


def _load(path: Path, device: str) -> dict[str, Any]:
    """A checkpoint with the weights that act in evaluations as its actor's."""
    state = load_checkpoint(path, device)
    return {**state, "actor_state_dict": acting_weights(state)}


def _open(name: str, setting: str, stages: tuple[str, ...]) -> Run:
    first = stages[0]
    hint = f"Give a run folder or a checkpoint of `solo train {first}`."
    if not name:
        raise SoloError(f"The stage needs a {first}: {setting} is empty. {hint}")
    run = open_run(name)
    if run.stage not in stages or (run.is_bundle and setting != "start_from"):
        kind = "bundle" if run.is_bundle else run.stage
        option = setting.removesuffix("_run")
        raise FieldError(option, f"{name!r} is a {kind}, not a {first}. {hint}")
    return run


def _take(network: dict[str, Any], saved: Mapping[str, Any]) -> None:
    """Give a network the sizes of one that was saved, and no others."""
    for name in [k for k in network if k not in saved and k not in _OWN]:
        del network[name]
    network.update({k: v for k, v in saved.items() if k not in _OWN})


def _take_rest(agent: AgentCfg, saved: AgentCfg) -> None:
    """Sizes of the critic and of the discriminator."""
    _take(agent.critic, saved.critic)
    before, now = saved.algorithm.get("amp_cfg"), agent.algorithm.get("amp_cfg")
    if before and now:
        now["hidden_dims"] = before["hidden_dims"]


def _load_teacher(algorithm: Any, state: dict[str, Any]) -> None:
    assert isinstance(algorithm, TaMse)
    algorithm.load_teacher(state["actor_state_dict"])
    student, expert = algorithm.actor, algorithm.teacher
    assert isinstance(student, AmeModel)
    assert isinstance(expert, AmeModel)
    copied = copy_matching(student, expert)
    print(f"Copied {len(copied)} tensors of the teacher's map encoder.")


def start_from_teacher(runner: Runner, state: dict[str, Any]) -> None:
    """Take over networks, optimiser, motion prior and curriculum of a checkpoint.

    Raises:
        SoloError: Its networks have other sizes.
    """
    same_critic = _has_critic_of(runner.alg, state)
    parts = {"actor": True, "critic": same_critic, "optimizer": same_critic}
    try:
        runner.alg.load(state, parts | _motion_prior(state), strict=True)
    except RuntimeError as error:
        raise _unfit("teacher to start from", error) from error
    carry_curriculum(runner.env.unwrapped, state["infos"]["env"])


def start_from_policy(
    algorithm: TaMse, path: Path, teacher: dict[str, Any]
) -> dict[str, Any]:
    """Take over the student of a bundle, or student, critic and optimiser of a run.

    A bundle contains only the student. Critic, motion prior, action std, learning rate
    and the normaliser's sample count then come from the teacher: with the initial
    learning rate and an untrained critic, the first updates would undo what the student
    has learned, and a normaliser with a count of 0 would lose its statistics at the
    first observation.

    Args:
        algorithm: Receives them, in place; its teacher is loaded already.
        path: The bundle, or a checkpoint of `solo train student`.
        teacher: Checkpoint of the teacher.

    Returns:
        The checkpoint whose curriculum is continued.

    Raises:
        SoloError: It cannot be read, or the networks have other sizes.
    """
    try:
        if path.suffix == BUNDLE:
            _take_bundle(algorithm, path, teacher)
            return teacher
        state = _load(path, str(algorithm.device))
        parts = {"actor": True, "critic": True, "optimizer": True}
        algorithm.load(state, parts | _motion_prior(state), strict=True)
        return state
    except (RuntimeError, KeyError) as error:
        raise _unfit("student to start from", error) from error


def _take_bundle(algorithm: TaMse, path: Path, teacher: dict[str, Any]) -> None:
    taken = {
        name: value
        for name, value in teacher["actor_state_dict"].items()
        if name.startswith("distribution.") or name == NORMALIZER_COUNT
    }
    student = algorithm.actor.state_dict() | taken | read_student(path)
    algorithm.actor.load_state_dict(student)
    parts = {"critic": _has_critic_of(algorithm, teacher)} | _motion_prior(teacher)
    algorithm.load(teacher, parts, strict=True)
    algorithm.learning_rate = teacher["optimizer_state_dict"]["param_groups"][0]["lr"]
    for group in algorithm.optimizer.param_groups:
        group["lr"] = algorithm.learning_rate


def start_from_student(algorithm: PerceptiveTaMse, state: dict[str, Any]) -> None:
    """Take over student, critic, teacher and motion prior of a stage 2 checkpoint.

    The student's groups have other names than in stage 2, but the same sizes in the
    same order. The reconstructor gets the student's statistics of proprioception. The
    optimiser state is kept too: with the initial learning rate, the first update moved
    the student eight times as far from the teacher as it was after stage 2.

    Raises:
        SoloError: The networks have other sizes.
    """
    parts = {"actor": True, "critic": True, "teacher": True, "optimizer": True}
    try:
        algorithm.load(state, parts | _motion_prior(state), strict=True)
    except RuntimeError as error:
        raise _unfit("student", error) from error
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
    file = shipped_path(str(path)) or path
    if file.is_dir():
        offline = file / "checkpoint.pt"
        file = checkpoints(file)[-1] if checkpoints(file) else offline
    method = name
    try:
        if file.suffix == BUNDLE:
            weights = read_reconstructor(file)
        else:
            saved = read_checkpoint(file, "cpu")
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
            f"The reconstructor {str(file)!r} is {method!r}, not {name!r}. Choose "
            f"the reconstructor {method}, or another checkpoint."
        )


@torch.no_grad()
def set_action_noise(actor: MLPModel, mean_std: float) -> None:
    """Scale the action std to a given mean, keeping the proportions between joints.

    Training lowers it too, but hardly within a laptop's number of iterations, and
    robots that stagger learn to avoid stairs.
    """
    std = dict(actor.named_parameters())[NOISE]
    std.mul_(mean_std / std.mean())


def _motion_prior(state: dict[str, Any]) -> dict[str, bool]:
    return {"amp": "amp_state_dict" in state}


def _unfit(what: str, error: Exception) -> SoloError:
    reason = " ".join(str(error).split())[:200]
    return SoloError(
        f"The {what} does not fit: {reason}. Use the profile it was trained with."
    )


def _has_critic_of(algorithm: Any, state: dict[str, Any]) -> bool:
    """Whether a checkpoint's critic has the sizes of ours; says so if not.

    A teacher's critic may see more than a student's (`solo.envs.mdp.void_under_feet`).
    """
    own, saved = algorithm.critic.state_dict(), state["critic_state_dict"]
    fits = {n: v.shape for n, v in own.items()} == {
        n: v.shape for n, v in saved.items()
    }
    if not fits:
        print("The critic of that run has other inputs; a new one is trained.")
    return fits
