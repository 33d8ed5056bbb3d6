"""What is known of a policy before there is an environment to run it in.

It decides which observations and which physics the environment needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mjlab.envs import ManagerBasedRlEnv

from solo.envs.observations_cfg import Stage
from solo.evaluation.rollout import Policy
from solo.robots.robot_cfg import RobotCfg


@dataclass(frozen=True)
class PolicySource:
    """A policy that can be made for an environment."""

    name: str
    """E.g. ``stand`` or ``t3/model_100.pt``."""
    kind: str
    """"agent", "bundle", or the stage of training."""
    robot: RobotCfg
    stage: Stage
    """Whose observations the environment has."""
    groups: tuple[str, ...]
    """Observation groups that are needed."""
    make: Callable[[ManagerBasedRlEnv], Policy]
    physics: tuple[float, int] = (0.005, 4)
    """Physics step in seconds, and steps per control step.

    The paper's, also for what a profile trained with larger steps.
    """
    checkpoint: Path | None = None
    sha256: str | None = None
    """Of the checkpoint."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of `describe`."""

    @property
    def slug(self) -> str:
        """Name for a folder, different for different checkpoints."""
        name = self.name.removesuffix(".pt").removesuffix(".onnx").replace("/", "-")
        return name if self.sha256 is None else f"{name}-{self.sha256[:8]}"

    def describe(self) -> dict[str, Any]:
        """For result files: what identifies the policy."""
        return {
            "name": self.name,
            "kind": self.kind,
            "robot": self.robot.name,
            "physics": list(self.physics),
            "sha256": self.sha256,
            **self.details,
        }
