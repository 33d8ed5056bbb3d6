"""rsl_rl's runner with exact checkpoints.

A checkpoint carries networks, normalisers, optimisers, discriminator and replay (rsl_rl
and `solo.algorithms` put them in), and from here the curriculum, the random state, the
versions and, on the native backend, the whole state of the environment: a resumed run
ends bit-identical to one that was never stopped. Writes are atomic, so a killed run
leaves no partial files. Loading executes no pickle: checkpoints hold only tensors and
plain values.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl import RslRlVecEnvWrapper
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from solo import __version__
from solo.algorithms.ta_mse import TERMINAL_OBSERVATIONS
from solo.checkpoints import write_checkpoint
from solo.envs.grid_terrain import grid_terrain
from solo.envs.mdp.curriculums import ASSIST, level_histogram
from solo.envs.mdp.voids import set_soft_voids_state, soft_voids_state
from solo.envs.terminal_observations import RECORDER, TerminalObservations
from solo.errors import SoloError
from solo.robots import get_robot
from solo.runs.run import load_checkpoint
from solo.sim.native import NativeSimulation
from solo.sim.threads import stepping_threads
from solo.stages.clips import write_clip
from solo.stages.console import ConsoleLogger
from solo.stages.env_snapshot import EnvSnapshots
from solo.stages.processes import join_cpu_processes, read_processes
from solo.tasks.env_cfg import make_motions


class VecEnv(RslRlVecEnvWrapper):
    """mjlab's wrapper; torch uses one thread while the environments step."""

    ends: TerminalObservations | None = None
    """Observes the last states of episodes; None unless enabled."""

    def keep_terminal_observations(self, without: Collection[str] = ()) -> None:
        """From now on ``extras`` have last states of episodes, but for some groups."""
        groups = self.unwrapped.observation_manager.active_terms
        term = self.unwrapped.recorder_manager.get_term(RECORDER)
        assert isinstance(term, TerminalObservations)
        term.groups = [name for name in groups if name not in without]
        self.ends = term

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """Step all environments."""
        with stepping_threads():
            obs, rewards, dones, extras = super().step(actions)
        if self.ends is not None and (ends := self.ends.pop()) is not None:
            extras = {**extras, TERMINAL_OBSERVATIONS: ends}
        return obs, rewards, dones, extras


