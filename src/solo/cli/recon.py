"""``solo recon``: record data, train reconstructors, compare them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from solo.cli.checks import check_at_least
from solo.errors import SoloError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mjlab.envs import ManagerBasedRlEnv

    from solo.reconstruction.checkpoint import FitCfg
    from solo.reconstruction.recorder import Sampler


@dataclass(frozen=True)
class CollectRecon:
    """Record what robots see and stand before, for the comparison of reconstructors.

    The splits go to folders of their own: train; eval, 850 instances of terrain in five
    sets that training never sees; extent, descending stairs of 8 m and 10 m.
    An interrupted recording goes on with the same command.
    """

    policy: str = "scripted"
    """Who moves the robots: scripted, or a teacher's run folder or checkpoint."""
    output: Path = Path("data/recon")
    """Folder of the data set."""
    split: Literal["train", "eval", "extent"] = "train"
    """Which part of the data set to record."""
    frames: int = 60_000
    """Frames of the train split, rounded up to whole shards."""
    terrain_seeds: tuple[int, ...] = (0, 1, 2, 3)
    """Seeds of the train split's terrain."""
    seed: int = 0
    """Seed of routes, gaits and sensor errors."""
    robots: int = 64
    """Robots per shard of the train split."""
    steps: int | None = None
    """Control steps per robot; 200 in the train split and 60 in the others."""
    robot: str = "g1"
    """Name of the robot."""
    json: Path | None = None
    """Also write the manifest to this file."""

    def run(self) -> dict[str, Any]:
        """Record, print where and how fast, and return the manifest."""
        steps = self.steps or (200 if self.split == "train" else 60)
        check_at_least("frames", self.frames, 1)
        check_at_least("robots", self.robots, 1)
        check_at_least("steps", steps, 1)
        check_at_least("seed", self.seed, 0)

        from solo.reconstruction.recorder import CollectCfg, collect

        cfg = CollectCfg(
            split=self.split,
            frames=self.frames,
            terrain_seeds=self.terrain_seeds,
            seed=self.seed,
            robots=self.robots,
            steps=steps,
        )
        started = time.monotonic()
        manifest = collect(cfg, make_sampler(self.policy, self.robot), self.output)
        folder = self.output / self.split
        size = sum((folder / s.file).stat().st_size for s in manifest.shards.values())
        print(
            f"Wrote {folder}: {manifest.frames} frames by the {manifest.sampler} "
            f"sampler, {size / 1e6:.0f} MB, in {time.monotonic() - started:.0f} s"
        )
        return manifest.to_dict()


def make_sampler(policy: str, robot_name: str) -> Sampler:
    """The sampler of ``--policy``.

    Raises:
        SoloError: There is no such sampler.
    """
    if policy == "scripted":
        from solo.reconstruction.scripted import ScriptedSampler
        from solo.robots import get_robot

        return ScriptedSampler(get_robot(robot_name))
    if not Path(policy).exists():
        raise SoloError(
            f"--policy is {policy!r}; allowed are scripted, or the run folder or a "
            "checkpoint of a teacher. Check the path."
        )

    import torch

    from solo.evaluation.policies import open_policy
    from solo.reconstruction.policy_sampler import PolicySampler

    source = open_policy(policy, robot_name)
    if source.sha256 is None or source.kind != "teacher":
        raise SoloError(
            f"--policy {policy!r} is a {source.kind}; allowed are scripted and "
            "teachers, which walk the same whatever the sensors say."
        )

    def make_policy(env: ManagerBasedRlEnv) -> Callable[..., torch.Tensor]:
        acting = source.make(env)

        def act(env: ManagerBasedRlEnv) -> torch.Tensor:
            begun = torch.nonzero(env.episode_length_buf == 0).flatten().tolist()
            acting.begin(begun, ())
            return acting.act(env.obs_buf)[0]

        return act

    label = f"{source.kind} {source.sha256[:12]}"
    return PolicySampler(source.robot, label, make_policy)


