"""From sensors to the student's view, and the checks of what depth is good for."""

from __future__ import annotations

import pytest
import torch

from solo.algorithms.perceptive_ta_mse import depth_ablation
from solo.algorithms.ta_mse import mean_per_terrain
from solo.reconstruction import perceiver as perceiver_module
from solo.reconstruction.networks import RECONSTRUCTORS, make_reconstructor
from solo.reconstruction.perceiver import (
    DEPTH,
    WINDOW,
    Perceiver,
    reconstruct,
)
from tests.algorithms.tiny_perceptive import (
    IO,
    LINEAR,
    TINY_QR,
    TinyPerceptiveEnv,
    make_perceptive,
    roll_out,
)


@pytest.fixture(autouse=True)
def linear(monkeypatch):
    monkeypatch.setitem(RECONSTRUCTORS, "linear", LINEAR)


def test_streaming_equals_windows_through_resets_and_changes_of_weights():
    env = TinyPerceptiveEnv()
    torch.manual_seed(2)
    model = make_reconstructor("qr", io=IO, **TINY_QR)
    perceiver = Perceiver(model, env.num_envs, "cpu")
    stale = Perceiver(model, env.num_envs, "cpu")
    obs, num_dones, worst_stale = env.get_observations(), 0, 0.0
    for each in (perceiver, stale):
        each.estimate(obs)
    for step in range(25):
        if step in (8, 16):
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(0.3 * torch.randn_like(parameter))
            perceiver.weights_changed()
        if step == 12:  # Asked again at the same moment: nothing may advance.
            perceiver.estimate(env.get_observations())
        obs, _, dones, _ = env.step(0.3 * torch.randn(env.num_envs, env.num_actions))
        num_dones += int(dones.sum())
        with torch.no_grad():
            expected, _ = model(obs[DEPTH], obs[WINDOW])
        found = perceiver.estimate(obs, dones)
        for key in ("height", "velocity"):
            torch.testing.assert_close(found[key], expected[key], atol=1e-5, rtol=1e-5)
        old = stale.estimate(obs, dones)["height"]
        worst_stale = max(worst_stale, float((old - expected["height"]).abs().max()))
    assert num_dones > 3
    assert worst_stale > 1e-3  # What keeping the old tokens would have cost.


def test_after_done_the_estimate_is_that_of_a_fresh_environment():
    env = TinyPerceptiveEnv()
    model = make_reconstructor("qr", io=IO, **TINY_QR)
    perceiver = Perceiver(model, env.num_envs, "cpu")
    perceiver.estimate(env.get_observations())
    dones = torch.zeros(env.num_envs)
    while not dones.any():
        obs, _, dones, _ = env.step(torch.ones(env.num_envs, env.num_actions))
        found = perceiver.estimate(obs, dones)
    fresh = Perceiver(model, env.num_envs, "cpu").estimate(obs)
    new = dones > 0
    torch.testing.assert_close(found["height"][new], fresh["height"][new])


@pytest.mark.parametrize("uses_depth", [True, False])
def test_ablation_tells_whether_depth_is_used(uses_depth):
    env = TinyPerceptiveEnv()
    algorithm = make_perceptive(
        env, fields={"io": IO, "uses_depth": uses_depth}, check_every=100
    )
    obs = roll_out(algorithm, env)[-1]
    hidden = [part.clone() for part in algorithm.actor.get_hidden_state()]  # type: ignore[union-attr]
    with torch.inference_mode():
        result = depth_ablation(algorithm.perceiver, obs, algorithm._gap)
    kept = algorithm.actor.get_hidden_state()
    assert all(torch.equal(a, b) for a, b in zip(hidden, kept, strict=True))  # type: ignore[arg-type]
    for measure in ("gap", "map_cm"):
        normal = result[f"depth_normal_{measure}"]
        for name in ("zeroed", "shuffled"):
            is_same = result[f"depth_{name}_{measure}"] == pytest.approx(normal)
            assert is_same is not uses_depth


class TinyTerrain:
    terrain_types = torch.tensor([0, 2, 2])
    variant_names: tuple[str, ...] = ("flat", "gap", "stairs")


def test_mean_per_terrain_by_hand():
    terrain = TinyTerrain()
    values = torch.tensor([[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]])
    assert mean_per_terrain(values, terrain) == {"flat": 2.0, "stairs": 5.0}
    assert mean_per_terrain(values, None) == {}


@pytest.mark.parametrize("streaming", [False, True])
def test_environments_in_several_passes_equal_one_pass(monkeypatch, streaming):
    torch.manual_seed(5)
    model = make_reconstructor("qr", io=IO, **TINY_QR)
    depth = torch.rand(5, IO.depth_frames, *IO.depth_shape)
    window = torch.randn(5, IO.proprioception_frames, IO.proprioception_dim)
    state = model.initial_state(5) if streaming else None
    whole, new_state = reconstruct(model, depth, window, state)
    monkeypatch.setattr(perceiver_module, "CPU_CHUNK", 2)
    parts, parts_state = reconstruct(model, depth, window, state)
    for name, value in whole.items():
        torch.testing.assert_close(parts[name], value, rtol=0, atol=1e-5)
    for a, b in zip(new_state or (), parts_state or (), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-5)
