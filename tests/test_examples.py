"""Each example runs as it stands, in an empty folder, and prints what it promises."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml

from solo.deploy.bundle.load import load_bundle
from solo.reconstruction.networks import RECONSTRUCTORS
from solo.terrains.variants import VARIANTS

FOLDER = Path(__file__).parents[1] / "examples"
PRINTED = {
    # The base of a G1 that stands in its default pose is 0.76 m above flat ground.
    "01_step_a_policy.py": r"ground -0\.7\d ± 0\.00 m",
    "02_step_the_environment.py": "track_lin_vel_xy_exp",
    "03_train_with_own_rewards.py": "Wrote runs/own-rewards/model_1.pt",
    "04_add_a_terrain.py": "kerb of 2 cm: 4 of 4 walk 5 m",
    "05_add_a_reconstructor.py": "blind: ",
    "06_evaluate_any_onnx_policy.py": "gap: 0 of 4 pass",
    "07_distil_your_own_teacher.py": "Wrote runs/student/model_1.pt",
    "booster_t1.py": "250 ticks",
}
"""Example to a pattern of a part of what it prints."""


def run(name: str) -> None:
    """Run an example as a script, here: ten seconds of imports serve all of them."""
    path = str(FOLDER / name)
    with (
        patch.object(sys, "argv", [path]),
        patch.object(sys, "path", [*sys.path]),
        patch.dict(VARIANTS),
        patch.dict(RECONSTRUCTORS),
    ):
        runpy.run_path(path, run_name="__main__")


def test_every_example_is_run():
    assert set(PRINTED) == {path.name for path in FOLDER.glob("*.py")}


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_example_runs(name, tmp_path, monkeypatch, capsys):
    if name == "booster_t1.py" and find_spec("holosoma") is None:
        pytest.skip("The T1's model: pip install --no-deps holosoma==0.0.3")
    monkeypatch.chdir(tmp_path)
    run(name)
    assert re.search(PRINTED[name], capsys.readouterr().out)
    if name.startswith("03"):
        params = yaml.safe_load(Path("runs/own-rewards/params/env.yaml").read_text())
        weights = {k: params["rewards"][k]["weight"] for k in ("fly", "base_height")}
        assert weights == {"fly": -1.0, "base_height": -2.0}
    if name == "booster_t1.py":
        bundle = load_bundle("t1.onnx")
        assert bundle.metadata["robot"] == "booster_t1:T1"
        assert len(bundle.contract.joints.names) == 21
        assert json.loads(Path("runs/teacher/run.json").read_text())["robot"] == (
            "booster_t1:T1"
        )
        stepped = step_a_policy(tmp_path / "t1.onnx")
        assert "step 50: Left_Elbow_Yaw to" in stepped
        assert "not loaded: mjlab, mujoco, torch, warp" in stepped


def step_a_policy(bundle: Path) -> str:
    """What example 01 prints of a bundle, in a process that needs no simulator."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / "01_step_a_policy.py"), str(bundle)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
