"""Every kind of file we read: a whole one, ways to damage it, and who reads it.

A target is a function of a random generator and an empty folder. It writes a damaged
file there and reads it; whatever it raises besides `SoloError` is a finding.
"""

from __future__ import annotations

import functools
import json
import pickle
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from solo.bundles import shipped_teacher
from solo.checkpoints import read_checkpoint, write_checkpoint
from solo.cli.curves import samples_per_iteration
from solo.deploy.bundle.load import load_bundle
from solo.deploy.replay import Recording, ReplayCamera, replay
from solo.errors import SoloError
from solo.evaluation.policies import open_policy
from solo.files import write_json
from solo.motions.catalogue import make_clip
from solo.motions.files import load_clip, save_clip
from solo.reconstruction.cfg import FitCfg
from solo.reconstruction.data.shards import MANIFEST, Manifest, checksum
from solo.reconstruction.data.windows import WindowSet
from solo.reconstruction.offline import load
from solo.report.page import write_report
from solo.report.read import read_results
from solo.robots.g1 import G1
from solo.runs import open_run
from solo.runs.folder import own_run
from solo.runs.run import load_checkpoint
from solo.stages.curves import Curve, read_curves, write_log
from solo.stages.pack import pack_run
from solo.stages.start import load_pretrained
from tests.deploy.helpers import FakePolicy, Rig, tiny_contract
from tests.evaluation.runs import write_perceptive_run
from tests.export.helpers import bundle_path, edited
from tests.fuzz.mutations import damage_arrays, damage_bytes, damage_tree
from tests.motions.test_files import csv_table, gmr
from tests.reconstruction.tiny import record, tiny_model
from tests.report import synthetic
from tests.report.small import small_stress

Target = Callable[[random.Random, Path], None]


@functools.cache
def samples() -> Path:
    """Whole files, made once."""
    folder = Path(tempfile.mkdtemp(prefix="solo-fuzz-"))
    write_perceptive_run(folder / "perceptive")
    record(folder / "recon", "train")
    clip = make_clip(G1, "walk_forward_0.50")
    save_clip(clip, folder / "ours.npz")
    np.savetxt(folder / "lafan1.csv", csv_table(clip), delimiter=",")
    (folder / "gmr.pkl").write_bytes(pickle.dumps(gmr(clip)))
    rig = Rig(log=folder / "log")
    rig.walk()
    rig.tick(10)
    rig.close()
    steps = np.arange(30)
    curves = {"Train/mean_reward": Curve(steps, steps * 0.1)}
    write_log(folder / "events", curves, every=1)
    return folder


def _damage_file(rng: random.Random, path: Path) -> Path:
    path.write_bytes(damage_bytes(rng, path.read_bytes()))
    return path


def _damage_json(rng: random.Random, path: Path) -> None:
    if rng.random() < 0.2:
        _damage_file(rng, path)
    else:
        path.write_text(json.dumps(damage_tree(rng, json.loads(path.read_text()))))


def _damage_npz(rng: random.Random, path: Path) -> None:
    if rng.random() < 0.3:
        _damage_file(rng, path)
        return
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **damage_arrays(rng, arrays))  # type: ignore[arg-type]


def _damage_checkpoint(rng: random.Random, path: Path) -> None:
    if rng.random() < 0.3:
        _damage_file(rng, path)
    else:
        write_checkpoint(path, damage_tree(rng, read_checkpoint(path)))


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def bundle(rng: random.Random, folder: Path) -> None:
    path = folder / "policy.onnx"
    if rng.random() < 0.3:
        path.write_bytes(damage_bytes(rng, bundle_path().read_bytes()))
    else:

        def change(meta: dict[str, Any], golden: dict[str, Any]) -> None:
            which = meta if rng.random() < 0.8 else golden
            changed = damage_tree(rng, which)
            while not _is_json(changed):
                changed = damage_tree(rng, which)
            which.clear()
            which.update(changed if isinstance(changed, dict) else {})
            meta.setdefault("golden", {})
            if not isinstance(meta["golden"], dict):
                meta["golden"] = {}

        edited(path, change)
    load_bundle(path)


def checkpoint(rng: random.Random, folder: Path) -> None:
    original = next(shipped_teacher().glob("model_*.pt"))
    path = folder / original.name
    shutil.copy(original, path)
    _damage_checkpoint(rng, path)
    load_checkpoint(path, "cpu")
    shutil.copytree(original.parent / "params", folder / "params")
    shutil.copy(original.parent / "run.json", folder)
    pack_run(folder, folder / "packed")


def perceptive_run(rng: random.Random, folder: Path) -> None:
    shutil.copytree(samples() / "perceptive", folder, dirs_exist_ok=True)
    kind = rng.randrange(3)
    if kind == 0:
        _damage_checkpoint(rng, folder / "model_3.pt")
    elif kind == 1:
        _damage_json(rng, folder / "run.json")
    else:
        path = folder / "params" / "agent.yaml"
        tree = damage_tree(rng, yaml.safe_load(path.read_text()))
        path.write_text(yaml.safe_dump(tree))
        if rng.random() < 0.2:
            _damage_file(rng, path)
    policy = rng.choice(("export", "evaluation", "start"))
    if policy == "export":
        open_run(folder / "model_3.pt").networks  # noqa: B018 - Reads them.
    elif policy == "evaluation":
        open_policy(str(folder))
    else:
        model = open_run(samples() / "perceptive").networks.reconstructor
        assert model is not None
        load_pretrained(model, "qr", folder)


