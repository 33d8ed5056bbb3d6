"""The stress test and the change of extent: success, map errors and footholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from solo.report import paper
from solo.report import parts as ui
from solo.report.figures import Mark, Point, dots
from solo.report.read import ProtocolRun
from solo.results import MAP_ERROR, Job, Rate

_PENALTIES = {
    "feet_stumble": "Foot stumble",
    "foothold_grad_penalty": "Foothold gradient",
}
_STAIRS = ("stairs_down_25", "stairs_down_35", "stairs_up_25", "stairs_up_35")


def stress_section(runs: Sequence[ProtocolRun]) -> ui.Section:
    """Everything of the stress test."""
    quotes = {"stones_aligned": [Mark(96.0, 0)], "mean": [Mark(97.5, 0)]}
    parts = [
        ui.Badges(ui.scale_notes(runs)),
        _success_table(runs),
        success_figure(runs, quotes, "paper, QR (where its text has one)"),
        _map_table(runs),
        *_footholds(runs),
        causes_table(runs),
    ]
    intro = (
        "Eight terrains at difficulty 0.99, one job each; straight ahead at a speed "
        "drawn from 0.4 to 1.0 m/s, no noise, no pushes. Success is 5 m along +x "
        "within 30 s without a fall."
    )
    heads = [head for run in runs for head in _headlines(run)]
    return ui.Section("stress", "Stress test", intro, parts, heads)


def _headlines(run: ProtocolRun) -> list[ui.Headline]:
    target, stones = float(paper.STRESS_MEAN["QR"]), run.by_row.get("stones_aligned")
    quote = ui.quoted(target, "{} %", "QR")
    what = "Stress test, mean success"
    heads = [ui.rate_headline(what, run, run.success, quote, target)]
    if stones is not None:
        target = paper.STRESS_STONES["QR"]
        quote = ui.quoted(target, "{:.0f} %", "QR")
        what = "Stress test, stepping stones"
        heads.append(ui.rate_headline(what, run, stones.success, quote, target))
    error, target = run.mean(MAP_ERROR), paper.RECON_L1_MEAN_CM["QR"]
    if error is not None:
        heads.append(
            ui.Headline("Stress test, height-map L1", run.label,
                        ui.Cell(f"{100 * error:.2f} cm", "mean over terrains"),
                        ui.quoted(target, "{} cm", "QR"), run.scale_notes(),
                        ui.Score(100 * error, target, False))
        )  # fmt: skip
    return heads


def _methods(*cells: float | str | None, form: str = "{}") -> list[ui.Cell]:
    return [ui.quoted(value, form) for value in cells]


_QUOTES = [ui.Column(method, "paper", True) for method in paper.METHODS]


def _success_table(runs: Sequence[ProtocolRun]) -> ui.Table:
    """Ours beside what the paper's text says; its figure has no numbers."""
    rows = []
    for name in ui.row_names(runs):
        said = paper.STRESS_STONES if name == "stones_aligned" else {}
        cells = ui.success_cells(runs, name)
        cells += _methods(*(said.get(m) for m in paper.METHODS), form="{:.0f} %")
        rows.append(ui.Row(ui.terrain_title(name), cells))
    for what, cells, said in (
        ("mean", [ui.rate_cell(run.success) for run in runs], paper.STRESS_MEAN),
        ("worst terrain", [_worst(run) for run in runs], paper.STRESS_WORST),
    ):
        both = ui.Cell(f"{said['START, DPL']} %", "a range of both", True, columns=2)
        rows.append(
            ui.Row(what, [*cells, ui.quoted(said["QR"], "{} %"), both], total=True)
        )
    columns = [ui.Column("terrain"), *map(ui.run_column, runs), *_QUOTES]
    caption = "Success with the 95 % Wilson interval, percent, and rollouts"
    return ui.Table(caption, columns, rows, "fig:highest-difficulty-success")


