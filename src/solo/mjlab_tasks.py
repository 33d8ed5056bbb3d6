"""Our tasks in mjlab's registry: the paper's environments and agents, our runner.

It stands above environments and agents and is imported by `solo.envs`, which mjlab
finds; see there.
"""

from __future__ import annotations

from typing import Any, cast

from mjlab.tasks.registry import register_mjlab_task

from solo import names
from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
from solo.envs.observations_cfg import Stage
from solo.robots.g1 import G1
from solo.tasks.agent_cfg import make_agent_cfg
from solo.tasks.env_cfg import make_stage_env_cfg
from solo.tasks.profiles import Profile

TASKS = cast(dict[str, Stage], names.TASKS)
"""Task to its stage."""


def make_runner(*args: Any, **kwargs: Any) -> Any:
    """The runner of our tasks; it is loaded when mjlab asks for one."""
    from solo.stages.mjlab_runner import MjlabRunner

    return MjlabRunner(*args, **kwargs)


def register() -> None:
    """Tell mjlab which tasks there are."""
    for task_id, stage in TASKS.items():
        register_mjlab_task(
            task_id=task_id,
            env_cfg=make_stage_env_cfg(G1, stage, Profile()),
            play_env_cfg=make_locomotion_env_cfg(G1, stage=stage, play=True),
            rl_cfg=make_agent_cfg(G1, stage, Profile()),
            runner_cls=cast(type, make_runner),
        )


register()
