"""A class graded on a Dask cluster: each submission travels to a cluster's worker as bytes and comes back as a result.

Optional: needs `dask` and `distributed` here and on the cluster, and this package with the same labs on the cluster.
https://distributed.dask.org/en/stable/client.html
"""

from __future__ import annotations

import atexit
import itertools
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import GraderFault, KitError, MachineFault, UsageError
from autograder.grading.batch import ClassBatch, checked, progress_of, with_entry
from autograder.grading.cards import Cards
from autograder.grading.grade import PUBLIC_SEED, unreadable
from autograder.grading.identity import grader_version, result_key
from autograder.grading.jobs import Greeting, Limits
from autograder.grading.labs import lab_digest, load_lab, with_hidden_checks
from autograder.grading.spec import Lab
from autograder.grading.submissions import Entry
from autograder.grading.worker import Worker
from autograder.records.json_form import from_text, to_text, write_result
from autograder.records.results import Result

CONNECT_SECONDS = 15
SECONDS_BETWEEN_LOOKS = 5.0
AHEAD = 4  # submissions under way for each thread of the cluster: none waits for the next one
INSTALL = "Install it with: python -m pip install dask distributed"


@dataclass(frozen=True)
class Introduction:
    """What a worker of the cluster says of itself: its device, the grader's version and the lab's digest."""

    greeting: Greeting
    version: str
    lab: str


def of_one_kind(greetings: Mapping[str, Greeting]) -> tuple[Greeting, list[str]]:
    """The device that a class is graded on and the workers (addresses) that have it: GPUs before simulated ones, of several
    kinds of GPU the one that most have. One class's verdicts are of one device."""
    by_device: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for address, each in greetings.items():
        by_device[each.source == "measured", each.device].append(address)
    (_, _), addresses = max(by_device.items(), key=lambda each: (each[0][0], len(each[1]), each[0][1]))
    return greetings[addresses[0]], addresses