def _worst(run: ProtocolRun) -> ui.Cell:
    """The lowest rate; its interval is that of the job."""
    job = min(run.cells, key=lambda job: job.success.rate)
    cell = ui.rate_cell(job.success)
    return ui.Cell(cell.main, f"{cell.small}, {ui.terrain_title(job.title)}")


def _map_table(runs: Sequence[ProtocolRun]) -> ui.Table | ui.Text:
    """On-policy error of the reconstructed map, which only some policies have."""
    if not ui.has_measure(runs, MAP_ERROR):
        return ui.Text(
            "Height-map error: these policies reconstruct no map, so there is nothing "
            "to put beside the paper's 2.29 cm (QR), 7.59 cm (START) and 9.26 cm "
            "(DPL).",
            "tab:recon",
        )
    rows = []
    for name in ui.row_names(runs):
        cells = [ui.measure_cell(r.by_row.get(name), MAP_ERROR, 100.0) for r in runs]
        said = [paper.RECON_L1_CM[method].get(name) for method in paper.METHODS]
        rows.append(
            ui.Row(ui.terrain_title(name), [*cells, *_methods(*said, form="{:.2f}")])
        )
    means = [run.mean(MAP_ERROR) for run in runs]
    cells = [ui.NONE if m is None else ui.Cell(f"{100 * m:.2f}") for m in means]
    said = [paper.RECON_L1_MEAN_CM[method] for method in paper.METHODS]
    rows.append(ui.Row("mean", [*cells, *_methods(*said, form="{:.2f}")], total=True))
    columns = [ui.Column("terrain"), *map(ui.run_column, runs), *_QUOTES]
    caption = "On-policy height-map L1, cm, with the 95 % interval of its mean"
    return ui.Table(caption, columns, rows, "tab:recon")


def _footholds(
    runs: Sequence[ProtocolRun],
) -> list[ui.Table | ui.Drawing | ui.Text | None]:
    """Penalties on stairs: a table, and multiples of the first policy's."""
    names = [name for name in _STAIRS if any(name in run.by_row for run in runs)]
    if not names or not any(ui.has_measure(runs, p) for p in _PENALTIES):
        return []
    ratios = {"feet_stumble": paper.STUMBLE_RATIO}
    rows, methods = [], paper.PENALTY_RATIO_RANGE
    for penalty, title in _PENALTIES.items():
        said = ratios.get(penalty, {})
        for name in names:
            jobs = [run.by_row.get(name) for run in runs]
            cells = [ui.measure_cell(job, penalty, digits=4) for job in jobs]
            cells += _methods(*(said.get(m, {}).get(name) for m in methods),
                              form="{:.2f} × QR")  # fmt: skip
            rows.append(ui.Row(ui.Cell(ui.terrain_title(name), title), cells))
    ranges = [
        ui.quoted(f"{low:.2f}–{high:.2f} × QR")
        for low, high in paper.PENALTY_RATIO_RANGE.values()
    ]
    rows.append(ui.Row("all of these", [*(ui.NONE for _ in runs), *ranges], total=True))
    columns = [ui.Column("stairs"), *map(ui.run_column, runs)]
    columns += [ui.Column(m, "paper", True) for m in methods]
    caption = (
        "Foothold penalties per step (mean, 95 % interval); the paper gives multiples"
    )
    source = "fig:recon-and-foothold-quality"
    return [ui.Table(caption, columns, rows, source), _ratio_figure(runs, names)]


