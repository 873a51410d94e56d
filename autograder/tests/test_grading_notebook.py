"""`check` in a notebook: the cells that a session has run, in order, give the verdict of the saved notebook."""

from __future__ import annotations

import json

import pytest

from autograder.errors import UsageError
from autograder.grading.grade import check_submission
from autograder.grading.labs import labs_root, load_lab
from autograder.grading.notebook import _lab_of, _with_saved_numbers, as_saved, defining_cells
from autograder.grading.worker import Worker

pytestmark = pytest.mark.long


def transformed(text):
    """What IPython makes of a cell; it is imported here, since every process that collects tests imports this file."""
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager().transform_cell(text)


def kept(*texts):
    """(texts of the cells that matter in their order, names defined) after running these cells one after another."""
    history = [(f"In [{number}]", text) for number, text in enumerate(texts, start=1)]
    cells, defined = defining_cells(history, transformed)
    return [cell.text for cell in cells], defined


KERNEL = "@cuda.jit\ndef k(a):\n    a[0] = 1"
BETTER = "@cuda.jit\ndef k(a):\n    a[0] = 2"


def test_the_last_definition_of_a_name_counts_in_its_first_place():
    cells, defined = kept("from numba import cuda", "BLOCK = 16", KERNEL, "GRID = BLOCK", BETTER, "BLOCK = 32")
    assert cells == ["from numba import cuda", "BLOCK = 32", BETTER, "GRID = BLOCK"]
    assert defined == {"cuda", "BLOCK", "k", "GRID"}


def test_cells_that_define_nothing_or_failed_to_parse_are_left_out():
    cells, defined = kept(
        "%load_ext autograder", "def k(:", "!ls", "check('lab01')", "%%bash\nx=1", KERNEL, "k[1, 1](a)"
    )
    assert cells == [KERNEL] and defined == {"k"}


def test_magics_inside_a_cell_that_defines_something_stay_in_its_text():
    text = "%matplotlib inline\nimport math as m"
    assert kept(text) == ([text], {"m"})


def test_names_inside_functions_and_comprehensions_are_not_the_cells():
    _, defined = kept(
        "def f():\n    inner = 1", "[x for x in range(3)]", "for i in range(3):\n    y, (z, w) = 1, (2, 3)"
    )
    assert defined == {"f", "i", "y", "z", "w"}


def test_cells_are_called_as_in_the_saved_notebook_where_they_read_the_same(tmp_path):
    notebook = tmp_path / "lab.ipynb"
    cells = [
        {"cell_type": "markdown", "source": "x"},
        {"cell_type": "code", "source": KERNEL.splitlines(keepends=True)},
    ]
    notebook.write_text(json.dumps({"cells": cells}))
    history = [("In [4]", KERNEL), ("In [5]", "B = 1")]
    labels = [cell.label for cell in _with_saved_numbers(defining_cells(history, transformed)[0], notebook)]
    assert labels == ["lab.ipynb, code cell 1", "In [5]"]
    notebook.write_text("not JSON")
    assert _with_saved_numbers(defining_cells(history, transformed)[0], notebook)[0].label == "In [4]"


EDITED = "@cuda.jit\ndef k(a):\n    a[0] = = 1"


@pytest.mark.parametrize(
    ("saved", "expected"),
    [
        ((EDITED,), ["import math", EDITED]),  # edited and run and saved: what will be handed in
        ((KERNEL,), ["import math", KERNEL]),  # not saved since
        ((KERNEL, EDITED), ["import math", KERNEL]),  # a cell of its own
        ((), ["import math", KERNEL]),  # no notebook to look into
    ],
)
def test_a_cell_edited_into_what_python_cannot_read_counts_once_it_is_saved(saved, expected):
    history = [("In [1]", "import math"), ("In [2]", KERNEL), ("In [3]", EDITED)]
    cells, _ = defining_cells(history, transformed)
    assert [each.text for each in as_saved(cells, history, {"k"}, saved, transformed)] == expected


# ---- in a real kernel ------------------------------------------------------------------------------

SOLUTION = labs_root().parent / "solutions" / "lab01_naive_matmul" / "lab.ipynb"
STARTER = labs_root() / "lab01_naive_matmul" / "lab.ipynb"


def session(saved, run, path, monkeypatch):
    """Points, what is shown in JupyterLab, and the submission's name, after running the code cells of `run`.

    `saved` is what the open notebook has on disk meanwhile.
    """
    path.write_bytes(saved.read_bytes())
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    monkeypatch.setenv("AUTOGRADER_DEVICE", "simulated")
    monkeypatch.setenv("PYTHONPATH", str(labs_root().parent))
    import nbclient
    import nbformat
    from nbformat.v4 import new_code_cell

    notebook = nbformat.read(run, 4)
    ask = "import json\nresult = report.result\nprint(json.dumps([result.points, result.submission, result.outcome]))"
    notebook.cells += [new_code_cell('report = check("lab01")\nreport'), new_code_cell(ask)]
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    return json.loads(notebook.cells[-1].outputs[0]["text"]), notebook.cells[-2].outputs[0]["data"]


