"""Files that are no results are told in one line that names them."""

from __future__ import annotations

import copy
import json

import pytest

from solo.errors import SoloError
from solo.evaluation.protocols import STRESS
from solo.report.read import read_result, read_results
from tests.report import synthetic
from tests.report.small import SMALL, small_stress


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON or was cut off"),
        (b'{"protocol": {"name": "stress"}, "cells": [', "not JSON or was cut off"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not JSON or was cut off"),
        (b"[" * 100_000, "not JSON or was cut off"),
        (b"[1, 2]", "holds a list, not an object"),
        (b"{}", "expected the keys of a result"),
        (b'{"loss": 3, "epoch": 4}', "'loss, epoch', expected the keys"),
        (b'{"protocol": 3, "cells": []}', "protocol is 3, expected an object"),
        (b'{"first": []}', "first is [], expected a list that is not empty"),
        (b'{"runs": [{"name": "a", "iterations": [1], "levels": [1, 2]}]}',
         "runs[0].levels is [1, 2], expected 1 numbers"),
        (b'{"methods": {"qr": {"parameters": 1, "l1_cm": "low"}}}',
         "methods.qr.l1_cm is 'low', expected a number"),
        (b'{"bundle_bytes": 1, "mean_ms": NaN}', "mean_ms is nan, expected a number"),
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path, content, reason):
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(SoloError) as error:
        read_result(path)
    message = str(error.value)
    assert reason in message
    assert "odd.json" in message
    assert "solo eval" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["cells"][1]["success"].update(rate=1.7),
         "cells[1].success.rate is 1.7, expected a number from 0 to 1"),
        (lambda d: d["cells"][0]["success"].update(successes=99),
         "cells[0].success.successes is 99, expected a number from 0 to 4"),
        (lambda d: d["cells"][0].pop("outcomes"), "cells[0].outcomes is None"),
        (lambda d: d["cells"][0]["measures"].update(x=1), "cells[0].measures.x is 1"),
        (lambda d: d["cells"].append("x"), "cells[2] is 'x', expected an object"),
        (lambda d: d.pop("policy"), "policy is None, expected an object"),
        (lambda d: d["policy"].update(name=""), "policy.name is ''"),
        (lambda d: d["cells"][0].update(failures="a"), "cells[0].failures is 'a'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_by_its_place(tmp_path, change, place):
    data = copy.deepcopy(small_stress())
    change(data)
    path = synthetic.write_result(tmp_path, data)
    with pytest.raises(SoloError) as error:
        read_result(path)
    assert place in str(error.value)


def test_folders_stand_for_the_result_in_them(tmp_path):
    path = synthetic.write_result(tmp_path / "run", small_stress())
    (tmp_path / "killed" / "cells").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    found = read_results([tmp_path / "run", path])
    assert [result.path for result in found] == [path]
    for name, reason in (
        ("killed", "not finished"),
        ("other", "no result.json in the folder"),
        ("missing", "There is no file"),
    ):
        with pytest.raises(SoloError, match=reason):
            read_results([tmp_path / name])
    with pytest.raises(SoloError, match="No result is given"):
        read_results([])


def test_every_kind_is_recognised(tmp_path):
    stress = small_stress()
    kinds = {
        "stress": stress,
        "levels": synthetic.levels(SMALL, 1),
        "robustness": synthetic.robustness(stress),
        "route": synthetic.route(stress),
        "isolated": {**stress, "protocol": {"name": "isolated"}},
        "someone's own": {**stress, "protocol": {"name": "someone's own"}},
        "curriculum": synthetic.curriculum(),
        "recon": synthetic.recon(),
        "bench policy": synthetic.BENCH_POLICY,
        "bench sim": synthetic.BENCH_SIM,
        "bench depth": synthetic.BENCH_DEPTH,
        "bench train": synthetic.BENCH_TRAIN,
        "bench recon": synthetic.BENCH_RECON,
    }
    for number, (kind, data) in enumerate(kinds.items()):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(data))
        assert read_result(path).kind == kind


def test_the_format_is_that_of_evaluations():
    """The synthetic results have the protocol of the real ones."""
    assert small_stress()["protocol"]["name"] == STRESS.name
