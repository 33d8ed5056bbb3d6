"""From raw sensors to what the student sees: the reconstructor in front of a policy.

The perceptive student has no height map. A reconstructor estimates map and velocity
from depth and proprioception, and the estimates take the places of the privileged
groups. Policies get numbers, never a graph: nothing here keeps a gradient.

The Query Reconstructor encodes one image per step and keeps the visual tokens of older
ones. Learning changes its weights between rollouts, and tokens of the old weights would
accompany the first 12 of 24 steps. So the images behind the tokens are kept as well,
and the tokens are made anew at the first step after a change: estimates then equal
those of the whole window, which is what the reconstructor is trained on and what a
robot will run. That costs 13 passes of the image encoder per rollout of 24 steps, where
72 are saved. The recurrent baselines start from the window in each step, as they are
trained; those with a memory of the episode go on with it, whatever weights made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict

from solo.reconstruction.networks.interface import (
    Outputs,
    Reconstructor,
    State,
)
from solo.reconstruction.networks.query_reconstructor import QueryReconstructor

DEPTH = "depth"
"""Group of the environment: depth images [B, T, H, W]."""
WINDOW = "proprioception_window"
"""Group of the environment: proprioception [B, T, D], newest last."""
TRUE_MAP = "height_map"
"""Privileged group: height map [B, Y, X]."""
TRUE_VELOCITY = "base_velocity"
"""Privileged group: velocity of the base [B, 3]."""
PROPRIOCEPTION = "proprioception"
"""Group for the student: the newest frame of the window [B, D]."""
VELOCITY = "reconstructed_velocity"
"""Group for the student: estimated velocity [B, 3]."""
BLURRED_VELOCITY = "blurred_velocity"
"""Group of the environment, if there: the velocity with an error [B, 3]."""
MAP = "reconstructed_map"
"""Group for the student: estimated height map [B, Y, X]."""

CPU_CHUNK = 128
"""Environments per pass of a reconstructor on a CPU.

What one layer hands to the next then stays in the caches. 64 and 32 take longer."""

STUDENT_GROUPS = (PROPRIOCEPTION, VELOCITY, MAP)
"""What the perceptive student sees, in the order in which stage 2 had its twins."""


def reconstruct(
    model: Reconstructor,
    depth: torch.Tensor,
    window: torch.Tensor,
    state: State | None = None,
) -> tuple[Outputs, State | None]:
    """Outputs and new state of many environments; see `Reconstructor.forward`."""
    size = CPU_CHUNK if depth.device.type == "cpu" else len(depth)
    if len(depth) <= size:
        return model(depth, window, state)
    rows = [slice(i, i + size) for i in range(0, len(depth), size)]
    states = [None if state is None else tuple(s[r] for s in state) for r in rows]
    parts = [model(depth[r], window[r], s) for r, s in zip(rows, states, strict=True)]
    outputs = {k: torch.cat([p[0][k] for p in parts]) for k in parts[0][0]}
    if parts[0][1] is None:
        return outputs, None
    return outputs, tuple(
        torch.cat(s) for s in zip(*(p[1] for p in parts), strict=True)
    )


class TokenCache:
    """Streaming state of a Query Reconstructor that survives changes of its weights."""

    def __init__(
        self, model: QueryReconstructor, num_envs: int, device: torch.device | str
    ) -> None:
        """Start with dark images."""
        self.model = model
        length = model.state_shapes()[0][0]
        shape = (length, num_envs, *model.io.depth_shape)
        self._images = torch.zeros(shape, device=device)
        self._oldest = 0
        self._state: State | None = None

    def forget_tokens(self) -> None:
        """The weights have changed: encode the images again when they are needed."""
        self._state = None

    def begin(self, image: torch.Tensor) -> None:
        """Take the newest images [B, H, W] of a moment that no step led to.

        Where the image is not the one of the last step, an episode has begun.
        """
        last = self._images[self._oldest - 1]
        is_new = (image != last).flatten(1).any(dim=1)
        self._images[:, is_new] = image[is_new]
        self.forget_tokens()

    def step(
        self, depth: torch.Tensor, window: torch.Tensor, is_new: torch.Tensor
    ) -> Outputs:
        """Reconstruct after a control step, with which some episodes have begun [B].

        See `Reconstructor.forward`.
        """
        state = self._encode_all() if self._state is None else self._state
        state = self.model.reset_state(state, is_new)
        outputs, self._state = reconstruct(self.model, depth, window, state)
        image = depth[:, -1]
        self._images[self._oldest].copy_(image)
        self._oldest = (self._oldest + 1) % len(self._images)
        self._images[:, is_new] = image[is_new]
        return outputs

    def state_dict(self) -> dict[str, Any]:
        """The images; their tokens follow from them."""
        return {"images": self._images.clone(), "oldest": self._oldest}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put saved images of the same environments back."""
        self._images.copy_(state["images"])
        self._oldest = state["oldest"]
        self.forget_tokens()

    def _encode_all(self) -> State:
        """Tokens of all images [B, length, N, D], oldest first."""
        ordered = self._images.roll(-self._oldest, dims=0)
        tokens = torch.stack([self.model.encode_frame(i) for i in ordered], dim=1)
        return tokens, torch.ones(tokens.shape[0], device=tokens.device)


