"""`solo tasks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from solo.cli import Verb, print_table
from solo.cli.checks import say_loading

if TYPE_CHECKING:
    from mjlab.envs import ManagerBasedRlEnvCfg

PURPOSES = {
    "teacher": "Stage 1, PPO with a motion prior; true map and velocity.",
    "student": "Stage 2, distillation; sensor noise, true map and velocity.",
    "perceptive": "Stage 3, map and velocity come from depth images.",
}
"""Stage to what it is for."""


@dataclass(frozen=True)
class Tasks(Verb):
    """List the tasks with their observations and rewards."""

    def run(self) -> dict[str, Any]:
        say_loading()
        from mjlab.tasks.registry import load_env_cfg

        from solo.mjlab_tasks import TASKS

        tasks = []
        table = Table("task and what it is for", "observation groups", "rewards")
        table.columns[0].min_width = max(map(len, TASKS))
        table.columns[1].no_wrap = True
        for task, stage in TASKS.items():
            cfg = load_env_cfg(task)
            shapes, rewards = group_shapes(cfg), len(cfg.rewards)
            lines = [f"{n} {'x'.join(map(str, shape))}" for n, shape in shapes.items()]
            about = f"[bold]{task}[/bold]\n{stage}: {PURPOSES[stage]}"
            table.add_row(about, "\n".join(lines), str(rewards), end_section=True)
            tasks.append(
                {
                    "task": task,
                    "stage": stage,
                    "observation_groups": shapes,
                    "reward_terms": rewards,
                    "purpose": PURPOSES[stage],
                }
            )
        print_table(table)
        return {"tasks": tasks}


def group_shapes(cfg: ManagerBasedRlEnvCfg) -> dict[str, Any]:
    """Shape of each observation group, of an environment built on flat ground."""
    from solo.envs.grid_terrain import GridTerrainCfg
    from solo.envs.make import make_env
    from solo.terrains.scene import TerrainSceneCfg

    cfg.scene.num_envs = 1
    cfg.scene.terrain = GridTerrainCfg(scene=TerrainSceneCfg(("flat",), num_levels=1))
    env = make_env(cfg)
    shapes = dict(env.observation_manager.group_obs_dim)
    env.close()
    return shapes
