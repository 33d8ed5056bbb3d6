"""`solo tasks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from solo.cli import Verb, print_table
from solo.cli.checks import say_loading

if TYPE_CHECKING:
    from mjlab.envs import ManagerBasedRlEnvCfg
    from mjlab.managers.observation_manager import ObservationTermCfg

PURPOSES = {
    "teacher": "Stage 1, PPO with a motion prior; true map and velocity.",
    "student": "Stage 2, distillation; sensor noise, true map and velocity.",
    "perceptive": "Stage 3, map and velocity come from depth images.",
}
"""Stage to what it is for."""

Shape = tuple[int, ...]

_VECTORS = {
    "base_ang_vel": 3,
    "base_lin_vel": 3,
    "projected_gravity": 3,
    "generated_commands": 3,
}
"""Function of an observation term to its length, where that is fixed."""


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
            shapes = group_shapes(cfg)
            lines = [f"{name} {_in_words(shape)}" for name, shape in shapes.items()]
            rewards = len(cfg.rewards)
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


def group_shapes(cfg: ManagerBasedRlEnvCfg) -> dict[str, Shape | None]:
    """Shape of each observation group, without the environment dimension.

    Derived from the configuration, because building an environment takes seconds. None
    if the group has a term unknown here.
    """
    shapes: dict[str, Shape | None] = {}
    for name, group in cfg.observations.items():
        parts = [_term_shape(term, cfg) for term in group.terms.values()]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or (
            len(parts) > 1 and any(len(p) > 1 for p in known)
        ):
            shapes[name] = None
            continue
        shape = known[0] if len(known) == 1 else (sum(part[0] for part in known),)
        frames = group.history_length or 0
        shapes[name] = (frames, *shape) if frames else shape
    return shapes


def _term_shape(term: ObservationTermCfg, cfg: ManagerBasedRlEnvCfg) -> Shape | None:
    name, params = getattr(term.func, "__name__", ""), term.params
    if name in _VECTORS:
        return (_VECTORS[name],)
    if name in ("joint_pos_rel", "joint_vel_rel"):
        return (len(params["asset_cfg"].joint_names),)
    if name == "last_action":
        actions: Any = cfg.actions
        return (sum(len(action.actuator_names) for action in actions.values()),)
    if name == "height_map":
        return params["cfg"].cells
    if name == "depth_images":
        sensor = params["cfg"]
        camera = sensor.camera
        return (sensor.frames, camera.output_height, camera.output_width)
    if name in ("feet_contact", "foot_air_time"):
        sensors: Any = {sensor.name: sensor for sensor in cfg.scene.sensors}
        feet = len(sensors[params["sensor_name"]].primary.pattern)
        return (3 * feet,) if name == "feet_contact" else (feet,)
    return None


def _in_words(shape: Shape | None) -> str:
    return "" if shape is None else "x".join(map(str, shape))
