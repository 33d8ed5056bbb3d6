"""HTML and SVG as text: whatever is not markup of ours is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_VOID = {"img", "meta", "br", "hr"}


class Html(str):
    """Markup that is ready. A plain ``str`` is text and escaped when it is put in."""

    __slots__ = ()


Content = Html | str | float | int | None
"""What an element may hold; None is nothing."""


def escape(text: object) -> Html:
    """Text as markup that shows it, also if it has quotes or is no proper Unicode."""
    if isinstance(text, Html):
        return text
    clean = str(text).encode("utf-8", "replace").decode("utf-8")
    return Html(html.escape(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", clean)))


def join(parts: Iterable[Content], between: str = "") -> Html:
    """Several pieces, one after the other."""
    pieces = [escape(part) for part in parts if part is not None]
    return Html(escape(between).join(pieces))


def el(
    name: str,
    *children: Content,
    attributes: Mapping[str, Content] | None = None,
    **more: Content,
) -> Html:
    """An element.

    Args:
        name: Of the element.
        *children: What it holds.
        attributes: Its attributes; those that are None are left out.
        **more: Further ones; ``class_`` is class and ``stroke_width`` stroke-width.
    """
    named = {key.rstrip("_").replace("_", "-"): value for key, value in more.items()}
    text = "".join(
        f' {key}="{escape(_number(value))}"'
        for key, value in {**(attributes or {}), **named}.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{text}>")
    return Html(f"<{name}{text}>{join(children)}</{name}>")


def _number(value: Content) -> Content:
    """Coordinates to a hundredth of a pixel."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return value
