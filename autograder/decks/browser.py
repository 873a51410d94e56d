"""A headless Chromium, driven over its DevTools protocol: prints decks, photographs them, lets tests look at them."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.errors import GraderFault

WIDTH, HEIGHT = 1280, 720
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
_QUIETLY = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-popup-blocking",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-port=0",
)
_ACCESSIBLE = {"generateTaggedPDF": True, "generateDocumentOutline": True}  # read aloud; slides as bookmarks


def find_browser() -> str | None:
    """The program in $BROWSER, or a Chromium, Chrome or Edge where they usually are; None where there is none."""
    named = os.environ.get("BROWSER")
    candidates = [named] if named else [*_NAMES, *_PLACES]
    return next((found for each in candidates if (found := shutil.which(each))), None)


class Browser:
    """One page of a browser of its own; a context manager.

    `requests` are the addresses that the page asked for, `complaints` what its console said of errors.
    """

    def __init__(self, program: str, seconds: float = 60) -> None:
        self._program = program
        self._seconds = seconds
        self._count = 0
        self._session = ""
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def __enter__(self) -> Browser:
        self._profile = tempfile.TemporaryDirectory(prefix="deck-", ignore_cleanup_errors=True)
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # Chromium refuses to sandbox for root
        options = [*_QUIETLY, *(["--no-sandbox"] if is_root else []), f"--user-data-dir={self._profile.name}"]
        self._process = subprocess.Popen(
            [self._program, *options, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._profile.cleanup()

    def open(self, page: Path, query: str = "") -> None:
        """Opens a deck from disk and waits until it can be shown."""
        self.requests.clear()
        self.complaints.clear()
        self.call("Page.navigate", url=page.resolve().as_uri() + query)
        self.wait_for("document.readyState === 'complete' && window.Reveal && Reveal.isReady()")

    def steps(self) -> Iterator[tuple[int, int]]:
        """Walks through the deck key by key, as a speaker does: yields (slide, step), both from 1, once on screen."""
        self.evaluate("Reveal.slide(0, 0, -1)")
        previous, step = -1, 0
        while True:
            slide = self.evaluate("Reveal.getIndices().h") + 1
            step = step + 1 if slide == previous else 1
            previous = slide
            self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            yield slide, step
            before = self.evaluate("JSON.stringify(Reveal.getState())")
            self.evaluate("Reveal.next()")
            if self.evaluate("JSON.stringify(Reveal.getState())") == before:
                return

    def write_pdf(self, page: Path, path: Path, more: str = "") -> None:
        """Prints the deck as a handout: a page for each slide, builds at their end; `more` is added to the address."""
        self.open(page, f"?view=print{more}")
        self.wait_for("document.querySelectorAll('.pdf-page').length > 0")
        printed = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True, **_ACCESSIBLE)
        path.write_bytes(base64.b64decode(printed["data"]))

    def write_pictures(self, page: Path, folder: Path) -> int:
        """Writes one PNG for each step of each slide; returns how many."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.open(page)
        for slide, step in self.steps():
            picture = self.call("Page.captureScreenshot", format="png")
            (folder / f"{slide:02}_{step:02}.png").write_bytes(base64.b64decode(picture["data"]))
        return len(list(folder.glob("*.png")))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise GraderFault(f"The page cannot evaluate {expression[:80]!r}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Waits until the expression is true."""
        end = time.monotonic() + self._seconds
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise GraderFault(f"The page never came to {expression!r}.")
            time.sleep(0.05)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the DevTools protocol and its answer; what the page reports meanwhile is noted."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        self._socket.send(json.dumps({**message, "sessionId": self._session} if self._session else message))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv())
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise GraderFault(f"The browser refuses {method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        method, what = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(what["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([each.get("value", each.get("description")) for each in what["args"]]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.complaints.append(what["entry"]["text"])

    def _connect(self) -> None:
        import websocket

        noted = Path(self._profile.name) / "DevToolsActivePort"
        end = time.monotonic() + self._seconds
        while not noted.exists() or len(noted.read_text(encoding="utf-8").split()) < 2:
            if time.monotonic() > end or self._process.poll() is not None:
                raise GraderFault(f"{self._program} does not start.", remedy="Set BROWSER to one that does.")
            time.sleep(0.05)
        port, path = noted.read_text(encoding="utf-8").split()
        self._socket = websocket.create_connection(
            f"ws://127.0.0.1:{port}{path}", timeout=self._seconds, suppress_origin=True, http_no_proxy=["127.0.0.1"]
        )
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=1, mobile=False)
