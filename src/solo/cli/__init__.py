"""The command ``solo``: one module for each family of verbs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb: its docstring is the help text, its fields are the options."""

    json: Path | None = None
    """Also write the result to this file, as JSON."""

    def run(self) -> dict[str, Any]:
        """Do it, print what matters and return what ``--json`` writes.

        Options and files are checked first, before anything heavy is loaded.

        Raises:
            SoloError: An option, a file or this machine cannot be used.
        """
        raise NotImplementedError
