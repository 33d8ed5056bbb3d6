"""Left-right mirror of observations and actions, for PPO's data augmentation.

A robot that is symmetric about its x-z plane does equally well in a mirrored world: the
mirrored action is right for the mirrored observation. rsl_rl appends both to a batch:

    symmetry_cfg = {"data_augmentation_func": "solo.algorithms.mirror:augment",
                    "use_data_augmentation": True}

Every vector is mirrored by a permutation with signs. Mirroring turns a polar vector
(velocity, force) (x, y, z) into (x, -y, z) and an axial one (angular velocity) into
(-x, y, -z). Which joint is whose partner, and with which sign, is found in the robot's
model: the mirrored axis of rotation must be the partner's. A map is mirrored by turning
its rows round; its coordinates stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import mujoco
import numpy as np
import torch
from rsl_rl.extensions import Symmetry
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch.nn.functional import mse_loss
from typing_extensions import override

from solo.errors import SoloError

ROBOT = "robot"
"""Name of the robot among the entities of a scene."""


@dataclass(frozen=True)
class SignedMap:
    """Mirror of a vector: output i is ``signs[i] * input[source[i]]``."""

    source: tuple[int, ...]
    signs: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.source)

    def __call__(self, vector: torch.Tensor) -> torch.Tensor:
        """Mirror the last axis of a tensor [..., n]."""
        if vector.shape[-1] != len(self):
            raise ValueError(
                f"Vector has {vector.shape[-1]} entries but its mirror {len(self)}. "
                "Check that the table of terms matches the environment."
            )
        source = torch.tensor(self.source, device=vector.device)
        return vector.index_select(-1, source) * vector.new_tensor(self.signs)


@dataclass(frozen=True)
class Flip:
    """Mirror of a map or an image: the order along one axis is reversed."""

    axis: int

    def __call__(self, grid: torch.Tensor) -> torch.Tensor:
        """Mirror a tensor [..., rows, columns]."""
        return grid.flip(self.axis)


def join(maps: Iterable[SignedMap]) -> SignedMap:
    """Mirror of vectors that are written one after the other."""
    source: list[int] = []
    signs: list[float] = []
    for part in maps:
        source += [len(source) + i for i in part.source]
        signs += part.signs
    return SignedMap(tuple(source), tuple(signs))


def swap_sides(one: SignedMap) -> SignedMap:
    """Mirror of a pair, left then right, of which each is mirrored by ``one``."""
    left = tuple(len(one) + i for i in one.source)
    return SignedMap(left + one.source, one.signs * 2)


SCALAR = SignedMap((0,), (1.0,))
POLAR = SignedMap((0, 1, 2), (1.0, -1.0, 1.0))
AXIAL = SignedMap((0, 1, 2), (-1.0, 1.0, -1.0))
TWIST = SignedMap((0, 1, 2), (1.0, -1.0, -1.0))

TERMS: dict[str, SignedMap | Flip] = {
    "base_ang_vel": AXIAL,
    "base_lin_vel": POLAR,
    "projected_gravity": POLAR,
    "command": TWIST,
    "feet_contact": swap_sides(POLAR),
    "feet_air_time": swap_sides(SCALAR),
    "height_map": Flip(axis=-2),
    "depth": Flip(axis=-1),
}
"""Observation term to its mirror; extend it for an environment with other terms.

Forces in the world frame are polar vectors too: the mirror plane is then the world's
x-z plane, which makes no difference to anything seen from the base.
"""

JOINT_TERMS = {"joint_pos", "joint_vel", "last_action"}
"""Observation terms that have one entry per joint of the policy."""


def joint_mirror(
    model: mujoco.MjModel, joint_names: Sequence[str], tolerance_m: float = 1e-3
) -> SignedMap:
    """Find each joint's mirror partner in the zero pose of a model with a free base.

    Mirroring turns a rotation by q about axis a into one by q about (-a_x, a_y, -a_z),
    which is the partner's axis or its opposite. The partner may be ``tolerance_m`` from
    the mirrored anchor.

    Raises:
        SoloError: A joint has no partner: the robot is not symmetric.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    joints = [model.joint(name).id for name in joint_names]
    base = model.body_rootid[model.jnt_bodyid[joints[0]]]
    rotation = data.xmat[base].reshape(3, 3)  # Base to world.
    anchors = (data.xanchor[joints] - data.xpos[base]) @ rotation
    axes = data.xaxis[joints] @ rotation
    distance = np.linalg.norm(anchors[:, None] - anchors * [1, -1, 1], axis=-1)
    cosine = axes @ (axes * [-1, 1, -1]).T  # [joint, mirrored joint]
    is_partner = (distance < tolerance_m) & (np.abs(cosine) > 0.999)
    for name, candidates in zip(joint_names, is_partner, strict=True):
        if candidates.sum() != 1:
            raise SoloError(
                f"Joint {name!r} has {candidates.sum()} mirror partners in the model; "
                "it must be 1. Train without mirror augmentation, or correct the model."
            )
    partner = is_partner.argmax(axis=1)
    signs = np.sign(cosine[np.arange(len(joints)), partner])
    return SignedMap(tuple(partner.tolist()), tuple(signs.tolist()))


