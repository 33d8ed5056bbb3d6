"""`solo hub`: a model goes to a repository and comes back, or one line says why not."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import HfApi
from huggingface_hub.utils import filter_repo_objects

from solo.bundles import shipped_bundle, shipped_teacher
from solo.checkpoints import read_checkpoint
from solo.cli import hub
from solo.cli.main import main
from solo.runs.folder import find_checkpoint

TEACHER, REPO = shipped_teacher(), "me/model"


class FolderHub:
    """The Hub as a folder; takes exactly the calls that the real client takes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def create_repo(self, *args, **kwargs):
        call = bind(HfApi.create_repo, self, *args, **kwargs)
        (self.root / call["repo_id"]).mkdir(parents=True, exist_ok=call["exist_ok"])

    def upload_folder(self, *args, **kwargs):
        call = bind(HfApi.upload_folder, self, *args, **kwargs)
        target = self.root / call["repo_id"]
        shutil.copytree(call["folder_path"], target, dirs_exist_ok=True)
        return SimpleNamespace(commit_url=f"https://hub.example/{call['repo_id']}")

    def snapshot_download(self, *args, **kwargs):
        call = bind(HfApi.snapshot_download, self, *args, **kwargs)
        source = self.root / call["repo_id"]
        names = [str(p.relative_to(source)) for p in source.rglob("*") if p.is_file()]
        for name in filter_repo_objects(names, allow_patterns=call["allow_patterns"]):
            target = Path(call["local_dir"]) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target)


def bind(function, *args, **kwargs):
    return inspect.signature(function).bind(*args, **kwargs).arguments


@pytest.fixture
def repo(monkeypatch, tmp_path) -> Path:
    """Folder of the repository; the work happens in another one."""
    monkeypatch.setattr(hub, "hub_api", lambda: FolderHub(tmp_path / "hub"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "hub" / REPO


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def refused(capsys, *words: str) -> str:
    """The one line with which a command fails."""
    capsys.readouterr()
    assert main(["hub", *words]) == 1
    err = capsys.readouterr().err
    assert err.startswith("solo: ")
    assert err.count("\n") == 1
    return err


def test_a_bundle_goes_and_comes_back_with_its_card(repo, capsys):
    bundle = shipped_bundle()
    assert bundle is not None
    assert main(["hub", "push", str(bundle), REPO]) == 0
    assert set(files(repo)) == {"README.md", "g1.onnx"}
    (repo / "evil.py").write_text("raise SystemExit")
    assert main(["hub", "pull", REPO, "--json", "result.json"]) == 0
    assert json.loads(Path("result.json").read_text())["model"] == "model/g1.onnx"
    assert files(Path("model")) == {
        "g1.onnx": bundle.read_bytes(),
        "README.md": bundle.with_suffix(".md").read_bytes(),
    }
    assert "not empty" in refused(capsys, "pull", REPO)


def test_a_packed_run_goes_and_comes_back(repo):
    assert main(["hub", "push", str(TEACHER), REPO]) == 0
    assert main(["hub", "pull", REPO, "--output", "new/teacher"]) == 0
    pulled = files(Path("new/teacher"))
    assert pulled.pop("README.md") == TEACHER.with_suffix(".md").read_bytes()
    assert pulled == files(TEACHER)
    # What was pulled can be pushed: its card is in its folder.
    assert hub.find_card(Path("new/teacher")) == Path("new/teacher/README.md")


@pytest.mark.parametrize(
    "name", ["", "model", "a/b/c", "-a/b", "a/b.", "a--b/c", "a/" + "b" * 99, "ü/b"]
)
def test_a_bad_repository_is_one_line(name, capsys):
    assert "OWNER/NAME" in refused(capsys, "push", str(TEACHER), "--", name)
    assert "OWNER/NAME" in refused(capsys, "pull", "--", name)


def test_a_missing_card_or_file_is_one_line_and_nothing_is_uploaded(repo, capsys):
    run = Path("run")
    shutil.copytree(TEACHER, run)
    assert "no model card" in refused(capsys, "push", "run", REPO)
    Path("run.md").write_text("# A card without front matter\n")
    assert "front matter with a license" in refused(capsys, "push", "run", REPO)
    (run / "params/env.yaml").unlink()
    assert "params/env.yaml" in refused(capsys, "push", "run", REPO)
    assert "neither a bundle" in refused(capsys, "push", "nowhere", REPO)
    assert "g1.onnx" in refused(capsys, "push", "nowhere/g1.onnx", REPO)
    assert not repo.exists()


def test_a_repository_without_card_or_model_leaves_nothing_behind(repo, capsys):
    repo.mkdir(parents=True)
    assert "no model card" in refused(capsys, "pull", REPO)
    (repo / "README.md").write_text("# Nothing")
    assert "0 bundles" in refused(capsys, "pull", REPO)
    shutil.copy(find_checkpoint(TEACHER), repo)
    assert "run.json" in refused(capsys, "pull", REPO)
    assert list(Path().iterdir()) == []


def test_a_damaged_bundle_is_not_pulled(repo, capsys):
    bundle = shipped_bundle()
    assert bundle is not None
    data = bytearray(bundle.read_bytes())
    data[len(data) // 2] ^= 0xFF
    repo.mkdir(parents=True)
    (repo / "README.md").write_text("# Damaged")
    (repo / "g1.onnx").write_bytes(data)
    assert "Nothing was pulled" in refused(capsys, "pull", REPO)
    assert list(Path().iterdir()) == []


class Evil:
    def __reduce__(self):
        return os.mkdir, (os.path.abspath("executed"),)


def test_code_in_a_checkpoint_is_not_executed(repo, capsys):
    shutil.copytree(TEACHER, repo)
    (repo / "README.md").write_text("# Evil")
    with zipfile.ZipFile(repo / find_checkpoint(TEACHER).name, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Evil(), protocol=2))
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/byteorder", "little")
    assert "Cannot read the checkpoint" in refused(capsys, "pull", REPO)
    assert list(Path().iterdir()) == []


def test_a_run_that_is_not_packed_is_told_to_pack(repo, capsys, monkeypatch):
    state = read_checkpoint(find_checkpoint(TEACHER))
    state["infos"] = {**state["infos"], "env_snapshot": {"x": 1}}
    monkeypatch.setattr("solo.runs.run.load_checkpoint", lambda *_: state)
    assert "solo train pack" in refused(capsys, "push", str(TEACHER), REPO)
    assert not repo.exists()


def test_the_real_client_without_a_hub_is_one_line(monkeypatch, tmp_path, capsys):
    nobody = HfApi(endpoint="http://127.0.0.1:9", token=False)
    monkeypatch.setattr(hub, "hub_api", lambda: nobody)
    output = str(tmp_path / "new")
    assert "Cannot reach" in refused(capsys, "pull", REPO, "--output", output)
    assert list(tmp_path.iterdir()) == []
