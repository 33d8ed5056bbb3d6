"""Numbers as text, and the interval of a mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Two-sided 95 % quantiles of Student's distribution with 1 to 10 degrees of freedom
(any table of it)."""


def t_95(degrees: int) -> float:
    """Two-sided 95 % quantile of Student's distribution, to about 0.001."""
    if degrees <= len(_T_95):
        return _T_95[degrees - 1]
    z = 1.959963984540054
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    # Cornish and Fisher's expansion.
    return z + first / degrees + second / degrees**2 + third / degrees**3


def mean_interval(measure: Mapping[str, Any]) -> tuple[float, float] | None:
    """95 % interval of a mean with its sample deviation and count; None without."""
    mean, std, count = (measure.get(key) for key in ("mean", "std", "count"))
    if mean is None or std is None or count is None or count < 2:
        return None
    half = t_95(int(count) - 1) * std / math.sqrt(count)
    return mean - half, mean + half


def percent(rate: Mapping[str, Any]) -> str:
    """A success rate."""
    return f"{100 * rate['rate']:.1f} %"


def percent_interval(rate: Mapping[str, Any]) -> str:
    """The interval of a success rate, percent."""
    return interval(100 * rate["low"], 100 * rate["high"], 1)


def interval(low: float, high: float, digits: int) -> str:
    """An interval."""
    return f"[{low:.{digits}f}, {high:.{digits}f}]".replace("-", "−")


def spread(mean: float | None, std: float | None, digits: int) -> str:
    """Mean and standard deviation."""
    if mean is None:
        return "–"
    text = f"{mean:.{digits}f}"
    return text if std is None else f"{text} ± {std:.{digits}f}"


def signed(mean: float, std: float | None, digits: int) -> str:
    """A difference, with its sign."""
    text = f"{mean:+.{digits}f}".replace("-", "−")
    return text if std is None else f"{text} ± {std:.{digits}f}"


def quantity(value: object) -> str:
    """Any number of a file, short: 4 digits that count, or all of a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def duration(seconds: float) -> str:
    """A time span."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
