"""`solo deploy` and `solo sim-robot`: options, confirmation, dry run, a short run."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

from solo.cli import deploy as cli
from solo.cli.deploy import Deploy
from solo.cli.sim_robot import SimRobot
from solo.deploy.policy import StandPolicy
from solo.errors import SoloError

from .helpers import g1_contract

BUNDLE = Path("policy.onnx")


@pytest.fixture
def bundle(monkeypatch):
    """A bundle whose policy stands, in the place of a file."""
    contract = g1_contract(needs_depth=True)
    made = types.SimpleNamespace(contract=contract, policy=StandPolicy(contract.joints))
    module = types.ModuleType("solo.deploy.bundle")
    module.load_bundle = lambda path, provider: made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "solo.deploy.bundle", module)
    return made


def test_dry_run_says_what_it_would_do_and_moves_nothing(bundle, capsys):
    plan = Deploy(BUNDLE, robot="g1", interface="enp3s0", dry_run=True).run()
    assert plan["robot"] == "g1 on enp3s0"
    assert plan["camera"] == "realsense"
    assert plan["command"] == "remote"
    assert plan["starts_in"] == "damping"
    assert json.dumps(plan)
    assert "damping" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"camera": "none"}, "needs depth"),
        ({"robot": "g1", "camera": "sim"}, "--robot sim"),
        ({"command": "remote"}, "--robot g1"),
        ({"robot": "g1", "command": "script"}, "for simulation"),
        ({"camera": "replay"}, "--recording"),
        ({"seconds": -1.0}, "--seconds is -1"),
    ],
)
def test_options_that_do_not_fit_are_refused(bundle, options, parts):
    with pytest.raises(SoloError, match=parts):
        Deploy(BUNDLE, dry_run=True, **options).run()


@pytest.mark.parametrize("answer", ["no", "", "y", EOFError])
def test_the_real_robot_needs_a_yes(bundle, monkeypatch, answer):
    def ask(prompt):
        if answer is EOFError:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", ask)
    monkeypatch.setattr(Deploy, "_run", lambda *_: pytest.fail("it ran"))
    with pytest.raises(SoloError, match="Not confirmed"):
        Deploy(BUNDLE, robot="g1").run()


def test_yes_goes_on(bundle, monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda prompt: "yes")
    monkeypatch.setattr(Deploy, "_run", lambda *_: {"ticks": 0})
    assert Deploy(BUNDLE, robot="g1").run()["ticks"] == 0
    assert "gantry" in capsys.readouterr().out


def test_a_short_run_in_simulation(bundle, tmp_path, capsys):
    result = Deploy(
        BUNDLE, seconds=1.0, faults=tmp_path / "faults", log=tmp_path / "log"
    ).run()
    assert result["ticks"] == 50
    assert result["phase"] in ("stand_up", "damping")  # A busy machine may pause.
    assert (tmp_path / "log" / "run.json").is_file()
    assert "50 ticks" in capsys.readouterr().out


def test_a_blind_policy_needs_no_camera(bundle):
    bundle.contract = replace(bundle.contract, needs_depth=False)
    assert Deploy(BUNDLE, dry_run=True).run()["camera"] == "none"


def test_sim_robot_refuses_impossible_losses():
    with pytest.raises(SoloError, match="--drop is 2"):
        SimRobot(drop=2.0).run()


def test_stairs_can_be_simulated(tmp_path):
    import mujoco

    cli.write_model(tmp_path / "g1.xml", "stairs")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "g1.xml"))
    assert model.geom("step_7").size[2] == pytest.approx(0.6)
