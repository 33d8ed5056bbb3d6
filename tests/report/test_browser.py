"""The page in a real browser: no errors, no requests, nothing wider than the window."""

from __future__ import annotations

import json

import pytest

from solo.report.page import write_report
from solo.report.read import read_results
from tests.report import synthetic
from tests.report.browser import Browser, open_browser
from tests.report.small import SMALL, small_stress

pytestmark = pytest.mark.slow

_OVERFLOWS = """
[...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.right > innerWidth + 1 && !e.closest('.scroll') && !e.closest('svg');
}).map(e => e.tagName + '.' + e.className)
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with every kind of section, and a policy with a long name."""
    folder = tmp_path_factory.mktemp("report")
    long_name = "a" * 90 + "/model_5000.pt"
    stress = small_stress(long_name)
    datas = [
        stress,
        small_stress("b/model_1.pt", 0.3),
        synthetic.recon(),
        synthetic.extent("qr/model_5000.pt", 1.5, 2.0),
        synthetic.curriculum(),
        synthetic.levels(SMALL, 1),
        {**stress, "protocol": {"name": "isolated"}},
        {**stress, "protocol": {"name": "course"}},
        {**stress, "protocol": {"name": "something new"}},
        synthetic.robustness(stress),
        synthetic.route(stress),
        synthetic.BENCH_POLICY,
        synthetic.BENCH_SIM,
        synthetic.BENCH_TRAIN,
    ]
    paths = [
        synthetic.write_result(folder / str(k), json.loads(json.dumps(data)), 1)
        for k, data in enumerate(datas)
    ]
    output = folder / "report.html"
    write_report(read_results(paths)[0], output)
    return output


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, False), (400, True)])
def test_it_fits_and_is_quiet(page, browser: Browser, width, dark):
    browser.open(page, width, dark)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(f"JSON.stringify({_OVERFLOWS})") == "[]"
    assert browser.troubles == []
    others = [url for url in browser.requests if not url.startswith("data:")]
    assert others == [page.as_uri()]


def test_every_section_and_figure_is_there(page, browser: Browser):
    browser.open(page, 1280)
    anchors = browser.ask("[...document.querySelectorAll('section')].map(s => s.id)"
                          ".join(' ')")  # fmt: skip
    assert anchors == (
        "stress recon extent curriculum levels isolated course route robustness "
        "jobs-something-new bench"
    )
    # Bars of three protocols, multiples, two curve charts of extents, curriculum,
    # levels, tracks, errors, disturbances and maps.
    sizes = browser.ask(
        "JSON.stringify([...document.querySelectorAll('figure svg')].map(e => {"
        "const b = e.getBoundingClientRect(); return [b.width, b.height]}))"
    )
    boxes = json.loads(sizes)
    assert len(boxes) >= 10
    assert all(width > 80 and height > 60 for width, height in boxes)
    images = browser.ask("[...document.images].every(i => i.naturalWidth > 0)")
    assert images is True
    assert browser.ask("document.querySelectorAll('.failures img').length") >= 2


def test_text_of_charts_is_readable_when_narrow(page, browser: Browser):
    browser.open(page, 400)
    smallest = browser.ask(
        "Math.min(...[...document.querySelectorAll('figure svg text')].map(t => "
        "parseFloat(getComputedStyle(t).fontSize) * "
        "Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b)))"
    )
    assert smallest > 7.5


def test_dark_and_light_differ(page, browser: Browser):
    grounds = []
    for dark in (False, True):
        browser.open(page, 1280, dark)
        grounds.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(18, 22, 28)"]


def test_links_lead_somewhere(page, browser: Browser):
    browser.open(page, 1280)
    dead = browser.ask(
        "[...document.querySelectorAll('a')].filter(a => "
        "!document.querySelector(a.getAttribute('href'))).length"
    )
    assert dead == 0
