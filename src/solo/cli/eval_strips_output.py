"""What evaluations on strips print beside the table of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def print_progress(cell: Mapping[str, Any]) -> None:
    """How many trials came to each element of a job, and how many passed it."""
    trials = cell["success"]["rollouts"]
    head = f"{cell['terrain']}, of {trials}"
    width = max(len(head), *(2 + len(e["name"]) for e in cell["elements"]))
    print(f"{head:{width}}{'reached':>10}{'passed':>10}")
    for element in cell["elements"]:
        counts = f"{element['reached']:>10}{element['passed']:>10}"
        print(f"{'  ' + element['name']:{width}}{counts}")


def print_route(route: Mapping[str, Any]) -> None:
    """The numbers of the route, one a line."""
    done, first = route["completed"], route["first_m"]
    between, per_km = route["mean_distance_between_falls_m"], route["falls_per_km"]
    rows = {
        "walked by all robots": f"{route['distance_m']:.0f} m of "
        f"{route['robots'] * route['length_m']:.0f} m",
        "through without an incident": f"{done['successes']} of {done['rollouts']}",
        "falls": f"{route['falls']}",
        "incidents, falls included": f"{route['incidents']}",
        "falls per km": "-" if per_km is None else f"{per_km:.2f}",
        "mean distance between falls": "-" if between is None else f"{between:.1f} m",
        "way to the first incident, mean": f"{first['mean']:.1f} m",
        "longest way without an incident": f"{route['longest_m']:.1f} m",
    }
    errors = [piece["mean"] for piece in route["height_map_l1_m"]]
    if errors:
        low, high = 100 * min(errors), 100 * max(errors)
        rows["map error per piece of way"] = f"{low:.2f} to {high:.2f} cm"
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")
