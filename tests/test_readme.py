"""The commands of the README, as they stand there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from solo.cli.main import main

README = Path(__file__).parents[1] / "README.md"
SMALLER = {
    "train": ["--iterations", "1", "--num-envs", "8"],
    "eval": ["--rollouts", "1", "--num-envs", "1", "--terrains", "gap"],
}
"""What makes a command of the paper's size short: how often, never how large."""


def commands(heading: str) -> list[list[str]]:
    """The words of each command in the first code block below a heading."""
    section = README.read_text().split(f"\n## {heading}\n", 1)[1]
    block = section.split("```sh\n", 1)[1].split("```", 1)[0]
    return [shlex.split(line) for line in block.splitlines()]


@pytest.mark.slow
def test_the_papers_size_runs_from_training_to_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = commands("Train at the paper's size")
    assert [words[1] for words in found] == [
        "train", "train", "train", "export", "eval", "report",
    ]  # fmt: skip
    for words in found:
        assert main([*words[1:], *SMALLER.get(words[1], [])]) == 0, words
    assert "gap" in (tmp_path / "report.html").read_text()
