"""Symmetric students act in a mirrored world as in this one, only mirrored."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

import pytest
import torch

from solo.networks.student import StudentModel
from solo.networks.symmetry import Mirror, join_state, split_state
from solo.robots.g1 import G1
from solo.tasks.agent_cfg import make_agent_cfg, mirror_of_robot, student_mirror
from solo.tasks.profiles import PROFILES
from tests.export.helpers import ACTOR, GROUPS, make_obs
from tests.networks.helpers import AME, MIRROR, OPTIONS, make_model
from tests.networks.helpers import make_obs as make_tiny_obs


def test_outputs_are_folded_as_by_hand():
    swap = {"source": [1, 0, 2], "signs": [1.0, 1.0, -1.0]}
    mirror = Mirror(vector=swap, actions=swap)
    # The state's action (1, 2, 3), its image's (4, 6, 5), which is (6, 4, -5) here.
    folded = mirror.fold(torch.tensor([[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]]))
    assert folded.tolist() == [[3.5, 3.0, -1.0]]
    height_map = torch.arange(6.0).view(1, 3, 2)
    vector, maps = mirror.both(torch.tensor([[1.0, 2.0, 3.0]]), height_map)
    assert vector.tolist() == [[1.0, 2.0, 3.0], [2.0, 1.0, -3.0]]
    assert maps[1].tolist() == [[4.0, 5.0], [2.0, 3.0], [0.0, 1.0]]


def test_states_lie_side_by_side_outside_and_below_each_other_inside():
    state = torch.arange(12.0).view(1, 3, 4)  # Three robots, two numbers each.
    inside = split_state(state)
    assert inside.shape == (1, 6, 2)
    assert inside[0, 1].tolist() == [4.0, 5.0]  # The second robot,
    assert inside[0, 4].tolist() == [6.0, 7.0]  # and its image.
    assert (join_state(inside) == state).all()


@pytest.mark.parametrize("is_symmetric", [True, False])
def test_the_mirrored_walk_has_the_mirrored_actions(is_symmetric):
    torch.manual_seed(0)
    mirror = student_mirror(G1) if is_symmetric else None
    student = StudentModel(
        make_obs(1), {"actor": GROUPS}, "actor", 25, **ACTOR, mirror=mirror
    )
    student.update_normalization(make_obs(50))  # Its means are not symmetric.
    maps, states = mirror_of_robot(G1), cast(list[Any], [None, None])
    names = ("proprioception", "base_velocity", "height_map")
    twins = dict(zip(GROUPS, names, strict=True))
    distance = 0.0
    with torch.no_grad():
        for _ in range(5):
            obs = make_obs(4)
            image = obs.clone()
            for name, twin in twins.items():
                image[name] = maps.groups[twin](obs[name])
            actions = []
            for k, seen in enumerate((obs, image)):
                student.reset(hidden_state=states[k])
                actions.append(student(seen))
                states[k] = student.get_hidden_state()
            distance += (maps.actions(actions[1]) - actions[0]).abs().max().item()
    assert distance < 1e-5 if is_symmetric else distance > 1e-2


@pytest.mark.parametrize("options", [{}, OPTIONS])
@pytest.mark.parametrize("batch", [(4,), (3, 4)])
def test_a_symmetric_teacher_gives_a_mirrored_example(batch, options):
    torch.manual_seed(0)
    ame = {**AME, **options}
    teacher = make_model("teacher", mirror=MIRROR, ame_cfg=ame)
    teacher.update_normalization(make_tiny_obs(50))
    obs = make_tiny_obs(*batch)
    vector = torch.cat([obs["teacher_proprioception"], obs["base_velocity"]], dim=-1)
    source, signs = MIRROR["vector"]["source"], MIRROR["vector"]["signs"]
    image = vector[..., source] * torch.tensor(signs)
    mirrored = obs.clone()
    mirrored["teacher_proprioception"] = image[..., :9]
    mirrored["base_velocity"] = image[..., 9:]
    mirrored["height_map"] = obs["height_map"].flip(-2)
    source, signs = MIRROR["actions"]["source"], MIRROR["actions"]["signs"]
    expected = teacher(obs)[..., source] * torch.tensor(signs)
    torch.testing.assert_close(teacher(mirrored), expected)
    plain = make_model("teacher", ame_cfg=ame)
    plain.load_state_dict(teacher.state_dict())
    assert not torch.allclose(plain(obs), teacher(obs), atol=1e-3)


def test_weights_of_plain_and_symmetric_students_are_the_same():
    plain, symmetric = make_model("student"), make_model("student", mirror=MIRROR)
    symmetric.load_state_dict(plain.state_dict())
    assert set(symmetric.state_dict()) == set(plain.state_dict())


def test_exploration_is_around_the_folded_action():
    student = make_model("student", mirror=MIRROR)
    obs = make_tiny_obs(3)
    student(obs, stochastic_output=True)
    mean = student.output_mean
    student.reset()
    torch.testing.assert_close(student(obs), mean)


def test_only_the_laptop_profile_asks_for_it():
    for name, profile in PROFILES.items():
        cfg = asdict(make_agent_cfg(G1, "student", profile))
        assert ("mirror" in cfg["actor"]) == (name == "laptop")
        assert cfg["teacher"].get("mirror") == cfg["actor"].get("mirror")
