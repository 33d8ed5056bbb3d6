"""What is evaluated: a baseline agent, a run, or an exported bundle.

Networks are run in blocks of one size. Those that see with a camera have a
reconstructor in front of a student. The true height map and velocity are in the
environment to measure the estimates with; the student never sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from rsl_rl.models import MLPModel
from tensordict import TensorDict

from solo.envs.observations_cfg import GROUPS
from solo.evaluation.agents import AGENTS
from solo.evaluation.protocols import Start
from solo.evaluation.rollout import LANES, Policy, PolicySource
from solo.networks.student import StudentModel
from solo.reconstruction.networks.interface import Outputs, Reconstructor, State
from solo.reconstruction.networks.query_reconstructor import QueryReconstructor
from solo.reconstruction.perceiver import (
    DEPTH,
    MAP,
    PROPRIOCEPTION,
    STUDENT_GROUPS,
    TRUE_MAP,
    TRUE_VELOCITY,
    VELOCITY,
    WINDOW,
)
from solo.robots import get_robot
from solo.robots.robot_cfg import RobotCfg
from solo.runs import open_run
from solo.runs.folder import BUNDLE, check_policy, find_checkpoint
from solo.runs.run import Run
from solo.sim.native import NativeSimulation

MEASURES = ("height_map_l1_m", "reconstructed_velocity_error")
"""What policies that reconstruct measure; see ``docs/metrics.md``."""

TRUE_GROUPS = (TRUE_MAP, TRUE_VELOCITY)
"""Groups that are there to measure alone."""

PERCEPTIVE_GROUPS = (DEPTH, WINDOW, *TRUE_GROUPS)
"""All groups that policies with a camera need."""

ShareOut = Callable[[Callable[[int, int, int], None], int], None]
"""``run(work, num_items)`` calls ``work(thread, lo, hi)`` until all items are done."""


def open_policy(name: str, robot: str = "g1") -> PolicySource:
    """Find a policy: an agent, or whatever `solo.runs.open_run` takes.

    Args:
        name: As on the command line.
        robot: Robot of the agents; a run knows its own.

    Raises:
        SoloError: There is none, or it cannot be read.
    """
    if name in AGENTS:
        return _agent_source(name, get_robot(robot))
    check_policy(name)
    path = find_checkpoint(name)
    if path.suffix == BUNDLE:
        from solo.evaluation.bundle import bundle_source  # Needs onnxruntime.

        return bundle_source(path)
    return _run_source(open_run(path))


def _run_source(run: Run) -> PolicySource:
    networks, is_perceptive = run.networks, run.stage == "perceptive"

    def make(env: ManagerBasedRlEnv) -> Policy:
        actor = networks.actor.to(env.device)
        if not is_perceptive:
            return NetworkPolicy(actor, GROUPS[run.stage], env.num_envs)
        assert isinstance(actor, StudentModel)
        assert networks.reconstructor is not None
        return PerceptivePolicy(
            actor, networks.reconstructor.to(env.device), env.num_envs, shared_out(env)
        )

    details = {}
    if networks.reconstructor is not None:
        details = {
            "reconstructor": run.state["reconstructor"]["name"],
            "depth_shape": list(networks.reconstructor.io.depth_shape),
        }
    return PolicySource(
        name=f"{run.path.resolve().parent.name}/{run.path.name}",
        kind=run.stage,
        robot=run.robot,
        stage=run.stage,
        groups=PERCEPTIVE_GROUPS if is_perceptive else GROUPS[run.stage],
        make=make,
        checkpoint=run.path,
        sha256=run.sha256,
        details=details,
    )


def _agent_source(name: str, robot: RobotCfg) -> PolicySource:
    return PolicySource(
        name=name,
        kind="agent",
        robot=robot,
        stage="teacher",
        groups=("teacher_proprioception",),
        make=lambda env: AGENTS[name](env, robot),
    )


class NetworkPolicy(Policy):
    """A network that acts on observation groups, without exploring.

    It is run on `LANES` slots at a time: matrix products round differently for other
    numbers of rows. Evaluations have whole blocks; elsewhere the last may be smaller.
    """

    def __init__(self, model: MLPModel, groups: Sequence[str], num_slots: int) -> None:
        self.model, self._groups = model.eval(), tuple(groups)
        self._states: list[Any] = [None] * -(-num_slots // LANES)

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Clear the memory of some slots."""
        for slot in slots:
            block, row = divmod(slot, LANES)
            for part in self._states[block] or ():  # [layers, LANES, hidden]
                part[:, row] = 0.0

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        """Mean actions [B, joints]."""
        actions = []
        for block, state in enumerate(self._states):
            rows = slice(block * LANES, (block + 1) * LANES)
            groups = {name: observations[name][rows] for name in self._groups}
            size = len(next(iter(groups.values())))
            part = TensorDict(groups, batch_size=[size])
            self.model.reset(hidden_state=state)
            actions.append(self.model(part))
            self._states[block] = self.model.get_hidden_state()
        return torch.cat(actions), {}


