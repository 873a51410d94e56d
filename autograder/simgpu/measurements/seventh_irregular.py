"""The seventh set: graphs, sparse matrices, trees, tables, text, genomes, collisions, particles, games, agents."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32, uint64

from autograder.simgpu.measurements.ordinary_entries import entry
from autograder.simgpu.measurements.sizing import (
    Arguments,
    Random,
    Sized,
    elements,
    square,
    striding,
    zeros,
)

F32, F64, I8, I16, I32, I64 = np.float32, np.float64, np.int8, np.int16, np.int32, np.int64
U8, U32, U64 = np.uint8, np.uint32, np.uint64
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
FAN_OUT = 16
K = 21
NOT_A_FILE = np.uint64(0xFEFEFEFEFEFEFEFE)
NOT_H_FILE = np.uint64(0x7F7F7F7F7F7F7F7F)
WEEKEND = np.array([0, 0, 0, 0, 0, 1, 1], np.uint8)
DX = np.array([1, 1, 0, -1, -1, -1, 0, 1], np.int32)
DY = np.array([0, 1, 1, 1, 0, -1, -1, -1], np.int32)


@cuda.jit
def most_common_neighbour_label(first, neighbours, labels, new_labels, changed):
    v = cuda.grid(1)
    if v >= labels.size:
        return
    start = first[v]
    stop = first[v + 1]
    best = labels[v]
    best_count = 0
    for i in range(start, stop):
        label = labels[neighbours[i]]
        count = 0
        for j in range(start, stop):
            if labels[neighbours[j]] == label:
                count += 1
        if count > best_count or (count == best_count and label < best):
            best = label
            best_count = count
    new_labels[v] = best
    if best != labels[v]:
        cuda.atomic.add(changed, 0, 1)


@cuda.jit
def nonzeros_of_product_rows(a_first, a_columns, b_first, b_columns, counts):
    """A warp per row of A times B keeps the columns it has met in a hash table of its own."""
    tables = cuda.shared.array((4, 512), int32)
    lane = cuda.threadIdx.x % 32
    warp = cuda.threadIdx.x // 32
    row = cuda.blockIdx.x * 4 + warp
    for k in range(lane, 512, 32):
        tables[warp, k] = -1
    cuda.syncwarp()
    found = 0
    if row < counts.size:
        for i in range(a_first[row], a_first[row + 1]):
            middle = a_columns[i]
            for j in range(b_first[middle] + lane, b_first[middle + 1], 32):
                column = b_columns[j]
                slot = (column * 107) & 511
                for _ in range(512):
                    old = cuda.atomic.cas(tables, (warp, slot), -1, column)
                    if old == -1:
                        found += 1
                        break
                    if old == column:
                        break
                    slot = (slot + 1) & 511
    offset = 16
    while offset > 0:
        found += cuda.shfl_down_sync(0xFFFFFFFF, found, offset)
        offset //= 2
    if lane == 0 and row < counts.size:
        counts[row] = found


@cuda.jit
def sliced_ell_product(starts, columns, values, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        part = row // 32
        start = starts[part]
        width = (starts[part + 1] - start) // 32
        total = 0.0
        for k in range(width):
            place = start + k * 32 + row % 32
            total += values[place] * x[columns[place]]
        y[row] = alpha * total + beta * y[row]


@cuda.jit(device=True)
def shared_prefix(codes, i, j):
    if j < 0 or j >= codes.size:
        return -1
    a = codes[i]
    b = codes[j]
    if a == b:
        return 32 + cuda.clz(int32(i ^ j))
    return cuda.clz(uint32(a ^ b))


@cuda.jit
def tree_from_morton_codes(codes, left, right, parent):
    """Inner nodes of a radix tree over sorted codes; leaf k is node n - 1 + k."""
    i = cuda.grid(1)
    n = codes.size
    if i >= n - 1:
        return
    d = 1
    if shared_prefix(codes, i, i + 1) < shared_prefix(codes, i, i - 1):
        d = -1
    least = shared_prefix(codes, i, i - d)
    reach = 2
    while shared_prefix(codes, i, i + reach * d) > least:
        reach *= 2
    length = 0
    step = reach // 2
    while step > 0:
        if shared_prefix(codes, i, i + (length + step) * d) > least:
            length += step
        step //= 2
    j = i + length * d
    of_node = shared_prefix(codes, i, j)
    split = 0
    step = length
    while True:
        step = (step + 1) // 2
        if split + step < length and shared_prefix(codes, i, i + (split + step) * d) > of_node:
            split += step
        if step <= 1:
            break
    middle = i + split * d + min(d, 0)
    a = middle + n - 1 if min(i, j) == middle else middle
    b = middle + n if max(i, j) == middle + 1 else middle + 1
    left[i] = a
    right[i] = b
    parent[a] = i
    parent[b] = i


@cuda.jit
def find_in_b_tree(keys, starts, values, wanted, found, missing):
    q = cuda.grid(1)
    if q >= wanted.size:
        return
    key = wanted[q]
    node = 0
    for level in range(starts.size):
        base = starts[level] + node * FAN_OUT
        slot = 0
        while slot < FAN_OUT - 1 and keys[base + slot + 1] <= key:
            slot += 1
        node = node * FAN_OUT + slot
    if keys[starts[starts.size - 1] + node] == key:
        found[q] = values[node]
    else:
        found[q] = -1
        cuda.atomic.add(missing, 0, 1)


@cuda.jit(device=True)
def box_is_hit(boxes, node, ox, oy, oz, ix, iy, iz):
    a = (boxes[node, 0] - ox) * ix
    b = (boxes[node, 3] - ox) * ix
    near = min(a, b)
    far = max(a, b)
    a = (boxes[node, 1] - oy) * iy
    b = (boxes[node, 4] - oy) * iy
    near = max(near, min(a, b))
    far = min(far, max(a, b))
    a = (boxes[node, 2] - oz) * iz
    b = (boxes[node, 5] - oz) * iz
    near = max(near, min(a, b))
    far = min(far, max(a, b))
    return far >= max(near, float32(0.0)) and near <= float32(1.0)


@cuda.jit(device=True)
def triangle_is_hit(t, ox, oy, oz, dx, dy, dz):
    e1x = t[3] - t[0]
    e1y = t[4] - t[1]
    e1z = t[5] - t[2]
    e2x = t[6] - t[0]
    e2y = t[7] - t[1]
    e2z = t[8] - t[2]
    px = dy * e2z - dz * e2y
    py = dz * e2x - dx * e2z
    pz = dx * e2y - dy * e2x
    det = e1x * px + e1y * py + e1z * pz
    if abs(det) < 1e-12:
        return False
    sx = ox - t[0]
    sy = oy - t[1]
    sz = oz - t[2]
    u = (sx * px + sy * py + sz * pz) / det
    if u < 0 or u > 1:
        return False
    qx = sy * e1z - sz * e1y
    qy = sz * e1x - sx * e1z
    qz = sx * e1y - sy * e1x
    v = (dx * qx + dy * qy + dz * qz) / det
    if v < 0 or u + v > 1:
        return False
    far = (e2x * qx + e2y * qy + e2z * qz) / det
    return far > 0 and far < 1


@cuda.jit
def shadows_on_ground(boxes, triangles, light, picture):
    px, py = cuda.grid(2)
    height, width = picture.shape
    if px >= width or py >= height:
        return
    stack = cuda.local.array(32, int32)
    ox = (px + float32(0.5)) / float32(width)
    oy = (py + float32(0.5)) / float32(height)
    oz = float32(0.0)
    dx = light[0] - ox
    dy = light[1] - oy
    dz = light[2] - oz
    ix = float32(1.0) / dx
    iy = float32(1.0) / dy
    iz = float32(1.0) / dz
    leaves = boxes.shape[0] // 2
    stack[0] = 1
    top = 1
    shadowed = False
    while top > 0 and not shadowed:
        top -= 1
        node = stack[top]
        if not box_is_hit(boxes, node, ox, oy, oz, ix, iy, iz):
            continue
        if node < leaves:
            stack[top] = 2 * node + 1
            stack[top + 1] = 2 * node
            top += 2
        else:
            for k in range(4 * (node - leaves), 4 * (node - leaves) + 4):
                if triangle_is_hit(triangles[k], ox, oy, oz, dx, dy, dz):
                    shadowed = True
                    break
    if shadowed:
        picture[py, px] = 0.2
    else:
        picture[py, px] = dz / math.sqrt(dx * dx + dy * dy + dz * dz)


@cuda.jit(device=True)
def mixed_bits(h):
    h ^= h >> uint64(33)
    h *= uint64(0xFF51AFD7ED558CCD)
    h ^= h >> uint64(33)
    h *= uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> uint64(33)
    return h


@cuda.jit
def count_kmers(reads, keys, counts, lost):
    r = cuda.grid(1)
    if r >= reads.shape[0]:
        return
    mask = (uint64(1) << uint64(2 * K)) - uint64(1)
    last = keys.size - 1
    forward = uint64(0)
    backward = uint64(0)
    length = 0
    for i in range(reads.shape[1]):
        base = reads[r, i]
        if base > 3:
            length = 0
            continue
        forward = ((forward << uint64(2)) | uint64(base)) & mask
        backward = (backward >> uint64(2)) | (uint64(3 - base) << uint64(2 * K - 2))
        length += 1
        if length < K:
            continue
        kmer = min(forward, backward)
        slot = int64(mixed_bits(kmer)) & last
        placed = False
        tries = 0
        while not placed and tries <= last:
            old = cuda.atomic.cas(keys, slot, EMPTY, kmer)
            if old == EMPTY or old == kmer:
                cuda.atomic.add(counts, slot, 1)
                placed = True
            slot = (slot + 1) & last
            tries += 1
        if not placed:
            cuda.atomic.add(lost, 0, 1)


@cuda.jit
def pricing_summary(flags, statuses, shipped, quantities, prices, discounts, taxes, cutoff, totals):
    sums = cuda.shared.array((8, 6, 6), float64)
    t = cuda.threadIdx.x
    warp = t // 32
    for k in range(t, 8 * 36, cuda.blockDim.x):
        sums[k // 36, k % 36 // 6, k % 6] = 0.0
    cuda.syncthreads()
    for i in range(cuda.grid(1), prices.size, cuda.gridsize(1)):
        if shipped[i] <= cutoff:
            group = flags[i] * 2 + statuses[i]
            discounted = prices[i] * (1 - discounts[i])
            cuda.atomic.add(sums, (warp, group, 0), quantities[i])
            cuda.atomic.add(sums, (warp, group, 1), prices[i])
            cuda.atomic.add(sums, (warp, group, 2), discounted)
            cuda.atomic.add(sums, (warp, group, 3), discounted * (1 + taxes[i]))
            cuda.atomic.add(sums, (warp, group, 4), discounts[i])
            cuda.atomic.add(sums, (warp, group, 5), 1)
    cuda.syncthreads()
    if t < 36:
        total = 0.0
        for w in range(8):
            total += sums[w, t // 6, t % 6]
        cuda.atomic.add(totals, (t // 6, t % 6), total)


@cuda.jit(device=True)
def is_holiday(holidays, day):
    low = 0
    high = holidays.size
    while low < high:
        middle = (low + high) // 2
        if holidays[middle] < day:
            low = middle + 1
        else:
            high = middle
    return low < holidays.size and holidays[low] == day


@cuda.jit
def due_dates(issued, terms, holidays, due):
    """The day so many working days after an invoice was issued, in days since 1970."""
    weekend = cuda.const.array_like(WEEKEND)
    i = cuda.grid(1)
    if i < issued.size:
        day = issued[i]
        left = terms[i]
        while left > 0:
            day += 1
            if weekend[(day + 3) % 7] == 0 and not is_holiday(holidays, day):
                left -= 1
        due[i] = day


@cuda.jit(device=True)
def is_like(letters, start, stop, pattern):
    at = start
    p = 0
    star = -1
    resume = start
    while at < stop:
        if p < pattern.size and pattern[p] == 37:
            star = p
            resume = at
            p += 1
        elif p < pattern.size and (pattern[p] == 95 or pattern[p] == letters[at]):
            at += 1
            p += 1
        elif star >= 0:
            p = star + 1
            resume += 1
            at = resume
        else:
            return False
    while p < pattern.size and pattern[p] == 37:
        p += 1
    return p == pattern.size


@cuda.jit
def rows_like(letters, first, pattern, selected):
    """A bitmap of the rows whose text is LIKE the pattern."""
    row = cuda.grid(1)
    like = False
    if row < first.size - 1:
        like = is_like(letters, first[row], first[row + 1], pattern)
    bits = cuda.ballot_sync(0xFFFFFFFF, like)
    if cuda.laneid == 0 and row < first.size - 1:
        selected[row // 32] = bits


@cuda.jit(device=True)
def occurrences(counts, low, high, primary, letter, place):
    block = place >> 6
    bits = low[block] if letter & 1 else ~low[block]
    bits &= high[block] if letter & 2 else ~high[block]
    bits &= (uint64(1) << uint64(place & 63)) - uint64(1)
    n = counts[block, letter] + cuda.popc(bits)
    if letter == 0 and primary < place:
        n -= 1
    return n


@cuda.jit
def count_reads_in_index(reads, starts, counts, low, high, primary, letters, hits, depths):
    """Backward search in the Burrows-Wheeler transform of a genome."""
    r = cuda.grid(1)
    if r >= reads.shape[0]:
        return
    top = 0
    bottom = letters + 1
    depth = 0
    for i in range(reads.shape[1] - 1, -1, -1):
        letter = reads[r, i]
        top = starts[letter] + occurrences(counts, low, high, primary, letter, top)
        bottom = starts[letter] + occurrences(counts, low, high, primary, letter, bottom)
        if top >= bottom:
            break
        depth += 1
    hits[r] = max(bottom - top, 0)
    depths[r] = depth


@cuda.jit
def approximate_finds(patterns, texts, least, ends):
    """Bit-parallel edit distance of a short pattern to the best piece of its text."""
    k = cuda.grid(1)
    if k >= patterns.shape[0]:
        return
    masks = cuda.local.array(4, uint64)
    for c in range(4):
        masks[c] = uint64(0)
    size = patterns.shape[1]
    for i in range(size):
        masks[patterns[k, i]] |= uint64(1) << uint64(i)
    top = uint64(1) << uint64(size - 1)
    pv = ~uint64(0)
    mv = uint64(0)
    score = size
    best = size
    end = -1
    for j in range(texts.shape[1]):
        eq = masks[texts[k, j]]
        xv = eq | mv
        xh = (((eq & pv) + pv) ^ pv) | eq
        ph = mv | ~(xh | pv)
        mh = pv & xh
        if ph & top:
            score += 1
        elif mh & top:
            score -= 1
        ph <<= uint64(1)
        mh <<= uint64(1)
        pv = mh | ~(xv | ph)
        mv = ph & xv
        if score < best:
            best = score
            end = j
    least[k] = best
    ends[k] = end


@cuda.jit(device=True)
def boxes_touch(centres, axes, halves, a, b):
    turn = cuda.local.array((3, 3), float32)
    size = cuda.local.array((3, 3), float32)
    t = cuda.local.array(3, float32)
    dx = centres[b, 0] - centres[a, 0]
    dy = centres[b, 1] - centres[a, 1]
    dz = centres[b, 2] - centres[a, 2]
    for i in range(3):
        t[i] = dx * axes[a, i, 0] + dy * axes[a, i, 1] + dz * axes[a, i, 2]
        for j in range(3):
            dot = float32(0.0)
            for k in range(3):
                dot += axes[a, i, k] * axes[b, j, k]
            turn[i, j] = dot
            size[i, j] = abs(dot) + 1e-6
    for i in range(3):
        reach = halves[a, i]
        for j in range(3):
            reach += halves[b, j] * size[i, j]
        if abs(t[i]) > reach:
            return 0
    for j in range(3):
        reach = halves[b, j]
        away = float32(0.0)
        for i in range(3):
            reach += halves[a, i] * size[i, j]
            away += t[i] * turn[i, j]
        if abs(away) > reach:
            return 0
    for i in range(3):
        i1 = (i + 1) % 3
        i2 = (i + 2) % 3
        for j in range(3):
            j1 = (j + 1) % 3
            j2 = (j + 2) % 3
            reach = halves[a, i1] * size[i2, j] + halves[a, i2] * size[i1, j]
            reach += halves[b, j1] * size[i, j2] + halves[b, j2] * size[i, j1]
            if abs(t[i2] * turn[i1, j] - t[i1] * turn[i2, j]) > reach:
                return 0
    return 1


@cuda.jit
def oriented_boxes_touch(centres, axes, halves, pairs, touching, count):
    p = cuda.grid(1)
    hit = 0
    if p < pairs.shape[0]:
        hit = boxes_touch(centres, axes, halves, pairs[p, 0], pairs[p, 1])
        touching[p] = hit
    of_block = cuda.syncthreads_count(hit)
    if cuda.threadIdx.x == 0 and of_block > 0:
        cuda.atomic.add(count, 0, of_block)


@cuda.jit(device=True)
def field_at(field, c, x, y, z):
    g = field.shape[0]
    i = int(math.floor(x))
    j = int(math.floor(y))
    k = int(math.floor(z))
    fx = x - i
    fy = y - j
    fz = z - k
    i0, j0, k0 = i % g, j % g, k % g
    i1, j1, k1 = (i + 1) % g, (j + 1) % g, (k + 1) % g
    low = (1 - fx) * ((1 - fy) * field[k0, j0, i0, c] + fy * field[k0, j1, i0, c])
    low += fx * ((1 - fy) * field[k0, j0, i1, c] + fy * field[k0, j1, i1, c])
    up = (1 - fx) * ((1 - fy) * field[k1, j0, i0, c] + fy * field[k1, j1, i0, c])
    up += fx * ((1 - fy) * field[k1, j0, i1, c] + fy * field[k1, j1, i1, c])
    return float32((1 - fz) * low + fz * up)


@cuda.jit
def boris_push(x, y, z, vx, vy, vz, electric, magnetic, charge, dt):
    p = cuda.grid(1)
    if p >= x.size:
        return
    h = float32(0.5) * charge * dt
    ex = h * field_at(electric, 0, x[p], y[p], z[p])
    ey = h * field_at(electric, 1, x[p], y[p], z[p])
    ez = h * field_at(electric, 2, x[p], y[p], z[p])
    tx = h * field_at(magnetic, 0, x[p], y[p], z[p])
    ty = h * field_at(magnetic, 1, x[p], y[p], z[p])
    tz = h * field_at(magnetic, 2, x[p], y[p], z[p])
    s = float32(2.0) / (float32(1.0) + tx * tx + ty * ty + tz * tz)
    mx = vx[p] + ex
    my = vy[p] + ey
    mz = vz[p] + ez
    px = mx + my * tz - mz * ty
    py = my + mz * tx - mx * tz
    pz = mz + mx * ty - my * tx
    mx += s * (py * tz - pz * ty) + ex
    my += s * (pz * tx - px * tz) + ey
    mz += s * (px * ty - py * tx) + ez
    vx[p] = mx
    vy[p] = my
    vz[p] = mz
    side = float32(electric.shape[0])
    x[p] = (x[p] + mx * dt + side) % side
    y[p] = (y[p] + my * dt + side) % side
    z[p] = (z[p] + mz * dt + side) % side


@cuda.jit(device=True)
def next_state(state):
    state = uint32(state ^ (state << uint32(13)))
    state = uint32(state ^ (state >> uint32(17)))
    return uint32(state ^ (state << uint32(5)))


@cuda.jit(device=True)
def as_unit(state):
    return float32(state) * float32(2.3283064e-10)


@cuda.jit(device=True)
def reached_upwards(own, through, shift):
    front = (own << shift) & through
    for _ in range(5):
        front |= (front << shift) & through
    return front << shift


@cuda.jit(device=True)
def reached_downwards(own, through, shift):
    front = (own >> shift) & through
    for _ in range(5):
        front |= (front >> shift) & through
    return front >> shift


@cuda.jit(device=True)
def moves_of(own, other):
    inner = other & NOT_A_FILE & NOT_H_FILE
    found = reached_upwards(own, inner, uint64(1)) | reached_downwards(own, inner, uint64(1))
    found |= reached_upwards(own, other, uint64(8)) | reached_downwards(own, other, uint64(8))
    found |= reached_upwards(own, inner, uint64(7)) | reached_downwards(own, inner, uint64(7))
    found |= reached_upwards(own, inner, uint64(9)) | reached_downwards(own, inner, uint64(9))
    return found & ~(own | other)


@cuda.jit
def othello_moves(black, white, moves, scores):
    i = cuda.grid(1)
    if i < black.size:
        own = black[i]
        other = white[i]
        mine = moves_of(own, other)
        moves[i] = mine
        score = 8 * (cuda.popc(mine) - cuda.popc(moves_of(other, own)))
        corners = uint64(0x8100000000000081)
        score += 25 * (cuda.popc(own & corners) - cuda.popc(other & corners))
        scores[i] = score + cuda.popc(own) - cuda.popc(other)


@cuda.jit
def ants_follow_scent(xs, ys, headings, scent, dropped, tick, amount):
    dx = cuda.const.array_like(DX)
    dy = cuda.const.array_like(DY)
    i = cuda.grid(1)
    if i >= xs.size:
        return
    height, width = scent.shape
    x = xs[i]
    y = ys[i]
    heading = headings[i]
    chance = uint32(i * 747796405 + tick * 1013904223)
    chance = uint32((chance ^ (chance >> uint32(16))) * uint32(0x7FEB352D))
    chance = uint32((chance ^ (chance >> uint32(15))) * uint32(0x846CA68B))
    chance = uint32(chance ^ (chance >> uint32(16)))
    best = -1.0
    chosen = heading
    if chance % 100 < 15:
        chosen = (heading + (chance // 100) % 8) % 8
    else:
        for turn in range(-1, 2):
            way = (heading + turn) % 8
            smelled = scent[(y + dy[way]) % height, (x + dx[way]) % width]
            if smelled > best:
                best = smelled
                chosen = way
    x = (x + dx[int(chosen)]) % width
    y = (y + dy[int(chosen)]) % height
    xs[i] = x
    ys[i] = y
    headings[i] = chosen
    cuda.atomic.add(dropped, (y, x), amount)


@cuda.jit
def heat_through_tetrahedra(nodes, corners, warmth, conductivity, flow):
    e = cuda.grid(1)
    if e >= corners.shape[0]:
        return
    a = corners[e, 0]
    b = corners[e, 1]
    c = corners[e, 2]
    d = corners[e, 3]
    ux = nodes[b, 0] - nodes[a, 0]
    uy = nodes[b, 1] - nodes[a, 1]
    uz = nodes[b, 2] - nodes[a, 2]
    vx = nodes[c, 0] - nodes[a, 0]
    vy = nodes[c, 1] - nodes[a, 1]
    vz = nodes[c, 2] - nodes[a, 2]
    wx = nodes[d, 0] - nodes[a, 0]
    wy = nodes[d, 1] - nodes[a, 1]
    wz = nodes[d, 2] - nodes[a, 2]
    bx = vy * wz - vz * wy
    by = vz * wx - vx * wz
    bz = vx * wy - vy * wx
    cx = wy * uz - wz * uy
    cy = wz * ux - wx * uz
    cz = wx * uy - wy * ux
    dx = uy * vz - uz * vy
    dy = uz * vx - ux * vz
    dz = ux * vy - uy * vx
    det = ux * bx + uy * by + uz * bz
    if abs(det) < 1e-14:
        return
    tb = warmth[b] - warmth[a]
    tc = warmth[c] - warmth[a]
    td = warmth[d] - warmth[a]
    gx = (tb * bx + tc * cx + td * dx) / det
    gy = (tb * by + tc * cy + td * dy) / det
    gz = (tb * bz + tc * cz + td * dz) / det
    k = conductivity[e] * abs(det) / 6 / det
    fb = k * (gx * bx + gy * by + gz * bz)
    fc = k * (gx * cx + gy * cy + gz * cz)
    fd = k * (gx * dx + gy * dy + gz * dz)
    cuda.atomic.add(flow, a, -(fb + fc + fd))
    cuda.atomic.add(flow, b, fb)
    cuda.atomic.add(flow, c, fc)
    cuda.atomic.add(flow, d, fd)


@cuda.jit
def distinct_sketch(keys, registers):
    """Registers of a HyperLogLog, 2048 of them."""
    own = cuda.shared.array(2048, int32)
    for k in range(cuda.threadIdx.x, 2048, cuda.blockDim.x):
        own[k] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < keys.size:
        h = mixed_bits(uint64(keys[i]))
        rank = cuda.clz(h << uint64(11)) + 1
        cuda.atomic.max(own, int64(h >> uint64(53)), min(rank, 54))
        i += cuda.gridsize(1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, 2048, cuda.blockDim.x):
        if own[k] > 0:
            cuda.atomic.max(registers, k, own[k])


def starts_of(r: Random, n: int, low: int, high: int) -> np.ndarray:
    """Where each of n lists begins, and the last ends; of low to high - 1 elements each."""
    first = zeros(n + 1, dtype=I32)
    np.cumsum(r.wholes(high, n, I32, low), out=first[1:])
    return first


def near_or_far(r: Random, first: np.ndarray, n: int, reach: int) -> np.ndarray:
    """For each element of the lists one of n: most of them near the list's own number, a fifth anywhere."""
    own = np.repeat(np.arange(first.size - 1, dtype=I32), np.diff(first))
    count = own.size
    near = (own + r.wholes(reach, count, I32, -reach)) % n
    found: np.ndarray = np.where(r.reals(count) < 0.2, r.indices(n, count), near).astype(I32)
    return found


