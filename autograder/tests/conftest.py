"""The order of all tests, and what the tests of every lab share: a worker in which its answers run, on each device."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from autograder.grading.grade import check_submission
from autograder.grading.spec import Lab
from autograder.grading.worker import Worker
from autograder.records.results import Result
from autograder.tests import seconds
from autograder.tests.known_answers import DEVICES

RARELY = (2_000, 20, 100)  # objects made before a look for garbage among the new ones, such looks before one further back
LEFT = "others of its kind are tested: `make test-all`, or pytest --everything, has all of them"
TOO_LONG = "quicker cases of this test are tried: `make test-all`, or pytest with this file or --everything, has all of them"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: a test that waits, for a worker or for a run that it stops, leaves one idle."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end. To look for garbage among it, now and later, took a quarter of the collecting."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    gc.set_threshold(*RARELY)
    return collected


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--everything", action="store_true", help="run what is marked `rest` too, as `make test-all` does")
    parser.addoption("--write-seconds", action="store_true", help="write down how long cases take, for `make test`")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked `rest` is skipped, but with --everything, and so is what seconds.py leaves out.

    Files with a test marked `long` come first, the longest before all others, else one core works on the last of them while
    the others are done.
    """
    for item in items if not config.getoption("everything") else ():
        if item.get_closest_marker("rest"):
            item.add_marker(pytest.mark.skip(reason=LEFT))
    if not config.getoption("everything") and len({item.path for item in items}) > seconds.FEW_FILES:
        of_many = (item.nodeid for item in items if not item.get_closest_marker("covering"))
        too_long = seconds.left_out(seconds.kept(), of_many)
        for item in items:
            if item.nodeid in too_long:
                item.add_marker(pytest.mark.skip(reason=TOO_LONG))
    longest: dict[Path, float] = {}
    for item in items:
        for mark in item.iter_markers("long"):
            longest[item.path] = max(longest.get(item.path, 0), *mark.args, 1)
    items.sort(key=lambda item: -longest.get(item.path, 0))


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that hears of all tests writes down how long they took."""
    if config.getoption("write_seconds") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Stopwatch())


class Stopwatch:
    """How long each case took, what was made ready for it included."""

    def __init__(self) -> None:
        self.took: defaultdict[str, float] = defaultdict(float)
        self.skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "covering" not in report.keywords:
            self.took[report.nodeid] += report.duration
            self.skipped |= {report.nodeid} if report.skipped else set()

    def pytest_sessionfinish(self) -> None:
        seconds.write({name: self.took[name] for name in self.took if name not in self.skipped}, self.took)


@pytest.fixture(scope="session")
def simulated() -> Iterator[Worker]:
    """For every test that asks nothing special of its worker: to start one takes longer than to grade with it."""
    with Worker("simulated") as running:
        running.start()  # here, and not with the environment or in the folder of the first test that asks for it
        yield running


@pytest.fixture(scope="module", params=DEVICES)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """For what is graded on each device."""
    if request.param == "simulated":
        yield request.getfixturevalue("simulated")
        return
    with Worker(request.param) as running:
        yield running


@pytest.fixture(scope="module")
def graded(worker: Worker) -> Callable[[Lab, Path], Result]:
    """Grades a file, once for all tests of a module that ask for its result."""
    results: dict[tuple[str, Path], Result] = {}

    def grade(lab: Lab, path: Path) -> Result:
        if (lab.name, path) not in results:
            results[lab.name, path] = check_submission(lab, path, worker=worker)
        return results[lab.name, path]

    return grade
