"""Where the time of an iteration goes, for each stage, end to end."""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from solo.algorithms.ta_mse import TaMse
from solo.bench.cfg import Stage, TrainBenchCfg
from solo.cpu import keep_freed_memory, onednn_linear
from solo.envs.make import make_env
from solo.errors import SoloError
from solo.motions.library import MotionLibrary
from solo.progress import make_progress
from solo.reconstruction.networks.attention_kernel import fast_small_heads
from solo.robots import get_robot
from solo.robots.robot_cfg import RobotCfg
from solo.stages.processes import leave_processes, read_processes, take_cores
from solo.stages.runner import Runner, VecEnv
from solo.tasks.agent_cfg import make_agent_cfg, make_io, with_camera
from solo.tasks.env_cfg import make_motions, make_stage_env_cfg
from solo.tasks.profiles import get_profile


def bench_train(cfg: TrainBenchCfg) -> dict[str, Any]:
    """Train each stage for some iterations and split up the time.

    The first two iterations are left out: kernels are compiled and memory is allocated
    in them. The teacher that the student learns from is not trained, which costs the
    same.

    Returns:
        For each stage the environment steps per second of all processes, and the
        shares of rollout, learning and everything else (logging, checkpoints) in this
        one. For the student also what TA-MSE costs more than MSE+PPO, as a share of an
        iteration.

    Raises:
        SoloError: Several processes are to measure several stages.
    """
    processes = read_processes()
    if processes.world_size > 1 and len(cfg.stages) > 1:
        raise SoloError(
            f"{processes.world_size} processes measure one stage at a time, not "
            f"{len(cfg.stages)}. Give one, e.g. --stages perceptive."
        )
    cfg = replace(cfg, device=processes.device(cfg.device))
    if cfg.device == "cpu":
        take_cores(processes)
        keep_freed_memory()
    robot, profile = get_robot("g1"), get_profile(cfg.profile)
    motions = make_motions(robot, cfg.device, profile.extra_motions)
    result: dict[str, Any] = {"profile": profile.name, "device": cfg.device}
    with make_progress() as progress:
        task = progress.add_task("stages", total=len(cfg.stages))
        for stage in cfg.stages:
            try:
                result[stage] = _bench_stage(robot, stage, cfg, motions)
            finally:
                leave_processes()
            progress.advance(task)
    return result


def _bench_stage(
    robot: RobotCfg, stage: Stage, cfg: TrainBenchCfg, motions: MotionLibrary
) -> dict[str, Any]:
    profile = get_profile(cfg.profile)
    learning = asdict(make_agent_cfg(robot, stage, profile))
    learning["algorithm"]["motions"] = motions
    if stage == "perceptive":
        robot = with_camera(robot, make_io(robot, profile))
        # Most of the stage comes after the warm-up, which estimates nothing.
        learning["reconstruction"]["learner"]["warm_up_iterations"] = 0
    processes = read_processes()
    env_cfg = make_stage_env_cfg(
        robot, stage, profile, motions, num_envs=cfg.num_envs, seed=processes.rank
    )
    env = make_env(env_cfg, cfg.device)
    with (
        # The writer of the curves may still be writing when the folder goes.
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        _quiet(),
        onednn_linear(),
        fast_small_heads(),
    ):
        runner = Runner(VecEnv(env), learning, str(Path(folder)), cfg.device)
        if isinstance(runner.alg, TaMse):
            runner.alg.load_teacher(runner.alg.teacher.state_dict())
        times: list[tuple[float, float]] = []
        log = runner.logger.log

        def keep(*args: Any, **values: Any) -> None:
            times.append((values["collect_time"], values["learn_time"]))
            log(*args, **values)

        runner.logger.log = keep  # type: ignore[method-assign] - Only listens.
        _learn(runner, 2)
        # Processes are equal by now, and their normalisers refuse to be loaded again.
        runner.alg.broadcast_parameters = lambda: None  # type: ignore[method-assign]
        times.clear()
        start = time.perf_counter()
        _learn(runner, cfg.iterations)
        seconds = time.perf_counter() - start
        extra = _ta_mse_extra_cost(runner, cfg.iterations) if stage == "student" else {}
    env.close()
    collect_s, learn_s = torch.tensor(times[: cfg.iterations]).sum(dim=0).tolist()
    num_envs = env.num_envs * processes.world_size
    num_steps = cfg.iterations * num_envs * learning["num_steps_per_env"]
    return {
        "env_steps_per_s": num_steps / seconds,
        "share_rollout": collect_s / seconds,
        "share_learning": learn_s / seconds,
        "share_other": 1.0 - (collect_s + learn_s) / seconds,
        "seconds_per_iteration": seconds / cfg.iterations,
        "num_envs": num_envs,
        "iterations": cfg.iterations,
        **extra,
    }


def _learn(runner: Runner, iterations: int) -> None:
    """Train on; rsl_rl's counter stays at the last iteration done."""
    runner.learn(iterations)
    runner.current_learning_iteration += 1


def _ta_mse_extra_cost(runner: Runner, pairs: int) -> dict[str, float]:
    """Processor time of TA-MSE over that of MSE+PPO, minus 1.

    Iterations with and without the penalty take turns in one run, so that load and
    clock of the machine meet both.
    """
    algorithm, ends = runner.alg, runner.env.ends
    assert isinstance(algorithm, TaMse)
    assert ends is not None
    weight, groups, seconds = algorithm.penalty_weight, ends.groups, [0.0, 0.0]
    for _ in range(pairs):
        for is_on in (0, 1):
            algorithm.penalty_weight = weight * is_on
            ends.groups = groups if is_on else ()
            start = time.process_time()
            _learn(runner, 1)
            seconds[is_on] += time.process_time() - start
    return {"ta_mse_extra_cost": seconds[1] / seconds[0] - 1.0}


def _quiet() -> contextlib.redirect_stdout[io.StringIO]:
    return contextlib.redirect_stdout(io.StringIO())
