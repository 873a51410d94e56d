"""The order of all tests, and what the tests of every lab share: a worker in which its answers run, on each device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.grading.worker import Worker
from autograder.tests.known_answers import DEVICES


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with a test marked `long` come first, else one core works on the last of them while the others are done."""
    long = {item.path for item in items if item.get_closest_marker("long")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="module", params=DEVICES)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with Worker(request.param) as running:
        yield running
