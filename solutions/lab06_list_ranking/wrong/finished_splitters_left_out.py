# fails: jumps_between_two_buffers; hint: finished_splitters_left_out
# not timed: a wrong stage takes about as long as a right one
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
        if after >= 0:
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
def choose(splitters, sublist):
    i = cuda.grid(1)
    if i < sublist.size:
        if i % EVERY == 0:
            splitters[i // EVERY] = i
            sublist[i] = i // EVERY
        else:
            sublist[i] = -1


def rank_list(successor, rank, scratch):
    n = successor.size
    m = (n + EVERY - 1) // EVERY
    blocks, few = (n + THREADS - 1) // THREADS, (m + THREADS - 1) // THREADS
    sublist, steps, splitters = scratch[0], scratch[1], scratch[2][:m]
    following, links = scratch[3][:m], scratch[4][:m]
    choose[blocks, THREADS](splitters, sublist)
    walk_sublists[few, THREADS](successor, splitters, sublist, steps, following, links)
    splitter_rank = rank_splitters(following, links, scratch[5][:m], scratch[6][:m])
    add_up[blocks, THREADS](successor, sublist, steps, splitter_rank, rank)
