"""What a hint is seen by: a witness looks at what a run showed and names it, or finds nothing, and then there is no hint.

A hint says what a submission did. Its witnesses are what that is known from: a line and a thread, a launch, a wrong element,
the elements between two lanes, a request of the host. Each is looked up anew in the records of the run when the hint is to
be given. A hint is declared with one at least, `@misconception("a_check", shows=race("shared"))`: without it does not load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from autograder.errors import Line
from autograder.grading.attempt import Attempt
from autograder.records.accesses import Access, AccessKind
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard, HazardKind
from autograder.records.runs import Launch, Run, RunRequest


@dataclass(frozen=True)
class LaneStep:
    """How far apart in memory the elements are that neighbouring lanes of a warp load, or store, at one line."""

    line: Line
    array: str
    shape: tuple[int, ...]  # of the array
    elements: int  # between most neighbours


class Seen(Protocol):
    """What a witness looks at: what evidence.py makes of a failed attempt."""

    attempt: Attempt
    request: RunRequest
    run: Run

    @property
    def launch(self) -> Launch | None: ...

    @property
    def simulated_launch(self) -> Launch | None: ...

    @property
    def simulated(self) -> Run: ...

    def accesses(self, kind: AccessKind, space: str = ...) -> list[Access]: ...

    def lane_steps(self, kind: AccessKind, space: str = ...) -> list[LaneStep]: ...


@dataclass(frozen=True)
class Witness:
    """Where a hint's cause shows. `look(seen)`: what stands there, in a few words; empty where it is not to be seen."""

    kind: str
    look: Callable[[Seen], str]
    is_at_hand: bool = False  # it stands in what the check has seen: nothing is run to look at it

    def __or__(self, other: Witness) -> Witness:
        """The first of two that shows something."""
        return Witness(f"{self.kind} or {other.kind}", lambda seen: self.look(seen) or other.look(seen), self._with(other))

    def __and__(self, other: Witness) -> Witness:
        """Both, or nothing."""

        def both(seen: Seen) -> str:
            one, two = self.look(seen), other.look(seen)
            return f"{one}; {two}" if one and two else ""

        return Witness(f"{self.kind} and {other.kind}", both, self._with(other))

    def _with(self, other: Witness) -> bool:
        return self.is_at_hand and other.is_at_hand


# ---- what was found wrong --------------------------------------------------------------------------------------------


def hazard(
    *kinds: HazardKind, space: str = "", array: str = "", writes: bool | None = None, in_launch: bool = False
) -> Witness:
    """A hazard of one of these kinds: its line, who came to it, and which element it was.

    `space`: only in this memory; `array`: only of this one; `writes`: only those of a thread that writes, or that reads;
    `in_launch`: only those of the launch in question's kernel, for a hint that says how many threads there were.
    """

    def look(seen: Seen) -> str:
        found = (each for each in seen.simulated.hazards if each.kind in kinds)
        if in_launch:
            launch = _launch_in_question(seen)
            found = (each for each in found if launch is not None and each.kernel == launch.kernel)
        fitting = (e for e in found if space in ("", e.space) and array in ("", e.array) and writes in (None, e.writes))
        return next(map(_place, fitting), "")

    return Witness(" or ".join(kinds), look)


def _thread(place: tuple[int, int, int]) -> str:
    """(4, 0, 0) -> `4`, (4, 2, 0) -> `(4, 2)`"""
    return str(place[0]) if place[1:] == (0, 0) else str(place if place[2] else place[:2])


def _place(found: Hazard) -> str:
    line = f"{found.line}" if found.line else f"`{found.kernel}`"
    who = f", thread {_thread(found.thread)} of block {_thread(found.block)}" if found.thread and found.block else ""
    other = f" and thread {_thread(found.other_thread)}" if found.other_thread else ""
    at = f", {found.array}[{', '.join(map(str, found.index))}]" if found.array and found.index else ""
    often = f", {found.occurrences:,} times" if found.occurrences > 1 else ""
    return f"{line}{who}{other}{at}{often}"


