"""``solo sim-robot``: a simulated G1 that speaks the robot's DDS topics."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from solo.errors import SoloError

Scene = Literal["flat", "stairs"]


@dataclass(frozen=True)
class SimRobot:
    """Simulate a G1 that speaks the robot's DDS topics, for `solo deploy --robot g1`.

    In another terminal: solo deploy BUNDLE --robot g1 --interface lo
    """

    interface: str = "lo"
    """Network interface."""
    domain: int = 0
    """DDS domain."""
    scene: Scene = "flat"
    """Ground."""
    drop: float = 0.0
    """Share of the messages to lose, 0 to 1."""
    seconds: float | None = None
    """End after so many seconds."""
    json: Path | None = None
    """File to write the result to."""

    def run(self) -> dict[str, Any]:
        """Simulate until interrupted."""
        if not 0.0 <= self.drop <= 1.0:
            raise SoloError(f"--drop is {self.drop}; allowed is 0 to 1.")

        from solo.deploy.drivers import sim_robot
        from solo.deploy.drivers.sim_dds import SimG1

        with tempfile.TemporaryDirectory(prefix="solo-") as folder:
            model = Path(folder) / "robot.xml"
            write_model(model, self.scene)
            robot = sim_robot.SimRobot.from_file(model, sim_robot.HarnessCfg())
        sim = SimG1(robot, self.interface, self.domain, self.drop)
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


def write_model(path: Path, scene: Scene = "flat") -> None:
    """Write the G1 of training, on some ground, as MJCF."""
    import mujoco
    from mjlab.entity import Entity

    from solo.robots.build import make_entity_cfg
    from solo.robots.g1 import G1

    spec = Entity(make_entity_cfg(G1, visual=False)).spec
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(
        name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[20.0, 20.0, 0.1]
    )
    if scene == "stairs":
        for step in range(8):  # 15 cm high, 30 cm deep, from 1 m ahead.
            rise, start = 0.15 * (step + 1), 1.0 + 0.3 * step
            spec.worldbody.add_geom(
                name=f"step_{step}",
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=[start + 2.0, 0.0, 0.5 * rise],
                size=[2.0, 1.5, 0.5 * rise],
            )
    spec.compile()
    path.write_text(spec.to_xml())
