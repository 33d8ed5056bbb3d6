"""The 3-D half of the page: robot, obstacle, terrain and what the policy sees of it."""

from __future__ import annotations

import mujoco
import numpy as np
import viser
from mjviser import ViserMujocoScene

from solo.pictures.images import Easel, Perception
from solo.pictures.offscreen import body_qpos, make_body
from solo.pictures.terrain_mesh import make_terrain_meshes
from solo.terrains.scene import TerrainScene
from solo.viewer.walk import Moment

_FOLLOW_S = 0.4
"""How fast the view follows the robot: time to make up for 63 % of the distance."""
_JUMP_M = 1.0
"""The view jumps over longer distances, as when the robot starts again."""
_LIFT_M = 0.015
"""How far the dots float above the ground."""
_SHADE = 0.75
"""Factor on the terrain's colours, which the page's light makes pale."""
_DOT_M = 0.018
_CAMERA = (-2.6, -1.9, 1.2)
"""Where the browser's camera begins, from the robot's base."""


class PageScene:
    """Shows robots. The world moves past the first; the camera is the user's."""

    def __init__(
        self, server: viser.ViserServer, easel: Easel, num_robots: int = 1
    ) -> None:
        """Put the robots on the page.

        Args:
            server: From `solo.viewer.server.start_server`.
            easel: Knows the robot and the colours of its map.
            num_robots: How many there are.
        """
        self._server, self._easel, self._robot = server, easel, easel.robot
        self._model = make_body(self._robot).compile()
        self._data = mujoco.MjData(self._model)
        server.scene.set_up_direction("+z")
        self._scene = ViserMujocoScene(server, self._model, num_envs=num_robots)
        self._scene.camera_tracking_enabled = False  # It follows every sway.
        self._world = self._scene.fixed_bodies_frame
        self._anchor_w: np.ndarray | None = None
        self._ground: list[viser.MeshHandle] = []
        self._dots: viser.PointCloudHandle | None = None
        server.initial_camera.position = _CAMERA
        server.initial_camera.look_at = (0.35, 0.0, -0.15)

    def set_terrain(self, terrain: TerrainScene) -> None:
        """Exchange the ground."""
        with self._server.atomic():
            for handle in self._ground:
                handle.remove()
            self._ground = []
            for index, mesh in enumerate(make_terrain_meshes(terrain)):
                red, green, blue = mesh.rgb
                handle = self._server.scene.add_mesh_simple(
                    f"/fixed_bodies/ground_{index}",
                    mesh.vertices.astype(np.float32),
                    mesh.triangles,
                    color=(_SHADE * red, _SHADE * green, _SHADE * blue),
                    flat_shading=True,
                    side="double",
                    cast_shadow=False,
                )
                self._ground.append(handle)
        self._anchor_w = None

    def show(self, moment: Moment, since_s: float) -> None:
        """Show a state.

        Args:
            moment: The state.
            since_s: Time since the last one shown.
        """
        base_w = moment.qpos[:3].copy()
        anchor_w = self._anchor_w
        if anchor_w is None or np.linalg.norm(base_w - anchor_w) > _JUMP_M:
            anchor_w = base_w
        share = 1.0 - np.exp(-since_s / _FOLLOW_S)
        anchor_w = anchor_w + share * (base_w - anchor_w)
        self._anchor_w = anchor_w
        poses = [self._pose(qpos, anchor_w) for qpos in (moment.qpos, *moment.others)]
        xpos, xmat = (np.array(part) for part in zip(*poses, strict=True))
        with self._server.atomic():
            self._scene.update_from_arrays(xpos, xmat)
            self._world.position = -anchor_w

    def _pose(
        self, qpos: np.ndarray, anchor_w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions [bodies, 3] from the anchor and rotations [bodies, 3, 3]."""
        state = body_qpos(self._robot, qpos)
        box = len(state) - 7
        state[:3] -= anchor_w
        state[box : box + 3] -= anchor_w
        self._data.qpos[:] = state
        mujoco.mj_kinematics(self._model, self._data)
        return self._data.xpos.copy(), self._data.xmat.reshape(-1, 3, 3).copy()

    def show_map(self, perception: Perception, is_visible: bool) -> None:
        """Show the cells of the map acted on as dots, bright where the policy looks."""
        points = perception.points_w.reshape(-1, 3) + np.array([0.0, 0.0, _LIFT_M])
        points = points.astype(np.float32)
        colours = self._easel.cell_colours(perception)
        if self._dots is None:
            # Of half precision, 10 m from the origin, steps of 8 mm would remain.
            self._dots = self._server.scene.add_point_cloud(
                "/fixed_bodies/height_map",
                points,
                colours.reshape(-1, 3),
                point_size=_DOT_M,
                point_shape="circle",
                precision="float32",
            )
        with self._server.atomic():
            self._dots.points, self._dots.colors = points, colours.reshape(-1, 3)
            self._dots.visible = is_visible
