"""How soon the motors of a G1 are damped when its control program is ended or stopped.

A simulated G1 hangs in its harness and speaks the robot's topics. A program with the
loop and the driver of `solo deploy`, and a policy that keeps the default pose, controls
it in another process, which gets the signal. The simulated motors say when they are
stiff and when they are damped; clocks are the computer's own.
"""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from solo.bench.cfg import StopBenchCfg
from solo.deploy.drivers.g1_publisher import ProcessWatch
from solo.errors import SoloError

PHASES = ("stand_up", "walking", "hold")
"""When the signal comes: during the ramp, while the policy is in control, and while the
policy balances because the operator is lost."""

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL", "SIGSTOP")

PATIENCE_S = 60.0
"""How long a slow computer may take to start a program or to damp."""

NEVER_S = 3600.0
"""Limit of everything else that would damp a program which a busy computer lets wait:
the signal must be what damps here."""


def bench_stop(cfg: StopBenchCfg) -> dict[str, Any]:
    """Milliseconds from each signal to damped motors, the longest of all rounds.

    Raises:
        SoloError: Motors were not damped, or became stiff again.
    """
    found: dict[str, Any] = {}
    with free_domain() as domain, simulated_g1(domain) as motors:
        for phase in PHASES:
            for name in SIGNALS:
                times_ms = [
                    measure(motors, domain, phase, name) for _ in range(cfg.rounds)
                ]
                found[f"{phase} {name}"] = max(times_ms)
    return {**found, "longest": max(found.values())}


@contextmanager
def free_domain() -> Iterator[int]:
    """A DDS domain that no other program on this computer uses, ours while we need it.

    Nothing may be bound to the UDP ports at which its participants find each other. A
    TCP port of the domain is the claim: the system gives it to one program at a time
    and frees it however that program ends.
    """
    for domain in random.sample(range(1, 100), 99):  # Higher ports are the system's.
        first = 7400 + 250 * domain
        with socket.socket() as claim:
            try:
                claim.bind(("127.0.0.1", first))
                for index in range(10):
                    with socket.socket(type=socket.SOCK_DGRAM) as probe:
                        probe.bind(("127.0.0.1", first + 10 + 2 * index))
            except OSError:
                continue
            yield domain
            return
    raise SoloError("All DDS domains of this computer are in use. End other programs.")


class Motors:
    """What the simulated motors say."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._changes: queue.Queue[tuple[float, bool]] = queue.Queue()
        self._lines = lines
        threading.Thread(target=self._read, daemon=True).start()

    def wait_until_stiff(self) -> bool:
        """Wait until the last thing they said is that they are stiff."""
        while (change := self.next_change(PATIENCE_S)) is not None:
            if change[1] and self._changes.empty():
                return True
        return False

    def next_change(self, timeout_s: float) -> tuple[float, bool] | None:
        """Time of the next change and whether they are stiff; None if there is none."""
        try:
            return self._changes.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def _read(self) -> None:
        for line in self._lines:
            words = line.split()
            if words[:1] == ["motors"]:
                self._changes.put((float(words[3]), words[1] == "stiff"))


@contextmanager
def simulated_g1(domain: int) -> Iterator[Motors]:
    """A G1 in its harness, on loopback."""
    from solo.robots.build import write_model

    with tempfile.TemporaryDirectory(prefix="solo-") as folder:
        model = Path(folder) / "g1.xml"
        write_model(model)
        process = subprocess.Popen(
            [sys.executable, "-m", "solo.cli.main", "sim-robot", "--model", str(model),
             "--domain", str(domain), "--release", "inf"],
            stdout=subprocess.PIPE, text=True, preexec_fn=_ask_for_priority,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            if not process.stdout.readline().startswith("Simulated G1"):
                raise SoloError("The simulated G1 did not start.")
            yield Motors(iter(process.stdout))
        finally:
            process.kill()
            process.wait()


def _ask_for_priority() -> None:
    """A robot has a computer of its own; here it has to share, so it comes first."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(25))


