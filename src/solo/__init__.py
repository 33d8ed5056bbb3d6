"""SOLO: perceptive humanoid locomotion from one chest depth camera.

The names in ``__all__`` are the public API. Each is imported when it is first used, so
a robot with numpy and onnxruntime alone can ``import solo`` and load a policy.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from solo.gl import choose_gl

if TYPE_CHECKING:
    from solo.bundles import shipped_bundle
    from solo.deploy.bundle.load import load_bundle
    from solo.envs.locomotion_env_cfg import make_locomotion_env_cfg
    from solo.envs.make import make_env
    from solo.errors import SoloError
    from solo.evaluation.evaluate import evaluate
    from solo.evaluation.policies import open_policy
    from solo.evaluation.protocols import Protocol
    from solo.robots import get_robot
    from solo.runs import open_run
    from solo.stages.train import train_perceptive, train_student, train_teacher
    from solo.stages.train_cfg import PerceptiveCfg, StudentCfg, TeacherCfg
    from solo.tasks.profiles import get_profile

__version__ = "0.1.0"

__all__ = [
    "PerceptiveCfg",
    "Protocol",
    "SoloError",
    "StudentCfg",
    "TeacherCfg",
    "__version__",
    "evaluate",
    "get_profile",
    "get_robot",
    "load_bundle",
    "make_env",
    "make_locomotion_env_cfg",
    "open_policy",
    "open_run",
    "shipped_bundle",
    "train_perceptive",
    "train_student",
    "train_teacher",
]

_HOMES = {
    "PerceptiveCfg": "stages.train_cfg",
    "Protocol": "evaluation.protocols",
    "SoloError": "errors",
    "StudentCfg": "stages.train_cfg",
    "TeacherCfg": "stages.train_cfg",
    "evaluate": "evaluation.evaluate",
    "get_profile": "tasks.profiles",
    "get_robot": "robots",
    "load_bundle": "deploy.bundle.load",
    "make_env": "envs.make",
    "make_locomotion_env_cfg": "envs.locomotion_env_cfg",
    "open_policy": "evaluation.policies",
    "open_run": "runs",
    "shipped_bundle": "bundles",
    "train_perceptive": "stages.train",
    "train_student": "stages.train",
    "train_teacher": "stages.train",
}
"""Public name to the module that defines it."""

# onnxruntime 1.29 and later report what they run to their vendor: at import they make a
# database and an identifier in the home folder, and a thread sends it over the network.
# This is read once, when onnxruntime is imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

choose_gl()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'solo' has no attribute {name!r}")
    value = getattr(import_module(f"solo.{_HOMES[name]}"), name)
    globals()[name] = value  # The next time it is an ordinary attribute.
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
