"""Does the student look, and where does it differ from its teacher?

A student can learn to walk without eyes and still follow the teacher on average. The
checks tell: how much worse estimate and action become on the same states when the depth
images are black or those of another robot, and how large gap and error are on each
terrain.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from tensordict import TensorDict

from solo.algorithms.perception import (
    DEPTH,
    TRUE_MAP,
    TRUE_VELOCITY,
    WINDOW,
    Perceiver,
    kept_cells,
)
from solo.algorithms.terrain_means import Terrain, mean_per_terrain
from solo.networks.reconstruction.interface import Outputs, ReconstructionIoCfg

DEPTH_CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "normal": lambda depth: depth,
    "zeroed": torch.zeros_like,
    # Neighbours stand on the same terrain; those half the number away do not.
    "shuffled": lambda depth: depth.roll(len(depth) // 2, dims=0),
}
"""What may be done to the images [B, T, H, W]; 0 means that nothing was measured."""


def map_error_cm(
    estimate: Outputs, height_map: torch.Tensor, io: ReconstructionIoCfg
) -> torch.Tensor:
    """Mean absolute error over the reconstructed cells [B], centimetres."""
    error = estimate["height"] - kept_cells(height_map, io)
    return 100.0 * error.abs().mean(dim=(-2, -1))


class RolloutErrors:
    """How wrong the estimates of a rollout were, before anything was learned of it."""

    def __init__(self) -> None:
        self._height_cm: list[torch.Tensor] = []
        self._velocity: list[torch.Tensor] = []

    def add(self, estimate: Outputs, obs: TensorDict, io: ReconstructionIoCfg) -> None:
        """Compare the estimates of a step with the privileged groups."""
        self._height_cm.append(map_error_cm(estimate, obs[TRUE_MAP], io))
        velocity_error = estimate["velocity"] - obs[TRUE_VELOCITY]
        self._velocity.append(velocity_error.abs().sum(dim=-1))

    def pop_means(self, terrain: Terrain | None) -> dict[str, float]:
        """Means over the rollout, of the height on each terrain as well; start anew.

        Nothing if nothing was added.

        ``recon_height_cm`` is the mean over cells, centimetres, ``recon_velocity`` the
        sum over the axes, m/s.
        """
        if not self._height_cm:
            return {}
        height_cm, velocity = map(torch.stack, (self._height_cm, self._velocity))
        self._height_cm, self._velocity = [], []
        means = {
            "recon_height_cm": height_cm.mean().item(),
            "recon_velocity": velocity.mean().item(),
        }
        for name, mean in mean_per_terrain(height_cm, terrain).items():
            means[f"recon_height_cm_on/{name}"] = mean
        return means


@torch.no_grad()
def depth_ablation(
    perceiver: Perceiver, obs: TensorDict, gap: Callable[[TensorDict], torch.Tensor]
) -> dict[str, float]:
    """What becomes of estimates and actions when the images say nothing.

    Each window is judged for itself, from the student's present memory of its body.

    Args:
        perceiver: The reconstructor; its state is neither used nor changed.
        obs: Observations of the environment.
        gap: Distance of the student's action to the teacher's [B] for what the student
            sees; it must not change a hidden state.

    Returns:
        For "normal", "zeroed" and "shuffled" images ``depth_NAME_gap`` and
        ``depth_NAME_map_cm``.
    """
    model, result = perceiver.reconstructor, {}
    for name, change in DEPTH_CHANGES.items():
        changed = obs.clone(recurse=False)
        changed[DEPTH] = change(obs[DEPTH])
        estimate, _ = model(changed[DEPTH], changed[WINDOW])
        seen = perceiver.compose(changed, estimate)
        error = map_error_cm(estimate, obs[TRUE_MAP], model.io)
        result[f"depth_{name}_gap"] = gap(seen).mean().item()
        result[f"depth_{name}_map_cm"] = error.mean().item()
    return result