class EpisodeMemory:
    """State of a reconstructor whose memory lasts as long as the episode."""

    def __init__(
        self, model: Reconstructor, num_envs: int, device: torch.device | str
    ) -> None:
        """Begin with nothing seen."""
        self.model = model
        self._state = model.initial_state(num_envs, device)
        self.before = self._state
        """State before the newest step."""
        self.is_new = torch.ones(num_envs, dtype=torch.bool, device=device)
        """Where an episode began with the newest step [B]."""
        self._image = torch.zeros(num_envs, *model.io.depth_shape, device=device)

    def forget_tokens(self) -> None:
        """The weights have changed: what was seen cannot be seen again, so it stays."""

    def step(
        self, depth: torch.Tensor, window: torch.Tensor, is_new: torch.Tensor
    ) -> Outputs:
        """Reconstruct after a control step; see `TokenCache.step`."""
        before = self.model.reset_state(self._state, is_new)
        outputs, state = reconstruct(self.model, depth, window, before)
        assert before is not None
        assert state is not None
        self.before, self._state, self.is_new = before, state, is_new
        self._image = depth[:, -1]
        return outputs

    def begin(self, depth: torch.Tensor, window: torch.Tensor) -> Outputs:
        """Reconstruct at a moment that no step led to.

        Where the image is that of the last step, it is the same moment again; else an
        episode has begun.
        """
        is_other = (depth[:, -1] != self._image).flatten(1).any(dim=1)
        self._state = self.before
        return self.step(depth, window, self.is_new | is_other)

    def state_dict(self) -> dict[str, Any]:
        """The memory before and after the newest step."""
        return {
            "before": [part.clone() for part in self.before],
            "state": [part.clone() for part in self._state],
            "is_new": self.is_new.clone(),
            "image": self._image.clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put the memory of the same environments back."""
        self.before, self._state = tuple(state["before"]), tuple(state["state"])
        self.is_new, self._image = state["is_new"], state["image"]


class Perceiver:
    """Puts a reconstructor's estimates where a policy expects them."""

    def __init__(
        self,
        reconstructor: Reconstructor,
        num_envs: int,
        device: torch.device | str,
        streaming: bool = True,
    ) -> None:
        """Make it for a number of environments.

        If streaming, visual tokens are used again where the network can. A network with
        a memory of the episode is always streamed.
        """
        self.reconstructor = reconstructor
        self.cache: TokenCache | EpisodeMemory | None = None
        if reconstructor.episode_memory:
            self.cache = EpisodeMemory(reconstructor, num_envs, device)
        elif streaming and isinstance(reconstructor, QueryReconstructor):
            self.cache = TokenCache(reconstructor, num_envs, device)

    @property
    def memory(self) -> EpisodeMemory | None:
        """The memory of the episodes, if the network has one."""
        return self.cache if isinstance(self.cache, EpisodeMemory) else None

    @torch.no_grad()
    def estimate(self, obs: TensorDict, dones: torch.Tensor | None = None) -> Outputs:
        """Heights [B, Y, X] and velocity [B, 3].

        ``dones`` is non-zero where the step before ended an episode [B], None if no
        step led here: at the start, or after all environments were reset.
        """
        depth, window = obs[DEPTH], obs[WINDOW]
        if self.cache is not None and dones is not None:
            return self.cache.step(depth, window, dones.flatten() > 0)
        if isinstance(self.cache, EpisodeMemory):
            return self.cache.begin(depth, window)
        if self.cache is not None:
            self.cache.begin(depth[:, -1])
        return reconstruct(self.reconstructor, depth, window)[0]

    def compose(self, obs: TensorDict, estimate: Outputs | None) -> TensorDict:
        """Observations with the student's groups and without the raw sensors.

        Without an estimate, what the student of stage 2 sees is in its place.
        """
        if estimate is None:
            height = obs[TRUE_MAP]
            velocity = obs[
                BLURRED_VELOCITY if BLURRED_VELOCITY in obs else TRUE_VELOCITY
            ]
        else:
            height, velocity = estimate["height"], estimate["velocity"]
        seen = obs.exclude(DEPTH, WINDOW)
        seen[PROPRIOCEPTION] = obs[WINDOW][:, -1]
        seen[VELOCITY], seen[MAP] = velocity.detach(), height.detach()
        return seen

    def observe(self, obs: TensorDict, dones: torch.Tensor | None = None) -> TensorDict:
        """What the student sees; see `estimate` for the arguments."""
        return self.compose(obs, self.estimate(obs, dones))

    @torch.no_grad()
    def observe_end(self, obs: TensorDict, estimates: bool) -> TensorDict:
        """What the student sees in last states of episodes; nothing is kept of them.

        ``estimates`` tells whether it acts on estimates yet; see `compose`.
        """
        estimate = None
        if estimates:
            estimate = reconstruct(self.reconstructor, obs[DEPTH], obs[WINDOW])[0]
        return self.compose(obs, estimate)

    def weights_changed(self) -> None:
        """Tell that the reconstructor has learned or was loaded."""
        if self.cache is not None:
            self.cache.forget_tokens()
