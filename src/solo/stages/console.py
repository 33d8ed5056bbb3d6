"""One line per iteration on the terminal; everything else goes to TensorBoard."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from rsl_rl.utils.logger import Logger

_EPISODE_COLUMNS = (
    ("level", "Curriculum/terrain_levels/mean", 1.0),
    ("assist", "Curriculum/assist", 1.0),
    ("stance", "Episode_Metrics/single_stance", 1.0),
    ("lift_cm", "Episode_Metrics/foot_lift", 100.0),
    ("vel_err", "Episode_Metrics/velocity_error", 1.0),
)
"""Heading, key among the episode values, factor."""

_LEGEND = """\
Msteps: samples so far, millions; reward and length: mean return and steps (of 1000) of
finished episodes; level: mean terrain level, 0 to 9; assist: support torque, 1 to 0;
stance: share of time on one foot; lift_cm: mean lift of the swing foot; vel_err:
velocity error, m/s; left: time remaining. `solo train curves` plots these and more."""

_HEADINGS = ("iteration", "Msteps", "steps/s", "reward", "length")
_HEADER_EVERY = 25


class ConsoleLogger(Logger):
    """rsl_rl's logger with a table on the terminal instead of a page per iteration."""

    after_iteration: Callable[[int], None] | None = None
    """Called with the iteration when its line is printed."""

    def init_logging_writer(self) -> None:
        """Open the log; rsl_rl reports where it stores the git state."""
        with contextlib.redirect_stdout(io.StringIO()):
            super().init_logging_writer()

    def log(self, it: int, start_it: int, total_it: int, **values: Any) -> None:  # type: ignore[override] - rsl_rl's has each value by name.
        """Write all values to TensorBoard and a line to the terminal."""
        episode = [self._episode_mean(key, x) for _, key, x in _EPISODE_COLUMNS]
        with contextlib.redirect_stdout(io.StringIO()):
            super().log(it=it, start_it=start_it, total_it=total_it, **values)
        if self.writer is None:
            return
        seconds = values["collect_time"] + values["learn_time"]
        if it == start_it:
            print(_LEGEND)
            self._seconds = 0.0
        self._seconds += seconds
        left = self._seconds / (it - start_it + 1) * (total_it - it - 1)
        steps = self.cfg["num_steps_per_env"] * self.num_envs * self.gpu_world_size
        if (it - start_it) % _HEADER_EVERY == 0:
            names = (*_HEADINGS, *(name for name, _, _ in _EPISODE_COLUMNS), "left")
            print("".join(f"{name:>10}" for name in names))
        cells = (
            f"{it}",
            f"{self.tot_timesteps / 1e6:.2f}",
            f"{steps / seconds:.0f}",
            _format(_mean(self.rewbuffer)),
            _format(_mean(self.lenbuffer), 0),
            *map(_format, episode),
            f"{timedelta(seconds=round(left))}",
        )
        print("".join(f"{cell:>10}" for cell in cells), flush=True)
        if self.after_iteration is not None:
            self.after_iteration(it)

    def _episode_mean(self, key: str, factor: float) -> float | None:
        """Mean over the episodes that ended in this iteration."""
        values = [float(extra[key]) for extra in self.ep_extras if key in extra]
        mean = _mean(values)
        return None if mean is None else factor * mean


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _format(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
