"""``solo eval robustness``: what it costs when something goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solo.cli.eval import _Evaluation, _speed, _with_difficulties
from solo.errors import SoloError


@dataclass(frozen=True, kw_only=True)
class EvalRobustness(_Evaluation):
    """Repeat the stress test with bad depth, a tilted camera and pushes.

    Killed runs go on with the same command.
    """

    policy: str
    """zero, random, stand, a run's folder, a checkpoint or a bundle *.onnx."""
    conditions: tuple[str, ...] = ()
    """Names of the conditions, e.g. zeroed tilted_3; all if left out. The nominal one
    is always run."""
    difficulty: float | None = None
    """Difficulty of all terrains, 0 to 1 (stress test: 0.99)."""

    def run(self) -> dict[str, Any]:
        from solo.evaluation.conditions import CONDITIONS, get_condition
        from solo.evaluation.robustness import ROBUSTNESS

        protocol = self._scaled(ROBUSTNESS)
        if self.difficulty is not None:
            protocol = _with_difficulties(protocol, (self.difficulty,))
        if len(set(self.conditions)) != len(self.conditions):
            raise SoloError(
                f"--conditions names one twice: {', '.join(self.conditions)}. "
                "Name each once."
            )
        chosen = [get_condition(name) for name in self.conditions or CONDITIONS]

        from solo.cli.eval_output import print_conditions, watching
        from solo.evaluation.policies import open_policy
        from solo.evaluation.robustness import applies, evaluate_robustness

        source = open_policy(self.policy, self.robot)
        folder = self.output or Path("eval") / protocol.name / source.slug
        names = {c.name for c in chosen if applies(c, source)} | {"nominal"}
        with watching(protocol, len(names)) as watcher:
            result = evaluate_robustness(
                protocol,
                source,
                folder,
                chosen,
                on_condition=lambda condition: watcher.name_part(condition.name),
                num_slots=self.num_envs,
                on_rollout=watcher.on_rollout,
                on_cell=watcher.on_cell,
                num_failures=self.failures,
            )
        print_conditions(result)
        print(f"Wrote {folder / 'result.json'}: {_speed(result)}")
        return result
