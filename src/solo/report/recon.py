"""The matched offline comparison of reconstructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from solo.report import paper
from solo.report.charts import Axes, curve_chart
from solo.report.check import is_number
from solo.report.extent import quoted_marks
from solo.report.markup import Html, el
from solo.report.numbers import quantity, spread
from solo.report.pictures import embed, is_png, shade
from solo.report.read import Result
from solo.report.runs import terrain_title
from solo.report.section import (
    Headline,
    Section,
    figure,
    folded,
    panels,
    settings_table,
)
from solo.report.svg import Curve
from solo.report.tables import (
    NONE,
    NUM_COLORS,
    PAPER_SILENT,
    Cell,
    Column,
    Row,
    badges,
    table,
)

_SOURCE = "tab:offline-recon"
_TITLES = {
    "qr": "QR",
    "start": "START-style",
    "dpl": "DPL-style",
    "qr_place": "QR with places",
    "flat": "flat ground",
}
_QUOTED = {"qr": "QR", "start": "START", "dpl": "DPL"}
"""Our name of a method to the paper's."""
_NUMBERS = {
    "l1_cm": ("Overall L1, cm", 2),
    "hard_l1_cm": ("Hard L1, cm", 2),
    "edge_f1": ("Edge F1", 3),
    "velocity_l1": ("Velocity L1, m/s", 3),
}
_LEVEL9 = {
    "stairs_down_25": "stairs_down_25",
    "stairs_up_25": "stairs_up_25",
    "stones_aligned": "stones",
    "stones_staggered": "stones",
    "rough_coarse": "rough",
    "rough_fine": "rough",
}
"""Our terrain to the paper's column."""


def recon_section(results: Sequence[Result]) -> Section:
    """All comparisons, one after the other."""
    parts: list[Html | None] = []
    heads = []
    for result in results:
        notes = _notes(result.data)
        if len(results) > 1:
            parts.append(el("h3", result.path.name))
        parts += [
            badges(notes),
            _table(result.data),
            _level9_table(result.data),
            _extent_figure(result.data),
            _examples(result),
        ]
        heads += _headlines(result.data, notes)
    tables = [settings_table(r.path.name, _settings(r), r) for r in results]
    parts.append(folded("Settings of these numbers", tables))
    intro = (
        "Reconstructors trained on the same recorded data with the same updates, "
        "measured on terrain that none has seen. Mean ± standard deviation over the "
        "held-out sets."
    )
    return Section("recon", "Offline reconstruction", intro, parts, heads)


