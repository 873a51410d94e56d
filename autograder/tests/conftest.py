"""What the tests of every lab share: a worker in which its answers run, on each device that there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.grading.worker import Worker
from autograder.tests.known_answers import DEVICES


@pytest.fixture(scope="module", params=DEVICES)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with Worker(request.param) as running:
        yield running
