"""PPO with an adversarial motion prior: stage 1, and the base of TA-MSE.

rsl_rl's PPO does the policy learning, unchanged. This class mixes the style reward in
where rsl_rl hands over the step's reward, and trains the discriminator after PPO's own
update. Without `amp_cfg` every call goes straight to rsl_rl.

The policy that is evaluated, exported and imitated may be an average of the actor's
weights over the last iterations, which is steadier than any of them (not in the paper;
Izmailov et al., "Averaging Weights Leads to Wider Optima", arXiv 1803.05407). Rollouts
and updates use the newest weights.

The time-out bootstrap of rsl_rl adds the critic's value after the mix; the critic
predicts mixed rewards, so that is consistent. The runner's `Train/mean_reward` counts
the environment's reward, that is the task part before eta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from solo.algorithms.amp import AmpCfg, MotionPrior, ReferenceMotions
from solo.algorithms.mirror import LeanSymmetry
from solo.errors import SoloError

AVERAGED = "averaged_actor_state_dict"
"""Key of the averaged weights in a checkpoint."""


class PpoAmp(PPO):
    """rsl_rl's PPO whose reward is a mix of task and style."""

    def __init__(
        self,
        actor: MLPModel,
        critic: MLPModel,
        storage: RolloutStorage,
        amp_cfg: dict[str, Any] | None = None,
        motions: ReferenceMotions | None = None,
        critic_learning_rate: float | None = None,
        max_std: Sequence[tuple[float, float]] | None = None,
        average_over: int | None = None,
        **ppo_settings: Any,
    ) -> None:
        """Set up PPO and, with `amp_cfg`, the motion prior.

        Args:
            actor: Policy; feed-forward or recurrent.
            critic: Value function.
            storage: Rollout storage of rsl_rl.
            amp_cfg: Fields of `AmpCfg`; None switches AMP off.
            motions: Reference motion; needed with `amp_cfg`.
            critic_learning_rate: Of the critic alone, which the KL target then does not
                touch; None: the actor's.
            max_std: Largest mean action std as points (samples, std), joined by
                straight lines; None: as learned.
            average_over: Iterations over which the actor's weights are averaged; None:
                no average is kept.
            **ppo_settings: Settings of rsl_rl's PPO.
        """
        super().__init__(actor, critic, storage, **ppo_settings)
        if (symmetry_cfg := ppo_settings.get("symmetry_cfg")) is not None:
            self.symmetry = LeanSymmetry(**symmetry_cfg)
        self.max_std = max_std
        self.num_samples = 0
        self.average_over = average_over
        self.averaged: dict[str, torch.Tensor] | None = None
        if critic_learning_rate is not None:
            self._give_critic_its_rate(critic_learning_rate)
        self.amp: MotionPrior | None = None
        if amp_cfg is None:
            return
        if motions is None:
            raise SoloError(
                "amp_cfg is set but there are no reference motions. Give a motion "
                "library as 'motions', or amp_cfg=None to train without AMP."
            )
        cfg = AmpCfg(**amp_cfg)
        if cfg.observation_group not in storage.observations:
            raise SoloError(
                f"AMP needs observation group {cfg.observation_group!r}; the "
                f"environment has {sorted(storage.observations.keys())}. Add the group "
                "to the environment, or set amp_cfg.observation_group."
            )
        samples = storage.num_envs * storage.num_transitions_per_env
        self.amp = MotionPrior(
            cfg,
            motions,
            state_dim=storage.observations[cfg.observation_group].shape[-1],
            batch_size=samples // self.num_mini_batches,
            num_updates=self.num_learning_epochs * self.num_mini_batches,
            device=self.device,
            rank=self.gpu_global_rank,
            world_size=self.gpu_world_size,
        )

    def _give_critic_its_rate(self, learning_rate: float) -> None:
        """Two groups of parameters; rsl_rl sets the rate of all before each step."""
        groups = [
            {"params": list(model.parameters())} for model in (self.actor, self.critic)
        ]
        self.optimizer = type(self.optimizer)(groups, lr=self.learning_rate)

        def keep(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
            del args, kwargs
            optimizer.param_groups[1]["lr"] = learning_rate

        self.optimizer.register_step_pre_hook(keep)

    def process_env_step(
        self,
        obs: TensorDict,
        rewards: torch.Tensor,
        dones: torch.Tensor,
        extras: dict[str, torch.Tensor],
    ) -> None:
        """Mix the style reward into `rewards` [B], then record the step."""
        if self.amp is not None:
            group = self.amp.cfg.observation_group
            before = self.transition.observations
            assert before is not None
            rewards = self.amp.mix_reward(before[group], obs[group], rewards, dones)
        super().process_env_step(obs, rewards, dones, extras)

    def update(self) -> dict[str, float]:
        """Run PPO's update, then the discriminator's; return means for the log."""
        losses = super().update()
        if self.amp is not None:
            losses.update(self.amp.update())
        per_process = self.storage.num_envs * self.storage.num_transitions_per_env
        self.num_samples += per_process * self.gpu_world_size
        if self.max_std is not None:
            samples, stds = zip(*self.max_std, strict=True)
            cap_action_std(
                self.actor, float(np.interp(self.num_samples, samples, stds))
            )
        if self.average_over is not None:
            newest = self.actor.state_dict()
            self.averaged = average(self.averaged, newest, 1.0 / self.average_over)
        return losses

    def train_mode(self) -> None:
        """Set train mode for everything that learns."""
        super().train_mode()
        if self.amp is not None:
            self.amp.discriminator.train()

    def eval_mode(self) -> None:
        """Set evaluation mode for everything that learns."""
        super().eval_mode()
        if self.amp is not None:
            self.amp.discriminator.eval()

    def save(self) -> dict:
        """What rsl_rl saves, motion prior (`amp_state_dict`) and averaged weights."""
        saved = super().save()
        if self.averaged is not None:
            saved[AVERAGED] = self.averaged
        if self.amp is not None:
            saved["amp_state_dict"] = self.amp.state_dict()
        saved["num_samples"] = self.num_samples
        return saved

    def load(self, loaded_dict: dict, load_cfg: dict | None, strict: bool) -> bool:
        """Load what `load_cfg` names (`amp` among it); everything when it is None."""
        load_iteration = super().load(loaded_dict, load_cfg, strict)
        if self.amp is not None and (load_cfg is None or load_cfg.get("amp")):
            if "amp_state_dict" not in loaded_dict:
                raise SoloError(
                    "The checkpoint holds no AMP state, but this run uses AMP. Resume "
                    "with AMP off, or load without 'amp' in load_cfg."
                )
            self.amp.load_state_dict(loaded_dict["amp_state_dict"])
        if load_cfg is None:  # A run that goes on; a new one averages anew.
            self.averaged = loaded_dict.get(AVERAGED)
        if load_cfg is None or load_cfg.get("optimizer"):
            self.num_samples = loaded_dict.get("num_samples", 0)
        return load_iteration

    def broadcast_parameters(self) -> None:
        """Give every process the parameters of the first one."""
        super().broadcast_parameters()
        if self.amp is not None:
            self.amp.broadcast()

    @staticmethod
    def construct_algorithm(
        obs: TensorDict, env: VecEnv, cfg: dict, device: str
    ) -> PPO:
        """Build the class that `cfg["algorithm"]["class_name"]` names.

        The motion library arrives as an object under `cfg["algorithm"]["motions"]`; it
        leaves the config again, because loggers store the config.
        """
        algorithm = PPO.construct_algorithm(obs, env, cfg, device)
        cfg["algorithm"].pop("motions", None)
        return algorithm


@torch.no_grad()
def average(
    averaged: Mapping[str, torch.Tensor] | None,
    newest: Mapping[str, torch.Tensor],
    share: float,
) -> dict[str, torch.Tensor]:
    """An exponential moving average of weights, which gives the newest this share.

    Counters, which are whole numbers, are the newest ones.
    """
    return {
        name: averaged[name].lerp(value, share)
        if averaged is not None and value.is_floating_point()
        else value.clone()
        for name, value in newest.items()
    }


@torch.no_grad()
def cap_action_std(actor: MLPModel, mean_std: float) -> None:
    """Scale the action std down to a mean, keeping the joints' proportions."""
    std = dict(actor.named_parameters())["distribution.std_param"]
    std.mul_((mean_std / std.mean()).clamp_max(1.0))
