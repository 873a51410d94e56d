"""A second worker that judges a lab's last checks while the first one judges them in order, so that a check answers sooner.

The verdict stays the same. What the second worker found counts only if the checks before passed, and hints, pictures
and flags are made in order. This is for a person who waits: a class keeps every core busy anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from autograder.grading.spec import Check
from autograder.grading.worker import Worker

Work = Callable[[Worker, Check], Any]


class Ahead:
    """Lends a worker to one submission after another. If it is still busy with one, the next goes on without it."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._thread: threading.Thread | None = None
        self._round: ClaimedChecks | None = None

    @property
    def is_idle(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def begin(self, read: Callable[[Worker], object], work: Work, checks: Sequence[Check]) -> None:
        """Starts on the last of these checks; does nothing where an earlier submission still keeps the worker busy."""
        self.end()
        if self.is_idle:
            self._round = ClaimedChecks()
            arguments = (self.worker, read, work, list(checks))
            self._thread = threading.Thread(target=self._round.run, args=arguments, name="ahead", daemon=True)
            self._thread.start()

    def take(self, check: Check) -> Any:
        """What was found of a check; waits if that is under way. None: the caller has to judge the check."""
        return self._round.take(check.name) if self._round is not None else None

    def skip(self, check: Check) -> None:
        """Nobody needs this check any more."""
        if self._round is not None:
            self._round.claim(check.name)

    def end(self) -> None:
        """From now on no check is begun. Nobody waits for the one under way."""
        if self._round is not None:
            self._round.is_over = True
            self._round = None


class ClaimedChecks:
    """The checks of one submission: each is claimed once, by one side or the other."""

    def __init__(self) -> None:
        self.is_over = False
        self._lock = threading.Lock()
        self._claimed: set[str] = set()
        self._found: dict[str, Future[Any]] = {}

    def claim(self, name: str) -> bool:
        with self._lock:
            is_free = name not in self._claimed
            self._claimed.add(name)
            return is_free

    def take(self, name: str) -> Any:
        self.claim(name)
        with self._lock:
            found = self._found.get(name)
        return found.result() if found is not None else None

    def run(self, worker: Worker, read: Callable[[Worker], object], work: Work, checks: list[Check]) -> None:
        """Judges from the last check backwards until it meets the other side; if it fails itself, that does the rest."""
        try:
            read(worker)
        except Exception:
            return
        for check in reversed(checks):
            found: Future[Any] = Future()
            with self._lock:
                if self.is_over or check.name in self._claimed:
                    return
                self._claimed.add(check.name)
                self._found[check.name] = found
            try:
                found.set_result(work(worker, check))
            except Exception:
                found.set_result(None)
                return
