"""A class's results, which lie on disk: in memory is of each what tables say, its row.

START HERE: `StoredResults`. Most of a result are pictures, counted lines and programs, some 50 KiB of memory, and only a
page of its own shows them: whoever needs them has the result read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

from autograder.records.results import CheckResult, Result

Weight = tuple[bool, bool, bool]  # how much one student's failed check would show as an example: picture, code, hazards
_OF_A_COMPARISON = ("ratio", "ambiguous")  # a check that compared speeds has measured one of these


def row_of(result: Result, shared: dict[Any, Any]) -> Result:
    """`result` without what only a page of its own shows. What it has in common with rows made before, with the same
    `shared`, is held once."""
    return replace(
        result,
        lab=shared.setdefault(result.lab, result.lab),
        lab_title=shared.setdefault(result.lab_title, result.lab_title),
        device=shared.setdefault(result.device, result.device),
        isolation=shared.setdefault(result.isolation, result.isolation),
        checks=tuple(_row_of_check(check, shared) for check in result.checks),
        lines=(),
        counters=None,
        functions=(),
        fingerprints=(),
    )


def _row_of_check(check: CheckResult, shared: dict[Any, Any]) -> CheckResult:
    compares = any(name in check.measured for name in _OF_A_COMPARISON)
    row = replace(
        check,
        name=shared.setdefault(check.name, check.name),
        title=shared.setdefault(check.title, check.title),
        message=shared.setdefault(check.message, check.message),
        hints=shared.setdefault(check.hints, check.hints),
        mismatches=(),
        hazards=(),
        reproduce="",
        measured={shared.setdefault(name, name): value for name, value in check.measured.items()} if compares else {},
        pictures=(),
        came_to=(),
    )
    same: CheckResult = row if compares else shared.setdefault(repr(row), row)
    return same


class StoredResults(Sequence[Result]):
    """A class's results in order. `rows` are held in memory; one that is asked for, or gone through, is read.

    `read` gives the whole result of a row. Without it the rows are all that there is.
    """

    def __init__(self, rows: Sequence[Result], read: Callable[[Result], Result] | None = None) -> None:
        self.rows = list(rows)
        self.read = read
        self.weights: dict[str, dict[str, Weight]] = {}  # by student and check, as far as anybody has looked

    @classmethod
    def of(cls, results: Sequence[Result]) -> StoredResults:
        return results if isinstance(results, StoredResults) else cls(results)

    def with_rows(self, rows: Sequence[Result]) -> StoredResults:
        """Others of the same place, or the same with other things told of them."""
        return StoredResults(rows, self.read)

    def whole(self, row: Result) -> Result:
        """All of one; raises what `read` raises."""
        return row if self.read is None else self.read(row)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Result]:
        return map(self.whole, self.rows)

    @overload
    def __getitem__(self, at: int) -> Result: ...
    @overload
    def __getitem__(self, at: slice) -> StoredResults: ...
    def __getitem__(self, at: int | slice) -> Result | StoredResults:
        return self.with_rows(self.rows[at]) if isinstance(at, slice) else self.whole(self.rows[at])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredResults | list | tuple):
            return NotImplemented
        if len(self) != len(other) or (isinstance(other, StoredResults) and self.rows != other.rows):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))


def rows_of(results: Sequence[Result]) -> list[Result]:
    """What is in memory of each: rows of results on disk, else the results themselves."""
    return StoredResults.of(results).rows