def run_json(rng: random.Random, folder: Path) -> None:
    path = folder / "run.json"
    shutil.copy(shipped_teacher() / "run.json", path)
    shutil.copytree(shipped_teacher() / "params", folder / "params")
    (folder / "model_0.pt").touch()
    _damage_json(rng, path)
    content = path.read_bytes()
    with own_run(folder, {"stage": "teacher", "threads": 1}, resume=True):
        pass
    path.write_bytes(content)
    samples_per_iteration(folder)


def reconstructor(rng: random.Random, folder: Path) -> None:
    path = folder / "checkpoint.pt"
    model = tiny_model(FitCfg("qr"))
    optimizer = torch.optim.AdamW(model.parameters())
    values = {
        "cfg": vars(FitCfg("qr")), "model": model.state_dict(),
        "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state(),
        "progress": {"data": [], "update": 3, "seconds": 1.0, "curve": [],
                     "pending": []},
    }  # fmt: skip
    write_checkpoint(path, values)
    _damage_checkpoint(rng, path)
    load(folder, factory=tiny_model)


def motions(rng: random.Random, folder: Path) -> None:
    name = rng.choice(("ours.npz", "lafan1.csv", "gmr.pkl"))
    path = Path(shutil.copy(samples() / name, folder))
    if name == "ours.npz":
        _damage_npz(rng, path)
    elif name == "gmr.pkl" and rng.random() < 0.7:
        content = pickle.loads(path.read_bytes())
        content |= {k: content[k][:3].tolist() for k in ("root_pos", "root_rot")}
        content["dof_pos"] = content["dof_pos"][:3].tolist()
        path.write_bytes(pickle.dumps(damage_tree(rng, content)))
    else:
        _damage_file(rng, path)
    load_clip(path, G1)


def shards(rng: random.Random, folder: Path) -> None:
    shutil.copytree(samples() / "recon" / "train", folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "unpacked", ignore_errors=True)
    shard = folder / "shard_00000.npz"
    if rng.random() < 0.5:
        _damage_json(rng, folder / MANIFEST)
    else:
        _damage_npz(rng, shard)
        manifest = Manifest.read(folder).to_dict()
        manifest["shards"]["0"]["sha256"] = checksum(shard)  # As if it were whole.
        write_json(folder / MANIFEST, manifest)
    recording = WindowSet(folder)
    recording.windows(np.zeros(2, int), np.arange(2))


@functools.cache
def results() -> list[dict[str, Any]]:
    """One result of each kind."""
    stress = small_stress()
    return [
        stress, synthetic.levels(seeds=2), synthetic.extent("mine", 1.0, 1.5),
        synthetic.curriculum(), synthetic.recon(), synthetic.robustness(stress),
        synthetic.route(stress), synthetic.BENCH_POLICY, synthetic.BENCH_SIM,
        synthetic.BENCH_DEPTH, synthetic.BENCH_TRAIN, synthetic.BENCH_RECON,
    ]  # fmt: skip


def report(rng: random.Random, folder: Path) -> None:
    paths = []
    for index in range(rng.choice((1, 1, 2))):
        path = folder / f"result{index}.json"
        path.write_text(json.dumps(rng.choice(results())))
        _damage_json(rng, path)
        paths.append(path)
    files, unfinished = read_results(paths)
    write_report(files, folder / "page.html", "Fuzz", 3, unfinished)


def deploy_log(rng: random.Random, folder: Path) -> None:
    shutil.copytree(samples() / "log", folder, dirs_exist_ok=True)
    if rng.random() < 0.3:
        _damage_json(rng, folder / "run.json")
    else:
        _damage_npz(rng, folder / "00000.npz")
    recording = Recording(folder, tiny_contract())
    replay(recording, FakePolicy())
    ReplayCamera(folder, tiny_contract())


def events(rng: random.Random, folder: Path) -> None:
    shutil.copytree(samples() / "events", folder, dirs_exist_ok=True)
    _damage_file(rng, next(folder.iterdir()))
    read_curves(folder)


TARGETS: dict[str, tuple[Target, int]] = {
    "bundle": (bundle, 2),
    "checkpoint": (checkpoint, 1),
    "perceptive run": (perceptive_run, 2),
    "run.json": (run_json, 4),
    "reconstructor": (reconstructor, 4),
    "motions": (motions, 4),
    "shards": (shards, 2),
    "report": (report, 4),
    "deploy log": (deploy_log, 4),
    "events": (events, 2),
}
"""Name to the target and how often it comes relative to the others."""


def try_once(target: Target, rng: random.Random, folder: Path) -> bool:
    """Whether the damage was found; the file may also be as good as whole."""
    try:
        target(rng, folder)
    except SoloError:
        return True
    return False
