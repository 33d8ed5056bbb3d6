"""What the site has beyond this folder's files; mkdocs calls the ``on_`` functions.

The home page is the README, the cards come from the package, and the reference of the
command line is what the parsers print.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
COPIES = {
    "README.md": "index.md",
    "src/solo/bundles/g1.md": "cards/g1.md",
    "src/solo/bundles/g1_teacher.md": "cards/g1_teacher.md",
}
"""Page of the repository to its page of the site."""

_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)\s#]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    pages = {place: (ROOT / path).read_text() for path, place in COPIES.items()}
    pages["reference/cli.md"] = command_line()
    for place, text in pages.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Point links at pages of the site; code that is not on it stays as text."""
    place = page.file.src_uri
    source = next((s for s, to in COPIES.items() if to == place), f"docs/{place}")

    def point(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        path = os.path.normpath(PurePosixPath(source).parent / target)
        if not (ROOT / path).exists() and path != "docs/reference/cli.md":
            return match[0]  # mkdocs tells what is missing.
        inside = COPIES.get(path, path.removeprefix("docs/"))
        if inside == path:
            return text if text.startswith("`") else f"{text} (`{path}`)"
        here = os.path.relpath(inside, PurePosixPath(place).parent)
        return f"[{text}]({here}{anchor})"

    return _LINK.sub(point, markdown)


def command_line() -> str:
    """A page with the help of every verb."""
    from solo.cli.main import VERBS, parse

    os.environ["COLUMNS"] = "100"
    lines = ["# Command line", "", "What `solo VERB --help` prints, verb by verb.", ""]
    for verb in VERBS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            parse(verb, ["--help"])
        text = "\n".join(line.rstrip() for line in printed.getvalue().splitlines())
        lines += [f"## solo {verb}", "", "```text", text.strip(), "```", ""]
    return "\n".join(lines)
