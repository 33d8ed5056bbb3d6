"""Speed: policy bundles beside the paper's onboard runtime, and our own benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from solo.report import paper
from solo.report.check import is_number
from solo.report.markup import Html, el
from solo.report.numbers import quantity, spread
from solo.report.read import Result
from solo.report.section import Headline, Section, folded, settings_table
from solo.report.tables import Cell, Column, Row, badges, table

_HARDWARE = "this machine's processor (paper: Jetson AGX Thor, TensorRT)"
_TITLES = {
    "bench policy": "Policy bundle",
    "bench depth": "Depth camera",
    "bench sim": "Simulation",
    "bench train": "Training",
    "bench recon": "Reconstructors",
}


def bench_section(results: Sequence[Result]) -> Section:
    """All benchmarks."""
    parts: list[Html | None] = []
    others: list[Html | None] = []
    heads = []
    for result in results:
        title = f"{_TITLES[result.kind]} ({result.path.name})"
        if result.kind == "bench policy":
            parts += _policy(result, title)
            heads += _headlines(result)
        elif result.kind == "bench recon":
            others += _recon(result, title)
        elif result.kind == "bench train":
            others.append(_train(result, title))
        else:
            rows = [
                Row(_words(key), [Cell(quantity(value))])
                for key, value in result.data.items()
                if is_number(value)
            ]
            others.append(table(title, ["measurement", "value"], rows))
    parts.append(el("div", *others, class_="side") if others else None)
    tables = [settings_table(r.path.name, r.data, r) for r in results]
    parts.append(folded("Files of these numbers", tables))
    intro = (
        "Rates of one run are measured in turns, so their ratios hold on a busy "
        "machine; absolute rates do not carry over to another one. Every key is "
        "defined in docs/metrics.md."
    )
    return Section("bench", "Speed", intro, parts, heads)


def _headlines(result: Result) -> list[Headline]:
    data = result.data
    ours = f"{spread(data['mean_ms'], data['std_ms'], 2)} ms"
    quote = f"{spread(paper.RUNTIME_MS.mean, paper.RUNTIME_MS.std, 2)} ms"
    name = result.path.stem
    cell = Cell(quote, "Jetson AGX Thor", True)
    return [Headline("Inference, one robot", name, Cell(ours), cell, [_HARDWARE])]


def _policy(result: Result, title: str) -> list[Html | None]:
    data = result.data
    notes = [_HARDWARE]
    steps = data.get("steps")
    if is_number(steps) and steps != paper.RUNTIME_STEPS:
        notes.append(f"{quantity(steps)} steps (paper: {paper.RUNTIME_STEPS:,})")

    def times(prefix: str) -> Cell:
        mean, std = data.get(f"{prefix}mean_ms"), data.get(f"{prefix}std_ms")
        p95 = data.get(f"{prefix}p95_ms")
        small = f"p95 {p95:.2f}" if is_number(p95) else None
        return Cell(spread(mean, std, 2) if is_number(mean) else "–", small)

    inference = Cell(
        spread(paper.RUNTIME_MS.mean, paper.RUNTIME_MS.std, 2),
        f"p95 {paper.RUNTIME_P95_MS:.2f}",
        True,
    )
    pipeline = Cell(
        spread(paper.PIPELINE_MS.mean, paper.PIPELINE_MS.std, 2), None, True
    )
    rows = [
        Row("Inference, ms", [times(""), inference]),
        Row("Whole pipeline, ms", [times("pipeline_"), pipeline]),
        Row("Torch on the same observations, ms",
            [times("torch_"), Cell("–", None, True)]),
        Row("Size, MB", [Cell(f"{data['bundle_bytes'] / 1e6:.2f}"),
                         Cell(f"{paper.ENGINE_MB:.2f}", "TensorRT engine", True)]),
    ]  # fmt: skip
    columns = [Column("measurement"), Column("ours"), Column("paper", None, True)]
    caption = f"{title}: one step of one robot, mean ± standard deviation"
    return [badges(notes), table(caption, columns, rows, "app:compute")]


def _train(result: Result, title: str) -> Html:
    stages = {k: v for k, v in result.data.items() if isinstance(v, dict)}
    keys = dict.fromkeys(key for stage in stages.values() for key in stage)
    rows = [
        Row(_words(key), [quantity(stage.get(key, "–")) for stage in stages.values()])
        for key in keys
        if all(not isinstance(stage.get(key), dict) for stage in stages.values())
    ]
    return table(title, ["measurement", *map(_words, stages)], rows)


def _recon(result: Result, title: str) -> list[Html | None]:
    tables: list[Html | None] = []
    for profile, methods in result.data.items():
        if not isinstance(methods, dict):
            continue
        found = {k: v for k, v in methods.items() if isinstance(v, dict)}
        keys = dict.fromkeys(key for row in found.values() for key in row)
        rows = [
            Row(_words(key), [quantity(row.get(key, "–")) for row in found.values()])
            for key in keys
        ]
        columns = ["measurement", *(name.upper() for name in found)]
        tables.append(table(f"{title}, profile {profile}", columns, rows))
    return tables


def _words(key: str) -> str:
    """A key of a file as words with its unit."""
    for ending, unit in (
        ("_per_s", " per second"), ("_ms", ", ms"), ("_gb", ", GB"), ("_s", ", s"),
        ("_m", ", m"),
    ):  # fmt: skip
        if key.endswith(ending):
            return key.removesuffix(ending).replace("_", " ") + unit
    return key.replace("_", " ")
