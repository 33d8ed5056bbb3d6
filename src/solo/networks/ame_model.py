"""Teacher and critic: a map encoder joined to the vectors it was asked with.

                         +-------------------- vector --------------------+
    1-D groups -> normalise -> query --+                                  |
                                       +-> AME encoder -> features --> concatenate
    map group  ------------------------+                                  |
                                                                    MLP -> output

Both are the same class in rsl_rl's config: the teacher has a distribution and the
paper's head [256, 256, 128], the critic has no distribution and its size is not stated;
[512, 256, 128], the student's, chosen because it sees more than the teacher. AME shares
its encoder between actor and critic; here each has its own, because the paper moves the
teacher's encoder into the student, where it must serve actions alone. With a mirror the
model is symmetric by construction, see `solo.networks.symmetry`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from rsl_rl.models import MLPModel
from rsl_rl.modules import HiddenState
from rsl_rl.utils import unpad_trajectories
from tensordict import TensorDict
from torch import nn

from solo.networks.ame import AmeCfg, AmeEncoder
from solo.networks.export import FeedForwardExport
from solo.networks.foot_view import FootView, FootViewCfg
from solo.networks.symmetry import Mirror
from solo.sensors.height_map import HeightMapCfg


class AmeModel(MLPModel):
    """rsl_rl model with one map group [B, Y, X] and any number of vector groups."""

    def __init__(
        self,
        obs: TensorDict,
        obs_groups: dict[str, list[str]],
        obs_set: str,
        output_dim: int,
        hidden_dims: tuple[int, ...] | list[int] = (256, 256, 128),
        activation: str = "elu",
        obs_normalization: bool = True,
        distribution_cfg: Mapping[str, Any] | None = None,
        ame_cfg: AmeCfg | Mapping[str, Any] | None = None,
        height_map_cfg: HeightMapCfg | Mapping[str, Any] | None = None,
        mirror: Mapping[str, Any] | None = None,
        foot_view_cfg: FootViewCfg | Mapping[str, Any] | None = None,
    ) -> None:
        """Create the model as rsl_rl's algorithms do.

        Args:
            obs: Observations, for the shapes of the groups.
            obs_groups: Observation set to the names of its groups.
            obs_set: The set to use: "actor" or "critic".
            output_dim: Number of outputs: actions, or 1 for a value.
            hidden_dims: Hidden layers of the head; the paper's teacher by default.
            activation: Activation of the head.
            obs_normalization: Normalise the vectors by running mean and deviation.
            distribution_cfg: rsl_rl's config of the output distribution, or None.
            ame_cfg: Sizes of the map encoder; the paper's by default.
            height_map_cfg: Window of the map; the default of `HeightMapCfg` if None.
            mirror: Arguments of `Mirror` for a symmetric model, or None.
            foot_view_cfg: The legs, to see the ground around the feet, or None.
        """
        # Plain values may precede nn.Module's own set-up; rsl_rl's sizes depend on it.
        self.ame_cfg = AmeCfg.of(ame_cfg)
        self.height_map_cfg = HeightMapCfg.of(height_map_cfg)
        self.foot_view_cfg = (
            None if foot_view_cfg is None else FootViewCfg.of(foot_view_cfg)
        )
        super().__init__(
            obs,
            obs_groups,
            obs_set,
            output_dim,
            hidden_dims,
            activation,
            obs_normalization,
            # rsl_rl removes the class name from the dict it is given.
            None if distribution_cfg is None else dict(distribution_cfg),
        )
        self.encoder = AmeEncoder(self.ame_cfg, self.height_map_cfg, self.obs_dim)
        self.mirror = None if mirror is None else Mirror(**mirror)
        self.foot_view: FootView | None = None
        if self.foot_view_cfg is not None:
            self.foot_view = FootView(
                self.foot_view_cfg,
                self.height_map_cfg,
                self.ame_cfg.unit_m,
                self.ame_cfg.base_height_m,
                self.ame_cfg.height_limit_m,
            )

    def forward(
        self,
        obs: TensorDict,
        masks: torch.Tensor | None = None,
        hidden_state: HiddenState = None,
        stochastic_output: bool = False,
    ) -> torch.Tensor:
        """Compute the output [..., output_dim]; see `rsl_rl.models.MLPModel.forward`.

        Groups of other models (images, say) are put aside first: they would be unpadded
        along with ours. Outputs of mirror images are folded into those of the states.
        """
        own = obs.select(*self.obs_groups, self.map_group)
        if masks is not None and not self.is_recurrent:
            own = unpad_trajectories(own, masks)
        output = self.mlp(self.get_latent(own, masks, hidden_state))
        if self.mirror is not None:
            output = self.mirror.fold(output)
        if self.distribution is None:
            return output
        if stochastic_output:
            self.distribution.update(output)
            return self.distribution.sample()
        return self.distribution.deterministic_output(output)

    def get_latent(
        self,
        obs: TensorDict,
        masks: torch.Tensor | None = None,
        hidden_state: HiddenState = None,
    ) -> torch.Tensor:
        """Input of the head [..., D + vectors], from observations without padding.

        The last but one axis of a symmetric model's has the images after the states.
        """
        vector, height_map = self.joined_vector(obs), obs[self.map_group]
        if self.mirror is not None:
            vector, height_map = self.mirror.both(vector, height_map)
        return self._describe(vector, self.obs_normalizer(vector), height_map)

    def _describe(
        self, raw: torch.Tensor, vector: torch.Tensor, height_map: torch.Tensor
    ) -> torch.Tensor:
        """Features of the map, the vector and, with a foot view, those of the feet.

        The foot view takes the vector groups as they are, ``raw``.
        """
        features, _ = self._encode(vector, height_map)
        if self.foot_view is None:
            return torch.cat([features, vector], dim=-1)
        feet = self.foot_view(raw.flatten(0, -2), height_map.flatten(0, -3))
        feet = feet.unflatten(0, vector.shape[:-1])
        return torch.cat([features, vector, feet], dim=-1)

    def normalised_vector(self, obs: TensorDict) -> torch.Tensor:
        """All vector groups in order, normalised [..., obs_dim]."""
        return self.obs_normalizer(self.joined_vector(obs))

    def joined_vector(self, obs: TensorDict) -> torch.Tensor:
        """All vector groups in order, as they are [..., obs_dim]."""
        return torch.cat([obs[group] for group in self.obs_groups], dim=-1)

    def attention(self, obs: TensorDict) -> torch.Tensor:
        """Where the model looks: weights [..., heads, Y', X'] of the kept cells."""
        return self._encode(self.normalised_vector(obs), obs[self.map_group])[1]

    def as_jit(self) -> nn.Module:
        """Module for ``torch.jit.script``: (vectors, map) to mean output."""
        return FeedForwardExport(self)

    def as_onnx(self, verbose: bool = False) -> nn.Module:
        """Module for ``torch.onnx.export``: (vectors, map) to mean output."""
        return FeedForwardExport(self, verbose)

    def _encode(
        self, vector: torch.Tensor, height_map: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Run the encoder over any number of leading dimensions (time, envs)."""
        features, weights = self.encoder(
            vector.flatten(0, -2), height_map.flatten(0, -3)
        )
        lead = vector.shape[:-1]
        return features.unflatten(0, lead), weights.unflatten(0, lead)

    def _get_obs_dim(
        self, obs: TensorDict, obs_groups: dict[str, list[str]], obs_set: str
    ) -> tuple[list[str], int]:
        """Split the groups of the set into the one map and the vectors."""
        self.map_group, vectors = split_map_group(obs, obs_groups[obs_set], obs_set)
        found = tuple(obs[self.map_group].shape[1:])
        expected = self.height_map_cfg.cells
        if found != expected:
            raise ValueError(
                f"Group {self.map_group!r} is a map of {found} cells (y, x) but "
                f"height_map_cfg has {expected}. Give the model the map config of the "
                "environment."
            )
        self.group_dims = {group: int(obs[group].shape[1]) for group in vectors}
        return vectors, sum(self.group_dims.values())

    def _get_latent_dim(self) -> int:
        """Size of the head's input."""
        feet = 0 if self.foot_view_cfg is None else 2 * self.foot_view_cfg.features
        return self.ame_cfg.dim + self.obs_dim + feet