class PerceptivePolicy(Policy):
    """Reconstructor and student, on `LANES` slots at a time; see `NetworkPolicy`.

    The Query Reconstructor keeps the visual tokens of older images, as on a robot, and
    baselines with a memory of the episode keep that; the others start from the window
    in each step, as they were trained.
    """

    def __init__(
        self,
        student: StudentModel,
        reconstructor: Reconstructor,
        num_slots: int,
        run: ShareOut | None = None,
    ) -> None:
        """Make it for a number of slots, a multiple of `LANES` in evaluations.

        ``run`` shares out the blocks among threads, see `shared_out`; None: one after
        the other.
        """
        self._run = run or (lambda work, num_items: work(0, 0, num_items))
        self._student = NetworkPolicy(student, STUDENT_GROUPS, num_slots)
        self._reconstructor = reconstructor.eval()
        self._states: list[State | None] = [
            reconstructor.initial_state(min(LANES, num_slots - first))
            if isinstance(reconstructor, QueryReconstructor)
            or reconstructor.episode_memory
            else None
            for first in range(0, num_slots, LANES)
        ]

    @property
    def model(self) -> MLPModel:
        """The student's network."""
        return self._student.model

    def begin(self, slots: Sequence[int], starts: Sequence[Start]) -> None:
        """Forget what was seen and felt in some slots."""
        self._student.begin(slots, starts)
        for slot in slots:
            block, row = divmod(slot, LANES)
            self._states[block] = self._reconstructor.reset_state(
                self._states[block], torch.tensor([row])
            )

    def act(self, observations: Any) -> tuple[torch.Tensor, Mapping[str, np.ndarray]]:
        """Mean actions [B, joints], and how wrong the estimates were."""
        num_blocks = len(self._states)
        seen: list[dict[str, torch.Tensor]] = [{} for _ in range(num_blocks)]

        @torch.inference_mode()  # Each thread has a mode of its own.
        def perceive(_slot: int, low: int, high: int) -> None:
            for block in range(low, high):
                rows = slice(block * LANES, (block + 1) * LANES)
                part = {name: observations[name][rows] for name in PERCEPTIVE_GROUPS}
                seen[block], self._states[block] = self._perceive(
                    part, self._states[block]
                )

        self._run(perceive, num_blocks)
        joined = {name: torch.cat([s[name] for s in seen]) for name in seen[0]}
        actions, _ = self._student.act(joined)
        measures = {name: joined[name].cpu().double().numpy() for name in MEASURES}
        return actions, measures

    def _perceive(
        self, part: Mapping[str, torch.Tensor], state: State | None
    ) -> tuple[dict[str, torch.Tensor], State | None]:
        """The student's groups and the errors of one block, and its new state."""
        window = part[WINDOW]
        estimate, state = self._reconstructor(part[DEPTH], window, state)
        groups = {
            PROPRIOCEPTION: window[:, -1],
            VELOCITY: estimate["velocity"],
            MAP: estimate["height"],
        }
        truth = (part[name] for name in TRUE_GROUPS)
        return groups | estimate_errors(estimate, *truth), state


def shared_out(env: ManagerBasedRlEnv) -> ShareOut | None:
    """How to share out work among the threads of an environment's physics."""
    return env.sim.pool.run if isinstance(env.sim, NativeSimulation) else None


def estimate_errors(
    estimate: Outputs, height_map: torch.Tensor, velocity: torch.Tensor
) -> dict[str, torch.Tensor]:
    """How wrong a reconstructor is, per slot: the two `MEASURES`, each [B].

    The error of the map [B, Y, X] is the mean over its cells, that of the velocity [B,
    3] the length of the difference, m/s.
    """
    height = (estimate["height"] - height_map).abs()
    difference = torch.linalg.vector_norm(estimate["velocity"] - velocity, dim=-1)
    return dict(zip(MEASURES, (height.mean(dim=(-2, -1)), difference), strict=True))
