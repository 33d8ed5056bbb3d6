"""Imports point one way, and any module may be the first to be imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "solo"

LEAVES = {
    "cpu",
    "checkpoints",
    "errors",
    "files",
    "gl",
    "names",
    "progress",
    "result_files",
    "results",
}
WORLD = {"sim", "terrains", "sensors", "robots", "motions", "envs"}
LEARNING = {
    "networks",
    "reconstruction",
    "algorithms",
    "tasks",
    "runs",
    "stages",
}
ALLOWED = {
    "terrains": set(),
    "sim": set(),
    "sensors": {"terrains"},
    "robots": {"sensors"},
    "envs": WORLD | {"mjlab_tasks"},
    "motions": {"robots"},
    "networks": {"sensors"},
    "algorithms": {"networks", "reconstruction"},
    "tasks": WORLD | {"networks", "reconstruction", "algorithms"},
    "runs": WORLD | LEARNING - {"stages"} | {"bundles", "deploy", "export"},
    "stages": WORLD | LEARNING | {"bundles", "export"},
    "reconstruction": WORLD | {"networks"},
    "evaluation": WORLD | LEARNING | {"deploy", "export", "pictures"},
    "bundles": set(),
    "report": {"evaluation", "pictures"},
    "deploy": set(),
    "export": {"networks", "reconstruction", "robots", "sensors", "deploy"},
    "pictures": WORLD | {"reconstruction"},
    "viewer": WORLD
    | {"networks", "reconstruction", "bundles", "deploy", "evaluation"}
    | {"pictures"},
    "bench": WORLD | LEARNING | {"bundles", "deploy", "export"},
    "cli": WORLD
    | LEARNING
    | {
        "ablation_cfg",
        "ablations",
        "mjlab_tasks",
        "evaluation",
        "bundles",
        "deploy",
        "export",
        "pictures",
        "viewer",
        "report",
        "bench",
    },
}
"""Package to the packages of ours it may import besides itself and the leaves."""


def imported_packages(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("solo.")}
    return found


def test_every_package_has_its_rule():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(ALLOWED)


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package):
    for path in (SOURCE / package).rglob("*.py"):
        others = imported_packages(path) - {package, "__version__"} - LEAVES
        assert others <= ALLOWED[package], f"{path.name} imports {others}"


FIRST = ("mjlab", "solo.sim.native", "solo.robots.robot_cfg", "solo.sensors.height_map")
SCRIPT = f"""
import importlib, sys
for module in {FIRST!r}:
    # What they import of others may stay: it knows nothing of tasks.
    for name in [n for n in sys.modules if n.split(".")[0] in ("mjlab", "solo")]:
        del sys.modules[name]
    importlib.import_module(module)
    from mjlab.tasks.registry import list_tasks
    assert "Solo-Teacher-Unitree-G1" in list_tasks(), module
    print(module)
"""


@pytest.mark.slow
def test_tasks_are_registered_whichever_module_comes_first():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "[WARN]" not in done.stderr
    assert tuple(done.stdout.split()) == FIRST
