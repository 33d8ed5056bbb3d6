"""The process that sends commands to a G1 and damps it when the control loop cannot.

    python -m solo.deploy.drivers.g1_publisher SOCKET PARENT INTERFACE DOMAIN HZ SECONDS

It repeats the last command at 500 Hz. By itself it damps

- when no command came in time, or the control program was stopped (SIGSTOP): it stays
  damped until the control program has sent a damping command, that is until it knows;
- when the control program has ended, by whatever, or this process is told to end
  (SIGTERM): it damps until the joints are slow, for a second at least, and leaves.

It is in a session of its own, so that no key of the terminal reaches it, and loads
nothing but numpy and Cyclone DDS. If in turn this process dies or is stopped, the
control program damps.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np

from solo.deploy.drivers import g1_messages as messages
from solo.deploy.drivers.dds import Connection, TopicListener
from solo.errors import SoloError

COMMAND_TOPIC = "rt/lowcmd"
STATE_TOPIC = "rt/lowstate"

STIFF, DAMP, FALLBACK, END = b"C", b"D", b"F", b"E"
"""From the control program: a command, one without stiffness, the damping to use before
there was one, and the wish to end. Each is followed by the message for the robot."""

READY, DAMPED, OTHER = b"R", b"W", b"O"
"""To the control program: it can begin, it was damped (and why), and the commands of
another program were heard."""

MIN_DAMPING_S = 1.0
"""How long to damp at the end at least."""
MAX_DAMPING_S = 10.0
"""How long to damp at the end at most, if the joints do not slow down or are silent."""
SLOW_RAD_S = 0.3
"""Speed of the fastest joint below which the robot has come to rest: a tenth of what it
has when it sinks down."""
SLOW_S = 0.2
"""How long they must have been slow: no joint hangs in the air for as long."""


class Guard:
    """What the motors are told, from what came and when; no input, output or clock."""

    def __init__(self, watchdog_s: float) -> None:
        self.watchdog_s = watchdog_s
        self.reason = ""
        """Why it damps by itself; empty while it passes commands on."""
        self.is_over = False
        """Whether nothing but damping will follow."""
        self._command: bytes | None = None
        self._damping = b""
        self._is_stiff, self._time_s = False, 0.0

    def take(self, message: bytes, now: float) -> None:
        """Something came from the control program."""
        kind, data = message[:1], message[1:]
        if kind == END:
            self.end("the control program ends")
        elif kind == FALLBACK:
            self._damping = data
        elif kind == DAMP:
            self._damping = self._command = data
            self._is_stiff = False
            self.reason = self.reason if self.is_over else ""
        elif kind == STIFF and not self.reason:
            self._command, self._is_stiff, self._time_s = data, True, now

    def look(self, now: float, is_stopped: bool) -> None:
        """Damp if the control program is late or stopped; after all was taken."""
        if self.reason or not self._is_stiff:
            return
        age_s = now - self._time_s
        if is_stopped:
            self.reason = "the control program was stopped"
        elif age_s > self.watchdog_s:
            self.reason = f"no command for {age_s:.3f} s (allowed {self.watchdog_s:g})"

    def end(self, reason: str) -> None:
        """Damp for good."""
        self.reason, self.is_over = reason, True

    def message(self) -> bytes | None:
        """What to send; nothing before there was a command."""
        if self._command is None:
            return None
        return self._damping if self.reason else self._command


class ProcessWatch:
    """Whether another process runs, as Linux tells; elsewhere it always seems to."""

    EXITING = 0x4
    """Flag of a process that is ending: set before its memory is freed and its files
    are closed, which takes tens of milliseconds."""

    def __init__(self, pid: int) -> None:
        try:
            self._file: int | None = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        except OSError:
            self._file = None

    def state(self) -> Literal["runs", "stopped", "gone"]:
        """What it does now."""
        if self._file is None:
            return "runs"
        try:
            # The name comes before, in brackets, and may hold any letter.
            fields = os.pread(self._file, 256, 0).rpartition(b") ")[2].split(b" ", 7)
        except OSError:
            return "gone"
        if int(fields[6]) & self.EXITING or fields[0] in b"ZXx":
            return "gone"
        return "stopped" if fields[0] in b"Tt" else "runs"


class Slowness:
    """Whether the robot's joints have come to rest, from its states."""

    def __init__(self) -> None:
        self._fast_s = self._state_s = -np.inf

    def on_state(self, record: np.ndarray, now: float) -> None:
        """Take a state of the robot."""
        if not messages.is_sound(record):
            return
        speed = np.abs(record["motor_state"]["dq"][: len(messages.MOTOR_NAMES)]).max()
        if not (speed < SLOW_RAD_S and now - self._state_s < SLOW_S):
            self._fast_s = now
        self._state_s = now

    def is_slow(self, now: float) -> bool:
        """Whether all joints have been slow for a while, and still say so."""
        return now - self._fast_s > SLOW_S and now - self._state_s < SLOW_S


