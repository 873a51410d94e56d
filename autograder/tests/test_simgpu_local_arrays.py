"""Local arrays indexed at run time: which lie in registers, against machine code, and what those in memory move."""

from __future__ import annotations

import json

import numpy as np
import pytest

from autograder.profiling import profile
from autograder.records.counters import Counters
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.single_launch import launch_once
from autograder.simgpu.measurements.machine_code_emulator import local_arrays as measured
from autograder.simgpu.measurements.machine_code_emulator import quotients_and_functions

COUNTED: dict[str, list[int]] = json.loads(measured.RESULT.read_text(encoding="utf-8"))
SMALL = {name: counts for name, counts in COUNTED.items() if int(name.split(", ")[-1].split()[0]) <= measured.SMALL}
FOUND = {name: measured.simulated(name) for name in COUNTED}

cuda = cuda_module.build_module()


def test_the_table_has_every_kernel() -> None:
    assert list(COUNTED) == list(measured.KERNELS)


def test_small_arrays_lie_where_machine_code_has_them() -> None:
    off = {name for name, (accesses, _) in SMALL.items() if (FOUND[name].local_bytes > 0) != (accesses > 0)}
    assert off == set(measured.OFF)


def test_none_is_taken_to_be_in_registers_that_machine_code_has_in_memory() -> None:
    assert not {name for name, (accesses, _) in COUNTED.items() if accesses and not FOUND[name].local_bytes}


def test_a_choice_among_registers_takes_the_instructions_of_machine_code() -> None:
    others = {name: counts for name, counts in SMALL.items() if not name.startswith(measured.SORTS)}
    chosen = [name for name in others if not FOUND[name].local_bytes and not name.startswith("up to n")]
    errors = [abs(FOUND[name].issued_warp_instructions / COUNTED[name][1] - 1) for name in chosen]
    assert len(chosen) > 25 and max(errors) < 0.17 and np.median(errors) < 0.05


def counted(body: str, dtype: str) -> Counters:
    """Counts of a warp, lane i of which reads i from x."""
    source = f"def kernel(x, o):\n    i = cuda.grid(1)\n    a = cuda.local.array(16, {dtype})\n"
    source += "".join(f"    {each.replace('|', '    ')}\n" for each in body.split("; "))
    kernel = quotients_and_functions.function_of(source, {})
    return launch_once(kernel, 1, 32, np.arange(32, dtype=np.int32), np.zeros(32, dtype)).compiled


@pytest.mark.parametrize(
    ("dtype", "same", "different"),
    [("float64", 8, 64), ("float32", 4, 32), ("uint8", 4, 8)],
)
def test_local_memory_has_a_word_of_every_lane_in_a_line(dtype: str, same: int, different: int) -> None:
    """Sectors of a load at one index and at an index of each lane: an H200 has as many (common_letters_bitwise, 8 bytes)."""
    one = counted("a[x[0]] = 1; o[i] = a[x[1]]", dtype)
    assert one.local_load_sectors == same
    each = counted("a[x[i] % 16] = 1; o[i] = a[(x[i] + 4) % 16]", dtype)
    assert each.local_load_sectors == different
    words = max(1, np.dtype(dtype).itemsize // 4)
    lines = {"float64": 32, "float32": 16, "uint8": 4}[dtype]
    cleared = 16 * np.dtype(dtype).itemsize // 4
    assert each.local_store_lines == cleared + lines and one.local_store_lines == cleared + words


@pytest.mark.parametrize(
    ("name", "sectors"),
    [
        ("table, 8 of i8", 64), ("table, 16 of f8", 128), ("counts, 24 of i8", 446), ("votes, 16 of i4", 191),
        ("insertion sort, 10 of i4", 312), ("best of all, 12 of i4", 609), ("up to n, 24 of i4", 140),
    ],
)  # fmt: skip
def test_stores_to_local_memory_are_as_many_as_an_h200_counts(name: str, sectors: int) -> None:
    """Numba clears a new array where the kernel begins: in vain, if that stores to all elements before it branches.

    `l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum` of these kernels; the last one stores to some elements alone.
    """
    assert FOUND[name].local_store_sectors == sectors


def test_behind_a_guard_an_array_is_cleared_although_all_elements_are_stored_to() -> None:
    """As an H200's counters had it of levinson_durbin."""
    filled = "for k in range(16):; |a[k] = k; o[i] = a[x[i] % 16]"
    guarded = "if i < 32:; |for k in range(16):; ||a[k] = k; |o[i] = a[x[i] % 16]"
    once, twice = (counted(each, "float64").local_store_sectors for each in (filled, guarded))
    assert (once, twice) == (16 * 8, 2 * 16 * 8)


def test_a_place_that_loops_written_out_or_constants_say_is_known_early() -> None:
    """Remainders of counters, and elements of an array of constants: no array of these kernels lies in memory."""
    table = np.array([2, 0, 1], np.int32)

    @cuda.jit
    def turned(x, o):
        a = cuda.local.array(12, np.float64)
        i = cuda.grid(1)
        for k in range(12):
            a[k] = x[i + k]
        s = 0.0
        for k in range(3):
            s += a[(k + 1) % 3] * a[table[k]] - a[table[(k + 2) % 3] + 4]
        o[i] = s

    found = profile(turned)[1, 32](np.ones(64), np.zeros(32)).counters
    assert (found.local_bytes, found.local_load_sectors, found.local_store_sectors) == (0, 0, 0)
