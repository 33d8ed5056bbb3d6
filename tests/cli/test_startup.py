"""A mistake on the command line is answered before anything heavy is imported.

Counted in modules, not in seconds: mjlab with torch takes ten of them.
"""

from __future__ import annotations

import json
import subprocess
import sys

from solo import names

HEAVY = {
    "cyclonedds", "huggingface_hub", "matplotlib", "mjlab", "mujoco", "numba", "onnx",
    "onnxruntime", "pyrealsense2", "rsl_rl", "scipy", "tensorboard", "torch", "viser",
    "warp",
}  # fmt: skip
MISTAKES = """\
--help
--version
train tecaher
train --help
completion bash
train teacher --help
train teacher --profile nope
train teacher --robot nope
train teacher --start-from nope
train teacher --resume nope
train teacher --terrain-weights nope 3
train teacher --terrain-weights gap -2
train student --teacher nope
train student --teacher shipped --start-from nope
train perceptive --student nope
train perceptive --resume shipped --reconstructor-checkpoint nope
train curves nope
train pack nope --output new
hub push nope me/model
hub push nope.onnx me/model
hub pull nope
eval stress --help
eval stress --policy nope
eval stress --policy stand --terrains nope
eval stress --policy stand --robot nope
eval levels --policy stand --versus nope
eval extent --policy nope
eval footholds --policy nope
eval footholds --policy stand --terrains flat
eval isolated --policy nope
eval course --policy nope
eval route --policy nope
eval robustness --policy nope
eval curriculum nope
recon collect --policy nope
recon train --data nope
recon compare --data nope
export nope
demo --policy nope.onnx
demo --terrain nope
play nope
play stand --terrain nope
motions make --robot nope
motions check nope.npz
motions watch nope.npz
motions show nope.npz
motions show nope
terrains show --output nope/a.png
depth show --output nope/a.png
report nope.json
bench policy nope.onnx
"""
SCRIPT = f"""
import contextlib, io, json, sys
from solo.cli.main import main
found = {{}}
for line in {MISTAKES!r}.splitlines():
    with contextlib.redirect_stdout(io.StringIO()), \\
            contextlib.redirect_stderr(io.StringIO()):
        try:
            main(line.split())
        except SystemExit:
            pass
    heavy = {HEAVY!r} & set(sys.modules)
    found[line] = sorted(heavy)
    if heavy:
        break
print(json.dumps(found))
"""


def test_mistakes_are_told_before_anything_heavy_is_imported(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {line: heavy for line, heavy in found.items() if heavy} == {}
    assert len(found) == len(MISTAKES.splitlines())


def test_names_that_are_checked_early_are_those_that_exist():
    from solo.evaluation.agents import AGENTS
    from solo.robots import get_robot

    assert set(names.AGENTS) == set(AGENTS)
    assert [get_robot(name).name for name in names.ROBOTS] == list(names.ROBOTS)
