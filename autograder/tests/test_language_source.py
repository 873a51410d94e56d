"""What a notebook's cells say to Python once IPython's own lines are taken out: nothing else changes, no line moves."""

from __future__ import annotations

import ast
import time

import pytest

from autograder.errors import BrokenDefinition, Line, SubmissionError
from autograder.language import parse_program, submission_from_cells

pytestmark = pytest.mark.quick

KERNEL = "@cuda.jit\ndef k(a):\n    a[0] = 1\n"


def read(text: str) -> str:
    """A cell's text as the grader reads it."""
    return submission_from_cells("lab.ipynb", [("lab.ipynb, code cell 1", text)]).cells[0].text


PYTHON = {
    "remainder on a line of its own": "n = 3\ncol = (\n    7\n    % n\n)\n",
    "not equal on a line of its own": "if (a.shape[1]\n        != b.shape[0]):\n    pass\n",
    "after a backslash": "col = 7 \\\n    % n\nrow = 7 \\\n% n\n",
    "in a string": 'text = """\n%load_ext autograder\n!ls\n"""\n',
    "in a string within brackets": "text = f(\n    '''\n%%bash\n''',\n    n\n    % 2)\n",
    "in a string that a backslash continues": "text = 'a \\\n%d' % 3\n",
    "quotes in a comment": "# it's '''quoted\ncol = (7\n    % n)\n# '''\n",
    "a bracket in a comment and in a string": "x = '('  # (\ny = (7\n% n)\n",
    "an indented continuation in a body": "def f(a, b):\n    return (a\n            % b)\n",
    "blank lines and comments within brackets": "x = [\n\n    # one\n    7\n\n    % n,\n]\n",
}


@pytest.mark.parametrize("name", PYTHON)
def test_what_python_reads_stays_as_it_is(name):
    assert read(PYTHON[name]) == PYTHON[name]


