"""Trajectory-aware MSE distillation: stages 2 and 3 of the paper.

The student learns by PPO; the frozen teacher enters twice (paper, section
"Trajectory-Aware MSE Distillation"):

    loss     += lambda * E[l(t)]            match the teacher at the visited states
    reward(t) = r(t) - beta * l(t+1)        avoid states where matching is hard

with l(t) = || student - teacher ||^2 of the mean joint offsets at the state of step t.
The baselines are this class too: lambda = beta = 0 is PPO, beta = 0 is MSE+PPO.

A worked example, one environment, 4 steps, beta = 1. Step 1 ends an episode in a state
where l = 0.7; the observation after it belongs to the next episode, whose first state
has l = 0.3:

    step             0      1      2      3      end of the rollout
    l at its state   0.1    0.2    0.3    0.4    0.5
    l at the end            0.7
    penalty          0.2    0.7    0.4    0.5

l(t+1) is known when step t+1 is taken, from the pass that chooses the action. Two kinds
of states take an extra pass, which leaves the hidden state as it was: the one at the
end of the rollout, and those in which episodes end, fallen or out of time. Environments
reset within the step, so the last observation of an episode is passed separately, in
``extras[TERMINAL_OBSERVATIONS]``; without it the last step has no penalty.

What the paper leaves open, and the choice here:

- The action whose distance is taken: the joint offset, in radians. Other readings are
  options (`teacher_matching.DISTANCES`).
- With AMP on, r(t) is the mix of task and style reward: the penalty comes after the
  mix. The paper's return of the penalties, -beta * sum gamma^k l, then holds
  unchanged; inside the task reward beta would become eta * beta.
- The penalty is not multiplied by the control step of 0.02 s, unlike mjlab's task
  rewards. In numbers: with 25 joints, each 0.05 rad off, l = 0.06 per step, while
  perfect tracking earns 0.16. As long as a step costs more than it earns, falling early
  pays off. `ta_penalty` and `ta_reward` are logged per step, and a warning is given
  when the first exceeds the second for `PATIENCE` iterations.
- At a time-out rsl_rl adds gamma * V(s) to the reward. V predicts penalised returns,
  so later penalties are in it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol, cast

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from rsl_rl.models import MLPModel
from rsl_rl.modules import HiddenState
from rsl_rl.storage import RolloutStorage
from rsl_rl.utils import resolve_callable
from tensordict import TensorDict

from solo.algorithms.ppo_amp import PpoAmp
from solo.algorithms.teacher_matching import (
    TEACHER_ACTION,
    TeacherMatching,
    compute_disagreement,
    make_joint_weights,
)
from solo.errors import SoloError

TERMINAL_OBSERVATIONS = "terminal_observations"
"""Key of `extras`: observations of the last states of episodes, a TensorDict with a row
for each environment that is done."""

PATIENCE = 100
"""Iterations in a row that the penalty may exceed the reward without a warning."""

_log = logging.getLogger(__name__)


class TaMse(PpoAmp):
    """PPO (with AMP) with a frozen teacher as a second objective.

    The teacher reads the observation set `teacher`, the student `actor`; the sets may
    share no group. Load the teacher with `load_teacher` before the first step.
    """

    def __init__(
        self,
        actor: MLPModel,
        critic: MLPModel,
        storage: RolloutStorage,
        teacher: MLPModel,
        mse_weight: float = 5.0,
        penalty_weight: float = 1.0,
        distance: str = "radians",
        action_scale: Sequence[float] | None = None,
        **settings: Any,
    ) -> None:
        """Set up the student's learning; see `PpoAmp` for the rest.

        The weights are the paper's lambda and beta. The storage gets one more group,
        and the teacher, which has the student's action space, is frozen. ``distance``
        is a reading of l, one of `teacher_matching.DISTANCES`; ``action_scale`` is in
        radians per unit of action.
        """
        super().__init__(actor, critic, storage, **settings)
        if mse_weight < 0.0 or penalty_weight < 0.0:
            raise ValueError(
                f"TA-MSE weights are {mse_weight} and {penalty_weight}; they must not "
                "be negative."
            )
        self.teacher = teacher.to(self.device).eval().requires_grad_(False)
        self.teacher_loaded = False
        self.terrain: Terrain | None = None
        """For the gap on each terrain."""
        self.penalty_weight = penalty_weight
        self._joint_weights = make_joint_weights(
            distance, action_scale, storage.actions.shape[-1]
        ).to(self.device)
        symmetry: Any = self.symmetry
        self._matching = TeacherMatching(mse_weight, self._joint_weights, symmetry)
        self.symmetry = cast(Any, self._matching)
        steps, envs = storage.num_transitions_per_env, storage.num_envs
        storage.observations[TEACHER_ACTION] = torch.zeros_like(storage.actions)
        self.disagreement = torch.zeros(steps + 1, envs, device=self.device)
        """l at the visited states of the last rollout and at its end, [T + 1, B]."""
        self._at_ends = torch.zeros(steps, envs, device=self.device)
        """l where a step ended an episode, else 0, [T, B]."""
        self.per_step = {"ta_penalty": 0.0, "ta_reward": 0.0}
        """Means over the steps of the last rollout that did not end an episode."""
        self._costly_iterations = 0

    def load_teacher(self, state_dict: dict[str, torch.Tensor]) -> None:
        """Take over the teacher's parameters: `actor_state_dict` of stage 1."""
        self.teacher.load_state_dict(state_dict)
        self.teacher_loaded = True

    def act(self, obs: TensorDict) -> torch.Tensor:
        """Sample actions [B, joints]; ask the teacher about the same states."""
        if not self.teacher_loaded:
            raise RuntimeError(
                "The teacher has no trained parameters. Call load_teacher() with the "
                "'actor_state_dict' of a stage 1 checkpoint."
            )
        actions = super().act(obs)
        with torch.no_grad():
            teacher = self.teacher(obs)
            student = self.actor.output_mean
            self.disagreement[self.storage.step] = self._disagreement(student, teacher)
        labelled = obs.clone(recurse=False)
        labelled[TEACHER_ACTION] = teacher
        self.transition.observations = labelled
        return actions

    def process_env_step(
        self,
        obs: TensorDict,
        rewards: torch.Tensor,
        dones: torch.Tensor,
        extras: dict[str, torch.Tensor],
    ) -> None:
        """Record the step; look at the states in which episodes ended."""
        ends = extras.get(TERMINAL_OBSERVATIONS)
        if self.penalty_weight > 0.0 and ends is not None:
            rows = dones.nonzero().flatten()
            with torch.no_grad():
                gap = self._gap(cast(TensorDict, ends), rows)
            # The physics of an episode may have ended in no number at all.
            self._at_ends[self.storage.step, rows] = gap.nan_to_num(0.0, 0.0)
        super().process_env_step(obs, rewards, dones, extras)
        self.teacher.reset(dones)

    def compute_returns(self, obs: TensorDict) -> None:
        """Put the penalties into the rewards, then compute returns and advantages."""
        is_end = (self.storage.dones != 0).squeeze(-1)  # [T, B]
        rewards = self.storage.rewards.squeeze(-1)
        penalty = torch.zeros_like(rewards)
        if self.penalty_weight > 0.0:
            with torch.no_grad():
                self.disagreement[-1] = self._gap(obs)
            reached = torch.where(is_end, self._at_ends, self.disagreement[1:])
            penalty = self.penalty_weight * reached
        # Last steps have rewards of their own, for falls and for time that is up.
        count = (~is_end).sum().clamp_min(1)
        for name, values in (("ta_penalty", penalty), ("ta_reward", rewards)):
            self.per_step[name] = ((values * ~is_end).sum() / count).item()
        if self.penalty_weight > 0.0:
            self.storage.rewards -= penalty.unsqueeze(-1)
            self._at_ends.zero_()
            self._watch_penalty(**self.per_step)
        super().compute_returns(obs)

    def _watch_penalty(self, ta_penalty: float, ta_reward: float) -> None:
        """Warn once if steps cost more than they earn for `PATIENCE` iterations."""
        if self._costly_iterations > PATIENCE:
            return
        is_costly = ta_penalty > ta_reward
        self._costly_iterations = self._costly_iterations + 1 if is_costly else 0
        if self._costly_iterations > PATIENCE:
            _log.warning(
                "TA-MSE: for %d iterations steps have cost more (penalty %.3f) than "
                "they earn (reward %.3f), so falling early pays off. Lower "
                "penalty_weight, or start from a student nearer to its teacher.",
                PATIENCE,
                ta_penalty,
                ta_reward,
            )

    def _disagreement(
        self, student: torch.Tensor, teacher: torch.Tensor
    ) -> torch.Tensor:
        return compute_disagreement(student, teacher, self._joint_weights)

    def _gap(self, obs: TensorDict, rows: torch.Tensor | None = None) -> torch.Tensor:
        """l at states that no action is taken in; arguments as in `peek`."""
        return self._disagreement(
            peek(self.actor, obs, rows), peek(self.teacher, obs, rows)
        )

    def update(self) -> dict[str, float]:
        """Run the update; report the gap to the teacher among the losses."""
        losses = super().update()
        del losses["symmetry"]  # What rsl_rl calls our sum of auxiliary losses.
        losses.update(self._matching.pop_means())
        losses["teacher_disagreement"] = self.disagreement[:-1].mean().item()
        losses |= self.per_step
        gaps = mean_per_terrain(self.disagreement[:-1], self.terrain)
        losses |= {f"teacher_gap_on/{name}": gap for name, gap in gaps.items()}
        return losses

    def save(self) -> dict:
        """What `PpoAmp` saves, and the teacher: resuming needs no second file."""
        return super().save() | {"teacher_state_dict": self.teacher.state_dict()}

    def load(self, loaded_dict: dict, load_cfg: dict | None, strict: bool) -> bool:
        """Load what `load_cfg` names (`teacher` among it); everything when None."""
        load_iteration = super().load(loaded_dict, load_cfg, strict)
        if load_cfg is None or load_cfg.get("teacher"):
            if "teacher_state_dict" not in loaded_dict:
                raise SoloError(
                    "The checkpoint holds no teacher, so it is not one of a student. "
                    "Give a checkpoint of stage 2 or 3."
                )
            self.load_teacher(loaded_dict["teacher_state_dict"])
        return load_iteration

    @staticmethod
    def construct_algorithm(
        obs: TensorDict, env: VecEnv, cfg: dict, device: str
    ) -> PPO:
        """Build student, critic and teacher; `cfg["teacher"]` is the teacher's model.

        The teacher's initial values draw no random numbers from the run: it is loaded
        anyway, and a student without it must start the same.
        """
        if "teacher" not in cfg["obs_groups"]:
            raise SoloError(
                f"obs_groups has the sets {sorted(cfg['obs_groups'])}; TA-MSE needs "
                "'teacher' too: the groups the teacher was trained on."
            )
        model: dict[str, Any] = cfg["teacher"]
        teacher_class = resolve_callable(model.pop("class_name"))
        with torch.random.fork_rng(devices=[]):
            teacher = teacher_class(
                obs, cfg["obs_groups"], "teacher", env.num_actions, **model
            )
        cfg["algorithm"]["teacher"] = teacher
        algorithm = PpoAmp.construct_algorithm(obs, env, cfg, device)
        assert isinstance(algorithm, TaMse)
        algorithm.terrain = terrain_of(env)
        keep = getattr(env, "keep_terminal_observations", None)
        if keep is not None and algorithm.penalty_weight > 0.0:
            sets = cfg["obs_groups"]
            unused = set(sets["critic"]) - {*sets["teacher"], *sets["actor"]}
            if algorithm.amp is not None:
                unused.add(algorithm.amp.cfg.observation_group)
            keep(without=unused)
        del cfg["algorithm"]["teacher"]  # Loggers store the config.
        return algorithm