@dataclass(frozen=True)
class _Fit:
    data: Path = Path("data/recon")
    """Folder of the data set."""
    updates: int = 15_000
    """Optimisation steps (paper: 15000)."""
    batch: int = 64
    """Windows per update."""
    seed: int = 0
    """Seed of the networks and of the order of the samples."""
    profile: Literal["paper", "laptop"] = "paper"
    """Sizes; laptop has half the resolution of depth and map."""
    device: str | None = None
    """cpu or cuda:0; CUDA if there is one, if left out."""
    json: Path | None = None
    """Also write the result to this file."""

    def _cfg(self, method: str) -> FitCfg:
        check_at_least("updates", self.updates, 1)
        check_at_least("batch", self.batch, 1)
        check_at_least("seed", self.seed, 0)

        import torch

        from solo.reconstruction.checkpoint import FitCfg, make_model

        cfg = FitCfg(
            method=method,
            updates=self.updates,
            batch=self.batch,
            seed=self.seed,
            profile=self.profile,
            device=self.device or ("cuda:0" if torch.cuda.is_available() else "cpu"),
        )
        make_model(cfg)  # A wrong name is told before the work.
        return cfg


@dataclass(frozen=True)
class TrainRecon(_Fit):
    """Train one reconstructor on a recorded data set."""

    method: str = "qr"
    """qr, start or dpl; qr_place is a variant."""
    output: Path | None = None
    """Folder of the training; runs/recon-PROFILE/METHOD if left out."""
    resume: bool = False
    """Go on with the training in --output."""

    def run(self) -> dict[str, Any]:
        """Train and return the curve."""
        cfg = self._cfg(self.method)

        from solo.reconstruction.checkpoint import CHECKPOINT
        from solo.reconstruction.training import fit

        output = self.output or _default_output(self.profile) / self.method
        trained = fit(cfg, self.data, output, self.resume)
        print(f"Wrote {output / CHECKPOINT}")
        return {
            "method": self.method,
            "parameters": trained.num_parameters,
            "updates": trained.update,
            "samples_per_s": trained.samples_per_s,
            "curve": trained.curve,
        }


@dataclass(frozen=True)
class CompareRecon(_Fit):
    """Train reconstructors on the same data and measure them on held-out terrain.

    Trainings that were interrupted, or made by `solo recon train`, go on.
    """

    methods: tuple[str, ...] = ("qr", "start", "dpl")
    """Reconstructors to compare."""
    output: Path | None = None
    """Folder of trainings and figures; runs/recon-PROFILE if left out."""

    def run(self) -> dict[str, Any]:
        """Train, evaluate, draw, print the table and return everything."""
        cfgs = [self._cfg(method) for method in self.methods]
        if not cfgs:
            raise SoloError("--methods is empty. Name at least one, such as qr.")

        from solo.reconstruction.comparison import compare
        from solo.viewer.recon_pictures import write_pictures

        output = self.output or _default_output(self.profile)
        result, examples = compare(cfgs[0], self.methods, self.data, output)
        _print_table(result)
        for path in write_pictures(result, examples, output):
            print(f"Wrote {path}")
        return {**result, "examples": [example.to_dict() for example in examples]}


def _default_output(profile: str) -> Path:
    return Path("runs") / f"recon-{profile}"


def _print_table(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    sampler = result["data"]["train"]["sampler"]
    table = Table("method", "parameters", "L1, cm", "in view", "out of view")
    for title in ("hard L1, cm", "edge F1", "velocity, m/s"):
        table.add_column(title)
    table.title = f"held-out terrain, {sampler} sampler"
    for name, row in {**result["methods"], "flat": result["flat"]}.items():
        table.add_row(
            name,
            f"{row['parameters'] / 1e6:.2f} M",
            _mean_std(row, "l1_cm"),
            f"{row['l1_cm_in_view']:.2f}",
            f"{row['l1_cm_out_of_view']:.2f}",
            *(_mean_std(row, k) for k in ("hard_l1_cm", "edge_f1", "velocity_l1")),
        )
    Console().print(table)


def _mean_std(row: dict[str, Any], key: str) -> str:
    if row[key] is None:
        return "-"
    digits = 2 if key.endswith("cm") else 3
    return f"{row[key]:.{digits}f} ± {row[key + '_std']:.{digits}f}"
