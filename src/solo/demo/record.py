"""One attempt from its start to its end, for pictures."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from rich.progress import Progress

from solo.demo.moment import Moment, Perception
from solo.demo.tally import Tally
from solo.demo.walk import Walk

FRAME_S = 0.1
"""Simulated time between two pictures, at least."""
MAX_FRAMES = 130
"""Pictures of a movie, at most."""


@dataclass(frozen=True)
class Recording:
    """What happened."""

    moments: list[Moment]
    """All control steps."""
    frames: list[tuple[Moment, Perception]] = field(default_factory=list)
    """Every `FRAME_S` of them, with what was perceived."""

    def series(self, name: str) -> np.ndarray:
        """A field of all moments, [T, ...]."""
        return np.array([getattr(moment, name) for moment in self.moments])


def record(walk: Walk, seconds: float, tally: Tally, progress: Progress) -> Recording:
    """Walk until the attempt ends or the time is over.

    Args:
        walk: At the start of an attempt.
        seconds: Simulated time, at most.
        tally: Counts the steps.
        progress: Shows how far it is.
    """
    num_steps = max(1, round(seconds / walk.step_s))
    stride = max(1, round(FRAME_S / walk.step_s))
    task = progress.add_task("walking", total=num_steps)
    recording = Recording([])
    for step in range(num_steps):
        moment = walk.step()
        tally.add(moment)
        recording.moments.append(moment)
        is_frame = step % stride == 0 or moment.end is not None
        if is_frame and walk.perception is not None:
            recording.frames.append((moment, walk.perception))
        progress.advance(task)
        if moment.end is not None:
            break
    progress.update(task, total=len(recording.moments))
    return recording


def thin_out(
    frames: list[tuple[Moment, Perception]], count: int = MAX_FRAMES
) -> list[tuple[Moment, Perception]]:
    """Every n-th frame so that there are no more than a number, the last included."""
    stride = -(-len(frames) // count)
    return frames[::-1][::stride][::-1]
