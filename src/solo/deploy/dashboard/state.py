"""A record as JSON for the page; pictures as bytes, which the page colours itself."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from solo.deploy.dashboard.slot import RECENT
from solo.deploy.loop import CAUSES, JITTER_EDGES_MS
from solo.deploy.observation import projected_gravity
from solo.deploy.phase import Phase
from solo.deploy.safety import FAULTS, Reaction

UNKNOWN_AGE_S = 1e6
"""What is older than this was never there."""


def describe(record: np.void | None, info: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows.

    Args:
        record: The newest tick; None before the first.
        info: What does not change during a run, see `publisher.Dashboard`.
    """
    if record is None:
        return {"tick": 0, "info": dict(info)}
    tick = record["tick"]
    quat = tick["quat_wxyz"]
    upright = -projected_gravity(quat)[2] if np.linalg.norm(quat) > 0.5 else np.nan
    tilt_deg = np.degrees(np.arccos(np.clip(upright, -1.0, 1.0)))
    return {
        "info": dict(info),
        "tick": int(tick["ticks"]),
        "time_s": float(tick["time_s"]),
        "phase": Phase(int(tick["phase"])).name.lower(),
        "phase_s": float(tick["time_s"] - tick["phase_since_s"]),
        "note": _text(tick["note"]),
        "tilt_deg": _numbers(tilt_deg),
        "ages_ms": [_age_ms(age) for age in tick["ages_s"]],
        "velocity": {
            "command": _numbers(tick["command"]),
            "wanted": _numbers(tick["wanted"]),
            "measured": _numbers(tick["measured"]) if tick["has_view"] else None,
        },
        "timing": timing(record),
        "faults": faults(record),
        "depth": {
            "sequence": int(tick["depth_sequence"]),
            "shape": list(record["depth_mm"].shape),
            "data": depth_bytes(record["depth_mm"], info["max_range_m"]),
        },
        "map": ground(record) if tick["has_view"] else None,
    }


def timing(record: np.void) -> dict[str, Any]:
    """Deadline accounting, and the last ten seconds tick by tick, in milliseconds."""
    tick = record["tick"]
    ticks = int(tick["ticks"])
    count = min(ticks, RECENT)
    order = np.arange(ticks - count, ticks) % RECENT
    tick_ms = 1e3 * record["recent_tick_s"][order].astype(np.float64)
    jitter_ms = 1e3 * record["recent_jitter_s"][order].astype(np.float64)
    shares = np.quantile(tick_ms, [0.5, 0.95]) if count else np.zeros(2)
    return {
        "late": int(tick["late"]),
        "overruns": int(tick["overruns"]),
        "skipped": int(tick["skipped"]),
        "max_jitter_ms": 1e3 * float(tick["max_jitter_s"]),
        "max_tick_ms": 1e3 * float(tick["max_tick_s"]),
        "median_tick_ms": float(shares[0]),
        "p95_tick_ms": float(shares[1]),
        "edges_ms": list(JITTER_EDGES_MS),
        "histogram": tick["histogram"].tolist(),
        "causes": dict(zip(CAUSES, tick["causes"].tolist(), strict=True)),
        "recent_tick_ms": np.round(tick_ms, 2).tolist(),
        "recent_jitter_ms": np.round(jitter_ms, 2).tolist(),
    }


def faults(record: np.void) -> list[dict[str, Any]]:
    """Faults that occurred, the newest first."""
    found = []
    for place, name in enumerate(FAULTS):
        if record["fault_count"][place] == 0:
            continue
        ago = float(record["tick"]["time_s"] - record["fault_time_s"][place])
        found.append(
            {
                "name": name,
                "reaction": Reaction(int(record["fault_reaction"][place])).name.lower(),
                "count": int(record["fault_count"][place]),
                "is_active": bool(record["fault_active"][place]),
                "ago_s": ago,
                "message": _text(record["fault_message"][place]),
            }
        )
    return sorted(found, key=lambda fault: fault["ago_s"])


def ground(record: np.void) -> dict[str, Any]:
    """The map in millimetres, int16, and where the policy looks, 0 to 255."""
    height_mm = np.clip(1e3 * np.nan_to_num(record["height_map"]), -32e3, 32e3)
    attention = np.nan_to_num(record["attention"])
    share = attention / max(float(attention.max()), 1e-9)
    return {
        "shape": list(height_mm.shape),
        "height_mm": _packed(np.rint(height_mm).astype("<i2")),
        "attention_shape": list(share.shape),
        "attention": _packed(np.rint(255.0 * np.clip(share, 0, 1)).astype(np.uint8)),
    }


def depth_bytes(depth_mm: np.ndarray, max_range_m: float) -> str:
    """One byte per pixel: 0 is invalid, 1 to 255 is near to ``max_range_m``."""
    share = np.minimum(depth_mm / (1e3 * max_range_m), 1.0)
    return _packed(np.where(depth_mm > 0, 1 + np.rint(254 * share), 0).astype(np.uint8))


def _age_ms(age_s: float) -> float | None:
    return 1e3 * float(age_s) if age_s < UNKNOWN_AGE_S else None


def _numbers(values: Any) -> Any:
    """Numbers as JSON has them: what is not finite becomes null."""
    if np.ndim(values) == 0:
        return float(values) if np.isfinite(values) else None
    return [_numbers(value) for value in values]


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _text(value: bytes) -> str:
    return bytes(value).decode("utf-8", "replace")
