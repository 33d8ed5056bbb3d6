"""The ground around the feet: kinematics as MuJoCo's, heights as on the map."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch
from torch.nn.functional import grid_sample

from solo.networks.foot_view import FootView, FootViewCfg
from solo.robots.build import build_spec
from solo.robots.g1 import G1
from solo.tasks.agent_cfg import make_foot_view_cfg
from tests.networks.helpers import FEET, MAP, make_model, make_obs


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def view() -> FootView:
    cfg = FootViewCfg.of(make_foot_view_cfg(G1))
    return FootView(cfg, G1.height_map, 0.25, G1.base_height_m, 1.6)


def test_feet_are_where_mujoco_has_them(view):
    """Random joints, base tilted by up to 0.5 rad and turned."""
    model = build_spec(G1, visual=False).compile()
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    default = np.array(G1.joint_values(G1.default_joint_pos))
    adr = [int(model.joint(name).qposadr[0]) for name in G1.joint_names]
    for _ in range(5):
        offset = rng.uniform(-0.6, 0.6, len(adr))
        roll, pitch, yaw = rng.uniform(-0.5, 0.5, 3)
        quat = np.zeros(4)
        mujoco.mju_euler2Quat(quat, np.array([yaw, pitch, roll]), "zyx")
        data.qpos[:3], data.qpos[3:7] = (1.0, 2.0, 3.0), quat
        data.qpos[adr] = default + offset
        mujoco.mj_kinematics(model, data)
        base = data.body(G1.base_body)
        vector = np.zeros(87)
        vector[3:6] = base.xmat.reshape(3, 3).T @ (0.0, 0.0, -1.0)
        vector[9:34] = offset
        found = view.feet_h(torch.from_numpy(vector).float()[None])[0].numpy()
        turn = np.array(
            [[np.cos(yaw), np.sin(yaw), 0], [-np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]]
        )
        for foot, at in zip(G1.feet, found, strict=True):
            expected = turn @ (data.body(foot.body).xpos - base.xpos)
            np.testing.assert_allclose(at, expected, atol=1e-5)


def test_an_edge_is_as_far_from_the_foot_as_on_the_map(view):
    """Ground at 0 up to x = 0.35, a hole of 0.4 beyond; feet at x = 0.1 and 0.2."""
    x = torch.from_numpy(G1.height_map.centres_h()[0, :, 0]).float()
    ground = torch.where(x < 0.35, 0.0, -0.4)
    height_map = (ground - G1.base_height_m).expand(1, *G1.height_map.cells)
    feet = torch.tensor([[[0.1, 0.1, -0.7], [0.2, -0.1, -0.7]]])
    relief = view.relief(feet, height_map)
    at = torch.from_numpy(view.lattice_x.numpy())
    for foot, edge in ((0, 0.25), (1, 0.15)):
        for row in relief[0, foot]:
            assert torch.allclose(row[at < edge - 0.026], torch.zeros(()), atol=1e-6)
            assert torch.allclose(row[at > edge + 0.026], torch.tensor(-0.4), atol=1e-6)


def test_heights_between_cells_are_those_of_grid_sample(view):
    height_map = torch.randn(3, *G1.height_map.cells) * 0.2 - G1.base_height_m
    feet = torch.rand(3, 2, 3) - 0.5  # Some of the lattice is beyond the rim.
    window = G1.height_map
    y, x = torch.meshgrid(view.lattice_y, view.lattice_x, indexing="ij")
    places = feet[:, :, None, None, :2] + torch.stack([x, y], dim=-1)
    low = torch.tensor([window.x_range_m[0], window.y_range_m[0]])
    high = torch.tensor([window.x_range_m[1], window.y_range_m[1]])
    expected = grid_sample(
        (height_map + G1.base_height_m).unsqueeze(1),
        (2.0 * (places - low) / (high - low) - 1.0).flatten(1, 2),
        padding_mode="border",
        align_corners=False,
    )
    found = view.relief(feet, height_map).flatten(1, 2)
    torch.testing.assert_close(found, expected.squeeze(1), atol=1e-5, rtol=0.0)


@pytest.mark.parametrize("role", ["teacher", "student"])
def test_models_take_it_and_see_by_it(role):
    """A change of the map at the feet alone changes the head's input."""
    model = make_model(role, foot_view_cfg=FEET).eval()
    obs = make_obs(4)
    assert model.foot_view is not None
    assert MAP.cells == tuple(obs["height_map"].shape[1:])
    before = model.get_latent(obs)
    model.reset()
    for parameter in model.encoder.parameters():
        parameter.data.zero_()
    blind = model.get_latent(obs)
    model.reset()
    obs["height_map"] = obs["height_map"] + torch.randn(4, *MAP.cells) * 0.1
    seen = model.get_latent(obs)
    assert not torch.equal(before, blind)
    assert not torch.equal(blind, seen)
