"""The real-world tests in simulation: seven terrains, the course and the route."""

from __future__ import annotations

from collections.abc import Sequence

from solo.report import paper
from solo.report import parts as ui
from solo.report.figures import Line, Mark, curves, tracks
from solo.report.read import ProtocolRun
from solo.report.stress import causes_table, success_figure
from solo.results import RouteSummary

_HARDWARE = "simulation (paper: hardware)"
_OUTDOORS = "simulation (paper: one run outdoors on hardware)"
_TITLES = {name: title for name, (title, _) in paper.ISOLATED.items()}
_MAX_ROBOTS = 32


def isolated_section(runs: Sequence[ProtocolRun]) -> ui.Section:
    """The seven isolated terrains beside the paper's ten trials on hardware."""
    passed, trials = paper.ISOLATED_TOTAL
    target = 100 * passed / trials
    quotes = {
        name: [Mark(100 * successes / paper.ISOLATED_TRIALS, 0)]
        for name, (_, successes) in paper.ISOLATED.items()
    }
    quotes["mean"] = [Mark(target, 0)]
    names = dict.fromkeys([*paper.ISOLATED, *(n for run in runs for n in run.by_row)])
    rows = []
    for name in names:
        title, successes = paper.ISOLATED.get(name, (ui.terrain_title(name), None))
        quote = ui.quoted(successes, f"{{}}/{paper.ISOLATED_TRIALS}")
        rows.append(ui.Row(title, [*ui.success_cells(runs, name), quote]))
    overall = [ui.rate_cell(run.success) for run in runs]
    rows.append(
        ui.Row("overall", [*overall, ui.quoted(f"{passed}/{trials}")], total=True)
    )
    columns = [ui.Column("terrain"), *map(ui.run_column, runs)]
    columns.append(ui.Column("SOLO", "paper, hardware", True))
    caption = "Success with the 95 % Wilson interval, percent, and trials"
    parts = [
        ui.Badges([_HARDWARE, *ui.scale_notes(runs)]),
        ui.Table(caption, columns, rows, "tab:real-success"),
        success_figure(runs, quotes, "paper, hardware", _TITLES),
        *_progress(runs),
        causes_table(runs, _TITLES),
    ]
    intro = (
        "The terrains of the paper's hardware trials, built in simulation; success is "
        "to cross the finish line behind the terrain without a fall."
    )
    quote = ui.quoted(f"{passed} of {trials}", "{}", "hardware")
    what = "Isolated terrains, success"
    heads = [
        ui.rate_headline(what, run, run.success, quote, target, [_HARDWARE])
        for run in runs
    ]
    return ui.Section("isolated", "Isolated real-world terrains", intro, parts, heads)


def course_section(runs: Sequence[ProtocolRun]) -> ui.Section:
    """The indoor course."""
    caption = (
        "Runs over the whole course, with the 95 % Wilson interval; the paper shows "
        "one run without a reset"
    )
    parts = [
        ui.Badges([_HARDWARE, *ui.scale_notes(runs)]),
        _success_table(caption, runs),
        *_progress(runs),
        causes_table(runs),
    ]
    intro = (
        "One way over 15 cm stairs up, 20 cm and 30 cm stones, a 45 cm gap, stairs "
        "down and a movable obstacle."
    )
    quote = ui.quoted("1 run", "{}", "without a reset, hardware")
    what = "Indoor course, whole course"
    heads = [
        ui.rate_headline(what, run, run.success, quote, notes=[_HARDWARE])
        for run in runs
    ]
    return ui.Section("course", "Indoor mixed course", intro, parts, heads)


def other_section(name: str, runs: Sequence[ProtocolRun]) -> ui.Section:
    """An evaluation that the paper does not have."""
    parts = [
        ui.Badges(ui.scale_notes(runs)),
        _success_table("Success with the 95 % Wilson interval", runs),
        success_figure(runs, {}),
        *_progress(runs),
        causes_table(runs),
    ]
    what = f"{name}, success"
    heads = [ui.rate_headline(what, r, r.success, ui.quoted(None)) for r in runs]
    intro = "The paper has no experiment of this name; ours stands alone."
    anchor = "".join(c if c.isalnum() and c.isascii() else "-" for c in name)
    return ui.Section(f"jobs-{anchor}", name, intro, parts, heads)


def _success_table(caption: str, runs: Sequence[ProtocolRun]) -> ui.Table:
    rows = [
        ui.Row(ui.terrain_title(name), ui.success_cells(runs, name))
        for name in ui.row_names(runs)
    ]
    rows.append(ui.Row("all", [ui.rate_cell(run.success) for run in runs], total=True))
    return ui.Table(caption, [ui.Column("job"), *map(ui.run_column, runs)], rows)


def _progress(runs: Sequence[ProtocolRun]) -> list[ui.Table]:
    """How far trials came, for jobs that have several elements on their way."""
    tables = []
    for run in runs:
        rows = [
            ui.Row(
                ui.Cell(ui.terrain_title(element.name), ui.terrain_title(job.title)),
                [
                    f"{count:g} of {job.success.rollouts}"
                    for count in (element.reached, element.passed)
                ],
            )
            for job in run.cells
            if len(job.elements) > 1
            for element in job.elements
        ]
        if rows:
            caption = f"How many trials of {run.label} came to each element"
            tables.append(ui.Table(caption, ["element", "reached", "passed"], rows))
    return tables


