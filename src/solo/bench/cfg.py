"""What benchmarks measure; the options of ``solo bench`` are these fields.

Nothing heavy is imported here, so the command line can check its options at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

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
    """Measure training end to end: steps per second, and where the time goes."""

    profile: str = "laptop"
    """paper, reduced, laptop or smoke."""
    iterations: int = 8
    """Timed iterations per stage, after two for warm-up; the student stage runs them
    again with each objective, to compare TA-MSE with MSE+PPO."""
    stages: tuple[Stage, ...] = ("teacher", "student", "perceptive")
    """Stages to measure."""
    device: str = "cpu"
    """cpu or cuda:0."""

    def __post_init__(self) -> None:
        check_number("iterations", self.iterations, 1)


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
