"""What is in result files: how each kind is told, and what of it must be right.

Only what is drawn is checked; what is not known is left alone, so that files of other
versions work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from solo.report import check
from solo.report.check import Malformed


def recognise(data: Mapping[str, Any]) -> str:
    """The kind of a result, which is checked.

    Raises:
        Malformed: It is of no kind, or a value is wrong.
    """
    for kind, (has, validate) in KINDS.items():
        if has(data):
            validate(data)
            return kind or str(data["protocol"]["name"])
    keys = ", ".join(list(map(str, data))[:6]) or "nothing"
    raise Malformed("the content", keys, "the keys of a result")


def check_evaluation(data: Mapping[str, Any], where: str = "") -> None:
    """An evaluation of jobs: protocol, policy and cells."""
    check.text(check.mapping(data, "protocol", where), "name", f"{where}protocol.")
    check.text(check.mapping(data, "policy", where), "name", f"{where}policy.")
    for index, cell in enumerate(check.objects(data, "cells", where)):
        at = f"{where}cells[{index}]."
        check.text(cell, "name", at)
        check_success(check.mapping(cell, "success", at), f"{at}success.")
        for key in check.mapping(cell, "outcomes", at):
            check.number(cell["outcomes"], key, f"{at}outcomes.", 0)
        for key, measure in check.mapping(cell, "measures", at).items():
            if not isinstance(measure, dict):
                raise Malformed(f"{at}measures.{key}", measure, "an object")
            for part in ("mean", "std", "count"):
                check.maybe_number(measure, part, f"{at}measures.{key}.")
        for key in ("difficulty", "level", "patch_m"):
            check.maybe_number(cell, key, at)
        failures = cell.get("failures", [])
        if not isinstance(failures, list):
            raise Malformed(f"{at}failures", failures, "a list of file names")


def check_success(rate: Mapping[str, Any], where: str) -> None:
    """A success rate with its interval."""
    trials = check.number(rate, "rollouts", where, 1)
    check.number(rate, "successes", where, 0, trials)
    for key in ("low", "rate", "high"):
        check.number(rate, key, where, 0.0, 1.0)


def _check_levels(data: Mapping[str, Any]) -> None:
    for index, found in enumerate(check.objects(data, "first")):
        check_evaluation(found, f"first[{index}].")
        _check_aggregates(found, f"first[{index}].")
    for index, found in enumerate(data.get("second") or []):
        check_evaluation(found, f"second[{index}].")
        _check_aggregates(found, f"second[{index}].")
    for column, sides in (data.get("paired") or {}).items():
        for side in ("first", "second", "difference"):
            at = f"paired.{column}."
            check.number(check.mapping(sides, side, at), "mean", f"{at}{side}.")
            check.maybe_number(sides[side], "std", f"{at}{side}.")


def _check_aggregates(found: Mapping[str, Any], where: str) -> None:
    for key, rate in check.mapping(found, "aggregates", where).items():
        if not isinstance(rate, dict):
            raise Malformed(f"{where}aggregates.{key}", rate, "an object")
        check_success(rate, f"{where}aggregates.{key}.")


def _check_robustness(data: Mapping[str, Any]) -> None:
    check.text(check.mapping(data, "protocol"), "name", "protocol.")
    check.text(check.mapping(data, "policy"), "name", "policy.")
    for index, row in enumerate(check.objects(data, "conditions")):
        at = f"conditions[{index}]."
        check.text(row, "name", at)
        if row.get("is_applicable") is False:
            continue
        check_success(check.mapping(row, "success", at), f"{at}success.")
        if row.get("cells"):
            check_evaluation({**data, "cells": row["cells"]}, at)
        if not isinstance(row.get("cost", {}), dict):
            raise Malformed(f"{at}cost", row["cost"], "an object")


def _check_route(data: Mapping[str, Any]) -> None:
    check_evaluation(data)
    route = check.mapping(data, "route")
    for key in ("robots", "length_m", "distance_m", "falls", "incidents"):
        check.number(route, key, "route.", 0.0)
    check_success(check.mapping(route, "completed", "route."), "route.completed.")
    for index, piece in enumerate(route.get("height_map_l1_m") or []):
        if not isinstance(piece, dict):
            raise Malformed(f"route.height_map_l1_m[{index}]", piece, "an object")
        for key in ("from_m", "mean"):
            check.number(piece, key, f"route.height_map_l1_m[{index}].")
    for index, cell in enumerate(data["cells"]):
        for number, walk in enumerate(cell.get("walks") or []):
            at = f"cells[{index}].walks[{number}]"
            if not isinstance(walk, dict):
                raise Malformed(at, walk, "an object")
            for key in ("robot", "begin_m", "end_m"):
                check.number(walk, key, f"{at}.")
            check.text(walk, "outcome", f"{at}.")


def _check_curriculum(data: Mapping[str, Any]) -> None:
    for index, run in enumerate(check.objects(data, "runs")):
        at = f"runs[{index}]."
        check.text(run, "name", at)
        iterations = check.numbers(run, "iterations", at)
        levels = check.numbers(run, "levels", at)
        if len(iterations) != len(levels):
            raise Malformed(f"{at}levels", levels, f"{len(iterations)} numbers")
        check.number(run, "final_level", at)
        check.number(run, "highest_level", at)


def _check_recon(data: Mapping[str, Any]) -> None:
    methods = check.mapping(data, "methods")
    for name in methods:
        row, at = check.mapping(methods, name, "methods."), f"methods.{name}."
        for key in ("parameters", "l1_cm", "edge_f1"):
            check.number(row, key, at, 0.0)
        for key in ("hard_l1_cm", "velocity_l1", "l1_cm_std", "edge_f1_std"):
            check.maybe_number(row, key, at)
        for terrain in check.mapping(row, "per_terrain_level9_cm", at):
            place = f"{at}per_terrain_level9_cm."
            check.number(row["per_terrain_level9_cm"], terrain, place, 0.0)
    for name, sides in (data.get("extent_shift") or {}).items():
        for side in sides:
            at = f"extent_shift.{name}.{side}."
            curve = check.mapping(sides, side, f"extent_shift.{name}.")
            if len(check.numbers(curve, "difficulty", at)) != len(
                check.numbers(curve, "l1_cm", at)
            ):
                raise Malformed(f"{at}l1_cm", curve["l1_cm"], "one per difficulty")


def _check_numbers(*keys: str) -> Callable[[Mapping[str, Any]], None]:
    def validate(data: Mapping[str, Any]) -> None:
        for key in keys:
            check.number(data, key)

    return validate


def _parts_have(key: str) -> Callable[[Mapping[str, Any]], bool]:
    """Whether an object within the file has a key."""

    def has(data: Mapping[str, Any]) -> bool:
        return any(isinstance(part, dict) and key in part for part in data.values())

    return has


def _profiles_have(key: str) -> Callable[[Mapping[str, Any]], bool]:
    def has(data: Mapping[str, Any]) -> bool:
        parts = [part for part in data.values() if isinstance(part, dict)]
        return any(_parts_have(key)(part) for part in parts)

    return has


KINDS: dict[
    str,
    tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], None]],
] = {
    "levels": (lambda data: "first" in data, _check_levels),
    "robustness": (lambda data: "conditions" in data, _check_robustness),
    "route": (lambda data: "route" in data, _check_route),
    "": (lambda data: "protocol" in data, check_evaluation),
    "curriculum": (lambda data: "runs" in data, _check_curriculum),
    "recon": (lambda data: "methods" in data, _check_recon),
    "bench policy": (
        lambda data: "bundle_bytes" in data,
        _check_numbers("mean_ms", "std_ms", "p95_ms", "bundle_bytes"),
    ),
    "bench depth": (
        lambda data: "multiray_frames_per_s" in data,
        _check_numbers("frames_per_s", "multiray_frames_per_s"),
    ),
    "bench sim": (
        lambda data: "raw_steps_per_s" in data,
        _check_numbers("native_steps_per_s", "raw_steps_per_s"),
    ),
    "bench train": (_parts_have("share_rollout"), lambda data: None),
    "bench recon": (_profiles_have("streaming_onnx_ms"), lambda data: None),
}
"""Kind to how it is told and checked; the empty kind is that of its protocol."""
