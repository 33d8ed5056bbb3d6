"""The stress test: success, reconstruction error and footholds at the hardest."""

from __future__ import annotations

from collections.abc import Sequence

from solo.report import paper
from solo.report.charts import ratio_chart
from solo.report.jobs import causes_table, success_figure
from solo.report.markup import Html, join
from solo.report.numbers import interval, mean_interval
from solo.report.pictures import gallery
from solo.report.runs import (
    Run,
    has_measure,
    legend,
    measure_cell,
    row_names,
    success_cell,
    summary_measure,
    summary_success,
    terrain_title,
)
from solo.report.scale import run_notes, scale_notes
from solo.report.section import (
    Headline,
    Section,
    figure,
    panels,
    paragraph,
    settings,
)
from solo.report.svg import Mark
from solo.report.tables import (
    NONE,
    PAPER_SILENT,
    Cell,
    Column,
    Row,
    badges,
    cite,
    table,
)

_SUCCESS = "fig:highest-difficulty-success"
_FOOTHOLDS = "fig:recon-and-foothold-quality"
_MAP = "height_map_l1_m"
_PENALTIES = {
    "feet_stumble": "Foot stumble",
    "foothold_grad_penalty": "Foothold gradient",
}
_STAIRS = ("stairs_down_25", "stairs_down_35", "stairs_up_25", "stairs_up_35")


def stress_section(runs: Sequence[Run], max_failures: int) -> Section:
    """Everything of the stress test."""
    notes = scale_notes("stress", runs)
    quoted = {
        "stones_aligned": Mark(0, 0.96, "paper, QR on stepping stones: 96 %"),
        "mean": Mark(0, 0.975, "paper, QR on all terrains: 97.5 %"),
    }
    parts = [
        badges(notes),
        _success_table(runs),
        success_figure(runs, quoted, "paper, QR (where its text has one)"),
        _map_table(runs),
        *_footholds(runs),
        causes_table(runs),
        gallery(runs, max_failures),
        settings(runs),
    ]
    intro = (
        "Eight terrains at difficulty 0.99, one job each; straight ahead at a speed "
        "drawn from 0.4 to 1.0 m/s, no noise, no pushes. Success is 5 m along +x "
        "within 30 s without a fall."
    )
    heads = [head for run in runs for head in _headlines(run)]
    return Section("stress", "Stress test", intro, parts, heads)


def _headlines(run: Run) -> list[Headline]:
    notes = run_notes("stress", run)
    heads = [
        Headline(
            "Stress test, mean success",
            run.label,
            success_cell(summary_success(run)),
            Cell(f"{paper.STRESS_MEAN['QR']} %", "QR", True),
            notes,
        )
    ]
    stones = run.by_row.get("stones_aligned")
    if stones is not None:
        quote = Cell(f"{paper.STRESS_STONES['QR']:.0f} %", "QR", True)
        ours = success_cell(stones["success"])
        what = "Stress test, stepping stones"
        heads.append(Headline(what, run.label, ours, quote, notes))
    error = summary_measure(run, _MAP)
    if error is not None:
        quote = Cell(f"{paper.RECON_L1_MEAN_CM['QR']} cm", "QR", True)
        ours = Cell(f"{100 * error:.2f} cm", "mean over terrains")
        what = "Stress test, height-map L1"
        heads.append(Headline(what, run.label, ours, quote, notes))
    return heads


def _success_table(runs: Sequence[Run]) -> Html:
    """Ours beside what the paper's text says; its figure has no numbers."""
    rows = []
    for name in row_names(runs):
        found = [run.by_row.get(name) for run in runs]
        cells = [success_cell(c["success"]) if c else NONE for c in found]
        is_stones = name == "stones_aligned"
        for method in paper.METHODS:
            quote = Cell(f"{paper.STRESS_STONES[method]:.0f} %", None, True)
            cells.append(quote if is_stones else PAPER_SILENT)
        rows.append(Row(terrain_title(name), cells))
    both = "a range of both"
    for what, cells, quotes in (
        ("mean", [success_cell(summary_success(run)) for run in runs],
         paper.STRESS_MEAN),
        ("worst terrain", [_worst(run) for run in runs], paper.STRESS_WORST),
    ):  # fmt: skip
        shared = Cell(f"{quotes['START, DPL']} %", both, True, columns=2)
        ours = Cell(f"{quotes['QR']} %", None, True)
        rows.append(Row(what, [*cells, ours, shared], total=True))
    quotes = [Column(m, "paper", True) for m in paper.METHODS]
    columns = [Column("terrain"), *(run.column for run in runs), *quotes]
    caption = "Success with the 95 % Wilson interval, percent, and rollouts"
    return table(caption, columns, rows, _SUCCESS)


def _worst(run: Run) -> Cell:
    """The lowest rate; its interval is that of the job."""
    cell = min(run.cells, key=lambda cell: cell["success"]["rate"])
    found = success_cell(cell["success"])
    name = terrain_title(cell.get("terrain", cell["name"]))
    return Cell(found.main, f"{found.small}, {name}")