def _rows_of(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    flat = data.get("flat")
    extra = {"flat": flat} if isinstance(flat, dict) else {}
    return {**data["methods"], **extra}


def _settings(result: Result) -> dict[str, Any]:
    """What of the file tells how it was made; recordings without their shards."""
    data = result.data.get("data")
    splits = data if isinstance(data, dict) else {}
    config = {
        name: {k: v for k, v in split.items() if k != "shards"}
        for name, split in splits.items()
        if isinstance(split, dict)
    }
    return {"training": result.data.get("training"), "config": config}


def _split(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    split = (data.get("data") or {}).get(name)
    return split if isinstance(split, dict) else {}


def _notes(data: Mapping[str, Any]) -> list[str]:
    notes = []
    train = _split(data, "train")
    sampler, frames = train.get("sampler"), train.get("frames")
    if sampler is not None:
        notes.append(f"sampler {sampler} (paper: the teacher)")
    if is_number(frames) and frames != paper.OFFLINE_FRAMES:
        notes.append(f"{quantity(frames)} frames (paper: about 249k)")
    updates = sorted({row["updates"] for row in data["methods"].values()
                      if is_number(row.get("updates"))})  # fmt: skip
    if updates and updates != [paper.OFFLINE_UPDATES]:
        shown = " to ".join(quantity(u) for u in sorted({updates[0], updates[-1]}))
        notes.append(f"{shown} updates (paper: 15,000)")
    shards = _split(data, "eval").get("shards")
    if isinstance(shards, dict) and len(shards) != paper.OFFLINE_SETS:
        notes.append(f"{len(shards)} held-out sets (paper: {paper.OFFLINE_SETS})")
    profile = (data.get("training") or {}).get("profile")
    if profile not in (None, "paper"):
        notes.append(f"profile {profile}: smaller depth and map")
    return notes


def _headlines(data: Mapping[str, Any], notes: Sequence[str]) -> list[Headline]:
    heads = []
    for key, unit in (("l1_cm", " cm"), ("edge_f1", "")):
        title, digits = _NUMBERS[key]
        for name, row in data["methods"].items():
            quote = paper.OFFLINE.get(_QUOTED.get(name, ""), {}).get(key)
            shown = PAPER_SILENT
            if quote is not None:
                text = spread(quote.mean, quote.std, digits)
                shown = Cell(f"{text}{unit}", _QUOTED[name], True)
            ours = spread(row[key], row.get(f"{key}_std"), digits)
            what = f"Offline, {title.split(',')[0]}"
            whose = _TITLES.get(name) or name
            heads.append(Headline(what, whose, Cell(f"{ours}{unit}"), shown, notes))
    return heads


def _table(data: Mapping[str, Any]) -> Html:
    rows = []
    for name, row in _rows_of(data).items():
        method = _QUOTED.get(name, "")
        millions = paper.OFFLINE_PARAMETERS_M.get(method)
        cells = [Cell(f"{row.get('parameters', 0) / 1e6:.2f} M")]
        cells.append(PAPER_SILENT if millions is None
                     else Cell(f"{millions:.2f} M", None, True))  # fmt: skip
        for key, (_, digits) in _NUMBERS.items():
            value = row.get(key)
            cells.append(
                Cell(spread(value, row.get(f"{key}_std"), digits))
                if is_number(value)
                else NONE
            )
            if key in paper.OFFLINE_COLUMNS:
                quote = paper.OFFLINE.get(method, {}).get(key)
                cells.append(
                    PAPER_SILENT
                    if quote is None
                    else Cell(spread(quote.mean, quote.std, digits), None, True)
                )
        rows.append(Row(_TITLES.get(name, name), cells))
    columns = [Column("method"), Column("Parameters"), Column("", "paper", True)]
    for key, (title, _) in _NUMBERS.items():
        columns.append(Column(title))
        if key in paper.OFFLINE_COLUMNS:
            columns.append(Column("", "paper", True))
    caption = "Held-out terrain: error of the height map, edges and velocity"
    return table(caption, columns, rows, _SOURCE)


def _level9_table(data: Mapping[str, Any]) -> Html | None:
    methods = _rows_of(data)
    names = dict.fromkeys(
        name
        for row in methods.values()
        for name in row.get("per_terrain_level9_cm", {})
    )
    if not names:
        return None
    rows = []
    for terrain in names:
        cells = []
        for method, row in methods.items():
            value = row.get("per_terrain_level9_cm", {}).get(terrain)
            deviation = (row.get("per_terrain_level9_cm_std") or {}).get(terrain)
            cells.append(Cell(spread(value, deviation, 2)))
            if method in _QUOTED:
                quote = paper.OFFLINE[_QUOTED[method]].get(_LEVEL9.get(terrain, ""))
                cells.append(
                    PAPER_SILENT
                    if quote is None
                    else Cell(spread(quote.mean, quote.std, 2), None, True)
                )
        small = None
        if _LEVEL9.get(terrain) in ("stones", "rough"):
            small = f"the paper's is its {_LEVEL9[terrain]} group"
        rows.append(Row(Cell(terrain_title(terrain), small), cells))
    columns = [Column("terrain")]
    for method in methods:
        columns.append(Column(_TITLES.get(method, method)))
        if method in _QUOTED:
            columns.append(Column("", "paper", True))
    return table("Height-map L1 at level 9, cm", columns, rows, _SOURCE)


def _extent_figure(data: Mapping[str, Any]) -> Html | None:
    curves = []
    for number, (method, sides) in enumerate((data.get("extent_shift") or {}).items()):
        for k, (side, curve) in enumerate(sides.items()):
            label = f"{_TITLES.get(method, method)}, {side} m"
            xs, ys = curve["difficulty"], curve["l1_cm"]
            curves.append(Curve(number, label, xs, ys, f"{side} m", is_dashed=k > 0))
    if not curves:
        return None
    keys = [
        el("li", el("i", class_=f"swatch b{k % NUM_COLORS}"), _TITLES.get(m) or m)
        for k, m in enumerate(data["extent_shift"])
    ]
    axes = Axes("Offline L1 over difficulty", "difficulty", "height-map L1, cm")
    return figure(
        "Descending stairs: solid 8 m as recorded for training, dashed 10 m",
        el("ul", *keys, class_="legend"),
        panels([curve_chart(axes, curves, quoted_marks())]),
        note="Diamonds: the paper's closed-loop errors at 0.99; ours are offline.",
    )


def _examples(result: Result) -> Html | None:
    """Maps of some windows: from the file, or the figure beside it."""
    examples = result.data.get("examples")
    if isinstance(examples, list) and examples:
        rows = [_example(example) for example in examples if isinstance(example, dict)]
        shown = [row for row in rows if row is not None]
        if shown:
            return figure(
                "Ground around the robot, its front to the right",
                *shown,
                note="Each row has its own colours, set by the truth.",
            )
    path = result.folder / "reconstructions.png"
    if not path.is_file() or not is_png(path):
        return None
    words = "Latest depth, true height map and each method's, one row per terrain"
    image = embed(path.read_bytes(), words)
    return figure(words, el("div", image, class_="scroll paperlike", tabindex="0"))


def _example(example: Mapping[str, Any]) -> Html | None:
    """One terrain: latest depth, the truth and what each method made of it."""
    try:
        truth = np.array(example["truth"], dtype=np.float64)
        maps = {k: np.array(v, dtype=np.float64) for k, v in example["maps"].items()}
        depth = np.array(example["depth"], dtype=np.float64)
        sizes = {m.shape for m in (truth, *maps.values())}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    if len(sizes) != 1 or truth.ndim != 2 or depth.ndim != 2:
        return None
    low, high = float(truth.min()), float(truth.max())
    if high - low < 0.1:
        low, high = low - 0.05, high + 0.05
    drawn = [("latest depth", shade(depth, 0.1, 1.0, gray=True))]
    drawn.append(("ground truth", shade(truth[::-1], low, high)))
    for name, values in maps.items():
        error = 100 * np.abs(values - truth).mean()
        title = f"{_TITLES.get(name, name)}, L1 {error:.1f} cm"
        drawn.append((title, shade(values[::-1], low, high)))
    terrain = terrain_title(str(example.get("terrain", "")))
    cells = [
        el("div", embed(png, f"{terrain}: {title}", "map"), el("small", title))
        for title, png in drawn
    ]
    return el("div", el("h4", terrain), el("div", *cells, class_="maps"))
