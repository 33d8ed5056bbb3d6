"""The documentation as a site: built strictly, whole, and readable without network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from solo.cli.main import VERBS

ROOT = Path(__file__).parents[1]
_LOADED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(https?:)?//
        |<link[^>]*\brel=["']?(?:stylesheet|preconnect|icon)[^>]*href=["']?(https?:)?//
    """,
    re.X,
)
"""What a browser would fetch from elsewhere; links that a reader may follow are not."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_every_page_is_there_and_fetches_nothing(site):
    pages = {path.relative_to(ROOT / "docs") for path in ROOT.glob("docs/**/*.md")}
    for page in {*pages, Path("index.md"), Path("cards/g1.md")}:
        assert (site / page.with_suffix(".html")).is_file(), page
    for path in site.rglob("*.html"):
        assert not _LOADED.search(path.read_text()), path
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", path.read_text()), path


@pytest.mark.parametrize("page", ["architecture.md", "paper.md", "extend.md"])
def test_files_that_are_named_exist(page):
    named = re.findall(
        r"`([a-z0-9_/]+/[a-z0-9_]+\.py)`", (ROOT / "docs" / page).read_text()
    )
    assert named
    for path in named:
        places = (ROOT / "src" / "solo" / path, ROOT / path)
        assert any(place.is_file() for place in places), path


def test_each_path_through_the_code_names_twelve_files_at_most():
    text = (ROOT / "docs" / "architecture.md").read_text()
    _, *paths = text.split("## Three paths through the code")[1].split("\n**")
    assert len(paths) == 3
    for path in paths:
        listed = "\n".join(re.findall(r"^\d\. .*(?:\n   .*)*", path, re.M))
        assert 1 < len(set(re.findall(r"`([a-z0-9_/]+\.py)`", listed))) <= 12, path


@pytest.mark.slow
def test_the_reference_has_every_verb_and_option_from_the_parsers(site):
    text = (site / "reference/cli.html").read_text()
    for verb in VERBS:
        assert f"solo {verb}" in text
    assert "--terrain-weights" in text
    assert "make_env" in (site / "reference/api.html").read_text()


@pytest.mark.slow
def test_examples_are_shown_where_the_docs_name_them(site):
    text = (site / "extend.html").read_text()
    for name in ("base_height", "kerb", "BlindCfg"):
        assert re.search(rf'<span class="n[cf]">{name}</span>', text), name


def test_a_page_that_fetches_is_found():
    assert _LOADED.search('<link rel="stylesheet" href="https://fonts.example/a.css">')
    assert _LOADED.search('<script src="//cdn.example/a.js">')
    assert not _LOADED.search('<a href="https://example.org">paper</a>')