def communities(r: Random, n: int) -> Arguments:
    first = starts_of(r, n, 4, 29)
    own = np.arange(n, dtype=I32) // 50 * 50
    labels = np.where(r.reals(n) < 0.6, own, r.indices(n, n)).astype(I32)
    return first, near_or_far(r, first, n, 60), labels, zeros(n, dtype=I32), zeros(1, dtype=I32)


def two_sparse(r: Random, n: int) -> Arguments:
    a_first = starts_of(r, n, 2, 11)
    b_first = starts_of(r, n, 4, 29)
    return (
        a_first, near_or_far(r, a_first, n, 200), b_first, near_or_far(r, b_first, n, 200), zeros(n, dtype=I32),
    )  # fmt: skip


def slices(r: Random, n: int) -> Arguments:
    count = -(-n // 32)
    starts = zeros(count + 1, dtype=I64)
    widths = r.wholes(30, count, I64, 6)
    np.cumsum(widths * 32, out=starts[1:])
    size = int(starts[-1])
    own = np.repeat(np.arange(count, dtype=I32) * 32, widths * 32)
    columns = (own + r.wholes(3000, size, I32, -3000)) % n
    return starts, columns.astype(I32), r.reals(size, F64), r.reals(n, F64), zeros(n, dtype=F64), 1.5, 0.5


def sorted_codes(r: Random, n: int) -> Arguments:
    codes = np.sort(r.indices(1 << 30, n, U32))
    return codes, zeros(n - 1, dtype=I32), zeros(n - 1, dtype=I32), np.full(2 * n - 1, -1, I32)


def b_tree(r: Random, n: int) -> Arguments:
    leaves = r.ascending(2 * n, 1e15, I64)
    levels: list[np.ndarray] = []
    level = leaves
    while not levels or levels[0].size > FAN_OUT:
        padded = np.full(-(-level.size // FAN_OUT) * FAN_OUT, np.iinfo(I64).max, I64)
        padded[: level.size] = level
        levels.insert(0, padded)
        level = padded[::FAN_OUT]
    starts = np.cumsum([0] + [each.size for each in levels[:-1]]).astype(I64)
    wanted = leaves[r.indices(2 * n, n)] + (r.wholes(4, n, I64) == 0)
    return np.concatenate(levels), starts, r.wholes(1 << 30, 2 * n), wanted, zeros(n, dtype=I32), zeros(1, dtype=I32)


def scene(r: Random, n: int) -> Arguments:
    """Small triangles above the ground under a tree of boxes, in the order of a heap; four to a leaf."""
    leaves = 1 << 13
    middles = r.reals((4 * leaves, 3)) * np.array([1, 1, 0.5], F32) + np.array([0, 0, 0.05], F32)
    cells = (middles * 1024).astype(I64)
    codes = np.zeros(4 * leaves, I64)
    for bit in range(10):
        for axis in range(3):
            codes |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    middles = middles[np.argsort(codes, kind="stable")]
    triangles = (middles[:, None, :] + (r.reals((4 * leaves, 3, 3)) - F32(0.5)) * F32(0.012)).astype(F32)
    boxes = zeros(2 * leaves, 6)
    of_leaves = triangles.reshape(leaves, 12, 3)
    boxes[leaves:, :3] = of_leaves.min(axis=1)
    boxes[leaves:, 3:] = of_leaves.max(axis=1)
    width = leaves // 2
    while width:
        low, high = boxes[2 * width : 4 * width : 2], boxes[2 * width + 1 : 4 * width : 2]
        boxes[width : 2 * width, :3] = np.minimum(low[:, :3], high[:, :3])
        boxes[width : 2 * width, 3:] = np.maximum(low[:, 3:], high[:, 3:])
        width //= 2
    return boxes, triangles.reshape(-1, 9), np.array([0.40123, 0.60321, 1.5], F32), zeros(n, n)


def reads_of(r: Random, genome: np.ndarray, n: int, length: int) -> np.ndarray:
    """Pieces of a genome."""
    places = r.indices(genome.size - length, n)
    return genome[places[:, None] + np.arange(length, dtype=I32)]


def reads_and_table(r: Random, n: int) -> Arguments:
    genome = r.indices(4, 20 * n + 200, U8)
    reads = reads_of(r, genome, n, 80)
    reads[r.reals((n, 80)) < 0.003] = 4
    slots = 1 << math.ceil(math.log2(40 * n))
    return reads, np.full(slots, EMPTY, U64), zeros(slots, dtype=I32), zeros(1, dtype=I32)


def line_items(r: Random, n: int) -> Arguments:
    return (
        r.wholes(3, n, U8), r.wholes(2, n, U8), r.wholes(10_593, n, I32, 8036), r.wholes(51, n, I16, 1),
        r.reals(n, F64) * 100_000, r.reals(n) * F32(0.1), r.reals(n) * F32(0.08), 10471, zeros(6, 6, dtype=F64),
    )  # fmt: skip


def invoices(r: Random, n: int) -> Arguments:
    holidays = np.unique(r.wholes(11_000, 300, I32, 9000))
    return r.wholes(11_000, n, I32, 9000), r.wholes(31, n, I16), holidays, zeros(n, dtype=I32)


def texts_and_pattern(r: Random, n: int) -> Arguments:
    first = starts_of(r, n, 20, 60)
    letters = r.wholes(105, int(first[-1]), U8, 97)
    return letters, first, np.frombuffer(b"%abc_d%e%fa%", U8).copy(), zeros(-(-n // 32), dtype=U32)


def genome_index(r: Random, n: int) -> Arguments:
    """A genome's sorted suffixes as counts and bits for every 64 of them, and reads of it, some with an error."""
    size = 8 * n
    genome = r.indices(4, size, U8)
    keys = np.zeros(size + 32, U64)
    keys[:size] = genome
    for span in (1, 2, 4, 8, 16):
        keys[:size] = (keys[:size] << U64(2 * span)) | keys[span : size + span]
    order = np.concatenate(([size], np.argsort(keys[:size], kind="stable")))
    primary = int(np.argmin(order))
    last = genome[order - 1]
    last[primary] = 0
    blocks = (size + 1) // 64 + 1
    filled = np.full(blocks * 64, 255, U8)
    filled[: size + 1] = last
    padded = filled.reshape(blocks, 64)
    counts = zeros(blocks, 4, dtype=I32)
    for letter in range(4):
        counts[1:, letter] = np.cumsum((padded == letter).sum(axis=1))[:-1]
    low = np.packbits(padded & 1, axis=1, bitorder="little").view(U64).ravel()
    high = np.packbits((padded >> 1) & 1, axis=1, bitorder="little").view(U64).ravel()
    starts = (1 + np.concatenate(([0], np.cumsum(np.bincount(genome, minlength=4))[:3]))).astype(I32)
    reads = reads_of(r, genome, n, 32)
    wrong = r.reals(n) < 0.3
    reads[wrong, r.indices(32, n)[wrong]] ^= 1
    return reads, starts, counts, low, high, primary, size, zeros(n, dtype=I32), zeros(n, dtype=U8)


def patterns_and_texts(r: Random, n: int) -> Arguments:
    texts = r.wholes(4, (n, 100), U8)
    patterns = texts[:, 20:68].copy()
    changed = r.wholes(48, (n, 5), I32)
    np.put_along_axis(patterns, changed, r.wholes(4, (n, 5), U8), axis=1)
    return patterns, texts, zeros(n, dtype=I16), zeros(n, dtype=I16)


def bodies(r: Random, n: int) -> Arguments:
    """Turned boxes along a road, and pairs of near ones."""
    count = max(n // 4, 50)
    centres = r.reals((count, 3)) * F32(4)
    centres[:, 0] += np.arange(count, dtype=F32) % 100_000 * F32(0.1)
    turns = r.reals((count, 4), F64) - 0.5
    turns /= np.linalg.norm(turns, axis=1, keepdims=True) + 1e-9
    w, x, y, z = turns.T
    axes = np.empty((count, 3, 3), F32)
    axes[:, 0] = np.stack((1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)), axis=1)
    axes[:, 1] = np.stack((2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)), axis=1)
    axes[:, 2] = np.stack((2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)), axis=1)
    pairs = np.empty((n, 2), I32)
    pairs[:, 0] = r.indices(count, n)
    pairs[:, 1] = (pairs[:, 0] + r.wholes(20, n, I32, 1)) % count
    return centres, axes, r.reals((count, 3)) + F32(0.2), pairs, zeros(n, dtype=U8), zeros(1, dtype=I32)


def plasma(r: Random, n: int) -> Arguments:
    """Particles that lie nearly in the order of their cells."""
    side = 64 if n > 50_000 else 16
    z = r.ascending(n, side - 0.01, F32)
    places = (r.reals(n) * F32(side * 0.999) for _ in range(2))
    speeds = (r.reals(n) - F32(0.5) for _ in range(3))
    fields = (r.reals((side, side, side, 3)) - F32(0.5) for _ in range(2))
    return *places, z, *speeds, *fields, F32(-1.0), F32(0.1)


def photon_seeds(r: Random, n: int) -> Arguments:
    return (
        r.indices((1 << 32) - 1, n, U32) | U32(1), zeros(100, 100), zeros(100), F32(10.0), F32(1.0), F32(0.9),
    )  # fmt: skip


def boards(r: Random, n: int) -> Arguments:
    first, second = r.wholes(1 << 63, n, U64), r.wholes(1 << 63, n, U64)
    return first, second & ~first, zeros(n, dtype=U64), zeros(n, dtype=I32)


def ant_hill(r: Random, n: int) -> Arguments:
    side = math.ceil(math.sqrt(4 * n))
    return (
        r.indices(side, n), r.indices(side, n), r.wholes(8, n, I8), r.reals((side, side)), zeros(side, side),
        17, F32(0.05),
    )  # fmt: skip


def mesh(r: Random, n: int) -> Arguments:
    """Six tetrahedra in each cell of a shaken grid."""
    cells = math.ceil((n / 6) ** (1 / 3))
    side = cells + 1
    places = np.stack(np.meshgrid(*(np.arange(side, dtype=F64),) * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    nodes = places + (r.reals(places.shape, F64) - 0.5) * 0.3
    x, y, z = np.meshgrid(*(np.arange(cells, dtype=I32),) * 3, indexing="ij")
    origin = ((x * side + y) * side + z).ravel()
    steps = (side * side, side, 1)
    orders = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    ways = np.array([np.cumsum([0] + [steps[axis] for axis in order]) for order in orders], I32)
    corners = (origin[:, None, None] + ways[None]).reshape(-1, 4)[:n].astype(I32)
    count = nodes.shape[0]
    return nodes, np.ascontiguousarray(corners), r.reals(count, F64), r.reals(n, F64), zeros(count, dtype=F64)


IRREGULAR: tuple[Sized, ...] = (
    entry(most_common_neighbour_label, 256, elements, communities, 100_000, 1_500_000),
    entry(nonzeros_of_product_rows, 128, lambda n, arguments: 32 * n, two_sparse, 40_000, 1_000_000, small=100),
    entry(sliced_ell_product, 128, elements, slices, 150_000, 2_400_000),
    entry(tree_from_morton_codes, 256, elements, sorted_codes, 300_000, 4_000_000),
    entry(find_in_b_tree, 256, elements, b_tree, 200_000, 3_000_000),
    entry(shadows_on_ground, (8, 8), square, scene, 256, 1500, small=30),
    entry(count_kmers, 128, elements, reads_and_table, 10_000, 300_000, small=300,
          seen=lambda reads, keys, counts, lost: (np.sort(keys), counts[np.argsort(keys, kind="stable")], lost)),
    entry(pricing_summary, 256, striding(256), line_items, 300_000, 5_000_000, small=2000),
    entry(due_dates, 256, elements, invoices, 300_000, 6_000_000),
    entry(rows_like, 128, elements, texts_and_pattern, 100_000, 3_000_000),
    entry(count_reads_in_index, 256, elements, genome_index, 50_000, 1_000_000),
    entry(approximate_finds, 128, elements, patterns_and_texts, 50_000, 2_000_000, small=500),
    entry(oriented_boxes_touch, 256, elements, bodies, 200_000, 4_000_000),
    entry(boris_push, 256, elements, plasma, 200_000, 4_000_000),
    entry(othello_moves, 256, elements, boards, 1_000_000, 24_000_000),
    entry(ants_follow_scent, 256, elements, ant_hill, 200_000, 6_000_000),
    entry(heat_through_tetrahedra, 128, elements, mesh, 200_000, 4_000_000),
    entry(distinct_sketch, 256, striding(256),
          lambda r, n: (r.wholes(1 << 62, n, I64), zeros(2048, dtype=I32)), 2_000_000, 40_000_000, small=5000),
)  # fmt: skip
