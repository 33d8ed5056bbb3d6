"""Devices to steer with: gamepad, keyboard and the G1's own remote control.

Gamepad and keyboard are read in a thread. It looks at the device at least every 25 ms
and stamps the time; when the device is unplugged or the terminal closed it ends, the
stamp grows old and the runtime sees a lost command.

Of several requests between two reads the most severe is handed out: stop, damp, walk,
stand up. A button for damp or stop asks for it as long as it is held down.
"""

from __future__ import annotations

import os
import re
import select
import struct
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from solo.deploy.command import CommandCfg, Operator, OperatorInput
from solo.deploy.drivers.protocols import Robot
from solo.deploy.phase import Request
from solo.errors import SoloError


def most_severe(pressed: Iterable[Request], held: Iterable[Request]) -> Request:
    """What the operator asks for, by buttons that went down since the last read.

    Of those that are only held, damp and stop count.
    """
    lasting = (request for request in held if request >= Request.DAMP)
    return max((*pressed, *lasting), default=Request.NONE)


class _DeviceOperator:
    """Reads a file descriptor in a thread."""

    POLL_S = 0.025
    """How long to wait for data at most. A key's escape sequence comes in one piece or
    in pieces closer than this, also over a network."""

    def __init__(self, cfg: CommandCfg | None = None) -> None:
        self.cfg = cfg or CommandCfg()
        self._lock = threading.Lock()
        # Of the allowed vx, vy, wz, from -1 to 1.
        self._shares = [0.0, 0.0, 0.0]
        self._pressed: set[Request] = set()
        self._held: set[Request] = set()
        self._alive_s = -float("inf")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="operator", daemon=True)
        self._fd = -1

    def start(self) -> None:
        self._fd = self._open()
        self._alive_s = time.monotonic()
        self._thread.start()

    def read(self, now: float) -> OperatorInput:
        del now  # The thread stamps the time.
        with self._lock:
            request = most_severe(self._pressed, self._held)
            self._pressed.clear()
            velocity = self.cfg.velocity(self._shares)
            return OperatorInput(self._alive_s, velocity, request)

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                ready, _, _ = select.select([self._fd], [], [], self.POLL_S)
                data = os.read(self._fd, 512) if ready else None
            except OSError:  # Unplugged.
                break
            if data == b"":  # Closed.
                break
            with self._lock:
                self._alive_s = time.monotonic()
                self._handle(data or b"")
        with self._lock:
            self._shares = [0.0, 0.0, 0.0]

    def _open(self) -> int:
        raise NotImplementedError

    def _handle(self, data: bytes) -> None:
        """Decode what arrived; called with nothing when nothing did for a while."""
        raise NotImplementedError


