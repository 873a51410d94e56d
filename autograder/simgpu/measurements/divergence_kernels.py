"""Small probes of branches, loops and warp-wide operations: how many threads an instruction keeps busy."""

from __future__ import annotations

from numba import cuda, float32, int32


@cuda.jit
def odd_lanes_work(values, rounds):
    i = cuda.grid(1)
    if i % 2 == 1:
        value = values[i]
        for _ in range(rounds):
            value = value * float32(1.5) + float32(1)
        values[i] = value


@cuda.jit
def odd_and_even_lanes_work(values, rounds):
    i = cuda.grid(1)
    value = values[i]
    if i % 2 == 1:
        for _ in range(rounds):
            value = value * float32(1.5) + float32(1)
    else:
        for _ in range(rounds):
            value = value * float32(0.5) - float32(1)
    values[i] = value


@cuda.jit
def odd_warps_work(values, rounds):
    i = cuda.grid(1)
    if (i // 32) % 2 == 1:
        value = values[i]
        for _ in range(rounds):
            value = value * float32(1.5) + float32(1)
        values[i] = value


@cuda.jit
def rounds_by_lane(values):
    i = cuda.grid(1)
    value = values[i]
    for _ in range(i % 32):
        value = value * float32(1.5) + float32(1)
    values[i] = value


@cuda.jit
def collatz(starts, steps):
    i = cuda.grid(1)
    value = starts[i]
    count = 0
    while value > 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        count += 1
    steps[i] = count


@cuda.jit
def mandelbrot(image, most):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        cr = float32(-2) + float32(3) * float32(x) / float32(image.shape[1])
        ci = float32(-1) + float32(2) * float32(y) / float32(image.shape[0])
        zr = zi = float32(0)
        n = 0
        while n < most and zr * zr + zi * zi < float32(4):
            zr, zi = zr * zr - zi * zi + cr, float32(2) * zr * zi + ci
            n += 1
        image[y, x] = n


@cuda.jit
def picture(out):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        out[y, x] = x + y


@cuda.jit
def shuffles(values):
    i = cuda.grid(1)
    value = values[i]
    for step in (1, 2, 4, 8, 16):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
    values[i] = value


@cuda.jit
def votes(values, target):
    i = cuda.grid(1)
    ballot = cuda.ballot_sync(0xFFFFFFFF, values[i] > 0)
    target[i] = cuda.popc(ballot)


@cuda.jit
def early_return(values, rounds):
    i = cuda.grid(1)
    if i % 4 == 0 or i >= values.size:
        return
    value = values[i]
    for _ in range(rounds):
        value = value * float32(0.5) + float32(1)
    values[i] = value


@cuda.jit
def nested_branches(values, target):
    i = cuda.grid(1)
    if i % 2 == 0:
        if i % 4 == 0:
            target[i] = values[i] * float32(2)
        else:
            target[i] = values[i] + float32(1)
    elif i % 8 == 7:
        target[i] = float32(0)


@cuda.jit
def binary_search(table, wanted, place):
    i = cuda.grid(1)
    if i < wanted.size:
        low, high = 0, table.size
        while low < high:
            middle = (low + high) // 2
            if table[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        place[i] = low


@cuda.jit
def smallest_factor(numbers, factor):
    i = cuda.grid(1)
    number = numbers[i]
    found = number
    for d in range(2, 64):
        if number % d == 0:
            found = int32(d)
            break
    factor[i] = found


@cuda.jit
def sparse_rows(starts, columns, values, x, y):
    """A sparse matrix's rows, one a thread: as many rounds as its row has entries."""
    row = cuda.grid(1)
    if row < y.size:
        total = float32(0)
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@cuda.jit
def bits_set(values, count):
    i = cuda.grid(1)
    left = values[i]
    n = 0
    while left != 0:
        left &= left - 1
        n += 1
    count[i] = n


@cuda.jit
def local_array_by_index(values, order, target):
    """A local array whose index is known only at run time: it lies in local memory, not in registers."""
    kept = cuda.local.array(64, float32)
    i = cuda.grid(1)
    for j in range(64):
        kept[j] = values[j, i]
    target[i] = kept[order[i]]
