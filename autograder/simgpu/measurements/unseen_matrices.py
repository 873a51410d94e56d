"""Unseen kernels: dense matrices, transposes, factorizations and small batched algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32

from autograder.simgpu.measurements.unseen_entries import Unseen, floats, unseen, whole


@cuda.jit
def multiply_tiles_8(a, b, c):
    sa = cuda.shared.array((8, 8), float32)
    sb = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = float32(0)
    for t in range(a.shape[1] // 8):
        sa[ty, tx] = a[y, t * 8 + tx]
        sb[ty, tx] = b[t * 8 + ty, x]
        cuda.syncthreads()
        for k in range(8):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def multiply_tiles_padded(a, b, c):
    sa = cuda.shared.array((16, 17), float32)
    sb = cuda.shared.array((16, 17), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = float32(0)
    for t in range(0, a.shape[1], 16):
        sa[ty, tx] = a[y, t + tx]
        sb[ty, tx] = b[t + ty, x]
        cuda.syncthreads()
        for k in range(16):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def multiply_tiles_turned(a, b, c):
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = float32(0)
    for t in range(0, a.shape[1], 16):
        sa[ty, tx] = a[y, t + tx]
        sb[tx, ty] = b[t + ty, x]
        cuda.syncthreads()
        for k in range(16):
            acc += sa[ty, k] * sb[tx, k]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def multiply_tiles_double(a, b, c):
    sa = cuda.shared.array((16, 16), float64)
    sb = cuda.shared.array((16, 16), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = 0.0
    for t in range(0, a.shape[1], 16):
        sa[ty, tx] = a[y, t + tx]
        sb[ty, tx] = b[t + ty, x]
        cuda.syncthreads()
        for k in range(16):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def multiply_tiles_whole(a, b, c):
    sa = cuda.shared.array((32, 32), int32)
    sb = cuda.shared.array((32, 32), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = int32(0)
    for t in range(0, a.shape[1], 32):
        sa[ty, tx] = a[y, t + tx]
        sb[ty, tx] = b[t + ty, x]
        cuda.syncthreads()
        for k in range(32):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def multiply_tiles_flat(a, b, c):
    sa = cuda.shared.array(256, float32)
    sb = cuda.shared.array(256, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = float32(0)
    for t in range(0, a.shape[1], 16):
        sa[ty * 16 + tx] = a[y, t + tx]
        sb[ty * 16 + tx] = b[t + ty, x]
        cuda.syncthreads()
        for k in range(16):
            acc += sa[ty * 16 + k] * sb[k * 16 + tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def multiply_four_rows(a, b, c):
    sa = cuda.shared.array((32, 8), float32)
    sb = cuda.shared.array((8, 32), float32)
    totals = cuda.local.array(4, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column = cuda.blockIdx.x * 32 + tx
    top = cuda.blockIdx.y * 32
    for r in range(4):
        totals[r] = 0
    for start in range(0, a.shape[1], 8):
        flat = ty * 32 + tx
        sa[flat // 8, flat % 8] = a[top + flat // 8, start + flat % 8]
        sb[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(8):
            v = sb[k, tx]
            for r in range(4):
                totals[r] += sa[ty + 8 * r, k] * v
        cuda.syncthreads()
    for r in range(4):
        c[top + ty + 8 * r, column] = totals[r]


@cuda.jit
def multiply_two_by_two(a, b, c):
    sa = cuda.shared.array((32, 17), float32)
    sb = cuda.shared.array((16, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    c00 = float32(0)
    c01 = float32(0)
    c10 = float32(0)
    c11 = float32(0)
    for start in range(0, a.shape[1], 16):
        sa[ty, tx] = a[y0 + ty, start + tx]
        sa[ty + 16, tx] = a[y0 + ty + 16, start + tx]
        sb[ty, tx] = b[start + ty, x0 + tx]
        sb[ty, tx + 16] = b[start + ty, x0 + tx + 16]
        cuda.syncthreads()
        for k in range(16):
            c00 += sa[ty, k] * sb[k, tx]
            c01 += sa[ty, k] * sb[k, tx + 16]
            c10 += sa[ty + 16, k] * sb[k, tx]
            c11 += sa[ty + 16, k] * sb[k, tx + 16]
        cuda.syncthreads()
    c[y0 + ty, x0 + tx] = c00
    c[y0 + ty, x0 + tx + 16] = c01
    c[y0 + ty + 16, x0 + tx] = c10
    c[y0 + ty + 16, x0 + tx + 16] = c11


@cuda.jit
def multiply_double_buffered(a, b, c):
    sa = cuda.shared.array((2, 16, 16), float32)
    sb = cuda.shared.array((2, 16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    tiles = a.shape[1] // 16
    sa[0, ty, tx] = a[y, tx]
    sb[0, ty, tx] = b[ty, x]
    cuda.syncthreads()
    acc = float32(0)
    for t in range(tiles):
        now = t % 2
        if t + 1 < tiles:
            sa[1 - now, ty, tx] = a[y, (t + 1) * 16 + tx]
            sb[1 - now, ty, tx] = b[(t + 1) * 16 + ty, x]
        for k in range(16):
            acc += sa[now, ty, k] * sb[now, k, tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def multiply_guarded_zero(a, b, c):
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n, p = a.shape[0], a.shape[1], b.shape[1]
    acc = float32(0)
    for t in range((n + 15) // 16):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if y < m and t * 16 + tx < n:
            sa[ty, tx] = a[y, t * 16 + tx]
        if x < p and t * 16 + ty < n:
            sb[ty, tx] = b[t * 16 + ty, x]
        cuda.syncthreads()
        for k in range(16):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    if y < m and x < p:
        c[y, x] = acc


@cuda.jit
def multiply_by_blockdim(a, b, c):
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    width = cuda.blockDim.x
    acc = float32(0)
    for t in range(a.shape[1] // width):
        sa[ty, tx] = a[y, t * width + tx]
        sb[ty, tx] = b[t * width + ty, x]
        cuda.syncthreads()
        for k in range(width):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def multiply_a_shared(a, b, c):
    row = cuda.shared.array((4, 64), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for j in range(tx, 64, 32):
        row[ty, j] = a[y, j]
    cuda.syncthreads()
    acc = float32(0)
    for k in range(64):
        acc += row[ty, k] * b[k, x]
    c[y, x] = acc


def _multiply(a, b, c):
    c[:] = a @ b


@cuda.jit
def syrk(a, c):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col <= row:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += a[row, k] * a[col, k]
        c[row, col] = acc
        c[col, row] = acc


def _syrk(a, c):
    c[:] = a @ a.T


@cuda.jit
def matrix_vector_rows(a, x, y):
    i = cuda.grid(1)
    if i >= y.size:
        return
    total = float32(0)
    for j in range(x.size):
        total += a[i, j] * x[j]
    y[i] = total


@cuda.jit
def matrix_vector_in_place(a, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 0
        for j in range(x.size):
            y[i] += a[i, j] * x[j]


@cuda.jit
def matrix_vector_warp(a, x, y):
    lane = cuda.threadIdx.x % 32
    row = cuda.grid(1) // 32
    total = float32(0)
    for j in range(lane, x.size, 32):
        total += a[row, j] * x[j]
    offset = 16
    while offset > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset)
        offset //= 2
    if lane == 0:
        y[row] = total


@cuda.jit
def matrix_vector_shared(a, x, y):
    part = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = float32(0)
    for start in range(0, x.size, 64):
        part[t] = x[start + t]
        cuda.syncthreads()
        for j in range(64):
            total += a[i, start + j] * part[j]
        cuda.syncthreads()
    y[i] = total


def _matrix_vector(a, x, y):
    y[:] = a @ x


@cuda.jit
def transposed_vector(a, x, y):
    j = cuda.grid(1)
    if j < y.size:
        total = float32(0)
        i = 0
        while i < x.size:
            total += a[i, j] * x[i]
            i += 1
        y[j] = total


def _transposed_vector(a, x, y):
    y[:] = x @ a


@cuda.jit
def outer_product(x, y, out):
    j, i = cuda.grid(2)
    if i < x.size and j < y.size:
        out[i, j] += x[i] * y[j]


def _outer_product(x, y, out):
    out += np.outer(x, y)


@cuda.jit
def transpose_tile_16(source, target):
    tile = cuda.shared.array((16, 16), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    tile[ty, tx] = source[y, x]
    cuda.syncthreads()
    target[cuda.blockIdx.x * 16 + ty, cuda.blockIdx.y * 16 + tx] = tile[tx, ty]


@cuda.jit
def transpose_swizzled(source, target):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for r in range(ty, 32, 8):
        tile[r, tx ^ r] = source[y0 + r, x0 + tx]
    cuda.syncthreads()
    for r in range(ty, 32, 8):
        target[x0 + r, y0 + tx] = tile[tx, r ^ tx]


@cuda.jit
def transpose_padded_double(source, target):
    tile = cuda.shared.array((16, 17), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if y < source.shape[0] and x < source.shape[1]:
        tile[ty, tx] = source[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 16 + tx
    y = cuda.blockIdx.x * 16 + ty
    if y < target.shape[0] and x < target.shape[1]:
        target[y, x] = tile[tx, ty]


def _transpose(source, target):
    target[:] = source.T


@cuda.jit
def transpose_in_place(a):
    x, y = cuda.grid(2)
    if x < y and y < a.shape[0]:
        kept = a[y, x]
        a[y, x] = a[x, y]
        a[x, y] = kept


def _transpose_in_place(a):
    a[:] = a.T.copy()


@cuda.jit
def scale_and_add(a, b, factor, out):
    x, y = cuda.grid(2)
    rows, columns = out.shape
    if y < rows and x < columns:
        out[y, x] = factor * a[y, x] + b[y, x]


def _scale_and_add(a, b, factor, out):
    out[:] = factor * a + b


@cuda.jit
def eliminate_below(a, pivot):
    x, y = cuda.grid(2)
    n = a.shape[0]
    if y > pivot and y < n and x > pivot and x < n:
        a[y, x] -= a[y, pivot] / a[pivot, pivot] * a[pivot, x]


def _eliminate_below(a, pivot):
    low = a[pivot + 1 :, pivot] / a[pivot, pivot]
    a[pivot + 1 :, pivot + 1 :] -= np.outer(low, a[pivot, pivot + 1 :])


@cuda.jit
def cholesky_block(a):
    s = cuda.shared.array((16, 17), float32)
    t = cuda.threadIdx.x
    block = cuda.blockIdx.x
    for c in range(16):
        s[t, c] = a[block, t, c]
    cuda.syncthreads()
    for j in range(16):
        if t == j:
            s[j, j] = s[j, j] ** float32(0.5)
        cuda.syncthreads()
        if t > j:
            s[t, j] = s[t, j] / s[j, j]
        cuda.syncthreads()
        if t > j:
            for c in range(j + 1, t + 1):
                s[t, c] -= s[t, j] * s[c, j]
        cuda.syncthreads()
    for c in range(16):
        a[block, t, c] = s[t, c] if c <= t else float32(0)


def _cholesky_block(a):
    a[:] = np.linalg.cholesky(a.astype(np.float64))


@cuda.jit
def solve_lower(a, b):
    i = cuda.grid(1)
    x = cuda.local.array(8, float32)
    if i < b.shape[1]:
        for r in range(8):
            total = b[r, i]
            for c in range(r):
                total -= a[r, c] * x[c]
            x[r] = total / a[r, r]
        for r in range(8):
            b[r, i] = x[r]


@cuda.jit
def solve_lower_in_global(a, b):
    i = cuda.grid(1)
    if i < b.shape[1]:
        for r in range(a.shape[0]):
            for c in range(r):
                b[r, i] -= a[r, c] * b[c, i]
            b[r, i] /= a[r, r]


def _solve_lower(a, b):
    b[:] = np.linalg.solve(np.tril(a).astype(np.float64), b)


@cuda.jit
def multiply_batch_3x3(a, b, c):
    i = cuda.grid(1)
    if i < a.shape[0]:
        for r in range(3):
            for s in range(3):
                total = float32(0)
                for k in range(3):
                    total += a[i, r, k] * b[i, k, s]
                c[i, r, s] = total


@cuda.jit
def multiply_batch_local(a, b, c):
    i = cuda.grid(1)
    left = cuda.local.array((4, 4), float32)
    for r in range(4):
        for s in range(4):
            left[r, s] = a[i, r, s]
    for s in range(4):
        for r in range(4):
            total = float32(0)
            for k in range(4):
                total += left[r, k] * b[i, k, s]
            c[i, r, s] = total


@cuda.jit
def determinant_3x3(a, out):
    i = cuda.grid(1)
    if i < out.size:
        m = a[i]
        out[i] = (
            m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
            - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
            + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
        )


def _determinant_3x3(a, out):
    out[:] = np.linalg.det(a.astype(np.float64))


@cuda.jit
def floyd_warshall_step(dist, k):
    j, i = cuda.grid(2)
    if i < dist.shape[0] and j < dist.shape[1] and i != k and j != k:
        through = dist[i, k] + dist[k, j]
        if through < dist[i, j]:
            dist[i, j] = through


def _floyd_warshall_step(dist, k):
    dist[:] = np.minimum(dist, dist[:, k : k + 1] + dist[k : k + 1])


@cuda.jit
def floyd_warshall_tile(dist):
    s = cuda.shared.array((16, 16), int32)
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    b = cuda.blockIdx.x
    s[i, j] = dist[b, i, j]
    cuda.syncthreads()
    for k in range(16):
        through = s[i, k] + s[k, j]
        cuda.syncthreads()
        if through < s[i, j]:
            s[i, j] = through
        cuda.syncthreads()
    dist[b, i, j] = s[i, j]


def _floyd_warshall_tile(dist):
    for k in range(16):
        dist[:] = np.minimum(dist, dist[:, :, k : k + 1] + dist[:, k : k + 1, :])


@cuda.jit
def row_norms(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        total = float32(0)
        for j in range(a.shape[1]):
            total += a[i, j] * a[i, j]
        out[i] = total**0.5


def _row_norms(a, out):
    out[:] = np.sqrt((a.astype(np.float64) ** 2).sum(1))


@cuda.jit
def symmetrize(a):
    x, y = cuda.grid(2)
    if y < x and x < a.shape[0]:
        mean = (a[y, x] + a[x, y]) / 2
        a[y, x] = mean
        a[x, y] = mean


def _symmetrize(a):
    a[:] = (a + a.T) / 2


@cuda.jit
def covariance(data, mean, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        total = 0.0
        for k in range(data.shape[0]):
            total += (data[k, i] - mean[i]) * (data[k, j] - mean[j])
        out[i, j] = total / (data.shape[0] - 1)


def _covariance(data, mean, out):
    centered = data.astype(np.float64) - mean
    out[:] = centered.T @ centered / (len(data) - 1)


def _positive_definite(rng: np.random.Generator) -> tuple[Any, ...]:
    half = rng.random((8, 16, 16), np.float32)
    return (half @ half.transpose(0, 2, 1) + 8 * np.eye(16, dtype=np.float32),)


def _lower_and_right(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.random((8, 8), np.float32) + 4 * np.eye(8, dtype=np.float32), rng.random((8, 500), np.float32))


def _dominant(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.random((50, 50), np.float32) + 50 * np.eye(50, dtype=np.float32), np.int64(7)


F64 = np.float64
SQUARES = floats((64, 64), (64, 64), room=(64, 64))
MATRIX_VECTOR = floats((256, 128), 128, room=256)
MATRICES: tuple[Unseen, ...] = (
    unseen(multiply_tiles_8, (8, 8), (8, 8), SQUARES, _multiply),
    unseen(multiply_tiles_padded, (4, 4), (16, 16), SQUARES, _multiply),
    unseen(multiply_tiles_turned, (4, 4), (16, 16), SQUARES, _multiply),
    unseen(multiply_tiles_double, (4, 4), (16, 16), floats((64, 64), (64, 64), room=(64, 64), dtype=F64), _multiply),
    unseen(multiply_tiles_whole, (2, 2), (32, 32), whole((64, 64), (64, 64), room=(64, 64)), _multiply),
    unseen(multiply_tiles_flat, (4, 4), (16, 16), SQUARES, _multiply),
    unseen(multiply_four_rows, (2, 2), (32, 8), SQUARES, _multiply),
    unseen(multiply_two_by_two, (2, 2), (16, 16), SQUARES, _multiply),
    unseen(multiply_double_buffered, (4, 4), (16, 16), SQUARES, _multiply),
    unseen(multiply_guarded_zero, (4, 4), (16, 16), floats((60, 50), (50, 55), room=(60, 55)), _multiply),
    unseen(multiply_by_blockdim, (4, 4), (16, 16), SQUARES, _multiply),
    unseen(multiply_a_shared, (2, 16), (32, 4), SQUARES, _multiply),
    unseen(syrk, (4, 4), (16, 16), floats((60, 40), room=(60, 60)), _syrk),
    unseen(matrix_vector_rows, 4, 64, MATRIX_VECTOR, _matrix_vector),
    unseen(matrix_vector_in_place, 4, 64, MATRIX_VECTOR, _matrix_vector),
    unseen(matrix_vector_warp, 64, 128, MATRIX_VECTOR, _matrix_vector),
    unseen(matrix_vector_shared, 4, 64, MATRIX_VECTOR, _matrix_vector),
    unseen(transposed_vector, 2, 64, floats((100, 120), 100, room=120), _transposed_vector),
    unseen(outer_product, (4, 8), (16, 8), floats(60, 50, room=(60, 50)), _outer_product),
    unseen(transpose_tile_16, (3, 4), (16, 16), whole((64, 48), room=(48, 64)), _transpose),
    unseen(transpose_swizzled, (3, 2), (32, 8), floats((64, 96), room=(96, 64)), _transpose),
    unseen(transpose_padded_double, (4, 3), (16, 16), floats((45, 60), dtype=F64, room=(60, 45)), _transpose),
    unseen(transpose_in_place, (4, 4), (16, 16), floats((60, 60)), _transpose_in_place),
    unseen(scale_and_add, (2, 8), (32, 8), lambda rng: (rng.random((60, 50), np.float32),
           rng.random((60, 50), np.float32), np.float32(3), np.zeros((60, 50), np.float32)), _scale_and_add),
    unseen(eliminate_below, (4, 4), (16, 16), _dominant, _eliminate_below),
    unseen(cholesky_block, 8, 16, _positive_definite, _cholesky_block),
    unseen(solve_lower, 4, 128, _lower_and_right, _solve_lower),
    unseen(solve_lower_in_global, 4, 128, _lower_and_right, _solve_lower),
    unseen(multiply_batch_3x3, 4, 128, floats((500, 3, 3), (500, 3, 3), room=(500, 3, 3)), _multiply),
    unseen(multiply_batch_local, 4, 128, floats((512, 4, 4), (512, 4, 4), room=(512, 4, 4)), _multiply),
    unseen(determinant_3x3, 4, 128, lambda rng: (rng.random((500, 3, 3), np.float32), np.zeros(500, np.float32)),
           _determinant_3x3),
    unseen(floyd_warshall_step, (4, 8), (16, 8), whole((60, 60), more=(np.int64(5),)), _floyd_warshall_step),
    unseen(floyd_warshall_tile, 8, (16, 16), whole((8, 16, 16)), _floyd_warshall_tile),
    unseen(row_norms, 4, 64, floats((200, 50), room=200), _row_norms),
    unseen(symmetrize, (4, 4), (16, 16), floats((60, 60)), _symmetrize),
    unseen(covariance, (2, 4), (16, 8), floats((50, 30), 30, room=(30, 30)), _covariance),
)  # fmt: skip
