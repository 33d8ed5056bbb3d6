"""Run a stage: build, train and resume it, with everything in one folder."""

from __future__ import annotations

import contextlib
import io
import platform
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import mujoco
import torch
import yaml
from mjlab.envs import ManagerBasedRlEnvCfg

from solo import __version__
from solo.cpu import keep_freed_memory, onednn_linear
from solo.envs.make import make_env
from solo.envs.observations_cfg import Stage
from solo.errors import SoloError
from solo.files import written_aside
from solo.motions.library import MotionLibrary
from solo.reconstruction.networks.attention_kernel import fast_small_heads
from solo.robots import get_robot
from solo.robots.robot_cfg import RobotCfg
from solo.runs import open_run
from solo.runs.folder import (
    PARAMS,
    checkpoints,
    default_folder,
    find_checkpoint,
    iterations_done,
    own_run,
)
from solo.stages.processes import leave_processes, read_processes, take_cores
from solo.stages.runner import Runner, VecEnv
from solo.stages.start import StartingRuns
from solo.stages.train_cfg import (
    PerceptiveCfg,
    StudentCfg,
    TeacherCfg,
    TrainCfg,
    check_shared_folder,
)
from solo.tasks.agent_cfg import AgentCfg, make_agent_cfg, make_io, with_camera
from solo.tasks.env_cfg import find_motions, make_motions, make_stage_env_cfg
from solo.tasks.overrides import apply_overrides
from solo.tasks.profiles import Profile, default_profile, get_profile


@dataclass
class _Plan:
    """Everything that is known before the environments are built."""

    output: Path
    device: str
    env_cfg: ManagerBasedRlEnvCfg
    agent: AgentCfg
    motions: MotionLibrary | None
    record: dict[str, Any]
    """For ``run.json``."""
    start: StartingRuns | None = None
    """Where the first weights come from; None: from the run that is resumed."""
    resumes: bool = False
    notes: list[str] = field(default_factory=list)
    """Settings that differ from the paper's, by name."""


def train_teacher(cfg: TeacherCfg) -> dict[str, Any]:
    """Train the privileged teacher: stage 1, PPO with AMP over the terrain curriculum.

    Returns:
        A summary: ``output``, ``checkpoint``, ``iteration``, ``env_steps``, ``time_s``
        and whether it was ``stopped``.

    Raises:
        SoloError: What it starts from does not fit, or the folder cannot be used.
    """
    return _train(cfg, "teacher")


def train_student(cfg: StudentCfg) -> dict[str, Any]:
    """Distil a teacher into a student: stage 2, with the privileged map.

    TA-MSE and its two baselines are one algorithm with other weights. Returns and
    raises as `train_teacher`.
    """
    return _train(cfg, "student")


def train_perceptive(cfg: PerceptiveCfg) -> dict[str, Any]:
    """Fine-tune a student on the estimates of a reconstructor: stage 3.

    The student of stage 2 keeps training with TA-MSE, but on the map and velocity that
    a reconstructor estimates from depth and proprioception; the reconstructor is
    trained along with it, on the states the student visits. Teacher, critic,
    motion prior and terrain curriculum are those of stage 2. Returns and raises as
    `train_teacher`.
    """
    return _train(cfg, "perceptive")


def _train(cfg: TrainCfg, stage: Stage) -> dict[str, Any]:
    processes = read_processes()
    check_shared_folder(cfg, processes.world_size)
    plan = _plan_new(cfg, stage) if cfg.resume is None else _plan_resumed(cfg, stage)
    plan.device = processes.device(plan.device)
    plan.env_cfg.seed = plan.record["seed"] + processes.rank
    plan.agent.logger = cfg.logger or plan.agent.logger
    if plan.device == "cpu":
        take_cores(processes)
        keep_freed_memory()
        plan.record["threads"] = torch.get_num_threads()
    plan.record["num_processes"] = processes.world_size
    entry = plan.record
    if plan.resumes:  # The rest stands in the file already.
        kept = (
            "stage", "iterations", "device", "threads", "num_processes", "versions"
        )  # fmt: skip
        entry = {name: entry[name] for name in kept if name in entry}
    folder = own_run(plan.output, entry, plan.resumes)
    with folder if processes.is_first else nullcontext():
        if processes.is_first:
            _announce(plan, processes.world_size)
            if not plan.resumes:
                write_params(plan.output, plan.env_cfg, asdict(plan.agent))
        env = make_env(plan.env_cfg, plan.device)
        try:
            return _learn(plan, env, cfg.clip_interval)
        finally:
            env.close()
            leave_processes()


