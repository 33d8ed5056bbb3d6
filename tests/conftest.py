"""For all tests."""

import os

# Tests run in as many processes as there are cores. Torch's own threads, one per core
# in each of them, would only wait for each other. Read once, when torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import solo  # noqa: F401  # Before onnxruntime, whose telemetry it switches off.
