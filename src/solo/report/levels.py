"""Ten levels of every terrain, pairs of policies, and levels over trainings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from solo.evaluation.metrics import summarise_levels
from solo.pictures.training import smoothed
from solo.report import paper
from solo.report import parts as ui
from solo.report.figures import Line, curves
from solo.report.read import ProtocolRun, ResultFile
from solo.results import Curriculum, LevelCurve, Levels, Mean, Rate

_SOURCE = "tab:reduced-compute-tamse"
_GROUPS = {
    "easy": "Easy, levels 0–3",
    "medium": "Medium, levels 4–6",
    "hard": "Hard, levels 7–9",
}
_MAX_GRIDS = 6


def levels_section(runs: Sequence[ProtocolRun]) -> ui.Section:
    """Everything of one or more evaluations of levels."""
    files = list(dict.fromkeys(run.file for run in runs))
    pairs = {
        file: file.result
        for file in files
        if isinstance(file.result, Levels) and file.result.paired
    }
    notes, wanted = ui.scale_notes(runs), paper.SCALES["levels"].num_seeds
    for found in pairs.values():
        if len(found.first) != wanted:
            notes.append(f"pairs of policies: {len(found.first)} (paper: {wanted})")
    parts = [
        ui.Badges(notes),
        *(_paired_table(file, found, runs) for file, found in pairs.items()),
        _policy_table(runs),
        *_grids(runs),
    ]
    intro = (
        "Ten levels of every training terrain. Easy, medium and hard pool all "
        "terrains; level 9 is shown by terrain."
    )
    heads = [h for run in runs if run.file not in pairs for h in _headlines(run)]
    for found in pairs.values():
        heads += _paired_headlines(found, notes)
    return ui.Section("levels", "Ten levels of every terrain", intro, parts, heads)


def _aggregates(run: ProtocolRun) -> Mapping[str, Rate]:
    """Columns of the ablation; the folder of one policy may not have them yet."""
    return run.found.aggregates or summarise_levels(run.cells)


def _quote(column: str, method: str) -> paper.Spread | None:
    """The paper's number for a column of ours."""
    name = column.removeprefix("top/")
    name = paper.ABLATION_TERRAINS.get(name, name) if name != column else column
    return paper.ABLATION[method].get(name)


def _quoted(column: str, method: str) -> ui.Cell:
    found = _quote(column, method)
    if found is None:
        return ui.quoted(None)
    return ui.quoted(ui.spread(found.mean, found.std, 2, method == "difference"))


def _title(column: str) -> ui.Cell:
    """Name of a column of the ablation, with what the paper's number covers."""
    if column in _GROUPS:
        return ui.Cell(_GROUPS[column])
    terrain = column.removeprefix("top/")
    small = None
    if terrain.startswith("stones_"):
        small = "the paper's is both stone variants"
    elif terrain.startswith("rough_"):
        small = "the paper does not say which"
    return ui.Cell(f"{ui.terrain_title(terrain)}, level 9", small)


def _ordered(columns: Iterable[str]) -> list[str]:
    """What the paper has comes first."""
    return sorted(columns, key=lambda name: _quote(name, "TA-MSE") is None)


def _headlines(run: ProtocolRun) -> list[ui.Headline]:
    rate, quote = _aggregates(run).get("hard"), _quote("hard", "TA-MSE")
    if rate is None or quote is None:
        return []
    shown = ui.quoted(ui.spread(quote.mean, quote.std, 2), "{} %", "TA-MSE, 3 seeds")
    what = "Hard levels, success"
    return [ui.rate_headline(what, run, rate, shown, quote.mean)]


def _paired_headlines(found: Levels, notes: Sequence[str]) -> list[ui.Headline]:
    pair = found.paired.get("hard")
    if pair is None:
        return []
    difference = _mean(pair.difference, plus=True)
    ours = ui.Cell(f"{difference.main} pp", "second − first")
    shown = ui.Cell(
        f"{_quoted('hard', 'difference').main} pp", "TA-MSE − MSE+PPO", True
    )
    what, whose = "Hard levels, paired difference", f"pairs: {len(found.first)}"
    return [ui.Headline(what, whose, ours, shown, notes)]


def _mean(value: Mean, plus: bool = False) -> ui.Cell:
    return ui.Cell(ui.spread(value.mean, value.std, 2, plus))


def _paired_table(
    file: ResultFile, found: Levels, runs: Sequence[ProtocolRun]
) -> ui.Table:
    """The paper's ablation: both sets and their difference, beside the paper's."""
    first, second = (
        ", ".join(run.label for run in runs if run.file is file and run.side == side)
        for side in ("first", "second")
    )
    rows = []
    for column in _ordered(found.paired):
        pair = found.paired[column]
        cells = [_mean(pair.first), _mean(pair.second), _mean(pair.difference, True)]
        cells += [_quoted(column, method) for method in paper.ABLATION]
        rows.append(ui.Row(_title(column), cells))
    columns = [
        ui.Column("levels"),
        ui.Column("first", first),
        ui.Column("second", second),
        ui.Column("second − first", "points"),
        ui.Column("MSE+PPO", "paper", True),
        ui.Column("TA-MSE", "paper", True),
        ui.Column("difference", "paper, points", True),
    ]
    caption = (
        "Success, percent: mean ± standard deviation over policies; differences are "
        "taken pair by pair"
    )
    return ui.Table(caption, columns, rows, _SOURCE)


