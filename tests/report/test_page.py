"""What stands on the page: exact cells, geometry of bars, remarks, escapes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from solo.cli.report import Report
from solo.errors import SoloError
from solo.evaluation.protocols import LEVELS
from solo.report import paper
from solo.report.page import make_page, verdict, write_report
from solo.report.parts import Cell, Headline, Score
from solo.report.read import read_file, read_results
from solo.results import Mean
from tests.report import synthetic
from tests.report.parsing import parse, rows_of
from tests.report.small import SMALL, small_stress


def draw(tmp_path: Path, *datas, failures: int = 0, **options):
    """The page of some results, parsed."""
    paths = [
        synthetic.write_result(tmp_path / f"r{k}", data, failures)
        for k, data in enumerate(datas)
    ]
    files, _ = read_results(paths)
    return parse(make_page(files, "A page", **options).html)


def test_success_stands_beside_the_paper(tmp_path):
    page = draw(tmp_path, small_stress())
    rows = rows_of(page, "Success with the 95 % Wilson interval")
    # Wilson with 4 of 4: 4 / (4 + 1.96^2) = 0.510; with 1 of 4: 0.046 to 0.699.
    assert rows["Gap"] == ["100.0 % [51.0, 100.0] of 4", "–", "–", "–"]
    assert rows["Step Stones"] == ["25.0 % [4.6, 69.9] of 4", "96 %", "3 %", "0 %"]
    assert rows["mean"] == [
        "62.5 % [30.6, 86.3] of 8",
        "97.5 %",
        "75.0–75.6 % a range of both",
    ]
    assert rows["worst terrain"][0] == "25.0 % [4.6, 69.9] of 4, Step Stones"
    assert rows["worst terrain"][1] == "92 %"


def test_map_errors_stand_beside_the_paper(tmp_path):
    page = draw(tmp_path, small_stress())
    rows = rows_of(page, "On-policy height-map L1, cm")
    assert rows["Gap"] == ["2.50 [0.45, 4.55]", "2.27", "10.11", "10.62"]
    assert rows["mean"] == ["2.50", "2.29", "7.59", "9.26"]


def circles(page) -> list[float]:
    """Where the dots of the first figure are, left to right."""
    chart = page.find("svg", "chart")[0]
    marks = [use for use in chart.find("use") if "var(--c" in use.attributes["style"]]
    return [float(use.attributes["x"] or 0) for use in marks]


def test_dots_are_where_the_success_is(tmp_path):
    gap, stones, both = circles(draw(tmp_path, small_stress()))
    # 100, 25 and 62.5 %: the middle one of the last two is half way between.
    assert both == pytest.approx((gap + stones) / 2, abs=0.01)
    assert gap - stones > 100.0


def test_what_is_scaled_down_is_said_beside_the_number(tmp_path):
    page = draw(tmp_path, small_stress())
    glance = page.find("div", "glance")[0]
    assert "4 rollouts per terrain (paper: 100)" in glance.text()
    assert "2 of 8 terrains" in glance.text()
    section = next(s for s in page.find("section") if s.attributes["id"] == "stress")
    assert [b.text() for b in section.find("span", "badge")] == [
        "4 rollouts per terrain (paper: 100)",
        "2 of 8 terrains",
    ]


def test_several_policies_stand_side_by_side(tmp_path):
    second = small_stress("yours/model_8.pt")
    page = draw(tmp_path, small_stress(), second, small_stress())
    table = page.find("table")[1]
    heads = [head.text() for head in table.find("thead")[0].find("th")]
    assert heads == [
        "terrain",
        "mine/ model_ 7.pt perceptive",
        "yours/ model_ 8.pt perceptive",
        "mine/ model_ 7.pt, r2 perceptive",
        "QR paper",
        "START paper",
        "DPL paper",
    ]
    assert len(circles(page)) == 3 * 3


def test_penalties_are_multiples_of_the_first_policy(tmp_path):
    def on_stairs(data):
        for cell, terrain in zip(
            data["cells"], ("stairs_up_35", "stairs_up_25"), strict=True
        ):
            cell["terrain"] = terrain
        return data

    page = draw(
        tmp_path,
        on_stairs(small_stress("a", 0.1)),
        on_stairs(small_stress("b", 0.25)),
    )
    rows = rows_of(page, "Foothold penalties per step")
    assert rows["Up-35 Foot stumble"][2:] == ["7.40 × QR", "10.83 × QR"]
    charts = [chart.text() for chart in page.find("svg", "chart")]
    words = next(text for text in charts if "Foot stumble, Up-35" in text)
    # Theirs is 0.25 / 0.1 of ours.
    assert " 2.5 " in words
    assert "START 7.40" in words


def test_everything_from_files_is_escaped(tmp_path):
    evil = "<script>alert(1)</script>\"'&$\x00"
    data = small_stress(evil)
    data["cells"][0]["terrain"] = "<img src=x onerror=alert(1)>"
    data["versions"][evil] = evil
    data["protocol"]["name"] = "stress"
    recon = synthetic.recon()
    recon["methods"][evil] = recon["methods"].pop("qr")
    recon["extent_shift"][evil] = recon["extent_shift"].pop("qr")
    curves = synthetic.curriculum()
    curves["runs"][0]["name"] = evil
    other = {**small_stress(), "protocol": {"name": evil}}
    paths = [
        synthetic.write_result(tmp_path / str(k), value)
        for k, value in enumerate((data, recon, curves, other))
    ]
    output = tmp_path / "page.html"
    write_report(read_results(paths)[0], output, title=evil)
    page = parse(output.read_text())
    assert not page.find("script")
    assert all("onerror" not in image.attributes for image in page.find("img"))
    assert "<script>alert(1)</script>" in page.find("h1")[0].text()


def test_failures_are_shown_up_to_a_number(tmp_path):
    page = draw(tmp_path, small_stress(), failures=3, max_failures=2)
    box = page.find("div", "failures")[0]
    assert [c.text() for c in box.find("figcaption")] == [
        "mine/model_7.pt, stones_aligned-8m-0.990, rollout 1, fall, after 1.5 m, told "
        "to walk 0.60 m/s",
        "mine/model_7.pt, stones_aligned-8m-0.990, rollout 2, fall, after 1.5 m, told "
        "to walk 0.60 m/s",
    ]
    assert "2 of 3" in page.find("h3")[0].text()
    for image in box.find("img"):
        assert (image.attributes["src"] or "").startswith("data:image/png;base64,iVBOR")


def test_a_failure_on_the_route_is_told_by_its_walk(tmp_path):
    data = synthetic.route(small_stress())
    data["cells"] = data["cells"][:1]
    (cell,) = data["cells"]
    cell["walks"] = [
        synthetic._walk(0, 0, 0.0, 31.25, "fall"),
        synthetic._walk(1, 0, 0.0, 100.0, "success"),
        synthetic._walk(0, 0, 40.0, 62.5, "left_patch"),
    ]
    synthetic.write_result(tmp_path / "x", small_stress(), 1)
    strip = next((tmp_path / "x" / "failures").iterdir()).read_bytes()
    (tmp_path / "r0" / "failures").mkdir(parents=True)
    cell["failures"] = [f"failures/stage-000-{end}.npz" for end in ("0", "0-1", "0-2")]
    for name in cell["failures"]:
        (tmp_path / "r0" / name).with_suffix(".png").write_bytes(strip)
    captions = draw(tmp_path, data).find("figcaption")
    told = [c.text().removeprefix("mine/model_7.pt, stage-000, ") for c in captions]
    assert told[-3:] == [
        "robot 0, fall, 31.2 m along the route",
        "robot 0, left patch, 62.5 m along the route",
        "robot 0",  # A walk that the file does not know.
    ]


def test_a_failure_on_a_strip_is_told_by_its_element(tmp_path):
    data = small_stress()
    for cell in data["cells"]:
        for rollout in cell["rollouts"]:
            rollout["element"] = "before stones_30"
    page = draw(tmp_path, data, failures=1)
    caption = page.find("div", "failures")[0].find("figcaption")[0].text()
    assert "after 1.5 m, before stones 30, told to walk" in caption


def test_a_video_is_shown_instead_of_the_strip(tmp_path):
    data = small_stress()
    synthetic.write_result(tmp_path / "r0", data, 1)
    (strip,) = (tmp_path / "r0" / "failures").iterdir()
    strip.with_suffix(".mp4").write_bytes(b"\0\0\0\x20ftypisom rest of a video")
    page = draw(tmp_path, data)
    (video,) = page.find("video")
    assert (video.attributes["src"] or "").startswith("data:video/mp4;base64,")
    assert not page.find("div", "failures")[0].find("img")


def test_files_outside_a_result_are_not_put_into_the_page(tmp_path):
    data = small_stress()
    synthetic.write_result(tmp_path / "other", small_stress(), 1)
    strip = next((tmp_path / "other" / "failures").iterdir())
    (tmp_path / "r0" / "failures").mkdir(parents=True)
    (tmp_path / "r0" / "failures" / "text.png").write_text("no picture")
    data["cells"][0]["failures"] = [
        f"../other/failures/{strip.name}",
        str(strip),
        "failures/text.npz",
        "failures/missing.npz",
        "failures/loop.npz",
    ]
    (tmp_path / "r0" / "failures" / "loop.png").symlink_to("loop.png")
    assert not draw(tmp_path, data).find("img")


def test_failures_of_a_bundle_are_found_in_the_folder_of_levels(tmp_path):
    """Also in files from before the paths named the folder of the policy."""
    data = synthetic.levels(SMALL, 1)
    (found,) = data["first"]
    found["policy"] = {"name": "g1/g1.onnx", "sha256": "ab" * 32}
    name = "gap-8m-0.990-3"
    found["cells"][0]["failures"] = [f"failures/{name}.npz"]
    folder = tmp_path / "r0" / "g1-g1-abababab" / "failures"
    folder.mkdir(parents=True)
    Image.new("RGB", (60, 20)).save(folder / f"{name}.png")
    page = draw(tmp_path, data)
    (caption,) = page.find("div", "failures")[0].find("figcaption")
    assert caption.text() == "g1/g1.onnx, gap-8m-0.990, rollout 3"


def test_the_folder_of_one_policy_of_levels_can_be_drawn(tmp_path):
    (found,) = synthetic.levels(SMALL, 1)["first"]
    page = draw(tmp_path, {**found, "aggregates": {}, "protocol": {"name": "levels"}})
    assert "Gap" in rows_of(page, "Success by level of")


def test_the_verdict_counts_numbers_and_names_the_worst():
    def head(what: str, score: Score | None, notes=()) -> Headline:
        return Headline(what, "mine", Cell("1 %"), Cell("2 %"), notes, score)

    heads = [
        head("good", Score(98.0, 97.5, True, 99.0)),
        head("open", Score(90.0, 97.5, True, 98.0)),
        head("bad", Score(50.0, 97.5, True, 60.0), ["4 rollouts"]),
        head("far", Score(10.0, 2.0, False)),  # Five times the error.
        head("silent", None),
    ]
    assert verdict(heads) == (
        "Ours is as good as the paper's in 1 of 4 numbers, worse in 2, too few "
        "rollouts to tell in 1; farthest behind: far of mine, 1 % against 2 % (1 of 4 "
        "not at the paper's scale)."
    )
    assert verdict(heads[-1:]).startswith("No number here")


def test_levels_are_compared_pair_by_pair(tmp_path):
    levels = replace(LEVELS, terrains=("gap", "stairs_up_25"), levels=(0, 5, 9),
                     difficulties=(0.0, 5 / 9, 1.0), rollouts=4)  # fmt: skip
    data = synthetic.levels(levels, seeds=2)
    data["paired"]["hard"] = {
        "first": {"mean": 97.0, "std": 0.5, "count": 2},
        "second": {"mean": 96.5, "std": 0.25, "count": 2},
        "difference": {"mean": -0.5, "std": None, "count": 2},
    }
    page = draw(tmp_path, data)
    rows = rows_of(page, "Success, percent: mean ± standard deviation")
    assert rows["Hard, levels 7–9"] == [
        "97.00 ± 0.50", "96.50 ± 0.25", "−0.50",
        "97.14 ± 0.67", "97.45 ± 0.31", "+0.31 ± 0.66",
    ]  # fmt: skip
    assert rows["Up-25, level 9"][3:] == [
        "97.92 ± 3.61", "98.96 ± 0.90", "+1.04 ± 3.25"
    ]  # fmt: skip
    shades = [td for td in page.find("td") if "data-shade" in td.attributes]
    assert len(shades) == 4 * 2 * 3


def test_offline_comparison_stands_beside_the_paper(tmp_path):
    page = draw(tmp_path, synthetic.recon())
    rows = rows_of(page, "Held-out terrain")
    assert rows["QR"][:6] == [
        "0.54 M", "0.54 M", "3.40 ± 0.08", "2.98 ± 0.07", "4.40 ± 0.10", "3.93 ± 0.07"
    ]  # fmt: skip
    assert rows["QR"][8] == "0.280 ± 0.005"  # Edges one to one; no precision given.
    assert len(rows["QR"]) == 10
    assert rows["flat ground"][1] == "–"
    assert rows["flat ground with noise"][2] == "12.50 ± 0.08"
    notes = [badge.text() for badge in page.find("section")[0].find("span", "badge")]
    assert notes == [
        "sampler teacher 0a1b (paper: the teacher)",
        "60,000 frames (paper: about 249k)",
        "5,000 updates (paper: 15,000)",
    ]
    assert len(page.find("img", "map")) == 2 * 5


def test_the_figure_of_the_comparison_is_taken_where_maps_are_missing(tmp_path):
    path = synthetic.write_result(tmp_path, synthetic.recon(with_examples=False))
    synthetic.write_result(tmp_path / "x", small_stress(), 1)
    strip = next((tmp_path / "x" / "failures").iterdir())
    (tmp_path / "reconstructions.png").write_bytes(strip.read_bytes())
    page = parse(make_page([read_file(path)], "A page").html)
    assert len(page.find("img")) == 1


def test_curves_robustness_route_and_speed(tmp_path):
    stress = small_stress()
    page = draw(
        tmp_path,
        synthetic.curriculum(),
        synthetic.robustness(stress),
        synthetic.route(stress),
        synthetic.BENCH_POLICY,
    )
    assert rows_of(page, "Mean curriculum level")["PPO"][-1] == "below 5.0 PPO"
    rows = rows_of(page, "Success and its loss")
    assert rows["depth images black"][1] == "60.0 [54.0, 66.0]"
    assert "depth of another robot" not in rows  # Nobody has a camera.
    assert "Left out, for lack of a camera: depth of another robot." in page.text()
    rows = rows_of(page, "The route")
    assert rows["Robots that came through without an incident"] == [
        "3 of 6 [19.0, 81.0] %",
        "1 of 1",
    ]
    rows = rows_of(page, "Policy bundle")
    assert rows["Inference, ms"] == ["4.21 ± 0.33 p95 4.90", "1.03 ± 0.21 p95 1.59"]


def test_the_papers_numbers():
    """Read from the paper a second time, by the sentences of its text."""
    means = {m: sum(t.values()) / 8 for m, t in paper.RECON_L1_CM.items()}
    for method, mean in paper.RECON_L1_MEAN_CM.items():
        assert means[method] == pytest.approx(mean, abs=0.01)  # Of rounded numbers.
    mean = paper.RECON_L1_MEAN_CM
    assert round(mean["START"] / mean["QR"], 1) == 3.3
    assert round(mean["DPL"] / mean["QR"], 1) == 4.0
    # "QR lowers overall L1 by 30.9 % versus START and 31.6 % versus DPL"; "F1 increases
    # by 59.4 % and 79.9 %", of numbers before they were rounded.
    qr, start, dpl = (paper.OFFLINE[m] for m in ("QR", "START", "DPL"))
    for other, lower, higher in ((start, 30.9, 59.4), (dpl, 31.6, 79.9)):
        saved = 1 - qr["l1_cm"].mean / other["l1_cm"].mean
        gained = qr["edge_f1"].mean / other["edge_f1"].mean - 1
        assert 100 * saved == pytest.approx(lower, abs=0.2)
        assert 100 * gained == pytest.approx(higher, abs=0.6)
    # "On unseen 10 m scenes DPL and START incur 6.2 and 6.1 times QR's error", of
    # numbers before they were rounded to millimetres.
    far = {method: errors[1] for method, errors in paper.EXTENT_L1_CM.items()}
    assert far["DPL"] / far["QR"] == pytest.approx(6.2, abs=0.15)
    assert far["START"] / far["QR"] == pytest.approx(6.1, abs=0.1)
    for column in paper.ABLATION_COLUMNS:
        first, second, difference = (
            paper.ABLATION[m][column].mean for m in ("MSE+PPO", "TA-MSE", "difference")
        )
        assert second - first == pytest.approx(difference, abs=0.011)
    passed, trials = paper.ISOLATED_TOTAL
    assert sum(successes for _, successes in paper.ISOLATED.values()) == passed
    assert len(paper.ISOLATED) * paper.ISOLATED_TRIALS == trials


def test_intervals_of_means():
    """Student's quantiles as in any table: 3.182 for three degrees of freedom."""
    assert Mean(1.0, None, 1).interval is None
    low, high = Mean(1.0, 2.0, 4).interval or (0.0, 0.0)
    assert (low, high) == pytest.approx((1 - 3.182, 1 + 3.182), abs=1e-3)


