"""Submission text becomes a `Program`: read (source.py), parsed (parse.py), held to the closed language (validate.py).

Data flows one way: a path or cells -> `Submission` -> `Program`. Nothing a student wrote is ever executed here: kernels
are interpreted by the simulated GPU or compiled for a real one, host functions are interpreted by host.py.
"""

from autograder.language.parse import parse_program
from autograder.language.program import Function, Program, Reference
from autograder.language.source import Cell, Submission, read_submission, submission_from_cells

__all__ = [
    "Cell",
    "Function",
    "Program",
    "Reference",
    "Submission",
    "parse_program",
    "read_submission",
    "submission_from_cells",
]
