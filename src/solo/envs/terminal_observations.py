"""What robots observe in the last state of an episode, before they are reset.

mjlab resets within the step, so the observation after the last step of an episode is
already that of the next one. This recorder, called just before the reset, computes the
missing one for the robots that are done. It changes nothing: no random number is drawn
from the run's generators, and histories and delays stay as they were.

The result is what the next step would have observed, but for three things:

- Poses and velocities of bodies are one physics step old, as those that rewards and
  terminations use; joints are not.
- What a delay buffer holds is one control step old.
- A term that changes when it is called is asked by its method ``peek(env, env_ids,
  **params)`` instead, which returns the rows of these robots and changes nothing. Depth
  images are those of the last step: rendering one more would cost as much as a step of
  the camera for all robots, and the latency of an episode, 0 to 3 steps, is drawn at
  random anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mjlab.managers.recorder_manager import RecorderTerm
from mjlab.utils.noise import NoiseCfg, NoiseModelCfg
from tensordict import TensorDict

RECORDER = "terminal_observations"
"""Name of the term."""


class TerminalObservations(RecorderTerm):
    """Keeps the last observations of the episodes that ended in the present step."""

    groups: Sequence[str] = ()
    """Groups to observe; none by default."""
    _found: TensorDict | None = None

    def record_pre_reset(self, env_ids: torch.Tensor) -> None:
        """Observe the robots that are about to be reset."""
        if not self.groups:
            return
        with _untouched_generators(env_ids.device):
            found = {group: self._observe(group, env_ids) for group in self.groups}
        self._found = TensorDict(found, batch_size=[len(env_ids)])

    def pop(self) -> TensorDict | None:
        """Observations [robots that are done] of the last step; None if none is."""
        found, self._found = self._found, None
        return found

    def _observe(self, group: str, env_ids: torch.Tensor) -> torch.Tensor:
        """One group, as mjlab's `ObservationManager.compute_group` does it."""
        manager = self._env.observation_manager
        terms = [
            self._observe_term(group, name, env_ids)
            for name in manager.active_terms[group]
        ]
        dim = manager.cfg[group].concatenate_dim
        return torch.cat(terms, dim=dim + 1 if dim >= 0 else dim)

    def _observe_term(
        self, group: str, name: str, env_ids: torch.Tensor
    ) -> torch.Tensor:
        manager = self._env.observation_manager
        cfg = manager.get_term_cfg(group, name)
        if cfg.delay_max_lag > 0:
            delays = manager._group_obs_term_delay_buffer[group][name]
            value = delays.peek()[env_ids]
        else:
            if isinstance(cfg.noise, NoiseModelCfg):  # It has a row for each robot.
                model = manager._group_obs_class_instances[group][name]
                value = model(cfg.func(self._env, **cfg.params).clone())[env_ids]
            else:
                value = self._measure(cfg, env_ids)
            if isinstance(cfg.noise, NoiseCfg):
                value = cfg.noise.apply(value)
            if cfg.clip:
                value = value.clip(*cfg.clip)
            if cfg.scale is not None:
                assert isinstance(cfg.scale, torch.Tensor)  # The manager made it one.
                value = value * cfg.scale
        if cfg.history_length > 0:
            history = manager._group_obs_term_history_buffer[group][name]
            past = history.buffer[env_ids][:, 1:]
            value = torch.cat((past, value.unsqueeze(1)), dim=1)
            if cfg.flatten_history_dim:
                value = value.flatten(1)
        return value

    def _measure(self, cfg: Any, env_ids: torch.Tensor) -> torch.Tensor:
        if hasattr(cfg.func, "peek"):
            return cfg.func.peek(self._env, env_ids, **cfg.params)
        return cfg.func(self._env, **cfg.params)[env_ids]


def _untouched_generators(device: torch.device) -> Any:
    """Draw what is drawn inside from copies of torch's generators."""
    return torch.random.fork_rng([device.index or 0] if device.type == "cuda" else [])
