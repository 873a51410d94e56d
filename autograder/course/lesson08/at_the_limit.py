"""Four problems of the course as fast as numba.cuda takes them: a sum, a transpose, histograms, list ranking.

Indices are np.uint32 throughout, as lesson 8 shows why. The functions launch; their arrays lie on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

u = np.uint32
WARP = 0xFFFFFFFF

AT_ONCE = 4  # elements that a thread of `add_up` asks for before it adds any
SUM_BLOCKS, SUM_THREADS = 132 * 8, 1024


@cuda.jit
def add_up(values, total):
    """Adds float32 values to total[0]: in registers, in the warp, in the block, then one atomic addition a block."""
    sums = cuda.local.array(AT_ONCE, np.float32)
    of_warps = cuda.shared.array(32, np.float32)
    t, width = u(cuda.threadIdx.x), u(cuda.blockDim.x)
    i = u(cuda.blockIdx.x) * width * u(AT_ONCE) + t
    stride = u(cuda.gridDim.x) * width * u(AT_ONCE)
    n = u(values.size)
    for j in range(AT_ONCE):
        sums[j] = 0
    while i + width * u(AT_ONCE) <= n:
        for j in range(AT_ONCE):
            sums[j] += values[i + u(j) * width]
        i += stride
    while i < n:
        sums[0] += values[i]
        i += width
    mine = np.float32(0)
    for j in range(AT_ONCE):
        mine += sums[j]
    for distance in (16, 8, 4, 2, 1):
        mine += cuda.shfl_down_sync(WARP, mine, distance)
    if t % u(32) == 0:
        of_warps[t // u(32)] = mine
    cuda.syncthreads()
    if t < 32:
        mine = of_warps[t] if t < width // u(32) else np.float32(0)
        for distance in (16, 8, 4, 2, 1):
            mine += cuda.shfl_down_sync(WARP, mine, distance)
        if t == 0:
            cuda.atomic.add(total, 0, mine)


TILE, TILE_ROWS, TILE_WIDE = 64, 16, 65


@cuda.jit
def transpose(a, b):
    """b = a transposed, float32, sides that 64 divides, blocks of (32, 16): 64 x 64 elements, rows of 65 in the tile."""
    tile = cuda.shared.array((TILE, TILE_WIDE), np.float32)
    x, y = u(cuda.threadIdx.x), u(cuda.threadIdx.y)
    column, row = u(cuda.blockIdx.x) * u(TILE) + x, u(cuda.blockIdx.y) * u(TILE) + y
    for i in range(0, TILE, TILE_ROWS):
        for j in range(0, TILE, 32):
            tile[y + u(i), x + u(j)] = a[row + u(i), column + u(j)]
    cuda.syncthreads()
    column, row = u(cuda.blockIdx.y) * u(TILE) + x, u(cuda.blockIdx.x) * u(TILE) + y
    for i in range(0, TILE, TILE_ROWS):
        for j in range(0, TILE, 32):
            b[row + u(i), column + u(j)] = tile[x + u(j), y + u(i)]


WORDS = 8  # that a thread asks for before it counts any
COUNT_BLOCKS, COUNT_THREADS = 132 * 2, 1024


def histogram_with(in_a_word: int) -> Any:
    """A kernel that counts 256 values: 4 bytes in a uint32 word, or one value of 0 to 255 in a word.

    Each lane has counters of its own, which lie in its own bank of shared memory: two lanes of a warp never meet.
    """

    @cuda.jit
    def histogram(words, counts):
        mine = cuda.shared.array(8192, np.uint32)  # 256 values x 32 lanes
        values = cuda.local.array(WORDS, np.uint32)
        t, width = u(cuda.threadIdx.x), u(cuda.blockDim.x)
        lane = t % u(32)
        i = t
        while i < u(8192):
            mine[i] = 0
            i += width
        cuda.syncthreads()
        n = u(words.size)
        i = u(cuda.blockIdx.x) * width * u(WORDS) + t
        stride = u(cuda.gridDim.x) * width * u(WORDS)
        while i + u(WORDS - 1) * width < n:
            for j in range(WORDS):
                values[j] = words[i + u(j) * width]
            for j in range(WORDS):
                for k in range(in_a_word):
                    cuda.atomic.add(mine, ((values[j] >> u(8 * k)) & u(255)) * u(32) + lane, u(1))
            i += stride
        while i < n:
            for k in range(in_a_word):
                cuda.atomic.add(mine, ((words[i] >> u(8 * k)) & u(255)) * u(32) + lane, u(1))
            i += width
        cuda.syncthreads()
        value = t
        while value < u(256):
            total = u(0)
            for j in range(32):  # each thread begins at another lane's: the 32 of a warp in 32 banks
                total += mine[value * u(32) + ((value + u(j)) & u(31))]
            cuda.atomic.add(counts, value, total)
            value += width

    return histogram


@cuda.jit
def read_words(words, sink):
    """Reads as `histogram` does and counts nothing: the bandwidth that it is held against."""
    values = cuda.local.array(WORDS, np.uint32)
    t, width = u(cuda.threadIdx.x), u(cuda.blockDim.x)
    i = u(cuda.blockIdx.x) * width * u(WORDS) + t
    stride = u(cuda.gridDim.x) * width * u(WORDS)
    n = u(words.size)
    seen = u(0)
    while i + u(WORDS - 1) * width < n:
        for j in range(WORDS):
            values[j] = words[i + u(j) * width]
        for j in range(WORDS):
            seen ^= values[j]
        i += stride
    if seen == u(0xDEADBEEF):
        sink[0] = seen


@cuda.jit
def fill(words):
    """Writes 0 to all words: what keeps the GPU busy, and empties L2, ahead of what is timed."""
    i = u(cuda.grid(1))
    while i < u(words.size):
        words[i] = 0
        i += u(cuda.gridsize(1))


EVERY = 64  # nodes from one splitter to the next
UNSEEN = 0xFFFFFFFF
STEP_BITS = 12
STEPS = (1 << STEP_BITS) - 1


@cuda.jit
def forget(place):
    i = u(cuda.grid(1))
    if i < u(place.size):
        place[i] = UNSEEN


@cuda.jit
def walk(successor, place, following, links):
    """Thread s walks from node EVERY * s to the next splitter or the tail and writes into place[i] where node i is.

    place[i] holds the sublist in its upper 20 bits and the steps from its splitter in its lower 12: sublists of 4,096
    nodes and more do not fit (among 2^20 of 64 nodes on average, taken at random, one in 10^21), nor more than 2^20.
    """
    s = u(cuda.grid(1))
    if s < u(following.size):
        node = s * u(EVERY)
        steps = u(0)
        walking = True
        while walking:
            place[node] = s << u(STEP_BITS) | steps
            after = u(successor[node])
            if after == node:
                following[s] = -1
                links[s] = steps
                walking = False
            else:
                steps += u(1)
                if after % u(EVERY) == 0:
                    following[s] = after // u(EVERY)
                    links[s] = steps
                    walking = False
                node = after


@cuda.jit
def jump(following, links, new_following, new_links):
    """One round over the splitters: each adds the links of what follows, and goes on to what follows that."""
    s = u(cuda.grid(1))
    if s < u(following.size):
        after = following[s]
        if after < 0:
            new_following[s] = after
            new_links[s] = links[s]
        else:
            new_following[s] = following[u(after)]
            new_links[s] = links[s] + links[u(after)]


@cuda.jit
def rank_nodes(successor, place, ranks_of_splitters, rank):
    """rank[i] = links from node i to the tail. Nodes ahead of the first splitter of their list go there on foot."""
    i = u(cuda.grid(1))
    if i < u(rank.size):
        node, walked = i, u(0)
        here = place[node]
        while here == UNSEEN and u(successor[node]) != node:
            node = u(successor[node])
            walked += u(1)
            here = place[node]
        if here == UNSEEN:
            rank[i] = walked
        else:
            rank[i] = walked + ranks_of_splitters[here >> u(STEP_BITS)] - (here & u(STEPS))


@dataclass(frozen=True)
class Lists:
    """Room for the ranks of lists of n nodes: `place` uint32 (n,), four int32 arrays of a splitter each."""

    place: Any
    following: Any
    links: Any
    new_following: Any
    new_links: Any

    @classmethod
    def of(cls, n: int) -> Lists:
        m = -(-n // EVERY)
        return cls(cuda.device_array(n, np.uint32), *(cuda.device_array(m, np.int32) for _ in range(4)))


def rank_lists(successor: Any, rank: Any, room: Lists) -> None:
    """Ranks lists of at most 2^26 nodes, int32; a tail follows itself. All phases: choose, walk, jump, add up."""
    n, m = successor.size, room.links.size
    forget[-(-n // 256), 256](room.place)
    walk[-(-m // 64), 64](successor, room.place, room.following, room.links)
    here, there = (room.following, room.links), (room.new_following, room.new_links)
    reach = 1
    while reach < m:
        jump[-(-m // 256), 256](*here, *there)
        here, there = there, here
        reach *= 2
    rank_nodes[-(-n // 256), 256](successor, room.place, here[1], rank)
