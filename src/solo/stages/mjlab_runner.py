"""The runner for mjlab's own ``train`` and ``play``.

``train Solo-Teacher-Unitree-G1`` writes a run like those of `solo train`;
``play --checkpoint-file`` opens the checkpoints of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from mjlab.rl import RslRlVecEnvWrapper
from tensordict import TensorDict

from solo.algorithms.perceptive_ta_mse import PerceptiveTaMse
from solo.errors import SoloError
from solo.files import write_json
from solo.reconstruction.perceiver import DEPTH, Perceiver
from solo.runs import open_run
from solo.runs.folder import CONFIG
from solo.stages.runner import Runner, VecEnv
from solo.stages.start import StartingRuns
from solo.stages.train import versions, write_params
from solo.tasks.agent_cfg import AgentCfg
from solo.tasks.profiles import Profile


class MjlabRunner(Runner):
    """`Runner` for mjlab's scripts, which pass their own arguments."""

    def __init__(
        self,
        env: RslRlVecEnvWrapper,
        train_cfg: dict[str, Any],
        log_dir: str | None = None,
        device: str = "cpu",
    ) -> None:
        """Build it; to train (with a folder) also load what the agent starts from."""
        with _one_line():
            agent = AgentCfg(**train_cfg)
            is_new = log_dir is not None and not agent.resume
            start = StartingRuns(agent) if is_new else None
            own = VecEnv(env.env, env.clip_actions)
            super().__init__(own, asdict(agent), log_dir, device)
            if start is not None:
                start.load(self)
            if is_new and self.gpu_global_rank == 0:
                _write_run(Path(str(log_dir)), env.cfg, agent, device)

    def load(
        self,
        path: str,
        load_cfg: dict | None = None,
        strict: bool = True,
        map_location: str | None = None,
    ) -> dict:
        """Resume from a checkpoint, or load its policy alone, of any size."""
        with _one_line():
            if load_cfg == {"actor": True}:
                return self._take_policy(path)
            return super().load(path, load_cfg, strict, map_location)

    def _take_policy(self, path: str) -> dict:
        run = open_run(path)
        if run.stage != self.cfg["stage"]:
            raise SoloError(
                f"{path!r} is of stage {run.stage!r}; the task is of stage "
                f"{self.cfg['stage']!r}. Play it with the task of its stage."
            )
        networks = run.networks
        self.alg.actor = networks.actor.to(self.device)
        if isinstance(self.alg, PerceptiveTaMse):
            assert networks.reconstructor is not None
            io = networks.reconstructor.io
            shape = tuple(self.env.get_observations()[DEPTH].shape[-2:])
            if shape != io.depth_shape:
                raise SoloError(
                    f"{path!r} takes depth images of {io.depth_shape}; the task's are "
                    f"of {shape}. Use `solo play {path}`."
                )
            self.alg.perceiver = Perceiver(
                networks.reconstructor.to(self.device), self.env.num_envs, self.device
            )
        return run.state["infos"]

    def get_inference_policy(self, device: str | None = None) -> Any:
        """Maps observations to actions; memory is reset between episodes."""
        algorithm, env = self.alg, self.env.unwrapped
        actor = algorithm.actor.eval().to(device or self.device)
        is_first = True

        def act(obs: TensorDict) -> torch.Tensor:
            nonlocal is_first
            begun = env.episode_length_buf == 0
            actor.reset(begun)
            if isinstance(algorithm, PerceptiveTaMse):
                perceiver = algorithm.perceiver
                estimate = perceiver.estimate(obs, None if is_first else begun)
                obs = perceiver.compose(obs, estimate)
            is_first = False
            return actor(obs)

        return act


@contextmanager
def _one_line() -> Iterator[None]:
    """End mjlab's script with the error's line instead of a traceback."""
    try:
        yield
    except SoloError as error:
        raise SystemExit(f"solo: {error}") from None


def _write_run(folder: Path, env_cfg: Any, agent: AgentCfg, device: str) -> None:
    """Write the files of `solo train`, so that every command can open the run."""
    write_params(folder, env_cfg, asdict(agent))
    record = {
        "stage": agent.stage,
        "robot": agent.robot,
        "profile": asdict(Profile()),
        "differences_from_the_paper": {},
        "seed": agent.seed,
        "num_envs": env_cfg.scene.num_envs,
        "iterations": agent.max_iterations,
        "device": device,
        "amp": agent.algorithm["amp_cfg"] is not None,
        "made_with": "mjlab train",
        "versions": versions(),
    }
    write_json(folder / CONFIG, record)
