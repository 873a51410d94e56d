"""A Jupyter server for a test: on a free port of loopback, with settings of its own, and gone afterwards."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

TOKEN = "look"
OPTIONS = ("--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", f"--IdentityProvider.token={TOKEN}")
SECONDS = 60  # the most that a server may take to start, or to answer
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Server:
    """One that runs: `url` ends in a slash, `log` is the file that it writes."""

    url: str
    log: Path

    def ask(self, path: str, method: str = "GET") -> tuple[str, bytes]:
        """The address at which a request ends, without its query, and what is there; fails with the server's log."""
        request = urllib.request.Request(self.url + path, method=method, headers={"Authorization": f"token {TOKEN}"})
        try:
            with _DIRECT.open(request, timeout=SECONDS) as answer:
                return answer.url.partition("?")[0], answer.read()
        except (urllib.error.URLError, OSError) as problem:
            raise AssertionError(f"{method} {path}: {problem}\n{self.said()}") from None

    def get(self, path: str) -> Any:
        """The JSON that is there."""
        return json.loads(self.ask(path)[1])

    def said(self) -> str:
        """The end of its log."""
        return "The server said:\n" + self.log.read_text(encoding="utf-8", errors="replace")[-4000:]


def places(folder: Path) -> dict[str, str]:
    """The environment in which Jupyter keeps all that is a user's own in this folder."""
    found = {f"JUPYTER_{kind}_DIR": folder / kind.lower() for kind in ("CONFIG", "DATA", "RUNTIME")}
    found |= {f"JUPYTERLAB_{kind}_DIR": folder / kind.lower() for kind in ("SETTINGS", "WORKSPACES")}
    return {name: str(path) for name, path in (found | {"IPYTHONDIR": folder / "ipython"}).items()}


@contextmanager
def served(command: Sequence[str], at: Path, folder: Path, **environment: str) -> Iterator[Server]:
    """Runs `command` in the folder `at` until the block ends; settings, runtime files and log are in `folder`.

    What a user has set up on this machine is neither read nor changed. `environment` is set on top.
    """
    log = folder / "server.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=at,
            env=os.environ | places(folder) | environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    server = Server("", log)
    try:
        end = time.monotonic() + SECONDS
        while not (url := _listening(Path(places(folder)["JUPYTER_RUNTIME_DIR"]))):
            assert process.poll() is None, f"JupyterLab does not start.\n{server.said()}"
            assert time.monotonic() < end, f"JupyterLab did not start within {SECONDS} s.\n{server.said()}"
            time.sleep(0.1)
        yield Server(url, log)
    finally:
        _end(process)


def _listening(runtime: Path) -> str:
    """The address that the server has noted, once it can be reached: it notes it a moment before. Else nothing."""
    for path in runtime.glob("jpserver-*.json"):
        try:
            url = json.loads(path.read_text(encoding="utf-8"))["url"]
            socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=SECONDS).close()
        except (OSError, ValueError):  # ValueError: it is being written
            return ""
        return url
    return ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it and all that it has started, kernels included: asked first, then made to."""
    try:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    for each in family:
        try:
            each.terminate()
        except psutil.NoSuchProcess:
            pass
    for each in psutil.wait_procs(family, timeout=15)[1]:
        each.kill()
    process.wait(timeout=15)
