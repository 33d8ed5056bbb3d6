"""Output of `solo eval`: progress with the success rate so far, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Column, Table

from solo.cli import print_table
from solo.progress import make_progress
from solo.result_files import RESULT, to_json
from solo.results import (
    MAP_ERROR,
    Evaluation,
    Job,
    Levels,
    Mean,
    Outcome,
    Rate,
    Robustness,
    Rollout,
    RouteSummary,
)

if TYPE_CHECKING:
    from solo.evaluation.protocols import EvalCell, Protocol

_MEASURES = (
    ("vel err", "velocity_error", 1.0, 2),
    ("stance", "single_stance", 1.0, 2),
    ("lift cm", "foot_lift", 100.0, 1),
    ("stumble", "feet_stumble", 1.0, 4),
    ("foothold", "foothold_grad_penalty", 1.0, 4),
    ("map cm", "height_map_l1_m", 100.0, 2),
    ("forward m/s", "moved_forward", 1.0, 2),
    ("left m/s", "moved_sideways", 1.0, 2),
    ("turn rad/s", "turned", 1.0, 2),
)
"""Heading, name of the measure, factor, digits."""


class Watcher:
    """Follows an evaluation; its methods are the callbacks of `evaluate`."""

    def __init__(self, progress: Any, task: Any, rollouts: int) -> None:
        self._progress, self._task, self._rollouts = progress, task, rollouts
        self._successes: dict[str, dict[int, bool]] = {}
        self._part = ""

    def name_part(self, name: str) -> None:
        """Prefix the names of the following jobs, e.g. with a condition."""
        self._part = f"{name} "

    def on_rollout(self, cell: EvalCell, rollout: Rollout) -> None:
        """Show how many rollouts of the current job have succeeded so far.

        If a robot restarts on the route, only its first walk counts.
        """
        done = self._successes.setdefault(cell.name, {})
        if rollout.index in done:
            return
        done[rollout.index] = rollout.outcome == Outcome.SUCCESS
        self._progress.update(
            self._task,
            advance=1,
            description=(
                f"{self._part}{cell.name}: {sum(done.values())} of {len(done)} "
                "succeeded"
            ),
        )

    def on_job(self, job: Job, is_new: bool) -> None:
        """Print a line for a job; one found on disk also advances the progress bar."""
        self._successes.pop(job.name, None)  # The next policy has the same jobs.
        if not is_new:
            self._progress.update(self._task, advance=self._rollouts)
        note = "" if is_new else " (found)"
        self._progress.console.print(
            f"{self._part}{job.name}: {percent(job.success)} of "
            f"{job.success.rollouts}{note}",
            highlight=False,
        )


@contextmanager
def watching(protocol: Protocol, num_policies: int = 1) -> Iterator[Watcher]:
    """A progress bar over all rollouts."""
    total = num_policies * len(protocol.cells) * protocol.rollouts
    with make_progress() as progress:
        task = progress.add_task("starting", total=total)
        yield Watcher(progress, task, protocol.rollouts)


def percent(rate: Rate) -> str:
    """A success rate with its interval."""
    value, low, high = (100 * part for part in (rate.rate, rate.low, rate.high))
    return f"{value:.1f} % [{low:.1f}, {high:.1f}]"


def finish(result: Evaluation | Levels | Robustness, folder: Path) -> dict[str, Any]:
    """Say where the result is and how long it took; return what ``--json`` writes."""
    print(
        f"Wrote {folder / RESULT}: {result.env_steps} steps in "
        f"{result.wall_time_s:.0f} s, {result.env_steps_per_s:.0f} steps/s"
    )
    return to_json(result)


def print_evaluation(result: Evaluation) -> None:
    """One row per job and one for all jobs; for the route, its own numbers."""
    if result.route is not None:
        print_route(result.route)
        return
    jobs, summary = result.cells, result.summary
    assert summary is not None
    shown = [m for m in _MEASURES if m[1] in summary.measures]
    names = [m[0] for m in shown]
    table = _make_table("", "success, 95 %", "falls", "late", "left", *names)
    for job in jobs:
        causes = [job.outcomes[name] for name in ("fall", "time_out", "left_patch")]
        means = {name: value.mean for name, value in job.measures.items()}
        row = [percent(job.success), *map(str, causes), *_numbers(means, shown)]
        table.add_row(job.name, *row)
    row = [percent(summary.success), "", "", "", *_numbers(summary.measures, shown)]
    table.add_row("all", *row)
    print_table(table)
    diverged = sum(job.outcomes["diverged"] for job in jobs)
    if diverged:
        print(f"The physics of {diverged} rollouts broke down; they count as failures.")
    for job in jobs:
        if len(job.elements) > 1:
            head = f"{job.terrain}, of {job.success.rollouts}"
            table = _make_table(head, "reached", "passed")
            for element in job.elements:
                table.add_row(element.name, f"{element.reached}", f"{element.passed}")
            print_table(table)


def print_route(route: RouteSummary) -> None:
    """The numbers of the route, one per line."""
    done, first = route.completed, route.first_m
    between, per_km = route.mean_distance_between_falls_m, route.falls_per_km
    assert first is not None
    rows = {
        "walked by all robots": f"{route.distance_m:.0f} m of "
        f"{route.robots * route.length_m:.0f} m",
        "through without an incident": f"{done.successes} of {done.rollouts}",
        "falls": f"{route.falls}",
        "incidents, falls included": f"{route.incidents}",
        "falls per km": "-" if per_km is None else f"{per_km:.2f}",
        "mean distance between falls": "-" if between is None else f"{between:.1f} m",
        "way to the first incident, mean": f"{first.mean:.1f} m",
        "longest way without an incident": f"{route.longest_m:.1f} m",
    }
    errors = [piece.mean for piece in route.height_map_l1_m]
    if errors:
        low, high = 100 * min(errors), 100 * max(errors)
        rows["map error per piece of way"] = f"{low:.2f} to {high:.2f} cm"
    table = _make_table("route", "")
    for name, value in rows.items():
        table.add_row(name, value)
    print_table(table)


def print_conditions(result: Robustness) -> None:
    """One row per condition, with its cost relative to the nominal one."""
    heads = ("success, 95 %", "lost points, 95 %", "map cm", "more", "vel err")
    table = _make_table("", *heads)
    for row in result.conditions:
        if row.success is None or row.cost is None:
            table.add_row(row.name, f"not applicable: {row.reason}")
            continue
        cost, is_nominal = row.cost, row.name == "nominal"
        lost = f"{cost.success_points:.1f} [{cost.low:.1f}, {cost.high:.1f}]"
        table.add_row(
            row.name,
            percent(row.success),
            "-" if is_nominal else lost,
            _number(row.measures.get(MAP_ERROR), 100.0, 2),
            _number(None if is_nominal else cost.height_map_l1_m, 100.0, 2),
            _number(row.measures.get("velocity_error"), 1.0, 2),
        )
    print_table(table)


def print_levels(result: Levels) -> None:
    """Columns of the ablation: mean and std over the policies of each set."""
    pairs = result.paired
    aggregates = [found.aggregates for found in result.first]
    heads = ["first %", "second %", "second - first"] if pairs else ["success %"]
    table = _make_table("", *heads)
    for column in aggregates[0]:
        if pairs:
            pair = pairs[column]
            values = [pair.first, pair.second, pair.difference]
        else:
            values = [Mean.of([100 * found[column].rate for found in aggregates])]
        table.add_row(column, *map(str, values))
    print_table(table)


def _make_table(first: str, *headings: str) -> Table:
    """A column of names, then columns of numbers."""
    return Table(first, *(Column(heading, justify="right") for heading in headings))


def _numbers(
    means: Mapping[str, float | None], shown: Sequence[tuple[str, str, float, int]]
) -> list[str]:
    return [_number(means.get(name), factor, n) for _, name, factor, n in shown]


def _number(value: float | None, factor: float, digits: int) -> str:
    return "-" if value is None else f"{factor * value:.{digits}f}"
