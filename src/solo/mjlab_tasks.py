"""Our tasks in mjlab's registry: the paper's environments and agents, our runner.

It stands above environments and agents and is imported by `solo.envs`, which mjlab
finds; see there. Robots that installed packages name in the entry point group
``solo.robots`` get the same three tasks as the G1.
"""

from __future__ import annotations

import sys
from typing import Any, cast

from mjlab.tasks.registry import register_mjlab_task

from solo import names
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.envs.observations_cfg import Stage
from solo.robots.g1 import G1
from solo.robots.robot_cfg import RobotCfg, get_robot
from solo.tasks.agent_cfg import make_agent_cfg
from solo.tasks.env_cfg import make_stage_env_cfg
from solo.tasks.profiles import Profile

TASKS: dict[str, Stage] = {}
"""Task to its stage, of all robots."""

_STAGES: tuple[Stage, ...] = ("teacher", "student", "perceptive")


def make_runner(*args: Any, **kwargs: Any) -> Any:
    """The runner of our tasks; it is loaded when mjlab asks for one."""
    from solo.stages.mjlab_runner import MjlabRunner

    return MjlabRunner(*args, **kwargs)


def register_tasks(robot: RobotCfg, title: str) -> None:
    """Tell mjlab the three tasks of a robot: ``Solo-Teacher-TITLE`` and so on."""
    for stage in _STAGES:
        task_id = f"Solo-{stage.title()}-{title}"
        register_mjlab_task(
            task_id=task_id,
            env_cfg=make_stage_env_cfg(robot, stage, Profile()),
            play_env_cfg=make_locomotion_env_cfg(robot, stage=stage, play=True),
            rl_cfg=make_agent_cfg(robot, stage, Profile()),
            runner_cls=cast(type, make_runner),
        )
        TASKS[task_id] = stage


def _register_installed() -> None:
    """Register the robots of installed packages; a broken one costs a warning."""
    for name, place in names.robot_places().items():
        module, _, attribute = place.partition(":")
        # A robot's module may be what imports mjlab, and so us. Its robot is not there
        # yet then; mjlab's own commands do not start that way.
        loading = module in sys.modules and not hasattr(sys.modules[module], attribute)
        if name in names.ROBOTS or loading:
            continue
        try:
            register_tasks(get_robot(name), name.replace("_", "-").title())
        except Exception as error:  # Code of others may fail in any way.
            reason = " ".join(str(error).split())
            print(f"solo: no tasks for the robot {name!r}: {reason}", file=sys.stderr)


register_tasks(G1, "Unitree-G1")
_register_installed()
