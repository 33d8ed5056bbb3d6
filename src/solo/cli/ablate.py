"""``solo ablate``: train, evaluate and compare the arms of an ablation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from solo.ablation_cfg import AblationCfg
from solo.cli import Verb
from solo.cli.checks import check_robot, check_run, pick_device, say_loading
from solo.errors import SoloError


@dataclass(frozen=True, kw_only=True)
class Ablate(AblationCfg, Verb):
    __doc__ = AblationCfg.__doc__

    def run(self) -> dict[str, Any]:
        assert isinstance(self.robot, str)
        check_robot(self.robot)
        for run in (self.teacher, *self.students):
            check_run(run)
        self.evaluation()  # A wrong level or terrain is told before the work.
        say_loading()
        device = pick_device(self.device)

        from solo.ablations import FIGURE, TABLE, run_ablation
        from solo.stages.processes import read_processes

        if read_processes().world_size > 1:
            raise SoloError(
                "An ablation is one process. Without torchrun, --num-envs 4096 on one "
                "GPU is the paper's 2 x 2048; give other GPUs other --seeds."
            )
        result = run_ablation(replace(self, device=device), num_failures=0)
        print((self.output / TABLE).read_text())
        print(f"Wrote {self.output / TABLE} and {self.output / FIGURE}")
        return result