def peek(
    model: MLPModel, obs: TensorDict, rows: torch.Tensor | None = None
) -> torch.Tensor:
    """Mean action of a model in some environments, or all; no hidden state changes.

    Without rows, ``obs`` has all environments; with them, one row for each.
    """
    hidden_state = model.get_hidden_state()
    if rows is not None:
        model.reset(hidden_state=_pick(hidden_state, rows))
    mean = model(obs)
    model.reset(hidden_state=hidden_state)
    return mean


def _pick(hidden_state: HiddenState, rows: torch.Tensor) -> HiddenState:
    """The state of some environments; tensors are [layers, B, hidden]."""
    if isinstance(hidden_state, tuple):
        return hidden_state[0][:, rows], hidden_state[1][:, rows]
    return None if hidden_state is None else hidden_state[:, rows]


class Terrain(Protocol):
    """What is read of an environment's terrain."""

    terrain_types: torch.Tensor
    """Column of each environment [B]."""
    variant_names: tuple[str, ...]
    """Name of each column."""


def terrain_of(env: Any) -> Terrain | None:
    """The terrain of an environment of ours; None if there is none."""
    scene = getattr(getattr(env, "unwrapped", None), "scene", None)
    terrain = getattr(scene, "terrain", None)
    return terrain if hasattr(terrain, "variant_names") else None


def mean_per_terrain(values: torch.Tensor, terrain: Terrain | None) -> dict[str, float]:
    """Mean of values [..., B] over the environments of each terrain, by its name."""
    if terrain is None:
        return {}
    columns = terrain.terrain_types.to(values.device)
    means = values.reshape(-1, values.shape[-1]).mean(dim=0)
    num = len(terrain.variant_names)
    sums = means.new_zeros(num).index_add_(0, columns, means)
    counts = torch.bincount(columns, minlength=num)
    return {
        name: total / count
        for name, total, count in zip(
            terrain.variant_names, sums.tolist(), counts.tolist(), strict=True
        )
        if count
    }
