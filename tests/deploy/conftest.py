"""The G1 as the control program and the simulated robot know it."""

from __future__ import annotations

from pathlib import Path

import pytest

from solo.deploy.contract import Contract

from .helpers import g1_contract


@pytest.fixture(scope="module")
def contract() -> Contract:
    return g1_contract()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from solo.robots.build import write_model

    path = tmp_path_factory.mktemp("model") / "g1.xml"
    write_model(path)
    return path
