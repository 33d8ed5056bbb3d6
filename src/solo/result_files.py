"""Result files: writing the dataclasses of `solo.results` and reading them again.

A file is one of them as JSON; its ``kind`` says which. Files of other versions and
other people's files can be read: unknown keys are left out, missing ones have defaults.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from solo.errors import SoloError
from solo.files import write_json
from solo.results import (
    Curriculum,
    Evaluation,
    Levels,
    Reconstruction,
    Robustness,
)

RESULT = "result.json"
"""Name of the file in the folder of an evaluation."""


@dataclass(frozen=True)
class Bench:
    """Numbers of a benchmark; ``kind`` says of which one."""

    kind: str
    numbers: dict[str, Any]

    def __post_init__(self) -> None:
        measured = [k for k in self.numbers if k.endswith(("_ms", "_per_s", "steps"))]
        for key in (*_BENCHES[self.kind], *measured):
            value = self.numbers.get(key)
            if value is None and key in measured:
                continue
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise ValueError(f"{key} is {value!r}, expected a number")


_BENCHES: dict[str, tuple[str, ...]] = {
    "bench policy": ("mean_ms", "std_ms", "p95_ms", "bundle_bytes"),
    "bench depth": ("frames_per_s", "multiray_frames_per_s"),
    "bench sim": ("native_steps_per_s", "raw_steps_per_s"),
    "bench train": (),
    "bench recon": (),
}
"""Kind to the numbers that must be there."""

Result = Evaluation | Levels | Robustness | Curriculum | Reconstruction | Bench

_KINDS: dict[str, type] = {
    "evaluation": Evaluation,
    "levels": Levels,
    "robustness": Robustness,
    "curriculum": Curriculum,
    "reconstruction": Reconstruction,
}

_SIGNS = {
    "first": "levels",
    "conditions": "robustness",
    "protocol": "evaluation",
    "runs": "curriculum",
    "methods": "reconstruction",
    "bundle_bytes": "bench policy",
    "multiray_frames_per_s": "bench depth",
    "raw_steps_per_s": "bench sim",
    "share_rollout": "bench train",
    "streaming_onnx_ms": "bench recon",
}
"""Key that tells the kind of a file from before files had one."""

EXPECTED = "a result of `solo eval`, `solo recon compare --json` or `solo bench --json`"

HINT = f"It must be {EXPECTED}."

T = TypeVar("T")


def to_json(result: Result) -> dict[str, Any]:
    """A result as it stands in its file."""
    return json.loads(json.dumps(asdict(result)))


def write_result(path: Path, result: Result) -> None:
    """Write a result file."""
    write_json(path, asdict(result))


def parse_result(path: Path, data: dict[str, Any]) -> Result:
    """What a file holds.

    Raises:
        SoloError: It is no result, or a value is wrong.
    """
    kind = data.get("kind") or _find_kind(data)
    kind = kind if isinstance(kind, str) else repr(kind)[:40]
    if kind in _BENCHES:
        numbers = {key: value for key, value in data.items() if key != "kind"}
        return parse(Bench, {"kind": kind, "numbers": numbers}, path, HINT)
    if kind not in _KINDS:
        keys = ", ".join(list(map(str, data))[:6]) or "nothing"
        reason = f"its kind is {kind!r} and its keys are {keys}"
        raise _refused(path, reason, HINT)
    return parse(_KINDS[kind], data, path, HINT)


def parse(cls: type[T], data: object, path: Path, hint: str) -> T:
    """A dataclass from JSON; keys that it does not know are left out.

    Raises:
        SoloError: A value is missing or wrong; the message names its place.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(cls).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}"
            for part in first["loc"]
            if not str(part).startswith(("function-", "tuple[", "dict["))
        ).lstrip(".")
        raise _refused(path, f"{place} {_in_words(first)}".strip(), hint) from error


def _in_words(error: Any) -> str:
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    found = repr(error["input"])
    found = found if len(found) <= 40 else f"{found[:37]}..."
    return f"is {found}, expected " + error["msg"].removeprefix("Input should be ")


def _find_kind(data: dict[str, Any]) -> str | None:
    for key, kind in _SIGNS.items():
        if key in data:
            return kind
    for part in data.values():  # Trainings and reconstructors, one level down.
        inner = _find_kind(part) if isinstance(part, dict) else None
        if inner in ("bench train", "bench recon"):
            return inner
    return None


def _refused(path: Path, reason: str, hint: str) -> SoloError:
    return SoloError(f"Cannot use {str(path)!r}: {' '.join(reason.split())}. {hint}")
