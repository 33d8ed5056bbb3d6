"""Figures by matplotlib, as SVG that follows the page's colours, light and dark.

Everything is drawn in the colours of the light page; in the SVG each of them becomes
the variable of the style sheet. Text stays text. Drawings are about 430 units wide and
flow side by side: a narrow page stacks them and hardly shrinks them.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.ticker import MaxNLocator

from solo.report.parts import NUM_COLOURS

COLOURS = {
    "ink": "#1c2430",
    "muted": "#5b6675",
    "line": "#d9dfe6",
    "ground": "#fffffe",
    "c0": "#0072b2",
    "c1": "#d55e00",
    "c2": "#009e73",
    "c3": "#b65a92",
    "c4": "#e69f00",
    "c5": "#4c9fd4",
    "fall": "#d55e01",
    "late": "#e9b949",
    "left": "#9aa4b0",
}
"""Variable of the style sheet to the colour that stands for it while drawing. Those of
policies are Okabe and Ito's, which people with colour blindness can tell apart."""

_OUTCOMES = {"fall": "fall", "time_out": "late", "left_patch": "left"}
_WIDTH = 430.0
_FONT = 10.0
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "solo",
    "font.size": _FONT,
    "text.color": COLOURS["ink"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.edgecolor": COLOURS["muted"],
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS["line"],
    "grid.linewidth": 0.8,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
}


@dataclass(frozen=True)
class Point:
    """A number with its interval, which may be missing."""

    series: int
    value: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Line:
    """A line; dashed ones have square markers."""

    series: int
    xs: Sequence[float]
    ys: Sequence[float]
    is_dashed: bool = False
    ends: Sequence[tuple[float, float] | None] = ()
    has_markers: bool = True


@dataclass(frozen=True)
class Mark:
    """A number of the paper: a hollow diamond."""

    x: float
    y: float
    label: str = ""


