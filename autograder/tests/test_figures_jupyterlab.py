"""A freshly cloned lesson in a real JupyterLab: nobody ran it, so it is not trusted, and still its pictures are seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from autograder.decks.browser import Browser, find_browser
from autograder.figures import Figure, bars
from autograder.figures.svg import Canvas

BARS = bars({"copy": 2.0, 'a "quoted" <name>': 1.0}, title="Twice as fast", unit="GB/s")
WIDE = Canvas().figure(2000, 300, "A card 2,000 pixels wide, which no laptop's window has room for")
LOOK = """JSON.stringify([...document.querySelectorAll('.jp-OutputArea-output img')].map(
    image => [image.alt, image.complete, image.naturalWidth, image.clientWidth, image.parentElement.clientWidth]))"""


def notebook_of(figures: list[Figure]) -> str:
    import nbformat

    cells = [
        nbformat.v4.new_code_cell(
            "figure", outputs=[nbformat.v4.new_output("display_data", figure._repr_mimebundle_())]
        )
        for figure in figures
    ]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The notebook's address in a JupyterLab of this test's own, which has never trusted anything."""
    pytest.importorskip("jupyterlab")
    if find_browser() is None:
        pytest.skip("no Chromium, Chrome or Edge found: nobody looked at JupyterLab (set BROWSER to one)")
    folder = tmp_path_factory.mktemp("jupyterlab")
    (folder / "work").mkdir()
    (folder / "work" / "lesson.ipynb").write_text(notebook_of([BARS, WIDE]), encoding="utf-8")
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--IdentityProvider.token=look"]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options, f"--notebook-dir={folder / 'work'}"],
        env=os.environ | own | {"JUPYTERLAB_SETTINGS_DIR": str(folder), "JUPYTERLAB_WORKSPACES_DIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 60
        while not (noted := list((folder / "runtime").glob("jpserver-*.json"))):
            assert time.monotonic() < end and server.poll() is None, "JupyterLab does not start"
            time.sleep(0.1)
        port = json.loads(noted[0].read_text(encoding="utf-8"))["port"]
        yield f"http://127.0.0.1:{port}/lab/tree/lesson.ipynb?token=look"
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.mark.parametrize("window", [1100, 1600])
def test_a_notebook_that_nobody_ran_shows_its_pictures_whole_and_says_what_they_show(address: str, window: int) -> None:
    with Browser(find_browser()) as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=window, height=800, deviceScaleFactor=1, mobile=False)
        browser.call("Page.navigate", url=address)
        browser.wait_for("document.querySelectorAll('.jp-OutputArea-output img').length === 2")
        browser.wait_for("[...document.querySelectorAll('.jp-OutputArea-output img')].every(i => i.complete)")
        small, wide = json.loads(browser.evaluate(LOOK))
    assert [small[0], wide[0]] == [BARS.alt, WIDE.alt]
    assert small[2] > 100 and wide[2] == 2000, "drawn, at the size that the SVG has"
    assert small[3] == small[2] and wide[3] <= wide[4] < 2000, "as large as drawn, and no wider than its page"
