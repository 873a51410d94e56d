"""More kernels of the course: reductions, scans and list ranking, in which threads depend on each other."""

from __future__ import annotations

from numba import cuda, float32, int32


@cuda.jit
def reduce_shuffle(values, sums):
    part = cuda.shared.array(8, float32)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    value = values[cuda.grid(1)]
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        step //= 2
    if lane == 0:
        part[warp] = value
    cuda.syncthreads()
    if warp == 0:
        value = part[lane] if lane < 8 else float32(0)
        step = 4
        while step > 0:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
            step //= 2
        if lane == 0:
            sums[cuda.blockIdx.x] = value


@cuda.jit
def scan_doubling(values, target):
    """Inclusive scan of 256 items a block, twice as far with each step (Hillis and Steele)."""
    part = cuda.shared.array((2, 256), int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    now = 0
    part[0, t] = values[i]
    cuda.syncthreads()
    step = 1
    while step < 256:
        if t >= step:
            part[1 - now, t] = part[now, t] + part[now, t - step]
        else:
            part[1 - now, t] = part[now, t]
        now = 1 - now
        step *= 2
        cuda.syncthreads()
    target[i] = part[now, t]


@cuda.jit
def scan_exclusive_tree(values, target):
    """Exclusive scan of 512 items by 256 threads: up a tree of sums and down again (Blelloch)."""
    part = cuda.shared.array(512, int32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * 512
    part[2 * t] = values[first + 2 * t]
    part[2 * t + 1] = values[first + 2 * t + 1]
    offset = 1
    width = 256
    while width > 0:
        cuda.syncthreads()
        if t < width:
            low = offset * (2 * t + 1) - 1
            high = offset * (2 * t + 2) - 1
            part[high] += part[low]
        offset *= 2
        width //= 2
    if t == 0:
        part[511] = 0
    width = 1
    while width < 512:
        offset //= 2
        cuda.syncthreads()
        if t < width:
            low = offset * (2 * t + 1) - 1
            high = offset * (2 * t + 2) - 1
            old = part[low]
            part[low] = part[high]
            part[high] += old
        width *= 2
    cuda.syncthreads()
    target[first + 2 * t] = part[2 * t]
    target[first + 2 * t + 1] = part[2 * t + 1]


@cuda.jit
def walk_sublists(following, heads, is_head, rank, owner, length):
    """Each thread walks from its splitter to the next: lanes stop at different times."""
    s = cuda.grid(1)
    if s < heads.size:
        node = heads[s]
        steps = 0
        while True:
            rank[node] = steps
            owner[node] = s
            steps += 1
            after = following[node]
            if after == node or is_head[after]:
                break
            node = after
        length[s] = steps


@cuda.jit
def finish_ranks(rank, owner, offset, target):
    i = cuda.grid(1)
    if i < rank.size:
        target[i] = offset[owner[i]] + rank[i]
