"""The README's Python runs as it stands, in a fresh notebook kernel."""

from __future__ import annotations

import re
from html import unescape

import pytest

from autograder.decks.execution import Executed, Output, execute
from autograder.decks.source import CodeBlock, Deck, Slide, Text
from autograder.errors import Line
from autograder.tests.test_layout_repository import README, ROOT

# What the reader is expected to have written: any kernel and its launch.
READER = """
import numpy as np
from numba import cuda

@cuda.jit
def kernel(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]

grid, block = 4, 64
a, b, c = np.ones(250, np.float32), np.ones(250, np.float32), np.zeros(250, np.float32)
"""


@pytest.fixture(scope="module")
def executed() -> Executed:
    """The README's Python block as a notebook would run it, a cell for each statement."""
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example is not None
    load, statements = example[1].split("\n", 1)
    cells = [load, READER, *(line for line in statements.splitlines() if line.strip())]
    parts = tuple(CodeBlock(code, Line("README.md", number)) for number, code in enumerate(cells, start=1))
    notes = Text("", Line("README.md", 0))
    return execute(Deck("readme", "README", (Slide("README", "plain", parts, notes, 0, notes.line),)), ROOT)


def test_the_readme_s_example_runs(executed: Executed) -> None:
    """The reader has not solved lab 1, so `check` names what is missing; `profile` shows the reader's kernel."""
    *_, checked, profiled = (_words(outputs) for outputs in executed.outputs.values())
    assert "One thread, one element" in checked
    assert "matmul" in checked
    assert "c[i] = a[i] + b[i]" in profiled


def _words(outputs: tuple[Output, ...]) -> str:
    return unescape(re.sub(r"<[^>]+>", "", "".join(output.data for output in outputs)))