class Runner(OnPolicyRunner):
    """Trains, and saves everything needed to resume."""

    env: VecEnv
    logger: ConsoleLogger

    def __init__(
        self,
        env: VecEnv,
        train_cfg: dict[str, Any],
        log_dir: str | None = None,
        device: str = "cpu",
    ) -> None:
        """Build algorithm and logger.

        ``train_cfg`` is an `AgentCfg` as a dictionary, and is consumed. Reference
        motions may be in it as an object, under ``algorithm.motions``; they are made if
        they are not. Without a folder nothing is written.
        """
        cfg = {name: value for name, value in train_cfg.items() if value is not None}
        if cfg["logger"] == "wandb":
            project = cfg["wandb_project"]
            cfg["logger"] = {"class_name": "WandbLogWriter", "project_name": project}
        algorithm = cfg["algorithm"]
        if algorithm["amp_cfg"] is None:
            algorithm["motions"] = None
        elif algorithm.get("motions") is None:
            robot = get_robot(cfg["robot"])
            algorithm["motions"] = make_motions(robot, device, cfg["extra_motions"])
        super().__init__(env, cfg, log_dir, device)
        self.logger = ConsoleLogger(
            log_dir=log_dir,
            cfg=self.cfg,
            env_cfg=env.cfg,
            num_envs=env.num_envs,
            is_distributed=self.is_distributed,
            gpu_world_size=self.gpu_world_size,
            gpu_global_rank=self.gpu_global_rank,
            device=device,
        )
        on_native = isinstance(env.unwrapped.sim, NativeSimulation)
        self._snapshots = EnvSnapshots(env.unwrapped) if on_native else None

    def _configure_multi_gpu(self) -> None:
        """Also join processes that have no GPU."""
        processes = read_processes()
        if processes.world_size == 1 or self.device != "cpu":
            super()._configure_multi_gpu()
            return
        self.gpu_world_size, self.is_distributed = processes.world_size, True
        self.gpu_local_rank = processes.local_rank
        self.gpu_global_rank = processes.rank
        self.cfg["multi_gpu"] = join_cpu_processes(processes)

    def film(self, interval: int) -> None:
        """From now on, write a clip of the robot every so many iterations.

        It walks the indoor course, at the mean terrain level of the training.
        """
        folder = Path(self.logger.log_dir)  # type: ignore[arg-type]

        def write(iteration: int) -> None:
            if iteration % interval == 0:
                terrain = grid_terrain(self.env.unwrapped)
                level = float(terrain.terrain_levels.float().mean())
                difficulty = level / max(1, terrain.cfg.scene.num_levels - 1)
                state = {**self.alg.save(), "iter": iteration, "infos": {}}
                write_clip(folder, state, difficulty)

        self.logger.after_iteration = write

    def save(self, path: str, infos: dict | None = None) -> None:
        """Write a checkpoint and the histograms of the levels."""
        saved = self.alg.save()
        saved["iter"] = self.current_learning_iteration
        saved["infos"] = {
            **(infos or {}),
            "solo_version": __version__,
            "env": env_state(self.env.unwrapped),
            "env_snapshot": self._snapshots.take() if self._snapshots else None,
            "learner": learner_state(self),
            "rng": rng_state(),
            "total_steps": self.logger.tot_timesteps,
            "total_time_s": self.logger.tot_time,
            "learning_rate": self.alg.learning_rate,
        }
        write_checkpoint(Path(path), saved)
        self._log_levels()

    def load(
        self,
        path: str,
        load_cfg: dict | None = None,
        strict: bool = True,
        map_location: str | None = None,
    ) -> dict:
        """Resume from a checkpoint: all of it, or the parts that ``load_cfg`` names.

        If the state of the environment cannot be restored (none was saved, or it is of
        another environment), only the curriculum is, and new episodes begin.
        """
        loaded = load_checkpoint(Path(path), map_location)
        if self.alg.load(loaded, load_cfg, strict):
            # The iteration of the file is done.
            self.current_learning_iteration = loaded["iter"] + 1
        infos = loaded["infos"]
        if load_cfg is None:
            self.logger.tot_timesteps = infos["total_steps"]
            self.logger.tot_time = infos["total_time_s"]
            self.alg.learning_rate = infos["learning_rate"]
            if self._restore_env(infos):
                saved = infos["env"].get("soft_voids")
                set_soft_voids_state(self.env.unwrapped, saved)
                set_learner_state(self, infos["learner"])
            else:
                set_env_state(self.env.unwrapped, infos["env"])
            if self.gpu_global_rank == 0:  # The others keep different draws.
                set_rng_state(infos["rng"])  # Last: what comes before may draw.
        return infos

    def _restore_env(self, infos: dict[str, Any]) -> bool:
        """Restore the environment, if that is possible."""
        snapshot = infos.get("env_snapshot")
        if self._snapshots is None or snapshot is None or self.gpu_global_rank != 0:
            return False
        try:
            self._snapshots.restore(snapshot)
        except SoloError as error:
            print(f"{error} New episodes begin; levels and networks are kept.")
            return False
        return True

    def _log_levels(self) -> None:
        """Histogram of the levels on each terrain."""
        writer: Any = self.logger.writer
        env = self.env.unwrapped
        if not hasattr(writer, "add_histogram"):  # Not TensorBoard.
            return
        for name, counts in zip(
            grid_terrain(env).variant_names, level_histogram(env).cpu(), strict=True
        ):
            levels = torch.repeat_interleave(torch.arange(len(counts)), counts)
            if len(levels):
                writer.add_histogram(
                    f"Levels/{name}", levels, self.current_learning_iteration
                )


def env_state(env: ManagerBasedRlEnv) -> dict[str, Any]:
    """Curriculum and counters of an environment."""
    state: dict[str, Any] = {
        "common_step_counter": env.common_step_counter,
        "terrain_levels": grid_terrain(env).terrain_levels.cpu(),
        "terrain_types": grid_terrain(env).terrain_types.cpu(),
    }
    if ASSIST in env.cfg.events:
        state["assist"] = env.event_manager.get_term_cfg(ASSIST).params["strength"]
    state["soft_voids"] = soft_voids_state(env)
    return state


def samples_as_steps(env: ManagerBasedRlEnv, state: dict[str, Any]) -> int:
    """Steps of this environment that equal the samples the saved one had seen."""
    return state["common_step_counter"] * len(state["terrain_levels"]) // env.num_envs


