"""A run as one object: its stage, configurations and networks.

Everything comes from the run's own files: ``run.json`` (what it was started with),
``params/agent.yaml`` (networks and learning), ``params/env.yaml`` (the environment) and
a checkpoint. A bundle has the networks and what a robot needs, and no environment.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import torch
import yaml
from mjlab.envs import ManagerBasedRlEnvCfg
from rsl_rl.models import MLPModel
from tensordict import TensorDict

from solo.algorithms.ppo_amp import AVERAGED
from solo.checkpoints import read_checkpoint
from solo.deploy.bundle.load import load_bundle
from solo.envs.observations_cfg import BLURRED_VELOCITY, Stage
from solo.errors import SoloError, unknown_name
from solo.export.read import make_student, read_reconstructor, read_student
from solo.files import read_json
from solo.motions.library import MotionLibrary
from solo.networks.ame_model import AmeModel
from solo.networks.student import StudentModel
from solo.reconstruction.networks import make_reconstructor
from solo.reconstruction.networks.interface import Reconstructor
from solo.reconstruction.perceiver import MAP, VELOCITY
from solo.robots import get_robot
from solo.robots.robot_cfg import RobotCfg
from solo.runs.folder import BUNDLE, CONFIG, PARAMS
from solo.runs.saved import agent_from, profile_from, restore
from solo.sensors.depth.cfg import CameraMountCfg, DepthCameraCfg
from solo.tasks.agent_cfg import AgentCfg, with_camera
from solo.tasks.env_cfg import STAGES, make_stage_env_cfg
from solo.tasks.profiles import Profile


@dataclass(frozen=True, eq=False)
class Networks:
    """What was trained, in evaluation mode on the CPU; normalisers are inside."""

    teacher: AmeModel | None = None
    student: StudentModel | None = None
    reconstructor: Reconstructor | None = None

    @property
    def actor(self) -> MLPModel:
        """The network that acts: the student, or the teacher of stage 1."""
        actor = self.student or self.teacher
        assert actor is not None
        return actor


@dataclass(frozen=True, eq=False)
class Run:
    """A trained policy and everything that is known of it; see `solo.runs.open_run`."""

    path: Path
    """The checkpoint or bundle."""
    stage: Stage
    """Stage of training."""
    record: Mapping[str, Any]
    """``run.json``; of a bundle the part ``training`` of its metadata."""

    @classmethod
    def open(cls, path: Path) -> Run:
        """Open a checkpoint or a bundle.

        Raises:
            SoloError: It cannot be read.
        """
        if path.suffix == BUNDLE:
            bundle = load_bundle(path)
            run = cls(path, "perceptive", bundle.metadata["training"])
            vars(run)["metadata"] = bundle.metadata  # Need not be read again.
            return run
        record = _read_record(path)
        if record["stage"] not in STAGES:
            raise unknown_name(
                "stage", record["stage"], STAGES, f"{str(path)!r} cannot be opened."
            )
        get_robot(record["robot"])  # Refuses a name that is unknown here.
        return cls(path, record["stage"], record)

    @property
    def is_bundle(self) -> bool:
        """Whether it is a bundle: networks without a training to go on with."""
        return self.path.suffix == BUNDLE

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.path.parent

    @cached_property
    def sha256(self) -> str:
        """Of the checkpoint or bundle."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """What a bundle says about itself."""
        return load_bundle(self.path).metadata

    @cached_property
    def robot(self) -> RobotCfg:
        """The robot; of the perceptive stage with the camera it was trained with."""
        if self.is_bundle:
            return robot_of_bundle(self.metadata)
        robot = get_robot(self.record["robot"])
        if motions := self.record.get("motions"):
            robot = replace(robot, motions=tuple(Path(path) for path in motions))
        reconstructor = self.networks.reconstructor
        return robot if reconstructor is None else with_camera(robot, reconstructor.io)

    @cached_property
    def state(self) -> dict[str, Any]:
        """Content of the checkpoint, on the CPU."""
        self._refuse_bundle("checkpoint")
        return load_checkpoint(self.path, "cpu")

    @property
    def iteration(self) -> int | None:
        """Iteration of the checkpoint."""
        return self.record["iteration"] if self.is_bundle else int(self.state["iter"])

    @cached_property
    def profile(self) -> Profile:
        """Sizes that the run was started with."""
        self._refuse_bundle("profile")
        return profile_from(self.record["profile"])

    @cached_property
    def agent(self) -> AgentCfg:
        """Networks and learning as they were saved."""
        self._refuse_bundle("configuration of learning")
        file = self.folder / PARAMS / "agent.yaml"
        try:
            saved = yaml.safe_load(file.read_text())
            return agent_from(saved)
        except Exception as error:  # YAML and values of other types fail in many ways.
            reason = " ".join(str(error).split())[:200]
            raise SoloError(
                f"Cannot read {str(file)!r}, which says which networks were trained: "
                f"{reason}. Keep checkpoints in the folder of their run."
            ) from error

    def env_cfg(
        self,
        *,
        motions: MotionLibrary | None = None,
        change_env: Callable[[ManagerBasedRlEnvCfg], None] | None = None,
    ) -> ManagerBasedRlEnvCfg:
        """The environment that it was trained in, with the values that were saved.

        Args:
            motions: Reference motions; the run's if None.
            change_env: The function that the run was started with, if it had one that
                is not loaded under its name.

        Raises:
            SoloError: It has terms that this version cannot build.
        """
        self._refuse_bundle("environment")
        file = self.folder / PARAMS / "env.yaml"
        try:
            saved = yaml.safe_load(file.read_text())
            saved.pop("recorders", None)  # They serve the algorithms of today.
        except (OSError, yaml.YAMLError, AttributeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise SoloError(
                f"Cannot read {str(file)!r}, which describes the environment: {reason}."
            ) from error
        cfg = make_stage_env_cfg(self.robot, self.stage, self.profile, motions)
        if (change := self.record.get("change_env")) is not None:
            (change_env or _find_function(change))(cfg)
        # Parts of it are the robot's, whose config others share.
        return restore(deepcopy(cfg, {id(motions): motions}), saved)

    @cached_property
    def networks(self) -> Networks:
        """Teacher, student and reconstructor, as far as the run has them.

        Raises:
            SoloError: The weights do not fit the networks that were saved.
        """
        if self.is_bundle:
            return self._bundle_networks()
        try:
            state, agent = self.state, self.agent
            acting = self._network(agent.actor, "actor", acting_weights(state))
            if self.stage == "teacher":
                return Networks(teacher=cast(AmeModel, acting))
            teacher = reconstructor = None
            if agent.teacher is not None and "teacher_state_dict" in state:
                weights = state["teacher_state_dict"]
                teacher = self._network(agent.teacher, "teacher", weights)
            if self.stage == "perceptive":
                reconstructor = _saved_reconstructor(state["reconstructor"])
            return Networks(
                cast("AmeModel | None", teacher),
                cast(StudentModel, acting),
                reconstructor,
            )
        except SoloError:
            raise
        except Exception as error:  # Values of other types fail in as many ways.
            reason = " ".join(str(error).split())[:200]
            raise SoloError(
                f"The networks in {str(self.path)!r} do not fit its params/agent.yaml: "
                f"{reason}. Keep checkpoints in the folder of their run."
            ) from error

    def _network(
        self, cfg: Mapping[str, Any], name: str, state: Mapping[str, torch.Tensor]
    ) -> MLPModel:
        """Build a network for the true velocity and load its weights."""
        robot = get_robot(self.record["robot"])
        joints, cells = len(robot.joint_names), robot.height_map.cells
        cells = tuple(cfg.get("height_map_cfg", {}).get("cells", cells))
        shapes: dict[str, tuple[int, ...]] = {
            "teacher_proprioception": (9 + 3 * joints,),
            "proprioception": (9 + 3 * joints,),
            "base_velocity": (3,),
            VELOCITY: (3,),
            "height_map": cells,
            MAP: cells,
        }
        groups = [
            "base_velocity" if group == BLURRED_VELOCITY else group
            for group in self.agent.obs_groups[name]
        ]
        obs = {group: torch.zeros(1, *shapes[group]) for group in groups}
        settings = {k: v for k, v in cfg.items() if k != "class_name"}
        network = _network_class(cfg["class_name"])(
            TensorDict(obs, batch_size=[1]), {name: groups}, name, joints, **settings
        )
        network.load_state_dict(dict(state))
        return network.eval()

    def _bundle_networks(self) -> Networks:
        architecture = self.metadata["architecture"]
        recipe = architecture["reconstructor"]
        try:
            student = make_student(architecture["student"])
            # A bundle lacks what only learning needs.
            student.load_state_dict(student.state_dict() | read_student(self.path))
            reconstructor = make_reconstructor(recipe["name"], **recipe["fields"])
            reconstructor.load_state_dict(read_reconstructor(self.path))
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise SoloError(
                f"The networks of the bundle {str(self.path)!r} are not those of this "
                f"version: {reason} It can be run and evaluated, not trained further."
            ) from error
        return Networks(student=student.eval(), reconstructor=reconstructor.eval())

    def _refuse_bundle(self, what: str) -> None:
        if self.is_bundle:
            raise SoloError(
                f"The bundle {str(self.path)!r} has no {what}; it holds a finished "
                "policy. Give a run's folder or a checkpoint of `solo train`."
            )


def load_checkpoint(path: Path, device: str | None = None) -> dict[str, Any]:
    """Read a checkpoint without executing anything in it.

    Raises:
        SoloError: The file is missing, damaged or not one of ours.
    """
    loaded = read_checkpoint(path, device)
    missing = {"actor_state_dict", "iter", "infos"} - set(loaded)
    if missing:
        raise SoloError(
            f"The checkpoint {str(path)!r} lacks {', '.join(sorted(missing))}; it is "
            "not one of `solo train`. Give the path of a model_*.pt file of a run."
        )
    return loaded


def acting_weights(state: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """What acts outside of training: the averaged weights, if the run averages."""
    return state.get(AVERAGED, state["actor_state_dict"])


def _read_record(checkpoint: Path) -> dict[str, Any]:
    path = checkpoint.parent / CONFIG
    record = read_json(path, "Keep checkpoints in the folder of their run.")
    try:
        profile_from(record["profile"])
        stage, robot = record["stage"], record["robot"]
        if not (isinstance(stage, str) and isinstance(robot, str)):
            raise ValueError("stage or robot is no name")
        if not all(isinstance(path, str) for path in record.get("motions", [])):
            raise ValueError("motions are no paths")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SoloError(
            f"Cannot read {str(path)!r}, which says how the checkpoint beside it was "
            f"trained: {error!r}. Keep checkpoints in the folder of their run."
        ) from error
    return record


def _saved_reconstructor(state: Mapping[str, Any]) -> Reconstructor:
    reconstructor = make_reconstructor(state["name"], **state["fields"])
    reconstructor.load_state_dict(state["model"])
    return reconstructor.eval()


def _network_class(name: str) -> type[MLPModel]:
    """A class by ``module:name``; of ours, or of a module that is loaded already.

    A file from elsewhere must not decide what is imported and run.
    """
    module, _, attribute = name.partition(":")
    if not module.startswith("solo.") and module not in sys.modules:
        raise SoloError(
            f"The network {name!r} is not one of ours. Import its module first."
        )
    cls = getattr(import_module(module), attribute)
    if not (isinstance(cls, type) and issubclass(cls, MLPModel)):
        raise SoloError(f"{name!r} is no network.")
    return cls


def _find_function(name: str) -> Any:
    """The function that changed a run's environment, if it can be found again."""
    module, _, attribute = name.partition(":")
    function = getattr(sys.modules.get(module), attribute, None)
    if function is None:
        raise SoloError(
            f"The environment of the run was changed by {name}, which is not loaded. "
            "Import its module first, or give change_env."
        )
    return function


def robot_of_bundle(metadata: Mapping[str, Any]) -> RobotCfg:
    """The robot with the camera and mount that a bundle was exported for."""
    depth = metadata["depth"]
    camera = DepthCameraCfg(**{f.name: depth[f.name] for f in fields(DepthCameraCfg)})
    mount = depth["mount"]
    mount = CameraMountCfg(
        mount["body"], tuple(mount["pos_m"]), mount["pitch_down_deg"]
    )
    robot = get_robot(metadata["robot"])
    return replace(robot, depth_camera=camera, camera_mount=mount)
