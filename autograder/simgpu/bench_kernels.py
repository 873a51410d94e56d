"""Eight kernels timed on whichever `numba.cuda` is in place: run as a script, prints {name: seconds} as JSON.

`autograder bench simgpu` runs this twice: on the simulated GPU, and on Numba's own simulator.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

if __name__ == "__main__" and "--simulated-gpu" in sys.argv:
    from autograder.simgpu.host import cuda_module

    cuda_module.install()

from numba import cuda  # noqa: E402 (after the device is chosen; Numba's simulator needs it to be a global name)

from autograder import kernels  # noqa: E402 (they run on it)

TILE = 16
PADDED = TILE + 1  # Numba takes no sum of names for a shape


def cases() -> dict[str, Callable[[], bool]]:
    """Each case launches its kernels once and says whether the result is right."""
    rng = np.random.default_rng(0)

    @cuda.jit
    def tiled(a, b, c):
        tile_a = cuda.shared.array((TILE, TILE), np.float32)
        tile_b = cuda.shared.array((TILE, TILE), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        total = np.float32(0)
        for phase in range(a.shape[1] // TILE):
            tile_a[ty, tx] = a[row, phase * TILE + tx]
            tile_b[ty, tx] = b[phase * TILE + ty, column]
            cuda.syncthreads()
            for k in range(TILE):
                total += tile_a[ty, k] * tile_b[k, tx]
            cuda.syncthreads()
        c[row, column] = total

    @cuda.jit
    def transpose(source, target):
        tile = cuda.shared.array((TILE, PADDED), np.float32)
        x = cuda.blockIdx.x * TILE + cuda.threadIdx.x
        y = cuda.blockIdx.y * TILE + cuda.threadIdx.y
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = source[y, x]
        cuda.syncthreads()
        x = cuda.blockIdx.y * TILE + cuda.threadIdx.x
        y = cuda.blockIdx.x * TILE + cuda.threadIdx.y
        target[y, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y]

    @cuda.jit
    def scan(values, sums):
        buffer = cuda.shared.array((2, 256), np.int32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        now = 0
        buffer[now, t] = values[i]
        step = 1
        while step < 256:
            cuda.syncthreads()
            value = buffer[now, t]
            if t >= step:
                value += buffer[now, t - step]
            now = 1 - now
            buffer[now, t] = value
            step *= 2
        sums[i] = buffer[now, t]

    @cuda.jit
    def stencil(source, target):
        x, y = cuda.grid(2)
        if 0 < x < source.shape[1] - 1 and 0 < y < source.shape[0] - 1:
            around = source[y - 1, x] + source[y + 1, x] + source[y, x - 1] + source[y, x + 1]
            target[y, x] = np.float32(0.25) * around

    def matmul(kernel: Any, n: int) -> bool:
        a, b = (rng.random((n, n), dtype=np.float32) for _ in range(2))
        c = np.zeros((n, n), np.float32)
        kernel[(n // TILE, n // TILE), (TILE, TILE)](a, b, c)
        return np.allclose(c, a @ b, rtol=1e-4)

    def run_transpose() -> bool:
        source = rng.random((256, 256), dtype=np.float32)
        target = np.zeros_like(source)
        transpose[(16, 16), (TILE, TILE)](source, target)
        return bool((target == source.T).all())

    def run_reduction() -> bool:
        values = np.ones(2**15, np.float32)
        sums = np.zeros(128, np.float32)
        kernels.reduce_convergent[128, 256](values, sums)
        return bool((sums == 256).all())

    def run_histogram() -> bool:
        items = rng.integers(0, 256, 2**16).astype(np.int32)
        bins = np.zeros(256, np.int32)
        kernels.histogram_privatized[128, 256](items, bins)
        return bool((bins == np.bincount(items, minlength=256)).all())

    def run_scan() -> bool:
        values = rng.integers(0, 9, 2**15).astype(np.int32)
        sums = np.zeros_like(values)
        scan[128, 256](values, sums)
        return bool((sums.reshape(-1, 256) == np.cumsum(values.reshape(-1, 256), axis=1)).all())

    def run_jump() -> bool:
        n = 2**12
        order = rng.permutation(n).astype(np.int32)
        successor = np.empty(n, np.int32)
        successor[order[:-1]], successor[order[-1]] = order[1:], order[-1]
        rank = np.ones(n, np.int32)
        rank[order[-1]] = 0
        for _ in range(12):
            new_successor, new_rank = np.empty_like(successor), np.empty_like(rank)
            kernels.pointer_jump[n // 256, 256](successor, rank, new_successor, new_rank)
            successor, rank = new_successor, new_rank
        return bool((rank[order] == np.arange(n)[::-1]).all())

    def run_stencil() -> bool:
        source = rng.random((256, 256), dtype=np.float32)
        target = np.zeros_like(source)
        stencil[(16, 16), (TILE, TILE)](source, target)
        inner = source[:-2, 1:-1] + source[2:, 1:-1] + source[1:-1, :-2] + source[1:-1, 2:]
        return np.allclose(target[1:-1, 1:-1], inner / 4)

    return {
        "naive matmul 128": lambda: matmul(kernels.matmul_columns, 128),
        "tiled matmul 96": lambda: matmul(tiled, 96),
        "transpose 256": run_transpose,
        "reduction 2^15": run_reduction,
        "privatized histogram 2^16": run_histogram,
        "scan 2^15": run_scan,
        "pointer jumping 2^12": run_jump,
        "stencil 256": run_stencil,
    }


def main(repeats: int) -> None:
    seconds = {}
    for name, case in cases().items():
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            right = case()
            times.append(time.perf_counter() - start)
            if not right:
                raise SystemExit(f"{name}: the result is wrong")
        seconds[name] = sorted(times)[len(times) // 2]
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]))
