"""The last seconds of rollouts that failed, to be looked at later.

`RecordedEnv` stands between the loop and an environment and remembers the last states
of every slot. Of each job the failures with the lowest numbers are kept, whatever order
they happened in, so that the batch size does not decide which. A recording holds the
ground around the motion as numbers, so patches and strips are drawn alike, without
being generated again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from solo.envs.grid_terrain import grid_terrain
from solo.envs.obstacle import obstacle_boxes
from solo.evaluation.conditions import ConditionEnv
from solo.evaluation.protocols import EvalCell, Start
from solo.evaluation.rollout import StepReport
from solo.evaluation.sim_env import SimEnv
from solo.gl import NoGraphicsError, has_gl
from solo.pictures.failures import Failure, write_pictures, write_recording
from solo.results import Outcome, Rollout
from solo.terrains.strips.strip import cut_out

JobEnv = SimEnv | ConditionEnv
"""An environment of a job."""

FOLDER = "failures"
"""Folder of the recordings, beside that of the jobs."""
NUM_FAILURES = 3
"""Recordings of a job."""
LAST_S = 3.0
"""Length of a recording."""
RATE_HZ = 10.0
"""States per second of a recording."""
REACH_M = 4.0
"""How far around the robot the ground is kept."""

_NO_BOXES = np.zeros((0, 3))


class RecordedEnv:
    """An environment that remembers; see `solo.evaluation.rollout.RolloutEnv`."""

    def __init__(
        self, inner: JobEnv, robot: str, num_failures: int = NUM_FAILURES
    ) -> None:
        self._inner, self._robot, self._num_failures = inner, robot, num_failures
        self.num_slots, self.lanes = inner.num_slots, inner.lanes
        self.step_s, self.half_patch_m = inner.step_s, inner.half_patch_m
        self.failures: dict[tuple[int, int], Failure] = {}
        """Walk and number of the rollout to what was recorded of it."""
        length = round(LAST_S / self.step_s) + 1
        self._ring = np.zeros((length, *self._qpos().shape), dtype=np.float32)
        self._taken = np.zeros(self.num_slots, dtype=int)
        self._levels = self._read_levels()
        self._step = 0
        self._slots: dict[int, int] = {}
        self._begun: Counter[int] = Counter()

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Begin rollouts in some slots."""
        self._inner.begin(slots, starts)
        rows = list(slots)
        self._ring[self._step % len(self._ring), rows] = self._qpos()[rows]
        self._taken[rows] = 0
        self._levels = self._read_levels()
        self._slots |= {s.index: slot for slot, s in zip(slots, starts, strict=True)}
        self._begun.update(start.index for start in starts)

    def observations(self) -> Any:
        """What a policy acts on."""
        return self._inner.observations()

    def step(self, actions: torch.Tensor) -> StepReport:
        """One control step, and its state."""
        report = self._inner.step(actions)
        self._step += 1
        # A robot that was moved to its next leg was elsewhere in the world before.
        levels = self._read_levels()
        self._taken = np.where(levels == self._levels, self._taken + 1, 0)
        self._levels = levels
        self._ring[self._step % len(self._ring)] = self._qpos()
        return report

    def on_end(self, rollout: Rollout) -> None:
        """Keep a rollout that has just failed, if it is among the first ones."""
        slot = self._slots.pop(rollout.index)
        if rollout.outcome == Outcome.SUCCESS or self._num_failures == 0:
            return
        stride = max(1, round(1.0 / (RATE_HZ * self.step_s)))
        span = min(int(self._taken[slot]), len(self._ring) - 1)
        ages = np.arange(0, span + 1, stride)[::-1]  # Steps before the end.
        qpos = self._ring[(self._step - ages) % len(self._ring), slot]
        is_sound = np.isfinite(qpos).all(axis=1)  # Physics that diverged may not be.
        if not is_sound.any():
            return
        qpos = qpos[is_sound]
        env, level = self._inner.env, int(self._levels[slot])
        scene, boxes = grid_terrain(env).terrain_scene, obstacle_boxes(env)
        walk = self._begun[rollout.index] - 1
        self.failures[walk, rollout.index] = Failure(
            robot=self._robot,
            index=rollout.index,
            walk=walk,
            outcome=rollout.outcome,
            origin_m=scene.origins_m[level, 0],
            qpos=qpos,
            time_s=((rollout.steps - ages) * self.step_s)[is_sound],
            ground=cut_out(scene, level, qpos[:, :2], REACH_M),
            boxes_m=_NO_BOXES if boxes is None else 2 * boxes.half_m.cpu().numpy(),
        )
        if len(self.failures) > self._num_failures:
            del self.failures[max(self.failures)]

    def _qpos(self) -> np.ndarray:
        return self._inner.env.sim.data.qpos.cpu().numpy()

    def _read_levels(self) -> np.ndarray:
        return grid_terrain(self._inner.env).terrain_levels.cpu().numpy().copy()


def write_failures(
    folder: Path, cell: EvalCell, failures: Iterable[Failure]
) -> list[str]:
    """Write recordings of a job, with pictures and a video of each where there is GL.

    A recording is ``failures/JOB-INDEX.npz``, with ``-WALK`` behind it for a walk that
    is not the first one. Returns their names, relative to the folder of the evaluation.
    """
    paths = []
    for failure in sorted(failures, key=lambda f: (f.walk, f.index)):
        suffix = f"-{failure.walk}" if failure.walk else ""
        path = folder / FOLDER / f"{cell.name}-{failure.index}{suffix}.npz"
        path.parent.mkdir(exist_ok=True)
        write_recording(path, failure)
        paths.append(path)
    if has_gl():
        with suppress(NoGraphicsError):
            write_pictures(paths)
    return [f"{FOLDER}/{path.name}" for path in paths]
