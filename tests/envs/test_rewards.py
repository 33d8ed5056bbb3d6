"""The paper's reward table against numbers worked out by hand."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg
from mjlab.tasks.velocity.mdp import UniformVelocityCommand

from solo.envs import mdp
from solo.envs.mdp.rewards import edges_below
from solo.envs.rewards_cfg import footprint, make_rewards
from solo.robots.g1 import G1
from solo.tasks.env_cfg import make_stage_env_cfg
from solo.tasks.profiles import get_profile

METRICS = Path(__file__).parents[2] / "docs" / "metrics.md"
FEET = SceneEntityCfg("robot", body_names=("left", "right"), body_ids=[0, 1])

PAPER_WEIGHTS = {
    "track_lin_vel_xy_exp": 3.0,
    "track_ang_vel_z_exp": 5.0,
    "lin_vel_z_l2": -0.25,
    "ang_vel_xy_l2": -0.05,
    "energy": -1.0e-3,
    "dof_acc_l2": -2.5e-7,
    "action_rate_l2": -0.01,
    "dof_pos_limits": -2.0,
    "joint_deviation_hip": -0.15,
    "joint_deviation_arms": -0.15,
    "joint_deviation_legs": -0.02,
    "undesired_contacts": -1.0,
    "fly": -3.0,
    "body_orientation_l2": -5.0,
    "flat_orientation_l2": -1.0,
    "termination_penalty": -200.0,
    "feet_air_time": 3.0,
    "feet_slide": -0.25,
    "feet_force": -1.0e-2,
    "feet_stumble": -5.0,
    "foothold_grad_penalty": -5.0,
}


def tensor(*rows):
    return torch.tensor(rows)


def env_of(command=None, touching=None, heading_error=None, **data) -> Any:
    """What the terms read of an environment: a command, contacts, a robot's state.

    Without a ``heading_error`` the robots are told no heading.
    """
    contact = {name: data.pop(name, None) for name in ("force", "air", "ground")}
    scene = {
        "robot": SimpleNamespace(data=SimpleNamespace(**data)),
        "contact": SimpleNamespace(
            data=SimpleNamespace(
                found=None if touching is None else torch.tensor(touching).int(),
                force=contact["force"],
                current_air_time=contact["air"],
                current_contact_time=contact["ground"],
            )
        ),
    }
    steering = UniformVelocityCommand.__new__(UniformVelocityCommand)
    rows = 1 if command is None else len(command)
    steering.heading_error = (
        torch.zeros(rows) if heading_error is None else heading_error
    )
    steering.is_heading_env = torch.full((rows,), heading_error is not None)
    manager = SimpleNamespace(
        get_command=lambda name: {"go": command}[name],
        get_term=lambda name: {"go": steering}[name],
    )
    return SimpleNamespace(scene=scene, command_manager=manager)


def moving_at(velocity_xy, yaw_rate):
    """State of bases that face along x."""
    rows = len(velocity_xy)
    velocity = torch.zeros(rows, 6)
    velocity[:, :2], velocity[:, 5] = velocity_xy, yaw_rate
    upright = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).expand(rows, 4)
    return {"root_link_vel_w": velocity, "root_link_quat_w": upright}


def test_the_table_is_the_papers():
    weights = {name: term.weight for name, term in make_rewards(G1).items()}
    assert weights == PAPER_WEIGHTS
    assert len(weights) == 21


def test_the_three_deviation_groups_cover_each_joint_once():
    rewards = make_rewards(G1)
    groups = [
        G1.find_joints(
            rewards[f"joint_deviation_{group}"].params["asset_cfg"].joint_names
        )
        for group in ("hip", "arms", "legs")
    ]
    assert [len(group) for group in groups] == [4, 13, 8]
    assert sorted(sum(groups, ())) == sorted(G1.joint_names)


def test_tracking_falls_with_the_square_of_the_error():
    # An error of (0.3, -0.4) has the square 0.25, which over 0.5^2 gives exp(-1).
    command = tensor([0.8, 0.0, 1.0], [0.5, 0.2, 0.2])
    state = moving_at(tensor([0.5, 0.4], [0.5, 0.2]), tensor(0.0, 0.2))
    env = env_of(command, **state)
    value = mdp.track_lin_vel_xy_exp(env, "go", 0.5)
    assert value.tolist() == pytest.approx([math.exp(-1.0), 1.0], rel=1e-5)
    turn = mdp.track_ang_vel_z_exp(env, "go", 0.5)
    assert turn.tolist() == pytest.approx([math.exp(-4.0), 1.0], rel=1e-5)


def test_squares_and_magnitudes():
    env = env_of(
        root_link_lin_vel_b=tensor([9.0, 9.0, -3.0]),
        root_link_ang_vel_b=tensor([1.0, -2.0, 9.0]),
        joint_pos=tensor([1.5, 9.0, -2.0]),
        default_joint_pos=tensor([0.5, 0.0, 0.0]),
        projected_gravity_b=tensor([0.6, -0.8, 0.0]),
    )
    assert mdp.lin_vel_z_l2(env).tolist() == [9.0]
    assert mdp.ang_vel_xy_l2(env).tolist() == [5.0]
    joints = SceneEntityCfg("robot", joint_ids=[0, 2])
    assert mdp.joint_deviation(env, joints).tolist() == [3.0]
    assert mdp.orientation_l2(env).tolist() == pytest.approx([1.0])


def test_energy_is_the_norm_of_powers():
    # Powers 2 * 1.5 = 3 W and -4 * 1 = -4 W; their norm is 5 W, their sum is not.
    env = env_of(qfrc_actuator=tensor([2.0, -4.0]), joint_vel=tensor([1.5, 1.0]))
    assert mdp.energy(env).tolist() == [5.0]


def test_joint_limits_count_the_excess():
    env = env_of(
        joint_pos=tensor([1.25, -1.5, 0.9]),
        soft_joint_pos_limits=tensor([[-1.0, 1.0]] * 3),
    )
    assert mdp.dof_pos_limits(env).tolist() == [0.75]


def test_undesired_contacts_count_bodies_over_one_newton():
    force = tensor(
        [[0.0, 0.0, 0.9], [0.0, 0.8, 0.8], [0.0, 0.0, 0.0], [30.0, 0.0, 0.0]]
    )
    assert mdp.undesired_contacts(env_of(force=force), "contact").tolist() == [2.0]


def test_who_touches_nothing_flies():
    env = env_of(touching=[[False, False], [True, False], [True, True]])
    assert mdp.fly(env, "contact").tolist() == [1.0, 0.0, 0.0]


def test_termination_penalty_counts_a_fall_once():
    ended = {"fall": [True, False, False], "collapsed": [True, True, False]}
    manager = SimpleNamespace(get_term=lambda name: torch.tensor(ended[name]))
    env: Any = SimpleNamespace(termination_manager=manager)
    value = mdp.termination_penalty(env, ("fall", "collapsed"))
    assert value.tolist() == [1.0, 1.0, 0.0]


def test_feet_air_time():
    touching = [
        [True, False], [True, False], [True, True], [False, False], [False, True]
    ]  # fmt: skip
    air = tensor([0.0, 0.25], [0.0, 0.9], [0.0, 0.0], [0.5, 0.5], [0.3, 0.0])
    ground = tensor([0.31, 0.0], [0.7, 0.0], [0.5, 0.5], [0.0, 0.0], [0.0, 0.35])
    command = tensor(*[[0.0, 0.0, 0.2]] * 4, [0.05, 0.0, 0.05])
    env = env_of(command, touching, air=air, ground=ground)
    # Single stance: min(0.31, 0.25); clipped at 0.4; double stance; flight; not moving.
    value = mdp.feet_air_time(env, "contact", "go")
    assert value.tolist() == pytest.approx([0.25, 0.4, 0.0, 0.0, 0.0])


def test_feet_slide_ignores_the_foot_in_the_air():
    vel = tensor(*[[[0.3, 0.4, 7.0], [3.0, 4.0, 7.0]]] * 2)
    env = env_of(touching=[[True, False], [True, True]], body_link_lin_vel_w=vel)
    assert mdp.feet_slide(env, "contact", FEET).tolist() == pytest.approx([0.5, 5.5])


def test_feet_force_starts_at_500_and_ends_at_900_newton():
    # (300, 400) has norm 500; (480, 640) has 800; (900, 1200) has 1500.
    force = torch.zeros(3, 2, 3)
    force[..., 2] = tensor([300.0, 400.0], [480.0, 640.0], [900.0, 1200.0])
    value = mdp.feet_force(env_of(force=force), "contact")
    assert value.tolist() == pytest.approx([0.0, 300.0, 400.0])


def test_feet_stumble_is_more_sideways_than_up():
    force = torch.tensor(
        [
            [[3.0, 4.0, 5.5], [0.0, 0.0, 0.0]],
            [[3.0, 4.0, 4.9], [0.0, 0.0, 300.0]],
            [[0.0, 0.0, 200.0], [0.0, -50.0, -49.0]],
        ]
    )
    value = mdp.feet_stumble(env_of(force=force), "contact")
    assert value.tolist() == [0.0, 1.0, 1.0]


class FlatMap:
    """The ground below the feet, as given."""

    def __init__(self, heights):
        self.heights = heights

    def sample(self, pos_w, quat_w):
        assert pos_w.shape == (len(self.heights) * 2, 3)
        assert quat_w.shape == (len(self.heights) * 2, 4)
        return self.heights.flatten(0, 1)


def foothold(heights, touching, forward_speed):
    """The penalty of robots with that ground below their feet."""
    penalty: Any = mdp.foothold_grad_penalty.__new__(mdp.foothold_grad_penalty)
    penalty._map = FlatMap(heights)
    env = env_of(
        touching=touching,
        body_link_pos_w=torch.zeros(len(heights), 2, 3),
        body_link_quat_w=torch.zeros(len(heights), 2, 4),
        root_link_lin_vel_b=tensor([forward_speed, 0.0, 0.0]),
    )
    env.num_envs = len(heights)
    return penalty(env, "contact", FEET, None).item()


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        ("none", 0.0),
        ("front", 0.7),
        ("rear", 0.7),
        ("left", 0.3),
        ("right", 0.3),
        ("corner", 1.0),
    ],
)
def test_foothold_penalty_weighs_the_sides(edge, expected):
    heights = torch.zeros(1, 2, 3, 5)  # y from right to left, x from heel to toe.
    if edge == "front":
        heights[0, 0, :, 4] = -0.2  # The toe hangs over a drop.
    elif edge == "rear":
        heights[0, 0, :, 0] = 0.2
    elif edge == "left":
        heights[0, 0, 2, :] = -0.2
    elif edge == "right":
        heights[0, 0, 0, :] = 0.2
    elif edge == "corner":
        heights[0, 0, 2, 4] = -0.2
    assert foothold(heights, [[True, True]], 0.1) == pytest.approx(expected)
    assert foothold(heights, [[False, True]], 0.1) == 0.0
    assert foothold(heights, [[True, True]], -0.1) == 0.0


def test_foothold_threshold_is_five_centimetres():
    for drop, expected in ((0.045, 0.0), (0.055, 1.4)):
        heights = torch.zeros(1, 2, 3, 5)
        heights[:, :, :, 4] = -drop  # Under both toes: 2 x 0.7.
        assert edges_below(heights).sum().item() == pytest.approx(expected)


def test_footprint_covers_the_sole():
    cfg = footprint(G1.feet[0])
    assert cfg.cells == (3, 5)
    centres = cfg.centres_h()
    assert centres[0, 0] == pytest.approx((-0.062, -0.05), abs=1e-6)
    assert centres[-1, -1] == pytest.approx((0.138, 0.05), abs=1e-6)


def test_swing_lift_is_earned_by_short_swings_of_one_foot():
    height = tensor([0.04, 0.0], [0.3, 0.0], [0.04, 0.0], [0.04, 0.0], [0.04, 0.0])
    touching = [
        [False, True], [False, True], [False, False], [False, True], [False, True]
    ]  # fmt: skip
    air = tensor([0.2, 0.0], [0.2, 0.0], [0.2, 0.2], [0.6, 0.0], [0.2, 0.0])
    command = tensor(*[[0.4, 0.0, 0.0]] * 4, [0.05, 0.0, 0.0])
    pos = torch.zeros(5, 2, 3)
    pos[..., 2] = height
    state = moving_at(tensor(*[[0.1, 0.0]] * 5), 0.0)
    env = env_of(command, touching, air=air, body_link_pos_w=pos, **state)
    # Half of 8 cm; clipped; in flight; on one leg for too long; not moving.
    value = mdp.swing_lift(env, "contact", "go", FEET)
    assert value.tolist() == pytest.approx([0.5, 1.0, 0.0, 0.0, 0.0])
    # A quarter of the commanded speed is reached.
    value = mdp.stride(env, "contact", "go", FEET)
    assert value.tolist() == pytest.approx([0.125, 0.25, 0.0, 0.0, 0.0])


def test_progress_is_the_share_of_the_speed_along_the_command():
    command = torch.zeros(5, 3)
    command[:, :2] = tensor([0.4, 0.0], [0.4, 0.0], [0.4, 0.0], [0.3, 0.4], [0.05, 0.0])
    velocity = tensor([0.3, 0.2], [0.9, 0.0], [-0.2, 0.0], [0.3, 0.4], [0.0, 0.0])
    # Three quarters, whatever goes sideways; no more than all; backwards; all of it;
    # told to stand.
    value = mdp.progress(env_of(command, **moving_at(velocity, 0.0)), "go")
    assert value.tolist() == pytest.approx([0.75, 1.0, 0.0, 1.0, 1.0])


def test_progress_in_another_direction_than_the_heading_asked_for_does_not_pay():
    command = tensor(*[[0.4, 0.0, 0.0]] * 4)
    velocity = tensor([0.4, 0.0], [0.4, 0.0], [0.0, 0.4], [0.4, 0.0])
    error = torch.tensor([0.0, math.pi / 3, math.pi / 2, math.pi])
    # On course; 60 degrees off course, cos = 0.5; sideways towards the heading, which
    # is not what the command says; the other way.
    env = env_of(command, heading_error=error, **moving_at(velocity, 0.0))
    value = mdp.progress(env, "go")
    assert value.tolist() == pytest.approx([1.0, 0.5, 0.0, 0.0], abs=1e-6)


def describe_weights(cfg: ManagerBasedRlEnvCfg) -> dict[str, str]:
    """Each term's weight per second, and how curricula change it over the training."""
    weights = {name: f"{term.weight:g}" for name, term in cfg.rewards.items()}
    for curriculum in cfg.curriculum.values():
        if curriculum.func is not mdp.ease_in:
            continue
        millions = curriculum.params["env_steps"] / 1e6
        for path, start in curriculum.params["start"].items():
            kind, _, name = path.partition("/")
            if kind == "reward":
                change = f"{start:g} to {weights[name]} in {millions:g} M samples"
                weights[name] = change
    return weights


def test_the_table_in_the_docs_has_every_weight_and_what_a_profile_changes():
    motions: Any = None  # Weights do not depend on them.
    cfg = make_stage_env_cfg(G1, "teacher", get_profile("laptop"), motions)
    expected = {
        name: (f"{PAPER_WEIGHTS.get(name, 0):g}", text)
        for name, text in describe_weights(cfg).items()
    }
    assert expected["foothold_grad_penalty"] == ("-5", "0 to -5 in 100 M samples")
    row = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|.*\|$", re.M)
    rows = row.findall(METRICS.read_text())
    found = {name: (paper, own) for name, paper, own in rows}
    assert {k: v for k, v in found.items() if k in expected} == expected
