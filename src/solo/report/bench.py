"""Speed: what `solo bench` measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from solo.report import paper
from solo.report import parts as ui
from solo.report.read import ResultFile
from solo.result_files import Bench

_HARDWARE = "this machine's processor (paper: Jetson AGX Thor, TensorRT)"
_BENCHES = {
    "bench policy": "Policy bundle",
    "bench depth": "Depth camera",
    "bench sim": "Simulation",
    "bench train": "Training",
    "bench recon": "Reconstructors",
}
_UNITS = {"_per_s": " per second", "_ms": ", ms", "_gb": ", GB", "_s": ", s",
          "_m": ", m"}  # fmt: skip


def bench_section(files: Sequence[ResultFile]) -> ui.Section:
    """All benchmarks."""
    parts: list[Any] = []
    heads = []
    for file in files:
        bench = file.result
        assert isinstance(bench, Bench)
        title = f"{_BENCHES[bench.kind]} ({file.path.name})"
        if bench.kind == "bench policy":
            parts += _policy_parts(bench.numbers, title)
            mean, std = bench.numbers["mean_ms"], bench.numbers["std_ms"]
            said = ui.spread(paper.RUNTIME_MS.mean, paper.RUNTIME_MS.std, 2)
            heads.append(
                ui.Headline("Inference, one robot", file.path.stem,
                         ui.Cell(f"{ui.spread(mean, std, 2)} ms"),
                         ui.quoted(said, "{} ms", "Jetson AGX Thor"), [_HARDWARE])
            )  # fmt: skip
        else:
            parts += _plain_tables(bench.numbers, title)
    parts.append(ui.file_settings(files))
    intro = (
        "Rates of one run are measured in turns, so their ratios hold on a busy "
        "machine; absolute rates do not carry over to another one. Every key is "
        "defined in docs/metrics.md."
    )
    return ui.Section("bench", "Speed", intro, parts, heads)


def _policy_parts(data: Mapping[str, Any], title: str) -> list[Any]:
    notes = [_HARDWARE]
    if data.get("steps") not in (None, paper.RUNTIME_STEPS):
        steps = ui.quantity(data["steps"])
        notes.append(f"{steps} steps (paper: {paper.RUNTIME_STEPS:,})")

    def times(prefix: str) -> ui.Cell:
        mean, std = data.get(f"{prefix}mean_ms"), data.get(f"{prefix}std_ms")
        p95 = data.get(f"{prefix}p95_ms")
        return ui.Cell(
            ui.spread(mean, std, 2), None if p95 is None else f"p95 {p95:.2f}"
        )

    said = [ui.spread(s.mean, s.std, 2) for s in (paper.RUNTIME_MS, paper.PIPELINE_MS)]
    p95 = f"p95 {paper.RUNTIME_P95_MS:.2f}"
    size = ui.quoted(f"{paper.ENGINE_MB:.2f}", "{}", "TensorRT engine")
    rows = [
        ui.Row("Inference, ms", [times(""), ui.quoted(said[0], "{}", p95)]),
        ui.Row("Whole pipeline, ms", [times("pipeline_"), ui.quoted(said[1])]),
        ui.Row(
            "Torch on the same observations, ms", [times("torch_"), ui.quoted(None)]
        ),
        ui.Row("Size, MB", [f"{data['bundle_bytes'] / 1e6:.2f}", size]),
    ]
    columns = [
        ui.Column("measurement"),
        ui.Column("ours"),
        ui.Column("paper", None, True),
    ]
    caption = f"{title}: one step of one robot, mean ± standard deviation"
    return [ui.Badges(notes), ui.Table(caption, columns, rows, "app:compute")]


def _plain_tables(data: Mapping[str, Any], title: str) -> list[ui.Table]:
    """Numbers as they are: one column, or one for each part that has its own."""
    parts = {k: v for k, v in data.items() if isinstance(v, dict)}
    if any(isinstance(v, dict) for part in parts.values() for v in part.values()):
        return [
            table
            for name, part in parts.items()
            for table in _plain_tables(part, f"{title}, {name}")
        ]
    columns = parts or {"value": data}
    keys = dict.fromkeys(
        key
        for column in columns.values()
        for key, value in column.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    rows = [
        ui.Row(_words(key), [ui.quantity(c.get(key, "–")) for c in columns.values()])
        for key in keys
    ]
    heads = ["measurement", *(name.replace("_", " ") for name in columns)]
    return [ui.Table(title, heads, rows)] if rows else []


def _words(key: str) -> str:
    """A key of a file as words with its unit."""
    for ending, unit in _UNITS.items():
        if key.endswith(ending):
            return key.removesuffix(ending).replace("_", " ") + unit
    return key.replace("_", " ")
