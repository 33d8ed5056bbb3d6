"""``solo hub``: bundles and packed runs on the Hugging Face Hub.

A repository holds one model: its card as README.md, and either one bundle ``*.onnx`` or
the files of a packed run. Models are checked before they leave and before they arrive;
nothing in them is executed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from solo.cli import Verb
from solo.cli.checks import check_new_folder
from solo.errors import SoloError
from solo.runs.folder import CONFIG, checkpoints, find_checkpoint

CARD = "README.md"
PARAMS = ("params/agent.yaml", "params/env.yaml")
_PATTERNS = [CARD, "*.onnx", CONFIG, "model_*.pt", *PARAMS]
"""What is downloaded; of that, only the model's own files are kept."""
_REPO = re.compile(r"\w([\w.-]*\w)?/\w([\w.-]*\w)?", re.ASCII)
_INSTALL = 'pip install "solo-locomotion[hub]"'


@dataclass(frozen=True)
class HubPush(Verb):
    """Upload a bundle or a packed run, with its card, to the Hugging Face Hub.

    The repository is created if need be. Log in first: `hf auth login`, or set
    HF_TOKEN.
    """

    model: Annotated[Positional[Path], arg(metavar="MODEL")]
    """Bundle *.onnx, or folder of `solo train pack`."""
    repo: Annotated[Positional[str], arg(metavar="REPO")]
    """Repository of the Hub: OWNER/NAME."""
    card: Path | None = None
    """Model card; if omitted, README.md in the run's folder, or MODEL.md beside it."""
    private: bool = False
    """Make a new repository private."""

    def run(self) -> dict[str, Any]:
        check_repo(self.repo)
        files = model_files(self.model)
        card = self.card or find_card(self.model)
        check_card(card)
        api = hub_api()
        check_model(self.model)
        with tempfile.TemporaryDirectory() as folder:
            copy_files({CARD: card, **files}, Path(folder))
            with hub_errors(self.repo):
                api.create_repo(self.repo, private=self.private, exist_ok=True)
                commit = api.upload_folder(
                    repo_id=self.repo,
                    folder_path=folder,
                    commit_message=f"Upload {self.model.name}",
                )
        print(f"Uploaded {', '.join([CARD, *files])}: {commit.commit_url}")
        url = str(commit.commit_url)
        return {"repo": self.repo, "url": url, "files": [CARD, *files]}


@dataclass(frozen=True)
class HubPull(Verb):
    """Download a bundle or a packed run from the Hugging Face Hub, and check it.

    A bundle repeats its golden sequence. Checkpoints are read as tensors and plain
    values: code in them is refused, not executed.
    """

    repo: Annotated[Positional[str], arg(metavar="REPO")]
    """Repository of the Hub: OWNER/NAME."""
    output: Path | None = None
    """New folder; the repository's name if omitted."""
    revision: str | None = None
    """Branch, tag or commit; the newest if omitted."""

    def run(self) -> dict[str, Any]:
        check_repo(self.repo)
        output = self.output or Path(self.repo.split("/")[1])
        check_new_folder("output", output)
        api = hub_api()
        output.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=output.absolute().parent, prefix=".solo-hub-"
        ) as temporary:
            download, checked = Path(temporary) / "download", Path(temporary) / "model"
            with hub_errors(self.repo):
                api.snapshot_download(
                    self.repo,
                    revision=self.revision,
                    local_dir=download,
                    allow_patterns=_PATTERNS,
                )
            try:
                model = pulled_model(download)
                files = model_files(model)
                copy_files({CARD: download / CARD, **files}, checked)
                name = model.name if model.is_file() else "."
                check_model(checked / name)
            except SoloError as error:
                message = f"Nothing was pulled from {self.repo!r}. {error}"
                raise SoloError(message) from error
            os.replace(checked, output)
        print(f"Wrote {output / name}: {', '.join([CARD, *files])}")
        path = str(output / name)
        return {"repo": self.repo, "model": path, "files": [CARD, *files]}


def hub_api() -> Any:
    """The Hub's client.

    Raises:
        SoloError: Its package is not installed.
    """
    try:
        from huggingface_hub import HfApi
    except ModuleNotFoundError as error:
        raise SoloError(f"huggingface_hub is not installed: {_INSTALL}.") from error
    return HfApi()


