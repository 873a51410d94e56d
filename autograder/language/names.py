"""What the module-level names of a submission stand for, each worked out when somebody asks for it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from autograder.errors import BrokenDefinition, Line, SubmissionError

# The value of an expression, by the vocabulary of host code: of the expression, the file it stands in, and what names mean.
Evaluate: TypeAlias = Callable[[ast.expr, str, Mapping[str, object]], Any]


@dataclass(frozen=True)
class ModuleConstant:
    """A module-level assignment, evaluated only when somebody asks for the name."""

    node: ast.expr
    file: str
    position: int | None = None  # which item of a tuple assignment


class ModuleNames(Mapping[str, object]):
    """What the module-level names of a submission stand for; each is worked out when it is first needed."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate_expression = evaluate
        self.definitions: dict[str, object] = {}  # name -> Function, Reference, Constant or SubmissionError
        self._values: dict[str, object] = {}
        self._asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self.definitions

    def __iter__(self) -> Iterator[str]:
        return iter(self.definitions)

    def __len__(self) -> int:
        return len(self.definitions)

    def __getitem__(self, name: str) -> object:
        if name in self._values:
            return self._values[name]
        found = self.definitions[name]
        if isinstance(found, SubmissionError):
            raise found.with_traceback(None)  # an error that is raised again keeps all frames, and their arrays
        if isinstance(found, ModuleConstant):
            if name in self._asked:
                raise SubmissionError(f"`{name}` is defined by itself.", line=Line(found.file, found.node.lineno))
            self._asked.add(name)
            try:
                found = self._evaluate(found)
            except SubmissionError as problem:  # the same for all inputs
                if isinstance(problem, BrokenDefinition):
                    raise
                raise BrokenDefinition(problem.message, name=name, line=problem.line, remedy=problem.remedy) from None
            finally:
                self._asked.discard(name)
        self._values[name] = found
        return found

    def spoil(self, name: str, problem: SubmissionError) -> None:
        """From now on the name stands for what is wrong with it."""
        self.definitions[name] = problem
        self._values.pop(name, None)

    def _evaluate(self, constant: ModuleConstant) -> object:
        value = self._evaluate_expression(constant.node, constant.file, self)
        if constant.position is None:
            return value
        if not isinstance(value, (tuple, list)) or constant.position >= len(value):
            raise SubmissionError("This cannot be unpacked.", line=Line(constant.file, constant.node.lineno))
        return value[constant.position]