def _policy_table(runs: Sequence[ProtocolRun]) -> ui.Table:
    """Each policy by itself, with intervals."""
    tables = [_aggregates(run) for run in runs]
    methods = ("MSE+PPO", "TA-MSE")
    rows = []
    for name in _ordered(dict.fromkeys(name for table in tables for name in table)):
        cells = [ui.rate_cell(table.get(name)) for table in tables]
        rows.append(
            ui.Row(_title(name), [*cells, *(_quoted(name, m) for m in methods)])
        )
    columns = [ui.Column("levels"), *map(ui.run_column, runs)]
    columns += [ui.Column(method, "paper, 3 seeds", True) for method in methods]
    caption = "Success of each policy with the 95 % Wilson interval, percent"
    return ui.Table(caption, columns, rows, _SOURCE)


def _grids(runs: Sequence[ProtocolRun]) -> list[ui.Table]:
    """Success of every job: terrain by level, one table per policy."""
    tables = []
    for run in runs[:_MAX_GRIDS]:
        levels = sorted({job.level or 0 for job in run.cells})
        rows: dict[str, list[ui.Entry]] = {}
        for job in run.cells:
            row = rows.setdefault(job.title, [ui.NONE for _ in levels])
            rate = job.success.rate
            shown = ui.Cell(f"{100 * rate:.0f}", shade=rate)
            row[levels.index(job.level or 0)] = shown
        lines = [ui.Row(ui.terrain_title(name), cells) for name, cells in rows.items()]
        caption = f"Success by level of {run.label}, percent"
        tables.append(ui.Table(caption, ["level", *map(str, levels)], lines))
    return tables


_MAX_POINTS = 240


def curriculum_section(files: Sequence[ResultFile]) -> ui.Section:
    """Curriculum levels of all trainings of all files in one figure."""
    runs = [r for f in files if isinstance(f.result, Curriculum) for r in f.result.runs]
    notes = {run.name: _curriculum_notes(run) for run in runs}
    rows = []
    for run in runs:
        cells = [f"{run.final_level:.2f}", f"{run.highest_level:.2f}"]
        count = ui.quantity(run.iterations[-1] + 1)
        rows.append(ui.Row(run.name, [*cells, count, _plateau(run.name)]))
    named = {method_of(run.name) for run in runs}
    for method, quote in paper.CURRICULUM.items():
        if method not in named:
            rows.append(ui.Row(method, [ui.NONE, ui.NONE, ui.NONE, ui.quoted(quote)]))
    columns = [
        ui.Column("run"),
        ui.Column("final level", "last tenth"),
        ui.Column("highest"),
        ui.Column("iterations"),
        ui.Column("plateau", "paper", True),
    ]
    lines = [
        Line(k, *smooth(run.iterations, run.levels), has_markers=False)
        for k, run in enumerate(runs)
    ]
    level = (paper.CURRICULUM_CEILING, f"ceiling {paper.CURRICULUM_CEILING}")
    title = "Mean curriculum level over iterations"
    drawn = curves(title, lines, "iteration", "mean level", level=level)
    note = "Each point is the mean over the last 2 % of the run up to it."
    keys = [(f"b{k % ui.NUM_COLOURS}", run.name) for k, run in enumerate(runs)]
    parts = [
        ui.Badges(ui.shared_notes(notes)),
        ui.Table("Mean curriculum level", columns, rows, "fig:distill-curve"),
        ui.Drawing(title, [drawn], note, keys),
        ui.file_settings(files),
    ]
    intro = (
        "Mean curriculum level of all robots during training. Robots that solve the "
        "top level start again at a random one, so the mean saturates at about "
        f"{paper.CURRICULUM_CEILING}."
    )
    heads = [
        ui.Headline("Curriculum, final level", run.name,
                 ui.Cell(f"{run.final_level:.2f}", "mean of the last tenth"),
                 _plateau(run.name), notes[run.name])
        for run in runs
    ]  # fmt: skip
    return ui.Section("curriculum", "Curriculum progress", intro, parts, heads)


def method_of(name: str) -> str | None:
    """The paper's objective that a run is named after, if its name tells."""
    plain = name.lower().replace("_", "-").replace("+", "-").replace(" ", "-")
    for words, method in (
        (("ta-mse", "tamse"), "TA-MSE"),
        (("mse-ppo", "d-ppo"), "MSE+PPO"),
        (("ppo",), "PPO"),
    ):
        if any(word in plain for word in words):
            return method
    return None


def _plateau(name: str) -> ui.Cell:
    method = method_of(name)
    return ui.quoted(method and paper.CURRICULUM[method], "{}", method)


def _curriculum_notes(run: LevelCurve) -> list[str]:
    count, wanted = run.iterations[-1] + 1, paper.CURRICULUM_ITERATIONS
    return [] if count == wanted else [f"{count:,} iterations (paper: {wanted:,})"]


def smooth(
    xs: Sequence[float], levels: Sequence[float]
) -> tuple[list[float], list[float]]:
    """The running mean of a curve, at so few places that the page stays small."""
    step = max(1, -(-len(levels) // _MAX_POINTS))
    ends = np.unique([*range(step, len(levels) + 1, step), len(levels)])
    return [xs[end - 1] for end in ends], smoothed(levels)[ends - 1].tolist()
