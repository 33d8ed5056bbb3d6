"""Charts with a line each for what is compared: shares with intervals, and walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solo.report.markup import Html, el
from solo.report.svg import (
    NUM_COLORS,
    chart,
    line,
    linear,
    marker,
    shorten,
    text,
    ticks,
)


@dataclass(frozen=True)
class Span:
    """A share with its interval."""

    name: str
    value: float
    low: float
    high: float
    tip: str


def span_chart(
    title: str, series: int, spans: Sequence[Span], level: float | None = None
) -> Html:
    """Shares from 0 to 100 % as points with intervals, one line each.

    Args:
        title: Above it.
        series: Its colour.
        spans: What to draw, from the top down.
        level: Share at which a dashed line goes down.
    """
    left, top, step, width = 168.0, 24.0, 22.0, 430.0
    bottom = top + step * len(spans)
    x = linear(0.0, 1.0, left + 6, width - 36)
    parts = [text(0, 12, shorten(title, 60), "name")]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line(x(tick), top, x(tick), bottom, "grid"))
        label = f"{100 * tick:.0f}"
        parts.append(text(x(tick), bottom + 15, label, "tick", "middle"))
    if level is not None:
        parts.append(line(x(level), top, x(level), bottom, "level"))
    for k, span in enumerate(spans):
        y = top + (k + 0.5) * step
        label = f"{100 * span.value:.0f}"
        parts += [
            text(left - 4, y + 4, shorten(span.name, 26), "tick", "end"),
            line(x(span.low), y, x(span.high), y, f"line l{series % NUM_COLORS}"),
            marker(x(span.value), y, series, False, span.tip),
            text(x(span.high) + 7, y + 4, label, "value"),
        ]
    return chart(width, bottom + 22, title, *parts)


@dataclass(frozen=True)
class Track:
    """The walks of one robot."""

    name: str
    walks: Sequence[tuple[float, float, str]]
    """Begin and end along the route, metres, and outcome."""


def track_chart(
    title: str,
    series: int,
    tracks: Sequence[Track],
    length_m: float,
    outcomes: Mapping[str, str],
) -> Html:
    """One line per robot along the route, and a mark wherever it was stopped.

    Args:
        title: Above it.
        series: Its colour.
        tracks: One per robot.
        length_m: Of the route.
        outcomes: Outcome to its name.
    """
    left, top, step, width = 58.0, 22.0, 13.0, 440.0
    bottom = top + step * len(tracks)
    x = linear(0.0, max(length_m, 1e-9), left, width - 16)
    parts = [text(0, 12, shorten(title, 60), "name")]
    for tick in ticks(length_m, 5):
        parts.append(line(x(tick), top, x(tick), bottom, "grid"))
        parts.append(text(x(tick), bottom + 15, f"{tick:,g}", "tick", "middle"))
    for k, track in enumerate(tracks):
        y = top + (k + 0.5) * step
        parts.append(text(left - 6, y + 4, track.name, "tick", "end"))
        for begin, end, outcome in track.walks:
            style = f"line l{series % NUM_COLORS} thin"
            parts.append(line(x(begin), y, x(max(end, begin)), y, style))
            if outcome != "success":
                known = outcome if outcome in outcomes else "other"
                words = f"{track.name}: {outcomes.get(outcome, outcome)} at {end:.0f} m"
                parts.append(
                    el("circle", el("title", words), cx=x(max(end, begin)), cy=y, r=3.5,
                       class_=f"outcome-{known} point")
                )  # fmt: skip
    return chart(width, bottom + 22, title, *parts)