def carry_curriculum(env: ManagerBasedRlEnv, saved: dict[str, Any]) -> None:
    """Take over the levels and, counted in samples, the progress of another run."""
    steps = samples_as_steps(env, saved)
    num_levels = grid_terrain(env).cfg.scene.num_levels
    levels = saved["terrain_levels"].clamp(max=num_levels - 1)
    set_env_state(
        env, {**saved, "common_step_counter": steps, "terrain_levels": levels}
    )


def set_env_state(env: ManagerBasedRlEnv, state: dict[str, Any]) -> None:
    """Restore a saved state and begin new episodes.

    With another number of environments the levels of the saved ones are reused in turn.
    """
    env.common_step_counter = state["common_step_counter"]
    set_soft_voids_state(env, state.get("soft_voids"))
    if ASSIST in env.cfg.events and "assist" in state:
        env.event_manager.get_term_cfg(ASSIST).params["strength"] = state["assist"]
    terrain = grid_terrain(env)
    assert terrain.terrain_origins is not None
    saved_levels, saved_types = state["terrain_levels"], state["terrain_types"]
    for column in range(len(terrain.variant_names)):
        here = (terrain.terrain_types == column).nonzero().flatten()
        levels = saved_levels[saved_types == column]
        if len(levels) and len(here):
            chosen = levels[torch.arange(len(here)) % len(levels)]
            terrain.terrain_levels[here] = chosen.to(terrain.terrain_levels)
    terrain.env_origins[:] = terrain.terrain_origins[
        terrain.terrain_levels, terrain.terrain_types
    ]
    env.episode_length_buf[:] = 0  # The curriculum must not judge where robots are now.
    env.reset()


_MODELS = ("actor", "critic", "teacher")
_SUMS = ("cur_reward_sum", "cur_episode_length")
_LAST_EPISODES = ("rewbuffer", "lenbuffer")


def learner_state(runner: OnPolicyRunner) -> dict[str, Any]:
    """What the learner carries to the next iteration besides its parameters.

    Hidden states of recurrent models outlast a rollout, and the logger holds the
    rewards and lengths of unfinished episodes. An algorithm that carries more, e.g.
    what a student saw last, returns it as tensors and plain values from
    ``carried_state()`` and restores it in ``set_carried_state(state)``, which is called
    only if the environment is restored too.
    """
    hidden = {name: model.get_hidden_state() for name, model in _models(runner)}
    logger = runner.logger
    return {
        "hidden_states": {name: _cloned(state) for name, state in hidden.items()},
        "sums": {name: getattr(logger, name).clone() for name in _SUMS},
        "last_episodes": {name: list(getattr(logger, name)) for name in _LAST_EPISODES},
        "algorithm": getattr(runner.alg, "carried_state", dict)(),
    }


def set_learner_state(runner: OnPolicyRunner, state: dict[str, Any]) -> None:
    """Restore a saved state; the number of environments must be the same."""
    for name, model in _models(runner):
        model.reset(hidden_state=_cloned(state["hidden_states"][name]))
    with torch.inference_mode():
        for name, saved in state["sums"].items():
            getattr(runner.logger, name).copy_(saved)
    for name, saved in state["last_episodes"].items():
        values = getattr(runner.logger, name)
        values.clear()
        values.extend(saved)
    if hasattr(runner.alg, "set_carried_state"):
        runner.alg.set_carried_state(state["algorithm"])  # type: ignore[attr-defined]


def _models(runner: OnPolicyRunner) -> list[tuple[str, Any]]:
    return [(n, getattr(runner.alg, n)) for n in _MODELS if hasattr(runner.alg, n)]


def _cloned(state: Any) -> Any:
    """A copy of a hidden state: a tensor, a tuple of tensors, or None."""
    if isinstance(state, tuple):
        return tuple(part.detach().clone() for part in state)
    return None if state is None else state.detach().clone()


def rng_state() -> dict[str, Any]:
    """State of all global random generators, as plain values and tensors."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002 - Others use it.
    version, internal, gauss = random.getstate()
    state = {
        "torch": torch.get_rng_state(),
        "numpy": [str(name), torch.from_numpy(np.asarray(keys, np.int64)), *rest],
        "python": [version, list(internal), gauss],
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_rng_state(state: dict[str, Any]) -> None:
    """Restore a saved random state."""
    torch.set_rng_state(state["torch"].cpu())
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))  # noqa: NPY002
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
