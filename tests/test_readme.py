"""The commands of README and docs, as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from solo.cli.main import main, parse, split_verb

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
SMALLER = {
    "train": ["--iterations", "1", "--num-envs", "8"],
    "eval": ["--rollouts", "1", "--num-envs", "1", "--terrains", "gap"],
    "deploy": ["--seconds", "1"],
}
"""What makes a command of the paper's size short: how often, never how large."""


def commands(text: str) -> list[list[str]]:
    """The words of each `solo` command in the shell blocks of a page."""
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S))
    lines = blocks.replace("\\\n", " ").splitlines()
    words = (shlex.split(line.replace(" & ", " "), comments=True) for line in lines)
    return [w for w in words if w[:1] == ["solo"] and "$" not in " ".join(w)]


def inline_commands(text: str) -> list[list[str]]:
    """The complete commands in running text: with an option, without choices."""
    found = re.findall(r"`(solo [^`]* --[^`]*)`", text)
    return [shlex.split(line) for line in found if not re.search(r"\||\.\.\.", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_parses(page):
    text = page.read_text()
    for words in commands(text) + inline_commands(text):
        verb, options = split_verb(words[1:])
        if "--help" not in options:
            parse(verb, options)


def test_commands_that_no_longer_parse_are_found():
    (words,) = inline_commands(
        "Run `solo terrains show --hardness 3` and `solo tasks`."
    )
    with pytest.raises(SystemExit):
        parse(*split_verb(words[1:]))


@pytest.mark.slow
def test_the_python_of_the_quickstart_runs():
    text = (ROOT / "docs/quickstart.md").read_text()
    (script,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    names: dict[str, Any] = {}
    exec(script.replace("num_envs=256", "num_envs=2"), names)
    assert names["env"].num_envs == 2
    names["env"].close()


@pytest.mark.slow
def test_the_quickstart_fine_tunes_the_shipped_policy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = commands((ROOT / "docs/quickstart.md").read_text())
    first = [words[1:3] for words in found].index(["train", "student"])
    found = [words for words in found[first:] if words[1] != "play"]
    assert [words[1] for words in found] == [
        "train", "train", "train", "eval", "export", "deploy",
    ]  # fmt: skip
    for words in found:
        smaller = [] if words[2] == "curves" else SMALLER.get(words[1], [])
        assert main([*words[1:], *smaller]) == 0, words
    assert (tmp_path / "curves.png").is_file()


@pytest.mark.slow
def test_the_papers_size_runs_from_training_to_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = commands((ROOT / "docs/scaling.md").read_text())
    assert [words[1] for words in found] == [
        "train", "train", "train", "export", "eval", "report",
    ]  # fmt: skip
    for words in found:
        assert main([*words[1:], *SMALLER.get(words[1], [])]) == 0, words
    assert "gap" in (tmp_path / "report.html").read_text()
