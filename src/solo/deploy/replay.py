"""Drive the runtime with a recorded run, at the recorded times.

The same log and the same policy give the same actions, to the bit; another policy
shows what it would have done in the same situations. Nothing moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solo.deploy.drivers.replay import RecordedOperator, Recording
from solo.deploy.policy import Policy
from solo.deploy.runtime import Runtime
from solo.deploy.runtime_cfg import RuntimeCfg


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """What the policy did in the situations of a log; one row per tick."""

    actions: np.ndarray
    """Actions [T, joints]; zero where the policy was not in control."""
    phases: np.ndarray
    """Phases [T], see `solo.deploy.phase.Phase`."""
    max_abs_difference: float
    """Largest difference from the recorded actions, in units of action."""
    num_phase_differences: int
    """Ticks in another phase than the recorded one."""


def replay(
    recording: Recording, policy: Policy, cfg: RuntimeCfg | None = None
) -> ReplayResult:
    """Run the whole log through the runtime.

    Args:
        recording: The log.
        policy: The policy to try.
        cfg: Settings of the runtime; the start phase is the log's.
    """
    recording.start()
    runtime = Runtime(
        recording.contract,
        recording,
        policy,
        RecordedOperator(recording),
        recording if recording.contract.needs_depth else None,
        replace(cfg or RuntimeCfg(), start=recording.start_phase),
    )
    actions, phases = [], []
    for _ in range(len(recording)):
        runtime.tick(recording.next_time_s())
        actions.append(runtime.snapshot.action)
        phases.append(runtime.phase)
    recorded = recording.records
    difference = np.abs(np.array(actions) - recorded["action"])
    return ReplayResult(
        np.array(actions),
        np.array(phases),
        float(difference.max()),
        int((np.array(phases) != recorded["phase"]).sum()),
    )
