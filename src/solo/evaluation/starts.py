"""How each rollout begins, drawn from a generator of its own."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from solo.evaluation.protocols import Cell, Protocol


@dataclass(frozen=True, eq=False)
class Start:
    """State and command at the start of one rollout."""

    index: int
    """Number of the rollout within its job."""
    patch: int
    """Row of the scene."""
    offset_m: np.ndarray
    """From the origin of the patch, x and y, [2]."""
    joint_scale: np.ndarray
    """Of the default pose, [joints]."""
    forward_m_s: float
    """Forward command."""
    seed: tuple[int, ...]
    """Seed of whatever a policy draws in this rollout."""


def draw_start(protocol: Protocol, cell: Cell, index: int, num_joints: int) -> Start:
    """Draw a start from the protocol's seed, the terrain's name and the index alone.

    Every policy and every difficulty of a terrain gets the same starts, so differences
    between them are not differences of luck.
    """
    seed = (protocol.seed, zlib.crc32(cell.terrain.encode()), index)
    rng = np.random.default_rng(seed)
    limit = protocol.start.offset_m
    return Start(
        index=index,
        patch=index % protocol.num_patches,
        offset_m=rng.uniform(-limit, limit, size=2),
        forward_m_s=float(rng.uniform(*protocol.forward_m_s)),
        joint_scale=rng.uniform(*protocol.start.joint_scale, size=num_joints),
        seed=seed,
    )


def draw_starts(protocol: Protocol, cell: Cell, num_joints: int) -> list[Start]:
    """The starts of all rollouts of a job."""
    return [draw_start(protocol, cell, i, num_joints) for i in range(protocol.rollouts)]
