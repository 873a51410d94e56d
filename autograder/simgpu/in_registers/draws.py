"""What random numbers count that are drawn in a compiled loop, where their states are kept in registers.

Each draw loads a state and stores the next. What that moves, and what it finds, depends on who draws together, and on
nothing else as long as the loop goes round. So it is carried out, twice, for the lanes that draw together in a round: what
the second time has added to the books is added as often as there were such rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autograder.errors import Line
from autograder.simgpu.counting.tally import Tally
from autograder.simgpu.in_registers.desk import DrawSite
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.one_thread.rehearsal import Circumstances
from autograder.simgpu.operations.calls import Call
from autograder.simgpu.operations.loops import Loop
from autograder.simgpu.primitives import WARP
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import Number


class RoundCount:
    """What the draws of a round add to the books."""

    def __init__(self, machine: Machine, sites: Sequence[DrawSite]) -> None:
        self.machine = machine
        self.lines: list[Line] = sorted({each.op.line for each in sites})
        books = machine.books
        self.rows = [[*row] for row in self._rows(machine.launch.tally)]
        self.of_warps = books.warp_work.by_warp().copy(), books.warp_loads.by_warp().copy()
        self.before = machine.launch.work, machine.memory.changes, machine.launch.found

    def _rows(self, tally: Tally) -> list[list[int]]:
        return [of(line) for line in self.lines for of in (tally.row, tally.source_row, tally.compiled_row)]

    def end(self) -> None:
        """The round is over: what it has added is known."""
        machine, launch, books = self.machine, self.machine.launch, self.machine.books
        self.added = [
            [now - then for now, then in zip(row, old, strict=True)]
            for row, old in zip(self._rows(launch.tally), self.rows, strict=True)
        ]
        self.by_warp = books.warp_work.by_warp() - self.of_warps[0]
        self.loads = books.warp_loads.by_warp() - self.of_warps[1]
        after = launch.work, machine.memory.changes, launch.found
        self.work, self.changes, self.found = (now - then for now, then in zip(after, self.before, strict=True))

    def add(self, times: int) -> None:
        machine, books = self.machine, self.machine.books
        for row, added in zip(self._rows(machine.launch.tally), self.added, strict=True):
            for slot, amount in enumerate(added):
                if amount:
                    row[slot] += times * amount
        books.warp_work.add(times * self.by_warp)
        books.warp_loads.add(times * self.loads)
        machine.launch.work += times * self.work
        machine.memory.changes += times * self.changes


class Draws:
    """The draws of one loop that goes round."""

    def __init__(
        self, machine: Machine, loop: Loop, mask: Mask, sites: Sequence[DrawSite], states: View, index: Number
    ) -> None:
        self.machine, self.loop, self.mask = machine, loop, mask
        self.sites, self.states, self.index = sites, states, index
        self.known: dict[bytes, RoundCount] = {}
        places = np.broadcast_to(index, mask.lanes.shape)[mask.where].astype(np.int64)
        self.elements = places * states.strides[0] + states.offset

    @staticmethod
    def is_possible(states: View, index: Number, mask: Mask) -> bool:
        """Whether each lane has a state of its own, within the array."""
        if states.ndim != 1 or states.read_only or states.lengths is not None or states.outside is not None:
            return False
        if not isinstance(states.offset, int) or states.buffer.space != "global" or not isinstance(index, np.ndarray):
            return False
        own = index[mask.where].astype(np.int64)
        return bool((own >= 0).all() and (own < states.shape[0]).all() and len(np.unique(own)) == len(own))

    def state(self, number: int) -> np.ndarray:
        """A half of each lane's state, as a lane vector."""
        whole = np.zeros(self.machine.batch.size, np.uint64)
        whole[self.mask.where] = self.states.buffer.data[f"s{number}"][self.elements]
        return whole

    def keep(self, first: np.ndarray, second: np.ndarray) -> None:
        """Puts the states back into memory."""
        for name, whole in (("s0", first), ("s1", second)):
            self.states.buffer.data[name][self.elements] = whole[self.mask.where]

    def count_apart(self, warps: np.ndarray, runs: Sequence[int], masks: np.ndarray) -> None:
        """Counts rounds in which others draw than before; `masks`: by run, round and warp."""
        by_round: dict[bytes, list[int]] = {}
        for number in range(masks.shape[1]):
            key = masks[:, number].tobytes()
            by_round.setdefault(key, []).append(number)
        for rounds in sorted(by_round.values(), key=lambda each: each[-1]):  # the last one in time comes last
            words = {run: masks[place, rounds[0]] for place, run in enumerate(runs)}
            self.count(warps, words, len(rounds))

    def count(self, warps: np.ndarray, words: Mapping[int, np.ndarray], times: int) -> None:
        """Counts so many rounds in which the same lanes draw; `words`: by run, the lanes of each warp as bits."""
        if not times or not any(each.any() for each in words.values()):
            return
        key = b"".join(each.tobytes() for each in words.values()) + warps.tobytes()
        known = self.known.get(key)
        if known is None:
            masks = {run: self.mask.only(self.lanes(warps, each)) for run, each in words.items() if each.any()}
            self.round(masks)
            times -= 1
            if times:
                known = RoundCount(self.machine, self.sites)
                self.round(masks)
                known.end()
                times -= 1
                if not known.found:
                    self.known[key] = known
            if known is not None and known.found:  # what is found each time is told each time
                for _ in range(times):
                    self.round(masks)
                return
        if known is not None and times:
            known.add(times)

    def lanes(self, warps: np.ndarray, words: np.ndarray) -> np.ndarray:
        lanes = np.zeros((self.machine.batch.warps, WARP), np.bool_)
        lanes[warps] = (words[:, None] >> np.arange(WARP)) & 1
        return lanes.reshape(-1)

    def round(self, masks: Mapping[int, Mask]) -> None:
        """Carries out the draws of one round, for what they count and leave in shadows; the states are kept elsewhere."""
        machine = self.machine
        around, at = Circumstances.of(machine), machine.at
        if not self.loop.is_written_out:
            machine.counting.stored.clear()
        for site in self.sites:
            mask = masks.get(site.run)
            if mask is not None:
                site.circumstances.begin(machine)
                machine.at = site.statement
                site.intrinsic.call(Call(machine, site.op, mask, False), [self.states, self.index], {})
        around.begin(machine)
        machine.at = at
