"""Trajectory-aware MSE distillation: stages 2 and 3 of the paper.

The student learns by PPO; the frozen teacher enters twice (paper, section
"Trajectory-Aware MSE Distillation"):

    loss     += lambda * E[l(t)]            match the teacher at the visited states
    reward(t) = r(t) - beta * l(t+1)        avoid states where matching is hard

with l(t) = || student mean - teacher mean ||^2 at the state of step t. The baselines
are this class too: lambda = beta = 0 is PPO, beta = 0 is MSE+PPO.

A worked example, one environment, 4 steps, beta = 1. The observation after step 1
belongs to the next episode, so step 1 is not penalised, whether the robot fell or the
time was up:

    step           0      1      2      3      end of the rollout
    l at its state 0.1    0.2    0.3    0.4    0.5
    done                  yes
    penalty        0.2    0      0.4    0.5

l(t+1) is known when step t+1 is taken, from the pass that chooses the action; only the
state at the end of the rollout takes one extra pass, which leaves the hidden state
as it was.

What the paper leaves open, and the choice here:

- With AMP on, r(t) is the mix of task and style reward: the penalty comes after the
  mix. The paper's return of the penalties, -beta * sum gamma^k l, then holds as it
  stands; inside the task reward beta would become eta * beta.
- The penalty is not multiplied by the control step of 0.02 s, unlike mjlab's task
  rewards. In numbers: with 25 joints, each 0.1 off, l = 0.25 per step, while perfect
  tracking earns 0.16. As long as a step costs more than it earns, falling early pays
  off; a smaller `penalty_weight` is there for that (`Profile.teacher_pull`), and both
  `ta_penalty` and `amp_task_part` are logged per step.
- At a time-out rsl_rl adds gamma * V(s) to the reward. V predicts penalised returns,
  so later penalties are in it.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from rsl_rl.utils import resolve_callable
from tensordict import TensorDict

from solo.algorithms.ppo_amp import PpoAmp
from solo.algorithms.teacher_matching import (
    TEACHER_ACTION,
    TeacherMatching,
    compute_disagreement,
)
from solo.algorithms.terrain_means import Terrain, mean_per_terrain, terrain_of
from solo.errors import SoloError


class TaMse(PpoAmp):
    """PPO (with AMP) that is drawn towards a frozen teacher.

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
        **settings: Any,
    ) -> None:
        """Set up the student's learning.

        Args:
            actor: The student; feed-forward or recurrent.
            critic: Value function.
            storage: Rollout storage of rsl_rl; it gets one more group.
            teacher: Same action space as the student; it is frozen here.
            mse_weight: The paper's lambda.
            penalty_weight: The paper's beta.
            **settings: Settings of `PpoAmp` and of rsl_rl's PPO.
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
        symmetry: Any = self.symmetry
        self._matching = TeacherMatching(mse_weight, symmetry)
        self.symmetry = cast(Any, self._matching)
        steps, envs = storage.num_transitions_per_env, storage.num_envs
        storage.observations[TEACHER_ACTION] = torch.zeros_like(storage.actions)
        self.disagreement = torch.zeros(steps + 1, envs, device=self.device)
        """l at the visited states of the last rollout and at its end, [T + 1, B]."""
        self._penalty_mean = 0.0

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
            self.disagreement[self.storage.step] = compute_disagreement(
                student, teacher
            )
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
        """Record the step; a recurrent teacher forgets where `dones`."""
        super().process_env_step(obs, rewards, dones, extras)
        self.teacher.reset(dones)

    def compute_returns(self, obs: TensorDict) -> None:
        """Put the penalties into the rewards, then compute returns and advantages."""
        if self.penalty_weight > 0.0:
            with torch.no_grad():
                self.disagreement[-1] = compute_disagreement(
                    peek(self.actor, obs), peek(self.teacher, obs)
                )
            within = (self.storage.dones == 0).squeeze(-1)  # [T, B]
            penalty = self.penalty_weight * self.disagreement[1:] * within
            self.storage.rewards -= penalty.unsqueeze(-1)
            self._penalty_mean = penalty.mean().item()
        super().compute_returns(obs)

    def update(self) -> dict[str, float]:
        """Run the update; report the gap to the teacher among the losses."""
        losses = super().update()
        del losses["symmetry"]  # What rsl_rl calls our sum of auxiliary losses.
        losses.update(self._matching.pop_means())
        losses["teacher_disagreement"] = self.disagreement[:-1].mean().item()
        losses["ta_penalty"] = self._penalty_mean
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
        del cfg["algorithm"]["teacher"]  # Loggers store the config.
        return algorithm


def peek(model: MLPModel, obs: TensorDict) -> torch.Tensor:
    """Mean action [B, joints] of a model whose hidden state stays as it is."""
    hidden_state = model.get_hidden_state()
    mean = model(obs)
    model.reset(hidden_state=hidden_state)
    return mean
