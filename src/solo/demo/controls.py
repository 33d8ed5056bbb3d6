"""The controls of the page, and what they ask of the simulation."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import viser
from PIL import Image

from solo.demo.moment import Perception
from solo.demo.pictures import Easel
from solo.demo.terrains import TERRAINS
from solo.deploy.command import CommandCfg
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.perception_cfg import HeightMapCfg

WIDTH_PX = 280
_CELL_PX = 5
_PANEL_PX = WIDTH_PX + 40


@dataclass(frozen=True)
class Choice:
    """A terrain that somebody asked for."""

    terrain: str
    difficulty: float


class Controls:
    """Everything beside the 3-D view. Callbacks only take notes; the loop reads them.

    Viser calls them in threads of its own, and the simulation belongs to the loop's.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        choice: Choice,
        commands: CommandCfg,
        easel: Easel,
    ) -> None:
        """Put the controls on the page.

        Args:
            server: From `solo.viewer.browser.start_server`.
            choice: The terrain at first.
            commands: Range of the sliders.
            easel: Draws pictures of `WIDTH_PX`; see `make_easel`.
        """
        gui = server.gui
        self._lock = threading.Lock()
        self._pushes, self._choice, self._again = 0, None, False
        self._easel = easel
        blank = np.full((8, WIDTH_PX, 3), 255, np.uint8)
        panel = gui.add_panel()
        with panel.add_tab("What the robot sees", viser.Icon.EYE):
            self._depth = gui.add_image(blank, label="Depth image", format="png")
            self._maps = gui.add_image(blank, label="Ground ahead", format="png")
            gui.add_image(np.asarray(easel.legend()), format="png")
            self.dots = gui.add_checkbox(
                "Map in the scene",
                True,
                hint="The reconstructed ground, bright where the policy looks.",
            )
        panel.dock_left()
        panel.set_width(_PANEL_PX)
        gui.set_panel_label("SOLO")
        self._numbers = gui.add_markdown("")
        with gui.add_folder("Drive"):
            self.drives = gui.add_checkbox(
                "drive yourself", False, hint="Otherwise it follows the course."
            )
            rows = (("forward, m/s", 0), ("left, m/s", 1), ("turn, rad/s", 2))
            self.sliders = [
                gui.add_slider(
                    label, commands.low[i], commands.high[i], 0.05, initial_value=0.0
                )
                for label, i in rows
            ]
            self.push = gui.add_button("Push", icon=viser.Icon.HAND_MOVE)
            self.again = gui.add_button("Start again", icon=viser.Icon.REFRESH)
        with gui.add_folder("Terrain"):
            self.terrain = gui.add_dropdown(
                "terrain", TERRAINS, initial_value=choice.terrain
            )
            self.difficulty = gui.add_slider(
                "difficulty", 0.0, 1.0, 0.05, initial_value=choice.difficulty
            )
            self.load = gui.add_button("Load", icon=viser.Icon.MOUNTAIN)
        self.push.on_click(lambda _: self._note_push())
        self.again.on_click(lambda _: self._note_again())
        self.load.on_click(lambda _: self._note_choice())

    @property
    def wanted(self) -> tuple[float, float, float] | None:
        """Command of who drives; None if nobody does."""
        if not self.drives.value:
            return None
        forward, left, turn = (float(slider.value) for slider in self.sliders)
        return forward, left, turn

    def take_pushes(self) -> int:
        """How often the button was pressed since the last call."""
        with self._lock:
            count, self._pushes = self._pushes, 0
            return count

    def take_again(self) -> bool:
        """Whether to start again, asked since the last call."""
        with self._lock:
            again, self._again = self._again, False
            return again

    def take_choice(self) -> Choice | None:
        """The terrain that was asked for since the last call."""
        with self._lock:
            choice, self._choice = self._choice, None
            return choice

    def say(self, markdown: str) -> None:
        """Put words above the controls."""
        self._numbers.content = markdown

    def show(self, perception: Perception) -> None:
        """Draw what the policy has before it."""
        self._depth.image = _pixels(self._easel.depth(perception))
        self._maps.image = _pixels(self._easel.maps(perception))

    def _note_push(self) -> None:
        with self._lock:
            self._pushes += 1

    def _note_again(self) -> None:
        with self._lock:
            self._again = True

    def _note_choice(self) -> None:
        choice = Choice(self.terrain.value, float(self.difficulty.value))
        with self._lock:
            self._choice = choice


def make_easel(robot: RobotCfg, map_cfg: HeightMapCfg) -> Easel:
    """Pictures as wide as the panel."""
    return Easel(robot, map_cfg, WIDTH_PX, _CELL_PX)


def _pixels(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture)
