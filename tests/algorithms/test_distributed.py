"""Two processes with different data end up with the same parameters."""

from __future__ import annotations

from multiprocessing import set_forkserver_preload
from pathlib import Path

import pytest
import torch
import torch.distributed
from torch.multiprocessing.spawn import start_processes

from solo.algorithms.ta_mse import TaMse
from tests.algorithms.tiny import (
    ACTION_SCALE,
    TinyEnv,
    TinyMotions,
    make_cfg,
    run_iteration,
)


def learn(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2
    )
    torch.manual_seed(rank)
    env = TinyEnv(seed=rank)
    amp_cfg = {"hidden_dims": [8], "replay_capacity": 40}
    cfg = make_cfg(
        "solo.algorithms.ta_mse:TaMse",
        recurrent=True,
        amp_cfg=amp_cfg,
        motions=TinyMotions(),
        action_scale=ACTION_SCALE,
    )
    cfg["multi_gpu"] = {"global_rank": rank, "local_rank": rank, "world_size": 2}
    algorithm = TaMse.construct_algorithm(env.get_observations(), env, cfg, "cpu")
    assert isinstance(algorithm, TaMse)
    assert algorithm.amp is not None
    algorithm.load_teacher(algorithm.teacher.state_dict())
    algorithm.train_mode()
    algorithm.broadcast_parameters()
    for _ in range(3):
        run_iteration(algorithm, env)
    result = {k: v.detach() for k, v in algorithm.actor.named_parameters()}
    result |= algorithm.amp.discriminator.state_dict()  # Its normaliser as well.
    result["own data"] = algorithm.amp.replay.rows
    torch.save(result, f"{folder}/{rank}.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes_keep_equal_parameters(tmp_path: Path):
    # Imports take longer than all else; both begin after them.
    set_forkserver_preload([__name__])
    start_processes(learn, (str(tmp_path),), nprocs=2, start_method="forkserver")
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert not torch.equal(first.pop("own data"), second.pop("own data"))
    assert first.keys() == second.keys()
    for key, value in first.items():
        assert torch.equal(value, second[key]), key
