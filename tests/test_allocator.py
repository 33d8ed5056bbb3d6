"""Freed memory is used again instead of being lent and cleared anew."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

COUNT = """
import resource, sys
import numpy as np
from solo.allocator import keep_freed_memory
if "keep" in sys.argv:
    assert keep_freed_memory()
def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        [np.ones(2 * 2**20) for _ in range(12)]  # 192 MiB, 49 152 pages.
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults(3)
print(faults(5))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc's allocator")
def test_the_same_pages_serve_again():
    counts = [
        int(subprocess.check_output([sys.executable, "-c", COUNT, *option]))
        for option in ([], ["keep"])
    ]
    # Pages may be huge ones, of which one fault brings 512.
    assert counts[0] > 5 * 49_152 / 512
    assert counts[1] < 0.1 * counts[0]
