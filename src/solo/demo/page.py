"""The demo on a page: steps in real time, follows the controls, shows what happens."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from typing import Any

import viser

from solo.demo.controls import Choice, Controls, make_easel
from solo.demo.ground import make_ground
from solo.demo.moment import END_WORDS, Moment
from solo.demo.scene import Stage
from solo.demo.tally import Tally
from solo.demo.walk import Walk
from solo.errors import SoloError
from solo.evaluation.policy_source import PolicySource
from solo.evaluation.strips import element_at

PUSH_M_S = 1.0
"""Velocity of a push, in a random direction: the largest along one axis in training."""

_ROBOT_S, _SIGHT_S, _WORDS_S = 0.04, 0.2, 0.25
"""Least wall time between two updates of each; drawing must not hold up the steps."""
_LIE_S = 1.2
"""How long the end of an attempt stays in view."""
_LATE_S = 0.2
"""Beyond this delay the loop does not try to catch up."""
_RECENT = 100
"""Steps over which rates are shown."""


class Page:
    """A session: one server, one terrain at a time, one robot."""

    def __init__(
        self, server: viser.ViserServer, source: PolicySource, choice: Choice, seed: int
    ) -> None:
        """Build the simulation and the page.

        Args:
            server: From `solo.viewer.browser.start_server`.
            source: The policy.
            choice: The terrain at first.
            seed: Seed of starts, of random terrain and of pushes.
        """
        self._source, self._seed = source, seed
        self._random = random.Random(seed)
        self.walk = self._build(choice)
        self.tally = Tally(self.walk.step_s)
        self.controls = Controls(
            server,
            choice,
            self.walk.command_range,
            make_easel(source.robot, self.walk.map_cfg),
        )
        self._stage = Stage(server, source.robot)
        self._stage.set_terrain(self.walk.terrain)
        self.moment: Moment | None = None
        """The last step; replaced, never changed, so that any thread may look."""
        self.pushes: list[tuple[float, float]] = []
        """Velocities of all pushes."""
        self._news = ""
        self._due: dict[str, float] = {}
        self._shown_s = time.monotonic()
        self._recent: deque[float] = deque(maxlen=_RECENT)

    def run(self, stop: threading.Event | None = None) -> None:
        """Step in real time until told to stop."""
        stop, due_s = stop or threading.Event(), time.monotonic()
        while not stop.is_set():
            due_s = max(due_s + self.walk.step_s, time.monotonic() - _LATE_S)
            moment = self._step()
            self._show(moment, at_once=moment.end is not None)
            if moment.end is not None:
                stop.wait(_LIE_S)
                self._begin()
                due_s = time.monotonic()
            stop.wait(max(0.0, due_s - time.monotonic()))

    def summarise(self) -> dict[str, Any]:
        """All of the session, with the terrain of its end."""
        summary = self.tally.summarise(self._source, self.walk.ground)
        return {**summary, "pushes": len(self.pushes)}

    def close(self) -> None:
        """Free the simulation."""
        self.walk.close()

    def _step(self) -> Moment:
        choice = self.controls.take_choice()
        if choice is not None:
            self._load(choice)
        if self.controls.take_again():
            self._begin()
        for _ in range(self.controls.take_pushes()):
            self._push()
        self.walk.drive(self.controls.wanted)
        self.moment = self.walk.step()
        self.tally.add(self.moment)
        self._recent.append(time.monotonic())
        if self.moment.end is not None:
            place_m = float(self.moment.position_m[0])
            self._news = f"Last: {END_WORDS[self.moment.end]} at {place_m:.1f} m."
        return self.moment

    def _begin(self) -> None:
        self.walk.begin()
        self.tally.begin()
        self._recent.clear()

    def _push(self) -> None:
        angle = self._random.uniform(-math.pi, math.pi)
        push = (PUSH_M_S * math.cos(angle), PUSH_M_S * math.sin(angle))
        self.walk.push(push)
        self.pushes.append(push)
        self._news = f"Pushed by {PUSH_M_S:g} m/s towards {math.degrees(angle):.0f}°."

    def _load(self, choice: Choice) -> None:
        """Exchange terrain and simulation; the old ones stay if that fails."""
        self.controls.say(f"**Building {choice.terrain} ...**")
        try:
            walk = self._build(choice)
        except SoloError as error:
            self._news = str(error)
            return
        self.walk.close()
        self.walk = walk
        self.tally.begin()
        self._stage.set_terrain(walk.terrain)
        self._recent.clear()
        self._news = ""

    def _build(self, choice: Choice) -> Walk:
        ground = make_ground(choice.terrain, choice.difficulty, self._seed)
        return Walk(self._source, ground)

    def _show(self, moment: Moment, at_once: bool) -> None:
        now_s = time.monotonic()
        if self._is_due("robot", now_s, _ROBOT_S) or at_once:
            self._stage.show(moment, now_s - self._shown_s)
            self._shown_s = now_s
        perception = self.walk.perception
        if perception is not None and self._is_due("sight", now_s, _SIGHT_S):
            self.controls.show(perception)
            self._stage.show_map(perception, self.controls.dots.value)
        if self._is_due("words", now_s, _WORDS_S) or at_once:
            self.controls.say(self._words(moment))

    def _is_due(self, what: str, now_s: float, period_s: float) -> bool:
        if now_s < self._due.get(what, 0.0):
            return False
        self._due[what] = now_s + period_s
        return True

    def _words(self, moment: Moment) -> str:
        ground, tally, x = self.walk.ground, self.tally, float(moment.position_m[0])
        place = f"{x:.1f} of {ground.finish_m:.1f} m"
        if ground.elements:
            place += f", {element_at(ground.elements, x).replace('_', ' ')}"
        mean_cm = tally.map_error_cm
        error = "-" if mean_cm is None else f"mean {mean_cm:.1f} cm"
        if math.isfinite(moment.map_error_m):
            error = f"{100 * moment.map_error_m:.1f} cm, {error}"
        policy = tally.policy_ms(_RECENT)
        rows = {
            "place": place,
            "walked": f"{tally.distance_m:.1f} m",
            "falls": f"{tally.falls}",
            "finished": f"{tally.finished}",
            "map error": error,
            "policy step": f"{policy['mean']:.1f} ms, p95 {policy['p95']:.1f} ms",
            "real time": f"{self._real_time_factor():.2f} x",
        }
        table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
        return f"| **{ground.name}** | |\n|---|---|\n{table}\n\n{self._news}"

    def _real_time_factor(self) -> float:
        if len(self._recent) < 2:
            return 0.0
        wall_s = self._recent[-1] - self._recent[0]
        return (len(self._recent) - 1) * self.walk.step_s / max(wall_s, 1e-9)
