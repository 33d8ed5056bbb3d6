"""``solo deploy`` and ``solo sim-robot``: a bundle on a robot, and a simulated G1."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from solo.cli import Verb
from solo.cli.checks import MAX_PORT, find_bundle
from solo.errors import SoloError, check_number

if TYPE_CHECKING:
    from solo.deploy.bundle.load import Bundle
    from solo.deploy.contract import Contract
    from solo.deploy.recorder import Snapshot
    from solo.deploy.runtime import RuntimeCfg

Scene = Literal["flat", "stairs"]


@dataclass(frozen=True)
class Deploy(Verb):
    """Run a policy bundle on a simulated or a real robot, at 50 Hz.

    On the real robot it asks for confirmation and starts in damping; the operator then
    asks it to stand up and to walk. Keyboard: 1 stand up, 2 walk, w a s d q e to steer,
    space to halt, 0 to damp, Escape to stop.
    """

    bundle: Annotated[Positional[Path], arg(metavar="BUNDLE")]
    """Policy bundle written by `solo export`, or shipped."""
    provider: Literal["cpu", "cuda", "tensorrt"] = "cpu"
    """onnxruntime execution provider."""
    threads: int = 1
    """CPU threads for inference; one leaves the other cores to camera and robot."""
    robot: Literal["sim", "g1"] = "sim"
    """Robot to control."""
    camera: Literal["sim", "realsense", "replay", "none"] | None = None
    """Depth camera; if omitted, sim in simulation and realsense on g1."""
    command: Literal["script", "keyboard", "gamepad", "remote"] | None = None
    """Source of commands; if omitted, script in simulation and remote on g1."""
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Velocity command of the script: vx, vy, wz in m/s and rad/s."""
    gamepad: Path = Path("/dev/input/js0")
    """Gamepad device."""
    interface: str = "eth0"
    """Network interface to the G1; lo for a simulated one."""
    domain: int = 0
    """DDS domain of the G1."""
    scene: Scene = "flat"
    """Terrain of the simulation."""
    ropes: bool = False
    """Keep the simulated robot in its harness, to run the loop with a policy that
    cannot stand yet."""
    recording: Path | None = None
    """Log folder for --camera replay; .bag or .db3 file for --camera realsense."""
    seconds: float | None = None
    """Stop after this many seconds."""
    log: Path | None = None
    """Folder for a log of the whole run, which can be replayed."""
    faults: Path = Path("faults")
    """Folder for recordings of the last two seconds before each fault."""
    dashboard: bool = False
    """Serve a web page with depth, map, command, timing and faults during the run."""
    dashboard_port: int = 8088
    """Port of the dashboard; 0 picks a free one."""
    dashboard_host: str = "127.0.0.1"
    """Address to serve the dashboard on; if other computers can reach it, it requires a
    random token."""
    realtime: bool = False
    """Request real-time priority for the control loop; for the robot's computer."""
    dry_run: bool = False
    """Check the bundle, print the plan and exit."""

    def run(self) -> dict[str, Any]:
        from solo.deploy.bundle.load import load_bundle

        check_number("seconds", self.seconds, 0.1)
        check_number("threads", self.threads, 1)
        if not all(map(math.isfinite, self.velocity)):
            raise SoloError(
                f"--velocity is {self.velocity}; it must be three finite numbers: vx, "
                "vy, wz in m/s and rad/s."
            )
        check_number("dashboard_port", self.dashboard_port, 0, MAX_PORT)
        driven = None if self.robot == "sim" else self.robot  # Any robot is simulated.
        path = find_bundle(self.bundle)
        bundle = load_bundle(path, self.provider, self.threads, robot=driven)
        plan = self._plan(bundle.contract)
        for key, value in plan.items():
            print(f"{key:<12} {value}")
        if self.dry_run:
            return plan
        if self.robot == "g1":
            _confirm(self.interface)
        return {**plan, **self._run(bundle, plan)}

    def _plan(self, contract: Contract) -> dict[str, Any]:
        is_real = self.robot == "g1"
        camera = self.camera or ("realsense" if is_real else "sim")
        if not contract.needs_depth:
            camera = "none"
        command = self.command or ("remote" if is_real else "script")
        if contract.needs_depth and camera == "none":
            raise SoloError("This policy needs depth; --camera none cannot give it.")
        if camera == "sim" and is_real:
            raise SoloError("--camera sim goes with --robot sim. Use realsense.")
        if command == "remote" and not is_real:
            raise SoloError("--command remote is the G1's; it goes with --robot g1.")
        if command == "script" and is_real and self.interface != "lo":
            raise SoloError(
                "--command script is for simulation. Steer the real robot with "
                "--command remote, gamepad or keyboard."
            )
        if camera == "replay" and self.recording is None:
            raise SoloError("--camera replay needs the folder of a log: --recording.")
        return {
            "bundle": str(self.bundle),
            "robot": self.robot if not is_real else f"g1 on {self.interface}",
            "camera": camera,
            "command": command,
            "rate_hz": contract.control_hz,
            "joints": len(contract.joints.names),
            "starts_in": "damping" if is_real else "idle",
            "faults": str(self.faults),
            "log": str(self.log) if self.log else "none",
        }

    def _run(self, bundle: Bundle, plan: dict[str, Any]) -> dict[str, Any]:
        from contextlib import ExitStack

        from solo.deploy.dashboard.publisher import Dashboard
        from solo.deploy.phase import Phase
        from solo.deploy.runtime import RuntimeCfg
        from solo.deploy.session import Announcer, run_session

        contract, is_real = bundle.contract, self.robot == "g1"
        start = Phase.DAMPING if is_real else Phase.IDLE
        cfg = RuntimeCfg(start=start, command=bundle.command)
        ticks, page = None, None
        if self.seconds is not None:
            ticks = max(round(self.seconds * contract.control_hz), 1)
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="solo-"))
            robot = self._robot(bundle, Path(folder))
            if self.dashboard:
                page = Dashboard(
                    contract, bundle.command, self.bundle.name, plan["robot"],
                    bundle.metadata["height_map"], self.dashboard_host,
                    self.dashboard_port,
                )  # fmt: skip
                stack.callback(page.close)
                page.start()
                print(f"{'dashboard':<12} {page.url}", flush=True)
            announcer = Announcer()
            stack.callback(announcer.close)

            def show(tick: Snapshot) -> None:
                announcer.see(tick)
                if page is not None:
                    page.put(tick)

            result = run_session(
                contract, bundle.policy, robot, self._camera(contract, plan, robot),
                self._operator(plan, robot, cfg), cfg, self.faults, self.log,
                self.realtime, ticks, show,
            )  # fmt: skip
        for name, count in result["faults"].items():
            print(f"fault {name}: {count} times")
        print(
            f"{result['ticks']} ticks, {result['late_ticks']} late, "
            f"{result['overruns']} overruns; ended in {result['phase']}"
        )
        causes = result["late_causes_after_warm_up"]
        listed = ", ".join(f"{n} {cause}" for cause, n in causes.items())
        print(f"late after the warm-up, by cause: {listed.replace('_', ' ')}")
        return result

    def _robot(self, bundle: Bundle, folder: Path) -> Any:
        """Create the robot without starting it; ``folder`` takes its model."""
        joints, depth = bundle.contract.joints, bundle.contract.depth
        if self.robot == "g1":
            from solo.deploy.drivers.g1_dds import G1Cfg, G1Robot

            return G1Robot(joints, G1Cfg(self.interface, self.domain))

        from solo.deploy.bundle.checks import EXPECTED, Checker
        from solo.deploy.drivers.sim import SimulatedRobot
        from solo.export.metadata import expected_of
        from solo.robots import get_robot
        from solo.robots.build import write_model

        model = folder / "robot.xml"
        simulated = get_robot(bundle.metadata["robot"])
        if simulated.name not in EXPECTED:
            check = Checker(self.bundle.name)
            check.robot(bundle.metadata, expected_of(simulated))
        write_model(model, self.scene, simulated)
        return SimulatedRobot(model, joints, depth, self.ropes)

    def _camera(self, contract: Contract, plan: dict[str, Any], robot: Any) -> Any:
        """Create the camera without starting it."""
        if plan["camera"] == "sim":
            from solo.deploy.drivers.sim import SimulatedCamera

            return SimulatedCamera(robot)
        if plan["camera"] == "realsense":
            from solo.deploy.drivers.realsense import RealsenseCamera

            return RealsenseCamera(contract.depth, self.recording)
        if plan["camera"] == "replay":
            from solo.deploy.replay import ReplayCamera

            assert self.recording is not None
            return ReplayCamera(self.recording, contract)
        return None

    def _operator(self, plan: dict[str, Any], robot: Any, cfg: RuntimeCfg) -> Any:
        from solo.deploy.command import ScriptedOperator
        from solo.deploy.operators import Gamepad, Keyboard, UnitreeRemote

        kind = plan["command"]
        if kind == "gamepad":
            return Gamepad(self.gamepad, cfg.command)
        if kind == "keyboard":
            return Keyboard(cfg.command)
        if kind == "remote":
            return UnitreeRemote(robot, cfg.command)
        return ScriptedOperator(self.velocity, insist_s=1.0)


