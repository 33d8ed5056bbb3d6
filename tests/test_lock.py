"""The robot's lock file: exactly the versions we test, each with a checksum."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCK = (ROOT / "requirements-robot.txt").read_text()


def pinned(text: str, python: str) -> dict[str, str]:
    environment = {"python_version": python, "platform_machine": "x86_64"}
    lines = [line.split("#")[0] for line in text.replace("\\\n", " ").splitlines()]
    found = [Requirement(re.sub(r"--hash=\S+", "", x)) for x in lines if x.strip()]
    return {
        canonicalize_name(r.name): str(r.specifier)
        for r in found
        if r.marker is None or r.marker.evaluate(environment)
    }


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_the_lock_has_the_versions_of_the_constraints(python):
    locked = pinned(LOCK, python)
    tested = pinned((ROOT / "constraints.txt").read_text(), python)
    assert {"numpy", "onnxruntime", "tyro", "cyclonedds", "pyrealsense2"} <= set(locked)
    different = {k: v for k, v in locked.items() if v != tested[k]}
    assert not different, "run `make lock`"


def test_every_version_has_a_checksum_and_no_place_is_named():
    for entry in LOCK.replace("\\\n", " ").splitlines():
        if not entry.startswith("#"):
            assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry)
    assert not re.search(r"://|index-url|find-links", LOCK)