@contextmanager
def control_program(domain: int, phase: str) -> Iterator[subprocess.Popen[str]]:
    """A program that controls the G1 and has come to a phase.

    At the end both it and its publisher are gone, so that the next one is alone.
    """
    options = json.dumps([phase, domain])
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, options], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    publisher = None
    try:
        words = process.stdout.readline().split()
        if words[:1] != [phase]:
            raise SoloError(f"The control program did not come to {phase}.")
        publisher = ProcessWatch(int(words[1]))
        yield process
    finally:
        process.kill()
        process.wait()
        deadline = time.monotonic() + PATIENCE_S
        while publisher and publisher.state() != "gone" and time.monotonic() < deadline:
            time.sleep(0.05)


def measure(motors: Motors, domain: int, phase: str, name: str) -> float:
    """Milliseconds from one signal to damped motors."""
    with control_program(domain, phase) as process:
        if not motors.wait_until_stiff():
            raise SoloError(f"The motors did not become stiff before {phase}.")
        time.sleep(random.uniform(0.2, 0.24))  # Anywhere in a control period.
        begin = time.monotonic()
        process.send_signal(getattr(signal, name))
        damped = motors.next_change(PATIENCE_S)
        if damped is None:
            raise SoloError(f"{name} in {phase}: the motors were not damped.")
        if damped[0] < begin:
            raise SoloError(f"{name} in {phase}: they were damped before, by a fault.")
        if name == "SIGSTOP":
            process.send_signal(signal.SIGCONT)  # It must not go on as before.
        if motors.next_change(1.0) is not None:
            raise SoloError(f"{name} in {phase}: the motors became stiff again.")
        return 1e3 * (damped[0] - begin)


def _drive(wanted: str, domain: int) -> None:
    """The control program: stand up, stand, and say when the phase has come."""
    from solo.bundles import shipped_bundle
    from solo.deploy.bundle.checks import make_contract
    from solo.deploy.bundle.format import POLICY_KEY, split_model
    from solo.deploy.command import OperatorInput, ScriptedOperator
    from solo.deploy.drivers.g1_dds import G1Cfg, G1Robot
    from solo.deploy.observation import Observation
    from solo.deploy.phase import Phase
    from solo.deploy.recorder import Snapshot
    from solo.deploy.runtime import RuntimeCfg
    from solo.deploy.safety import SafetyCfg
    from solo.deploy.session import run_session

    path = shipped_bundle()
    if path is None:
        raise SoloError("There is no shipped policy to take the joints from.")
    metadata = split_model(path.read_bytes(), path.name).metadata
    contract = replace(
        make_contract(json.loads(metadata[POLICY_KEY])), needs_depth=False
    )
    robot_cfg = G1Cfg(
        "lo", domain, watchdog_s=NEVER_S, connect_timeout_s=PATIENCE_S,
        service_timeout_s=PATIENCE_S,
    )  # fmt: skip
    robot = G1Robot(contract.joints, robot_cfg)
    seen: set[str] = set()

    class DefaultPose:
        """A policy; the robot hangs in its harness and need not balance."""

        def reset(self) -> None: ...

        def step(self, observation: Observation) -> np.ndarray:
            return np.zeros(len(contract.joints.names))

    class Script(ScriptedOperator):
        """Is lost as soon as the robot walks, if it is to be held."""

        def read(self, now: float) -> OperatorInput:
            is_lost = wanted == "hold" and "walking" in seen
            wish = super().read(now)
            return replace(wish, time_s=now - 1.0) if is_lost else wish

    def on_tick(tick: Snapshot) -> None:
        is_held = "stale_command" in (fault.name for fault in tick.faults)
        now = "hold" if is_held else tick.phase.name.lower()
        if now == wanted and now not in seen:
            assert robot.publisher is not None
            print(now, robot.publisher.pid, flush=True)
        seen.add(now)

    safety = SafetyCfg(
        max_state_age_s=NEVER_S, max_frozen_state_s=NEVER_S, max_pause_s=NEVER_S,
        min_rate=0.0,
    )  # fmt: skip
    stand_up_s = NEVER_S if wanted == "stand_up" else 0.5
    cfg = RuntimeCfg(start=Phase.DAMPING, stand_up_s=stand_up_s, safety=safety)
    run_session(contract, DefaultPose(), robot, None, Script(), cfg, on_tick=on_tick)


if __name__ == "__main__":
    _drive(*json.loads(sys.argv[1]))