def race(space: str = "", *, in_launch: bool = False) -> Witness:
    """Two threads at one element, and nothing puts them in order."""
    return hazard("race", space=space, in_launch=in_launch)


def outside(array: str = "", *, writes: bool | None = None, space: str = "", in_launch: bool = False) -> Witness:
    """An access outside an array."""
    return hazard("out_of_bounds", array=array, writes=writes, space=space, in_launch=in_launch)


def unset(space: str = "", *, in_launch: bool = False) -> Witness:
    """A read of what nobody wrote."""
    return hazard("uninitialised_read", space=space, in_launch=in_launch)


BARRIER = hazard("divergent_barrier")
BELOW_ZERO = hazard("negative_index")


def _fault(seen: Seen) -> str:
    fault = seen.run.fault or seen.simulated.fault
    if fault is None:
        return ""
    return f"{fault.line}" if fault.line else fault.first_sentence


FAULT = Witness("a fault", _fault)  # what ended the run: its line


# ---- what came of it -------------------------------------------------------------------------------------------------


def _wrong(seen: Seen) -> str:
    wrong = seen.attempt.wrong
    if wrong is None:
        return ""
    if wrong.problem or not wrong.mismatches:
        return wrong.problem
    first = wrong.mismatches[0]
    place = f"[{', '.join(map(str, first.index))}]" if first.index else ""
    return f"{wrong.name}{place} is {first.got:.9g} where {first.expected:.9g} is right"


def _left_out(seen: Seen) -> str:
    for name, written in seen.run.written.items():
        if not written.all() and seen.run.fault is None:
            first = ", ".join(map(str, np.argwhere(~written)[0]))
            return f"{name}[{first}] is not written, {int((~written).sum()):,} of {written.size:,} elements are not"
    return ""


def _changed(seen: Seen) -> str:
    for name, before in seen.request.arguments.items():
        after = seen.run.outputs.get(name)
        if isinstance(before, np.ndarray) and after is not None and after.shape == before.shape:
            differs = before != after
            if differs.any():
                return f"{name}[{', '.join(map(str, np.argwhere(differs)[0]))}] is another number afterwards"
    return ""


RESULT = Witness("a wrong element", _wrong, is_at_hand=True)
LEFT_OUT = Witness("an element that is not written", _left_out, is_at_hand=True)
CHANGED = Witness("an input that has changed", _changed, is_at_hand=True)


def _returned(seen: Seen) -> str:
    value = seen.run.returned
    if value is None:
        return f"{seen.request.function} returns nothing"
    return f"{seen.request.function} returns an array of {value.size:,}" if isinstance(value, np.ndarray) else ""


RETURNED = Witness("what was returned", _returned, is_at_hand=True)

# ---- what was launched, and asked for --------------------------------------------------------------------------------


def _extent(extent: Iterable[int]) -> str:
    """(4, 1, 1) -> `4`, (4, 2, 1) -> `(4, 2)`"""
    numbers = [int(each) for each in extent]
    while len(numbers) > 1 and numbers[-1] == 1:
        numbers.pop()
    return str(numbers[0]) if len(numbers) == 1 else str(tuple(numbers))


def _launch_in_words(launch: Launch) -> str:
    return f"{launch.kernel}[{_extent(launch.grid)}, {_extent(launch.block)}]"


def _launch_in_question(seen: Seen) -> Launch | None:
    """The launch that hints are about; of a run whose fault left none, that which the simulated GPU carries out."""
    return seen.launch or seen.simulated_launch


def launched(which: Callable[[Any], Launch | None] = _launch_in_question) -> Witness:
    """A launch, with its grid and its block: the one that is picked."""

    def look(seen: Seen) -> str:
        picked = which(seen)
        return "" if picked is None else _launch_in_words(picked)

    return Witness("a launch", look)


LAUNCH = launched()


def _all_launches(seen: Seen) -> str:
    names = [each.kernel for each in seen.run.launches or seen.simulated.launches]
    return ", ".join(f"{name} launched {names.count(name):,} times" for name in dict.fromkeys(names))


LAUNCHES = Witness("all launches", _all_launches)


