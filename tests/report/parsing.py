"""What a browser would make of a page, as far as tests look at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "img", "br", "hr"}


@dataclass
class Node:
    """An element."""

    name: str
    attributes: dict[str, str | None]
    children: list[Node | str] = field(default_factory=list)

    def text(self, skip: tuple[str, ...] = ("title", "style")) -> str:
        """All text in it, with single spaces."""
        parts = [
            child if isinstance(child, str) else child.text(skip)
            for child in self.children
            if isinstance(child, str) or child.name not in skip
        ]
        return " ".join(" ".join(parts).split())

    def find(self, name: str, cls: str = "") -> list[Node]:
        """Elements within it."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                classes = (child.attributes.get("class") or "").split()
                if child.name == name and (not cls or cls in classes):
                    found.append(child)
                found += child.find(name, cls)
        return found


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("root", {})
        self.stack = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "wbr":
            return
        node = Node(tag, dict(attrs))
        self.stack[-1].children.append(node)
        if tag not in _VOID:
            self.stack.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1].name == tag, f"</{tag}> closes <{self.stack[-1].name}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.stack[-1].children.append(data)


def parse(html: str) -> Node:
    """The elements of a page; every one must be closed where it should."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert len(builder.stack) == 1
    return builder.root


def rows_of(page: Node, label: str) -> dict[str, list[str]]:
    """A table whose label begins so: head of each row to the texts of its cells."""
    for table in page.find("table"):
        if (table.attributes.get("aria-label") or "").startswith(label):
            lines = table.find("tbody")[0].find("tr")
            return {
                line.find("th")[0].text(): [cell.text() for cell in line.find("td")]
                for line in lines
                if line.find("th")
            }
    raise AssertionError(f"There is no table {label!r}.")
