"""Terminal tables that never truncate words."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

_WIDEST = 1000


def print_table(table: Table) -> None:
    """Print a table as wide as its longest words need, however narrow the terminal.

    Rich would shorten words to "velo…". A pipe has no width, so there each row is a
    single line.
    """
    console = Console()
    need = Measurement.get(console, console.options.update(width=_WIDEST), table)
    fits = need.minimum if console.is_terminal else need.maximum
    Console(width=max(console.width, fits)).print(table)
