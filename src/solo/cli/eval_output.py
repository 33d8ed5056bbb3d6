"""What `solo eval` shows: progress with the success so far, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solo.evaluation.protocols import Cell, Protocol
    from solo.evaluation.rollout import Rollout

_MEASURES = (
    ("vel err", "velocity_error", 1.0, 2),
    ("stance", "single_stance", 1.0, 2),
    ("lift cm", "foot_lift", 100.0, 1),
    ("stumble", "feet_stumble", 1.0, 4),
    ("foothold", "foothold_grad_penalty", 1.0, 4),
    ("map cm", "height_map_l1_m", 100.0, 2),
)
"""Heading, name of the measure, factor, digits."""


class Watcher:
    """Follows an evaluation; its methods are the callbacks of `evaluate`."""

    def __init__(self, progress: Any, task: Any, rollouts: int) -> None:
        self._progress, self._task, self._rollouts = progress, task, rollouts
        self._successes: dict[str, list[bool]] = {}
        self._part = ""

    def name_part(self, name: str) -> None:
        """Put a name before those of the jobs that follow, such as a condition's."""
        self._part = f"{name} "

    def on_rollout(self, cell: Cell, rollout: Rollout) -> None:
        """Show how many rollouts of the present job have succeeded so far."""
        done = self._successes.setdefault(cell.name, [])
        done.append(rollout.outcome.value == "success")
        self._progress.update(
            self._task,
            advance=1,
            description=(
                f"{self._part}{cell.name}: {sum(done)} of {len(done)} succeeded"
            ),
        )

    def on_cell(self, result: dict[str, Any], is_new: bool) -> None:
        """Print a line for a job; of one found on disk, take the rollouts off."""
        self._successes.pop(result["name"], None)  # The next policy has the same jobs.
        if not is_new:
            self._progress.update(self._task, advance=self._rollouts)
        note = "" if is_new else " (found)"
        name, rate = self._part + result["name"], result["success"]
        self._progress.console.print(
            f"{name}: {percent(rate)} of {rate['rollouts']}{note}",
            highlight=False,
        )


@contextmanager
def watching(protocol: Protocol, num_policies: int = 1) -> Iterator[Watcher]:
    """A progress bar over all rollouts."""
    from solo.progress import make_progress

    total = num_policies * len(protocol.cells) * protocol.rollouts
    with make_progress() as progress:
        task = progress.add_task("starting", total=total)
        yield Watcher(progress, task, protocol.rollouts)


def percent(rate: Mapping[str, Any]) -> str:
    """A success rate with its interval."""
    value, low, high = (100 * rate[key] for key in ("rate", "low", "high"))
    return f"{value:.1f} % [{low:.1f}, {high:.1f}]"


def print_cells(result: Mapping[str, Any]) -> None:
    """One row per job, and one for all."""
    cells, summary = result["cells"], result["summary"]
    shown = [m for m in _MEASURES if m[1] in summary["measures"]]
    headings = ("success, 95 %", "falls", "late", "left", *(m[0] for m in shown))
    width = max(len(cell["name"]) for cell in cells)
    print(f"{'':{width}}{headings[0]:>22}" + "".join(f"{h:>9}" for h in headings[1:]))
    for cell in cells:
        causes = [cell["outcomes"][name] for name in ("fall", "time_out", "left_patch")]
        means = {name: value["mean"] for name, value in cell["measures"].items()}
        row = [*map(str, causes), *_numbers(means, shown)]
        _print_row(cell["name"], width, cell["success"], row)
    row = ["", "", "", *_numbers(summary["measures"], shown)]
    _print_row("all", width, summary["success"], row)
    diverged = sum(cell["outcomes"]["diverged"] for cell in cells)
    if diverged:
        print(f"The physics of {diverged} rollouts broke down; they count as failures.")


def print_conditions(result: Mapping[str, Any]) -> None:
    """One row per condition, with what it costs against the nominal one."""
    rows = result["conditions"]
    width = max(len(row["name"]) for row in rows)
    headings = ("success, 95 %", "lost points, 95 %", "map cm", "more", "vel err")
    sizes = (22, 24, 9, 9, 9)
    print(
        " " * width + "".join(f"{h:>{n}}" for h, n in zip(headings, sizes, strict=True))
    )
    for row in rows:
        if not row["is_applicable"]:
            print(f"{row['name']:{width}}  not applicable: {row['reason']}")
            continue
        cost, means = row["cost"], row["measures"]
        lost = "-"
        if row["name"] != "nominal":
            lost = (
                f"{cost['success_points']:.1f} [{cost['low']:.1f}, {cost['high']:.1f}]"
            )
        more = None if row["name"] == "nominal" else cost["height_map_l1_m"]
        cells = (
            percent(row["success"]),
            lost,
            _number(means.get("height_map_l1_m"), 100.0, 2),
            _number(more, 100.0, 2),
            _number(means.get("velocity_error"), 1.0, 2),
        )
        line = "".join(f"{c:>{n}}" for c, n in zip(cells, sizes, strict=True))
        print(f"{row['name']:{width}}{line}")


def _print_row(
    name: str, width: int, success: Mapping[str, Any], cells: Sequence[str]
) -> None:
    print(f"{name:{width}}{percent(success):>22}" + "".join(f"{c:>9}" for c in cells))


def _numbers(
    means: Mapping[str, float | None], shown: Sequence[tuple[str, str, float, int]]
) -> list[str]:
    return [_number(means.get(name), factor, n) for _, name, factor, n in shown]


def _number(value: float | None, factor: float, digits: int) -> str:
    return "-" if value is None else f"{factor * value:.{digits}f}"


def print_levels(result: Mapping[str, Any]) -> None:
    """Columns of the ablation: mean and deviation over the policies of each set."""
    from solo.evaluation.metrics import mean_std

    pairs = result.get("paired")
    aggregates = [found["aggregates"] for found in result["first"]]
    headings = ["success %"]
    if pairs is not None:
        headings = ["first %", "second %", "second - first"]
    width = max(map(len, aggregates[0]))
    print(f"{'':{width}}" + "".join(f"{h:>18}" for h in headings))
    for column in aggregates[0]:
        if pairs is None:
            values = [mean_std([100 * found[column]["rate"] for found in aggregates])]
        else:
            values = pairs[column].values()
        print(f"{column:{width}}" + "".join(f"{_spread(v):>18}" for v in values))


def _spread(value: Mapping[str, Any]) -> str:
    if value["std"] is None:
        return f"{value['mean']:.2f}"
    return f"{value['mean']:.2f} ± {value['std']:.2f}"
