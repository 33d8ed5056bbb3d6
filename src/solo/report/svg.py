"""Charts as SVG: scales, bars, lines, dots on a log scale and shaded tables.

Colours are classes of the page's style sheet (``f0`` fills and ``l0`` strokes with the
first policy's colour), so that a chart follows light and dark. Charts are small, at
most about 430 px wide, and flow side by side: a narrow page stacks them and shrinks
nothing. What is exact stands in tooltips and tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from solo.report.markup import Content, Html, el
from solo.report.tables import NUM_COLORS

Scale = Callable[[float], float]
"""Value to pixel."""


@dataclass(frozen=True)
class Bar:
    """A bar from zero, with its interval."""

    series: int
    value: float
    low: float
    high: float
    label: str
    """Above it."""
    tip: str
    """What a pointer over it shows."""


@dataclass(frozen=True)
class Curve:
    """A line with markers."""

    series: int
    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    end: str = ""
    """What stands at its end; its label if left out."""
    is_dashed: bool = False
    intervals: Sequence[tuple[float, float] | None] = ()
    has_markers: bool = True


@dataclass(frozen=True)
class Mark:
    """A number of the paper: a hollow diamond."""

    x: float
    y: float
    tip: str
    label: str = ""


BAR_PLOT = 120.0
"""Height of a bar of one, pixels."""


def linear(low: float, high: float, start: float, stop: float) -> Scale:
    """From values to pixels."""
    return lambda value: start + (value - low) / (high - low) * (stop - start)


def logarithmic(low: float, high: float, start: float, stop: float) -> Scale:
    """The same for logarithms."""
    inner = linear(math.log(low), math.log(high), start, stop)
    return lambda value: inner(math.log(value))


def ticks(high: float, most: int = 5, low: float = 0.0) -> list[float]:
    """Round numbers from ``low`` to ``high`` or a little less."""
    if high <= low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def chart(width: float, height: float, label: str, *parts: Content) -> Html:
    """The frame of a drawing; its label is read out to those who cannot see it."""
    return el(
        "svg",
        el("title", label),
        *parts,
        role="img",
        style=f"--w:{width:.0f}",
        attributes={"viewBox": f"0 0 {width:g} {height:g}", "aria-label": label},
    )


def text(x: float, y: float, content: Content, cls: str = "", anchor: str = "") -> Html:
    """A piece of text."""
    return el("text", content, x=x, y=y, class_=cls or None, text_anchor=anchor or None)


def line(x1: float, y1: float, x2: float, y2: float, cls: str) -> Html:
    """A straight line."""
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=cls)


def diamond(x: float, y: float, tip: str, size: float = 5.0) -> Html:
    """A number of the paper."""
    a = f"{size:g}"
    path = f"M{x:.1f} {y - size:.1f}l{a} {a}l-{a} {a}l-{a} -{a}z"
    return el("path", el("title", tip), d=path, class_="quoted")


def marker(x: float, y: float, series: int, square: bool, tip: str) -> Html:
    """A point of a curve."""
    cls = f"f{series % NUM_COLORS} point"
    if square:
        return el("rect", el("title", tip), x=x - 3.5, y=y - 3.5, width=7, height=7,
                  class_=cls)  # fmt: skip
    return el("circle", el("title", tip), cx=x, cy=y, r=4, class_=cls)


def bar_panel(
    name: str, bars: Sequence[Bar], quoted: Sequence[Mark] = (), note: str = ""
) -> Html:
    """Bars of one terrain from 0 to 100 %, and the paper's number beside them.

    A bar of value v is v times `BAR_PLOT` pixels high.
    """
    left, top, gap = 30.0, 22.0, 5.0
    wide = min(34.0, max(15.0, 96.0 / len(bars)))
    paper_x = left + 8 + len(bars) * (wide + gap) + 8
    width = max(paper_x + (14 if quoted else -4), left + 14 + 6.8 * len(name))
    height = top + BAR_PLOT + 24
    y = linear(0.0, 1.0, top + BAR_PLOT, top)
    parts: list[Html] = []
    for tick in (0.0, 0.5, 1.0):
        parts.append(line(left, y(tick), width, y(tick), "grid"))
        parts.append(text(left - 5, y(tick) + 4, f"{100 * tick:.0f}", "tick", "end"))
    for index, bar in enumerate(bars):
        x = left + 8 + index * (wide + gap)
        middle = x + wide / 2
        rect = el(
            "rect",
            el("title", bar.tip),
            x=x,
            y=y(bar.value),
            width=wide,
            height=bar.value * BAR_PLOT,
            class_=f"bar f{bar.series % NUM_COLORS}",
        )
        whisker = (
            line(middle, y(bar.low), middle, y(bar.high), "whisker"),
            line(middle - 3, y(bar.low), middle + 3, y(bar.low), "whisker"),
            line(middle - 3, y(bar.high), middle + 3, y(bar.high), "whisker"),
        )
        label = text(middle, y(bar.high) - 5, bar.label, "value", "middle")
        parts.append(el("g", rect, *whisker, label))
    for mark in quoted:
        parts.append(diamond(paper_x, y(mark.y), mark.tip))
    parts.append(line(left, y(0.0), width, y(0.0), "axis"))
    parts.append(text(left + 8, height - 8, name, "name"))
    return chart(width, height, f"{name}: {note}", *parts)


def spread_labels(
    places: Sequence[float], distance: float, low: float, high: float
) -> list[float]:
    """Move labels apart until none is closer to the next, and all are in bounds."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    found = [min(max(places[i], low), high) for i in order]
    for _ in range(100):
        for k in range(len(found) - 1):
            lack = distance - (found[k + 1] - found[k])
            if lack > 0:
                found[k] = max(found[k] - lack / 2, low)
                found[k + 1] = min(max(found[k + 1] + lack / 2, found[k]), high)
    return [place for _, place in sorted(zip(order, found, strict=True))]


def shorten(words: str, most: int) -> str:
    """Text that fits; tooltips and tables have the whole of it."""
    return words if len(words) <= most else words[: most - 1] + "…"
