"""The public names of `solo`: all there, documented, and imported when used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import solo

ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there_and_is_documented():
    page = (ROOT / "docs/reference/api.md").read_text()
    documented = set(re.findall(r"^::: solo\.(\w+)$", page, re.M))
    assert documented == set(solo.__all__) - {"__version__"}
    assert set(solo.__all__) <= set(dir(solo))
    for name in documented:
        assert getattr(solo, name).__name__ == name
        assert getattr(solo, name).__doc__


def test_what_the_examples_use_is_documented():
    """What is on the page is stable, so the examples stay on it."""
    page = (ROOT / "docs/reference/api.md").read_text()
    documented = set(re.findall(r"^::: (\S+)$", page, re.M)) | {"solo.errors.SoloError"}
    examples = "".join(p.read_text() for p in (ROOT / "examples").glob("*.py"))
    used = {
        f"{module}.{name.split(' as ')[0]}"
        for module, names in re.findall(r"^from (solo\S*) import (.+)$", examples, re.M)
        for name in names.split(", ")
    }
    assert "solo.terrains.scene.TerrainSceneCfg" in used
    assert used - documented == set()


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'solo' has no attribute 'load_bundel'"):
        _ = solo.load_bundel


def test_a_policy_is_loaded_without_torch():
    script = (
        "import sys, solo; assert not {'numpy', 'onnxruntime'} & set(sys.modules); "
        "assert solo.load_bundle(solo.shipped_bundle()).contract.needs_depth; "
        "assert not {'torch', 'mjlab', 'mujoco'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
