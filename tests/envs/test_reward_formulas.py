"""The paper's reward table against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from solo.envs import reward_formulas as formulas
from solo.envs.rewards_cfg import footprint, make_rewards
from solo.robots.g1 import G1

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


def test_tracking():
    # An error of (0.3, -0.4) has the square 0.25, which over 0.5^2 gives exp(-1).
    value = formulas.track_lin_vel_xy_exp(
        tensor([0.8, 0.0], [0.5, 0.2]), tensor([0.5, 0.4], [0.5, 0.2]), 0.5
    )
    assert value.tolist() == pytest.approx([math.exp(-1.0), 1.0], rel=1e-5)
    turn = formulas.track_ang_vel_z_exp(tensor(1.0, 0.2), tensor(0.0, 0.2), 0.5)
    assert turn.tolist() == pytest.approx([math.exp(-4.0), 1.0], rel=1e-5)


def test_squares_and_magnitudes():
    assert formulas.l2_squared(tensor([1.0, -2.0])).tolist() == [5.0]
    assert formulas.l1(tensor([1.0, -2.0])).tolist() == [3.0]


def test_energy_is_the_norm_of_powers():
    # Powers 2 * 1.5 = 3 W and -4 * 1 = -4 W; their norm is 5 W, their sum is not.
    value = formulas.energy(tensor([2.0, -4.0]), tensor([1.5, 1.0]))
    assert value.tolist() == [5.0]


def test_joint_limits_count_the_excess():
    low, high = tensor([-1.0, -1.0, -1.0]), tensor([1.0, 1.0, 1.0])
    value = formulas.dof_pos_limits(tensor([1.25, -1.5, 0.9]), low, high)
    assert value.tolist() == [0.75]


def test_undesired_contacts_count_bodies_over_one_newton():
    force = tensor(
        [[0.0, 0.0, 0.9], [0.0, 0.8, 0.8], [0.0, 0.0, 0.0], [30.0, 0.0, 0.0]]
    )
    assert formulas.undesired_contacts(force, 1.0).tolist() == [2.0]


def test_fly():
    touching = torch.tensor([[False, False], [True, False], [True, True]])
    assert formulas.fly(touching).tolist() == [1.0, 0.0, 0.0]


def test_feet_air_time():
    touching = torch.tensor(
        [[True, False], [True, False], [True, True], [False, False], [False, True]]
    )
    air = tensor([0.0, 0.25], [0.0, 0.9], [0.0, 0.0], [0.5, 0.5], [0.3, 0.0])
    ground = tensor([0.31, 0.0], [0.7, 0.0], [0.5, 0.5], [0.0, 0.0], [0.0, 0.35])
    moving = torch.tensor([True, True, True, True, False])
    value = formulas.feet_air_time(touching, air, ground, moving, 0.4)
    # Single stance: min(0.31, 0.25); clipped at 0.4; double stance; flight; not moving.
    assert value.tolist() == pytest.approx([0.25, 0.4, 0.0, 0.0, 0.0])


def test_feet_slide_ignores_the_foot_in_the_air():
    vel = tensor([[0.3, 0.4], [3.0, 4.0]])
    assert formulas.feet_slide(torch.tensor([[True, False]]), vel).tolist() == (
        pytest.approx([0.5])
    )
    assert formulas.feet_slide(torch.tensor([[True, True]]), vel).tolist() == (
        pytest.approx([5.5])
    )


def test_feet_force_starts_at_500_and_ends_at_900_newton():
    # (300, 400) has norm 500; (480, 640) has 800; (900, 1200) has 1500.
    force = tensor([300.0, 400.0], [480.0, 640.0], [900.0, 1200.0])
    value = formulas.feet_force(force, 500.0, 400.0)
    assert value.tolist() == pytest.approx([0.0, 300.0, 400.0])


def test_feet_stumble_is_more_sideways_than_up():
    force = torch.tensor(
        [
            [[3.0, 4.0, 5.5], [0.0, 0.0, 0.0]],
            [[3.0, 4.0, 4.9], [0.0, 0.0, 300.0]],
            [[0.0, 0.0, 200.0], [0.0, -50.0, -49.0]],
        ]
    )
    assert formulas.feet_stumble(force).tolist() == [0.0, 1.0, 1.0]


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
    both, forward = torch.tensor([[True, True]]), torch.tensor([True])
    value = formulas.foothold_grad_penalty(heights, both, forward)
    assert value.item() == pytest.approx(expected)
    lifted = torch.tensor([[False, True]])
    assert formulas.foothold_grad_penalty(heights, lifted, forward).item() == 0.0
    backward = torch.tensor([False])
    assert formulas.foothold_grad_penalty(heights, both, backward).item() == 0.0


def test_foothold_threshold_is_five_centimetres():
    both, forward = torch.tensor([[True, True]]), torch.tensor([True])
    for drop, expected in ((0.045, 0.0), (0.055, 1.4)):
        heights = torch.zeros(1, 2, 3, 5)
        heights[:, :, :, 4] = -drop  # Under both toes: 2 x 0.7.
        value = formulas.foothold_grad_penalty(heights, both, forward)
        assert value.item() == pytest.approx(expected)


def test_footprint_covers_the_sole():
    cfg = footprint(G1.feet[0])
    assert cfg.cells == (3, 5)
    centres = cfg.centres_h()
    assert centres[0, 0] == pytest.approx((-0.062, -0.05), abs=1e-6)
    assert centres[-1, -1] == pytest.approx((0.138, 0.05), abs=1e-6)


def test_swing_lift_is_earned_by_short_swings_of_one_foot():
    height = tensor([0.04, 0.0], [0.3, 0.0], [0.04, 0.0], [0.04, 0.0], [0.04, 0.0])
    touching = torch.tensor(
        [[False, True], [False, True], [False, False], [False, True], [False, True]]
    )
    air = tensor([0.2, 0.0], [0.2, 0.0], [0.2, 0.2], [0.6, 0.0], [0.2, 0.0])
    moving = torch.tensor([True, True, True, True, False])
    # Half of 8 cm; clipped; in flight; on one leg for too long; not moving.
    value = formulas.swing_lift(height, touching, air, moving)
    assert value.tolist() == pytest.approx([0.5, 1.0, 0.0, 0.0, 0.0])


def test_a_speed_is_shared_along_its_command():
    command = tensor([0.4, 0.0], [0.4, 0.0], [0.4, 0.0], [0.3, 0.4], [0.05, 0.0])
    velocity = tensor([0.3, 0.2], [0.9, 0.0], [-0.2, 0.0], [0.3, 0.4], [0.0, 0.0])
    # Three quarters, whatever goes sideways; no more than all; backwards; all of it;
    # told to stand.
    value = formulas.speed_share(command, velocity)
    assert value.tolist() == pytest.approx([0.75, 1.0, 0.0, 1.0, 1.0])
