"""``solo completion``: shell completion of verbs and options."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from tyro.conf import Positional

from solo.cli import Verb
from solo.cli.main import VERBS, load_verb


@dataclass(frozen=True)
class Completion(Verb):
    """Print a script that completes `solo` in your shell.

    Bash: `eval "$(solo completion bash)"` in ~/.bashrc. Zsh: the same with zsh in
    ~/.zshrc, after compinit. Fish: `solo completion fish | source` in config.fish.
    """

    shell: Positional[Literal["bash", "zsh", "fish"]] = "bash"
    """Which shell."""

    def run(self) -> dict[str, Any]:
        script = {"bash": bash, "zsh": zsh, "fish": fish}[self.shell]()
        print(script)
        return {"shell": self.shell, "script": script}


def options(verb: str) -> list[str]:
    """The flags of a verb; for positional arguments the shell completes file names."""
    return [
        "--" + field.name.replace("_", "-")
        for field in dataclasses.fields(load_verb(verb))
        if "Positional" not in str(field.type)
    ]


def next_words() -> dict[str, dict[str, str]]:
    """Map what was typed so far to the possible next words and their descriptions."""
    found: dict[str, dict[str, str]] = {"": {}}
    for verb, line in VERBS.items():
        first, _, second = verb.partition(" ")
        found[""].setdefault(first, f"solo {first} ..." if second else line)
        if second:
            found.setdefault(first, {})[second] = line
    return found


def bash() -> str:
    """A case for each prefix of a command line."""
    cases = [
        f'"{typed}") words="{" ".join(w)}" ;;' for typed, w in next_words().items()
    ]
    cases += [f'"{verb}"*) words="{" ".join(options(verb))}" ;;' for verb in VERBS]
    return "\n".join(
        [
            "_solo() {",
            '  local typed="${COMP_WORDS[*]:1:COMP_CWORD-1}" words=""',
            '  case "$typed" in',
            *(f"    {case}" for case in cases),
            "  esac",
            '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
            "}",
            "complete -o default -F _solo solo",
        ]
    )


def zsh() -> str:
    """The same for zsh, which also completes file names."""
    cases = [
        f'"{typed}") compadd {" ".join(w)} ;;' for typed, w in next_words().items()
    ]
    cases += [
        f'"{verb}"*) compadd -- {" ".join(options(verb))}; _files ;;' for verb in VERBS
    ]
    return "\n".join(
        [
            "_solo() {",
            '  case "${(j: :)words[2,CURRENT-1]}" in',
            *(f"    {case}" for case in cases),
            "  esac",
            "}",
            "compdef _solo solo",
        ]
    )


def fish() -> str:
    """A line for each word, with its description."""
    lines = []
    for typed, words in next_words().items():
        seen = _fish_seen(typed, words)
        for word, about in words.items():
            lines.append(
                f"complete -c solo -f -n '{seen}' -a {word} -d {_quote(about)}"
            )
    for verb in VERBS:
        seen = "; and ".join(f"__fish_seen_subcommand_from {w}" for w in verb.split())
        for flag in options(verb):
            lines.append(f"complete -c solo -n '{seen}' -l {flag.removeprefix('--')}")
    return "\n".join(lines)


def _fish_seen(typed: str, words: dict[str, str]) -> str:
    if not typed:
        return "__fish_use_subcommand"
    chosen = f"not __fish_seen_subcommand_from {' '.join(words)}"
    return f"__fish_seen_subcommand_from {typed}; and {chosen}"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
