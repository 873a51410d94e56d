"""Attacks that cannot be kept as plain text files: bytes, broken notebooks and things that are huge.

Each function makes what is handed in; its docstring is the line that a file in this folder begins with.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

HONEST = """import math

import numpy as np
from numba import cuda


@cuda.jit
def matmul_kernel(a, b, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = np.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def matmul(a, b, c):
    grid = (math.ceil(c.shape[1] / 16), math.ceil(c.shape[0] / 16))
    matmul_kernel[grid, (16, 16)](a, b, c)
"""

MADE: dict[str, tuple[str, Callable[[], bytes]]] = {}


def made(function: Callable[[], Any]) -> Callable[[], Any]:
    """Lists an attack under the name of the file that is handed in: the function's name, the last word its ending."""
    stem, _, ending = function.__name__.rpartition("_")

    def content() -> bytes:
        whole = function()
        return whole if isinstance(whole, bytes) else whole.encode("utf-8", "surrogatepass")

    MADE[f"{stem}.{ending}"] = (function.__doc__ or "", content)
    return function


def notebook(*sources: Any, **fields: Any) -> str:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": each} for each in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **fields})


# ---- bytes ---------------------------------------------------------------------------------------------------------


@made
def byte_order_mark_py() -> bytes:
    """attack: a byte order mark before the first line; fails: nothing"""
    return b"\xef\xbb\xbf" + HONEST.encode()


@made
def utf16_py() -> bytes:
    """attack: UTF-16 with its mark; fails: everything; says: is not UTF-8 text"""
    return HONEST.encode("utf-16")


@made
def utf16_without_a_mark_py() -> bytes:
    """attack: UTF-16 without a mark; fails: everything; says: it holds NUL bytes"""
    return HONEST.encode("utf-16-le")


@made
def nul_bytes_py() -> bytes:
    """attack: NUL bytes within the text; fails: everything; says: it holds NUL bytes"""
    return HONEST.encode().replace(b"import math", b"import\0math")


@made
def latin1_py() -> bytes:
    """attack: a comment in Latin-1, with the cookie that says so; fails: everything; says: is not UTF-8 text"""
    return b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + HONEST.encode()


@made
def coding_cookie_py() -> str:
    """attack: a cookie for a codec that turns text into other text; fails: nothing"""
    return "# coding: rot13\n" + HONEST


@made
def form_feeds_and_tabs_py() -> str:
    """attack: form feeds, tabs and line continuations wherever Python takes them; fails: nothing"""
    text = HONEST.replace("    ", "\t").replace("\n\n\n", "\n\f\n\n").replace("a[row, i] * b", "a[row, i] \\\n* b")
    return text


@made
def carriage_returns_py() -> str:
    """attack: lines that end in carriage returns; fails: nothing"""
    return HONEST.replace("\n", "\r")


@made
def empty_py() -> str:
    """attack: nothing but blank lines; fails: everything; says: is empty"""
    return "\n \n\t\n"


@made
def terminal_codes_py() -> str:
    """attack: terminal codes and a bidirectional override in a broken line; fails: everything; says: cannot read"""
    return HONEST + "x = = \x1b[2J\x1b]0;graded 100\x07 \u202e\n"


# ---- large and deep ------------------------------------------------------------------------------------------------


@made
def giant_integer_py() -> str:
    """attack: an integer of 100,000 digits; fails: everything; says: Exceeds the limit"""
    return f"x = {'9' * 100_000}\n" + HONEST


@made
def giant_string_py() -> str:
    """attack: a string of six million characters; fails: everything; says: a submission may have 5 MiB"""
    return f"x = '{'x' * 6_000_000}'\n" + HONEST


@made
def giant_source_py() -> str:
    """attack: code of 900,000 characters; fails: everything; says: characters of code"""
    return HONEST + "x = 1\n" * 150_000


@made
def deep_parentheses_py() -> str:
    """attack: 3,000 parentheses within each other; fails: everything; says: too many nested parentheses"""
    return f"x = {'(' * 3000}{')' * 3000}\n" + HONEST


@made
def deep_elif_py() -> str:
    """attack: 5,000 branches, one within the other; fails: everything; says: nested"""
    return HONEST + "if 0:\n    pass\n" + "elif 0:\n    pass\n" * 5000


@made
def deep_attributes_py() -> str:
    """attack: a decorator of 5,000 attributes; fails: everything; says: nested"""
    return HONEST.replace("@cuda.jit", "@cuda" + ".jit" * 5000)


@made
def long_name_py() -> str:
    """attack: a function whose name has 100,000 letters; fails: everything; says: Define it exactly under that name"""
    return HONEST.replace("def matmul(", f"def {'m' * 100_000}(")


@made
def many_functions_py() -> str:
    """attack: 2,000 functions beside the two; fails: nothing"""
    return HONEST + "".join(f"def f{number}(x):\n    return x\n" for number in range(2_000))


@made
def chain_of_constants_py() -> str:
    """attack: 3,000 constants, each defined by the next; fails: everything; says: nested too deeply"""
    chain = "".join(f"X{number} = X{number + 1} + 1\n" for number in range(3000)) + "X3000 = 1\n"
    return HONEST.replace("grid = (", "x = X0\n    grid = (") + chain


@made
def chain_of_device_functions_py() -> str:
    """attack: 3,000 device functions, each calling the next; fails: everything; says: too deeply"""
    chain = "".join(
        f"@cuda.jit(device=True)\ndef f{number}(x):\n    return f{number + 1}(x)\n" for number in range(3000)
    )
    return HONEST.replace("np.float32(0)", "f0(np.float32(0))") + chain + "f3000 = 1\n"


# ---- notebooks -----------------------------------------------------------------------------------------------------


@made
def spaces_in_a_cell_ipynb() -> str:
    """attack: a line of 300,000 spaces, on which a pattern for magics could run for hours; fails: nothing"""
    return notebook("x" + " " * 300_000 + "\n", HONEST)


@made
def quotes_in_a_cell_ipynb() -> str:
    """attack: 50,000 triple quotes in a cell; fails: nothing"""
    return notebook("''''''\n" * 50_000, HONEST)


@made
def hundred_thousand_cells_ipynb() -> str:
    """attack: a notebook of 100,000 cells; fails: everything; says: code cells; a submission may have"""
    return '{"cells": [' + '{"cell_type": "code"},' * 100_000 + '{"cell_type": "code"}]}'


@made
def cells_of_wrong_types_ipynb() -> str:
    """attack: cells that are numbers, lists and null, with sources of wrong types; fails: nothing"""
    cells: list[Any] = [1, None, [], {"cell_type": ["code"]}, {"cell_type": "code", "source": {"a": 1}}]
    cells.append({"cell_type": "code"})
    parts = [1, None, {"x": 2}, *HONEST.splitlines(keepends=True), ["os"]]
    return json.dumps({"cells": [*cells, {"cell_type": "code", "source": parts, "metadata": 7}], "nbformat": "four"})


@made
def cells_that_are_no_list_ipynb() -> str:
    """attack: cells that are an object; fails: everything; says: it has no cells"""
    return json.dumps({"cells": {"0": HONEST}})


@made
def metadata_with_points_ipynb() -> str:
    """attack: points and an outcome in the notebook's metadata; fails: everything; says: was never written"""
    idle = HONEST.replace("    matmul_kernel[grid", "    return\n    matmul_kernel[grid")
    return notebook(idle, metadata={"points": 100, "outcome": "passed", "nbgrader": {"points": 100}}, points=100)


@made
def long_number_in_metadata_ipynb() -> str:
    """attack: a number of 5,000 digits in the metadata; fails: everything; says: is not a notebook"""
    return notebook(HONEST).replace('"nbformat": 4', f'"nbformat": {"4" * 5000}')


@made
def deep_metadata_ipynb() -> str:
    """attack: metadata nested 100,000 deep; fails: everything; says: nested too deeply"""
    return notebook(HONEST).replace('"nbformat": 4', f'"nbformat": {"[" * 100_000}{"]" * 100_000}')


@made
def broken_json_ipynb() -> str:
    """attack: a notebook that ends in the middle; fails: everything; says: its JSON is broken"""
    return notebook(HONEST)[:-50]


@made
def lone_surrogate_ipynb() -> str:
    """attack: half a character in a cell; fails: everything; says: surrogates not allowed"""
    return notebook(HONEST + "# \ud800\n")


@made
def shell_magics_ipynb() -> str:
    """attack: shell lines, cell magics and a script for another program; fails: nothing"""
    shell = "!touch CANARY\n%system touch CANARY\nfiles = !touch CANARY\n"
    return notebook(shell, "%%bash\ntouch CANARY\n", "%%python\nopen('CANARY', 'w')\n", "%%time\n" + HONEST)


@made
def redefined_after_the_check_ipynb() -> str:
    """attack: a cell after the check redefines the function; fails: everything; says: was never written"""
    return notebook(HONEST, "check('lab01')", "def matmul(a, b, c):\n    pass\n")