def route_section(runs: Sequence[ProtocolRun]) -> ui.Section:
    """The outdoor route: distances, falls, and where they happened."""
    routes = {run: run.found.route for run in runs if run.found.route is not None}
    lengths = {route.length_m for route in routes.values()}
    notes = [_OUTDOORS, *ui.scale_notes(runs)]
    if lengths != {1000 * paper.ROUTE_KM}:
        shown = ", ".join(f"{length:,.0f}" for length in sorted(lengths))
        notes.append(f"{shown} m long (paper: {1000 * paper.ROUTE_KM:,.0f} m)")
    parts = [ui.Badges(notes), _route_table(routes), _tracks(routes), _errors(routes)]
    intro = (
        "A seeded way over stairs, slopes, grass-like and uneven ground with bends. "
        "Every robot walks all of it; after an incident it starts again on the way."
    )
    heads = []
    for run, route in routes.items():
        small = f"{route.falls:g} falls in {route.distance_m / 1000:.2f} km"
        rate = route.falls_per_km
        ours = ui.Cell("–" if rate is None else f"{rate:.2f} falls/km", small)
        quote = ui.quoted(paper.ROUTE_KM, "{} km", "one run without a reset")
        # The paper's one run had no fall in 1.5 km: the bar is none.
        score = None if rate is None else ui.Score(rate, 0.0, False)
        heads.append(ui.Headline("Outdoor route", run.label, ours, quote, notes, score))
    return ui.Section("route", "Outdoor route", intro, parts, heads)


_ROUTE_ROWS = (
    ("Walked by all robots, m", "distance_m", 0, None),
    ("Falls", "falls", 0, "0"),
    ("Incidents: falls, stuck, off the way", "incidents", 0, None),
    ("Falls per km", "falls_per_km", 2, None),
    ("Mean distance between falls, m", "mean_distance_between_falls_m", 0, None),
    ("Longest way without an incident, m", "longest_m", 0, "1500"),
)
"""Title, field of the summary, digits, the paper's."""


def _route_table(routes: dict[ProtocolRun, RouteSummary]) -> ui.Table:
    done = [
        ui.Cell(f"{r.completed.successes:g} of {r.completed.rollouts:g}",
             f"{ui.bounds(100 * r.completed.low, 100 * r.completed.high, 1)} %")
        for r in routes.values()
    ]  # fmt: skip
    head = "Robots that came through without an incident"
    rows = [ui.Row(head, [*done, ui.quoted("1 of 1")])]
    for title, key, digits, quote in _ROUTE_ROWS:
        values = [getattr(route, key) for route in routes.values()]
        cells = [ui.NONE if v is None else ui.Cell(f"{v:,.{digits}f}") for v in values]
        rows.append(ui.Row(title, [*cells, ui.quoted(quote)]))
    firsts = [_first(route) for route in routes.values()]
    rows.append(ui.Row("Way to the first incident, m", [*firsts, ui.quoted(None)]))
    columns = [ui.Column("route"), *map(ui.run_column, routes)]
    columns.append(ui.Column("SOLO", "paper, hardware", True))
    source = "fig:stable_outdoor_perceptive_locomotion"
    return ui.Table("The route, with 95 % intervals", columns, rows, source)


def _first(route: RouteSummary) -> ui.Cell:
    if route.first_m is None or route.first_m.mean is None:
        return ui.NONE
    ends = route.first_m.interval
    small = ends and f"[{max(ends[0], 0.0):,.0f}, {ends[1]:,.0f}]"
    return ui.Cell(f"{route.first_m.mean:,.0f}", small or None)


def _tracks(routes: dict[ProtocolRun, RouteSummary]) -> ui.Drawing | None:
    """Where along the route each robot was stopped."""
    drawn, seen = [], set()
    for run, route in routes.items():
        walks: dict[int, list[tuple[float, float, str]]] = {}
        for walk in (walk for job in run.cells for walk in job.walks):
            part = (walk.begin_m, walk.end_m, walk.outcome.value)
            walks.setdefault(walk.robot, []).append(part)
            seen.add(walk.outcome.value)
        shown = {f"robot {k}": walks[k] for k in sorted(walks)[:_MAX_ROBOTS]}
        if shown:
            drawn.append(tracks(run.label, run.series, shown, route.length_m))
    if not drawn:
        return None
    ends = [name for name in ui.OUTCOMES if name in seen and name != "success"]
    return ui.Drawing(
        "Where walks ended: one line per robot, a mark where something went wrong",
        drawn,
        legend=[(f"outcome-{name}", ui.OUTCOMES[name]) for name in ends],
    )


def _errors(routes: dict[ProtocolRun, RouteSummary]) -> ui.Drawing | None:
    lines = [
        Line(run.series, [piece.from_m for piece in route.height_map_l1_m],
              [100 * piece.mean for piece in route.height_map_l1_m], has_markers=False)
        for run, route in routes.items()
        if route.height_map_l1_m
    ]  # fmt: skip
    if not lines:
        return None
    title = "Height-map error along the way"
    drawn = curves(title, lines, "metres along the route", "height-map L1, cm")
    return ui.Drawing(title, [drawn], legend=ui.legend(list(routes)))