def test_the_command_says_what_it_drew(tmp_path, capsys):
    path = synthetic.write_result(tmp_path, small_stress())
    output = tmp_path / "report.html"
    found = Report(results=(path,), output=output).run()
    assert found["sections"] == ["stress"]
    assert found["results"][0]["kind"] == "evaluation"
    assert found["bytes"] == output.stat().st_size
    assert "Wrote" in capsys.readouterr().out
    with pytest.raises(SoloError, match=r"only \.html or \.htm"):
        Report(results=(path,), output=tmp_path / "report.pdf").run()
    page = path.with_suffix(".html")
    page.symlink_to(path)
    with pytest.raises(SoloError, match="is also a result"):
        Report(results=(path,), output=page).run()


def test_a_link_to_itself_is_one_line(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(SoloError, match="loop") as error:
        Report(results=(loop,), output=tmp_path / "report.html").run()
    assert "\n" not in str(error.value)


def test_nothing_heavy_is_imported(tmp_path):
    """A report is drawn where there is no torch, MuJoCo or mjlab."""
    path = synthetic.write_result(tmp_path, small_stress(), 1)
    script = (
        "import sys\n"
        "for name in ('torch', 'mujoco', 'mjlab', 'warp'):\n"
        "    sys.modules[name] = None\n"
        "from pathlib import Path\n"
        "from solo.report.page import write_report\n"
        "from solo.report.read import read_file\n"
        f"files = [read_file(Path({str(path)!r}))]\n"
        f"write_report(files, Path({str(tmp_path / 'a.html')!r}))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert (tmp_path / "a.html").stat().st_size > 10_000


def test_a_page_needs_nothing_else(tmp_path):
    """No address of another file or host in the whole page."""
    data = small_stress()
    path = synthetic.write_result(tmp_path, data, 1)
    html = make_page([read_file(path)], "A page").html
    page = parse(html)
    for node in page.find("img"):
        assert (node.attributes["src"] or "").startswith("data:")
    for node in page.find("link"):
        assert (node.attributes["href"] or "").startswith("data:")
    for node in page.find("a"):
        assert (node.attributes["href"] or "").startswith("#")
    assert "http" not in html
    assert "@import" not in html
    assert "url(" not in html.replace("url(#", "")


def test_numbers_of_older_files_may_be_missing(tmp_path):
    """Only what is drawn must be there."""
    data = small_stress()
    for key in ("versions", "summary", "wall_time_s", "env_steps", "env_steps_per_s"):
        del data[key]
    data["protocol"] = {"name": "stress"}
    data["policy"] = {"name": "old"}
    for cell in data["cells"]:
        del cell["rollouts"], cell["difficulty"], cell["level"], cell["patch_m"]
    page = draw(tmp_path, json.loads(json.dumps(data)))
    assert rows_of(page, "Success with the 95 %")["mean"][0] == "–"