def test_what_was_run_is_checked_even_where_the_saved_notebook_is_older(tmp_path, monkeypatch):
    (points, submission, outcome), shown = session(STARTER, SOLUTION, tmp_path / "lab.ipynb", monkeypatch)
    everything = sum(each.points for each in load_lab("lab01").checks)  # the solution has the bonus, too
    assert (points, submission, outcome) == (everything, "lab.ipynb", "passed")
    assert "<" in shown["text/html"] and "passed" in shown["text/plain"]


def test_the_notebook_and_the_command_line_give_the_same_verdict_on_the_starter(tmp_path, monkeypatch):
    (points, _, outcome), _ = session(STARTER, STARTER, tmp_path / "lab.ipynb", monkeypatch)
    with Worker("simulated") as worker:
        result = check_submission(load_lab("lab01"), STARTER, worker=worker)
    assert (points, outcome) == (result.points, result.outcome) == (0, "failed")


LAUNCHES = "def matmul(a, b, c):\n    matmul_kernel[1, 1](a, b, c)"


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (("def matmul_kernel(:\n    pass", LAUNCHES), "In [2], line 1: Python cannot read this"),
        ((LAUNCHES,), "does not define a function called `matmul_kernel`"),
    ],
)
def test_what_was_run_and_lacks_a_function_is_told_and_not_the_starter_graded(tmp_path, monkeypatch, run, said):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    ask = "from autograder import check\nprint(check('lab01').result.error)"
    assert said in last_output(["%load_ext autograder", *run, ask], tmp_path, monkeypatch)


def last_output(cells, folder, monkeypatch):
    """What the last of these cells prints, in a kernel of its own; an error in one before it changes nothing."""
    monkeypatch.setenv("AUTOGRADER_DEVICE", "simulated")
    monkeypatch.setenv("PYTHONPATH", str(labs_root().parent))
    import nbclient
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook(cells=[new_code_cell(text) for text in cells])
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=120, allow_errors=True, resources=resources).execute()
    return notebook.cells[-1].outputs[0]["text"]


HALVES = SOLUTION.parents[1] / "lab03_transpose_and_layout" / "right" / "two_fields_gathered.py"
SHOW = """
import json
from autograder import check
checks = check("lab03").result.checks
print(json.dumps([[each.outcome, each.points, each.message] for each in checks]))
"""


@pytest.mark.parametrize("saved", ["older", "as run", "not there"])
def test_a_cell_that_python_cannot_read_costs_the_same_in_the_session_as_handed_in(tmp_path, monkeypatch, saved):
    import nbformat
    from nbformat.v4 import new_code_cell

    first, second = HALVES.read_text(encoding="utf-8").split("@cuda.jit\ndef gather_kernel")
    answer = [first, "@cuda.jit\ndef gather_kernel" + second.replace("for _ in range", "for _ im range")]
    notebook = nbformat.v4.new_notebook(cells=[new_code_cell(text) for text in ("%load_ext autograder", *answer)])
    path = tmp_path / "lab.ipynb"
    nbformat.write(notebook, path)
    with Worker("simulated") as worker:
        handed_in = check_submission(load_lab("lab03"), path, worker=worker)
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    if saved == "older":
        path.write_bytes((labs_root() / "lab03_transpose_and_layout" / "lab.ipynb").read_bytes())
    elif saved == "not there":
        path.unlink()
    live = json.loads(last_output(["%load_ext autograder", *answer, SHOW], tmp_path, monkeypatch))

    def verdicts(checks):
        return [
            [outcome, points, message.replace("lab.ipynb, code cell 3", "In [3]")]
            for outcome, points, message in checks
        ]

    expected = verdicts([each.outcome, each.points, each.message] for each in handed_in.checks)
    assert [each[:2] for each in live] == [each[:2] for each in expected]
    assert handed_in.points == 19 and "In [3], line" in expected[10][2] == verdicts(live)[10][2]


def test_the_lab_is_known_from_the_folder_that_the_notebook_is_in(tmp_path):
    assert _lab_of(tmp_path / "lab01_naive_matmul" / "lab.ipynb") == "lab01_naive_matmul"
    with pytest.raises(UsageError, match="Which lab"):
        _lab_of(tmp_path / "elsewhere" / "lab.ipynb")
