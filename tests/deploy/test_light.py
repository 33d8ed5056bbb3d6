"""On a robot there is numpy and onnxruntime, and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import solo.deploy

FOLDER = Path(solo.deploy.__file__).parent
NEED_MORE = {
    "solo.deploy.drivers.g1_idl",
    "solo.deploy.drivers.g1_motion",
    "solo.deploy.drivers.sim_dds",
    "solo.deploy.drivers.sim_robot",
}
"""Modules that are loaded only where Cyclone DDS or MuJoCo is."""


def test_deploy_imports_without_heavy_packages():
    names = {
        ".".join(("solo", "deploy", *path.relative_to(FOLDER).with_suffix("").parts))
        for path in FOLDER.rglob("*.py")
        if path.name != "__init__.py"
    }
    assert names >= NEED_MORE
    blocked = ("torch", "mjlab", "mujoco", "numba", "warp", "cyclonedds",
               "pyrealsense2", "tyro", "rich")  # fmt: skip
    script = "import sys\n"
    script += "".join(f"sys.modules[{name!r}] = None\n" for name in blocked)
    script += "".join(f"import {name}\n" for name in sorted(names - NEED_MORE))
    result = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert result.returncode == 0, result.stderr.decode()
