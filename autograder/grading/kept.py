"""What a check draws, and what is right for it, kept for the next submission: both follow from the seed alone.

Most of what a grader's own process does for a check is to draw random inputs and to work out what must come of them, and
for all submissions that are graded with one seed these are the same. Arrays that are kept are read-only, so that nobody
can change what the next submission gets. Neither depends on anything that a submission is or does.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

MOST_BYTES = 1 << 28  # of a process, beyond which what was longest not asked for is let go
Made = TypeVar("Made", np.ndarray, tuple[np.ndarray, ...])


@dataclass(frozen=True)
class _Entry:
    """One thing that is kept, with what it was made of: as long as that lives nothing else has its `id`."""

    made: np.ndarray | tuple[np.ndarray, ...]
    made_of: tuple[Any, ...]
    nbytes: int


class Kept:
    """Arrays by what makes them, those asked for last; `most_bytes` of them together."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.nbytes = most_bytes, 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = threading.Lock()  # threads of one process may grade

    def __len__(self) -> int:
        return len(self._entries)

    def drawn(self, recipe: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """The array that this expression of NumPy makes, read-only; `make` does the same, where it is not kept."""
        return self._get(recipe, (), make)

    def of(self, function: Callable[..., Made], *arguments: Any) -> Made:
        """What a function of nothing but its arguments gives for them, read-only.

        It is kept where the arrays among them can be changed by nobody, as those that were drawn, or worked out here.
        """
        if not all(_cannot_change(each) for each in arguments):
            return function(*arguments)
        key = (function, *(id(each) if isinstance(each, np.ndarray) else each for each in arguments))
        return self._get(key, arguments, lambda: function(*arguments))

    def _get(self, key: Hashable, made_of: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                return cast(Made, entry.made)
        made = make()
        arrays: tuple[np.ndarray, ...] = made if isinstance(made, tuple) else (made,)
        for each in arrays:
            each.flags.writeable = False
        held = (*arrays, *(each for each in made_of if isinstance(each, np.ndarray)))
        entry = _Entry(made, made_of, sum(each.nbytes for each in held))
        with self._lock:
            if entry.nbytes <= self.most_bytes and key not in self._entries:
                self._entries[key] = entry
                self.nbytes += entry.nbytes
            while self.nbytes > self.most_bytes:
                self.nbytes -= self._entries.popitem(last=False)[1].nbytes
        return made


def _cannot_change(value: Any) -> bool:
    """Whether a value stays what it is: a number, a text, or an array that nobody can write to, by another name either."""
    if isinstance(value, np.ndarray):
        return value.base is None and not value.flags.writeable
    if isinstance(value, tuple):
        return all(map(_cannot_change, value))
    return isinstance(value, (int, float, str, np.generic))


KEPT = Kept()
"""What this process keeps."""