class Gamepad(_DeviceOperator):
    """A gamepad with the usual layout, through Linux' joystick interface.

    Left stick: velocity. Right stick: turn. A: stand up. Start: walk. B: damp. Back:
    stop.
    """

    AXES: ClassVar = {0: (1, -1.0), 1: (0, -1.0), 3: (2, -1.0)}
    """Axis to the index of the velocity and the sign."""
    BUTTONS: ClassVar = {
        0: Request.STAND_UP,
        7: Request.WALK,
        1: Request.DAMP,
        6: Request.STOP,
    }
    DEADZONE = 0.08
    """Share of the range in which a stick counts as centred."""

    def __init__(
        self, path: Path = Path("/dev/input/js0"), cfg: CommandCfg | None = None
    ) -> None:
        super().__init__(cfg)
        self.path = path
        self._rest = b""

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise SoloError(
                f"Cannot open the gamepad {str(self.path)!r}: {error.strerror}. Plug "
                "it in, or steer with --command keyboard."
            ) from error

    def _handle(self, data: bytes) -> None:
        data = self._rest + data
        whole = len(data) - len(data) % 8
        self._rest = data[whole:]
        for _, value, kind, number in struct.iter_unpack("<IhBB", data[:whole]):
            if kind & 0x7F == 2 and number in self.AXES:
                index, sign = self.AXES[number]
                share = max(min(value / 32767.0, 1.0), -1.0)
                is_centred = abs(share) < self.DEADZONE
                self._shares[index] = 0.0 if is_centred else sign * share
            elif kind & 0x7F == 1 and number in self.BUTTONS:
                request = self.BUTTONS[number]
                (self._held.add if value else self._held.discard)(request)
                if value and kind == 1:  # The rest is how it was when it was opened.
                    self._pressed.add(request)

    def close(self) -> None:
        super().close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Keyboard(_DeviceOperator):
    """Keys of the terminal; each press changes the velocity by a tenth of its range.

    w s: forward, back. a d: left, right. q e: turn. Space: halt. 1: stand up. 2: walk.
    0: damp. Escape: stop. Keys that send several bytes, such as arrows, do nothing.
    """

    STEPS: ClassVar = {
        "w": (0, 1),
        "s": (0, -1),
        "a": (1, 1),
        "d": (1, -1),
        "q": (2, 1),
        "e": (2, -1),
    }
    REQUESTS: ClassVar = {
        "1": Request.STAND_UP,
        "2": Request.WALK,
        "0": Request.DAMP,
        "\x1b": Request.STOP,
    }
    SEQUENCE: ClassVar = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O[ -~])")
    """What a terminal sends for an arrow or a function key."""
    BEGUN: ClassVar = re.compile(r"\x1b(\[[0-?]*[ -/]*|O)?$")
    """The beginning of a sequence, or Escape itself."""

    def __init__(self, cfg: CommandCfg | None = None, fd: int | None = None) -> None:
        super().__init__(cfg)
        self._given_fd, self._restore = fd, None
        self._rest = ""

    def _open(self) -> int:
        import termios
        import tty

        fd = sys.stdin.fileno() if self._given_fd is None else self._given_fd
        if not os.isatty(fd):
            raise SoloError(
                "The keyboard cannot be read: standard input is not a terminal. Run in "
                "a terminal, or steer with --command gamepad."
            )
        self._restore = termios.tcgetattr(fd)
        tty.setcbreak(fd)
        return fd

    def _handle(self, data: bytes) -> None:
        text = self._rest + data.decode("ascii", "ignore")
        text, self._rest = self.SEQUENCE.sub("", text), ""
        begun = self.BEGUN.search(text)
        if data and begun and "\x1b" not in text[: begun.start()]:
            self._rest = text  # If nothing follows, it was Escape.
            return
        for key in text.lower():
            if key in self.STEPS:
                index, sign = self.STEPS[key]
                share = round(self._shares[index] + 0.1 * sign, 1)
                self._shares[index] = max(min(share, 1.0), -1.0)
            elif key == " ":
                self._shares = [0.0, 0.0, 0.0]
            elif key in self.REQUESTS:
                self._pressed.add(self.REQUESTS[key])

    def close(self) -> None:
        super().close()
        if self._restore is not None:
            import termios

            termios.tcsetattr(self._fd, termios.TCSANOW, self._restore)
            self._restore = None


REMOTE_BUTTONS = {
    8: Request.STAND_UP,
    2: Request.WALK,
    9: Request.DAMP,
    3: Request.STOP,
}
"""Bit in the G1 remote's key field: A, start, B, select."""


class UnitreeRemote(Operator):
    """The G1's own remote control, whose data comes with every state of the robot.

    A remote that is switched off reads as zeros. One that is out of reach may leave
    its last data standing: no hand holds a stick still to the last bit, so a stick that
    is out without any change counts as lost. A remote that was lost with its sticks at
    rest cannot be told from one that nobody touches.
    """

    MAX_FROZEN_S = 1.0
    """How long a stick may be out without a change in any bit."""
    REST = 0.1
    """Share of the range in which a stick counts as at rest."""

    def __init__(self, robot: Robot, cfg: CommandCfg | None = None) -> None:
        self.cfg, self._robot = cfg or CommandCfg(), robot
        self._keys, self._alive_s = 0, -float("inf")
        self._last, self._change_s = b"", -float("inf")

    def read(self, now: float) -> OperatorInput:
        """Decode the newest state."""
        del now
        state = self._robot.read()
        if state is None or len(state.remote) < 24 or not any(state.remote[:2]):
            return OperatorInput(self._alive_s)
        if state.remote != self._last:
            self._last, self._change_s = state.remote, state.time_s
        keys, lx, rx, _, _, ly = struct.unpack_from("<H5f", state.remote, 2)
        is_out = max(abs(lx), abs(rx), abs(ly)) > self.REST
        if not is_out or state.time_s - self._change_s <= self.MAX_FROZEN_S:
            self._alive_s = state.time_s
        new, self._keys = keys & ~self._keys, keys
        request = most_severe(_requests(new), _requests(keys))
        velocity = self.cfg.velocity((ly, -lx, -rx))
        return OperatorInput(self._alive_s, velocity, request)


def _requests(keys: int) -> list[Request]:
    """What the keys of the G1's remote ask for."""
    return [request for bit, request in REMOTE_BUTTONS.items() if keys >> bit & 1]
