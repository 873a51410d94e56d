"""The texts that Python was given to run without a file: by `exec`, `%%time`, `python -c` or standard input.

A kernel is read from its source, and Python keeps none of these. While `remember` is on, it says of each text that it
compiles (an audit event, PEP 578), and the last ones are kept here.
"""

from __future__ import annotations
import __future__

import ast
import sys
import types
from typing import Any, NamedTuple

EXEC = "text given to exec"
# What Python calls texts of which there are many. From 3.13 on it keeps one of each name, which may be another one.
KNOWN_AS = {"<string>": EXEC, "<stdin>": "standard input", "<timed exec>": "this cell", "<magic-timeit>": "this cell"}
MOST_TEXTS = 1000
MOST_CHARACTERS = 1_000_000  # of one text
# `exec` hands the `from __future__ import ...` of whoever calls it on to the text, and they are a part of the code.
FUTURE = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})

_texts: dict[str, None] = {}  # in the order in which they were last compiled
_cells: dict[str, None] = {}
_is_on = _has_hook = False


class DefinedIn(NamedTuple):
    """Where a function was found."""

    text: str  # the whole text, a notebook cell with its magics
    lines_before: int  # of the cell, before what was compiled
    file: str  # as people know it


def remember() -> None:
    """Keeps texts from here on. Python has no way to take an audit hook back: it stays, and does nothing when off."""
    global _is_on, _has_hook
    _is_on = True
    if not _has_hook:
        sys.addaudithook(_hear)
        _has_hook = True


def forget() -> None:
    """Keeps no more, and drops those that are kept."""
    global _is_on
    _is_on = False
    _texts.clear()


def keep(text: str) -> None:
    """Keeps a text of which Python will not tell: that of standard input."""
    if "def " in text and len(text) <= MOST_CHARACTERS:
        _keep(_texts, text)


def remember_cell(text: str) -> None:
    """A notebook cell as it was typed, which may begin with a magic such as `%%time`."""
    _keep(_cells, text)


def find(code: types.CodeType) -> DefinedIn | None:
    """The text that gives this code, the last one where there are several."""
    text = next((text for text in reversed(list(_texts)) if definition(text, code) and _gives(text, code)), None)
    if text is None:
        return None
    for cell in reversed(_cells):
        at = cell.find(text.strip("\n"))
        if at > 0:
            return DefinedIn(cell, cell[:at].count("\n"), "this cell")
    return DefinedIn(text, 0, KNOWN_AS.get(code.co_filename, EXEC))


def definition(text: str, code: types.CodeType) -> ast.FunctionDef | None:
    """The `def` in a text that a function's code comes from."""
    if code.co_name not in text:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if code.co_firstlineno in (node.lineno, *(each.lineno for each in node.decorator_list)):
                return node
    return None


def _gives(text: str, code: types.CodeType) -> bool:
    """Whether a text compiles to this code among others, by itself or (as `%%timeit` has it) inside a function."""
    whole = ast.parse(text)
    inside = ast.parse("def inner(): pass")
    wrapper = inside.body[0]
    assert isinstance(wrapper, ast.FunctionDef)
    wrapper.body = whole.body
    flags = code.co_flags & FUTURE
    left: list[Any] = []
    for tree in (whole, inside):
        try:
            left.append(compile(tree, code.co_filename, "exec", flags, dont_inherit=True))
        except (SyntaxError, ValueError):
            continue
    while left:
        each = left.pop()
        if each == code:
            return True
        left += [inner for inner in each.co_consts if isinstance(inner, types.CodeType)]
    return False


def _hear(event: str, given: tuple[Any, ...]) -> None:
    if event != "compile" or not _is_on:
        return
    text, filename = given
    if not str(filename).startswith("<"):
        return
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    if isinstance(text, str):
        keep(text)


def _keep(among: dict[str, None], text: str) -> None:
    among.pop(text, None)
    among[text] = None
    if len(among) > MOST_TEXTS:
        del among[next(iter(among))]
