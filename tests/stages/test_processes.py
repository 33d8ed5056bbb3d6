"""Processes that torchrun starts train one policy in one folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from solo.cli.curves import samples_per_iteration
from solo.runs.folder import checkpoints
from solo.stages.processes import Processes, read_processes, take_cores

TRAIN = """
import sys
from pathlib import Path
import torch
from solo.cli.main import main
from solo.stages import runner
folder = Path(sys.argv[1])
learn = runner.Runner.learn
def learn_and_keep(self, *args, **options):
    learn(self, *args, **options)
    kept = {"actor": self.alg.actor.state_dict(), "seed": self.env.cfg.seed}
    torch.save(kept, folder / f"{self.gpu_global_rank}.pt")
runner.Runner.learn = learn_and_keep
output, result = str(folder / "run"), str(folder / "result.json")
raise SystemExit(main([
    "train", "teacher", "--profile", "smoke", "--num-envs", "2", "--output", output,
    "--json", result, "--device", "cpu",
]))
"""


def test_each_process_has_its_gpu_and_shares_the_cpu(monkeypatch):
    assert read_processes() == Processes(0, 0, 1, 1)
    for name, value in (("RANK", 5), ("LOCAL_RANK", 1), ("WORLD_SIZE", 8)):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    processes = read_processes()
    assert processes == Processes(5, 1, 8, 4)
    assert not processes.is_first
    assert processes.device("cuda:0") == "cuda:1"
    assert processes.device("cpu") == "cpu"
    assert Processes().device("cuda:3") == "cuda:3"


SHARES = [
    ((0, 1), ((0,), (1,))),
    ((2, 3, 5, 7, 8), ((2, 5, 8), (3, 7))),
    ((4,), ((4,), ())),
]
"""Cores of a machine, and what each of two processes gets of them."""


@pytest.mark.parametrize(("cores", "shares"), SHARES)
def test_processes_of_a_machine_share_out_its_cores(monkeypatch, cores, shares):
    taken, threads = [], []

    def take(pid: int, mine: list[int]) -> None:
        assert pid == 0  # This process.
        taken.append(mine)

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(cores), raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", take, raising=False)
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    for local_rank, share in enumerate(shares):
        take_cores(Processes(2 + local_rank, local_rank, 4, 2))
        assert taken == ([list(share)] if share else [])
        assert threads == ([len(share)] if share else [])
        taken.clear()
        threads.clear()
    take_cores(Processes())  # Alone, a process keeps all.
    assert taken == threads == []


@pytest.mark.slow
def test_two_processes_make_one_run(tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    # Each process needs little; two of them with all cores each would wait in turns.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    result = subprocess.run(
        [*command, "--nproc-per-node", "2", str(script), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert (first["seed"], second["seed"]) == (0, 1)
    parameters = [k for k in first["actor"] if "normalizer" not in k]
    for key in parameters:
        assert torch.equal(first["actor"][key], second["actor"][key]), key
    run = tmp_path / "run"
    assert [path.name for path in checkpoints(run)] == ["model_0.pt", "model_1.pt"]
    assert len(list(run.glob("events.out.tfevents*"))) == 1
    assert result.stdout.count("Wrote ") == 2  # Checkpoint and JSON, each once.
    summary = json.loads((tmp_path / "result.json").read_text())
    assert summary["env_steps"] == 2 * 24 * 2 * 2  # Both processes' samples.
    assert samples_per_iteration(run) == 24 * 2 * 2
