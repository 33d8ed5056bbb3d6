"""The offline comparison of reconstructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from solo.report import paper
from solo.report import parts as ui
from solo.report.extent import extent_marks
from solo.report.failures import embed, is_media
from solo.report.figures import Line, curves, picture
from solo.report.read import ResultFile
from solo.results import METHOD_TITLES, MethodScore, Reconstruction

_SOURCE = "tab:offline-recon"
_QUOTED = {"qr": "QR", "start": "START", "dpl": "DPL"}
"""Our name of a method to the paper's."""
_NUMBERS = {
    "l1_cm": ("Overall L1, cm", 2),
    "hard_l1_cm": ("Hard L1, cm", 2),
    "edge_f1": ("Edge F1", 3),
    "matched_edge_f1": ("Edges one to one, F1", 3),
    "matched_edge_precision": ("Precision", 3),
    "matched_edge_recall": ("Recall", 3),
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


def _title(method: str) -> str:
    return METHOD_TITLES.get(method) or method


def _quote(method: str, key: str, digits: int, unit: str = "") -> ui.Cell:
    found = paper.OFFLINE.get(_QUOTED.get(method, ""), {}).get(key)
    if found is None:
        return ui.quoted(None)
    return ui.quoted(ui.spread(found.mean, found.std, digits) + unit)


def recon_section(files: Sequence[ResultFile]) -> ui.Section:
    """All comparisons of reconstructors, one after the other."""
    parts: list[Any] = []
    heads: list[ui.Headline] = []
    for file in files:
        found = file.result
        assert isinstance(found, Reconstruction)
        notes = _recon_notes(found)
        if len(files) > 1:
            parts.append(ui.Text(file.path.name, heading=True))
        parts += [ui.Badges(notes), _recon_table(found), _level9_table(found)]
        parts += [_extent_figure(found), _examples(file, found)]
        heads += _recon_headlines(found, notes)
    parts.append(ui.file_settings(files))
    intro = (
        "Reconstructors trained on the same recorded data with the same updates, "
        "measured on terrain that none has seen. Mean ± standard deviation over the "
        "held-out sets."
    )
    return ui.Section("recon", "Offline reconstruction", intro, parts, heads)


def _rows(found: Reconstruction) -> dict[str, MethodScore]:
    baselines = {"flat": found.flat, "noise": found.noise}
    return {**found.methods, **{k: v for k, v in baselines.items() if v is not None}}


def _recon_notes(found: Reconstruction) -> list[str]:
    train, held_out = (found.data.get(k) or {} for k in ("train", "eval"))
    notes = []
    if train.get("sampler") is not None:
        notes.append(f"sampler {train['sampler']} (paper: the teacher)")
    if train.get("frames") not in (None, paper.OFFLINE_FRAMES):
        notes.append(f"{ui.quantity(train['frames'])} frames (paper: about 249k)")
    updates = {m.updates for m in found.methods.values() if m.updates is not None}
    if updates and updates != {paper.OFFLINE_UPDATES}:
        ends = sorted({min(updates), max(updates)})
        shown = " to ".join(ui.quantity(u) for u in ends)
        notes.append(f"{shown} updates (paper: 15,000)")
    shards = held_out.get("shards")
    if isinstance(shards, dict) and len(shards) != paper.OFFLINE_SETS:
        notes.append(f"{len(shards)} held-out sets (paper: {paper.OFFLINE_SETS})")
    profile = found.training.get("profile")
    if profile not in (None, "paper"):
        notes.append(f"profile {profile}: smaller depth and map")
    return notes


def _recon_headlines(found: Reconstruction, notes: Sequence[str]) -> list[ui.Headline]:
    heads = []
    for key, unit in (("l1_cm", " cm"), ("edge_f1", "")):
        title, digits = _NUMBERS[key]
        for name, row in found.methods.items():
            value, std = getattr(row, key), getattr(row, f"{key}_std")
            said = paper.OFFLINE.get(_QUOTED.get(name, ""), {}).get(key)
            score = None
            if said is not None and value is not None:
                score = ui.Score(value, said.mean, key == "edge_f1")
            ours = ui.Cell(ui.spread(value, std, digits) + unit)
            what = f"Offline, {title.split(',')[0]}"
            quote = _quote(name, key, digits, unit)
            heads.append(ui.Headline(what, _title(name), ours, quote, notes, score))
    return heads


def _recon_table(found: Reconstruction) -> ui.Table:
    rows = []
    methods = _rows(found)
    numbers = {
        key: shown
        for key, shown in _NUMBERS.items()
        if key in paper.OFFLINE_COLUMNS
        or any(getattr(row, key) is not None for row in methods.values())
    }
    for name, row in methods.items():
        millions = paper.OFFLINE_PARAMETERS_M.get(_QUOTED.get(name, ""))
        cells = [
            ui.Cell(f"{row.parameters / 1e6:.2f} M"),
            ui.quoted(millions, "{:.2f} M"),
        ]
        for key, (_, digits) in numbers.items():
            value, std = getattr(row, key), getattr(row, f"{key}_std")
            cells.append(
                ui.NONE if value is None else ui.Cell(ui.spread(value, std, digits))
            )
            if key in paper.OFFLINE_COLUMNS:
                cells.append(_quote(name, key, digits))
        rows.append(ui.Row(_title(name), cells))
    columns = [
        ui.Column("method"),
        ui.Column("Parameters"),
        ui.Column("", "paper", True),
    ]
    for key, (title, _) in numbers.items():
        columns.append(ui.Column(title))
        if key in paper.OFFLINE_COLUMNS:
            columns.append(ui.Column("", "paper", True))
    caption = "Held-out terrain: error of the height map, edges and velocity"
    return ui.Table(caption, columns, rows, _SOURCE)


def _level9_table(found: Reconstruction) -> ui.Table | None:
    methods = _rows(found)
    rows = []
    names = dict.fromkeys(n for m in methods.values() for n in m.per_terrain_level9_cm)
    for terrain in names:
        cells = []
        for method, row in methods.items():
            value = row.per_terrain_level9_cm.get(terrain)
            cells.append(
                ui.spread(value, row.per_terrain_level9_cm_std.get(terrain), 2)
            )
            if method in _QUOTED:
                cells.append(_quote(method, _LEVEL9.get(terrain, ""), 2))
        group = _LEVEL9.get(terrain)
        small = f"the paper's is its {group} group" if group in ("stones", "rough") \
            else None  # fmt: skip
        rows.append(ui.Row(ui.Cell(ui.terrain_title(terrain), small), cells))
    columns = [ui.Column("terrain")]
    for method in methods:
        columns.append(ui.Column(_title(method)))
        columns += [ui.Column("", "paper", True)] if method in _QUOTED else []
    caption = "Height-map L1 at level 9, cm"
    return ui.Table(caption, columns, rows, _SOURCE) if rows else None


def _extent_figure(found: Reconstruction) -> ui.Drawing | None:
    lines = [
        Line(number, curve.difficulty, curve.l1_cm, is_dashed=k > 0)
        for number, sides in enumerate(found.extent_shift.values())
        for k, curve in enumerate(sides.values())
    ]
    if not lines:
        return None
    title = "Descending stairs: solid 8 m as recorded for training, dashed 10 m"
    drawn = curves(title, lines, "difficulty", "height-map L1, cm", extent_marks())
    keys = [
        (f"b{k % ui.NUM_COLOURS}", _title(m)) for k, m in enumerate(found.extent_shift)
    ]
    note = "Diamonds: the paper's closed-loop errors at 0.99; ours are offline."
    return ui.Drawing(title, [drawn], note, keys)


def _examples(file: ResultFile, found: Reconstruction) -> ui.Pictures | None:
    """Maps of some windows: from the file, or the figure beside it."""
    rows = [row for row in map(_example, found.examples) if row is not None]
    if rows:
        title = "Ground around the robot, its front to the right"
        return ui.Pictures(
            title, rows, "Each row has its own colours, set by the truth."
        )
    path = file.path.parent / "reconstructions.png"
    if not is_media(path):
        return None
    title = "Latest depth, true height map and each method's, one row per terrain"
    return ui.Pictures(title, [("", [("", embed(path))])])


def _example(example: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]] | None:
    """One terrain: latest depth, the truth and what each method made of it."""
    try:
        truth = np.array(example["truth"], dtype=np.float64)
        maps = {k: np.array(v, dtype=np.float64) for k, v in example["maps"].items()}
        depth = np.array(example["depth"], dtype=np.float64)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    sizes = {m.shape for m in (truth, *maps.values())}
    if len(sizes) != 1 or truth.ndim != 2 or depth.ndim != 2:
        return None
    low, high = float(truth.min()), float(truth.max())
    if high - low < 0.1:
        low, high = low - 0.05, high + 0.05
    drawn = [("latest depth", picture(depth, 0.1, 1.0, is_depth=True))]
    drawn.append(("ground truth", picture(truth[::-1], low, high)))
    for name, values in maps.items():
        error = 100 * np.abs(values - truth).mean()
        title = f"{_title(name)}, L1 {error:.1f} cm"
        drawn.append((title, picture(values[::-1], low, high)))
    return ui.terrain_title(str(example.get("terrain", ""))), drawn
