"""The numbers of a walk: how far, how often down, how exact, how fast."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from solo.evaluation.rollout import PolicySource
from solo.results import Outcome
from solo.viewer.ground import Ground
from solo.viewer.walk import Moment

_FIX_S = 1.0


class Odometer:
    """Length of a path without the sway of the steps: from fix to fix, 1 s apart."""

    def __init__(self) -> None:
        self._sum_m, self._fix_s = 0.0, 0.0
        self._fix: np.ndarray | None = None
        self._here: np.ndarray | None = None

    @property
    def distance_m(self) -> float:
        """Up to now."""
        if self._fix is None or self._here is None:
            return self._sum_m
        return self._sum_m + float(np.linalg.norm(self._here - self._fix))

    def begin(self) -> None:
        """The robot is put somewhere else, which does not count."""
        self._sum_m, self._fix = self.distance_m, None

    def add(self, position_m: np.ndarray, seconds: float) -> None:
        """The robot is here, at this time of the attempt."""
        self._here = position_m
        if self._fix is None:
            self._fix, self._fix_s = position_m, seconds
        elif seconds - self._fix_s >= _FIX_S:
            self._sum_m = self.distance_m
            self._fix, self._fix_s = position_m, seconds


class Tally:
    """Counts over all steps, also over several terrains."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._odometer = Odometer()
        self._policy_s: list[float] = []
        self._all_s: list[float] = []
        self._error_sum_m, self._error_count = 0.0, 0
        self.ends: Counter[str] = Counter()

    def begin(self) -> None:
        """An attempt begins."""
        self._odometer.begin()

    def add(self, moment: Moment) -> None:
        """Count a step."""
        self._odometer.add(moment.position_m, moment.seconds)
        self._policy_s.append(moment.policy_s)
        self._all_s.append(moment.step_s)
        if np.isfinite(moment.map_error_m):
            self._error_sum_m += moment.map_error_m
            self._error_count += 1
        self.ends.update(moment.other_ends)
        if moment.end is not None:
            self.ends[moment.end] += 1

    @property
    def distance_m(self) -> float:
        """What was walked."""
        return self._odometer.distance_m

    @property
    def falls(self) -> int:
        """How often the waist or the head of a robot touched the ground."""
        return self.ends[Outcome.FALL.value]

    @property
    def finished(self) -> int:
        """How often the finish was reached."""
        return self.ends[Outcome.SUCCESS.value]

    @property
    def map_error_cm(self) -> float | None:
        """Mean error of the reconstructed map; None if none was reconstructed."""
        if not self._error_count:
            return None
        return 100.0 * self._error_sum_m / self._error_count

    def policy_ms(self, last: int | None = None) -> dict[str, float]:
        """Mean and 95th percentile of the policy's time, over the last steps or all."""
        return _times_ms(self._policy_s[-last if last else None :])

    def summarise(self, source: PolicySource, ground: Ground) -> dict[str, Any]:
        """What ``summary.json`` holds."""
        steps, error_cm = len(self._all_s), self.map_error_cm
        wall_s = sum(self._all_s)
        return {
            "policy": source.name,
            "kind": source.kind,
            "sha256": source.sha256,
            "training": source.details.get("training"),
            "terrain": ground.name,
            "difficulty": ground.difficulty,
            "seed": ground.protocol.seed,
            "course_m": ground.finish_m,
            "distance_m": round(self.distance_m, 3),
            "finished": self.finished,
            "falls": self.falls,
            "ends": dict(self.ends),
            "height_map_l1_cm": None if error_cm is None else round(error_cm, 3),
            "policy_ms": self.policy_ms(),
            "step_ms": _times_ms(self._all_s),
            "simulated_s": round(steps * self._step_s, 3),
            "real_time_factor": round(steps * self._step_s / wall_s, 3) if steps else 0,
        }


def _times_ms(seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {"mean": 0.0, "p95": 0.0}
    values = 1e3 * np.array(seconds)
    return {
        "mean": round(float(values.mean()), 3),
        "p95": round(float(np.percentile(values, 95)), 3),
    }
