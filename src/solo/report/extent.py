"""Descending stairs over difficulty on scenes of 8 m and of 10 m."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from solo.report import paper
from solo.report.charts import Axes, curve_chart
from solo.report.jobs import causes_table
from solo.report.markup import Html
from solo.report.numbers import mean_interval
from solo.report.pictures import gallery
from solo.report.runs import Run, has_measure, legend, measure_cell, success_cell
from solo.report.scale import run_notes, scale_notes
from solo.report.section import Headline, Section, figure, panels, settings
from solo.report.svg import Curve, Mark
from solo.report.tables import (
    NONE,
    PAPER_SILENT,
    Cell,
    Column,
    Entry,
    Row,
    badges,
    table,
)

_SOURCE = "fig:recon-and-foothold-quality"
_MAP = "height_map_l1_m"
_SIDES_M = (8.0, 10.0)
"""Sides of the paper's scenes: trained on, and never seen."""


def extent_section(runs: Sequence[Run], max_failures: int) -> Section:
    """Everything of the change of extent."""
    parts = [
        badges(scale_notes("extent", runs)),
        _table(runs),
        _figure(runs),
        causes_table(runs),
        gallery(runs, max_failures),
        settings(runs),
    ]
    intro = (
        "Descending stairs over difficulty, on the 8 m scenes of training and on "
        "10 m scenes that no policy has seen."
    )
    heads = [head for run in runs for head in _headlines(run)]
    return Section("extent", "Change of extent", intro, parts, heads)


def quoted_marks() -> list[Mark]:
    """The paper's numbers at difficulty 0.99: QR's named, the others in tooltips."""
    marks = []
    for method, errors in paper.EXTENT_L1_CM.items():
        for side, error in zip(_SIDES_M, errors, strict=True):
            tip = f"paper, {method}, {side:g} m: {error:.1f} cm"
            label = f"QR {side:g} m" if method == "QR" else ""
            marks.append(Mark(paper.EXTENT_DIFFICULTY, error, tip, label))
    return marks


def _headlines(run: Run) -> list[Headline]:
    heads = []
    for side, quote in zip(_SIDES_M, paper.EXTENT_L1_CM["QR"], strict=True):
        found = _at(run, paper.EXTENT_DIFFICULTY, side)
        if found is None or _MAP not in found["measures"]:
            continue
        ours = measure_cell(found, _MAP, 100.0, 2)
        heads.append(
            Headline(
                f"Descending stairs of {side:g} m, height-map L1",
                run.label,
                Cell(f"{ours.main} cm", ours.small),
                Cell(f"{quote:.1f} cm", "QR", True),
                run_notes("extent", run),
            )
        )
    return heads


def _at(run: Run, difficulty: float, side: float) -> dict[str, Any] | None:
    for cell in run.cells:
        if cell.get("difficulty") == difficulty and cell.get("patch_m") == side:
            return cell
    return None


def _places(runs: Sequence[Run]) -> tuple[list[float], list[float]]:
    """Difficulties and sides that occur."""
    cells = [cell for run in runs for cell in run.cells]
    difficulties = {cell.get("difficulty", 0.0) for cell in cells}
    return sorted(difficulties), sorted({cell.get("patch_m", 8.0) for cell in cells})


def _table(runs: Sequence[Run]) -> Html:
    difficulties, sides = _places(runs)
    has_map = has_measure(runs, _MAP)
    rows = []
    for side in sides:
        for difficulty in difficulties:
            cells: list[Entry] = []
            for run in runs:
                found = _at(run, difficulty, side)
                cells.append(NONE if found is None else success_cell(found["success"]))
                if has_map:
                    cells.append(measure_cell(found, _MAP, 100.0, 2))
            is_quoted = difficulty == paper.EXTENT_DIFFICULTY and side in _SIDES_M
            for method in paper.METHODS:
                quote = PAPER_SILENT
                if is_quoted:
                    error = paper.EXTENT_L1_CM[method][_SIDES_M.index(side)]
                    quote = Cell(f"{error:.1f}", None, True)
                cells.append(quote)
            head = Cell(f"{side:g} m, {difficulty:g}")
            rows.append(Row(head, cells))
    columns = [Column("scene, difficulty")]
    for run in runs:
        columns.append(Column(run.label, "success, %", series=run.series))
        if has_map:
            columns.append(Column(run.label, "map L1, cm", series=run.series))
    columns += [Column(m, "paper, map L1, cm", True) for m in paper.METHODS]
    caption = "Success and on-policy height-map L1 with 95 % intervals"
    return table(caption, columns, rows, _SOURCE)


def _figure(runs: Sequence[Run]) -> Html:
    drawn = []
    with_map = [run for run in runs if has_measure([run], _MAP)]
    if with_map:
        axes = Axes("Height-map L1 over difficulty", "difficulty", "height-map L1, cm")
        curves = [c for run in with_map for c in _curves(run, _map_point)]
        drawn.append(curve_chart(axes, curves, quoted_marks()))
    axes = Axes("Success over difficulty", "difficulty", "success, %", 0.0, 105.0)
    curves = [c for run in runs for c in _curves(run, _success_point)]
    drawn.append(curve_chart(axes, curves))
    return figure(
        "Solid with circles: 8 m, as in training. Dashed with squares: 10 m",
        legend(runs, "paper, at 0.99" if with_map else ""),
        panels(drawn),
        note="Whiskers are 95 % intervals.",
    )


Point = tuple[float, tuple[float, float] | None]


def _map_point(cell: Mapping[str, Any]) -> Point | None:
    measure = cell["measures"].get(_MAP)
    if not measure or measure.get("mean") is None:
        return None
    bounds = mean_interval(measure)
    scaled = None if bounds is None else (100 * bounds[0], 100 * bounds[1])
    return 100 * measure["mean"], scaled


def _success_point(cell: Mapping[str, Any]) -> Point | None:
    rate = cell["success"]
    return 100 * rate["rate"], (100 * rate["low"], 100 * rate["high"])


def _curves(run: Run, point: Any) -> list[Curve]:
    """One curve per side of the scene."""
    curves = []
    _, sides = _places([run])
    for number, side in enumerate(sides):
        cells = [c for c in run.cells if c.get("patch_m", 8.0) == side]
        cells.sort(key=lambda cell: cell.get("difficulty", 0.0))
        found = [(c.get("difficulty", 0.0), point(c)) for c in cells]
        found = [(x, p) for x, p in found if p is not None]
        if found:
            curves.append(
                Curve(
                    run.series,
                    f"{run.label}, {side:g} m",
                    [x for x, _ in found],
                    [p[0] for _, p in found],
                    f"{side:g} m",
                    is_dashed=number > 0,
                    intervals=[p[1] for _, p in found],
                )
            )
    return curves
