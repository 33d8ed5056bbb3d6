"""Nobody is told what we run: system calls are traced while a policy is loaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import onnxruntime
import pytest

from solo.bundles import shipped_bundle

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None, reason="needs strace: apt-get install strace"
)

LOAD = f"import onnxruntime; onnxruntime.InferenceSession({str(shipped_bundle())!r})"
SUPPRESSORS = ("ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "CI")
"""With one of these onnxruntime is silent anyway, and the test would show nothing."""


def trace(tmp_path, script: str) -> tuple[list[str], str]:
    """Files that a script leaves in an empty home folder, and its system calls."""
    home, calls = tmp_path / "home", tmp_path / "calls"
    home.mkdir()
    environment = {k: v for k, v in os.environ.items() if k not in SUPPRESSORS}
    environment |= {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("XDG_CACHE_HOME", None)
    subprocess.run(
        ["strace", "-f", "-e", "trace=open,openat,creat,mkdir,socket,connect,sendto",
         "-o", str(calls), sys.executable, "-c", script],
        env=environment, check=True, capture_output=True,
    )  # fmt: skip
    return [path.name for path in home.rglob("*")], calls.read_text(errors="replace")


def test_a_policy_is_loaded_in_silence(tmp_path):
    script = (
        "from solo.bundles import shipped_bundle\n"
        "from solo.deploy.bundle.load import load_bundle\n"
        "load_bundle(shipped_bundle())"
    )
    files, calls = trace(tmp_path, script)
    assert files == []
    assert ".onnx" in calls, "the trace does not show the policy being read"
    assert "socket(" not in calls
    assert "connect(" not in calls
    assert not re.search(r"resolv\.conf|/etc/hosts|nsswitch", calls)
    written = re.findall(r'"([^"]+)", O_(?:WRONLY|RDWR)[^)]*O_CREAT', calls)
    assert written == []


def test_without_us_onnxruntime_is_not_silent(tmp_path):
    """Else the test above would prove nothing."""
    version = tuple(int(n) for n in onnxruntime.__version__.split(".")[:2])
    if version < (1, 29):
        pytest.skip(f"onnxruntime {onnxruntime.__version__} has no telemetry")
    files, calls = trace(tmp_path, LOAD)
    assert "onnxruntime.db" in files
    assert "deviceid" in files
    assert "O_CREAT" in calls
