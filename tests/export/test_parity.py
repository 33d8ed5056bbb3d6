"""The runtime shows a policy what the training environment showed it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from solo.deploy.bundle.load import load_bundle
from solo.deploy.camera import DepthProcessor
from solo.deploy.contract import DepthContract
from solo.deploy.drivers.protocols import RobotState
from solo.deploy.observation import Observation, Window, assemble, term_slices
from solo.envs.make import make_env
from solo.envs.names import COMMAND
from solo.export.graph import make_graph
from solo.robots.g1 import G1
from solo.sensors.depth.camera import DepthCamera
from solo.terrains import TerrainSceneCfg
from tests.deploy.helpers import g1_contract
from tests.envs.helpers import make_cfg

from .helpers import bundle_path, make_networks

pytestmark = pytest.mark.slow

TERRAIN = TerrainSceneCfg(("stairs_up_30",), num_levels=1, border_m=4.0)
STEPS = 30


@pytest.fixture(scope="module")
def env():
    """A perceptive environment with small, clean images and without noise."""
    camera = replace(G1.depth_camera, output_width=25, output_height=16)
    robot = replace(G1, depth_camera=camera)
    depth = robot.depth_sensor(clean=True)
    cfg = make_cfg(1, terrain=TERRAIN, stage="perceptive", depth=depth)
    cfg.observations["proprioception_window"].enable_corruption = False
    env = make_env(cfg)
    yield env
    env.close()


def measured(env) -> RobotState:
    """What a driver would read."""
    data = env.scene["robot"].data
    return RobotState(
        0.0,
        data.joint_pos[0].double().numpy(),
        data.joint_vel[0].double().numpy(),
        data.root_link_quat_w[0].double().numpy(),
        data.root_link_ang_vel_b[0].double().numpy(),
    )


def test_observations_and_actions_are_those_of_training(env):
    joints = g1_contract().joints
    depth = DepthContract(output_width=25, output_height=16)
    window, images = Window(10, (84,)), Window(4, (16, 25), 4)
    processor, term = DepthProcessor(depth), depth_term(env)
    policy = load_bundle(bundle_path()).policy
    graph = make_graph(*make_networks(), streaming=False)
    state = graph.initial_state()
    generator = torch.Generator().manual_seed(0)
    obs, _ = env.reset(seed=0)
    action = torch.zeros(1, 25)
    for step in range(STEPS):
        command = env.command_manager.get_command(COMMAND)[0].double().numpy()
        vector = assemble(measured(env), command, action[0].double().numpy(), joints)
        expected = obs["proprioception_window"]
        for name, part in term_slices(25).items():
            np.testing.assert_allclose(
                vector[part], expected[0, -1, part], atol=1e-6, err_msg=name
            )
        frames = window.push(vector)
        np.testing.assert_allclose(frames, expected[0], atol=1e-6)
        image = processor.normalise(1e3 * term.clean_image()[0].numpy())
        seen = images.push(image)
        np.testing.assert_allclose(seen, obs["depth"][0], atol=1e-6)

        found = policy.step(Observation(vector, frames, image, seen))
        with torch.no_grad():
            wanted, _, _, _, *state = graph(obs["depth"], expected, *state)
        np.testing.assert_allclose(found, wanted[0], atol=1e-4)
        action = 0.3 * torch.randn(1, 25, generator=generator)
        obs, _, terminated, truncated, _ = env.step(action)
        assert not (terminated | truncated).any(), f"The robot fell in step {step}."


def test_raw_frames_are_resized_as_training_renders_them(env):
    term = depth_term(env)
    raw = replace(G1.depth_camera, output_width=640, output_height=480)
    camera = DepthCamera(env.scene.terrain.grid, raw, "cpu")
    pos_w, rotation_w = term.camera_pose_w()
    frame = camera.render(pos_w, rotation_w, term.links_w(), term._radii)
    depth_mm = (1e3 * frame[0]).round().numpy().astype(np.uint16)
    processor = DepthProcessor(DepthContract(output_width=25, output_height=16))
    found = processor.normalise(processor.resize(depth_mm))
    expected = processor.normalise(1e3 * term.clean_image()[0].numpy())
    # A raw pixel is up to half a raw pixel beside the ray of training.
    errors = np.abs(found - expected)
    assert np.median(errors) < 2e-3
    for axis in (0, 1):
        shifted = np.abs(np.roll(found, 1, axis) - expected)
        assert np.median(errors) < 0.5 * np.median(shifted)


def depth_term(env):
    return env.observation_manager.get_term_cfg("depth", "depth").func
