"""Run folders without a training: fresh networks under the names of a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import yaml
from rsl_rl.utils import resolve_callable
from tensordict import TensorDict

from solo.envs.observations_cfg import GROUPS, Stage
from solo.export.metadata import describe_reconstructor
from solo.files import write_json
from solo.reconstruction.perceiver import STUDENT_GROUPS
from solo.robots.g1 import G1
from solo.stages.train import plain
from solo.tasks.agent_cfg import make_agent_cfg
from solo.tasks.profiles import SMOKE
from tests.export.helpers import ACTOR, make_networks


def write_run(folder: Path, stage: Stage, seed: int = 0) -> Path:
    """Write ``run.json`` and ``model_3.pt`` of an untrained network."""
    (folder / "params").mkdir(parents=True)
    agent = make_agent_cfg(G1, stage, SMOKE)
    (folder / "params" / "agent.yaml").write_text(yaml.safe_dump(plain(asdict(agent))))
    actor: dict[str, Any] = agent.actor
    cls = resolve_callable(actor.pop("class_name"))
    shapes = {name: (84,) for name in ("proprioception", "teacher_proprioception")}
    shapes |= {"base_velocity": (3,), "height_map": (16, 32)}
    groups = list(GROUPS[stage])
    obs = TensorDict({g: torch.zeros(2, *shapes[g]) for g in groups}, batch_size=[2])
    torch.manual_seed(seed)
    model = cls(obs, {"actor": groups}, "actor", len(G1.joint_names), **actor)
    state = {"actor_state_dict": model.state_dict(), "iter": 3, "infos": {}}
    torch.save(state, folder / "model_3.pt")
    run = {"stage": stage, "robot": "g1", "profile": asdict(SMOKE)}
    write_json(folder / "run.json", run)
    return folder


def write_perceptive_run(folder: Path, reconstructor: str = "qr") -> Path:
    """Write a run of stage 3 with the tiny networks of the export tests."""
    student, model = make_networks(reconstructor)
    (folder / "params").mkdir(parents=True)
    actor = {"class_name": "solo.networks.student:StudentModel", **ACTOR}
    agent = {"actor": actor, "obs_groups": {"actor": list(STUDENT_GROUPS)}}
    (folder / "params" / "agent.yaml").write_text(yaml.safe_dump(agent))
    recipe = describe_reconstructor(model)
    state = {
        "actor_state_dict": student.state_dict(),
        "reconstructor": {**recipe, "model": model.state_dict()},
        "iter": 3,
        "infos": {},
    }
    torch.save(state, folder / "model_3.pt")
    run = {
        "stage": "perceptive",
        "robot": "g1",
        "profile": asdict(SMOKE),
        "reconstructor": {"name": reconstructor},
        "seed": 0,
        "versions": {},
        "differences_from_the_paper": {},
    }
    write_json(folder / "run.json", run)
    return folder
