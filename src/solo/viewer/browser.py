"""mjlab's browser viewer on our terrain, for this machine only."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable

import mujoco
import numpy as np
import viser
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl import RslRlVecEnvWrapper
from mjlab.viewer import ViserPlayViewer
from mjlab.viewer.base import EnvProtocol
from typing_extensions import override

from solo.envs.agents import Agent
from solo.envs.mdp.terrain import grid_terrain
from solo.viewer.sight_panel import SightPanel
from solo.viewer.terrain_mesh import make_terrain_meshes

HOST = "127.0.0.1"
"""Loopback: viser's default would offer the controls to the whole network."""


def start_server(port: int) -> viser.ViserServer:
    """Start to listen; takes the next free port if this one is in use."""
    # A browser that opens a connection ahead of need and drops it is no error.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()):  # Its banner.
        return viser.ViserServer(host=HOST, port=port, label="SOLO", verbose=False)


def show(
    env: ManagerBasedRlEnv,
    agent: Agent,
    server: viser.ViserServer,
    robot: int,
    panel: SightPanel | None = None,
    on_step: Callable[[], None] | None = None,
) -> None:
    """Run the environment in real time until the user interrupts.

    Args:
        env: The environment, which has been reset.
        agent: What acts in it.
        server: From `start_server`.
        robot: Index of the robot that the camera follows at first.
        panel: What this robot perceives; kept up to date.
        on_step: Called after every step.
    """
    view = env.cfg.viewer
    view.env_idx = robot
    # Unlike in MuJoCo, the browser viewer counts the camera's height as positive.
    view.distance, view.azimuth, view.elevation = 3.6, 140.0, 22.0
    # The viewer warns about terms beyond its number of bars.
    view.reward_bar_max_terms = len(env.reward_manager.active_terms)
    wrapped = RslRlVecEnvWrapper(env)
    viewer = _TerrainViewer(wrapped, lambda obs: agent(env), viser_server=server)
    viewer.panel, viewer.on_step = panel, on_step
    viewer.run()


class _TerrainViewer(ViserPlayViewer):
    """Sends light meshes instead of height fields: 0.5 instead of 35 million faces."""

    env: EnvProtocol
    panel: SightPanel | None = None
    on_step: Callable[[], None] | None = None

    @override
    def setup(self) -> None:
        model: mujoco.MjModel = self.env.unwrapped.sim.mj_model
        is_hfield = model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD
        colours = model.geom_rgba[is_hfield].copy()
        model.geom_rgba[is_hfield, 3] = 0.0  # The viewer skips what is transparent.
        try:
            super().setup()
        finally:
            model.geom_rgba[is_hfield] = colours
        scene = grid_terrain(self.env.unwrapped).terrain_scene
        for index, mesh in enumerate(make_terrain_meshes(scene)):
            # The viewer moves /fixed_bodies when the camera follows a robot.
            self._server.scene.add_mesh_simple(
                f"/fixed_bodies/terrain_view/{index}",
                mesh.vertices.astype(np.float32),
                mesh.triangles,
                color=mesh.rgb,
                flat_shading=True,
                side="double",
                cast_shadow=False,
            )

    @override
    def sync_env_to_viewer(self) -> None:
        super().sync_env_to_viewer()
        if self.panel is not None:
            self.panel.update(self._scene.env_idx)

    @override
    def _execute_step(self) -> bool:
        has_stepped = super()._execute_step()
        if has_stepped and self.on_step is not None:
            self.on_step()
        return has_stepped
