"""The cells that a session has run, put in order as the notebook would have them."""

from __future__ import annotations

import json

from IPython.core.inputtransformer2 import TransformerManager

from autograder.grading.notebook import _named, defining_cells

TRANSFORM = TransformerManager().transform_cell


def kept(*texts):
    """(texts of the cells that matter in their order, names defined) after running these cells one after another."""
    history = [(f"In [{number}]", text) for number, text in enumerate(texts, start=1)]
    cells, defined = defining_cells(history, TRANSFORM)
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
    labels = [cell.label for cell in _named(defining_cells(history, TRANSFORM)[0], notebook)]
    assert labels == ["lab.ipynb, code cell 1", "In [5]"]
    notebook.write_text("not JSON")
    assert _named(defining_cells(history, TRANSFORM)[0], notebook)[0].label == "In [4]"