def _nothing(seen: Seen) -> str:
    return "" if seen.run.launches else f"{seen.request.function} ends without a launch"


NO_LAUNCH = Witness("no launch", _nothing)


def asked_of_the_host(*what: str) -> Witness:
    """A request of host code beside launches, one of these if any are named: what it was, and its line."""

    def look(seen: Seen) -> str:
        found = (each for each in seen.simulated.transfers if not what or each.what in what)
        return next((f"{each.line}: {each.what}" if each.line else each.what for each in found), "")

    return Witness("a request of the host", look)


HOST = asked_of_the_host()

def _wide(seen: Seen) -> str:
    wide = next((each for each in seen.accesses("store", "shared") if each.itemsize > 4), None)
    return f"the shared array {wide.array} has elements of {wide.itemsize} bytes" if wide else ""


WIDE = Witness("elements of 8 bytes in shared memory", _wide)

# ---- what was counted ------------------------------------------------------------------------------------------------


def counted(*names: str, least: float = 1) -> Witness:
    """The line that counts most of these, all together, and at least so much."""
    return _counted(names, least, lambda line: line.counters, "")


def compiled(*names: str, least: float = 1) -> Witness:
    """The same of what the compiler leaves."""
    return _counted(names, least, lambda line: line.compiled, ", as the compiler leaves them")


def in_words(counters: Iterable[str]) -> str:
    """Names of counters, what they begin and end with said once:
    `shared_load_requests`, `shared_store_requests` -> "shared load and store requests"."""
    names = [name.split("_") for name in counters]
    fewest = min(map(len, names))
    first = 0
    while first < fewest - 1 and len({name[first] for name in names}) == 1:
        first += 1
    last = 0
    while last < fewest - first - 1 and len({name[-1 - last] for name in names}) == 1:
        last += 1
    between = " and ".join(" ".join(name[first : len(name) - last]) for name in names)
    return " ".join([*names[0][:first], between, *names[0][len(names[0]) - last :]])


def _counted(names: Iterable[str], least: float, of_line: Callable[[LineProfile], Counters], where: str) -> Witness:
    def of(line: LineProfile) -> float:
        return sum(float(getattr(of_line(line), name)) for name in names)

    def look(seen: Seen) -> str:
        line = max(seen.simulated.lines, key=of, default=None)
        if line is None or of(line) < least:
            return ""
        words = in_words(names)
        return f"{line.line}: `{line.text.strip()}`, {of(line):,.0f} {words}{where}"

    return Witness(f"counted {', '.join(names)}{where}", look)


def reason(why: str, among: Callable[[Any], Iterable[LineProfile]] | None = None) -> Witness:
    """The line with most instructions of which the compiler's rules say this: one of simgpu/facts/reasons.py, or `SIGNS`.

    `among`: only these lines.
    """

    def look(seen: Seen) -> str:
        lines = (each for each in (seen.simulated.lines if among is None else among(seen)) if why in each.why)
        line = max(lines, key=lambda each: each.compiled.issued_warp_instructions, default=None)
        return "" if line is None else f"{line.line}: `{line.text.strip()}`: {why}"

    return Witness(f"reason: {why}", look)


def not_counted(*names: str) -> Witness:
    """That none of these was counted in the whole run, although it ended."""

    def look(seen: Seen) -> str:
        counters = seen.simulated.counters
        if counters is None or any(getattr(counters, name) for name in names):
            return ""
        return f"{in_words(names)}: none in the whole run"

    return Witness(f"no {', '.join(names)}", look)


def lanes(kind: AccessKind, *, apart: Callable[[Any], int] | None = None, space: str = "global") -> Witness:
    """Neighbouring lanes of a warp at one line: how many elements lie between what they load, or store.

    `apart`: only where it is this many, for most neighbours.
    """

    def look(seen: Seen) -> str:
        for step in seen.lane_steps(kind, space):
            if abs(step.elements) > 1 and (apart is None or step.elements == apart(seen)):
                return f"{step.line}: neighbouring lanes {kind} elements of {step.array} that are {step.elements} apart"
        return ""

    return Witness(f"lanes apart in a {kind}", look)
