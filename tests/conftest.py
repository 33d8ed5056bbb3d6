"""For all tests."""

import gc
import os
import sys
from collections.abc import Generator

# Tests run in as many processes as there are cores. Torch's own threads, one per core
# in each of them, would only wait for each other. Read once, when torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

import solo  # noqa: F401  # Before onnxruntime, whose telemetry it switches off.


@pytest.hookimpl(tryfirst=True)  # Before slow tests may be left out.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first: at the end short ones keep all processes busy."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """What torch and mjlab make while they are imported stays to the end: the garbage
    collector need not look at it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _gaits_are_synthesised_once():
    """They are most of the time of a training of the smallest size."""
    catalogue = sys.modules.get("solo.motions.catalogue")
    if catalogue is None:  # Then the tests at hand are light ones and should remain so.
        yield
        return
    make_gait, made = catalogue.make_gait, {}

    def make_once(robot, skeleton, cfg):
        key = id(robot), cfg
        if key not in made:
            made[key] = robot, make_gait(robot, skeleton, cfg)  # Keeps the id its own.
        return made[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "make_gait", make_once)
        yield
