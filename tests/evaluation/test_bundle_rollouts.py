"""Bundles in the evaluation: the robot's runtime does what the checkpoint does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from solo.cli.export import Export
from solo.deploy.drivers.protocols import JointCommand, RobotState, damping_command
from solo.errors import SoloError
from solo.evaluation.bundle import BundleRollouts
from solo.evaluation.policies import open_policy
from solo.evaluation.protocols import STRESS, LimitsCfg
from solo.evaluation.rollout import LANES, run_rollouts
from solo.evaluation.sim_env import make_sim_env
from solo.sim.threads import stepping_threads
from tests.evaluation.runs import write_perceptive_run
from tests.export.helpers import IO, bundle_path, edited

FLAT = replace(STRESS, terrains=("flat",), rollouts=LANES, num_patches=2)


def test_a_bundle_tells_camera_rate_and_origin():
    source = open_policy(str(bundle_path()))
    camera = source.robot.depth_camera
    assert (camera.output_height, camera.output_width) == IO.depth_shape
    assert source.kind == "bundle"
    assert source.physics == (0.005, 4)
    assert "height_map" in source.groups  # To measure with.
    assert source.describe()["training"]["profile"] == "smoke"
    assert source.slug.endswith(f"tiny-{source.sha256[:8]}")  # type: ignore[index] - Set.


def test_the_camera_is_the_bundles(tmp_path):
    def lower(meta, golden):
        meta["depth"]["mount"]["pitch_down_deg"] += 2.0

    source = open_policy(str(edited(tmp_path / "other.onnx", lower)))
    nominal = open_policy(str(bundle_path())).robot.camera_mount.pitch_down_deg
    assert source.robot.camera_mount.pitch_down_deg == nominal + 2.0


def test_what_is_no_bundle_or_cannot_be_stepped_gets_one_line(tmp_path):
    path = tmp_path / "policy.onnx"
    path.write_bytes(b"no graph")
    with pytest.raises(SoloError) as error:
        open_policy(str(path))
    assert "\n" not in str(error.value)

    def hurry(meta, golden):
        meta["control_hz"] = 60.0

    with pytest.raises(SoloError, match="60") as error:
        open_policy(str(edited(path, hurry)))
    assert "\n" not in str(error.value)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A checkpoint and its bundle, opened, and the environment of the checkpoint."""
    folder = tmp_path_factory.mktemp("runs")
    run = write_perceptive_run(folder / "run")
    Export(run, folder / "policy.onnx").run()
    trained = open_policy(str(run))
    exported = open_policy(str(folder / "policy.onnx"))
    env = make_sim_env(trained, FLAT, FLAT.cells[0], LANES)
    with stepping_threads(), torch.inference_mode():
        yield trained, exported, env
    env.close()


@pytest.mark.slow
def test_a_bundle_acts_like_its_checkpoint(both):
    trained, exported, env = both
    starts = FLAT.starts(FLAT.cells[0], 25)
    torch_policy, runtime = trained.make(env.env), exported.make(env.env)
    for part in (env, torch_policy, runtime):
        part.begin(range(LANES), starts)
    steps = 0
    for _ in range(40):
        seen = dict(env.observations())
        # Cameras give whole millimetres.
        seen["depth"] = (seen["depth"] * 3000.0).round() / 3000.0
        expected, truth = torch_policy.act(seen)
        actions, measures = runtime.act(seen)
        if measures["runtime_damped"].any():
            break
        # Beyond a joint's limit the runtime asks for the limit.
        limits = env.env.scene["robot"].data.joint_pos_limits
        term = env.env.action_manager.get_term("joint_pos")
        low, high = ((x - term._offset) / term._scale for x in limits.unbind(-1))
        inside = expected.clamp(low, high)
        torch.testing.assert_close(actions, inside.float(), atol=1e-4, rtol=0.0)
        for name, values in truth.items():
            np.testing.assert_allclose(measures[name], values, atol=1e-4)
        env.step(expected)
        steps += 1
    assert steps >= 15


@pytest.mark.slow
def test_rollouts_of_a_bundle_end_and_safety_takes_over(both):
    _, exported, _ = both
    protocol = replace(FLAT, rollouts=3, limits=LimitsCfg(time_s=1.6))
    cell = protocol.cells[0]
    env = make_sim_env(exported, protocol, cell, LANES)
    policy = exported.make(env.env)
    assert isinstance(policy, BundleRollouts)
    rollouts = run_rollouts(
        env,
        policy,
        protocol.starts(cell, 25),
        protocol.limits,
    )
    env.close()
    # Nobody has trained it: it tips over, and the runtime damps on the way down.
    assert all(0.0 < r.measures["runtime_damped"] < 0.5 for r in rollouts)
    assert all(r.measures["height_map_l1_m"] > 0.0 for r in rollouts)
    # Whose rollout has ended costs no inference.
    assert all(policy.runtime(slot) is None for slot in range(LANES))


@pytest.mark.slow
def test_commands_become_positions_that_give_their_torque(both):
    _, exported, env = both
    policy = exported.make(env.env)
    assert isinstance(policy, BundleRollouts)
    kp, kd = policy._kp, policy._kd
    rng = np.random.default_rng(0)
    pos, vel = rng.uniform(-0.5, 0.5, 25), rng.uniform(-3.0, 3.0, 25)
    state = RobotState(0.0, pos, vel, np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
    wanted, zeros = rng.uniform(-0.5, 0.5, 25), np.zeros(25)
    track = JointCommand(wanted, zeros, kp, kd, zeros)
    np.testing.assert_array_equal(policy._target(track, state), wanted)
    target = policy._target(damping_command(25, 2.0 * kd), state)
    torque = kp * (target - pos) - kd * vel
    np.testing.assert_allclose(torque, -2.0 * kd * vel)


def test_the_path_may_be_relative(monkeypatch):
    path = bundle_path()
    monkeypatch.chdir(path.parent)
    assert open_policy(path.name).checkpoint == Path(path.name)