def _map_table(runs: Sequence[Run]) -> Html:
    """On-policy error of the reconstructed map, which only some policies have."""
    if not has_measure(runs, _MAP):
        return paragraph(
            "Height-map error: these policies reconstruct no map, so there is nothing "
            "to put beside the paper's 2.29 cm (QR), 7.59 cm (START) and 9.26 cm "
            "(DPL).",
            cite("tab:recon"),
        )
    rows = []
    for name in row_names(runs):
        cells = [measure_cell(r.by_row.get(name), _MAP, 100.0, 2) for r in runs]
        for method in paper.METHODS:
            value = paper.RECON_L1_CM[method].get(name)
            quote = PAPER_SILENT
            if value is not None:
                quote = Cell(f"{value:.2f}", None, True)
            cells.append(quote)
        rows.append(Row(terrain_title(name), cells))
    means = [(100 * m if m is not None else None) for m in _means(runs)]
    cells = [NONE if m is None else Cell(f"{m:.2f}") for m in means]
    for method in paper.METHODS:
        cells.append(Cell(f"{paper.RECON_L1_MEAN_CM[method]:.2f}", None, True))
    rows.append(Row("mean", cells, total=True))
    quotes = [Column(m, "paper", True) for m in paper.METHODS]
    columns = [Column("terrain"), *(run.column for run in runs), *quotes]
    caption = "On-policy height-map L1, cm, with the 95 % interval of its mean"
    return table(caption, columns, rows, "tab:recon")


def _means(runs: Sequence[Run]) -> list[float | None]:
    return [summary_measure(run, _MAP) for run in runs]


def _footholds(runs: Sequence[Run]) -> list[Html | None]:
    """Penalties on stairs: a table, and multiples of the first policy's."""
    names = [name for name in _STAIRS if any(name in run.by_row for run in runs)]
    if not names or not any(has_measure(runs, p) for p in _PENALTIES):
        return []
    rows = []
    for penalty, title in _PENALTIES.items():
        for name in names:
            cells = [_penalty(run, name, penalty) for run in runs]
            quotes = paper.STUMBLE_RATIO if penalty == "feet_stumble" else {}
            for method in ("START", "DPL"):
                ratio = quotes.get(method, {}).get(name)
                quote = PAPER_SILENT
                if ratio is not None:
                    quote = Cell(f"{ratio:.2f} × QR", None, True)
                cells.append(quote)
            rows.append(Row(Cell(terrain_title(name), title), cells))
    ranges = [
        Cell(f"{low:.2f}–{high:.2f} × QR", None, True)
        for low, high in paper.PENALTY_RATIO_RANGE.values()
    ]
    rows.append(Row("all of these", [*(NONE for _ in runs), *ranges], total=True))
    quotes = [Column(m, "paper", True) for m in paper.PENALTY_RATIO_RANGE]
    columns = [Column("stairs"), *(run.column for run in runs), *quotes]
    caption = (
        "Foothold penalties per step (mean, 95 % interval); the paper gives multiples"
    )
    return [table(caption, columns, rows, _FOOTHOLDS), _ratio_figure(runs, names)]


def _penalty(run: Run, name: str, penalty: str) -> Cell:
    measure = run.by_row.get(name, {}).get("measures", {}).get(penalty)
    if not measure or measure.get("mean") is None:
        return NONE
    bounds = mean_interval(measure)
    small = None if bounds is None else interval(*bounds, 4)
    return Cell(f"{measure['mean']:.4f}", small)


def _ratio_figure(runs: Sequence[Run], names: Sequence[str]) -> Html | None:
    """The paper's figure B: multiples of one policy's penalties, log scale."""
    if len(runs) < 2:
        return None
    reference = runs[0]
    drawn = []
    for penalty, title in _PENALTIES.items():
        rows: dict[str, dict[int, float]] = {}
        quoted: dict[str, dict[str, float]] = {}
        for name in names:
            values = {
                k: run.by_row.get(name, {}).get("measures", {}).get(penalty, {})
                for k, run in enumerate(runs)
            }
            base = values[0].get("mean")
            rows[terrain_title(name)] = {
                k: v["mean"] / base for k, v in values.items() if base and v.get("mean")
            }
            if penalty == "feet_stumble":
                quoted[terrain_title(name)] = {
                    method: ratios[name]
                    for method, ratios in paper.STUMBLE_RATIO.items()
                    if name in ratios
                }
        if any(rows.values()):
            series = {k: run.series for k, run in enumerate(runs)}
            labels = {run.series: run.label for run in runs}
            shown = {
                row: {series[k]: v for k, v in found.items()}
                for row, found in rows.items()
            }
            drawn.append(ratio_chart(title, shown, labels, quoted))
    if not drawn:
        return paragraph(
            f"Multiples are not drawn: the penalties of {reference.label} are zero."
        )
    return figure(
        join(["Foothold penalties as multiples of ", reference.label]),
        legend(runs, "paper, multiples of its QR"),
        panels(drawn),
        note="Log scale; lower is better. The first policy given is the reference.",
    )
