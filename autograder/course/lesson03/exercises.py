"""Exercises of notebooks 03a_coalescing and 03b_turning_the_corner; the answers that students see stand there."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.course.answers import RULES, Inputs, Owners, not_of, nothing_right, parameters, written_alone
from autograder.course.replies import Reply, judge_array, judge_tuple, no_kernel, not_yet, right
from autograder.figures.sector_map import sectors_of
from autograder.figures.svg import plural
from autograder.records.accesses import Access

WHOLE = 5  # sectors that a warp's 32 neighbouring float32 take at most: 128 bytes, wherever they begin
WHOLE_BYTES = 2  # and that its 32 neighbouring bytes take


def sectors_by_hand(answer: Any) -> Reply:
    """Sectors for the 32 lanes of a warp at x[i + 5] and x[3 * i] of float32, and at x[i] of float64."""
    return judge_tuple(
        answer,
        (5, 12, 8),
        "Bytes 20 to 147, bytes 0 to 375 with gaps too small to skip a sector, and bytes 0 to 255.",
        {
            (4, 12, 8): "The second and third are right. The first is as long as x[i], but where does it begin?",
            (9, 12, 8): "The second and third are right. Moving by 5 elements does not add 5 sectors.",
            (5, 3, 8): "The first and third are right. 32 lanes, 12 bytes apart: how far from the first to the last?",
            (5, 32, 8): "The first and third are right. Some lanes do share a sector: 12 bytes are less than 32.",
            (5, 11, 8): "The first and third are right. Lane 31 is at byte 372: which sector is that, counting from 0?",
            (5, 12, 4): "The first two are right. A float64 takes 8 bytes.",
            (5, 12, 16): "The first two are right. 32 lanes of 8 bytes are 256 bytes.",
            (2, 3, 2): "Those are lines of 128 bytes. A sector has 32.",
        },
        hint="Which bytes do lanes 0 and 31 load? Divide their numbers by 32, and see whether a gap skips a sector.",
    )


# bytes and blocks of 64 threads: exactly one block; a warp that is cut off and one too many; enough to lie far apart
BYTES = ((64, 1), (200, 4), (4000, 64))


def table_of_bytes(kernel: Any) -> Reply:
    """A kernel of (x, box, out) that sets every out[i] to box[x[i]]: bytes, a table of 256 of them, blocks of 64."""
    if (wrong := not_of(kernel, ("x", "box", "out"))) is not None:
        return wrong
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    rng = np.random.default_rng(197)
    box = rng.permutation(256).astype(np.uint8)
    for size, blocks in BYTES:
        x, out = rng.integers(0, 256, size).astype(np.uint8), np.zeros(size, np.uint8)
        inputs = Inputs(x=x, box=box)
        p = profile(kernel, trace=True, trace_limit=4 * size)[blocks, 64](x, box, out)
        launched = f"{plural(blocks, 'block')} of 64 threads; x has {size:,} bytes."
        owners = Owners(64, out.shape) if size == 64 * blocks else None  # one byte for each thread
        if (wrong := nothing_right(p, not out.any(), "out", launched, owners=owners, inputs=inputs)) is not None:
            return wrong
        if (differ := np.flatnonzero(out != box[x])).size:
            return not_yet(f"{launched} {_not_looked_up(x, box, out, differ)}")
    if (wrong := written_alone(kernel, blocks, 64, (x, box, out), launched)) is not None:
        return wrong
    source, table, _ = names = parameters(kernel)
    if (apart := _lanes_apart(p, (source, names[-1]), WHOLE_BYTES, "bytes")) is not None:
        return not_yet(f"{launched} {apart}")
    alike = profile(kernel, trace=True, trace_limit=4 * size)[blocks, 64](np.full_like(x, x[0]), box, out)
    most, one = (max((len(sectors_of(each)) for each in _loads(run, table)), default=0) for run in (p, alike))
    if p.counters.shared_load_requests and 0 < most <= WHOLE_BYTES:
        counted = "Your warps fetch the table side by side, and look up in shared memory. "
        return right(counted + "From the table itself a warp could never want more than 8: it has only 256 bytes.")
    counted = f"With these bytes a warp wants up to {plural(most, 'sector')} of the table at once, with equal ones {one}. "
    return right((counted if most else "") + "More than 8 it can never be: the table has only 256 bytes.")


def _not_looked_up(x: np.ndarray, box: np.ndarray, out: np.ndarray, differ: np.ndarray) -> str:
    """What is wrong with bytes of which some differ from box[x]."""
    if np.array_equal(out, box[: out.size]):
        return "Thread i took entry i of the table. Which entry does the byte x[i] ask for?"
    if np.array_equal(out, x):
        return "out is a copy of x. Look each byte up in the table."
    at = differ[0]
    return f"{differ.size} of {out.size} bytes differ; the first: out[{at}] should be {box[x[at]]} and is {out[at]}."


def _loads(run: Any, array: str) -> list[Access]:
    """The load requests to an array, as they were recorded."""
    return [each for each in run.trace("") if (each.kind, each.array) == ("load", array)]


def _stores(run: Any, array: str) -> list[Access]:
    """The store requests to an array, as they were recorded."""
    return [each for each in run.trace("") if (each.kind, each.array) == ("store", array)]


FEW = ((100, 1, 32), (1000, 2, 64), (4111, 3, 96))  # numbers, blocks, threads of a block: no block divides its numbers


def few_threads(kernel: Any) -> Reply:
    """A kernel of (x, out) that squares every number of x with far fewer threads than numbers, side by side."""
    if (wrong := not_of(kernel, ("x", "out"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(9)
    for size, blocks, block in FEW:
        x, out = rng.random(size, dtype=np.float32) + np.float32(1), np.zeros(size, np.float32)
        inputs = Inputs(x=x)
        p = profile(kernel, trace=True, trace_limit=4 * size)[blocks, block](x, out)
        launched = f"{plural(blocks, 'block')} of {block} threads; x has {size:,} numbers."
        if (wrong := nothing_right(p, not out.any(), "out", launched, inputs=inputs)) is not None:
            return wrong
        left = np.flatnonzero(out == 0)
        if left.size and np.allclose(out[out != 0], (x * x)[out != 0]):
            first = f"{left.size:,} of the {size:,} were left out; the first is out[{left[0]}]."
            return not_yet(f"{launched} {first} How does a thread go on until the numbers run out?")
        reply = judge_array(out, x * x, "", "out")
        if reply.outcome != "right":
            return not_yet(f"{launched} {reply.words}")
    return _side_by_side(p, parameters(kernel), launched, blocks * block)


def _side_by_side(p: Any, names: tuple[str, ...], launched: str, threads: int) -> Reply:
    """Judges a right launch by who took what: all threads at work, and the lanes of a warp at neighbours."""
    stores = _stores(p, names[-1])
    busy = {(each.block, each.warp, lane) for each in stores for lane in np.flatnonzero(each.addresses >= 0)}
    if len(busy) < threads / 2:
        return not_yet(f"{launched} out is right, but {len(busy)} of the {threads} threads did it alone.")
    if (apart := _lanes_apart(p, names, WHOLE, "numbers")) is not None:
        return not_yet(f"{launched} {apart}")
    loads, requests = p.counters.global_load_sectors, p.counters.global_load_requests
    return right(f"{loads / requests:.1f} sectors a load request: in each round the lanes of a warp stand side by side.")


def _lanes_apart(p: Any, names: tuple[str, ...], whole: int, things: str) -> str | None:
    """What is wrong if loads of the first array or stores to the last take more than `whole` sectors on average."""
    for accesses in (_loads(p, names[0]), _stores(p, names[-1])):
        sectors = sum(len(sectors_of(each)) for each in accesses) / max(1, len(accesses))
        if sectors > whole:
            verb, array = accesses[0].kind, accesses[0].array
            said = f"out is right, but a {verb} request takes {sectors:.0f} sectors."
            apart = _of_two_lanes(next(each for each in accesses if len(sectors_of(each)) > whole), array)
            return f"{said} {apart} Which {things} should neighbours take?"
    return None


def _of_two_lanes(access: Access, array: str) -> str:
    """Which elements the first two lanes at work take in an access."""
    one, other = np.flatnonzero(access.addresses >= 0)[:2]
    first, second = (int(access.addresses[lane]) // access.itemsize for lane in (one, other))
    return f"In one of them lane {one} takes {array}[{first}] and lane {other} {array}[{second}]."


def transposed_a(answer: Any) -> Reply:
    """Sectors of the loads a[k, row] and b[k, column] in a warp with x along the rows: (a, b)"""
    return judge_tuple(
        answer,
        (4, 1),
        "threadIdx.x now stands in the last index of a, with nothing multiplied to it, and not at all in b.",
        {
            (32, 1): "That is a[row, k]. Here row is the last index: are the lanes' elements still a row apart?",
            (1, 4): "That is x along the columns. Here neighbours in x have neighbouring rows of C.",
            (4, 4): "The first is right. All lanes have the same column, so which elements of b do they load?",
            (4, 32): "The first is right. All lanes have the same column, so which elements of b do they load?",
            (1, 1): "The second is right. The 32 lanes have 32 different rows.",
        },
        hint="Lanes 0 and 1 differ in row, and in nothing else. Which elements of a and of b do they load?",
    )


def around_the_corner(answer: Any) -> Reply:
    """What thread (3, 5) of block (2, 1) moves, tiles of 32: (row of x, column of x, row of out, column of out)"""
    return judge_tuple(
        answer,
        (37, 67, 69, 35),
        "The blocks change places, the threads do not: ty is the row and tx the column on both sides.",
        {
            (37, 67, 67, 37): "The load is right. The store would be right without the tile: this thread's own element,"
            " turned over. But then neighbours in x would store a column.",
            (67, 37, 69, 35): "The store is right. x counts columns: block (2, 1) begins at row 32 and column 64.",
            (67, 37, 37, 67): "x counts columns: block (2, 1) begins at row 32 and column 64.",
            (37, 67, 37, 67): "The load is right. The store goes to the block on the other side of the diagonal.",
            (37, 67, 35, 69): "The load is right. In the store, first_column belongs to the row.",
            (5, 3, 69, 35): "The store is right. Which element of the whole matrix is it that the thread loads?",
        },
        hint="Write down tx, ty, first_row and first_column, and put them into the two lines of the kernel."
        " (3, 5) is (x, y): tx is 3.",
    )


def queues_at_a_bank(answer: Any) -> Reply:
    """Wavefronts to read a column of 32 elements from a tile with rows of 31, 34 and 48 elements."""
    return judge_tuple(
        answer,
        (1, 2, 16),
        "What counts is the greatest common divisor of the row's length and 32: an odd length never queues.",
        {
            (32, 2, 16): "The second and third are right. Bank 0, 31, 30, 29, ...: does one come twice?",
            (2, 2, 16): "The second and third are right. Bank 0, 31, 30, 29, ...: does one come twice?",
            (1, 1, 16): "The first and third are right. Steps of 34 are steps of 2 around the 32 banks.",
            (1, 16, 16): "The first and third are right. Steps of 2 around the 32 banks visit how many of them?",
            (1, 16, 2): "The number of banks that are visited is 16 and 2. How many lanes queue at each?",
            (1, 2, 2): "The first two are right. Steps of 48 are steps of 16: how many banks does that visit?",
            (32, 16, 2): "Those are the banks that are visited. How many lanes queue at each?",
            (1, 2, 1): "The first two are right. Steps of 48 are steps of 16 around the 32 banks.",
        },
        hint="Row r of the column lies in bank (r x length) % 32. How many of the 32 rows come to the same bank?",
    )


def row_sums(kernel: Any) -> Reply:
    """Make a kernel that sums rows through a tile load rows of x, 4 sectors a request, and queue at no bank."""
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    wrong = no_kernel(kernel)
    if wrong:
        return wrong
    x = np.random.default_rng(3).random((64, 96), dtype=np.float32)
    out, inputs = np.zeros(64, np.float32), Inputs(x=x)
    p = profile(kernel)[2, 32](x, out)
    broken = [each for each in p.hazards if each.kind in RULES]
    if broken:
        return not_yet(str(Owners(32, out.shape).advise(broken[0])))
    if (wrong := inputs.changed()) is not None:
        return wrong
    counted = p.counters
    loads = counted.global_load_sectors_per_request
    queued = counted.shared_load_bank_conflicts + counted.shared_store_bank_conflicts
    reply = judge_array(
        out, x.sum(axis=1, dtype=np.float64), "4 sectors a request, no bank conflict, right sums.", "out"
    )
    if reply.outcome != "right" and counted.shared_store_requests and _cuts_off_fractions(kernel, x):
        return not_yet(f"{reply.words} The tile holds integers: what comes after the point is lost.")
    if reply.outcome != "right" and loads <= 4 and counted.shared_store_requests:
        return not_yet(f"{reply.words} Each number has to be in the tile where the line with total looks for it.")
    if reply.outcome != "right":
        return reply
    if not counted.shared_load_requests:
        return not_yet("The sums are right, but they do not go through the tile any more.")
    told = f"The sums are right. Sectors a load request: {loads:g}; bank conflicts: {queued:,}."
    if loads > 4 and queued:
        return Reply("your turn", f"{told} Make it 4 and 0.")
    if loads > 4:
        return not_yet(f"{told} The tile is fine. Which lanes should load neighbours from x?")
    if queued:
        stores, reads = counted.shared_store_bank_conflicts, counted.shared_load_bank_conflicts
        verb = " and ".join(word for word, conflicts in (("write", stores), ("read", reads)) if conflicts)
        down = f"The lanes {verb} the tile down a column. Make its rows begin in different banks."
        return not_yet(f"{told} The loads are coalesced. {down}")
    return reply


def _cuts_off_fractions(kernel: Any, x: np.ndarray) -> bool:
    """Whether numbers of several digits before the point are summed without those after it."""
    from autograder import profile

    large, out = x * np.float32(100), np.zeros(len(x), np.float32)
    profile(kernel)[2, 32](large, out)
    return bool(np.array_equal(out, np.trunc(large).sum(axis=1)))


PHOTOS = ((64, 96), (160, 32))  # rows and columns


def turned_upright(kernel: Any) -> Reply:
    """A kernel of (x, out) that turns a picture clockwise through a tile, a block of 32 x 32 threads for each tile."""
    if (wrong := not_of(kernel, ("x", "out"))) is not None:
        return wrong
    from autograder import profile

    rng = np.random.default_rng(90)
    for rows, columns in PHOTOS:
        x, out = rng.random((rows, columns), dtype=np.float32) + np.float32(1), np.zeros((columns, rows), np.float32)
        inputs = Inputs(x=x)
        p = profile(kernel)[(columns // 32, rows // 32), (32, 32)](x, out)
        launched = f"x is {rows} x {columns}; {columns // 32} x {rows // 32} blocks of 32 x 32 threads."
        owners = Owners((32, 32), x.shape)
        if (wrong := nothing_right(p, not out.any(), "out", launched, owners=owners, inputs=inputs)) is not None:
            return wrong
        for mistake, words in (
            (x.T, "That is the transpose, a mirror image. Row 0 of x becomes the last column of out."),
            (np.rot90(x), "The picture was turned anticlockwise. Row 0 of x becomes the last column of out."),
            (x[::-1, ::-1].T, "Row 0 of x is the last column of out, as it should be, but from bottom to top."),
            (_placed(x), "Each tile has got to its place, but is not turned itself: where is tx when the tile is read?"),
        ):
            if np.array_equal(out, mistake):
                return not_yet(f"{launched} {words}")
        reply = judge_array(out, np.rot90(x, -1), "", "out")
        if reply.outcome != "right" and not out.all():
            return not_yet(f"{launched} {_left_out(out)} The grid covers x; out is {columns} x {rows}.")
        if reply.outcome != "right":
            return not_yet(f"{launched} {reply.words}")
    return _corner_is_turned(p.counters)


def _placed(x: np.ndarray) -> np.ndarray:
    """A picture whose tiles of 32 x 32 are where turning clockwise takes them, each with its rows as they were, mirrored."""
    rows, columns = x.shape
    tiles = x.reshape(rows // 32, 32, columns // 32, 32)[::-1, :, :, ::-1]
    return tiles.transpose(2, 1, 0, 3).reshape(columns, rows)


def _left_out(out: np.ndarray) -> str:
    """How many elements of a picture above zero were not written, and the first of them."""
    row, column = np.argwhere(out == 0)[0]
    return f"{int((out == 0).sum()):,} of {out.size:,} elements were not written; the first is out[{row}, {column}]."


def _corner_is_turned(c: Any) -> Reply:
    """Judges a picture that was turned rightly by the sectors of its requests and the queues at its tile."""
    loads, stores = c.global_load_sectors_per_request, c.global_store_sectors_per_request
    told = f"out is right. Sectors: {loads:g} a load request, {stores:g} a store request"
    if max(loads, stores) > WHOLE - 1:  # a row of a tile begins where a sector begins
        one = "loads" if loads > stores else "stores"
        through = "Let a tile turn the corner." if not c.shared_load_requests else "Which index of that line holds tx?"
        return not_yet(f"{told}. The {one} go down the columns. {through}")
    queued = c.shared_load_bank_conflicts + c.shared_store_bank_conflicts
    if queued:
        asked = "In which bank does each row of the tile begin? Make all 32 differ."
        return not_yet(f"{told}. Bank conflicts: {queued:,}. {asked}")
    return right(f"{loads:g} sectors a load request, {stores:g} a store request, no bank conflict.")
