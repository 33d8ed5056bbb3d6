"""The command ``solo``: one module for each family of verbs, and what all share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

_WIDEST = 1000


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


def print_table(table: Table) -> None:
    """Print a table as wide as its longest words need, however narrow the terminal.

    Rich would shorten words to "velo…". A pipe has no width, so there each row is a
    single line.
    """
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    need = Measurement.get(console, console.options.update(width=_WIDEST), table)
    fits = need.minimum if console.is_terminal else need.maximum
    Console(width=max(console.width, fits)).print(table)
