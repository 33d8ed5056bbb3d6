"""What benchmarks measure; the options of ``solo bench`` are these fields.

Nothing heavy is imported here, so the command line can check its options at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from tyro.conf import Positional, Suppress, arg

from solo.errors import check_number, unknown_name
from solo.reconstruction.cfg import ReconProfile

Stage = Literal["teacher", "student", "perceptive"]


@dataclass(frozen=True)
class SimBenchCfg:
    """Measure environment steps per second on rough terrain with all managers.

    Compares the native backend with stock mjlab on CPU and with a bare loop of mj_step
    on the same model, states and controls.
    """

    num_envs: int = 512
    """Number of environments."""
    threads: int | None = None
    """Threads of the native backend; all cores if omitted."""
    rounds: int = 5
    """Rounds in which native and raw alternate."""
    steps: int = 10
    """Control steps per round."""
    warp_steps: int = 5
    """Timed steps of stock mjlab after its warm-up; 0 skips it."""
    mjlab_task: bool = False
    """Also time mjlab's own unmodified rough-terrain task for the G1 (minutes)."""

    def __post_init__(self) -> None:
        for name in ("num_envs", "threads", "rounds", "steps"):
            check_number(name, getattr(self, name), 1)
        check_number("warp_steps", self.warp_steps, 0)


@dataclass(frozen=True)
class DepthBenchCfg:
    """Measure depth images per second, and their error against MuJoCo's own rays.

    Compares the depth camera with mj_multiRay on the same ground, robots and number of
    threads, over all terrain variants.
    """

    images: int = 16
    """Images per terrain variant."""
    threads: int | None = None
    """Threads of both; all cores if omitted."""

    def __post_init__(self) -> None:
        check_number("images", self.images, 1)
        check_number("threads", self.threads, 1)


@dataclass(frozen=True)
class TrainBenchCfg:
    """Measure training end to end: steps per second, and where the time goes.

    Under torchrun, as `solo train`, it measures one stage in all processes together.
    """

    profile: str = "laptop"
    """paper, reduced, laptop or smoke."""
    iterations: int = 8
    """Timed iterations per stage, after two for warm-up; the student stage runs them
    again with each objective, to compare TA-MSE with MSE+PPO."""
    stages: tuple[Stage, ...] = ("teacher", "student", "perceptive")
    """Stages to measure."""
    num_envs: int | None = None
    """Environments per process; the profile's if omitted."""
    device: str = "cpu"
    """cpu or cuda:0."""

    def __post_init__(self) -> None:
        check_number("iterations", self.iterations, 1)
        check_number("num_envs", self.num_envs, 1)


@dataclass(frozen=True)
class ReconBenchCfg:
    """Measure the reconstructors: training rate, and latency of one step.

    Latency is for a single robot on one core, with torch and with onnxruntime.
    """

    methods: tuple[str, ...] = ("qr", "start", "dpl")
    """Reconstructors to measure."""
    profiles: tuple[ReconProfile, ...] = ("paper",)
    """Sizes to measure."""
    steps: int = 200
    """Timed streaming steps."""
    batch: int = 32
    """Windows per training step."""
    rounds: int = 3
    """Rounds in which the methods take turns; one training step each."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "rounds"):
            check_number(name, getattr(self, name), 1)
        for profile in self.profiles:
            if profile not in (known := get_args(ReconProfile)):
                raise unknown_name("profile", profile, known, "Choose some of these.")


@dataclass(frozen=True)
class MachineBenchCfg:
    """Measure whether this computer can hold 50 Hz, without a policy.

    Runs the control loop of `solo deploy` with constant work. Ticks that are late here
    are not the policy's fault.
    """

    seconds: float = 60.0
    """Length of the run."""
    work_ms: float = 3.5
    """CPU time of each tick; about that of the shipped policy."""

    def __post_init__(self) -> None:
        check_number("seconds", self.seconds, 0.02)
        check_number("work_ms", self.work_ms, 0.001)


@dataclass(frozen=True)
class PolicyBenchCfg:
    """Measure a policy bundle for one robot, and torch on the same observations.

    A simulated D455 streams at 60 Hz while the policy runs at its own rate. The
    pipeline is image processing, observation, inference, checks and joint targets.
    """

    bundle: Annotated[Positional[Path], arg(metavar="BUNDLE")]
    """Policy bundle written by `solo export`, or shipped."""
    steps: int = 1000
    """Control steps per thread count; torch does a fifth of them."""
    threads: tuple[int, ...] = (1, 2)
    """Thread counts to measure; the first gives the main result."""
    provider: Literal["cpu", "cuda", "tensorrt"] = "cpu"
    """Where the bundle runs; torch runs on the CPU."""
    rounds: Suppress[int] = 10
    """Turns of bundle and torch; each begins a new episode."""

    def __post_init__(self) -> None:
        check_number("steps", self.steps, 20)
        check_number("threads", min(self.threads, default=0), 1)

    @property
    def torch_steps(self) -> int:
        """Steps of torch, spread over the run."""
        return max(self.steps // 5, 20)


@dataclass(frozen=True)
class StopBenchCfg:
    """Measure how fast a G1's motors are damped when `solo deploy` is stopped.

    Sends every signal in every phase, with a simulated G1 on loopback. Reports the
    milliseconds from signal to damped motors, longest of all rounds. Needs Cyclone DDS.
    """

    rounds: int = 3
    """How often each signal is sent in each phase."""

    def __post_init__(self) -> None:
        check_number("rounds", self.rounds, 1)