def _confirm(interface: str) -> None:
    """Ask before a real robot may move."""
    print(
        f"This program will release the motion service of the G1 on {interface}, which "
        "lets a standing robot fall, and control its motors. The robot must hang in "
        "its gantry, and a person must be able to cut its power."
    )
    try:
        answer = input("Type yes to continue: ")
    except EOFError:
        answer = ""
    if answer.strip().lower() != "yes":
        raise SoloError("Not confirmed; nothing was sent to the robot.")


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
    model: Path | None = None
    """MJCF file of a G1 and its ground, in place of ours."""
    wait: float = 0.0
    """How long simulated time waits for a late command on a busy computer, s."""
    release: float = 2.5
    """Time from the first stiff command until the harness lets go, s; inf for never."""

    def run(self) -> dict[str, Any]:
        check_number("drop", self.drop, 0.0, 1.0)
        check_number("wait", self.wait, 0.0)
        check_number("release", self.release, 0.0, math.inf)

        from solo.deploy.drivers import sim_robot
        from solo.deploy.drivers.sim_dds import InjectedFault, SimG1

        fault = InjectedFault(self.fault, self.fault_at)

        with tempfile.TemporaryDirectory(prefix="solo-") as folder:
            model = self.model
            if model is None:
                from solo.robots.build import write_model

                model = Path(folder) / "robot.xml"
                write_model(model, self.scene)
            harness = sim_robot.HarnessCfg(release_s=self.release)
            robot = sim_robot.SimRobot.from_file(model, harness)
        sim = SimG1(
            robot, self.interface, self.domain, self.drop, self.wait, fault, self.motion
        )
        where = f"{self.interface}, domain {self.domain}"
        print(f"Simulated G1 on {where}; Ctrl-C ends it.", flush=True)
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
