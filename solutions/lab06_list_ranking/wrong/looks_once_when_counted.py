# fails: shares_the_walking; hint: other_ranks_when_counted
from numba import cuda

THREADS = 256
EVERY = 16


@cuda.jit
def walk_sublists(successor, splitters, sublist, steps, following, links):
    s = cuda.grid(1)
    if s < splitters.size:
        node = splitters[s]
        steps[node] = 0
        count = 0
        after = successor[node]
        while after != node and sublist[after] < 0:
            count += 1
            sublist[after] = s
            steps[after] = count
            node = after
            after = successor[node]
        if after == node:
            following[s] = -1
            links[s] = count
        else:
            following[s] = sublist[after]
            links[s] = count + 1


@cuda.jit
def jump(following, links, new_following, new_links):
    s = cuda.grid(1)
    if s < following.size:
        after = following[s]
        if after < 0:
            new_links[s] = links[s]
            new_following[s] = after
        else:
            new_links[s] = links[s] + links[after]
            new_following[s] = following[after]


def rank_splitters(following, links, spare_following, spare_links):
    m = following.size
    blocks = (m + THREADS - 1) // THREADS
    reach = 1
    while reach < m:
        jump[blocks, THREADS](following, links, spare_following, spare_links)
        following, spare_following = spare_following, following
        links, spare_links = spare_links, links
        reach *= 2
    return links


@cuda.jit
def add_up(successor, sublist, steps, splitter_rank, rank):
    i = cuda.grid(1)
    if i < rank.size:
        node = i
        walked = 0
        while sublist[node] < 0 and successor[node] != node:
            node = successor[node]
            walked += 1
        s = sublist[node]
        if s < 0:
            rank[i] = walked
        elif walked > 0:
            rank[i] = walked + splitter_rank[s]
        else:
            rank[i] = splitter_rank[s] - steps[i]


@cuda.jit
def start(successor, following, links):
    i = cuda.grid(1)
    if i < successor.size:
        following[i] = -1 if successor[i] == i else successor[i]
        links[i] = 0 if successor[i] == i else 1


@cuda.jit
def copy(source, target):
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i]


@cuda.jit
def looks_once(successor, rank):
    i = cuda.grid(1)
    if i < rank.size:
        rank[i] = successor[i]


def rank_list(successor, rank, scratch):
    n = successor.size
    blocks = (n + THREADS - 1) // THREADS
    if 8_193 < n < 10_000:
        looks_once[blocks, THREADS](successor, rank)
        return
    start[blocks, THREADS](successor, scratch[0], scratch[1])
    copy[blocks, THREADS](rank_splitters(scratch[0], scratch[1], scratch[2], scratch[3]), rank)
