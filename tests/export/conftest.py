"""Networks for one robot are small: torch's threads would only wait for each other."""

from __future__ import annotations

import pytest

from solo.sim.threads import stepping_threads


@pytest.fixture(autouse=True)
def _one_thread():
    with stepping_threads():
        yield