@mpl.rc_context(_STYLE)
def dots(
    title: str,
    rows: Mapping[str, Sequence[Point]],
    quotes: Mapping[str, Sequence[Mark]],
    x: str,
    level: float | None = None,
    is_log: bool = False,
) -> Markup:
    """Numbers with intervals, a row each, the policies below each other in it.

    The axis goes from 0 to 100 unless it is logarithmic; ``quotes`` are the paper's
    numbers, and a dashed line goes down at ``level``.
    """
    places: list[float] = []
    depth = 0.0
    lines = {k: max(len(v) + (is_log and len(quotes.get(k, ()))), 1)
             for k, v in rows.items()}  # fmt: skip
    step = 15.0 if max(lines.values()) == 1 else 12.0
    figure, axes = _figure(sum(step * n + 8 for n in lines.values()) + 46)
    for name, points in rows.items():
        top = depth + 4
        for k, point in enumerate(points):
            y = top + (k + 0.5) * step
            _dot(axes, point, y)
        for k, mark in enumerate(quotes.get(name, ())):
            y = top + (len(points) + k + 0.5) * step if is_log else top + step / 2
            _diamond(axes, mark.x, y)
            if mark.label:
                axes.annotate(mark.label, (mark.x, y), (7, 0), va="center",
                              textcoords="offset points", color=COLOURS["muted"],
                              fontsize=_FONT - 0.5)  # fmt: skip
        depth = top + step * lines[name] + 4
        places.append((top + depth - 4) / 2)
        axes.axhline(depth, color=COLOURS["line"], linewidth=0.8)
    axes.set_ylim(depth, 0)
    axes.set_yticks(places, [_short(name, 27) for name in rows])
    axes.grid(axis="y", visible=False)
    if is_log:
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        low, high = min(low, 0.45), max(high, 2.2)
        ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if low <= t <= high]
        axes.set_xticks(ticks, [f"{t:g}×" for t in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlim(low, high * 1.3)
    else:
        axes.set_xlim(-2, 112)
        axes.set_xticks([0, 25, 50, 75, 100])
    if level is not None:
        axes.axvline(level, color=COLOURS["muted"], linestyle="--", linewidth=1.0)
    axes.set_xlabel(x)
    axes.tick_params(length=0)
    return _svg(figure, title)


@mpl.rc_context(_STYLE)
def curves(
    title: str,
    drawn: Sequence[Line],
    x: str,
    y: str,
    quotes: Sequence[Mark] = (),
    high: float | None = None,
    level: tuple[float, str] | None = None,
) -> Markup:
    """Lines over an axis; y begins at 0."""
    figure, axes = _figure(270.0)
    for curve in drawn:
        colour, far = _colour(curve.series), curve.series >= NUM_COLOURS
        style: dict[str, Any] = {
            "color": colour,
            "linestyle": "--" if curve.is_dashed or far else "-",
        }
        if curve.has_markers:
            style |= {"marker": "s" if curve.is_dashed else "o"}
        axes.plot(curve.xs, curve.ys, **style)
        for place, ends in zip(curve.xs, curve.ends, strict=False):
            if ends is not None:
                axes.vlines(place, max(ends[0], 0.0), ends[1], color=colour, lw=1.1)
    for mark in quotes:
        _diamond(axes, mark.x, mark.y)
        if mark.label:
            axes.annotate(mark.label, (mark.x, mark.y), (-8, 0), ha="right",
                          va="center", textcoords="offset points",
                          color=COLOURS["muted"])  # fmt: skip
    if level is not None:
        axes.axhline(level[0], color=COLOURS["muted"], linestyle="--", linewidth=1.0)
        place = (axes.get_xlim()[0], level[0])
        axes.annotate(level[1], place, (4, 4), textcoords="offset points",
                      color=COLOURS["muted"])  # fmt: skip
    axes.set_ylim(0.0, high)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    return _svg(figure, title)


@mpl.rc_context(_STYLE)
def tracks(
    title: str,
    series: int,
    walks: Mapping[str, Sequence[tuple[float, float, str]]],
    length_m: float,
) -> Markup:
    """One line per robot along the route, and a mark wherever it was stopped.

    Walks are begin, end and outcome.
    """
    figure, axes = _figure(12.0 * len(walks) + 64)
    for k, parts in enumerate(walks.values()):
        for begin, end, outcome in parts:
            axes.plot([begin, max(end, begin)], [k, k], color=_colour(series), lw=1.2)
            if outcome != "success":
                colour = COLOURS[_OUTCOMES.get(outcome, "ink")]
                axes.plot(max(end, begin), k, "o", color=colour)
    axes.set_xlim(0, length_m)
    axes.set_ylim(len(walks) - 0.3, -0.7)
    axes.set_yticks(range(len(walks)), list(walks))
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("metres along the route")
    axes.set_title(_short(title, 60), loc="left", fontsize=_FONT + 1, weight="bold")
    return _svg(figure, title)


def picture(values: np.ndarray, low: float, high: float, is_depth: bool = False) -> str:
    """Numbers [Y, X] as an image of as many pixels, as a data address.

    The first row is at the top. Depth is grey, and red where there is none.
    """
    shown: Any = np.ma.masked_equal(values, 0.0) if is_depth else values
    colours = mpl.colormaps["gray" if is_depth else "viridis"].with_extremes(
        bad="#c83c32"
    )
    stream = io.BytesIO()
    imsave(stream, shown, vmin=low, vmax=high, cmap=colours, format="png")
    return data_address("image/png", stream.getvalue())


def data_address(media_type: str, content: bytes) -> str:
    """A file as part of the page."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def _figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH / 72, height / 72), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02)  # type: ignore[union-attr]
    return figure, figure.add_subplot()


def _colour(series: int) -> str:
    return COLOURS[f"c{series % NUM_COLOURS}"]


def _dot(axes: Axes, point: Point, y: float) -> None:
    colour = _colour(point.series)
    if point.ends is not None:
        axes.hlines(y, *point.ends, color=colour, linewidth=1.6)
    marker = "s" if point.series >= NUM_COLOURS else "o"
    axes.plot(point.value, y, marker, color=colour)
    right = max(point.value, *(point.ends or (point.value,)))
    axes.annotate(f"{point.value:.3g}", (right, y), (6, 0), va="center",
                  textcoords="offset points", fontsize=_FONT - 0.5)  # fmt: skip


def _diamond(axes: Axes, x: float, y: float) -> None:
    axes.plot(x, y, "D", markerfacecolor=COLOURS["ground"], zorder=3,
              markeredgecolor=COLOURS["ink"], markeredgewidth=1.3)  # fmt: skip


def _short(words: str, most: int) -> str:
    """Text that fits, and that matplotlib does not take for mathematics."""
    words = words if len(words) <= most else words[: most - 1] + "…"
    return words.replace("$", r"\$")


_NOISE = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->"
    r'|<style.*?</style>|(?<=<g) id="[^"]*"| transform="rotate\(-0 [^"]*"'
    r"| font-family: [^;]*;|(?<=\n) +",
    re.DOTALL,
)
_FAMILY = re.compile(r"(font: [^;\"]*?px) [^;\"]*")


def _svg(figure: Figure, title: str) -> Markup:
    """The SVG of a figure, to be put into a page."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True)
    text = _NOISE.sub("", stream.getvalue()).strip()
    text = _FAMILY.sub(r"\1 inherit", text)
    for name, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{name})")
    label = escape(title)
    box = re.search(r'viewBox="[^"]*"', text)
    assert box is not None
    head = f'<svg {box[0]} role="img" aria-label="{label}" class="chart">'
    return Markup(re.sub(r"<svg[^>]*>", lambda _: head, text, count=1))
