"""A scripted environment: what happens to each rollout is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from solo.evaluation.protocols import Start
from solo.evaluation.rollout import Policy, StepReport

WASTE = 1e9
"""What slots without a rollout report; it must never reach a result."""


@dataclass(frozen=True)
class Script:
    """Where a robot is after each step, and how the last step ends."""

    path: tuple[tuple[float, float], ...]
    """x and y after each step; the last one holds on."""
    falls_at: int | None = None
    diverges_at: int | None = None


def make_start(index: int) -> Start:
    return Start(index, index % 3, np.zeros(2), np.ones(2), 0.5, (0, index))


class FakeEnv:
    """Plays scripts; the measure ``step`` is the number of the step, from 1."""

    step_s = 0.1
    half_patch_m = 4.0

    def __init__(self, scripts: Sequence[Script], num_slots: int, lanes: int = 1):
        self.scripts, self.num_slots, self.lanes = scripts, num_slots, lanes
        self.playing: list[int | None] = [None] * num_slots
        self.taken = [0] * num_slots
        self.begun: list[tuple[int, int]] = []

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        for slot, start in zip(slots, starts, strict=True):
            self.playing[slot], self.taken[slot] = start.index, 0
            self.begun.append((slot, start.index))

    def observations(self) -> list[int]:
        return self.taken

    def step(self, actions: torch.Tensor) -> StepReport:
        assert actions.shape == (self.num_slots, 1)
        position = np.zeros((self.num_slots, 2))
        fallen = np.zeros(self.num_slots, dtype=bool)
        diverged = np.zeros(self.num_slots, dtype=bool)
        measure = np.full(self.num_slots, WASTE)
        for slot, index in enumerate(self.playing):
            if index is None:
                position[slot], fallen[slot] = (100.0, 0.0), True
                continue
            script, step = self.scripts[index], self.taken[slot]
            self.taken[slot] += 1
            position[slot] = script.path[min(step, len(script.path) - 1)]
            fallen[slot] = script.falls_at == step + 1
            diverged[slot] = script.diverges_at == step + 1
            # After the end there is rubbish, as after a reset in place.
            measure[slot] = step + 1
        return StepReport(position, fallen, diverged, {"step": measure})


class FakePolicy(Policy):
    """Measures ``seen``, the number of steps before the one it acts in."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.busy: set[int] = set()
        self.asked = 0

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        self.busy |= set(slots)

    def end(self, slots: Sequence[int]) -> None:
        self.busy -= set(slots)

    def act(self, observations: list[int]):
        self.asked += len(self.busy)
        seen = np.array(observations, dtype=float)
        return torch.zeros(self.num_slots, 1), {"seen": seen}
