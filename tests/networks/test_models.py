"""Teacher, critic and student as rsl_rl sees them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.utils import split_and_pad_trajectories
from tensordict import TensorDict

from solo.networks.ame_model import AmeModel, copy_matching
from solo.networks.flat_map_model import FlatMapModel, kept_cells
from solo.robots.g1 import G1
from solo.sensors.height_map import HeightMapCfg
from solo.tasks.agent_cfg import make_agent_cfg
from solo.tasks.profiles import LAPTOP
from tests.networks.helpers import (
    AME,
    GAUSSIAN,
    GROUPS,
    MAP,
    MIRROR,
    NUM_ACTIONS,
    make_model,
    make_obs,
)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


class FakeEnv:
    num_envs = 8
    num_actions = NUM_ACTIONS


def ppo_cfg(role: str) -> dict:
    path = {"teacher": "ame_model:AmeModel", "student": "student:StudentModel"}[role]
    height_map = {"cells": [6, 8], "cell_m": 0.1}
    height_map |= {"x_range_m": [-0.2, 0.6], "y_range_m": [-0.3, 0.3]}
    shared: dict[str, Any] = {
        "hidden_dims": [16, 8],
        "ame_cfg": AME,
        "height_map_cfg": height_map,
    }
    memory = {"rnn_hidden_dim": 7} if role == "student" else {}
    return {
        "num_steps_per_env": 6,
        "multi_gpu": None,
        "obs_groups": {"actor": GROUPS[role], "critic": GROUPS["critic"]},
        "algorithm": {"class_name": "PPO", "rnd_cfg": None, "num_mini_batches": 2},
        "actor": {
            "class_name": f"solo.networks.{path}",
            "distribution_cfg": dict(GAUSSIAN),
            **shared,
            **memory,
        },
        "critic": {"class_name": "solo.networks.ame_model:AmeModel", **shared},
    }


@pytest.mark.parametrize("role", ["teacher", "student"])
def test_ppo_of_rsl_rl_updates_every_parameter(role):
    algorithm = PPO.construct_algorithm(make_obs(8), FakeEnv(), ppo_cfg(role), "cpu")  # type: ignore[arg-type] - A fake.
    before = copy.deepcopy(algorithm.save())
    algorithm.train_mode()
    for _ in range(2):
        with torch.inference_mode():
            obs = make_obs(8)
            for _ in range(6):
                assert algorithm.act(obs).shape == (8, NUM_ACTIONS)
                obs, dones = make_obs(8), (torch.rand(8) < 0.3).long()
                algorithm.process_env_step(obs, torch.randn(8), dones, {})
            algorithm.compute_returns(obs)
        losses = algorithm.update()
    assert all(torch.isfinite(torch.tensor(value)) for value in losses.values())
    assert algorithm.get_policy().output_std.shape[-1] == NUM_ACTIONS
    after = algorithm.save()
    for part in ("actor_state_dict", "critic_state_dict"):
        for name, value in after[part].items():
            assert not torch.equal(value, before[part][name]), name
    fresh = make_model(role)
    fresh.load_state_dict(after["actor_state_dict"])
    fresh.eval()
    algorithm.actor.reset()
    torch.testing.assert_close(fresh(obs), algorithm.actor(obs))


def test_same_sample_alone_and_in_any_batch_shape_gives_the_same_output():
    for role in ("teacher", "critic"):
        model, obs = make_model(role), make_obs(3, 4)
        together = model(obs)
        assert together.shape[:2] == (3, 4)
        torch.testing.assert_close(together.flatten(0, 1), model(obs.flatten(0, 1)))
        torch.testing.assert_close(together[1, 2], model(obs[1, 2:3])[0])


def test_attention_can_be_read_out():
    weights = make_model("teacher").attention(make_obs(4))
    assert weights.shape == (4, AME["num_heads"], *MAP.cells)
    torch.testing.assert_close(weights.sum((-2, -1)), torch.ones(4, AME["num_heads"]))


def test_normaliser_follows_the_vectors_and_not_the_map():
    model, obs = make_model("teacher"), make_obs(500)
    obs["teacher_proprioception"] = obs["teacher_proprioception"] * 5.0 + 3.0
    model.update_normalization(obs)
    vector = model.normalised_vector(obs)
    torch.testing.assert_close(vector.mean(0), torch.zeros(12), atol=1e-3, rtol=0)
    torch.testing.assert_close(vector.std(0), torch.ones(12), atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("groups", "message"),
    [(["base_velocity"], "one map"), (["height_map"], "at least one vector")],
)
def test_wrong_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        AmeModel(make_obs(2), {"actor": groups}, "actor", 5, height_map_cfg=MAP)


def test_map_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"\(6, 8\).*\(16, 32\)"):
        AmeModel(make_obs(2), GROUPS, "teacher", 5)


EITHER = pytest.mark.parametrize("mirror", [None, MIRROR], ids=["plain", "symmetric"])


def step_through(student, obs, dones):
    """Outputs [T, B, A] of a rollout, one step at a time."""
    outputs = []
    for step in range(obs.shape[0]):
        outputs.append(student(obs[step]))
        student.reset(dones[step])
    return torch.stack(outputs)


@EITHER
def test_stepping_equals_the_padded_sequence_pass(mirror):
    student, obs = make_model("student", mirror=mirror), make_obs(7, 5)
    dones = torch.rand(7, 5) < 0.3
    assert dones.any()
    with torch.no_grad():
        student(make_obs(5))  # The rollout begins in the middle of episodes.
        state = tuple(part.clone() for part in student.get_hidden_state())
        stepped = step_through(student, obs, dones)
    padded, masks = split_and_pad_trajectories(obs, dones)
    # First trajectory of each env goes on; those after a done start from zero.
    starts = torch.cat([torch.ones(1, 5, dtype=torch.bool), dones[:-1]])
    envs, times = starts.T.nonzero().T
    is_first = times == 0
    states = tuple(part[:, envs] * is_first[None, :, None] for part in state)
    batched = student(padded, masks=masks, hidden_state=states)
    torch.testing.assert_close(batched, stepped, atol=1e-5, rtol=1e-5)


@EITHER
def test_done_clears_the_memory_of_that_env_alone(mirror):
    student = make_model("student", mirror=mirror)
    with torch.no_grad():
        student(make_obs(4))
        before = [part.clone() for part in student.get_hidden_state()]
        student.reset(torch.tensor([0, 1, 0, 0]))
        for old, new in zip(before, student.get_hidden_state(), strict=True):
            assert (new[:, 1] == 0).all()
            torch.testing.assert_close(new[:, [0, 2, 3]], old[:, [0, 2, 3]])
        obs, fresh = make_obs(4), make_model("student", mirror=mirror)
        fresh.load_state_dict(student.state_dict())
        torch.testing.assert_close(student(obs)[1], fresh(obs)[1])


@EITHER
def test_state_can_be_put_back_after_a_look_ahead(mirror):
    student, obs = make_model("student", mirror=mirror), make_obs(4)
    with torch.no_grad():
        student(make_obs(4))
        state = student.get_hidden_state()
        looked = student(obs)
        student.reset(hidden_state=state)
        torch.testing.assert_close(student(obs), looked)


def test_memory_group_must_be_a_vector_of_the_student():
    with pytest.raises(ValueError, match=r"'depth'.*proprioception"):
        make_model("student", memory_group="depth")


def test_student_takes_the_encoder_and_nothing_else_of_the_teacher():
    teacher, student = make_model("teacher"), make_model("student")
    teacher.update_normalization(make_obs(50))
    before = copy.deepcopy(student.state_dict())
    copied = copy_matching(student, teacher)
    assert {name.split(".")[0] for name in copied} == {"encoder", "obs_normalizer"}
    assert len([n for n in copied if n.startswith("encoder")]) == len(
        teacher.encoder.state_dict()
    )
    source = teacher.state_dict()
    for name, value in student.state_dict().items():
        expected = source[name] if name in copied else before[name]
        assert torch.equal(value, expected), name


def test_only_what_fits_is_copied():
    teacher = make_model("teacher", ame_cfg={**AME, "hidden_channels": 6})
    copied = copy_matching(make_model("student"), teacher)
    assert not any("convolution.0" in name for name in copied)
    assert "encoder.convolution.2.weight" not in copied
    assert {"encoder.query.weight", "encoder.attention.key.weight"} <= set(copied)
    # The critic's vector has more parts: neither query nor normaliser describe it.
    copied = copy_matching(make_model("critic"), make_model("teacher"))
    assert "encoder.query.weight" not in copied
    assert not any("normalizer" in name for name in copied)


def test_a_flat_critic_can_see_all_cells_near_the_feet():
    window, near = HeightMapCfg(), (-0.2, 0.8)
    coarse = kept_cells(window, 2, None)
    assert coarse.tolist() == [
        32 * y + x for y in range(0, 16, 2) for x in range(0, 32, 2)
    ]
    kept = kept_cells(window, 2, near)
    # 20 columns of 16 cells; of 2 columns behind and 10 beyond every second, 6 x 8.
    assert len(kept) == 20 * 16 + 6 * 8
    x = window.centres_h()[..., 0].flatten()
    assert set(np.flatnonzero((x > -0.2) & (x < 0.8))) <= set(kept.tolist())

    profile = replace(LAPTOP, critic_near_x_m=near)
    cfg = make_agent_cfg(G1, "teacher", profile).critic
    cfg.pop("class_name")
    obs = TensorDict({"a": torch.randn(3, 5), "m": torch.randn(3, 16, 32)}, [3])
    critic = FlatMapModel(obs, {"critic": ["a", "m"]}, "critic", 1, **cfg)
    value = critic(obs)
    for cell, matters in ((32 + 3, True), (32 + 31, False)):  # Odd rows and columns.
        other = obs.clone()
        other["m"].flatten(1)[:, cell] += 0.1
        assert torch.equal(critic(other), value) != matters
