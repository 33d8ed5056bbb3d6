"""For all tests."""

import os

# Tests run in as many processes as there are cores. Torch's own threads, one per core
# in each of them, would only wait for each other. Read once, when torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import solo  # noqa: F401  # Before onnxruntime, whose telemetry it switches off.


def pytest_collection_modifyitems(items):
    """Files with slow tests first: at the end one core would wait for the other."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
