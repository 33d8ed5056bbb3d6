"""Made-up results in the format of the real ones. No number here was measured.

They go through the functions that write real results, so that a change of the format
shows in these tests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from solo.evaluation.comparisons import without_rollouts
from solo.evaluation.evaluate import describe, describe_job, gather
from solo.evaluation.metrics import paired_difference, summarise_levels
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import EXTENT, LEVELS, EvalCell, Protocol
from solo.files import write_json
from solo.result_files import to_json
from solo.results import Evaluation, Levels, Mean, Outcome, Rollout

Chance = Callable[[EvalCell], float]


def evaluation(
    protocol: Protocol,
    policy: str,
    chance: Chance,
    map_error_m: Chance | None = None,
    stumble: float = 0.02,
    kind: str = "perceptive",
) -> Evaluation:
    """The result of a policy that never was."""
    sha = hashlib.sha256(policy.encode()).hexdigest()
    rng = np.random.default_rng(int(sha[:8], 16))
    cells = []
    for cell in protocol.cells:
        rollouts = [
            _rollout(rng, k, chance(cell), map_error_m and map_error_m(cell), stumble)
            for k in range(protocol.rollouts)
        ]
        cells.append(describe_job(cell, rollouts, 64 * 900, 41.5))
    config = describe(protocol, open_policy("stand"))
    config["policy"] |= {"name": policy, "kind": kind, "sha256": sha}
    return gather(config, cells)


def _rollout(
    rng: np.random.Generator,
    index: int,
    chance: float,
    error_m: float | None,
    stumble: float,
) -> Rollout:
    failures = (Outcome.FALL, Outcome.FALL, Outcome.FALL, Outcome.TIME_OUT)
    is_success = rng.random() < chance
    outcome = Outcome.SUCCESS if is_success else failures[rng.integers(len(failures))]
    measures = {
        "velocity_error": float(rng.normal(0.18, 0.04)),
        "feet_stumble": float(rng.gamma(2.0, stumble / 2)),
        "foothold_grad_penalty": float(rng.gamma(2.0, stumble)),
    }
    if error_m is not None:
        measures["height_map_l1_m"] = float(rng.gamma(9.0, error_m / 9))
    distance = 5.02 if is_success else float(rng.uniform(0.5, 4.9))
    steps = int(rng.integers(200, 700))
    return Rollout(index, outcome, steps, distance, 0.1, 0.7, index % 10, measures)


def levels(protocol: Protocol = LEVELS, seeds: int = 3) -> dict[str, Any]:
    """Two sets of policies over levels."""

    def one(name: str, best: float) -> Evaluation:
        found = evaluation(
            protocol, name, lambda cell: best - 0.35 * cell.difficulty**3
        )
        cells = tuple(without_rollouts(job, "x") for job in found.cells)
        return replace(found, cells=cells, aggregates=summarise_levels(cells))

    sets = [
        tuple(one(f"{name}-{s}/model_3000.pt", best) for s in range(seeds))
        for name, best in (("mse-ppo", 0.95), ("ta-mse", 0.99))
    ]
    a, b = ([found.aggregates for found in side] for side in sets)
    return to_json(Levels(*sets, paired=paired_difference(a, b)))


def extent(policy: str, slope_cm: float, far: float) -> dict[str, Any]:
    """Errors that grow with difficulty, more on the larger scene."""

    def error_m(cell: EvalCell) -> float:
        factor = far if cell.patch_m > 8.0 else 1.0
        return 0.01 * (0.8 + slope_cm * cell.difficulty * factor)

    found = evaluation(EXTENT, policy, lambda cell: 1 - 0.3 * cell.difficulty, error_m)
    return to_json(found)


def curriculum() -> dict[str, Any]:
    """Three runs that rise to their plateaus."""
    rng = np.random.default_rng(0)
    runs = []
    for name, plateau in (("TA-MSE", 5.4), ("MSE+PPO", 5.0), ("PPO", 4.6)):
        x = np.arange(3000)
        levels = plateau * (1 - np.exp(-x / 600)) + rng.normal(0, 0.08, len(x))
        runs.append(
            {
                "name": name,
                "iterations": x.tolist(),
                "levels": levels.tolist(),
                "final_level": float(levels[-300:].mean()),
                "highest_level": float(levels.max()),
            }
        )
    return {"runs": runs, "ceiling": 5.5, "output": "curriculum.png"}


def recon(with_examples: bool = True) -> dict[str, Any]:
    """A comparison of three methods."""
    rng = np.random.default_rng(1)
    methods, shift = {}, {}
    for name, count, l1, f1 in (
        ("qr", 540_000, 3.4, 0.35), ("start", 620_000, 4.5, 0.25),
        ("dpl", 780_000, 4.6, 0.22),
    ):  # fmt: skip
        methods[name] = _method(count, l1, f1)
        shift[name] = {
            side: {
                "difficulty": [k / 9 for k in range(10)],
                "l1_cm": [1 + l1 * k / 9 * factor for k in range(10)],
            }
            for side, factor in (("8", 1.0), ("10", 1.8))
        }
    examples = []
    for terrain in ("stones_staggered", "stairs_up_25"):
        truth = np.where(rng.random((16, 32)) > 0.5, -0.7, -1.1)
        if terrain == "stairs_up_25":
            truth = np.broadcast_to(-0.8 + 0.2 * (np.arange(32) // 5), (16, 32))
        maps = {m: (truth + rng.normal(0, 0.05, truth.shape)).tolist() for m in methods}
        depth = np.linspace(0.2, 1.0, 64)[:, None] * np.ones((1, 113))
        depth[:, :6] = 0.0
        examples.append(
            {"terrain": terrain, "depth": depth.tolist(), "truth": truth.tolist(),
             "maps": maps}
        )  # fmt: skip
    data = {
        name: {"format": 1, "sampler": "teacher 0a1b", "frames": frames, "config": {},
               "shards": {str(k): {} for k in range(5)}}
        for name, frames in (("train", 60_000), ("eval", 51_000))
    }  # fmt: skip
    return {
        "methods": methods,
        "flat": _method(0, 12.0, 0.0),
        "noise": _method(0, 12.5, 0.1),
        "extent_shift": shift,
        "training": {"updates": 5000, "batch": 64, "seed": 0, "profile": "paper"},
        "data": data,
        **({"examples": examples} if with_examples else {}),
    }


def _method(parameters: int, l1: float, f1: float) -> dict[str, Any]:
    terrains = ("stairs_down_25", "stairs_up_25", "stones_aligned", "rough_fine", "gap")
    return {
        "parameters": parameters, "l1_cm": l1, "l1_cm_std": 0.08,
        "hard_l1_cm": l1 + 1, "hard_l1_cm_std": 0.1, "edge_f1": f1,
        "edge_f1_std": 0.006, "matched_edge_f1": 0.8 * f1,
        "matched_edge_f1_std": 0.005, "velocity_l1": 0.05, "velocity_l1_std": 0.002,
        "per_terrain_level9_cm": {t: 2 * l1 for t in terrains},
        "per_terrain_level9_cm_std": {t: 0.5 for t in terrains},
        "samples_per_s": 80.0, "updates": 5000,
    }  # fmt: skip


def robustness(stress: dict[str, Any]) -> dict[str, Any]:
    """A stress result under conditions that cost more and more."""
    rows = []
    costs = {"nominal": 0.0, "zeroed": 0.6, "delayed_5": 0.1, "tilted_3": 0.15}
    rate = stress["summary"]["success"]
    for name, cost in costs.items():
        value = max(rate["rate"] - cost, 0.0)
        success = {
            **rate, "rate": value, "low": max(value - 0.05, 0.0),
            "high": min(value + 0.05, 1.0),
            "successes": round(value * rate["rollouts"]),
        }  # fmt: skip
        rows.append(
            {
                "name": name, "condition": {"name": name}, "is_applicable": True,
                "success": success, "measures": stress["summary"]["measures"],
                "cost": {"success_points": 100 * cost, "low": 100 * cost - 6,
                         "high": 100 * cost + 6, "height_map_l1_m": 0.01},
                "cells": [],
            }
        )  # fmt: skip
    rows.append({"name": "shuffled", "is_applicable": False, "reason": "no camera"})
    protocol = {**stress["protocol"], "name": "robustness"}
    times = {"env_steps": 9, "wall_time_s": 3.0, "env_steps_per_s": 3.0}
    shared = {"policy": stress["policy"], "versions": stress["versions"]}
    return {"protocol": protocol, **shared, **times, "conditions": rows}


def route(stress: dict[str, Any]) -> dict[str, Any]:
    """Six robots on 300 m with some falls."""
    rng = np.random.default_rng(2)
    cells = []
    for stage in range(3):
        walks = []
        for robot in range(6):
            begin, stop = 100.0 * stage, 100.0 * (stage + 1)
            if rng.random() < 0.3:
                middle = float(rng.uniform(begin, stop))
                walks.append(_walk(robot, stage, begin, middle, "fall"))
                begin = middle
            walks.append(_walk(robot, stage, begin, stop, "success"))
        cells.append(
            {**stress["cells"][0], "name": f"stage-{stage:03d}", "terrain": "route",
             "level": stage, "difficulty": 1.0, "walks": walks}
        )  # fmt: skip
    falls = sum(w["outcome"] == "fall" for c in cells for w in c["walks"])
    summary = {
        "robots": 6, "length_m": 300.0, "distance_m": 1800.0, "share_walked": 1.0,
        "completed": {"successes": 3, "rollouts": 6, "rate": 0.5, "low": 0.19,
                      "high": 0.81},
        "falls": falls, "incidents": falls, "falls_per_km": falls / 1.8,
        "mean_distance_between_falls_m": 1800.0 / falls,
        "first_m": asdict(Mean.of([300.0, 120.0, 300.0, 40.0, 210.0, 300.0])),
        "longest_m": 300.0,
        "height_map_l1_m": [
            {"from_m": 10.0 * k, "mean": 0.02 + 0.01 * float(rng.random()), "steps": 9}
            for k in range(30)
        ],
    }  # fmt: skip
    protocol = {**stress["protocol"], "name": "route", "length_m": 300.0}
    return {**stress, "protocol": protocol, "cells": cells, "route": summary}


def _walk(
    robot: int, stage: int, begin_m: float, end_m: float, outcome: str
) -> dict[str, Any]:
    return {
        "robot": robot, "stage": stage, "leg": 0, "begin_m": begin_m, "end_m": end_m,
        "outcome": outcome, "steps": 500,
    }  # fmt: skip


BENCH_POLICY = {
    "mean_ms": 4.21, "std_ms": 0.33, "p95_ms": 4.9, "p99_ms": 5.5,
    "pipeline_mean_ms": 5.02, "pipeline_std_ms": 0.41, "pipeline_p95_ms": 5.9,
    "torch_mean_ms": 9.1, "torch_std_ms": 1.0, "torch_p95_ms": 10.2,
    "bundle_bytes": 5_120_000, "steps": 1000, "provider": "cpu", "threads": {},
}  # fmt: skip
BENCH_SIM = {
    "native_steps_per_s": 6293.4, "raw_steps_per_s": 8416.0, "fraction_of_raw": 0.75,
    "num_envs": 512, "threads": 2, "startup_s": 4.0, "diverged": 0,
}  # fmt: skip
BENCH_DEPTH = {
    "frames_per_s": 1198.0, "render_frames_per_s": 1594.0,
    "multiray_frames_per_s": 99.0, "speedup_over_multiray": 16.1,
}  # fmt: skip
BENCH_TRAIN = {
    "teacher": {"env_steps_per_s": 2100.0, "share_rollout": 0.6, "num_envs": 256},
    "student": {"env_steps_per_s": 1500.0, "share_rollout": 0.5, "num_envs": 256},
}
BENCH_RECON = {
    "threads": 1, "batch_size": 32,
    "paper": {
        "qr": {"parameters": 540_000, "streaming_onnx_ms": 5.1},
        "start": {"parameters": 620_000, "streaming_onnx_ms": 2.2},
    },
}  # fmt: skip


def write_result(folder: Path, data: dict[str, Any], failures: int = 0) -> Path:
    """Write a result, with strips of its first failures that show coloured frames."""
    folder.mkdir(parents=True, exist_ok=True)
    for cell in data.get("cells", []) if failures else []:
        failed = [r for r in cell.get("rollouts", []) if r["outcome"] != "success"]
        for rollout in failed[:failures]:
            name = f"failures/{cell['name']}-{rollout['index']}.npz"
            cell.setdefault("failures", []).append(name)
            (folder / "failures").mkdir(exist_ok=True)
            frames = np.linspace(60, 200, 960).astype(np.uint8)
            pixels = np.broadcast_to(frames[None, :, None], (200, 960, 3)).copy()
            pixels[:, ::160] = 255
            Image.fromarray(pixels).save((folder / name).with_suffix(".png"))
    path = folder / "result.json"
    write_json(path, data)
    return path
