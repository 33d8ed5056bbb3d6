"""Write requirements-robot.txt: what a robot installs, by version and checksum.

Asks pip, for each Python and processor, which files it would install with the versions
of constraints.txt. `make lock` runs it after a version has changed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
TARGETS = (
    *((python, "x86_64") for python in ("3.10", "3.11", "3.12", "3.13")),
    *((python, "aarch64") for python in ("3.10", "3.12")),  # Ubuntu 22.04 and 24.04.
)
"""Pythons and processors."""
DIRECT = ("numpy", "onnxruntime", "tyro", "pyrealsense2", "cyclonedds")
"""The package's dependencies and those of [deploy], [realsense] and [g1]."""
WITHOUT = {"aarch64": ("cyclonedds",), "x86_64": ()}
"""Packages that have no wheel for a processor."""
TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014",
        "manylinux1")  # fmt: skip

HEADER = """\
# What a robot's computer installs, by version and checksum; written by `make lock`.
#   pip install --require-hashes -r requirements-robot.txt
#   pip install --no-deps solo-locomotion
# Cyclone DDS has no wheel for aarch64: build the version below from its source there.
"""


def resolve(python: str, machine: str, folder: str) -> dict[tuple[str, str], str]:
    """Name and version of each package to the checksum of its file."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    for_python = {"python_version": python, "python_full_version": f"{python}.0"}
    pins = [p for p in pins if p.marker is None or p.marker.evaluate(for_python)]
    constraints, report = Path(folder) / "pins.txt", Path(folder) / "report.json"
    constraints.write_text("".join(f"{p.name}{p.specifier}\n" for p in pins))
    wanted = [name for name in DIRECT if name not in WITHOUT[machine]]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run",
         "--ignore-installed", "--only-binary", ":all:", "--target", folder,
         "--implementation", "cp", "--python-version", python,
         *(f"--platform={tag}_{machine}" for tag in TAGS),
         "--constraint", str(constraints), "--report", str(report), *wanted],
        check=True,
    )  # fmt: skip
    found = json.loads(report.read_text())["install"]
    return {
        (item["metadata"]["name"], item["metadata"]["version"]): item["download_info"][
            "archive_info"
        ]["hashes"]["sha256"]
        for item in found
    }


def describe(targets: set[tuple[str, str]]) -> str:
    """The marker that holds on these targets and on no others; empty for all."""
    if targets == set(TARGETS):
        return ""
    pythons = sorted({python for python, _ in targets})
    if targets == {target for target in TARGETS if target[0] in pythons}:
        return " or ".join(f'python_version == "{python}"' for python in pythons)
    machines = sorted({machine for _, machine in targets})
    if targets == {target for target in TARGETS if target[1] in machines}:
        return " or ".join(f'platform_machine == "{name}"' for name in machines)
    return " or ".join(
        f'(python_version == "{python}" and platform_machine == "{machine}")'
        for python, machine in sorted(targets)
    )


def main() -> None:
    """Resolve everything and write the file."""
    hashes: dict[tuple[str, str], set[str]] = defaultdict(set)
    targets: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for python, machine in TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            for package, checksum in resolve(python, machine, folder).items():
                hashes[package].add(checksum)
                targets[package].add((python, machine))
    text = HEADER
    for package in sorted(hashes, key=lambda package: package[0].lower()):
        name, version = package
        marker = describe(targets[package])
        text += f"{name}=={version}" + (f"; {marker}" if marker else "")
        text += "".join(f" \\\n    --hash=sha256:{h}" for h in sorted(hashes[package]))
        text += "\n"
    (ROOT / "requirements-robot.txt").write_text(text)


if __name__ == "__main__":
    main()
