"""Policies from names and from run folders."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
import torch
from rsl_rl.modules import RNN

from solo.errors import SoloError
from solo.evaluation.agents import RandomPolicy
from solo.evaluation.policies import NetworkPolicy, open_policy
from solo.evaluation.rollout import LANES
from tests.evaluation.fake import make_start
from tests.evaluation.runs import write_run


class Memory(torch.nn.Module):
    """Stands for a student: its action is what its memory holds."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rnn = RNN(2, 3)
        self.batches: list[int] = []

    def forward(self, obs):
        self.batches.append(len(obs["x"]))
        return self.rnn(obs["x"]).squeeze(0)

    def reset(self, dones=None, hidden_state=None):
        self.rnn.reset(dones, hidden_state)

    def get_hidden_state(self):
        return self.rnn.hidden_state


@pytest.mark.parametrize("stage", ["teacher", "student"])
def test_a_run_folder_tells_what_is_needed(stage, tmp_path):
    folder = write_run(tmp_path / "run", stage)
    source = open_policy(str(folder))
    data = (folder / "model_3.pt").read_bytes()
    assert source.kind == source.stage == stage
    assert source.sha256 == hashlib.sha256(data).hexdigest()
    assert source.describe()["name"] == "run/model_3.pt"
    assert source.slug == f"run-model_3-{hashlib.sha256(data).hexdigest()[:8]}"
    assert open_policy(str(folder / "model_3.pt")).describe() == source.describe()


def test_what_cannot_be_opened_is_told(tmp_path):
    with pytest.raises(SoloError, match=r"'walk'\..*zero, random, stand"):
        open_policy("walk")
    with pytest.raises(SoloError, match="holds no checkpoint"):
        open_policy(str(tmp_path))
    folder = write_run(tmp_path / "run", "teacher")
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**run, "stage": "cooking"}))
    with pytest.raises(SoloError, match="Unknown stage 'cooking'"):
        open_policy(str(folder))
    (folder / "run.json").unlink()
    with pytest.raises(SoloError, match=r"run\.json"):
        open_policy(str(folder))


def test_networks_see_blocks_of_one_size_and_forget_single_slots():
    num = 2 * LANES
    model = Memory()
    policy = NetworkPolicy(model, ["x"], num)  # type: ignore[arg-type] - A stand-in.
    obs = {"x": torch.randn(num, 2, generator=torch.Generator().manual_seed(1))}
    with torch.inference_mode():
        first, _ = policy.act(obs)
        second, _ = policy.act(obs)
        policy.begin([LANES + 5], [make_start(0)])
        third, _ = policy.act(obs)
        kept = policy.act(obs)[0]
    assert set(model.batches) == {LANES}
    assert not torch.equal(first, second)
    assert torch.equal(third[LANES + 5], first[LANES + 5])
    assert torch.equal(kept[LANES + 5], second[LANES + 5])
    others = torch.arange(num) != LANES + 5
    assert not torch.isclose(third[others], first[others]).all(dim=1).any()


def test_random_actions_belong_to_the_rollout_not_to_the_slot():
    start = make_start(4)
    a, b = RandomPolicy(4, 3), RandomPolicy(8, 3)
    a.begin([1], [start])
    b.begin([6], [start])
    for _ in range(3):
        np.testing.assert_array_equal(a.act(None)[0][1], b.act(None)[0][6])
