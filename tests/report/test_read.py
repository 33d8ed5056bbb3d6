"""Files that are no results are told in one line that names them."""

from __future__ import annotations

import copy
import json

import pytest

from solo.errors import SoloError
from solo.report.read import read_file, read_results
from tests.report import synthetic
from tests.report.small import SMALL, small_stress


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Cannot read"),
        (b'{"protocol": {"name": "stress"}, "cells": [', "Cannot read"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "Cannot read"),
        (b"[" * 100_000, "Cannot read"),
        (b"[1, 2]", "holds a list, not an object"),
        (b"{}", "its keys are nothing"),
        (b'{"loss": 3, "epoch": 4}', "its keys are loss, epoch"),
        (b'{"kind": "poem", "lines": 4}', "its kind is 'poem'"),
        (b'{"protocol": 3, "cells": []}', "protocol is 3, expected a valid dictionary"),
        (b'{"first": []}', "first is empty"),
        (b'{"runs": [{"name": "a", "iterations": [1], "levels": [1, 2], '
         b'"final_level": 1, "highest_level": 2}]}', "runs[0] 2 levels of 1"),
        (b'{"methods": {"qr": {"parameters": 1, "l1_cm": "low"}}}',
         "methods.qr.l1_cm is 'low', expected a valid number"),
        (b'{"bundle_bytes": 1, "mean_ms": NaN}', "mean_ms is nan, expected a number"),
        (b'{"bundle_bytes": 1, "mean_ms": "x"}', "mean_ms is 'x', expected a number"),
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path, content, reason):
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(SoloError) as error:
        read_file(path)
    message = str(error.value)
    assert reason in message
    assert "odd.json" in message
    assert "solo eval" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["cells"][1]["success"].update(rate=1.7),
         "cells[1].success rate is 1.7, allowed are 0 to 1"),
        (lambda d: d["cells"][0]["success"].update(successes=99),
         "cells[0].success 99 of 4 is no success rate"),
        (lambda d: d["cells"][0].pop("outcomes"), "cells[0].outcomes is missing"),
        (lambda d: d["cells"][0]["measures"].update(x=1), "cells[0].measures.x is 1"),
        (lambda d: d["cells"].append("x"), "cells[2] is 'x', expected"),
        (lambda d: d["cells"].clear(), "cells is empty"),
        (lambda d: d.pop("policy"), "policy is missing"),
        (lambda d: d["policy"].update(name=""), "policy.name is ''"),
        (lambda d: d["cells"][0].update(failures="a"), "cells[0].failures is 'a'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_by_its_place(tmp_path, change, place):
    data = copy.deepcopy(small_stress())
    change(data)
    path = synthetic.write_result(tmp_path, data)
    with pytest.raises(SoloError) as error:
        read_file(path)
    assert place in str(error.value)


def test_folders_stand_for_the_results_in_and_below_them(tmp_path):
    path = synthetic.write_result(tmp_path / "a" / "run", small_stress())
    other = synthetic.write_result(tmp_path / "b", small_stress())
    # What lies below a result is part of it.
    synthetic.write_result(tmp_path / "b" / "nominal", small_stress())
    (tmp_path / "c" / "cells").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    found, _ = read_results([tmp_path / "a" / "run", path])
    assert [file.path for file in found] == [path]
    found, unfinished = read_results([tmp_path])
    assert [file.path for file in found] == [path, other]
    assert unfinished == [tmp_path / "c"]
    for name, reason in (
        ("c", "not finished"),
        ("empty", "no result.json in the folder"),
        ("missing", "There is no file"),
    ):
        with pytest.raises(SoloError, match=reason):
            read_results([tmp_path / name])
    with pytest.raises(SoloError, match="No result is given"):
        read_results([])


def test_every_kind_is_recognised_with_and_without_its_name(tmp_path):
    stress = small_stress()
    kinds = {
        "evaluation": [stress, synthetic.route(stress)],
        "levels": [synthetic.levels(SMALL, 1)],
        "robustness": [synthetic.robustness(stress)],
        "curriculum": [synthetic.curriculum()],
        "reconstruction": [synthetic.recon()],
        "bench policy": [synthetic.BENCH_POLICY],
        "bench sim": [synthetic.BENCH_SIM],
        "bench depth": [synthetic.BENCH_DEPTH],
        "bench train": [synthetic.BENCH_TRAIN],
        "bench recon": [synthetic.BENCH_RECON],
    }
    path = tmp_path / "a.json"
    for kind, datas in kinds.items():
        for data in datas:
            old = {key: value for key, value in data.items() if key != "kind"}
            for shape in (old, {**old, "kind": kind}):
                path.write_text(json.dumps(shape))
                assert read_file(path).result.kind == kind