class DaskBatch(ClassBatch):
    """Like `ClassBatch`, with the workers of the cluster at `address` in place of processes here."""

    def __init__(
        self,
        lab: Lab,
        out: Path,
        *,
        address: str,
        device: str = "auto",
        seed: str = PUBLIC_SEED,
        limits: Limits | None = None,
        regrade: bool = False,
    ) -> None:
        super().__init__(lab, out, device=device, seed=seed, limits=limits, regrade=regrade)
        self._workers: list[str] = []  # the addresses of those that grade; empty: any
        self._none_left = threading.Event()
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("--dask needs the package distributed, which is not installed.", remedy=INSTALL) from None
        try:
            self._client = Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as problem:
            raise UsageError(f"No Dask scheduler answers at {address}: {problem}.") from None

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._client.close()

    def grade(self, entries: Iterable[Entry], progress: bool = False) -> list[Result]:
        """Rows of the results, in the order of `entries`; on Ctrl-C those that are done stay on disk and the rest is
        cancelled."""
        from distributed import as_completed

        entries = list(entries)
        greeting = self._greeting()
        rows: dict[int, Result] = {}
        waiting: dict[Any, int] = {}
        places = enumerate(entries)

        def submitted(most: int) -> Iterator[Any]:
            """The next so many that are to be graded, under way; what needs no grading is done with."""
            while most > 0 and (following := next(places, None)) is not None:
                place, entry = following
                try:
                    found = self._at_once(entry, greeting)
                    if isinstance(found, str):
                        future = self._submit(entry, found)
                        waiting[future] = place
                        most -= 1
                        yield future
                        continue
                except MachineFault:
                    raise
                except Exception as problem:  # one submission's trouble is one row, and tried again next time
                    found = self.failed(entry, problem)
                rows[place] = self.row_of(found)
                done_one()

        try:
            with progress_of(len(entries), progress) as done_one, self._watched(waiting):
                threads = sum(self._client.nthreads().values())
                under_way = as_completed(submitted(max(AHEAD * threads, 1)))
                for future in under_way:  # few at a time: what is under way is in the memory of the cluster and here
                    place = waiting.pop(future)
                    rows[place] = self.row_of(self._received(entries[place], future))
                    done_one()
                    for following in submitted(1):
                        under_way.add(following)
        except BaseException:
            self._client.cancel(list(waiting))
            if self._none_left.is_set():
                what = f"No Dask worker that grades on {greeting.device} is left."
                raise GraderFault(what, remedy="Start one and give the same command again.") from None
            raise
        return [rows[place] for place in range(len(entries))]

    def _greeting(self) -> Greeting:
        """What the cluster grades with; raises `GraderFault` where it has no worker or another version than ours."""
        addresses = list(self._client.scheduler_info()["workers"])
        if not addresses:
            raise GraderFault("The Dask cluster has no workers.")
        asked = {
            each: self._client.submit(introduce, self.lab.name, self._device, workers=[each], pure=False)
            for each in addresses
        }
        found: dict[str, Introduction] = {}
        problems: dict[str, Exception] = {}
        for address, future in asked.items():
            try:
                found[address] = Introduction(*future.result())
            except Exception as problem:  # the cluster's worker may lack anything, this package above all
                problems[address] = problem
        for each in found.values():
            if each.version != grader_version():
                raise GraderFault("The Dask cluster has another version of the grader than this machine.")
            if each.lab != lab_digest(load_lab(self.lab.name)):
                raise GraderFault(f"The Dask cluster has another {self.lab.name} than this machine.")
        if not found:
            first = next(iter(problems.values()))
            if isinstance(first, KitError):
                raise first
            raise GraderFault(f"The Dask cluster cannot grade: {type(first).__name__}: {first}") from None
        greeting, self._workers = of_one_kind({address: each.greeting for address, each in found.items()})
        if others := len(addresses) - len(self._workers):
            what = f"{others} of the {len(addresses)} Dask workers grade nobody"
            self.remarks.append(f"{what}: the class is graded on {greeting.device}.")
        else:
            self._workers = []  # all: those that join or are started again may grade as well
        return greeting

    def _at_once(self, entry: Entry, greeting: Greeting) -> Result | str:
        """A result that needs no grading, else the key to grade under."""
        path = self._path(entry)
        problem, key = entry.problem, ""
        if not problem:
            try:
                key = result_key(self.lab, entry.path, self.seed, greeting.device, entry.flags)
            except OSError as reason:
                problem = f"{entry.shown_as} cannot be read: {reason.strerror}."
        if problem:
            result = with_entry(entry, unreadable(self.lab, entry.student, entry.shown_as, problem, greeting))
            write_result(result, path)
            return result
        known = None if self.regrade else self.earlier_result(path, key, entry)
        return known if known is not None else key

    def _submit(self, entry: Entry, key: str) -> Any:
        hidden = self.lab.hidden_spec.read_text(encoding="utf-8") if self.lab.hidden_spec else ""
        about_it = {"student": entry.student, "shown_as": entry.shown_as, "seed": self.seed, "key": key}
        return self._client.submit(
            grade_bytes, self.lab.name, hidden, self._device, entry.path.name, entry.path.read_bytes(), about_it,
            pure=False, retries=1, workers=self._workers or None,
        )  # fmt: skip

    @contextmanager
    def _watched(self, waiting: Mapping[Any, int]) -> Iterator[None]:
        """Cancels what waits for workers of one kind where none of them is left: no other may take it over."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(SECONDS_BETWEEN_LOOKS):
                with suppress(Exception):  # the cluster itself has gone: waiting for it ends by itself
                    if not set(self._workers) & set(self._client.scheduler_info()["workers"]):
                        self._none_left.set()
                        self._client.cancel(list(waiting))
                        return

        if self._workers:
            threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def _received(self, entry: Entry, future: Any) -> Result:
        try:
            result = with_entry(entry, from_text(future.result()))
        except CancelledError:
            raise
        except Exception as problem:  # one submission's trouble on the cluster is one row, and tried again next time
            return self.failed(entry, problem)
        try:
            write_result(result, self._path(entry))
        except MachineFault:
            raise
        except Exception as problem:
            return self.failed(entry, problem)
        return result


# ---- on the cluster --------------------------------------------------------------------------------

_workers: dict[tuple[int, str], Worker] = {}  # a process with submissions for each thread of the cluster's worker
_hidden_specs: dict[str, Path] = {}
_numbers, _counting = itertools.count(), threading.Lock()


def introduce(lab: str, device: str) -> tuple[Greeting, str, str]:
    """What this machine grades with: its device, the grader's version and the lab's digest."""
    return _worker(device).greeting, grader_version(), lab_digest(load_lab(lab))


def grade_bytes(lab: str, hidden: str, device: str, name: str, data: bytes, about_it: dict[str, Any]) -> str:
    """One submission's result as JSON; its text is written to a file of its own for as long as it is graded."""
    loaded = load_lab(lab)
    loaded = with_hidden_checks(loaded, _hidden_spec(hidden)) if hidden else loaded
    with tempfile.TemporaryDirectory(prefix="autograder-dask-") as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return to_text(checked(loaded, path, _worker(device), **about_it))


def _worker(device: str) -> Worker:
    """This thread's process with submissions; each thread has the next card, where the machine shows several of a kind."""
    mine = (threading.get_ident(), device)
    if mine not in _workers:
        worker = Worker(device)
        used = Cards.of(worker.greeting.cards).used
        if len(used) > 1:  # a single one is what it has already
            with _counting:
                card = used[next(_numbers) % len(used)]
            worker.close()
            worker = Worker(device, card=card)
        _workers[mine] = worker
        atexit.register(worker.close)
    return _workers[mine]


def _hidden_spec(text: str) -> Path:
    """The hidden spec as a file here; raises `OSError` where it cannot be written."""
    if text not in _hidden_specs:
        folder = tempfile.mkdtemp(prefix="autograder-hidden-")
        _hidden_specs[text] = Path(folder) / "hidden_spec.py"
        _hidden_specs[text].write_text(text, encoding="utf-8")
    return _hidden_specs[text]
