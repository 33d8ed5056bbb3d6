"""How many samples an iteration of a run has: the axis of its curves."""

from __future__ import annotations

import pytest
import yaml

from solo.cli.curves import samples_per_iteration
from solo.errors import SoloError
from solo.files import write_json


@pytest.fixture
def run(tmp_path):
    """A run with other sizes than the paper's, as `--agent.num-steps-per-env` gives."""
    (tmp_path / "params").mkdir()
    write_json(tmp_path / "run.json", {"num_envs": 8})
    agent = tmp_path / "params/agent.yaml"
    agent.write_text(yaml.safe_dump({"num_steps_per_env": 48}))
    return tmp_path


def test_all_sizes_are_the_runs_own(run):
    assert samples_per_iteration(run) == 8 * 48
    write_json(run / "run.json", {"num_envs": 8, "num_processes": 3})
    assert samples_per_iteration(run) == 3 * 8 * 48


@pytest.mark.parametrize("agent", [None, "", "[1, 2", "num_steps_per_env: many"])
def test_a_run_that_does_not_say_is_refused(run, agent):
    if agent is None:
        (run / "params/agent.yaml").unlink()
    else:
        (run / "params/agent.yaml").write_text(agent)
    with pytest.raises(
        SoloError, match=r"Cannot read the size of the run in .*Give the"
    ):
        samples_per_iteration(run)