def _ratio_figure(
    runs: Sequence[ProtocolRun], names: Sequence[str]
) -> ui.Drawing | ui.Text | None:
    """The paper's figure B: multiples of one policy's penalties, log scale."""
    if len(runs) < 2:
        return None
    drawn = []
    for penalty, title in _PENALTIES.items():
        rows: dict[str, list[Point]] = {}
        marks: dict[str, list[Mark]] = {}
        for name in names:
            means = [_mean_of(run.by_row.get(name), penalty) for run in runs]
            row = rows[f"{title}, {ui.terrain_title(name)}"] = []
            base = means[0]
            if base:
                row += [
                    Point(run.series, mean / base)
                    for run, mean in zip(runs, means, strict=True)
                    if mean
                ]
            if penalty == "feet_stumble" and row:
                marks[f"{title}, {ui.terrain_title(name)}"] = [
                    Mark(said[name], 0, f"{method} {said[name]:.2f}")
                    for method, said in paper.STUMBLE_RATIO.items()
                    if name in said
                ]
        if any(rows.values()):
            words = "multiples, log scale; lower is better"
            drawn.append(dots(title, rows, marks, words, 1.0, is_log=True))
    if not drawn:
        return ui.Text(
            f"Multiples are not drawn: the penalties of {runs[0].label} are zero."
        )
    return ui.Drawing(
        f"Foothold penalties as multiples of {runs[0].label}",
        drawn,
        "The first policy given is the reference.",
        ui.legend(runs, "paper, multiples of its QR"),
    )


def _mean_of(job: Job | None, measure: str) -> float | None:
    found = job.measures.get(measure) if job else None
    return found.mean if found else None


def success_figure(
    runs: Sequence[ProtocolRun],
    quotes: Mapping[str, Sequence[Mark]],
    paper_name: str = "paper",
    titles: Mapping[str, str] = paper.TERRAINS,
) -> ui.Drawing:
    """Success by terrain, and over all; the titles give the order of the rows.

    ``quotes`` are the paper's numbers, under ``mean`` that for all terrains.
    """
    rows, marks = {}, {}
    names = ui.row_names(runs, titles)
    for name in names:
        found = [(run, run.by_row.get(name)) for run in runs]
        rows[ui.terrain_title(name, titles)] = [
            rate_point(run.series, job.success) for run, job in found if job is not None
        ]
        marks[ui.terrain_title(name, titles)] = quotes.get(name, ())
    if len(names) > 1 and any(run.success for run in runs):
        rows["All"] = [rate_point(r.series, r.success) for r in runs if r.success]
        marks["All"] = quotes.get("mean", ())
    return ui.Drawing(
        "Success by terrain, percent",
        [dots("Success by terrain, percent", rows, marks, "success, %")],
        "Lines are 95 % Wilson intervals.",
        ui.legend(runs, paper_name if any(marks.values()) else ""),
    )


def rate_point(series: int, rate: Rate) -> Point:
    """A success rate as part of a figure, percent."""
    return Point(series, 100 * rate.rate, (100 * rate.low, 100 * rate.high))


def causes_table(
    runs: Sequence[ProtocolRun], titles: Mapping[str, str] = paper.TERRAINS
) -> ui.Table:
    """How the rollouts of each job ended, and how well the command was followed."""
    counts = [job.outcomes for run in runs for job in run.cells]
    known = dict.fromkeys([*ui.OUTCOMES, *(name for c in counts for name in c)])
    outcomes = [name for name in known if any(c.get(name) for c in counts)]
    rows = []
    for name in ui.row_names(runs, titles):
        cells: list[ui.Entry] = []
        for run in runs:
            job = run.by_row.get(name)
            if job is None:
                cells += [ui.NONE, ui.NONE]
                continue
            parts = [
                (_style(o), ui.OUTCOMES.get(o, o), job.outcomes.get(o, 0))
                for o in outcomes
            ]
            failed = [f"{n} {what}" for cls, what, n in parts
                      if n and cls != "outcome-success"]  # fmt: skip
            small = ", ".join(failed) or "no failure"
            cells.append(ui.Cell("", small, shares=parts))
            cells.append(ui.measure_cell(job, "velocity_error"))
        rows.append(ui.Row(ui.terrain_title(name, titles), cells))
    columns = [ui.Column("terrain")]
    for run in runs:
        columns += [ui.run_column(run), ui.Column("velocity error", "m/s")]
    caption = "How rollouts ended, and velocity error with the interval of its mean"
    keys = [(_style(o), ui.OUTCOMES.get(o, o)) for o in outcomes]
    return ui.Table(caption, columns, rows, legend=keys)


def _style(outcome: str) -> str:
    return f"outcome-{outcome if outcome in ui.OUTCOMES else 'other'}"