def damp_until_slow(connection: Connection, send: Callable[[], None]) -> None:
    """Send damping until the joints are slow; see `MIN_DAMPING_S` and the others."""
    from solo.deploy.drivers import g1_idl

    slowness, begin = Slowness(), time.monotonic()
    send()
    listener = TopicListener(
        connection,
        STATE_TOPIC,
        g1_idl.LowState,
        lambda record: slowness.on_state(record, time.monotonic()),
    )
    passed_s = 0.0
    while passed_s < MIN_DAMPING_S or not slowness.is_slow(begin + passed_s):
        if passed_s > MAX_DAMPING_S:
            break
        time.sleep(0.002)
        send()
        passed_s = time.monotonic() - begin
    listener.close()


class Publisher:
    """The control program's end of the process."""

    def __init__(
        self,
        connection: Connection,
        interface: str,
        domain_id: int,
        publish_hz: float,
        watchdog_s: float,
    ) -> None:
        self._options = (interface, domain_id, publish_hz, watchdog_s)
        self._connection = connection
        self._process: subprocess.Popen[bytes] | None = None
        self._problems: dict[str, str] = {}
        self._fallback: Any = None
        self._thread: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._process is not None
        return self._process.pid

    def start(self, damping: np.ndarray, timeout_s: float = 30.0) -> None:
        """Start the process and wait until it can send; ``damping`` is a `LOW_CMD`."""
        from solo.deploy.drivers import g1_idl

        self._fallback = g1_idl.EncodedCommand(damping)
        self._writer = self._connection.writer(COMMAND_TOPIC, g1_idl.LowCmd)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        options = map(str, (theirs.fileno(), os.getpid(), *self._options))
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._watch = ProcessWatch(self._process.pid)
        is_there = select.select([self._socket], [], [], timeout_s)[0]
        if not is_there or self._socket.recv(4096) != READY:
            self._kill()
            raise SoloError(
                "The process that sends the commands to the G1 did not start."
            )
        self._socket.setblocking(False)
        self._socket.send(FALLBACK + messages.to_wire(damping))

    def send(self, record: np.ndarray, is_stiff: bool) -> None:
        """Hand over the command to repeat.

        Raises:
            RuntimeError: The process is gone or stopped; the robot is damped from here.
        """
        if not is_stiff:
            self._problems.pop("watchdog", None)
        try:
            if self._process is None or self._watch.state() != "runs":
                raise OSError("it does not run")
            self._socket.send((STIFF if is_stiff else DAMP) + messages.to_wire(record))
        except OSError as error:
            self._take_over()
            message = f"the process that sends the commands is lost: {error}"
            raise RuntimeError(message) from error

    def problems(self) -> dict[str, str]:
        """Faults that the process found."""
        with suppress(OSError):  # Nothing came, or it is gone; the next command tells.
            while message := self._socket.recv(4096):
                if message[:1] == DAMPED:
                    self._problems["watchdog"] = message[1:].decode()
                elif message == OTHER:
                    text = "another program sends commands to the motors"
                    self._problems["other_commands"] = text
        return self._problems

    def close(self) -> None:
        """Damp until the joints are slow, then let go."""
        if self._process is not None:
            with suppress(OSError):
                self._socket.send(END)
            try:
                is_done = self._process.wait(MAX_DAMPING_S + 5.0) == 0
            except subprocess.TimeoutExpired:
                is_done = False
            if not is_done:
                self._take_over()
        if self._thread is not None:
            self._thread.join()

    def _take_over(self) -> None:
        """Damp from here, in the place of a process that does not."""
        self._kill()
        if self._thread is None:
            self._thread = threading.Thread(
                target=damp_until_slow,
                args=(self._connection, lambda: self._writer.write(self._fallback)),
                daemon=True,
            )
            self._thread.start()

    def _kill(self) -> None:
        """It must not come back with an old command."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def main() -> int:
    """Run until the control program ends."""
    number, parent, interface, domain, hertz, watchdog_s = sys.argv[1:]
    told_to_end: list[int] = []
    for name in ("SIGINT", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGTTIN", "SIGTTOU"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: told_to_end.append(number))
    with suppress(AttributeError, OSError):  # Before the policy, where it is allowed.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(30))
    pipe = socket.socket(fileno=int(number))
    try:
        connection = Connection(interface, int(domain))
    except SoloError as error:
        print(f"g1_publisher: {error}", file=sys.stderr)
        return 1
    gc.collect()
    gc.disable()  # The loop below makes no cycles.
    guard, period_s = Guard(float(watchdog_s)), 1.0 / float(hertz)
    publish(guard, pipe, int(parent), connection, period_s, told_to_end)
    return 0


def publish(
    guard: Guard,
    pipe: socket.socket,
    parent: int,
    connection: Connection,
    period_s: float,
    told_to_end: Sequence[int],
) -> None:
    """Repeat what the guard says, until it is over and the robot has come to rest.

    A signal handler adds to ``told_to_end`` at any moment; the guard hears of it once a
    turn, so that what it says and what is sent belong together.
    """
    from solo.deploy.drivers import g1_idl

    writer = connection.writer(COMMAND_TOPIC, g1_idl.LowCmd)

    def on_other(_: np.ndarray) -> None:
        with suppress(OSError):
            pipe.send(OTHER)

    others = TopicListener(
        connection, COMMAND_TOPIC, g1_idl.LowCmd, on_other, is_own=False
    )
    watch, reason = ProcessWatch(parent), ""
    data, encoded = None, None
    pipe.send(READY)
    pipe.setblocking(False)
    deadline = time.monotonic()
    while not guard.is_over:
        state = watch.state()
        try:
            while message := pipe.recv(4096):
                guard.take(message, time.monotonic())
            state = "gone"
        except BlockingIOError:
            pass
        except OSError:
            state = "gone"
        if state == "gone" or os.getppid() != parent:
            guard.end("the control program is gone")
        elif told_to_end:
            guard.end("the process that sends the commands was told to end")
        guard.look(time.monotonic(), state == "stopped")
        if guard.reason != reason:
            reason = guard.reason
            if reason:
                with suppress(OSError):
                    pipe.send(DAMPED + reason.encode())
        if (newest := guard.message()) is not data and newest is not None:
            data = newest
            encoded = g1_idl.EncodedCommand(messages.from_wire(data, messages.LOW_CMD))
        if encoded is not None:
            writer.write(encoded)
        deadline = max(deadline + period_s, time.monotonic() - period_s)
        time.sleep(max(deadline - time.monotonic(), 0.0))
    if encoded is not None:
        damp_until_slow(connection, lambda: writer.write(encoded))
    others.close()


if __name__ == "__main__":
    sys.exit(main())
