"""numba.cuda.random on the simulated GPU: the xoroshiro128+ generator, bit for bit as Numba defines it.

Source of the algorithm: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2018); seeding by
SplitMix64 and a jump of 2^64 draws for each following state, as Numba documents.
"""

from __future__ import annotations

import math
import types
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.language.program import Reference
from autograder.simgpu.operations.calls import Call, intrinsic
from autograder.simgpu.operations.kinds import Array, Cut
from autograder.simgpu.primitives import compiled_when_called
from autograder.simgpu.values.memory import View
from autograder.simgpu.values.values import Arithmetic

STATE = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
RANDOM = "numba.cuda.random"
JUMP = (np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922))
MASK64 = 0xFFFFFFFFFFFFFFFF


@compiled_when_called("void(uint64, uint64, int64, uint64[:], uint64[:])")
def _fill_states(s0: np.uint64, s1: np.uint64, skip: int, first: np.ndarray, second: np.ndarray) -> None:
    """Each state is the one before it, jumped ahead by 2^64 draws; `skip` states come before the first."""
    for i in range(-skip, len(first)):
        if i >= 0:
            first[i], second[i] = s0, s1
        to0 = to1 = np.uint64(0)
        for word in JUMP:
            for bit in range(64):
                if word >> np.uint64(bit) & np.uint64(1):
                    to0 ^= s0
                    to1 ^= s1
                s1 ^= s0
                s0 = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
                s1 = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
        s0, s1 = to0, to1


def initial_states(n: int, seed: int, subsequence_start: int = 0) -> np.ndarray:
    """n generator states, each 2^64 draws after the one before."""
    z = (seed + 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    start = np.uint64(z ^ (z >> 31))
    states = np.empty(n, STATE)
    _fill_states(start, start, subsequence_start, states["s0"], states["s1"])
    return states


def build_random_module(cuda: Any) -> types.ModuleType:
    """The `numba.cuda.random` submodule."""
    module = types.ModuleType(RANDOM, "numba.cuda.random on the simulated GPU")

    def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> Any:
        return cuda.to_device(initial_states(int(n), int(seed), int(subsequence_start)))

    vars(module).update(create_xoroshiro128p_states=create_xoroshiro128p_states, xoroshiro128p_dtype=STATE)
    for name in ("next", "uniform_float32", "uniform_float64", "normal_float32", "normal_float64"):
        setattr(module, f"xoroshiro128p_{name}", Reference(f"{RANDOM}.xoroshiro128p_{name}"))
    return module


def _next(call: Call, states: View, index: Arithmetic, draws: int = 1) -> list[np.ndarray]:
    """Draws of 64 bits from each lane's generator, which moves on."""
    if states.dtype != STATE:
        raise call.fault(
            "Random numbers are drawn from states that the host has made.",
            "Pass what cuda.random's create_xoroshiro128p_states(n, seed) returns, and the thread's number.",
        )
    fields = {name: replace(states, field=name, dtype=np.dtype(np.uint64)) for name in ("s0", "s1")}
    s0, s1 = (call.on_lanes(call.load(fields[name], (index,))) for name in ("s0", "s1"))
    drawn = []
    for _ in range(draws):
        drawn.append(s0 + s1)
        s1 = s1 ^ s0
        s0, s1 = _rotated(s0, 55) ^ s1 ^ (s1 << np.uint64(14)), _rotated(s1, 36)
    call.store(fields["s0"], (index,), s0)
    call.store(fields["s1"], (index,), s1)
    call.count("integer_operations", each=10 * draws)
    return drawn


def _rotated(x: np.ndarray, k: int) -> np.ndarray:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


def _uniform64(bits: np.ndarray) -> np.ndarray:
    return (bits >> np.uint64(11)) * np.float64(1.0 / (1 << 53))


@intrinsic(f"{RANDOM}.xoroshiro128p_next")
def next_bits(call: Call, states: Array, index: Cut) -> np.ndarray:
    """64 random bits."""
    return _next(call, states, index)[0]


@intrinsic(f"{RANDOM}.xoroshiro128p_uniform_float32")
def uniform32(call: Call, states: Array, index: Cut) -> np.ndarray:
    """A float32 in [0, 1)."""
    return _uniform64(_next(call, states, index)[0]).astype(np.float32)


@intrinsic(f"{RANDOM}.xoroshiro128p_uniform_float64")
def uniform64(call: Call, states: Array, index: Cut) -> np.ndarray:
    """A float64 in [0, 1)."""
    return _uniform64(_next(call, states, index)[0])


def _normal(call: Call, states: View, index: Arithmetic, dtype: type) -> np.ndarray:
    """Box-Muller from two uniform draws."""
    first, second = _next(call, states, index, draws=2)
    u1: np.ndarray = _uniform64(first).astype(dtype)
    u2: np.ndarray = _uniform64(second).astype(dtype)
    return np.asarray(np.sqrt(dtype(-2.0) * np.log(u1)) * np.cos(dtype(2.0 * math.pi) * u2), dtype)


@intrinsic(f"{RANDOM}.xoroshiro128p_normal_float32")
def normal32(call: Call, states: Array, index: Cut) -> np.ndarray:
    """A float32 of the normal distribution with mean 0 and deviation 1."""
    return _normal(call, states, index, np.float32)


@intrinsic(f"{RANDOM}.xoroshiro128p_normal_float64")
def normal64(call: Call, states: Array, index: Cut) -> np.ndarray:
    """A float64 of the same."""
    return _normal(call, states, index, np.float64)
