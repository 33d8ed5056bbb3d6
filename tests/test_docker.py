"""The Dockerfiles, as far as they can be checked without building an image."""

from __future__ import annotations

import itertools
import operator
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
KEYWORDS = {"FROM", "RUN", "ENV", "ARG", "WORKDIR", "COPY", "ENTRYPOINT", "CMD"}
NAME = operator.attrgetter("name")
each_file = pytest.mark.parametrize("path", FILES, ids=NAME)


def instructions(path: Path) -> list[tuple[str, str]]:
    """Keyword and the rest of each instruction."""
    lines = [x for x in path.read_text().splitlines() if not x.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(x.split()[0], x.split(None, 1)[1]) for x in joined if x.strip()]


def copied(path: Path) -> list[str]:
    """What is copied from the repository."""
    copies = [shlex.split(rest) for word, rest in instructions(path) if word == "COPY"]
    own = [words for words in copies if not words[0].startswith("--from=")]
    return [source for words in own for source in words[:-1]]


def pip_arguments(path: Path) -> list[str]:
    """Every word that follows `pip install` or `pip wheel`."""
    text = path.read_text().replace("\\\n", " ")
    lines = re.findall(r"^(?:RUN |uv )?pip (?:install|wheel) (.*)", text, re.M)
    assert lines
    return [word for line in lines for word in shlex.split(line)]


@each_file
def test_instructions_are_known_and_stages_exist(path):
    stages = []
    for word, rest in instructions(path):
        assert word in KEYWORDS
        if word == "FROM":
            stages += re.findall(r" AS (\w+)", rest)
        if source := re.match(r"--from=(\w+)", rest):
            assert source[1] in stages


@each_file
def test_copied_files_and_those_that_pip_reads_exist(path):
    assert copied(path)
    for source in copied(path):
        assert (ROOT / source).exists()
    words = pip_arguments(path)
    for option, name in itertools.pairwise(words):
        if option in ("-r", "--requirement", "-c", "--constraint"):
            assert name in copied(path)


@pytest.mark.parametrize("path", [*FILES, ROOT / "docs/quickstart.md"], ids=NAME)
def test_versions_are_those_we_test_and_extras_exist(path):
    constraints = (ROOT / "constraints.txt").read_text().splitlines()
    tested = [Requirement(x) for x in constraints if x and not x.startswith("#")]
    versions = {r.name: str(r.specifier) for r in tested}
    makefile, project = ((ROOT / x).read_text() for x in ("Makefile", "pyproject.toml"))
    (torch,) = re.findall(r"^TORCH_VERSION := (\S+)", makefile, re.M)
    versions["torch"] = f"=={torch}"
    section = project.split("[project.optional-dependencies]")[1].split("\n\n")[0]
    known = set(re.findall(r"^(\w+) =", section, re.M))
    for word in pip_arguments(path):
        if extras := re.match(r"\.\[(.*)\]$", word):
            assert set(extras[1].split(",")) <= known
        elif "==" in word:
            wanted = Requirement(word)
            assert str(wanted.specifier) == versions[wanted.name]
    for tag in re.findall(r"--branch (\S+)", path.read_text()):
        assert f"=={tag}" == versions["cyclonedds"]


@each_file
def test_the_robots_image_has_no_torch(path):
    words = " ".join(pip_arguments(path))
    if path.name == "jetson.Dockerfile":
        assert "--require-hashes -r requirements-robot.txt" in words
        assert not re.search(r"torch|train", words)
        lock = (ROOT / "requirements-robot.txt").read_text()
        assert not re.search(r"^torch", lock, re.M)
    else:
        assert "train" in words


@pytest.mark.slow
@each_file
def test_what_is_copied_is_enough_to_build_the_package(path, tmp_path):
    for source in copied(path):
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, tmp_path / source)
    build = "from setuptools.build_meta import build_wheel; print(build_wheel('.'))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("solo_locomotion-*.whl"))
