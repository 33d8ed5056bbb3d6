"""The viewer's panel with what the followed robot perceives."""

from __future__ import annotations

import time

import numpy as np
import viser
from mjlab.envs import ManagerBasedRlEnv
from PIL import Image

from solo.viewer import panels
from solo.viewer.sight import Eyes, Sight

_PERIOD_S = 0.2
"""Least time between two updates: drawing must not hold the simulation up."""
_WIDTH_PX = 280
_CELL_PX = 8
_LIFT_M = 0.015
"""How far the dots of the map float above the ground."""


class SightPanel:
    """Depth images and height map beside the scene, and the map's cells in it."""

    def __init__(
        self, server: viser.ViserServer, env: ManagerBasedRlEnv, base_height_m: float
    ) -> None:
        """Put the panel on the left.

        Args:
            server: The viewer's server.
            env: The environment, which has been reset.
            base_height_m: Height of the base of a standing robot.
        """
        self._server, self._env = server, env
        self._base_height_m = base_height_m
        self._eyes = Eyes(env)
        self._dots: viser.PointCloudHandle | None = None
        self._shown: tuple[int, int, int] | None = None
        self._due_s = 0.0
        panel = server.gui.add_panel()
        with panel.add_tab("Robot's view", viser.Icon.EYE):
            self._images = {
                label: server.gui.add_image(image, label=label, format="png")
                for label, image in self._draw(self._eyes.look(0)).items()
            }
            self._show_dots = server.gui.add_checkbox("Map in the scene", True)
        panel.dock_left()
        panel.set_width(_WIDTH_PX + 40)

    def update(self, robot: int) -> None:
        """Draw anew if it is time and there is something new. Not thread-safe."""
        moment = (
            self._env.common_step_counter,
            int(self._env.episode_length_buf[robot]),
            robot,
        )
        now_s = time.monotonic()
        is_other = self._shown is None or self._shown[2] != robot
        if moment == self._shown or (now_s < self._due_s and not is_other):
            return
        self._shown, self._due_s = moment, now_s + _PERIOD_S
        sight = self._eyes.look(robot)
        for label, image in self._draw(sight).items():
            self._images[label].image = image
        self._place_dots(sight)

    def _draw(self, sight: Sight) -> dict[str, np.ndarray]:
        """Label to image, from top to bottom."""
        images = {}
        if self._eyes.sensor is not None:
            assert sight.window_m is not None
            assert sight.clean_m is not None
            camera = self._eyes.sensor.camera
            images["Depth, as the network gets it"] = panels.depth_image(
                sight.window_m[-1], camera, _WIDTH_PX
            )
            images["Depth, without errors"] = panels.depth_image(
                sight.clean_m, camera, _WIDTH_PX
            )
        images["Height map, ahead is up"] = self._draw_map(sight)
        return images

    def _draw_map(self, sight: Sight) -> np.ndarray:
        """The map with legends to its right, as wide as the depth images."""
        pixels = panels.height_image(
            sight.map_m, self._eyes.map_cfg, self._base_height_m, _CELL_PX
        )
        sheet = Image.new("RGB", (_WIDTH_PX, pixels.shape[0]), "white")
        sheet.paste(Image.fromarray(pixels), (0, 0))
        left = pixels.shape[1] + 12
        bar_px = (_WIDTH_PX - left - 4, 42)
        limits = panels.height_limits(self._base_height_m)
        bar = panels.colour_bar(limits, panels.HEIGHT_COLOURS, "above the base", bar_px)
        sheet.paste(bar, (left, 8))
        if self._eyes.sensor is not None:
            camera = self._eyes.sensor.camera
            limits = (camera.min_range_m, camera.max_range_m)
            bar = panels.colour_bar(limits, panels.DEPTH_COLOURS, "depth", bar_px)
            sheet.paste(bar, (left, 8 + 2 * bar_px[1]))
        return np.asarray(sheet)

    def _place_dots(self, sight: Sight) -> None:
        points = sight.points_w.reshape(-1, 3) + np.array([0.0, 0.0, _LIFT_M])
        colours = panels.height_colours(sight.map_m, self._base_height_m).reshape(-1, 3)
        if self._dots is None:
            # The viewer moves /fixed_bodies when the camera follows a robot. Of half
            # precision, 50 m from the origin, steps of 3 cm would remain.
            self._dots = self._server.scene.add_point_cloud(
                "/fixed_bodies/height_map",
                points.astype(np.float32),
                colours,
                point_size=0.012,
                point_shape="circle",
                precision="float32",
            )
        else:
            self._dots.points, self._dots.colors = points.astype(np.float32), colours
        self._dots.visible = self._show_dots.value
