"""The accesses to shared memory in each straight piece of code: the compiler merges neighbours only within a piece."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from autograder.simgpu.facts.forms import Form
from autograder.simgpu.facts.here import Here
from autograder.simgpu.facts.known import KnownArray
from autograder.simgpu.facts.library import SYNCHRONISES
from autograder.simgpu.facts.observer import Observer
from autograder.simgpu.facts.scope import Placed
from autograder.simgpu.operations.loops import For
from autograder.simgpu.operations.operation import Operation, Rounds

SLOW_PATHS = ("math.sin", "math.cos", "math.tan", "numpy.sin", "numpy.cos", "numpy.tan")  # with a branch inside


@dataclass(frozen=True)
class Moved:
    """A load from or a store to a shared array, in one round of the loops around it."""

    placed: Placed
    array: KnownArray
    indices: tuple[Form, ...]
    loop: Operation | None = None  # the innermost loop around that is not unrolled
    are_unsigned: bool = False  # no index can be negative, by the types of the indices


@dataclass
class Piece:
    """The accesses of one straight piece of code."""

    loads: list[Moved] = field(default_factory=list)
    stores: list[Moved] = field(default_factory=list)


class Pieces(Observer):
    """Collects accesses, piece by piece, while an analysis runs."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.all: list[Piece] = []
        self.rounds: dict[Operation, set[Rounds]] = defaultdict(set)  # by access: the rounds in which it takes place
        self.loops_around: dict[Operation, tuple[For, ...]] = {}  # by access: the unrolled loops around it
        self._open = Piece()
        self._ends = 0  # pieces that have ended so far
        self._tries: dict[Placed, tuple[int, int]] = {}  # by loop: where in `all` the pieces of its last try lie

    def begin(self) -> None:
        """Forgets what an earlier try has collected."""
        self.rounds.clear()
        self.all, self._open, self._tries = [], Piece(), {}

    def end_piece(self) -> None:
        """Ends the present piece and begins another."""
        self._ends += 1
        self.all.append(self._open)
        self._open = Piece()

    def loaded(self, op: Operation, array: KnownArray, indices: tuple[Form, ...]) -> None:
        self._note(op)
        placed = op, self.here.rounds
        if array.space == "shared" and placed not in self.here.found.needless_loads:
            reached = self.here.found.reached[op]
            self._open.loads.append(Moved(placed, array, indices, self._loop(), reached.are_unsigned))
            self._end_of_stores()

    def stored(self, op: Operation) -> None:
        self._note(op)
        reached = self.here.found.reached.get(op)
        if reached is None or reached.array.space != "shared":
            return
        if self._open.loads:
            self.end_piece()
        whole = tuple(each for each in reached.indices if each is not None)
        if len(whole) == len(reached.indices):
            placed = op, self.here.rounds
            self._open.stores.append(Moved(placed, reached.array, whole, self._loop(), reached.are_unsigned))

    def _loop(self) -> Operation | None:
        return self.here.loops[-1] if self.here.loops else None

    def called(self, path: str) -> None:
        if path.startswith((*SYNCHRONISES, "numba.cuda.atomic.")) or path in SLOW_PATHS:
            self.end_piece()

    @contextmanager
    def arm(self) -> Iterator[None]:
        """An arm is a piece of its own. The piece around it goes on behind the arm, unless something in the arm ends it."""
        around, ends = self._open, self._ends
        self._open = Piece()
        yield
        self.all.append(self._open)
        if self._ends == ends:
            self._open = around
        else:
            self.all.append(around)
            self._open = Piece()

    @contextmanager
    def counted_round(self, loop: Operation) -> Iterator[None]:
        """The round that stands for all rounds of a loop. If there are several tries at it, only the last one counts."""
        self.end_piece()
        begin = len(self.all)
        yield
        self.end_piece()
        key = loop, self.here.rounds
        if key in self._tries:
            earlier, end = self._tries[key]
            if end == begin:
                del self.all[earlier:end]
                begin = earlier
        self._tries[key] = begin, len(self.all)

    def _end_of_stores(self) -> None:
        """The compiler moves no store past a load from shared memory."""
        if self._open.stores:
            self.all.append(Piece(stores=self._open.stores))
            self._open.stores = []

    def _note(self, op: Operation) -> None:
        self.rounds[op].add(self.here.rounds)
        self.loops_around[op] = tuple(self.here.written_out)
