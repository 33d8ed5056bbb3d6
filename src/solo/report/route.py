"""The outdoor route in simulation: distances, falls, and where they happened."""

from __future__ import annotations

from collections.abc import Sequence

from solo.report import paper
from solo.report.charts import Axes, curve_chart
from solo.report.check import is_number
from solo.report.jobs import OUTCOMES
from solo.report.markup import Html
from solo.report.numbers import mean_interval, percent_interval
from solo.report.pictures import gallery
from solo.report.runs import Run
from solo.report.scale import scale_notes
from solo.report.section import Headline, Section, figure, panels, settings
from solo.report.spans import Track, track_chart
from solo.report.svg import Curve
from solo.report.tables import Cell, Column, Row, badges, table

_SOURCE = "fig:stable_outdoor_perceptive_locomotion"
_HARDWARE = "simulation (paper: one run outdoors on hardware)"
_MAX_ROBOTS = 32


def route_section(runs: Sequence[Run], max_failures: int) -> Section:
    """Everything of the route."""
    lengths = {run.data["route"]["length_m"] for run in runs}
    notes = [_HARDWARE, *scale_notes("route", runs)]
    if lengths != {1000 * paper.ROUTE_KM}:
        shown = ", ".join(f"{length:,.0f}" for length in sorted(lengths))
        notes.append(f"{shown} m long (paper: {1000 * paper.ROUTE_KM:,.0f} m)")
    parts = [
        badges(notes),
        _table(runs),
        _tracks(runs),
        _errors(runs),
        gallery(runs, max_failures),
        settings(runs),
    ]
    intro = (
        "A seeded way over stairs, slopes, grass-like and uneven ground with bends. "
        "Every robot walks all of it; after an incident it starts again on the way."
    )
    heads = [_headline(run, notes) for run in runs]
    return Section("route", "Outdoor route", intro, parts, heads)


def _headline(run: Run, notes: Sequence[str]) -> Headline:
    rate = _number(run, "falls_per_km")
    route = run.data["route"]
    small = f"{route['falls']:g} falls in {route['distance_m'] / 1000:.2f} km"
    ours = Cell("–" if rate is None else f"{rate:.2f} falls/km", small)
    quote = Cell(f"{paper.ROUTE_KM} km", "one run without a reset", True)
    return Headline("Outdoor route", run.label, ours, quote, notes)


def _number(run: Run, key: str) -> float | None:
    value = run.data["route"].get(key)
    return value if is_number(value) else None


def _table(runs: Sequence[Run]) -> Html:
    silent = Cell("–", None, True)
    rows = [
        Row("Robots that came through without an incident",
            [_completed(run) for run in runs], total=False),
        Row("Walked by all robots, m", [_plain(r, "distance_m", 0) for r in runs]),
        Row("Falls", [_plain(run, "falls", 0) for run in runs]),
        Row("Incidents: falls, stuck, off the way",
            [_plain(run, "incidents", 0) for run in runs]),
        Row("Falls per km", [_plain(run, "falls_per_km", 2) for run in runs]),
        Row("Mean distance between falls, m",
            [_plain(run, "mean_distance_between_falls_m", 0) for run in runs]),
        Row("Way to the first incident, m", [_first(run) for run in runs]),
        Row("Longest way without an incident, m",
            [_plain(run, "longest_m", 0) for run in runs]),
    ]  # fmt: skip
    quotes = {0: Cell("1 of 1", None, True), 2: Cell("0", None, True),
              7: Cell(f"{1000 * paper.ROUTE_KM:.0f}", None, True)}  # fmt: skip
    rows = [
        Row(row.head, [*row.cells, quotes.get(k, silent)]) for k, row in enumerate(rows)
    ]
    columns = [
        Column("route"),
        *(run.column for run in runs),
        Column("SOLO", "paper, hardware", True),
    ]
    caption = "The route, with 95 % intervals"
    return table(caption, columns, rows, _SOURCE)


def _completed(run: Run) -> Cell:
    rate = run.data["route"]["completed"]
    counts = f"{rate['successes']:g} of {rate['rollouts']:g}"
    return Cell(counts, f"{percent_interval(rate)} %")


def _plain(run: Run, key: str, digits: int) -> Cell:
    value = _number(run, key)
    return Cell("–" if value is None else f"{value:,.{digits}f}")


def _first(run: Run) -> Cell:
    measure = run.data["route"].get("first_m")
    if not isinstance(measure, dict) or not is_number(measure.get("mean")):
        return Cell("–")
    bounds = mean_interval(measure)
    small = None
    if bounds is not None:
        small = f"[{max(bounds[0], 0.0):,.0f}, {bounds[1]:,.0f}]"
    return Cell(f"{measure['mean']:,.0f}", small)


def _tracks(runs: Sequence[Run]) -> Html | None:
    """Where along the route each robot was stopped."""
    drawn = []
    for run in runs:
        tracks: dict[int, list[tuple[float, float, str]]] = {}
        for cell in run.cells:
            for walk in cell.get("walks") or []:
                found = tracks.setdefault(round(walk["robot"]), [])
                found.append((walk["begin_m"], walk["end_m"], walk["outcome"]))
        if tracks:
            shown = [
                Track(f"robot {robot}", tracks[robot])
                for robot in sorted(tracks)[:_MAX_ROBOTS]
            ]
            length = run.data["route"]["length_m"]
            drawn.append(track_chart(run.label, run.series, shown, length, OUTCOMES))
    if not drawn:
        return None
    return figure(
        "Where walks ended: one line per robot, a mark where something went wrong",
        panels(drawn),
        note="Metres along the route. Hold the pointer over a mark for its cause.",
    )


def _errors(runs: Sequence[Run]) -> Html | None:
    curves = []
    for run in runs:
        pieces = run.data["route"].get("height_map_l1_m") or []
        if pieces:
            xs = [piece["from_m"] for piece in pieces]
            ys = [100 * piece["mean"] for piece in pieces]
            curves.append(Curve(run.series, run.label, xs, ys, has_markers=False))
    if not curves:
        return None
    axes = Axes("Height-map L1 along the route", "metres", "height-map L1, cm")
    return figure(
        "Height-map error along the way",
        panels([curve_chart(axes, curves)]),
    )
