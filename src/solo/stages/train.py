"""Run a stage: build it, resume it, train it, and leave everything in one folder."""

from __future__ import annotations

import platform
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import mujoco
import torch
import yaml

from solo import __version__
from solo.allocator import keep_freed_memory
from solo.envs.make import make_env
from solo.envs.observations_cfg import Stage
from solo.errors import SoloError
from solo.files import written_aside
from solo.motions.catalogue import make_clips
from solo.motions.library import MotionLibrary
from solo.robots.robot_cfg import RobotCfg
from solo.stages.env_cfg import STAGES, make_stage_env_cfg
from solo.stages.processes import leave_processes, read_processes, take_cores
from solo.stages.profiles import Profile
from solo.stages.run_folder import checkpoints, open_run
from solo.stages.runner import Runner, VecEnv
from solo.terrains.scene import TerrainSceneCfg

LOGGERS: dict[str, Any] = {
    "tensorboard": "tensorboard",
    "wandb": {"class_name": "WandbLogWriter", "project_name": "solo"},
}
"""Name to rsl_rl's setting."""


@dataclass(frozen=True)
class TrainCfg:
    """A training run."""

    robot: RobotCfg
    profile: Profile
    output: Path
    """Folder of the run."""
    device: str = "cpu"
    seed: int = 0
    num_envs: int | None = None
    """Other number of environments than the profile's."""
    iterations: int | None = None
    """Other number of iterations than the profile's; the total, also when resumed."""
    resume: bool = False
    """Go on with the run in the folder."""
    amp: bool = True
    """Whether there is a motion prior."""
    logger: str = "tensorboard"
    """"tensorboard" or "wandb"."""
    terrain: TerrainSceneCfg | None = None
    """Other terrain than the paper's."""
    terrain_weights: Mapping[str, float] = field(default_factory=dict)
    """Robots on a terrain relative to the others; the paper's are equal."""


def train(
    cfg: TrainCfg,
    stage: Stage,
    learning_cfg: dict[str, Any],
    motions: MotionLibrary,
    prepare: Callable[[Runner], None],
    record: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Train a stage and return a summary.

    Args:
        cfg: The run.
        stage: Which stage.
        learning_cfg: rsl_rl's configuration.
        motions: Reference motions.
        prepare: Called with the runner of a new run, e.g. to load a teacher.
        record: More for ``run.json``.

    Raises:
        SoloError: The folder cannot be used, or a checkpoint cannot be read.
    """
    iterations = cfg.iterations or cfg.profile.iterations[STAGES.index(stage)]
    differences = {
        name: {"paper": _plain(paper), "here": _plain(here)}
        for name, (paper, here) in cfg.profile.differences().items()
    }
    config = {
        "stage": stage,
        "robot": cfg.robot.name,
        "profile": _plain(cfg.profile),
        "differences_from_the_paper": differences,
        "seed": cfg.seed,
        "num_envs": cfg.num_envs,
        "iterations": iterations,
        "device": cfg.device,
        "amp": cfg.amp,
        "terrain_weights": dict(cfg.terrain_weights),
        "versions": _versions(),
        **(record or {}),
    }
    processes = read_processes()
    if cfg.device == "cpu":
        take_cores(processes)
        keep_freed_memory()
    folder = open_run(cfg.output, config, cfg.resume)
    with folder if processes.is_first else nullcontext():
        if processes.is_first:
            for name, values in differences.items():
                print(f"{name}: {values['here']} (paper: {values['paper']})")
        env_cfg = make_stage_env_cfg(
            cfg.robot,
            stage,
            cfg.profile,
            motions,
            num_envs=cfg.num_envs,
            seed=cfg.seed + processes.rank,
            terrain=cfg.terrain,
            terrain_weights=cfg.terrain_weights,
        )
        learning_cfg["logger"] = LOGGERS[cfg.logger]
        if processes.is_first and not cfg.resume:
            _write_params(cfg.output / "params", env_cfg, learning_cfg)
        env = make_env(env_cfg, cfg.device)
        try:
            return _learn(cfg, env, learning_cfg, prepare, iterations)
        finally:
            env.close()
            leave_processes()


def _learn(
    cfg: TrainCfg,
    env: Any,
    learning_cfg: dict[str, Any],
    prepare: Callable[[Runner], None],
    iterations: int,
) -> dict[str, Any]:
    runner = Runner(VecEnv(env), learning_cfg, str(cfg.output), cfg.device)
    if cfg.resume:
        last = checkpoints(cfg.output)[-1]
        runner.load(str(last), map_location=cfg.device)
        print(f"Resumed {last} at iteration {runner.current_learning_iteration}.")
    else:
        prepare(runner)
    left = iterations - runner.current_learning_iteration
    if left <= 0:
        raise SoloError(
            f"The run has {runner.current_learning_iteration} of {iterations} "
            "iterations already. Raise --iterations to go on."
        )
    stopped = False
    try:
        with _stoppable():
            runner.learn(left)
    except KeyboardInterrupt:
        stopped = True
        path = cfg.output / f"model_{runner.current_learning_iteration}.pt"
        if not path.exists():  # A whole iteration is better than one cut short.
            runner.save(str(path))
        print("Stopped; the last iteration is saved. --resume goes on.")
    saved = checkpoints(cfg.output)  # None where another machine's process saves.
    return {
        "output": str(cfg.output),
        "checkpoint": str(saved[-1]) if saved else None,
        "iteration": runner.current_learning_iteration,
        "env_steps": runner.logger.tot_timesteps,
        "time_s": runner.logger.tot_time,
        "stopped": stopped,
    }


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM, which schedulers of clusters send, do what Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python has signals in the main thread alone.
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _write_params(folder: Path, env_cfg: Any, learning_cfg: dict[str, Any]) -> None:
    """The two files that mjlab's users look for; objects are written as text."""
    folder.mkdir(exist_ok=True)
    for name, value in (("env", asdict(env_cfg)), ("agent", learning_cfg)):
        with written_aside(folder / f"{name}.yaml") as unfinished:
            unfinished.write_text(yaml.safe_dump(_readable(value), sort_keys=False))


def _readable(value: Any) -> Any:
    """Plain values for YAML; functions by name, everything else by its type."""
    if isinstance(value, dict):
        return {str(key): _readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}:{value.__qualname__}"
    return f"<{type(value).__name__}>"


def make_motions(robot: RobotCfg, device: str) -> MotionLibrary:
    """The synthesised reference motions of a robot, without standing.

    Standing is the gait that beginners fall back to; a prior must not praise it. The
    paper's set has walking and turning alone, too.
    """
    clips = [clip for clip in make_clips(robot) if clip.name != "stand"]
    return MotionLibrary(clips, robot, device)


def _plain(value: Any) -> Any:
    """Dataclasses as dicts, so that JSON can hold them."""
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def _versions() -> dict[str, str]:
    return {
        "solo": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "mujoco": mujoco.__version__,
    }
