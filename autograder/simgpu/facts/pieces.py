"""The accesses of a kernel, by straight piece of code: those that the compiler may make one wider access of."""

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
    """A load from a shared array or a store to one, in a round."""

    placed: Placed
    array: KnownArray
    indices: tuple[Form, ...]


@dataclass
class Piece:
    """The accesses of one straight piece of code, with nothing between that keeps them apart."""

    loads: list[Moved] = field(default_factory=list)
    stores: list[Moved] = field(default_factory=list)


class Pieces(Observer):
    """Collects them during an analysis."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.all: list[Piece] = []
        self.rounds: dict[Operation, set[Rounds]] = defaultdict(set)  # of accesses: in which rounds there is one
        self.loops_around: dict[Operation, tuple[For, ...]] = {}  # of accesses: those written out
        self._open = Piece()
        self._ends = 0  # pieces that have come to an end by now
        self._tries: dict[Placed, tuple[int, int]] = {}  # of loops: the pieces that the last try at a round has found

    def begin(self) -> None:
        """Forgets what another try has collected."""
        self.rounds.clear()
        self.all, self._open, self._tries = [], Piece(), {}

    def end_piece(self) -> None:
        """Here a straight piece of code ends."""
        self._ends += 1
        self.all.append(self._open)
        self._open = Piece()

    def loaded(self, op: Operation, array: KnownArray, indices: tuple[Form, ...]) -> None:
        self._note(op)
        placed = op, self.here.rounds
        if array.space == "shared" and placed not in self.here.found.again:
            self._open.loads.append(Moved(placed, array, indices))
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
            self._open.stores.append(Moved((op, self.here.rounds), reached.array, whole))

    def called(self, path: str) -> None:
        if path.startswith((*SYNCHRONISES, "numba.cuda.atomic.")) or path in SLOW_PATHS:
            self.end_piece()

    @contextmanager
    def arm(self) -> Iterator[None]:
        """Behind an arm the code around goes on, unless something in the arm ended it."""
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
        """The round that stands for all rounds of a loop. Of several tries at it only the last one counts."""
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
        """Stores are not moved past a load of shared memory."""
        if self._open.stores:
            self.all.append(Piece(stores=self._open.stores))
            self._open.stores = []

    def _note(self, op: Operation) -> None:
        self.rounds[op].add(self.here.rounds)
        self.loops_around[op] = tuple(self.here.written_out)