def _plan_new(cfg: TrainCfg, stage: Stage) -> _Plan:
    device = _pick_device(cfg.device)
    robot = get_robot(cfg.robot) if isinstance(cfg.robot, str) else cfg.robot
    name = cfg.robot if isinstance(cfg.robot, str) else robot.name
    if cfg.motions:
        robot = replace(robot, motions=cfg.motions)
    profile = _make_profile(cfg, stage, device)
    agent = make_agent_cfg(
        robot,
        stage,
        profile,
        amp=cfg.amp,
        objective=getattr(cfg, "objective", "ta-mse"),
        reconstructor=getattr(cfg, "reconstructor", None),
    )
    agent.robot, agent.seed = name, cfg.seed
    record = _name_starts(cfg, agent)
    start = StartingRuns(agent)
    if stage == "perceptive":
        robot = with_camera(robot, make_io(robot, profile))
    motions = _motions(robot, agent, device)
    env_cfg = make_stage_env_cfg(
        robot,
        stage,
        profile,
        motions,
        terrain=cfg.terrain,
        terrain_weights=cfg.terrain_weights,
    )
    if cfg.change_env is not None:
        cfg.change_env(env_cfg)
    configs: dict[str, Any] = {"env": env_cfg, "agent": agent}
    changes = apply_overrides(configs, cfg.overrides)
    differences = {
        key: {"paper": plain(paper), "here": plain(here)}
        for key, (paper, here) in [*profile.differences().items(), *changes.items()]
    }
    record = {
        "stage": stage,
        "robot": name,
        "profile": asdict(profile),
        "differences_from_the_paper": differences,
        "overrides": {path: plain(here) for path, (_, here) in changes.items()},
        "seed": cfg.seed,
        "num_envs": env_cfg.scene.num_envs,
        "iterations": agent.max_iterations,
        "device": device,
        "amp": agent.algorithm["amp_cfg"] is not None,
        "motions": [str(path.resolve()) for path in robot.motions],
        "terrain_weights": dict(cfg.terrain_weights),
        "change_env": plain(cfg.change_env),
        "versions": versions(),
        **record,
    }
    output = cfg.output or default_folder(stage, profile.name)
    notes = list(differences)
    return _Plan(output, device, env_cfg, agent, motions, record, start, notes=notes)


def _plan_resumed(cfg: TrainCfg, stage: Stage) -> _Plan:
    """Everything from the run itself; a new total of iterations may be given."""
    assert cfg.resume is not None
    if not checkpoints(cfg.resume):
        raise SoloError(
            f"There is no checkpoint to resume in {str(cfg.resume)!r}. Give the folder "
            "of a run."
        )
    run = open_run(cfg.resume)
    if run.stage != stage:
        raise SoloError(
            f"{str(cfg.resume)!r} holds a run of stage {run.stage!r}, not {stage!r}. "
            f"Use `solo train {run.stage}`."
        )
    first = dict(run.record)
    resumed = first.pop("resumed", [])
    last = resumed[-1] if isinstance(resumed, list) and resumed else first
    agent = run.agent
    agent.max_iterations = (
        cfg.iterations or last.get("iterations") or first["iterations"]
    )
    if (done := iterations_done(cfg.resume)) >= agent.max_iterations:
        raise SoloError(
            f"The run has {done} of {agent.max_iterations} iterations already. Give a "
            "larger number of iterations to continue."
        )
    if agent.reconstruction is not None and cfg.iterations is not None:
        agent.reconstruction["learner"]["iterations"] = cfg.iterations
    device = cfg.device if cfg.device != "auto" else first.get("device", "auto")
    device = _pick_device(device)
    motions = _motions(run.robot, agent, device)
    env_cfg = run.env_cfg(motions=motions, change_env=cfg.change_env)
    if cfg.num_envs is not None:
        env_cfg.scene.num_envs = cfg.num_envs
    record = {
        **first,
        "iterations": agent.max_iterations,
        "device": device,
        "versions": versions(),
    }
    record.pop("threads", None)
    notes = list(first.get("differences_from_the_paper", {}))
    return _Plan(
        cfg.resume, device, env_cfg, agent, motions, record, resumes=True, notes=notes
    )


def _motions(robot: RobotCfg, agent: AgentCfg, device: str) -> MotionLibrary | None:
    """Reference motions; only a motion prior cannot do without them."""
    find = find_motions if agent.algorithm["amp_cfg"] is None else make_motions
    return find(robot, device, agent.extra_motions)


def _pick_device(name: str) -> str:
    """The device for ``auto``, or a saved one that is not here: CUDA if available."""
    has_cuda = torch.cuda.is_available()
    if name == "auto" or (name.startswith("cuda") and not has_cuda):
        return "cuda:0" if has_cuda else "cpu"
    return name


