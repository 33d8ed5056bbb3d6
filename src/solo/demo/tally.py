"""The numbers of a demo: how far, how often down, how exact, how fast."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from solo.demo.ground import Ground
from solo.demo.moment import Moment, Odometer
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.rollout import Outcome


class Tally:
    """Counts over all steps, also over several terrains."""

    def __init__(self, step_s: float) -> None:
        """Begin to count.

        Args:
            step_s: Duration of a control step.
        """
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
        if moment.end is not None:
            self.ends[moment.end] += 1

    @property
    def distance_m(self) -> float:
        """What was walked."""
        return self._odometer.distance_m

    @property
    def falls(self) -> int:
        """How often the waist or the head touched the ground."""
        return self.ends[Outcome.FALL.value]

    @property
    def finished(self) -> int:
        """How often the finish was reached."""
        return self.ends[Outcome.SUCCESS.value]

    @property
    def map_error_cm(self) -> float | None:
        """Mean error of the reconstructed map; None before the policy has acted."""
        if not self._error_count:
            return None
        return 100.0 * self._error_sum_m / self._error_count

    def policy_ms(self, last: int | None = None) -> dict[str, float]:
        """Mean and 95th percentile of the runtime's ticks, of the last or of all."""
        return _times_ms(self._policy_s[-last if last else None :])

    def summarise(self, source: PolicySource, ground: Ground) -> dict[str, Any]:
        """What ``summary.json`` holds."""
        steps, error_cm = len(self._all_s), self.map_error_cm
        wall_s = sum(self._all_s)
        return {
            "policy": source.name,
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