MAGICS = {
    "magic": ("%load_ext autograder\nx = 1\n", "\nx = 1\n"),
    "shell line": ("!pip install -q numba-cuda\nx = 1\n", "\nx = 1\n"),
    "help": ("np.dot?\nk??\n?k\nx = 1\n", "\n\n\nx = 1\n"),
    "what a shell said": ("files, more = !ls\nx = 1\n", "\nx = 1\n"),
    "after quotes in a comment": ("# it's '''\n%load_ext autograder\nx = 1\n# '''\n", "# it's '''\n\nx = 1\n# '''\n"),
    "after a comment that ends in a backslash": ("# c:\\\n%matplotlib inline\n", "# c:\\\n\n"),
    "after a statement of several lines": ("x = (7\n    % n)\n%time f()\n", "x = (7\n    % n)\n\n"),
    "of several lines": ("!pip install x \\\n   --quiet\nx = 1\n", "\n\nx = 1\n"),
    "quotes and brackets in it": ("!echo it's (\n%cd 'a\nx = 1\n", "\n\nx = 1\n"),
    "in a body": ("if a:\n    !pip install x \\\n        --quiet\nelse:\n\t%cd b\n", "if a:\n    pass\n\nelse:\n\tpass\n"),
    "cell magic that times": ("%%time\nx = 1\n", "\nx = 1\n"),
    "cell magic of another program": ("\n%%bash\nls\n", ""),
    "line ends of Windows and of old Macs": ("%cd a\r\nx = 1\r%cd b\ry = 2\r\n", "\nx = 1\n\ny = 2\n"),
    "a cell that is indented as a whole": ("  %cd a\n  x = 1\n  if x:\n    !ls\n", "\nx = 1\nif x:\n  pass\n"),
    "after what Python cannot read": ("x = 'a\n%cd b\n", "x = 'a\n\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", MAGICS)
def test_a_line_of_ipython_goes_and_every_other_stays_on_its_line(name):
    text, expected = MAGICS[name]
    assert read(text) == expected
    if name != "after what Python cannot read":
        ast.parse(expected)


COLAB = "import sys\nif 'google.colab' in sys.modules:\n    !pip install -q numba-cuda\nfrom numba import cuda\n"


@pytest.mark.parametrize("cells", [(COLAB, KERNEL), (COLAB + KERNEL,)], ids=["in two cells", "in one"])
def test_a_notebook_that_installs_numba_on_colab_only_is_read(cells):
    program = parse_program(submission_from_cells("lab.ipynb", [(f"cell {n}", text) for n, text in enumerate(cells)]))
    assert program.function("k").kind == "kernel"


def test_errors_are_told_by_the_lines_of_the_cell():
    program = parse_program(submission_from_cells("lab.ipynb", [("cell 1", "%cd a\n!ls \\\n  -l\nx = (7\n    % n\n")]))
    with pytest.raises(BrokenDefinition, match="never closed") as told:
        program.function("x")
    assert told.value.line == Line("cell 1", 4) and told.value.name == "x"


@pytest.mark.parametrize(
    "line", ["(", "'''", "'a", "x = 'a", "$", "(\n$", "x = [(", "\\", "%a \\", "if x:", "f'{", "\0", "?(", "  x"]
)
def test_no_text_is_read_more_than_once(line):
    text = (line + "\n") * (60_000 // (len(line) + 1)) + "%cd a\n"
    started = time.monotonic()
    read(text)
    assert time.monotonic() - started < 10


BROKEN = (
    "TILE, PADDED = 32, 33\nimport numpy as np, math as m\nfrom numba import int32\nrange = 3\ndef f(a):\n  a = = 1\n"
)
WHOLE = "from numba import cuda\n\n@cuda.jit\ndef f(a):\n    a[0] = 1\n\n@cuda.jit\ndef g(a):\n    a[0] = 1\n"


@pytest.mark.parametrize("name", ["f", "TILE", "PADDED", "np", "m", "int32"])
def test_a_cell_that_python_cannot_read_costs_what_it_alone_sets_out_to_define(name):
    cells = [("cell 1", WHOLE.replace("def f", "def h")), ("cell 2", BROKEN)]
    program = parse_program(submission_from_cells("lab.ipynb", cells))
    assert program.function("g").kind == program.function("h").kind == "kernel"
    with pytest.raises(BrokenDefinition, match="Python cannot read this .*run the cell and mend") as told:
        program.names[name]
    assert told.value.line == Line("cell 2", 6) and f"`{name}`" in told.value.remedy
    assert "range" not in program.names  # means Python's own, as it does in Jupyter


@pytest.mark.parametrize("cells", [(WHOLE, BROKEN), (BROKEN, WHOLE)], ids=["before it", "after it"])
def test_what_another_cell_defines_is_taken_from_there(cells):
    program = parse_program(submission_from_cells("lab.ipynb", [(f"cell {n}", text) for n, text in enumerate(cells)]))
    assert program.function("f").kind == "kernel"


def test_a_decorator_from_a_broken_cell_says_so():
    cells = [("cell 1", "from numba import cuda\nx = = 1\n"), ("cell 2", "@cuda.jit\ndef k(a):\n    a[0] = 1\n")]
    with pytest.raises(BrokenDefinition, match="cell 1, line 2: Python cannot read this"):
        parse_program(submission_from_cells("lab.ipynb", cells)).function("k")


def test_a_file_is_read_whole_or_not_at_all():
    with pytest.raises(SubmissionError, match="lab.py, line 6: Python cannot read this"):
        parse_program(submission_from_cells("lab.py", [("lab.py", BROKEN)], is_notebook=False))


@pytest.mark.parametrize(
    "line", ["def ", "a, " * 9, "x\t" * 9, "import " * 9, "import a.b as c,", "async def", "class 3", "ﬁ=("]
)
def test_no_line_of_a_broken_cell_takes_long_to_look_through(line):
    text = (line * (90_000 // len(line)) + "\n") + "x = (\n"
    started = time.monotonic()
    program = parse_program(submission_from_cells("lab.ipynb", [("cell 1", text)]))
    assert time.monotonic() - started < 5 and "x" in program.names


@pytest.mark.parametrize(
    ("body", "is_empty"),
    [
        ("pass", True), ("...", True), ("return", True), ("return None", True), ('"""What to do."""', True),
        ('"""What to do."""\n    pass  # your code here', True), ("return 0", False), ("a[0] = 1", False),
        ("pass\n    a[0] = 1", False), ("if a:\n        pass", False), ("print(a)", False),
    ],
)  # fmt: skip
def test_a_function_that_does_nothing_is_empty(body: str, is_empty: bool) -> None:
    program = parse_program(submission_from_cells("lab.ipynb", [("code cell 1", f"def f(a):\n    {body}\n")]))
    assert program.functions["f"].is_empty is is_empty
