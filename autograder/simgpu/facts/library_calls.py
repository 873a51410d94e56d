"""What is known of the result of a library call, and what the call does to memory."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.simgpu.facts import library
from autograder.simgpu.facts.atomic_results import AtomicResults
from autograder.simgpu.facts.found import ALL, Reached
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import (
    Known,
    KnownArray,
    KnownName,
    KnownNumber,
    KnownTuple,
    Unknown,
    arrays_in,
    varies,
)
from autograder.simgpu.facts.known_memory import KnownMemory
from autograder.simgpu.facts.known_results import ANYTHING, KnownResults
from autograder.simgpu.facts.observer import Observer
from autograder.simgpu.facts.scope import Scope
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.values import numba_types as nt


@dataclass(frozen=True)
class Given:
    """The arguments of a call."""

    arguments: Sequence[Known]
    keywords: Mapping[str, Known]

    @property
    def all(self) -> list[Known]:
        return [*self.arguments, *self.keywords.values()]


class LibraryCalls:
    """The library calls of one kernel."""

    def __init__(
        self, here: Here, results: KnownResults, memory: KnownMemory, atomics: AtomicResults, observer: Observer
    ) -> None:
        self.here = here
        self.results = results
        self.memory = memory
        self.atomics = atomics
        self.observer = observer

    def anything_done(self, given: Sequence[Known], scope: Scope) -> Known:
        """A call that cannot be followed: it may do anything with its arguments."""
        self.memory.kill(ALL, scope)
        for each in given:
            self.memory.write_anywhere(each, scope)
        return Unknown(frozenset().union(*map(arrays_in, given)))

    def of_array(self, op: FunctionCall, method: library.OfArray) -> Known:
        """A method of an array: the same memory in another shape, or a reduction."""
        if method.name in library.RESHAPING:
            return Unknown(frozenset([method.array.identity]))
        return self._changing_number("method", op)

    def call(self, op: FunctionCall, path: str, given: Given, scope: Scope) -> Known:
        """A call of the library function at a path."""
        arguments = given.arguments
        self.observer.called(path)
        if path.startswith("numba.cuda.atomic."):
            return self._atomic(op, arguments, scope)
        if path in library.DRAWN:
            return self._draw(op, path, arguments, scope)
        if path.startswith(library.SYNCHRONISES):
            return self._barrier(op, path, scope)
        if path in library.STORES:
            for each in given.all:
                self.memory.write_anywhere(each, scope)
            return self._changing_number("stored", op)
        known = self._by_name(op, path, given)
        if known is not None:
            return known
        rule = library.PURE.get(path)
        if rule is not None and arguments and not given.keywords:
            dtypes = [each.dtype for each in arguments if isinstance(each, KnownNumber)]
            if len(dtypes) == len(arguments):
                return self.results.of_pure(("call", path), arguments, rule(dtypes))
        return self._any_other(op, path, given, scope)

    def _by_name(self, op: FunctionCall, path: str, given: Given) -> Known | None:
        """Functions with a rule of their own that change no memory; None for any other."""
        arguments = given.arguments
        if path in library.ARRAY_MAKERS:
            return library.array_made(op, path, arguments, given.keywords) or ANYTHING
        match path:
            case "builtins.range":
                return self.results.of_range(arguments)
            case "builtins.slice":
                return ANYTHING
            case "builtins.divmod" if len(arguments) == 2:
                return KnownTuple(tuple(self.results.binary(op, kind, *arguments) for kind in (ast.FloorDiv, ast.Mod)))
            case "numba.cuda.grid":
                return self.results.grid(arguments)
            case "numba.cuda.gridsize":
                return self.results.grid_size(arguments)
            case "builtins.int" | "builtins.float" | "builtins.bool" if len(arguments) == 1:
                return self.results.to_python(path, arguments[0])
        if not arguments:
            return None
        match path, arguments[0]:
            case "numba.cuda.const.array_like", array:
                return array
            case ("numba.literal_unroll" | "numba.cuda.literal_unroll" | "builtins.tuple"), items:
                return items
            case "builtins.len", KnownTuple(items):
                return self.results.constant(np.int64(len(items)))
            case "builtins.len", KnownArray() as array:
                return self.results.extent(array, 0)
        return None

    def _atomic(self, op: FunctionCall, arguments: Sequence[Known], scope: Scope) -> Known:
        self.here.found.reached.pop(op, None)
        if len(arguments) > 1 and isinstance(arguments[0], KnownArray):
            parts = arguments[1].items if isinstance(arguments[1], KnownTuple) else (arguments[1],)
            forms = tuple(part.form if isinstance(part, KnownNumber) else None for part in parts)
            reached = Reached(arguments[0], forms, any(map(varies, parts)))
            self.here.found.reached[op] = self.here.found.stores[op] = reached
            self.memory.change(arguments[0], scope)
        elif arguments:
            self.memory.write_anywhere(arguments[0], scope)
        dtype = arguments[0].dtype if arguments and isinstance(arguments[0], KnownArray) else None
        return KnownNumber(dtype, self.atomics.result(op), True)

    def _draw(self, op: FunctionCall, path: str, arguments: Sequence[Known], scope: Scope) -> Known:
        """A random number: the state of a generator, an element of an array, is loaded and stored."""
        drawn = library.DRAWN[path]
        match arguments:
            case [KnownArray() as array, KnownNumber() as index] if not array.prefix:
                reached = Reached(array, (index.form,), index.varies)
                self.here.found.draws[op] = drawn
                self.here.found.reached[op] = self.here.found.stores[op] = reached
                self.memory.update(op, reached, drawn.draws == 1, scope)
            case [first, *_]:
                self.memory.write_anywhere(first, scope)
        return replace(self._changing_number("drawn", op), dtype=drawn.dtype)

    def _barrier(self, op: FunctionCall, path: str, scope: Scope) -> Known:
        """A barrier or a fence: after it, memory may hold what other threads have stored."""
        self.memory.kill(ALL, scope)
        if not path.startswith("numba.cuda.syncthreads_"):
            return KnownName(None)
        return KnownNumber(nt.INT32, self.here.forms.atom(("vote", op, self.here.rounds), self.here.around), False)

    def _any_other(self, op: FunctionCall, path: str, given: Given, scope: Scope) -> Known:
        """A function without a rule. It may do anything with arrays that it is given, unless it is known only to read."""
        key = ("call", path, op, self.memory.epoch, self.here.rounds)
        dtypes = [each.dtype if isinstance(each, KnownNumber) else None for each in given.all]
        rule = library.OF_OTHERS.get(path)
        known = self.results.of_pure(key, given.all, rule and rule(dtypes), differs=True)
        arrays = frozenset().union(*map(arrays_in, given.all))
        if not arrays:
            return known
        if path.startswith(library.READ_ONLY):
            return Unknown(arrays) if path.startswith("builtins.") else known
        return self.anything_done(given.all, scope)

    def _changing_number(self, what: str, op: FunctionCall) -> KnownNumber:
        """A number that may change whenever memory does."""
        key = (what, op, self.memory.epoch, self.here.rounds)
        return KnownNumber(None, self.here.forms.atom(key, self.here.around), True)
