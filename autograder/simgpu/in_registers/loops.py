"""Which loops are compiled, and when: the way from `operations/loops.py` into a compiled function and back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.in_registers.compiled import compiled
from autograder.simgpu.in_registers.counts import CountShare
from autograder.simgpu.in_registers.draws import Draws
from autograder.simgpu.in_registers.expressions import known_value
from autograder.simgpu.in_registers.figures import KEPT, Sharing
from autograder.simgpu.in_registers.going import LoopOfLanes, RoundsOfLanes
from autograder.simgpu.in_registers.writer import MOST_TRIES, LaneWriter, widened
from autograder.simgpu.machine.machine import SURPRISES, Machine
from autograder.simgpu.one_thread.rehearsal import Circumstances, NotOfNumbers
from autograder.simgpu.one_thread.source import NotWritten
from autograder.simgpu.one_thread.variables import assigned_in
from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.loops import STUCK_AFTER, Loop, While
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.ranges import RangeByLane
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import NUMBERS, Number, Value
from autograder.simgpu.values.variables import Unmergeable, Variable

WORTH = 60_000_000  # units of work from which on a loop is compiled: about a second by steps
LEAST = 8  # rounds that are to be gone by what is compiled
MOST_VERSIONS = 4  # of one loop, for variables of different types
MOST_TROUBLE = 20  # times that a loop is handed back to steps


@dataclass
class KnownLoop:
    """What is known of one loop."""

    work: int = 0  # that its rounds have taken by steps
    rounds: int = 0
    tries: int = 0
    troubles: int = 0
    versions: list[LoopOfLanes] = field(default_factory=list)
    names: tuple[str, ...] = ()  # of its variables
    assigned: frozenset[str] = frozenset()  # to which it assigns


class LoopsInRegisters:
    """The loops of one kernel that are compiled."""

    def __init__(self) -> None:
        self.known: dict[Loop, KnownLoop] = {}
        self.reasons: dict[Loop, str] = {}  # why a loop is stepped through

    def go_on(
        self, machine: Machine, loop: Operation, mask: Mask, rounds: int, work: int, numbers: object, broken: list[Mask]
    ) -> tuple[int, Mask | None] | None:
        """Goes through the rest of a loop that has gone `rounds` rounds, and taken so much `work` since it was asked last.

        `numbers`: those that a loop over a range has yet to go over. Gives how many rounds were gone and the lanes that are
        still in the loop, or None where nothing was done.
        """
        assert isinstance(loop, Loop)
        known = self.known.get(loop)
        if known is None:
            assigned = assigned_in(loop)
            names = {each.name for each in everything_in(loop) if isinstance(each, Local)} | assigned
            known = self.known[loop] = KnownLoop(names=tuple(sorted(names)), assigned=assigned)
        known.work += work
        left = len(numbers) if isinstance(numbers, range) else LEAST
        by_lane = numbers if isinstance(numbers, RangeByLane) else None
        if left < LEAST or known.troubles >= MOST_TROUBLE or not self.may_go(machine, loop):
            return None
        if isinstance(loop, While) and rounds > STUCK_AFTER and rounds % STUCK_AFTER:
            return None
        if not known.versions and known.work < WORTH:
            return None
        entry = LanesAtLoop(machine, loop, mask, known, by_lane)
        going = None
        for version in known.versions:
            going = entry.going(version, rounds)
            if going is not None:
                break
        if going is None:
            if known.tries >= MOST_TRIES or len(known.versions) >= MOST_VERSIONS:
                return None
            known.tries += 1
            try:
                known.versions.append(entry.write())
            except NotWritten as problem:
                self.reasons[loop] = str(problem)
                return None
            going = entry.going(known.versions[-1], rounds)
            if going is None:
                return None
        try:
            going.go(numbers if isinstance(numbers, range) else None)
        finally:
            running = going.end(broken)
        known.troubles += going.trouble
        return going.rounds - rounds, running

    def may_go(self, machine: Machine, loop: Loop) -> bool:
        """Whether nothing is asked of this launch that only steps can give."""
        launch, counting = machine.launch, machine.counting
        return (
            launch.trace is None
            and launch.debug is None
            and (counting.regrouping is None or counting.is_regrouped(loop))
            and not machine.batch.has_raised
        )


class LanesAtLoop:
    """A loop that the lanes of a mask are about to go on with."""

    def __init__(
        self, machine: Machine, loop: Loop, mask: Mask, known: KnownLoop, by_lane: RangeByLane | None
    ) -> None:
        self.machine, self.loop, self.mask, self.by_lane = machine, loop, mask, by_lane
        self.kinds: dict[str, tuple[np.dtype, Sharing]] = {}
        self.values: dict[str, Number] = {}
        self.others: dict[str, Value] = {}
        self.problem = ""
        for name in known.names:
            variable = machine.current.variables.get(name)
            value, is_whole = self.seen(variable)
            if isinstance(value, NUMBERS) and is_whole and value.dtype in KEPT:
                sharing = Sharing.BY_LANE if isinstance(value, np.ndarray) else Sharing.SHARED
                self.kinds[name], self.values[name] = (value.dtype, sharing), value
            elif name in known.assigned or not is_whole:
                self.problem = f"`{name}` has no number for all threads"
            else:
                self.others[name] = value

    def seen(self, variable: Variable | None) -> tuple[Value, bool]:
        """What the lanes have of a variable, and whether all have something; the variable stays as it is."""
        if variable is None or not variable.layers:
            return None, False
        copied = Variable()
        copied.layers = [*variable.layers]
        try:
            value, unset = copied.read(self.mask)
        except Unmergeable:
            return None, False
        return value, unset is None

    def write(self) -> LoopOfLanes:
        """The loop as it is compiled for variables of the types that they have here."""
        if self.problem:
            raise NotWritten(self.problem)
        kinds = self.kinds
        try:
            for _ in range(MOST_TRIES):
                writer = LaneWriter(self.machine, self.mask, self.loop, kinds, self.others, self.by_lane is not None)
                writer.round()
                after = widened(writer)
                if after == kinds:
                    return finished(writer)
                kinds = after
        except (KernelFault, NotOfNumbers, Unmergeable, *SURPRISES) as problem:
            raise NotWritten(str(problem)) from problem
        raise NotWritten("variables that lanes share at times")

    def going(self, version: LoopOfLanes, rounds: int) -> RoundsOfLanes | None:
        """The loop as it is to go round here; None where it was compiled for something else."""
        machine, mask = self.machine, self.mask
        if version.is_regrouped != machine.counting.is_regrouped(self.loop):
            return None
        if self.problem or version.is_by_lane != (self.by_lane is not None) or version.around != Circumstances.of(machine):
            return None
        if not _are_alike(self.kinds, version) or self.others.keys() != version.others.keys():
            return None
        if any(type(value) is not version.others[name] for name, value in self.others.items()):
            return None
        given: dict[object, Number] = {}
        for op, figure in version.given:
            value = known_value(machine, mask, op)
            is_shared = figure.sharing == Sharing.SHARED
            if not isinstance(value, NUMBERS) or value.dtype != figure.dtype or isinstance(value, np.ndarray) == is_shared:
                return None
            given[op] = value
        if version.draws:
            assert version.states is not None
            states, origin = version.states.value(machine, mask), version.draws[0].index
            index = given[origin] if origin in given else self.values[str(origin)]
            if not isinstance(states, View) or not Draws.is_possible(states, index, mask):
                return None
        views = [each.of(machine, mask) for each in version.arrays]
        launch = machine.launch
        if not all(launch.is_known(hazard) for share in version.shares for hazard in share.hazards):
            return None
        known = [each for each in views if each is not None]
        if len(known) < len(views):
            return None
        return RoundsOfLanes(machine, self.loop, mask, version, self.values, given, known, rounds, self.by_lane)


def _are_alike(kinds: dict[str, tuple[np.dtype, Sharing]], version: LoopOfLanes) -> bool:
    """Whether variables are of the types for which a loop was compiled."""
    if kinds.keys() != version.kinds.keys():
        return False
    for name, (dtype, sharing) in kinds.items():
        wanted, who = version.kinds[name]
        if dtype != wanted or sharing != who and (name not in version.assigned or who != Sharing.MAYBE):
            return False
    return True


def finished(writer: LaneWriter) -> LoopOfLanes:
    """What was written, compiled."""
    source = writer.source
    return LoopOfLanes(
        compiled=compiled(writer),
        around=Circumstances.of(writer.machine),
        kinds=dict(writer.kinds),
        assigned=writer.assigned,
        shares=tuple(CountShare.sum(each.shares) for each in source.runs),
        divisions=tuple(source.divisions),
        draws=tuple(writer.draws),
        ways_out=tuple(writer.ways_out),
        states=writer.states,
        arrays=tuple(writer.arrays.values()),
        loads=tuple(writer.loads),
        returns=tuple(writer.returns),
        given=tuple(writer.given.items()),
        is_by_lane=writer.is_by_lane,
        is_regrouped=writer.is_regrouped,
        others={name: type(value) for name, value in writer.others.items()},
    )