@dataclass(frozen=True)
class MirrorMaps:
    """Mirrors of all observation groups and of the action."""

    groups: Mapping[str, SignedMap | Flip]
    actions: SignedMap

    @staticmethod
    def of_terms(groups: Mapping[str, Sequence[str]], joints: SignedMap) -> MirrorMaps:
        """Look the terms of each group up; joints are mirrored as ``joints`` says.

        Raises:
            SoloError: A term has no entry in `TERMS` or `JOINT_TERMS`.
        """
        table = TERMS | dict.fromkeys(JOINT_TERMS, joints)
        mirrors: dict[str, SignedMap | Flip] = {}
        for group, names in groups.items():
            unknown = [name for name in names if name not in table]
            if unknown:
                raise SoloError(
                    f"Observation term {unknown[0]!r} of group {group!r} has no "
                    f"mirror. Known: {', '.join(sorted(table))}. Add it to "
                    "solo.algorithms.mirror.TERMS, or train without mirroring."
                )
            parts = [table[name] for name in names]
            vectors = [part for part in parts if isinstance(part, SignedMap)]
            if len(vectors) == len(parts):
                mirrors[group] = join(vectors)
            elif len(parts) == 1:
                mirrors[group] = parts[0]
            else:
                raise SoloError(
                    f"Observation group {group!r} joins a map to other terms: "
                    f"{', '.join(names)}. Give the map a group of its own."
                )
        return MirrorMaps(mirrors, joints)

    def observations(self, obs: TensorDict) -> TensorDict:
        """Mirror every group [B, ...]."""
        mirrored = {
            name: mirror(obs[name])
            for name, mirror in self.groups.items()
            if name in obs
        }
        return TensorDict(mirrored, batch_size=obs.batch_size, device=obs.device)


def mirror_of_env(env: Any) -> MirrorMaps:
    """Mirror maps of an environment of ours, from its model and observation terms.

    Raises:
        SoloError: Robot or default pose are not symmetric, or a term is unknown.
    """
    base_env = env.unwrapped
    robot = base_env.scene[ROBOT]
    names = [f"{ROBOT}/{name}" for name in robot.joint_names]
    joints = joint_mirror(base_env.sim.mj_model, names)
    default = robot.data.default_joint_pos[0].cpu()
    check_pose(joints, default)
    return MirrorMaps.of_terms(base_env.observation_manager.active_terms, joints)


def check_pose(joints: SignedMap, default: torch.Tensor) -> None:
    """Refuse a default pose [joints] that is not its own mirror image (SoloError)."""
    if not torch.allclose(joints(default), default, atol=1e-4):
        raise SoloError(
            "The robot's default pose is not its own mirror image, so joint positions "
            "relative to it cannot be mirrored. Correct the pose, or train without."
        )


_MIRRORS: WeakKeyDictionary[Any, MirrorMaps] = WeakKeyDictionary()


def augment(
    env: Any, obs: TensorDict | None, actions: torch.Tensor | None
) -> tuple[TensorDict | None, torch.Tensor | None]:
    """Append the mirror image to a batch; rsl_rl's ``data_augmentation_func``.

    Returns observations and actions [2 B], if there are: the originals, then their
    images.
    """
    if env not in _MIRRORS:
        _MIRRORS[env] = mirror_of_env(env)
    maps = _MIRRORS[env]
    if obs is not None:
        obs = torch.cat([obs, maps.observations(obs)])  # type: ignore[arg-type] - Stub.
    if actions is not None:
        actions = torch.cat([actions, maps.actions(actions)])
    return obs, actions


class LeanSymmetry(Symmetry):
    """rsl_rl's symmetry extension at less than half of its cost.

    rsl_rl appends the mirror image of every sample, and then runs the actor once more
    on the augmented mini-batch, with gradient, only to log how symmetric it is. Here
    every second sample gets an image, and the log uses the output that the actor has
    just computed for the same mini-batch.
    """

    @override
    def augment_batch(
        self, batch: RolloutStorage.Batch, original_batch_size: int
    ) -> None:
        """Append the images of the first half: mini-batches are shuffled already."""
        if self.use_mirror_loss or not self.use_data_augmentation:
            super().augment_batch(batch, original_batch_size)
            return
        half = original_batch_size // 2
        observations, actions = batch.observations, batch.actions
        assert observations is not None
        assert actions is not None
        both, both_actions = self.data_augmentation_func(
            env=self.env, obs=observations[:half], actions=actions[:half]
        )
        images: Any = torch.cat((observations, both[half:]))  # Of a TensorDict.
        batch.observations = images
        batch.actions = torch.cat((actions, both_actions[half:]))
        for name in ("old_actions_log_prob", "values", "advantages", "returns"):
            values = getattr(batch, name)
            setattr(batch, name, torch.cat((values, values[:half])))

    @override
    def compute_loss(
        self, actor: MLPModel, batch: RolloutStorage.Batch, original_batch_size: int
    ) -> torch.Tensor:
        """Squared distance of the mirrored states' actions to the mirrored actions."""
        if self.use_mirror_loss or not self.use_data_augmentation:
            return super().compute_loss(actor, batch, original_batch_size)
        half = original_batch_size // 2
        mean = actor.output_mean.detach()
        _, mirrored = self.data_augmentation_func(
            env=self.env, obs=None, actions=mean[:half]
        )
        return mse_loss(mean[original_batch_size:], mirrored[half:])
