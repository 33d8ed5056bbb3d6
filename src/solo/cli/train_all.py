"""``solo train all``: from scratch to a report, in one resumable command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from solo.cli import Verb
from solo.cli.checks import check_robot, pick_device
from solo.cli.eval import EvalStress
from solo.cli.export import Export
from solo.cli.recon import ReconCollect, ReconTrain
from solo.cli.report import Report
from solo.cli.train import TrainPerceptive, TrainStudent, TrainTeacher
from solo.errors import SoloError
from solo.files import check_same, owned_folder, read_json, write_json
from solo.runs.folder import CONFIG, find_checkpoint, iterations_done

STATE = "all.json"
"""Options of the first call, and what is done."""

Result = dict[str, Any]


@dataclass(frozen=True)
class TrainAll(Verb):
    """Train, export, evaluate and report: every stage, one after the other.

    Teacher, student, reconstructor (on data that the teacher records), perceptive
    student, export, stress test, report. Run the same command again to resume: steps
    that are done are skipped.
    """

    output: Path = Path("runs/all")
    """Folder for everything."""
    profile: Literal["paper", "reduced", "laptop", "smoke"] | None = None
    """Size of the training; if omitted, laptop on CPU and paper on CUDA."""
    seed: int = 0
    """Seed of trainings and evaluation."""
    device: str = "auto"
    """auto, cpu or cuda:0; auto is CUDA if available."""
    robot: str = "g1"
    """Robot: g1, the name of an installed one, or module:ATTRIBUTE."""
    reconstructor: (
        Literal["qr", "start", "dpl", "qr_evidence", "start_evidence"] | None
    ) = None
    """Which reconstructor to train; the profile's if omitted (paper: qr)."""
    rollouts: int | None = None
    """Rollouts per terrain of the stress test; the protocol's if omitted."""
    terrains: tuple[str, ...] = ()
    """Terrains of the stress test; the protocol's if omitted."""

    def run(self) -> dict[str, Any]:
        check_robot(self.robot)
        with owned_folder(self.output):
            done = self._read_state()
            for name, step in self._steps().items():
                if name in done and Path(done[name]["output"]).exists():
                    print(f"{name}: done, skipped.")
                    continue
                print(f"== {name} ==")
                result = step()
                if result.get("stopped"):
                    raise SoloError(
                        f"Stopped in the step {name!r}. Run the same command to resume."
                    )
                done[name] = result
                write_json(self.output / STATE, {**self._options(), "done": done})
        print(f"Wrote {done['report']['output']}")
        return done

    def _options(self) -> Result:
        options = asdict(self)
        del options["json"], options["output"], options["device"]
        return {"options": {**options, "terrains": list(self.terrains)}}

    def _read_state(self) -> Result:
        """What is done; a new folder keeps the options from the start."""
        path = self.output / STATE
        if not path.is_file():
            write_json(path, {**self._options(), "done": {}})
            return {}
        state = read_json(path, "Choose another --output.")
        here = self._options()["options"]
        check_same(self.output, "training", state.get("options", {}), here)
        return state.get("done", {})

    def _steps(self) -> dict[str, Callable[[], Result]]:
        """Name to what is done; each leaves its ``output`` in its result."""
        folder = self.output
        policy = folder / "policy.onnx"
        return {
            "teacher": self._train(TrainTeacher, folder / "teacher"),
            "student": self._train(
                TrainStudent, folder / "student", teacher=folder / "teacher"
            ),
            "data": self._collect,
            "reconstructor": self._fit,
            "perceptive": self._train(
                TrainPerceptive,
                folder / "perceptive",
                student=folder / "student",
                reconstructor=self.reconstructor,
                reconstructor_checkpoint=folder / "reconstructor",
            ),
            "export": lambda: Export(folder / "perceptive", policy).run(),
            "evaluation": self._evaluate,
            "report": self._report,
        }

    def _train(self, verb: Any, output: Path, **options: Any) -> Callable[[], Result]:
        def run() -> Result:
            if done := iterations_done(output):
                planned = read_json(output / CONFIG, "Choose another --output.")
                if done >= planned["iterations"]:  # Killed before it was written down.
                    last = str(find_checkpoint(output))
                    return {"output": str(output), "checkpoint": last}
                return verb(resume=output, device=self.device).run()
            return verb(
                robot=self.robot,
                profile=self.profile,
                output=output,
                seed=self.seed,
                device=self.device,
                **options,
            ).run()

        return run

    def _collect(self) -> Result:
        sizes, output = self._sizes(), self.output / "data"
        offline = sizes.offline
        ReconCollect(
            policy=str(self.output / "teacher"),
            output=output,
            frames=offline.frames,
            robots=offline.robots,
            steps=offline.steps,
            seed=self.seed,
            profile=sizes.depth,
        ).run()
        return {"output": str(output)}

    def _fit(self) -> Result:
        sizes, output = self._sizes(), self.output / "reconstructor"
        result = ReconTrain(
            data=self.output / "data",
            updates=sizes.offline.updates,
            batch=sizes.offline.batch,
            cells=sizes.perception.cells,
            neighbours=sizes.perception.neighbours,
            seed=self.seed,
            profile=sizes.depth,
            device=self.device,
            method=self.reconstructor or sizes.perception.reconstructor,
            output=output,
            resume=True,
        ).run()
        return {"output": str(output), **result}

    def _evaluate(self) -> Result:
        output = self.output / "evaluation"
        EvalStress(
            policy=str(self.output / "policy.onnx"),
            seed=self.seed,
            output=output,
            rollouts=self.rollouts,
            terrains=self.terrains,
        ).run()
        return {"output": str(output)}

    def _report(self) -> Result:
        output = self.output / "report.html"
        return Report((self.output / "evaluation",), output).run()

    def _sizes(self) -> Any:
        from solo.tasks.profiles import default_profile, get_profile

        if self.profile is not None:
            return get_profile(self.profile)
        return default_profile(pick_device(self.device))
