"""The controls of the page, and what they ask of the simulation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser

from solo.deploy.command import CommandCfg
from solo.pictures.images import Easel, Perception
from solo.robots.robot_cfg import RobotCfg
from solo.sensors.height_map import HeightMapCfg
from solo.viewer.ground import TERRAINS

WIDTH_PX = 280
_CELL_PX = 5
_PANEL_PX = WIDTH_PX + 40

PUSH, AGAIN = "push", "again"
"""What buttons ask for."""

KEYS: dict[Any, tuple[int, float]] = {
    "W": (0, 0.1), "S": (0, -0.1),
    "Q": (1, 0.1), "E": (1, -0.1),
    "A": (2, 0.2), "D": (2, -0.2),
}  # fmt: skip
"""Key to the axis of the command (forward, left, turn) and the step, m/s or rad/s."""

_STEADY_S = 1.0
"""The camera, which viser moves with the same keys, is put back after this time: longer
than a held key takes to repeat."""


@dataclass(frozen=True)
class Choice:
    """A terrain to walk on."""

    terrain: str
    difficulty: float | None
    """None: 1, or the levels of training."""


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
        """Put the controls on the page; the easel draws pictures of `WIDTH_PX`."""
        gui = server.gui
        self._lock = threading.Lock()
        self._asked: list[str | Choice] = []
        self._cameras: dict[int, tuple[viser.ClientHandle, Any, Any]] = {}
        self._key_s = 0.0
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
                hint="The ground that the policy acts on, bright where it looks.",
            )
        panel.dock_left()
        panel.set_width(_PANEL_PX)
        gui.set_panel_label("SOLO")
        self.paused = gui.add_checkbox("pause", False, hint="Key P.")
        self.records = gui.add_checkbox(
            "record", False, hint="Key R. Writes an MP4 file when switched off."
        )
        with gui.add_folder("Drive"):
            self.drives = gui.add_checkbox(
                "drive yourself",
                False,
                hint="Keys W, S: speed; A, D: turn; Q, E: sideways; X: stop. Otherwise "
                "the robot follows the course.",
            )
            rows = (("forward, m/s", 0), ("left, m/s", 1), ("turn, rad/s", 2))
            self.sliders = [
                gui.add_slider(
                    label, commands.low[i], commands.high[i], 0.05, initial_value=0.0
                )
                for label, i in rows
            ]
            push = gui.add_button("Push", icon=viser.Icon.HAND_MOVE)
            again = gui.add_button("Start again", icon=viser.Icon.REFRESH)
        with gui.add_folder("Terrain"):
            self.terrain = gui.add_dropdown(
                "terrain", TERRAINS, initial_value=choice.terrain
            )
            difficulty = 1.0 if choice.difficulty is None else choice.difficulty
            self.difficulty = gui.add_slider(
                "difficulty", 0.0, 1.0, 0.05, initial_value=difficulty
            )
            load = gui.add_button("Load", icon=viser.Icon.MOUNTAIN)
        # Below: it changes its height, and what is clicked on must not move.
        self._numbers = gui.add_markdown("")
        push.on_click(lambda _: self._ask(PUSH))
        again.on_click(lambda _: self._ask(AGAIN))
        load.on_click(lambda _: self._ask(self._choice()))
        self._add_keys(gui)

    @property
    def wanted(self) -> tuple[float, float, float] | None:
        """Command of who drives; None if nobody does."""
        if not self.drives.value:
            return None
        forward, left, turn = (float(slider.value) for slider in self.sliders)
        return forward, left, turn

    def take_asked(self) -> list[str | Choice]:
        """What was asked for since the last call: `PUSH`, `AGAIN` or a terrain."""
        with self._lock:
            asked, self._asked = self._asked, []
            return asked

    def say(self, markdown: str) -> None:
        """Put words below the controls."""
        self._numbers.content = markdown

    def show(self, perception: Perception) -> None:
        """Draw what the policy has before it."""
        self._depth.image = np.asarray(self._easel.depth(perception))
        self._maps.image = np.asarray(self._easel.maps(perception))

    def steady_cameras(self) -> None:
        """Put cameras back that viser has moved with keys for driving."""
        with self._lock:
            if not self._cameras or time.monotonic() < self._key_s + _STEADY_S:
                return
            cameras, self._cameras = self._cameras, {}
        for client, position, look_at in cameras.values():
            client.camera.position, client.camera.look_at = position, look_at

    def _add_keys(self, gui: viser.GuiApi) -> None:
        def add(label: str, key: Any, react: Callable[[Any], None]) -> None:
            gui.add_command(label, hotkey=key).on_trigger(react)

        names = ("forward", "left", "turn")
        for key, (axis, step) in KEYS.items():
            label = f"Drive: {names[axis]} {step:+g}"
            add(label, key, lambda event, a=axis, s=step: self._turn(event, a, s))
        add("Drive: stop", "X", lambda _: self._stop())
        add("Pause", "P", lambda _: _toggle(self.paused))
        add("Record", "R", lambda _: _toggle(self.records))

    def _turn(self, event: Any, axis: int, step: float) -> None:
        """A key changes the command by a step."""
        client, slider = event.client, self.sliders[axis]
        with self._lock:
            self._key_s = time.monotonic()
            if client is not None and client.client_id not in self._cameras:
                camera = client.camera
                saved = (client, camera.position, camera.look_at)
                self._cameras[client.client_id] = saved
        if not self.drives.value:
            self._stop()
        slider.value = min(max(round(slider.value + step, 3), slider.min), slider.max)

    def _stop(self) -> None:
        for slider in self.sliders:
            slider.value = 0.0
        self.drives.value = True

    def _ask(self, what: str | Choice) -> None:
        with self._lock:
            self._asked.append(what)

    def _choice(self) -> Choice:
        return Choice(self.terrain.value, float(self.difficulty.value))


def make_easel(robot: RobotCfg, map_cfg: HeightMapCfg) -> Easel:
    """Pictures as wide as the panel."""
    return Easel(robot, map_cfg, WIDTH_PX, _CELL_PX)


def _toggle(box: viser.GuiInputHandle[bool]) -> None:
    box.value = not box.value
