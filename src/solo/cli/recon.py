"""``solo recon``: record data, train reconstructors, compare them."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Suppress

from solo.bundles import SHIPPED_TEACHER
from solo.cli import Verb, print_table
from solo.cli.checks import check_exists, pick_device, say_loading
from solo.errors import SoloError
from solo.reconstruction.cfg import CollectCfg, FitCfg, ReconProfile
from solo.reconstruction.data.shards import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mjlab.envs import ManagerBasedRlEnv

    from solo.reconstruction.data.recorder import PolicySampler


@dataclass(frozen=True)
class SamplerOptions(Verb):
    """Who is recorded."""

    policy: str = SHIPPED_TEACHER
    """The teacher that moves the robots, as in the paper: a run folder or checkpoint,
    or shipped-teacher."""
    clean: bool = False
    """Ideal camera: no mounting error, no image noise, no latency. Keep such data, and
    runs on them, in folders of their own."""


@dataclass(frozen=True)
class ReconCollect(CollectCfg, SamplerOptions):
    """Record depth images and true terrain to train and compare reconstructors.

    Each split has its own folder: train; eval, 850 terrain instances in five held-out
    sets; extent, descending stairs of 8 m and 10 m. An interrupted recording resumes
    with the same command.
    """

    output: Path = Path("data/recon")
    """Folder for the data set."""
    profile: ReconProfile = "paper"
    """Image size: 113 x 64 for paper, 57 x 32 for reduced and laptop."""

    def run(self) -> dict[str, Any]:
        check_exists(
            "policy",
            Path(self.policy),
            "Allowed: shipped-teacher, or the run folder or a checkpoint of a teacher.",
        )

        say_loading()
        from solo.reconstruction.data.recorder import collect

        started = time.monotonic()
        sampler = make_sampler(self.policy, self.profile, self.clean)
        manifest = collect(self, sampler, self.output)
        folder = self.output / self.split
        size = sum((folder / s.file).stat().st_size for s in manifest.shards.values())
        print(
            f"Wrote {folder}: {manifest.frames} frames by the {manifest.sampler} "
            f"sampler, {size / 1e6:.0f} MB, in {time.monotonic() - started:.0f} s"
        )
        return manifest.to_dict()


def make_sampler(
    policy: str, profile: ReconProfile = "paper", clean: bool = False
) -> PolicySampler:
    """The sampler for ``--policy``, with the profile's image size.

    Raises:
        SoloError: It is no teacher.
    """
    import torch

    from solo.evaluation.policies import open_policy
    from solo.reconstruction.data.recorder import PolicySampler
    from solo.reconstruction.networks.interface import IO_PROFILES

    source = open_policy(policy)
    if source.sha256 is None or source.kind != "teacher":
        raise SoloError(
            f"--policy {policy!r} is a {source.kind}; allowed are teachers, which "
            "walk the same whatever the sensors say."
        )

    def make_policy(env: ManagerBasedRlEnv) -> Callable[..., torch.Tensor]:
        acting = source.make(env)

        def act(env: ManagerBasedRlEnv) -> torch.Tensor:
            begun = torch.nonzero(env.episode_length_buf == 0).flatten().tolist()
            acting.begin(begun, ())
            return acting.act(env.obs_buf)[0]

        return act

    label = f"{source.kind} {source.sha256[:12]}"
    shape = IO_PROFILES[profile].depth_shape
    sensor = source.robot.depth_sensor(clean, shape)
    return PolicySampler(source.robot, label, make_policy, sensor)


@dataclass(frozen=True)
class ReconTrain(FitCfg, Verb):
    """Train one reconstructor on a recorded data set."""

    data: Path = Path("data/recon")
    """Folder of the data set."""
    output: Path | None = None
    """Folder of the run; runs/recon-PROFILE/METHOD if omitted."""
    resume: bool = False
    """Resume the run in --output."""
    device: str = "auto"
    """auto, cpu or cuda:0; auto is CUDA if available."""

    def run(self) -> dict[str, Any]:
        Manifest.read(self.data / "train")
        cfg = _plain(self, self.method)

        from solo.reconstruction.offline import CHECKPOINT, fit

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


def _plain(options: FitCfg, method: str) -> FitCfg:
    """The training of one method, without what only the verb has.

    Raises:
        SoloError: There is no such method or device.
    """
    say_loading()
    from solo.reconstruction.offline import make_model

    shared = {f.name: getattr(options, f.name) for f in fields(FitCfg)}
    device = pick_device(options.device)
    cfg = FitCfg(**{**shared, "method": method, "device": device})
    make_model(cfg)  # A wrong name is told before the work.
    return cfg


@dataclass(frozen=True)
class ReconCompare(FitCfg, Verb):
    """Train reconstructors on the same data and measure them on held-out terrain.

    Interrupted runs, and runs of `solo recon train`, are resumed.
    """

    method: Suppress[str] = "qr"
    """Not an option; see methods."""
    methods: tuple[str, ...] = ("qr", "start", "dpl")
    """Reconstructors to compare."""
    data: Path = Path("data/recon")
    """Folder of the data set."""
    output: Path | None = None
    """Folder for runs and figures; runs/recon-PROFILE if omitted."""
    device: str = "auto"
    """auto, cpu or cuda:0; auto is CUDA if available."""

    def run(self) -> dict[str, Any]:
        Manifest.read(self.data / "train")
        cfgs = [_plain(self, method) for method in self.methods]
        if not cfgs:
            raise SoloError("--methods is empty. Name at least one, such as qr.")

        from solo.pictures.recon import write_pictures
        from solo.reconstruction.comparison import compare

        output = self.output or _default_output(self.profile)
        result, examples = compare(cfgs[0], self.methods, self.data, output)
        _print_table(result)
        for path in write_pictures(result, examples, output):
            print(f"Wrote {path}")
        listed = [example.to_dict() for example in examples]
        return {"kind": "reconstruction", **result, "examples": listed}


@dataclass(frozen=True)
class ReconRun(ReconCompare, SamplerOptions):
    """Record data, train reconstructors and compare them: the paper's whole table.

    Finished parts are kept, so an interrupted run resumes with the same command.
    """

    frames: int = 249_000
    """Frames to train on (paper: about 249 000)."""
    terrain_seeds: tuple[int, ...] = (0, 1, 2, 3)
    """Terrain seeds to train on (paper: four)."""

    def run(self) -> dict[str, Any]:
        for method in self.methods:
            _plain(self, method)  # Reports a wrong option before the work starts.
        for split in ("train", "eval", "extent"):
            ReconCollect(
                policy=self.policy,
                output=self.data,
                split=split,
                frames=self.frames,
                terrain_seeds=self.terrain_seeds,
                profile=self.profile,
                clean=self.clean,
            ).run()
        return super().run()


def _default_output(profile: str) -> Path:
    return Path("runs") / f"recon-{profile}"


def _print_table(result: dict[str, Any]) -> None:
    from rich.table import Table

    numbers = {
        "l1_cm": "L1, cm",
        "hard_l1_cm": "hard L1, cm",
        "matched_edge_f1": "edges matched, F1",
        "matched_edge_precision": "precision",
        "matched_edge_recall": "recall",
        "edge_f1": "edge F1, the paper's reading",
        "velocity_l1": "velocity, m/s",
    }
    table = Table("method", "parameters", *numbers.values(), "in view", "out of view")
    sampler = result["data"]["train"]["sampler"]
    cells = f"cells of {result['cell_cm']:g} cm"
    table.title = f"held-out terrain, {sampler} sampler, {cells}"
    baselines = {name: result[name] for name in ("flat", "noise")}
    for name, row in {**result["methods"], **baselines}.items():
        table.add_row(
            name,
            f"{row['parameters'] / 1e6:.2f} M",
            *(_mean_std(row, key) for key in numbers),
            f"{row['l1_cm_in_view']:.2f}",
            f"{row['l1_cm_out_of_view']:.2f}",
        )
    print_table(table)


def _mean_std(row: dict[str, Any], key: str) -> str:
    if row[key] is None:
        return "-"
    digits = 2 if key.endswith("cm") else 3
    return f"{row[key]:.{digits}f} ± {row[key + '_std']:.{digits}f}"
