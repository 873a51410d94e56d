"""A submission's own text in messages: a piece of its syntax tree, and its lines as Python counts them."""

from __future__ import annotations

import ast
import re

MOST_OF_A_LINE = 400  # characters that are kept of one line of source

# What ends a line for Python's tokenizer; `str.splitlines` takes form feeds, U+0085, U+2028 and others for ends as well.
_ENDS_OF_LINES = re.compile("\r\n|\r|\n")


def quoted(node: ast.AST | None, most: int = 80) -> str:
    """Source text of a node for a message, cut short; some trees hold numbers too long to be printed."""
    try:
        text = ast.unparse(node) if node is not None else ""
    except (ValueError, RecursionError):
        return "..."
    return text if len(text) <= most else text[: most - 3] + "..."


def lines_of(text: str) -> list[str]:
    """The lines of a source text, so that number n of Python's is at n - 1."""
    return _ENDS_OF_LINES.split(text)


def cut(line: str, most: int = MOST_OF_A_LINE) -> str:
    """A line of source, cut where it is longer than anybody reads."""
    return line if len(line) <= most else line[: most - 4] + " ..."
