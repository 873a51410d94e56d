"""Writes loads from global memory into a compiled loop.

START HERE: `LaneLoads.loaded`. A lane works out its element, and has a closer look taken where that lies outside the array.
Only of arrays that this launch does not write to: these have no order of accesses to look at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from autograder.errors import Line
from autograder.simgpu.counting.counting import BLOCK_SECTORS
from autograder.simgpu.counting.place import Place
from autograder.simgpu.in_registers import figures
from autograder.simgpu.in_registers.counts import CountShare
from autograder.simgpu.in_registers.desk import LaneDesk, Meaning
from autograder.simgpu.in_registers.figures import LaneNumber, Sharing, together
from autograder.simgpu.in_registers.loads import BY_PLACE, LoadedArray, LoadSite, why_not_loaded
from autograder.simgpu.machine.machine import Machine
from autograder.simgpu.one_thread.desk import Fixed
from autograder.simgpu.one_thread.rehearsal import Rows
from autograder.simgpu.one_thread.source import NotWritten
from autograder.simgpu.operations.expressions import Local
from autograder.simgpu.operations.indexing import Subscript
from autograder.simgpu.operations.steps import Expression
from autograder.simgpu.primitives import READ
from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.memory import Buffer, View
from autograder.simgpu.values.numba_types import INT64

MOST_LOADS = 32


class LaneLoads(LaneDesk, ABC):
    """Writes loads; their indices are for whoever builds on it."""

    @abstractmethod
    def meaning(self, op: Expression) -> Meaning:
        """Any expression."""

    def loaded(self, op: Subscript) -> LaneNumber:
        """An element of an array: `a[i, j]`, or of a row of it, `a[i][j]`, which takes nothing to find."""
        parts, of = [op], op.owner
        while isinstance(of, Subscript) and of.field is None:
            parts.append(of)
            of = of.owner
        owner = self.meaning(of)
        if not isinstance(owner, Fixed) or not isinstance(owner.value, View):
            raise NotWritten("an element of something else than an array")
        view = owner.value
        given = [self.apart(self.meaning(each)) for part in reversed(parts) for each in part.indices]
        indices = [each for each in given if isinstance(each, LaneNumber) and each.dtype.kind in "iub"]
        if not len(indices) == len(given) == view.ndim:
            raise NotWritten("a part of an array")
        reason = why_not_loaded(view, self.machine.launch)
        if reason:
            raise NotWritten(reason)
        is_elsewhere = op.is_sunk or op.by_round is not None or op.stands_for(False) is not None or self.is_regrouped
        if is_elsewhere or len(self.loads) >= MOST_LOADS:
            raise NotWritten("a load that is counted elsewhere")
        source, sharing = self.source, together(*indices)
        is_shared = sharing == Sharing.SHARED
        array = self.array(owner.op, view)
        share, rows, line = self.share_of(op, array, is_shared=is_shared)
        source.count(share)
        site = LoadSite(len(self.loads), array, is_shared, rows, line)
        self.loads.append(site)
        s, m, name = site.number, array.number, source.name()
        places = [self.kept(figures.converted(each, INT64), INT64, sharing).code for each in indices]
        with source.inside(f"if {' and '.join(f'0 <= {each} < e{m}_{axis}' for axis, each in enumerate(places))}:"):
            source.write(f"p{s} = {' + '.join([f'o{m}', *(f'{each} * t{m}_{axis}' for axis, each in enumerate(places))])}")
            if not is_shared:
                source.write(f"at[{s}, k] = p{s}")
            source.write(f"{name} = m{m}[np.uint64(p{s})]")
        with source.inside("else:"):
            source.write("trouble |= 1")
            source.write(f"{name} = np.{'bool_' if array.dtype.kind == 'b' else array.dtype.name}(0)")
        return LaneNumber(name, array.dtype, sharing)

    def array(self, op: Expression, view: View) -> LoadedArray:
        """The array that an expression gives."""
        key: object = op.name if isinstance(op, Local) else op
        known = self.arrays.get(key)
        if known is None:
            known = self.arrays[key] = LoadedArray(len(self.arrays), op, view.data.dtype, view.ndim)
        return known

    def share_of(self, op: Subscript, array: LoadedArray, *, is_shared: bool) -> tuple[CountShare, Rows, Line]:
        """What a load counts wherever it lies, and the row for the rest of it."""
        one = (1,) * len(op.indices)

        def counted(machine: Machine, mask: Mask) -> None:
            view = View(Buffer(np.zeros(1, array.dtype), 0, "global"), 0, one, one, array.dtype, "")
            machine.counting.count(view, Place(0, mask), op, READ)

        _, share = self.tried(counted)
        rows, line = next((rows, line) for rows, line, slot in share.entries if slot == BLOCK_SECTORS)
        return share.without({BLOCK_SECTORS} if is_shared else {BLOCK_SECTORS, *BY_PLACE}), rows, line
