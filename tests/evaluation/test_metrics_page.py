"""``docs/metrics.md`` defines what is logged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from solo.algorithms.perceptive_ta_mse import DEPTH_CHANGES
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.evaluation.bundle import DAMPED
from solo.evaluation.conditions import CONDITIONS
from solo.evaluation.metrics import LEVEL_GROUPS
from solo.evaluation.policies import MEASURES as ESTIMATES
from solo.evaluation.sim_env import GAIT, PENALTIES
from solo.motions.checks import LIMITS
from solo.results import Outcome
from solo.robots.g1 import G1
from solo.tasks.env_cfg import make_stage_env_cfg
from solo.tasks.profiles import SMOKE

ROOT = Path(__file__).parents[2]
DEFINED = set(re.findall(r"`([^`]+)`", (ROOT / "docs" / "metrics.md").read_text()))


def assert_defined(*names: str) -> None:
    missing = [name for name in names if name not in DEFINED]
    assert not missing, f"docs/metrics.md does not define {missing}"


def test_terms_of_the_environment():
    motions: object = object()  # Only stored in the configuration.
    cfg = make_stage_env_cfg(G1, "teacher", SMOKE, motions)  # type: ignore[arg-type]
    assert set(make_locomotion_env_cfg(G1).rewards) <= set(cfg.rewards)
    assert_defined(*cfg.rewards, *cfg.terminations)
    assert_defined(*(f"Episode_Metrics/{name}" for name in cfg.metrics))
    terms = {"terrain_levels", "ease_in", "swing_fades", "assist"}
    assert terms == set(cfg.curriculum)
    assert_defined(
        "Curriculum/terrain_levels/mean", "Curriculum/terrain_levels/TERRAIN"
    )
    assert_defined(*(f"Curriculum/{name}" for name in terms - {"terrain_levels"}))


def test_what_evaluations_report():
    assert_defined(*(outcome.value for outcome in Outcome))
    assert_defined(*GAIT, *PENALTIES, *ESTIMATES, DAMPED, *LEVEL_GROUPS, "top/TERRAIN")
    assert_defined(*(re.sub(r"_\d+$", "_N", name) for name in CONDITIONS))
    assert_defined(*(f"cost.{name}" for name in ("success_points", "low", "high")))
    assert_defined("cost.height_map_l1_m", "failures")


def test_qualities_of_motions():
    assert_defined(*LIMITS)


@pytest.mark.parametrize(
    ("file", "prefix"),
    [
        ("algorithms/amp.py", "amp_"),
        ("algorithms/ta_mse.py", "ta_"),
        ("algorithms/ta_mse.py", "teacher_d"),
        ("algorithms/teacher_matching.py", "teacher_m"),
        ("reconstruction/online.py", "recon_l"),
        ("algorithms/perceptive_ta_mse.py", "recon_"),
    ],
)
def test_every_loss_is_defined(file, prefix):
    source = (ROOT / "src" / "solo" / file).read_text()
    keys = set(re.findall(rf'"({prefix}\w+)"', source)) - {"amp_state_dict", "amp_cfg"}
    names = re.findall(r"names = (\(.*?\))", source)
    if file.endswith("amp.py"):
        keys |= {f"amp_{n}" for n in re.findall(r'"(\w+)"', " ".join(names))}
        assert len(keys) == 8
    assert keys
    assert_defined(*(f"Loss/{key}" for key in keys))
    assert {"normal", "zeroed", "shuffled"} == set(DEPTH_CHANGES)
