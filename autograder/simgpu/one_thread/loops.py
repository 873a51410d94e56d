"""Which loops of one thread are written out, and when: the way from `operations/loops.py` into a function and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from autograder.errors import KernelFault
from autograder.simgpu.machine.machine import Machine, Standstill
from autograder.simgpu.one_thread.desk import ViewKind
from autograder.simgpu.one_thread.going import Going, Written
from autograder.simgpu.one_thread.numbers import KEPT, Number
from autograder.simgpu.one_thread.rehearsal import Circumstances, NotOfNumbers, RunCount, Stage
from autograder.simgpu.one_thread.side_by_side import AT_ONCE, RoundsAtOnce, SideBySide
from autograder.simgpu.one_thread.source import (
    ALL,
    COUNTERS,
    END,
    FAR,
    GONE,
    GROUPS,
    HAND_OVER,
    RESET,
    AccessSite,
    NotWritten,
)
from autograder.simgpu.one_thread.variables import assigned_in, inner_number, name_of
from autograder.simgpu.one_thread.writer import Writer
from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.function_calls import FunctionCall
from autograder.simgpu.operations.loops import ASKED_EVERY, For, Loop
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.steps import Expression, Statement
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.numba_types import FLOAT32
from autograder.simgpu.values.values import NUMBERS, Value
from autograder.simgpu.values.variables import Unmergeable

WORTH = 400  # rounds of a loop, gone and yet to go, from which on it is written: it takes about as long as they do
LEAST = 12  # rounds that are to be gone by what is written
MOST_VERSIONS = 4  # of one loop, for variables of different types
MOST_TRIES = 3  # to write one


@dataclass
class Known:
    """What is known of one loop."""

    rounds: int = 0  # that it was stepped through
    tries: int = 0
    versions: list[Written] = field(default_factory=list)


class LoopsOfOneThread:
    """The loops of one kernel that are written out as Python functions, where one lane goes through them alone."""

    def __init__(self) -> None:
        self.known: dict[Loop, Known] = {}
        self.at_once: dict[Written, RoundsAtOnce] = {}
        self.reasons: dict[Loop, str] = {}  # why a loop is stepped through

    def go_on(
        self, machine: Machine, loop: Operation, mask: Mask, rounds: int, numbers: range | None, before: Standstill | None
    ) -> tuple[int, Mask | None] | None:
        """Goes through the rest of a loop that has gone `rounds` rounds, if that is worth it.

        `numbers`: those that a loop over a range has yet to go over. Gives how many rounds were gone, and the lanes that are
        still in the loop: they go on by steps, unless no round is left (None where nobody is, or where a `while` has
        ended). Gives None where nothing was done.
        """
        assert isinstance(loop, Loop)
        known = self.known.get(loop)
        if known is None:
            known = self.known[loop] = Known()
        known.rounds += 1
        left = WORTH if numbers is None else len(numbers)
        if left < LEAST or not self.may_go(machine, mask):
            return None
        if not known.versions and known.rounds * ASKED_EVERY + left < WORTH + (WORTH // 2 if numbers is None else 0):
            return None
        entry = LoopEntry(machine, loop, mask)
        going = None
        for version in known.versions:
            going = entry.going(version, rounds, before)
            if going is not None:
                break
        if going is None:
            if known.tries >= MOST_TRIES or len(known.versions) >= MOST_VERSIONS:
                return None
            try:
                version = entry.write()
            except NotWritten as problem:
                self.reasons[loop] = str(problem)
                known.tries += 1
                return None
            known.versions.append(version)
            going = entry.going(version, rounds, before)
            if going is None:
                return None
        return self.gone(machine, loop, going, mask, numbers)

    def may_go(self, machine: Machine, mask: Mask) -> bool:
        """Whether nothing is asked of this launch that only steps can give."""
        launch, counting = machine.launch, machine.counting
        return (
            mask.active == 1
            and launch.trace is None
            and launch.debug is None
            and launch.words is None
            and counting.regrouping is None
            and not machine.books.warps_more
            and not machine.batch.has_raised
            and machine.order.grid_sync > 0
        )

    def gone(
        self, machine: Machine, loop: Loop, going: Going, mask: Mask, numbers: range | None
    ) -> tuple[int, Mask | None]:
        rounds, how = going.rounds, END
        beside = None if numbers is None else self.beside(going, loop)
        if beside is None:
            how = going.written.function(going, numbers)
        else:
            left = numbers or range(0)
            while left and how == END:
                left = beside.go(left)
                one_by_one = left[:AT_ONCE] if beside.may_go else left
                left = left[len(one_by_one) :]
                how = going.written.function(going, one_by_one)
        if how == GONE:
            return going.rounds - rounds, None
        going.write_back(going.variables, how)
        if how >= 0:
            site = going.written.sites[how]
            around = going.begin(site)
            assert isinstance(site.op, Statement)
            after = site.op.carry_out(machine, mask)
            around.begin(machine)
            return going.rounds - rounds, after
        return going.rounds - rounds, mask if how == HAND_OVER or numbers is not None else None

    def beside(self, going: Going, loop: Loop) -> SideBySide | None:
        """Who has rounds of a loop go at once; None where none can."""
        known = self.at_once.get(going.written)
        if known is None:
            known = self.at_once[going.written] = RoundsAtOnce(loop, going.written.sites, len(going.written.counts))
        return SideBySide(going, loop, known) if known.is_possible and isinstance(loop, For) else None


class LoopEntry:
    """A loop that one lane is about to go on with."""

    def __init__(self, machine: Machine, loop: Loop, mask: Mask) -> None:
        self.machine, self.loop, self.mask = machine, loop, mask
        self.lane = int(mask.where[0])
        names = {each.name for each in everything_in(loop) if isinstance(each, Local)} | assigned_in(loop)
        self.numbers: dict[str, Number] = {}
        self.values: dict[str, Value] = {}
        self.others: dict[str, Value] = {}
        for name in sorted(names):
            variable = machine.current.variables.get(name)
            value = variable.seen_by(mask) if variable is not None and variable.layers else None
            if value is None and variable is not None and variable.layers:
                value = self.merged(variable.layers)
            if isinstance(value, NUMBERS) and value.dtype in KEPT:
                self.numbers[name] = Number.of(name_of(name), value.dtype, isinstance(value, np.ndarray))
                self.values[name] = value
            elif variable is not None and variable.layers:
                self.others[name] = value
        self.owners: list[Buffer] = []

    def merged(self, layers: Sequence[tuple[Mask, Value]]) -> Value:
        """What the lane has of a variable that lanes were given at different times."""
        for under, value in reversed(layers):
            if under.lanes[self.lane]:
                return value
        return None

    def kind_of_view(self, view: View) -> ViewKind:
        """What the function of a loop goes by."""
        buffer = view.buffer
        if buffer.owner not in self.owners:
            self.owners.append(buffer.owner)
        has_shadow = self.machine.launch.checks_order and (
            buffer.space == "shared"
            or buffer.space == "global" and (buffer.shadow is not None or self.machine.launch.is_written(buffer))
        )
        is_plain = isinstance(view.offset, int) and view.offset == 0 and view.strides[-1:] == (1,)
        return ViewKind(
            view.data.dtype, view.ndim, buffer.space, not isinstance(view.offset, int), is_plain, has_shadow, buffer.all_set,
            self.owners.index(buffer.owner),
        )  # fmt: skip

    def value(self, op: Expression) -> Value:
        """A value that is the same in all rounds."""
        if isinstance(op, FunctionCall):
            return op.value(Stage(self.machine, tells=False).as_machine(), self.mask)
        return op.value(self.machine, self.mask)

    def going(self, version: Written, rounds: int, before: Standstill | None) -> Going | None:
        """The loop as it is to go round here; None where it was written for other types."""
        if version.around != Circumstances.of(self.machine) or version.first != self.numbers:
            return None
        self.owners = []
        views = [self.value(op) for op, _ in version.views]
        for view, (_, kind) in zip(views, version.views, strict=True):
            if not isinstance(view, View) or self.kind_of_view(view) != kind:
                return None
        given = [self.value(op) for op, _ in version.given]
        for value, (_, number) in zip(given, version.given, strict=True):
            if not isinstance(value, NUMBERS) or (value.dtype, isinstance(value, np.ndarray)) != number.kind:
                return None
        variables = [self.plain(self.values.get(name)) for name in version.variables]
        return Going(
            self.machine, self.mask, version, cast("list[View]", views), variables, tuple(map(self.plain, given)), rounds,
            before,
        )  # fmt: skip

    def plain(self, value: Value) -> object:
        """A number as Python has it; None where there is none."""
        if isinstance(value, np.ndarray):
            value = value[self.lane]
        if not isinstance(value, np.generic):
            return None
        return value if value.dtype == FLOAT32 else value.item()

    def write(self) -> Written:
        """The loop as a function, for variables of the types that they have here."""
        self.owners = []
        writer = Writer(self.machine, self.mask, self.loop, self.numbers, self.others, self.kind_of_view)
        try:
            writer.outermost()
        except (KernelFault, NotOfNumbers, Unmergeable) as problem:
            raise NotWritten(str(problem)) from None
        return finished(writer, self.numbers)


def finished(writer: Writer, first: dict[str, Number]) -> Written:
    """What was written, as a function."""
    source = writer.source
    runs, sites = len(source.runs), tuple(source.sites)
    accesses = tuple(each for each in sites if isinstance(each, AccessSite))
    names = tuple(sorted(first.keys() | writer.assigned))
    groups = sorted({kind.group for _, _, kind in writer.views.values()})
    counters = "(" + "".join(f"n{i}, " for i in range(runs)) + ")"
    every = "(" + "".join(f"{name_of(each)}, " for each in names) + ")"
    last = "".join(f"p{group}, " for group in groups)
    lines = ["def loop(x, rest):"]
    start = lines.append
    for several, of in (
        ([f"n{i}" for i in range(runs)], "0"), ([f"p{group}" for group in groups], "None"),
        ([f"u{each.number}" for each in accesses], "-1"),
        ([f"{letter}{each.number}" for each in accesses for letter in "wg"], "0"),
    ):  # fmt: skip
        if several:
            start(f"    {' = '.join(several)} = {of}")
    start("    now, gs, in_block = x.order")
    start("    first, last = x.block")
    start("    me, stamp, is_first, c, begun, bc, fuel = x.me, x.stamp, x.is_first, x.rounds, x.rounds, x.before, 0")
    if names:
        start(f"    {every} = x.variables")
    if writer.given:
        start("    (" + "".join(f"{code}, " for code, _ in writer.given.values()) + ") = x.given")
    if accesses:
        start("    (" + "".join(f"y{each.number}, " for each in accesses) + ") = x.sites_of_lines()")
    for number, _, kind in writer.views.values():
        named = [f"z{number}_{axis}" for axis in range(kind.ndim)] + [f"s{number}_{axis}" for axis in range(kind.ndim)]
        named += [f"{letter}{number}" for letter in "odmla"]
        if kind.has_shadow:
            named += [f"{letter}{number}" for letter in ("ws", "wt", "wp", "rs", "rt", "rp")]
        start(f"    ({', '.join(named)}) = x.view({number})")
    for each in sites:
        if each.count.hazards:
            start(f"    h{each.number} = x.is_known({each.number})")
    start("    try:")
    reset = f"{' = '.join(f'p{group}' for group in groups)} = {FAR}" if groups else "pass"
    for line in source.lines:
        start(
            line.replace(COUNTERS, counters).replace(ALL, every).replace(GROUPS, last).replace(RESET, reset)
            if "@" in line
            else line
        )
    start(f"        return {END}")
    start("    finally:")
    new, again = ("(" + "".join(f"{letter}{each.number}, " for each in accesses) + ")" for letter in "wg")
    start(f"        x.ended({counters}, {new}, {again}, ({last}), {every}, c)")
    text = "\n".join(lines)
    names_known: dict[str, object] = {
        "sqrt": math.sqrt, "float32": np.float32, "int64": np.int64, "uint64": np.uint64, **writer.functions,
    }  # fmt: skip
    exec(compile(text, f"<{writer.loop.line}>", "exec"), names_known)  # noqa: S102 (written here, of operations)
    counts = tuple(RunCount.sum(each.counts) for each in source.runs)
    return Written(
        text=text,
        function=cast("Callable[[Going, object], int]", names_known["loop"]),
        variables=names,
        assigned=writer.assigned,
        exits={how: {k: inner_number(v) for k, v in variables.items()} for how, variables in writer.exits.items()},
        around=Circumstances.of(writer.machine),
        first=first,
        given=tuple((cast(Expression, op), number) for op, (_, number) in writer.given.items()),
        views=tuple((op, kind) for _, op, kind in writer.views.values()),
        accesses=accesses,
        sites=sites,
        intrinsics=writer.intrinsics,
        counts=counts,
        work=sum(each.work for each in counts),
    )