def split_map_group(
    obs: TensorDict, groups: Sequence[str], obs_set: str
) -> tuple[str, list[str]]:
    """The one map group [B, Y, X] of a set, and its vector groups [B, n] in order."""
    maps = [group for group in groups if obs[group].ndim == 3]
    vectors = [group for group in groups if obs[group].ndim == 2]
    if len(maps) != 1 or len(maps) + len(vectors) != len(groups) or not vectors:
        shapes = {group: tuple(obs[group].shape) for group in groups}
        raise ValueError(
            f"Observation set {obs_set!r} has groups {shapes}; the model needs one map "
            "[B, Y, X] and at least one vector [B, n]."
        )
    return maps[0], vectors


@torch.no_grad()
def copy_matching(student: AmeModel, teacher: AmeModel) -> list[str]:
    """Copy the shape-compatible encoder parameters of a teacher into a student.

    Action head, memory and action noise of the student stay as they are. The normaliser
    is copied where both models see the same quantities in the same order, because the
    query was learned on vectors normalised so; it takes the teacher's sample count
    along, which keeps it from moving away from under the query.

    Returns the names of the student's parameters and buffers that now equal the
    teacher's.
    """
    pairs = _same_shape(student.encoder, teacher.encoder, "encoder")
    if student.foot_view is not None and teacher.foot_view is not None:
        pairs |= _same_shape(student.foot_view, teacher.foot_view, "foot_view")
    if _quantities(student) == _quantities(teacher):
        pairs |= _same_shape(
            student.obs_normalizer, teacher.obs_normalizer, "obs_normalizer"
        )
    for target, source in pairs.values():
        target.copy_(source)
    return list(pairs)


def _same_shape(
    target: torch.nn.Module, source: torch.nn.Module, prefix: str
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """State entries of two modules that agree in name and shape."""
    values = source.state_dict()
    return {
        f"{prefix}.{name}": (value, values[name])
        for name, value in target.state_dict().items()
        if name in values and values[name].shape == value.shape
    }


def _quantities(model: AmeModel) -> list[tuple[str, int]]:
    """Vector groups and sizes; the teacher's groups are the clean twins of others."""
    return [
        (group.removeprefix("teacher_"), size)
        for group, size in model.group_dims.items()
    ]
