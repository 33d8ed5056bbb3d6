"""What the shell offers, asked of a real bash."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from solo.cli import completion
from solo.cli.main import VERBS


def complete(line: str) -> set[str]:
    """The words that bash offers at the end of a line."""
    words = line.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    script = (
        f"{completion.bash()}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}\n"
    )
    script += '_solo; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes_verbs_and_options():
    assert complete("solo ") == {verb.split()[0] for verb in VERBS}
    assert complete("solo tr") == {"train"}
    assert complete("solo train t") == {"teacher"}
    assert {"--output", "--resume", "--num-envs"} <= complete("solo train teacher --")
    assert complete("solo train teacher --seed 3 --act") == {"--action-noise"}
    assert complete("solo export runs/") == set()  # Left to bash, which knows files.


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here: apt-get install {shell}")
    path = tmp_path / "script"
    path.write_text(getattr(completion, shell)())
    subprocess.run([shell, "-n", str(path)], check=True)


def test_all_verbs_and_their_options_are_in_every_script():
    for script in (completion.bash(), completion.zsh(), completion.fish()):
        for verb in VERBS:
            for word in verb.split():
                assert word in script
    assert "-l terrain-weights" in completion.fish()
