"""The value of an integer as a sum. Expressions of equal form have equal values, however they are written.

A form is a constant plus atoms with factors: `16 * y + i + 1` is 1, plus 16 times the atom of `y`, plus the atom of `i`. An
atom is a value that is no such sum: a thread's index, a loaded element, a variable that a loop changes, or the result of
another operation, whose operands are forms themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from autograder.simgpu.operations.operation import Operation

Terms: TypeAlias = tuple[tuple[int, int], ...]
"""((number of an atom, its factor), ...), atoms in ascending order: a sum without its constant."""

Form: TypeAlias = tuple[int, Terms]
"""(constant, terms)."""

ZERO: Form = (0, ())
HALF = 2**63  # integers are taken to have 64 bits, and to wrap around


@dataclass(frozen=True)
class Atom:
    """A value that is no sum of others, and the loops in which it may change from round to round."""

    key: Hashable
    loops: frozenset[Operation]
    inside: int  # the atoms that it is computed from, directly or not: a bit for each, by number
    kinds: frozenset[str]  # what its key begins with, and the keys of the atoms inside


def wrapped(value: int) -> int:
    """An integer as a signed 64-bit number holds it."""
    return value if -HALF <= value < HALF else (value + HALF) % (2 * HALF) - HALF


def is_given(key: Hashable) -> bool:
    """Whether an atom is what memory or a loop gives, not what is computed from other atoms."""
    return isinstance(key, tuple) and key[0] in ("load", "round", "counter", "stored", "either", "atomic", "vote")


def is_behind_a_branch(key: Hashable) -> bool:
    """Whether an atom is a quotient or a remainder by a variable: Numba asks first whether that is 0."""
    return isinstance(key, tuple) and key[0] in (ast.FloorDiv, ast.Mod) and len(key) == 4


class Forms:
    """The forms of one kernel, with their atoms."""

    def __init__(self) -> None:
        self._atoms: list[Atom] = []
        self._numbers: dict[Hashable, int] = {}
        self.tables: dict[Hashable, np.ndarray] = {}  # arrays that are constants of the kernel, by identity

    @staticmethod
    def constant(value: int) -> Form:
        return wrapped(value), ()

    def atom(self, key: Hashable, loops: frozenset[Operation] = frozenset(), made_of: Iterable[Form] = ()) -> Form:
        """The form of an atom; equal keys give the same atom. `made_of`: the forms that it is computed from."""
        number = self._numbers.get(key)
        if number is None:
            numbers = [part for form in made_of for part, _ in form[1]]
            parts = [self._atoms[part] for part in numbers]
            inside = 0
            for part, atom in zip(numbers, parts, strict=True):
                inside |= 1 << part | atom.inside
            loops = loops.union(*(atom.loops for atom in parts))
            kind = [key[0]] if isinstance(key, tuple) and isinstance(key[0], str) else []
            number = self._numbers[key] = len(self._atoms)
            self._atoms.append(Atom(key, loops, inside, frozenset(kind).union(*(atom.kinds for atom in parts))))
        return 0, ((number, 1),)

    def is_made_of(self, form: Form, what: str) -> bool:
        """Whether the value depends, directly or not, on an atom whose key begins with `what`."""
        return any(what in self._atoms[number].kinds for number, _ in form[1])

    def add(self, one: Form, other: Form, times: int = 1) -> Form:
        """`one + times * other`."""
        terms = dict(one[1])
        for atom, factor in other[1]:
            terms[atom] = wrapped(terms.get(atom, 0) + times * factor)
        return wrapped(one[0] + times * other[0]), tuple(sorted(item for item in terms.items() if item[1]))

    def multiply(self, one: Form, other: Form) -> Form:
        if not other[1]:
            one, other = other, one
        if not one[1]:
            return self.add(ZERO, other, one[0])
        key = ("*", *sorted((one, other)))
        return self.atom(key, made_of=(one, other))

    def loops_of(self, form: Form) -> frozenset[Operation]:
        """The loops in which the value may change from round to round."""
        found: frozenset[Operation] = frozenset()
        for atom, _ in form[1]:
            found |= self._atoms[atom].loops
        return found

    def contains(self, form: Form, number: int) -> bool:
        """Whether the value depends on an atom, directly or not."""
        return any(number == each or self._atoms[each].inside >> number & 1 for each, _ in form[1])

    def is_of_numbers(self, form: Form) -> bool:
        """Whether a value is computed from numbers of the source alone."""
        return all(self._is_of_numbers(number) for number, _ in form[1])

    def _is_of_numbers(self, number: int) -> bool:
        key = self._atoms[number].key
        if not isinstance(key, tuple):
            return False
        is_converted = isinstance(key[0], tuple) and key[0][0] == "convert"
        return key[0] == "literal" or is_converted and all(map(self._is_of_numbers, self.inside(number)))

    def inside(self, number: int) -> list[int]:
        """The atoms that an atom is computed from, directly or not."""
        bits = self._atoms[number].inside
        return [each for each in range(bits.bit_length()) if bits >> each & 1]

    def atoms_of(self, form: Form) -> list[tuple[int, Atom]]:
        """The atoms of a sum, with their numbers."""
        return [(number, self._atoms[number]) for number, _ in form[1]]

    def key_of(self, number: int) -> Hashable:
        """What an atom stands for."""
        return self._atoms[number].key

    def number_of(self, atom: Form) -> int:
        ((number, _),) = atom[1]
        return number
