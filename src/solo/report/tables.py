"""Tables whose cells have a number and, smaller, what qualifies it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from solo.report.markup import Content, Html, el, escape, join
from solo.report.paper import SOURCES


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table."""

    main: Content
    small: Content = None
    """Below it: an interval, or how the number was made."""
    paper: bool = False
    """Whether it is the paper's."""
    columns: int = 1
    """How many columns it takes."""
    rows: int = 1
    """How many rows it takes."""
    style: str = ""
    """Class of the style sheet."""


Entry = Cell | Html | str

NONE = Cell("–")
"""Where there is no number."""

PAPER_SILENT = Cell("–", None, True)
"""Where the paper has none."""


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    name: Content
    small: Content = None
    paper: bool = False
    series: int | None = None
    """Colour of the policy, if it is one."""
    style: str = ""
    """Class of the style sheet."""


@dataclass(frozen=True)
class Row:
    """One line; the first cell is its head, unless one above reaches down to it."""

    head: Entry | None
    cells: Sequence[Entry]
    total: bool = False
    """Whether it sums up those above."""


def table(
    caption: str,
    columns: Sequence[Column | str],
    rows: Sequence[Row],
    source: str | None = None,
    kind: Literal["numbers", "text"] = "numbers",
) -> Html:
    """A table that scrolls by itself where the page is too narrow.

    Args:
        caption: What it shows.
        columns: Heads of all columns, that of the rows' heads included.
        rows: Its lines.
        source: Label of the paper's table or figure beside ours.
        kind: How cells are aligned.
    """
    heads = [c if isinstance(c, Column) else Column(c) for c in columns]
    head = el("tr", *(_head(column) for column in heads))
    body = [
        el(
            "tr",
            None if row.head is None else _cell(row.head, "th"),
            *(_cell(cell) for cell in row.cells),
            class_="total" if row.total else None,
        )
        for row in rows
    ]
    inner = el(
        "table",
        el("thead", head),
        el("tbody", join(body)),
        class_=kind,
        attributes={"aria-label": str(caption)},
    )
    # Focusable, so that it can be scrolled with the keyboard.
    scroll = el("div", inner, class_="scroll", tabindex="0")
    return el("div", el("p", caption, cite(source), class_="caption"), scroll)


def cite(source: str | None) -> Html | None:
    """Which place of the paper numbers come from."""
    if source is None:
        return None
    return el("span", f" paper: {source}", class_="cite", title=SOURCES[source])


def badge(note: str) -> Html:
    """A remark beside a number: what was scaled down, or differs from the paper."""
    return el("span", note, class_="badge")


def badges(notes: Sequence[str]) -> Html | None:
    """Remarks in a line; None if there are none."""
    if not notes:
        return None
    return el("p", *(badge(note) for note in notes), class_="badges")


def _head(column: Column) -> Html:
    swatch = None
    if column.series is not None:
        swatch = el("i", class_=f"swatch b{column.series % NUM_COLORS}")
    small = None if column.small is None else el("small", column.small)
    cls = "paper" if column.paper else column.style or None
    name = soften(column.name) if isinstance(column.name, str) else column.name
    return el("th", swatch, name, small, scope="col", class_=cls)


def _cell(entry: Entry, name: str = "td") -> Html:
    cell = entry if isinstance(entry, Cell) else Cell(entry)
    small = None if cell.small is None else el("small", cell.small)
    cls = " ".join(filter(None, ("paper" if cell.paper else "", cell.style))) or None
    scope = "row" if name == "th" else None
    return el(
        name,
        cell.main,
        small,
        class_=cls,
        scope=scope,
        colspan=cell.columns if cell.columns > 1 else None,
        rowspan=cell.rows if cell.rows > 1 else None,
    )


def soften(name: str) -> Html:
    """Let a long name break where its parts meet."""
    if isinstance(name, Html):
        return name
    parts = re.split(r"(?<=[/_])", name)
    return Html("<wbr>".join(escape(part) for part in parts))


NUM_COLORS = 6
"""Colours of policies; more of them begin again with another form of line."""