def _make_profile(cfg: TrainCfg, stage: Stage, device: str) -> Profile:
    """The profile with what the run asks for."""
    profile = cfg.profile or default_profile(device)
    if isinstance(profile, str):
        profile = get_profile(profile)
    sizes = {"num_envs": cfg.num_envs, "iterations": cfg.iterations}
    sizes = {name: value for name, value in sizes.items() if value is not None}
    changes: dict[str, Any] = {stage: replace(profile.stage(stage), **sizes)}
    symmetric = getattr(cfg, "symmetric", None)
    if symmetric is not None:
        changes["symmetric_teacher" if stage == "teacher" else "symmetric"] = symmetric
    if isinstance(cfg, TeacherCfg) and cfg.mirror is not None:
        changes["mirror"] = cfg.mirror
    if isinstance(cfg, PerceptiveCfg) and cfg.warm_up is not None:
        perception = profile.perception
        changes["perception"] = replace(
            perception,
            warm_up_iterations=cfg.warm_up,
            warm_up_updates=perception.warm_up_updates or perception.updates,
        )
    return replace(profile, **changes)


def _name_starts(cfg: TrainCfg, agent: AgentCfg) -> dict[str, Any]:
    """Tell the agent which runs to start from; the same for ``run.json``."""
    record: dict[str, Any] = {}
    runs = {
        "teacher": "teacher_run",
        "student": "student_run",
        "start_from": "start_from",
        "reconstructor_checkpoint": "reconstructor_run",
    }
    for option, setting in runs.items():
        if hasattr(cfg, option):
            path = getattr(cfg, option)
            if path is not None and setting != "reconstructor_run":
                path = find_checkpoint(path)
            setattr(agent, setting, "" if path is None else str(path))
            record[option] = None if path is None else str(path)
    for option in ("action_noise", "objective"):
        if hasattr(cfg, option):
            record[option] = getattr(cfg, option)
    agent.action_noise = record.get("action_noise")
    if agent.reconstruction is not None:
        record["reconstructor"] = agent.reconstruction
    return record


def _learn(plan: _Plan, env: Any, clip_interval: int | None) -> dict[str, Any]:
    printed = io.StringIO()
    learning = asdict(plan.agent)
    if learning["algorithm"]["amp_cfg"] is not None:
        learning["algorithm"]["motions"] = plan.motions
    with contextlib.redirect_stdout(printed):
        runner = Runner(VecEnv(env), learning, str(plan.output), plan.device)
    if plan.resumes:
        last = checkpoints(plan.output)[-1]
        runner.load(str(last), map_location=plan.device)
        print(f"Resumed {last} at iteration {runner.current_learning_iteration}.")
    elif read_processes().is_first:
        (plan.output / PARAMS / "networks.txt").write_text(printed.getvalue())
    if plan.start is not None:
        plan.start.load(runner)
    if clip_interval is not None:
        runner.film(clip_interval)
    left = plan.agent.max_iterations - runner.current_learning_iteration
    stopped = False
    try:
        with _stoppable(), onednn_linear(), fast_small_heads():
            runner.learn(left)
    except KeyboardInterrupt:
        stopped = True
        path = plan.output / f"model_{runner.current_learning_iteration}.pt"
        if not path.exists():  # A whole iteration is better than one cut short.
            runner.save(str(path))
        print(f"Stopped and saved. To continue: --resume {plan.output}")
    saved = checkpoints(plan.output)  # None where another machine's process saves.
    return {
        "output": str(plan.output),
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


def _announce(plan: _Plan, world_size: int) -> None:
    """Print what is trained, for how long, and where it is written."""
    agent, record = plan.agent, plan.record
    policy = {"perceptive": "perceptive student"}.get(agent.stage, agent.stage)
    num_envs = plan.env_cfg.scene.num_envs
    samples = agent.max_iterations * num_envs * agent.num_steps_per_env * world_size
    print(
        f"Training the {policy} for {agent.robot}, profile "
        f"{record['profile']['name']}, seed {record['seed']}, on {plan.device}: "
        f"{agent.max_iterations} iterations of {num_envs} environments, {samples:,} "
        f"samples.\nWriting to {plan.output}. Ctrl-C saves and stops; to continue: "
        f"--resume {plan.output}"
    )
    if plan.notes:
        print(f"{len(plan.notes)} settings differ from the paper's: see run.json.")
    print("Building the environments ...", flush=True)


def write_params(folder: Path, env_cfg: Any, agent: Mapping[str, Any]) -> None:
    """The two files that mjlab's users look for; objects are written as text."""
    (folder / PARAMS).mkdir(exist_ok=True)
    for name, value in (("env", asdict(env_cfg)), ("agent", agent)):
        with written_aside(folder / PARAMS / f"{name}.yaml") as unfinished:
            unfinished.write_text(yaml.safe_dump(plain(value), sort_keys=False))


def plain(value: Any) -> Any:
    """Plain values for YAML and JSON; functions by name, other objects by type."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}:{value.__qualname__}"
    return f"<{type(value).__name__}>"


def versions() -> dict[str, str]:
    """Software that a run was made with."""
    return {
        "solo": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "mujoco": mujoco.__version__,
    }