@contextmanager
def hub_errors(repo: str) -> Iterator[None]:
    """Turn whatever goes wrong at the Hub into one line."""
    try:
        yield
    # The client, the network and the server each have errors of their own.
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise SoloError(
            f"Cannot reach {repo!r} on the Hub: {reason.rstrip('.')}. Check the name, "
            "the network and your login (`hf auth login`)."
        ) from error


def check_repo(repo: str) -> None:
    """Refuse what the Hub would not take as a repository's name."""
    if not _REPO.fullmatch(repo) or len(repo) > 96 or "--" in repo or ".." in repo:
        raise SoloError(
            f"{repo[:120]!r} is no repository of the Hub. Allowed: OWNER/NAME of "
            "letters, digits, '-', '_' and '.', at most 96 characters. Example: "
            "me/g1-walks."
        )


def find_card(model: Path) -> Path:
    """Where a model's card is unless told otherwise."""
    inside, path = model / CARD, model.resolve()
    beside = path.with_name(f"{path.stem if path.is_file() else path.name}.md")
    return inside if inside.is_file() else beside


def check_card(card: Path) -> None:
    """Refuse a card that is not there or that the Hub could not file."""
    if not card.is_file():
        raise SoloError(
            f"There is no model card {str(card)!r}. Write one (what it was trained on, "
            "what it can do and what not), or name it with --card."
        )
    text = card.read_text(errors="replace")
    if not re.match(r"---\n(.*\n)?license: *\S.*\n---\n", text, re.S):
        raise SoloError(
            f"The model card {str(card)!r} has no front matter with a license. Begin "
            "it with three lines: '---', 'license: apache-2.0' (or yours), '---'."
        )


def model_files(model: Path) -> dict[str, Path]:
    """The files of a bundle or a run: name in the repository to path.

    Raises:
        SoloError: One is missing.
    """
    if model.suffix == ".onnx" and not model.is_dir():
        files = {model.name: model}
    elif model.is_dir():
        last = find_checkpoint(model)
        files = {name: model / name for name in (CONFIG, last.name, *PARAMS)}
    else:
        raise SoloError(
            f"{str(model)!r} is neither a bundle *.onnx nor a folder. Give what "
            "`solo export` or `solo train pack` wrote."
        )
    missing = [name for name, path in files.items() if not path.is_file()]
    if missing:
        raise SoloError(
            f"{str(model)!r} lacks {', '.join(missing)}. Give what `solo export` or "
            "`solo train pack` wrote."
        )
    return files


def pulled_model(folder: Path) -> Path:
    """The bundle in a downloaded folder, or the folder if it is a run.

    Raises:
        SoloError: It holds no model, or several.
    """
    if not (folder / CARD).is_file():
        raise SoloError(f"It has no model card {CARD}.")
    bundles, is_run = sorted(folder.glob("*.onnx")), bool(checkpoints(folder))
    if len(bundles) + is_run != 1:
        raise SoloError(
            f"It has {len(bundles)} bundles *.onnx and {int(is_run)} runs with "
            "model_*.pt. Allowed: one of either."
        )
    return folder if is_run else bundles[0]


def copy_files(files: dict[str, Path], folder: Path) -> None:
    """Copy files to their names in a folder."""
    for name, path in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)


def check_model(model: Path) -> None:
    """Load a bundle or a packed run with all checks, executing nothing in it.

    Raises:
        SoloError: It is damaged, not ours, or a run that is not packed.
    """
    if model.is_file():
        from solo.deploy.bundle.load import load_bundle

        load_bundle(model)
        return
    from solo.evaluation.policies import open_policy
    from solo.runs.run import load_checkpoint

    open_policy(str(model))
    infos = load_checkpoint(find_checkpoint(model), "cpu")["infos"]
    if not isinstance(infos, dict) or infos.get("env_snapshot") is not None:
        raise SoloError(
            f"The run {str(model)!r} is not packed: its checkpoint holds the state of "
            "the environments. Pack it first: `solo train pack RUN --output NEW`."
        )
