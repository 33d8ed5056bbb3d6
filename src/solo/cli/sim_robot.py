"""``solo sim-robot``: a simulated G1 that speaks the robot's DDS topics."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from solo.cli import Verb
from solo.errors import check_number

Scene = Literal["flat", "stairs"]


@dataclass(frozen=True)
class SimRobot(Verb):
    """Simulate a G1 that speaks the robot's DDS topics, for `solo deploy --robot g1`.

    In another terminal: solo deploy BUNDLE --robot g1 --interface lo
    """

    interface: str = "lo"
    """Network interface."""
    domain: int = 0
    """DDS domain."""
    scene: Scene = "flat"
    """Terrain."""
    drop: float = 0.0
    """Share of messages to drop, 0 to 1."""
    fault: str | None = None
    """Fault to inject: motor_error, hot_winding, hot_casing, low_voltage,
    low_battery, gyroscope, frozen_clock, clock_back, frozen_state, wild_joint,
    mode_machine."""
    fault_at: float = 10.0
    """Simulated time at which the fault starts, s."""
    motion: Literal["ai", "off", "silent", "stuck"] = "ai"
    """State of its motion service: running (ai), already released (off), not answering
    (silent), or refusing to be released (stuck)."""
    seconds: float | None = None
    """Stop after this many seconds."""

    def run(self) -> dict[str, Any]:
        check_number("drop", self.drop, 0.0, 1.0)

        from solo.deploy.drivers import sim_robot
        from solo.deploy.drivers.sim_dds import InjectedFault, SimG1
        from solo.robots.build import write_model

        fault = InjectedFault(self.fault, self.fault_at)

        with tempfile.TemporaryDirectory(prefix="solo-") as folder:
            model = Path(folder) / "robot.xml"
            write_model(model, self.scene)
            robot = sim_robot.SimRobot.from_file(model, sim_robot.HarnessCfg())
        sim = SimG1(
            robot,
            self.interface,
            self.domain,
            self.drop,
            fault=fault,
            motion=self.motion,
        )
        print(
            f"Simulated G1 on {self.interface}, domain {self.domain}; Ctrl-C ends it."
        )
        begin = time.monotonic()
        try:
            sim.run(self.seconds)
        except KeyboardInterrupt:
            print("Stopped.")
        finally:
            sim.close()
        return {
            "seconds": time.monotonic() - begin,
            "commands": sim.num_commands,
            "refused": sim.num_refused,
        }
