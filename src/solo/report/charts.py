"""Larger charts: curves over an axis, multiples on a log scale, a shaded grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solo.report.markup import Html, el
from solo.report.svg import (
    NUM_COLORS,
    Curve,
    Mark,
    Scale,
    chart,
    diamond,
    line,
    linear,
    logarithmic,
    marker,
    shorten,
    spread_labels,
    text,
    ticks,
)

_WIDTH, _HEIGHT = 430.0, 270.0
_LEFT, _TOP, _BOTTOM = 40.0, 24.0, 38.0
_MAX_END = 18
"""Characters of a name at the end of a line."""


@dataclass(frozen=True)
class Axes:
    """What the axes of a chart of curves say."""

    title: str
    x: str
    y: str
    low: float = 0.0
    """Where y begins."""
    high: float | None = None
    """Where y ends; what is drawn decides if left out."""
    level: tuple[float, str] | None = None
    """A dashed line across, and what it is."""


def curve_chart(
    axes: Axes, curves: Sequence[Curve], quoted: Sequence[Mark] = ()
) -> Html:
    """Lines with their names at their ends; dashed lines have square markers."""
    all_x = [x for c in curves for x in c.xs] + [mark.x for mark in quoted]
    all_y = [y for c in curves for y in c.ys] + [mark.y for mark in quoted]
    all_y += [v for c in curves for i in c.intervals if i is not None for v in i]
    all_y += [axes.level[0]] if axes.level else []
    low_x, high_x = min(all_x), max(all_x)
    if high_x == low_x:
        low_x, high_x = low_x - 0.5, high_x + 0.5
    high_y = axes.high if axes.high is not None else max(*all_y, axes.low + 1e-9) * 1.05
    longest = max(len(shorten(c.end or c.label, _MAX_END)) for c in curves)
    longest = max([longest, *(len(mark.label) for mark in quoted)])
    right, bottom = _WIDTH - 12 - 6.6 * longest, _HEIGHT - _BOTTOM
    x = linear(low_x, high_x, _LEFT + 8, right - 6)
    y = linear(axes.low, high_y, bottom, _TOP)
    parts: list[Html] = [
        text(_LEFT - 32, 12, axes.y, "tick"),
        text((_LEFT + right) / 2, _HEIGHT - 6, axes.x, "tick", "middle"),
    ]
    for tick in ticks(high_y, 6, axes.low):
        parts.append(line(_LEFT, y(tick), right, y(tick), "grid"))
        parts.append(text(_LEFT - 5, y(tick) + 4, f"{tick:,g}", "tick", "end"))
    for tick in ticks(high_x, 4, low_x):
        parts.append(line(x(tick), bottom, x(tick), bottom + 4, "axis"))
        parts.append(text(x(tick), bottom + 16, f"{tick:,g}", "tick", "middle"))
    parts.append(line(_LEFT, bottom, right, bottom, "axis"))
    if axes.level is not None:
        place = y(axes.level[0])
        parts.append(line(_LEFT, place, right, place, "level"))
        parts.append(text(_LEFT + 4, place - 5, axes.level[1], "tick"))
    parts += [_draw_curve(curve, x, y) for curve in curves]
    parts += [diamond(x(mark.x), y(mark.y), mark.tip) for mark in quoted]
    ends = [
        (y(c.ys[-1]), c.end or c.label, f"t{c.series % NUM_COLORS}") for c in curves
    ]
    ends += [(y(mark.y), mark.label, "muted") for mark in quoted if mark.label]
    places = spread_labels([end[0] for end in ends], 13.0, _TOP, bottom)
    for (_, name, cls), place in zip(ends, places, strict=True):
        parts.append(text(right + 6, place + 4, shorten(name, _MAX_END), f"end {cls}"))
    summary = "; ".join(f"{c.label} ends at {c.ys[-1]:.3g}" for c in curves)
    return chart(_WIDTH, _HEIGHT, f"{axes.title}: {summary}", *parts)


def _draw_curve(curve: Curve, x: Scale, y: Scale) -> Html:
    points = list(zip(curve.xs, curve.ys, strict=True))
    path = "M" + "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in points)
    style = f"line l{curve.series % NUM_COLORS}"
    if curve.is_dashed or curve.series >= NUM_COLORS:
        style += " dashed"
    parts = [el("path", el("title", curve.label), d=path, class_=style)]
    for (a, _), bounds in zip(points, curve.intervals, strict=False):
        if bounds is not None:
            low, high = (y(max(bound, 0.0)) for bound in bounds)
            cls = f"whisker l{curve.series % NUM_COLORS}"
            parts.append(line(x(a), low, x(a), high, cls))
    if curve.has_markers:
        parts += [
            marker(x(a), y(b), curve.series, curve.is_dashed, f"{curve.label}: {b:.4g}")
            for a, b in points
        ]
    return el("g", *parts)


def ratio_chart(
    title: str,
    rows: Mapping[str, Mapping[int, float]],
    names: Mapping[int, str],
    quoted: Mapping[str, Mapping[str, float]],
) -> Html:
    """Multiples of the reference, which is the line at 1, on a log scale.

    Args:
        title: Above it.
        rows: Name of the row to series to its multiple.
        names: Series to its name.
        quoted: Name of the row to method to the paper's multiple.
    """
    found = [v for row in rows.values() for v in row.values()]
    found += [v for row in quoted.values() for v in row.values()]
    low = min([0.5, *(0.6 * v for v in found)])
    high = max([2.0, *(1.25 * v for v in found)])
    left, step = 66.0, 15.0
    heights = [
        step * max(len(row) + len(quoted.get(name, {})), 1) + 10
        for name, row in rows.items()
    ]
    width, top = 340.0, 26.0
    bottom = top + sum(heights)
    x = logarithmic(low, high, left + 6, width - 44)
    parts = [text(0, 12, title, "name")]
    for tick in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0):
        if low <= tick <= high:
            cls = "level" if tick == 1.0 else "grid"
            parts.append(line(x(tick), top, x(tick), bottom, cls))
            parts.append(text(x(tick), bottom + 15, f"{tick:g}×", "tick", "middle"))
    place = top
    for (name, row), height in zip(rows.items(), heights, strict=True):
        parts.append(text(left - 4, place + height / 2 + 4, name, "tick", "end"))
        y = place + 5 + step / 2
        for series, value in row.items():
            tip = f"{names[series]} on {name}: {value:.2f} times"
            cls = f"line l{series % NUM_COLORS}"
            parts.append(line(x(1.0), y, x(value), y, cls))
            parts.append(marker(x(value), y, series, False, tip))
            anchor, dx = ("end", -8) if value < 1.0 else ("start", 8)
            parts.append(text(x(value) + dx, y + 4, f"{value:.2f}", "value", anchor))
            y += step
        for method, value in quoted.get(name, {}).items():
            tip = f"paper, {method} on {name}: {value:.2f} times QR"
            parts.append(diamond(x(value), y, tip))
            label = f"{method} {value:.2f}"
            anchor, dx = ("end", -9) if x(value) > width - 110 else ("start", 9)
            parts.append(text(x(value) + dx, y + 4, label, "value muted", anchor))
            y += step
        place += height
    return chart(width, bottom + 22, title, *parts)


def shaded_grid(
    title: str,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[float | None]],
    column_name: str,
) -> Html:
    """Percentages as shades, one row per terrain, with the numbers on them."""
    left, top, wide, tall = 104.0, 36.0, 29.0, 19.0
    width = left + wide * len(columns) + 2
    height = top + tall * len(rows) + 6
    parts = [text(0, 12, title, "name"), text(left - 6, 29, column_name, "tick", "end")]
    for index, column in enumerate(columns):
        middle = left + (index + 0.5) * wide
        parts.append(text(middle, 29, column, "tick", "middle"))
    for j, (name, values) in enumerate(rows.items()):
        y = top + j * tall
        parts.append(text(left - 6, y + 13.5, name, "tick", "end"))
        for i, value in enumerate(values):
            if value is None:
                continue
            tip = f"{name}, {column_name} {columns[i]}: {100 * value:.1f} %"
            square = el(
                "rect",
                el("title", tip),
                x=left + i * wide + 1,
                y=y + 1,
                width=wide - 2,
                height=tall - 2,
                class_="shade",
                fill_opacity=round(0.06 + 0.94 * value, 3),
            )
            middle = left + (i + 0.5) * wide
            cls = "value on" if value > 0.55 else "value"
            parts += [
                square,
                text(middle, y + 13.5, f"{100 * value:.0f}", cls, "middle"),
            ]
    return chart(width, height, title, *parts)


def strip(parts: Sequence[tuple[str, str, int]]) -> Html:
    """Shares of a whole as one short bar.

    Args:
        parts: Class of the style sheet, name and count of each part.
    """
    total = sum(part[2] for part in parts) or 1
    width, height, x = 120.0, 10.0, 0.0
    drawn = []
    for cls, name, count in parts:
        wide = width * count / total
        tip = el("title", f"{name}: {count} of {total}")
        if count:
            drawn.append(
                el("rect", tip, x=x, y=0, width=wide, height=height, class_=cls)
            )
        x += wide
    label = ", ".join(f"{name} {count}" for _, name, count in parts)
    return chart(width, height, label, *drawn)
