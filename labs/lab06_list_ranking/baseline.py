"""What speed is compared with: Wyllie's pointer jumping on all n nodes, two buffers in turn, ceil(log2 n) rounds.

Every round reads a random node for each node, so the work is n log n; what is read is mostly in L2 at the size that is
timed, which is the kindest size for it.
"""

from numba import cuda

THREADS = 256


@cuda.jit
def start(successor, following, distance):
    i = cuda.grid(1)
    if i < successor.size:
        following[i] = successor[i]
        distance[i] = 0 if successor[i] == i else 1


@cuda.jit
def jump(following, distance, next_following, next_distance):
    i = cuda.grid(1)
    if i < following.size:
        after = following[i]
        next_distance[i] = distance[i] + distance[after]
        next_following[i] = following[after]


@cuda.jit
def finish(distance, rank):
    i = cuda.grid(1)
    if i < rank.size:
        rank[i] = distance[i]


def rank_list(successor, rank, scratch):
    n = successor.size
    blocks = (n + THREADS - 1) // THREADS
    following, distance, next_following, next_distance = scratch[0], scratch[1], scratch[2], scratch[3]
    start[blocks, THREADS](successor, following, distance)
    span = 1
    while span < n:
        jump[blocks, THREADS](following, distance, next_following, next_distance)
        following, next_following = next_following, following
        distance, next_distance = next_distance, distance
        span *= 2
    finish[blocks, THREADS](distance, rank)


# The stages that the lab asks for beside: pointer jumping on all nodes has no use for them.


@cuda.jit
def walk_sublists(successor, splitters, sublist, steps, following, links):
    pass


def rank_splitters(following, links, spare_following, spare_links):
    pass


@cuda.jit
def add_up(successor, sublist, steps, splitter_rank, rank):
    pass
