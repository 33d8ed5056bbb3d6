"""A small model with everything the native backend exchanges with MuJoCo."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
import torch
from mjlab.sim import MujocoCfg

from solo.sim import NativeSimulation, SoloSimulationCfg

HOPPER = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="base" pos="0 0 0.6">
      <freejoint/>
      <geom name="trunk" type="box" size="0.1 0.08 0.05" mass="2"/>
      <site name="top" pos="0 0 0.1"/>
      <body name="leg" pos="0 0 -0.05">
        <joint name="hip" axis="0 1 0" range="-1 1" damping="0.1"/>
        <geom name="thigh" type="capsule" size="0.02"
          fromto="0 0 0 0.1 0 -0.2" mass="1"/>
        <body name="shank" pos="0.1 0 -0.2">
          <joint name="knee" axis="0 1 0" range="-1 1" damping="0.1" armature="0.01"/>
          <geom name="foot" type="sphere" size="0.03" pos="-0.1 0 -0.2" mass="0.5"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="hip" joint="hip" kp="40" kv="2"/>
    <position name="knee" joint="knee" kp="40" kv="2"/>
  </actuator>
  <sensor>
    <gyro site="top"/>
    <accelerometer site="top"/>
    <contact name="touch" body1="shank" data="found force" reduce="netforce"/>
  </sensor>
</mujoco>
"""


def make_model() -> mujoco.MjModel:
    """Compile the hopper."""
    return mujoco.MjModel.from_xml_string(HOPPER)


@pytest.fixture
def make_sim() -> Callable[..., NativeSimulation]:
    """Build a native simulation of hoppers, each tilted and thrown in its own way."""

    def make(
        num_envs: int = 1, *, num_threads: int | None = None, seed: int = 0
    ) -> NativeSimulation:
        cfg = SoloSimulationCfg(
            mujoco=MujocoCfg(timestep=0.005), num_threads=num_threads
        )
        sim = NativeSimulation(num_envs, cfg, model=make_model(), device="cpu")
        rng = np.random.default_rng(seed)
        # Drawn env by env, so that the first environments do not depend on how many
        # there are.
        for env in range(num_envs):
            noise = torch.from_numpy(rng.normal(size=20).astype(np.float32))
            sim.data.qpos[env, 7:9] = 0.3 * noise[:2]
            sim.data.qvel[env] = noise[2:10]
            sim.data.ctrl[env] = 0.5 * noise[10:12]
        return sim

    return make


def plain_copy(sim: NativeSimulation, env: int = 0) -> mujoco.MjData:
    """MuJoCo's own data with the state of one environment."""
    data = mujoco.MjData(sim.mj_model)
    for name, twin in sim.data.state.items():
        twin.merge()
        if name == "time":
            data.time = float(twin.exact[env, 0])
        elif twin.exact.shape[1]:
            array = getattr(data, name)
            array[:] = twin.exact[env].reshape(array.shape)
    return data


def assert_same_bits(
    sim: NativeSimulation, other: NativeSimulation, *envs: int
) -> None:
    """Some environments of two simulations are in exactly the same state."""
    rows = list(envs)
    np.testing.assert_array_equal(exact_state(sim)[rows], exact_state(other)[rows])


def exact_state(sim: NativeSimulation) -> np.ndarray:
    """The float64 positions and velocities of all environments."""
    state = sim.data.state
    return np.hstack([state["qpos"].exact, state["qvel"].exact])
