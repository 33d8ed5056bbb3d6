"""`solo deploy` and `solo sim-robot`: options, confirmation, dry run, a short run."""

from __future__ import annotations

import json
import sys
import types
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from solo.bundles import shipped_bundle
from solo.cli.deploy import Deploy, SimRobot
from solo.deploy.command import CommandCfg
from solo.deploy.dashboard.publisher import Dashboard
from solo.deploy.loop import CAUSES
from solo.errors import SoloError
from tests.deploy.stand import StandPolicy

from .helpers import g1_contract

BUNDLE = Path("policy.onnx")


@pytest.fixture
def bundle(monkeypatch):
    """A bundle whose policy stands, in the place of a file."""
    contract = g1_contract(needs_depth=True)
    made = types.SimpleNamespace(
        contract=contract,
        policy=StandPolicy(contract.joints),
        command=CommandCfg((-0.1, 0.0, -0.2), (0.3, 0.0, 0.2)),
        metadata={
            "robot": "g1",
            "graph": {"outputs": {"attention": [1, 4, 8]}},
            "height_map": {
                "cells": [16, 32],
                "x_range_m": [-0.3, 1.3],
                "y_range_m": [-0.4, 0.4],
            },
        },
    )
    module = types.ModuleType("solo.deploy.bundle.load")

    def load_bundle(path, provider, threads, robot):
        made.driven, made.path = robot, path
        return made

    module.load_bundle = load_bundle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "solo.deploy.bundle.load", module)
    return made


def test_the_bundle_of_the_package_is_called_shipped(bundle):
    Deploy(Path("shipped"), dry_run=True).run()
    assert bundle.path == shipped_bundle()


def test_dry_run_says_what_it_would_do_and_moves_nothing(bundle, capsys):
    plan = Deploy(BUNDLE, robot="g1", interface="enp3s0", dry_run=True).run()
    assert bundle.driven == "g1"
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
        ({"seconds": -1.0}, "seconds is -1"),
        ({"threads": 0}, "threads is 0"),
        ({"dashboard_port": 70000}, "dashboard_port is 70000"),
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
    assert set(result["late_causes_after_warm_up"]) == set(CAUSES)
    assert sum(result["phase_ticks"].values()) == 50
    if sys.platform == "linux":
        assert set(result["memory_mb"]) == {"start", "middle", "end", "max"}
    assert json.dumps(result, allow_nan=False)


def test_the_command_is_limited_to_what_the_policy_was_trained_for(bundle, monkeypatch):
    seen = []

    def stub(contract, policy, robot, camera, operator, cfg, *rest):
        seen.append(cfg)
        raise SoloError("far enough")

    monkeypatch.setattr("solo.deploy.session.run_session", stub)
    with pytest.raises(SoloError, match="far enough"):
        Deploy(BUNDLE, seconds=1.0).run()
    assert seen[0].command is bundle.command


@pytest.mark.slow
def test_a_run_can_be_watched_in_the_browser(bundle, tmp_path, capsys, monkeypatch):
    states = []
    real_put = Dashboard.put

    def put(self, tick):
        real_put(self, tick)
        if len(states) == 0 and tick.stats.num_ticks >= 20:
            with urllib.request.urlopen(self.url + "state", timeout=60.0) as answer:
                states.append(json.loads(answer.read()))

    monkeypatch.setattr(Dashboard, "put", put)
    Deploy(
        BUNDLE, seconds=0.6, faults=tmp_path / "faults", dashboard=True,
        dashboard_port=0,
    ).run()  # fmt: skip
    assert "dashboard    http://127.0.0.1:" in capsys.readouterr().out
    (state,) = states
    assert state["tick"] >= 20
    assert state["info"]["command_high"] == [0.3, 0.0, 0.2]
    assert state["depth"]["shape"] == [64, 113]


def test_a_blind_policy_needs_no_camera(bundle):
    bundle.contract = replace(bundle.contract, needs_depth=False)
    assert Deploy(BUNDLE, dry_run=True).run()["camera"] == "none"


def test_sim_robot_refuses_impossible_losses():
    with pytest.raises(SoloError, match="drop is 2"):
        SimRobot(drop=2.0).run()


def test_stairs_can_be_simulated(tmp_path):
    import mujoco

    from solo.robots.build import write_model

    write_model(tmp_path / "g1.xml", "stairs")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "g1.xml"))
    assert model.geom("step_7").size[2] == pytest.approx(0.6)
