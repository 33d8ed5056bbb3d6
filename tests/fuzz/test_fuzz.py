"""A short round of `make fuzz`."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import fuzz


@pytest.mark.slow
def test_damage_and_odd_options_are_told_not_traced(capsys):
    found = fuzz(300, seed=1)
    assert not found, "\n\n".join(found)
    assert "300 inputs" in capsys.readouterr().out
