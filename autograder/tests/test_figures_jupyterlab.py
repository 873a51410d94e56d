"""Notebooks in a real JupyterLab: freshly cloned, which nobody ran and JupyterLab does not trust, and one's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from autograder.decks.browser import Browser, find_browser
from autograder.figures import bars
from autograder.figures.svg import Canvas
from autograder.grading.notebook import Report
from autograder.reports.source_heat import annotated
from autograder.tests import sample_results as samples
from autograder.tests.jupyter_server import OPTIONS, TOKEN, places, served

BARS = bars({"copy": 2.0, 'a "quoted" <name>': 1.0}, title="Twice as fast", unit="GB/s")
WIDE = Canvas().figure(2000, 300, "A card 2,000 pixels wide, which no laptop's window has room for")
OUTPUTS = [
    BARS._repr_mimebundle_(),
    WIDE._repr_mimebundle_(),
    {"text/html": annotated(samples.LINES)},
    {"text/html": Report(samples.transposed_mapping())._repr_html_()},
]
IMAGES = "[...document.querySelectorAll('.jp-OutputArea-output > img')]"
SIZES = f"{IMAGES}.map(i => [i.alt, i.naturalWidth, i.clientWidth, i.parentElement.clientWidth])"
TABLE = """(code => [getComputedStyle(code).backgroundColor, getComputedStyle(code.parentElement).textAlign])(
    document.querySelector('td.source code'))"""
CHECKS = """[...document.querySelectorAll('section.check')].map(check => [
    check.children[0].getBoundingClientRect().top - check.children[1].getBoundingClientRect().top,
    [...check.querySelectorAll('button')].length])"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A JupyterLab of this test's own: it trusts own.ipynb and not cloned.ipynb, which show the same."""
    pytest.importorskip("jupyterlab")
    if find_browser() is None:
        pytest.skip("no Chromium, Chrome or Edge found: nobody looked at JupyterLab (set BROWSER to one)")
    import nbformat

    folder = tmp_path_factory.mktemp("jupyterlab")
    (folder / "work").mkdir()
    for name in ("cloned", "own"):
        outputs = [nbformat.v4.new_output("display_data", data) for data in OUTPUTS]
        cells = [nbformat.v4.new_code_cell(name, outputs=[output]) for output in outputs]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "work" / f"{name}.ipynb")
    trust = [sys.executable, "-m", "nbformat.sign", str(folder / "work" / "own.ipynb")]
    subprocess.run(trust, check=True, env=os.environ | places(folder), stdout=subprocess.DEVNULL)
    with served([sys.executable, "-m", "jupyterlab", *OPTIONS], folder / "work", folder) as server:
        yield server.url


def look(address: str, notebook: str, window: int, *expressions: str) -> list[Any]:
    """What the expressions give in a window of this width once the notebook's outputs are there."""
    chromium = find_browser()
    assert chromium is not None  # looked for above
    with Browser(chromium) as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=window, height=800, deviceScaleFactor=1, mobile=False)
        browser.call("Page.navigate", url=f"{address}lab/tree/{notebook}.ipynb?reset&token={TOKEN}")
        browser.wait_for("document.querySelector('section.check')")
        browser.wait_for(f"{IMAGES}.length === 2 && {IMAGES}.every(image => image.complete)")
        return [json.loads(browser.evaluate(f"JSON.stringify({each})")) for each in expressions]


def seen_whole(small: list[Any], wide: list[Any]) -> bool:
    """Drawn, with words, as large as the SVG and no wider than the page."""
    assert [small[0], wide[0]] == [BARS.alt, WIDE.alt]
    assert small[1] > 100 and wide[1] == 2000
    return small[2] == small[1] and wide[2] <= wide[3] < 2000


def test_a_clone_that_nobody_ran_shows_its_pictures_and_can_be_read_without_its_styles(address: str) -> None:
    pictures, (_, side), checks = look(address, "cloned", 1100, SIZES, TABLE, CHECKS)
    assert seen_whole(*pictures)
    assert side == "left"
    assert checks and all(abs(apart) < 2 for apart, _ in checks), "a check's outcome and title share a line"
    assert not any(buttons for _, buttons in checks), "a button that nothing listens to"


def test_in_a_notebook_that_was_run_a_table_s_source_has_no_background_of_jupyterlab_s(address: str) -> None:
    pictures, (background, _) = look(address, "own", 1600, SIZES, TABLE)
    assert seen_whole(*pictures)
    assert background == "rgba(0, 0, 0, 0)"
