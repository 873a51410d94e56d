"""The library modules that a submission may import. Any other import is an error only where its name is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.errors import Line, SubmissionError
from autograder.language.program import Reference

ALLOWED_MODULES = ("numba", "numba.cuda", "numba.cuda.random", "numba.types", "numba.core.types", "numpy", "math")
_SAME_AS = {"numba.core.types": "numba.types"}
INSTEAD_OF_MISSING = "Use np.float16."
MISSING_NAMES = {  # expected there by analogy, but Numba 0.68 has it in `numba.types` only
    f"{module}.{name}": f"`{module}` has no `{name}`."
    for module in ("numba", "numba.cuda")
    for name in ("float16", "f2")
}


def imported(statement: ast.Import | ast.ImportFrom, file: str) -> Iterator[tuple[str, object]]:
    """(name, what it stands for) of each name that an import statement binds."""
    line = Line(file, statement.lineno)
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            root = alias.name.split(".")[0]
            name = alias.asname or root
            if alias.name in ALLOWED_MODULES:
                path = alias.name if alias.asname else root
                yield name, reference(_SAME_AS.get(path, path))
            else:
                yield name, _forbidden(alias.name, line)
        return
    module = statement.module or ""
    for alias in statement.names:
        path = f"{module}.{alias.name}"
        if module in ALLOWED_MODULES and not statement.level:
            if alias.name == "*":
                continue
            if path in MISSING_NAMES:
                yield (
                    alias.asname or alias.name,
                    SubmissionError(MISSING_NAMES[path], line=line, remedy=INSTEAD_OF_MISSING),
                )
                continue
            yield alias.asname or alias.name, reference(_canonical(path))
        elif module == "__future__":
            continue
        else:
            yield alias.asname or alias.name, _forbidden(module or path, line)


def reference(path: str) -> Reference:
    """A library name by its canonical path; a numeric type carries its dtype."""
    from autograder.language.numeric_types import type_of

    return type_of(path) or Reference(path)


def _canonical(path: str) -> str:
    for longer, shorter in _SAME_AS.items():
        if path.startswith(longer + "."):
            return shorter + path[len(longer) :]
    return path


def _forbidden(module: str, line: Line) -> SubmissionError:
    return SubmissionError(
        f"`{module}` cannot be used in a submission.",
        line=line,
        remedy="Kernels and their host code may use numba, numpy and math.",
    )
