"""Lab 3, transpose and layout: START HERE to see what is asked for. Thresholds first, then the checks by part.

A transpose moves numbers and computes nothing, so every element must come out exactly. Whatever depends on the order of
threads is judged on the simulated GPU, also where there is a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from autograder.grading import Attempt, CheckFailed, Lab, Required, check
from autograder.grading.attempt import Place, Trial
from autograder.grading.closeness import default_tolerance
from autograder.grading.conflicts import bank_conflicts, shared_requests
from autograder.grading.products import expect_none
from autograder.records.counters import Counters, LineProfile
from autograder.records.runs import Run, RunRequest, Uninitialised
from autograder.records.transfers import HOST_WORK

# Bytes moved (32 a sector) over the bytes of the matrix: 1 where every sector that is fetched or stored is used whole, 8
# where a warp goes down a column of float32, 2 where tiles are only four elements wide.
MOVED_OVER_NEEDED = 1.25
LEAST_MOVED = 0.99  # of the bytes of the matrix: each element has to be loaded once and stored once, by whatever kernel

# A request of float32 to shared memory takes one wavefront if its lanes find their elements in different banks. A tile
# of 32 x 32 read down its columns takes 32: for 128 x 128 elements an H200 counts 16,384 wavefronts in 512 requests, and
# 512 with rows of 33 (autograder/simgpu/measurements/h200_counters.json). A padded tile of 16 x 17 takes 2, for a warp
# holds two of its rows. Where a warp has a row of the tile to itself no lane needs to wait, as half of them do with 34.
CONFLICTS_PER_SHARED_REQUEST = 1.0
CONFLICTS_WITH_A_ROW_A_WARP = 0.5  # of the loads, or of the stores, whichever meet more
BYTES_WITH_A_ROW_A_WARP = 32 * 32 * 4  # of shared memory: the least of a tile whose rows and columns are as long as a warp

# The baseline stores down the columns. On one H200, at 2,048 rows and columns, right answers were 2.2 to 3.9 times as fast
# (predicted: 2.3 to 3.7) and a copy 4.5 times; tiles of 8 were 1.6 times as fast (predicted: 1.4). Four elements a thread
# with loops of constant length are what comes next to the copy. Loading down the columns instead, which is easier on a GPU
# since L1 keeps the sectors, was 3.0 times as fast without any tile: counted sectors tell it from a tile, time does not.
# The baseline itself is 2.1 times as fast in blocks of 16 x 16 threads (predicted: 1.8), which is not asked for.
SPEEDUP = 2.1
NO_POINTS_AT = 1.65
SPEED_SIDES = (1984, 2112, 32)  # rows, and columns: multiples of 32, see perfmodel's README; which ones is up to the seed
BEST_KNOWN = 3.9  # the ratio of the best known answer, here and below
SPEED_BLOCKS_SIMULATED = 32
FALL_BLOCKS_SIMULATED = 8  # of each of many launches

# A step needs two float32 of each point and changes both: 16 bytes. Moved by structures of eight float32 it is 128, a
# sector for each access. An access too many (the speed read again after it was stored) is 4 bytes more.
STEP_BYTES = 16
STEP_MOVED_OVER_NEEDED = 1.5

# To take structures apart and put them together again, all 32 bytes of each point are read and written, twice. Fetching
# the two fields alone takes no fewer sectors, for a point is a sector.
LAYOUT_BYTES = 128
LAYOUT_MOVED_OVER_NEEDED = 1.25
LEAST_LAYOUT_BYTES = 64  # each point's sector has to be read once and written once, by whatever kernel

# What is gained in each step has to pay for two changes of layout. On that H200, where the points stay in L2, 100 steps
# with right answers were 1.5 to 2.3 times as fast as on structures (predicted: 1.8 to 2.6, since the model takes the
# baseline to be 1.3 times as slow as it is). Tiles of 64 change the layout slowest: along rows of 8, 56 of 64 threads idle.
FALL_SPEEDUP = 1.3
FALL_NO_POINTS_AT = 1.0
LEAST_DONE = 0.9  # of the steps, judged by what sampled blocks load and store
# Whole blocks: where the last one is short, a sample shows no rule, and carrying out all of them takes seconds.
FALL_POINTS = (2**19 - 2**15, 2**19 + 2**15, 2**10)
FALL_STEPS = (95, 105)
FALL_BEST_KNOWN = 2.6
STEPS_FOLLOWED = 3  # of them, where the simulated GPU cannot follow what all of them read

WORK_LIMIT = 20_000_000  # units of simulated work in one run, many times what a right answer needs
SPEED_WORK_LIMIT = 100_000_000

WHOLE = ((64, 64), (128, 128))  # rows, columns: whole tiles of 8, 16, 32 and 64
RAGGED = ((75, 41), (37, 106))  # no tile divides them; one tall, one wide
TINY = ((1, 1), (1, 9), (7, 1), (3, 2))
LARGE = ((1090, 33), (34, 1100))  # more rows, or columns, than a block has threads
COUNTED = (96, 192, 32)  # rows and columns: they start on sectors, so that counts are those of the pattern alone
OUTSIDE = ("out_of_bounds", "negative_index")

FIELDS, HEIGHT, SPEED = 8, 2, 5
GRAVITY = 9.81
# Points, steps. 3,072 fill whole blocks of any usual size, and for one point more it takes another block: a grid that was
# counted for other blocks than are launched leaves some out here or there.
MOST_THE_SAME = 0.01  # of points whose height or speed is the same by chance if a step is left out
FALLS = ((300, 2), (1000, 5), (1, 1), (5000, 1), (3072, 2), (3073, 1))
STEP_MICROSECONDS = (8_000, 12_000)
MANY_POINTS = 19 * 2**15  # more than are timed: a grid of as many threads leaves a sixth of these out
COUNTED_POINTS = (1920, 2176, 32)
IN_PLACE_COUNTED = (224, 288, 32)  # large, so that few tiles lie on the diagonal
IN_PLACE_SIDES = (70, 33, 1)
LEAST_MOVED_IN_PLACE = 0.9  # of what is needed: kernels have to move it, and only the diagonal may stay

# Requests of host code that move numbers, which is the kernels' work here.
COPIES = (
    "copy_to_host", "copy_to_device", "to_device", "an element", "an assignment", "a NumPy array as an argument", HOST_WORK
)  # fmt: skip
MOVES = (*COPIES, "an assignment on the device")  # a whole transpose in one line, and no kernel of the author's


def transposing(attempt: Attempt, rows: int, columns: int, *, real: bool = True) -> RunRequest:
    """A call of the submission's `transpose` on a (rows, columns) matrix of real or whole numbers, and an unwritten
    result."""
    shape = (rows, columns)
    a = attempt.uniform(shape, low=1, high=60_000) if real else attempt.integers(1, 60_000, shape, np.float32)
    arguments = {"a": a, "b": Uninitialised((columns, rows), np.float32)}
    return RunRequest("transpose", arguments, work_limit=WORK_LIMIT)


def transposed(attempt: Attempt, rows: int, columns: int, *, on: Place = "simulated", may_fault: bool = False) -> Trial:
    """A transpose of this shape, run once for all checks that look at it: of whole numbers, large ones of real numbers."""
    shape = (rows, columns)
    real = shape in LARGE
    return attempt.once(f"transpose {shape}", lambda by: transposing(by, *shape, real=real), on=on, may_fault=may_fault)


def expect_transposed(attempt: Attempt, request: RunRequest, b: np.ndarray) -> None:
    attempt.expect_close(b, request.arguments["a"].T.astype(np.float64), "b", tolerance=0.0)


def right_transpose(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
    """What a transpose is held to where it is counted or timed."""
    if attempt.known_of(outputs["b"]) is not None or not np.array_equal(outputs["b"], request.arguments["a"].T):
        expect_transposed(attempt, request, outputs["b"])  # slower, and says which is wrong


def right_in_place(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
    """The same of one in place."""
    attempt.expect_close(outputs["a"], request.arguments["a"].T.astype(np.float64), "a", tolerance=0.0)


def expect_kernels_at_work(run: Run, shape: tuple[int, ...], name: str, others: Sequence[str] = MOVES) -> None:
    """Fails the check where the numbers came to their places without a kernel, or by one of the `others`."""
    for each in run.transfers:
        if each.what in others:
            raise CheckFailed(
                f"{each.line}: {each.what}, {each.size_bytes:,} bytes. The numbers are on the device, and kernels move them."
            )
    if not run.launches:
        size = " x ".join(map(str, shape))
        raise CheckFailed(
            f"All of {name} is right for {size}, and no kernel was launched: moving the numbers is its work."
        )


def falling(attempt: Attempt, points: int, steps: int) -> RunRequest:
    """A call of the submission's `fall` on so many points with random fields; `dt` is a Python float, up to the seed."""
    arguments = {
        "points": attempt.uniform((points, FIELDS), low=-10.0, high=10.0),
        "scratch": Uninitialised((FIELDS, points), np.float32),
        "dt": attempt.drawn(*STEP_MICROSECONDS) / 1e6,
        "steps": steps,
    }
    return RunRequest("fall", arguments, work_limit=WORK_LIMIT, scratch=("scratch",))


def fields_fallen(request: RunRequest) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Of each field that a fall changes, where it is afterwards in float64 and the size of what was added up for it."""
    points, dt, steps = (request.arguments[name] for name in ("points", "dt", "steps"))
    heights, speeds = (points[:, field].astype(np.float64) for field in (HEIGHT, SPEED))
    most_speed = np.abs(speeds) + steps * GRAVITY * dt
    return {
        SPEED: (speeds - steps * GRAVITY * dt, most_speed),
        HEIGHT: (
            heights + steps * speeds * dt - GRAVITY * dt**2 * steps * (steps + 1) / 2,
            np.abs(heights) + steps * dt * most_speed,
        ),
    }


def fallen(request: RunRequest) -> tuple[np.ndarray, np.ndarray]:
    """Where the points are afterwards in float64, and the size of what was added up for each field (0: unchanged)."""
    points = request.arguments["points"]
    moved, magnitude = points.astype(np.float64), np.zeros(points.shape)
    for field, (values, size) in fields_fallen(request).items():
        moved[:, field], magnitude[:, field] = values, size
    return moved, magnitude


def expect_fallen(attempt: Attempt, request: RunRequest, points: np.ndarray) -> None:
    moved, magnitude = fallen(request)
    attempt.expect_close(points, moved, "points", magnitude=magnitude, terms=4 * request.arguments["steps"])


def right_fall(attempt: Attempt, request: RunRequest, outputs: Mapping[str, np.ndarray]) -> None:
    """What points are held to where their fall is counted or timed: all that changes, and all that does not."""
    points, after = request.arguments["points"], outputs["points"]
    most = default_tolerance(np.dtype(np.float32), 4 * request.arguments["steps"])
    is_right, changed = after == points, fields_fallen(request)
    for field, (values, size) in changed.items():
        is_right[:, field] = np.abs(after[:, field] - values) <= most * size
    if not is_right.all():  # slower, and says which is wrong
        expect_fallen(attempt, request, after)


def profiled_transpose(rng: np.random.Generator) -> RunRequest:
    """The transpose whose counted work the report shows by source line."""
    a = rng.uniform(-1, 1, (64, 64)).astype(np.float32)
    return RunRequest("transpose", {"a": a, "b": Uninitialised((64, 64), np.float32)}, work_limit=WORK_LIMIT)


LAB = Lab(
    title="Transpose and layout: every sector used whole",
    lesson="03b_turning_the_corner",
    hours=4,
    required=(
        Required("transpose_kernel", "kernel"),
        Required("transpose", "host", ("a", "b")),
        Required("fall_kernel", "kernel"),
        Required("fall", "host", ("points", "scratch", "dt", "steps")),
    ),
    results={"transpose": right_transpose, "fall": right_fall, "transpose_in_place": right_in_place},
    baseline="baseline.py",
    profile=profiled_transpose,
)


# ---- part 1: whole tiles ---------------------------------------------------------------------------------------------


@check(points=2)
def right_on_whole_tiles(attempt: Attempt) -> None:
    """Whole tiles: square matrices that the tiles divide are transposed."""
    for shape in WHOLE:
        trial = transposed(attempt, *shape)
        expect_transposed(attempt, trial.request, trial.run.outputs["b"])
        expect_kernels_at_work(trial.run, shape, "B")


@check(points=2, after=("right_on_whole_tiles",))
def waits_for_its_tile(attempt: Attempt) -> None:
    """Whole tiles: no thread reads from a tile what others may not have stored there yet."""
    run = transposed(attempt, *WHOLE[-1], may_fault=True).run
    expect_none(h for h in run.hazards if h.kind == "race" and h.severity == "error")


# ---- part 2: any size ------------------------------------------------------------------------------------------------


@check(points=2, after=("waits_for_its_tile",))
def stays_inside_its_arrays(attempt: Attempt) -> None:
    """Any size: no thread reads or writes outside an array, in a tall matrix or in a wide one."""
    for shape in RAGGED:
        run = transposed(attempt, *shape, may_fault=True).run
        expect_none(h for h in run.hazards if h.kind in OUTSIDE)


@check(points=1, after=("waits_for_its_tile",))
def brings_every_thread_to_its_barrier(attempt: Attempt) -> None:
    """Any size: where one thread of a block waits at a barrier, all that have not returned come there too."""
    for shape in RAGGED:
        run = transposed(attempt, *shape, may_fault=True).run
        expect_none(h for h in run.hazards if h.kind == "divergent_barrier")


@check(points=3, after=("stays_inside_its_arrays", "brings_every_thread_to_its_barrier"))
def right_on_any_size(attempt: Attempt) -> None:
    """Any size: every element arrives, down to a matrix of one element; only B is written."""
    for shape in (*RAGGED, *TINY, *LARGE):
        trial = transposed(attempt, *shape, on="device")
        expect_transposed(attempt, trial.request, trial.run.outputs["b"])
        expect_kernels_at_work(trial.run, shape, "B")
        attempt.expect_inputs_unchanged(trial.run)


# ---- part 3: counted work --------------------------------------------------------------------------------------------


def counted(attempt: Attempt) -> Run:
    """A transpose whose work is looked at, carried out once for all checks that do."""

    def make(by: Attempt) -> RunRequest:
        side = by.drawn(*COUNTED)
        return transposing(by, side, side)

    run = attempt.counted(attempt.once("counted transpose", make))
    expect_kernels_at_work(run, run.outputs["b"].shape, "B")
    return run


def elements(run: Run) -> int:
    """Of the matrix that was transposed."""
    return run.outputs["b"].size


def worst_line(run: Run, count: Callable[[Counters], int]) -> LineProfile:
    """The source line with most of what `count` reads."""
    return max(run.lines, key=lambda line: count(line.counters))


def mostly(worst: LineProfile) -> str:
    """The end of a message about a line's work."""
    return f"Mostly here: {worst.line}: `{worst.text.strip()}`"


def expect_whole_sectors(attempt: Attempt, run: Run, kind: str, sectors: int, each: float, worst: LineProfile) -> str:
    """Fails the check where loads or stores (`kind`) move much more than the matrix has; else the line to show."""
    moved = 32 * sectors / (4 * elements(run))
    attempt.record(**{f"{kind}_bytes_moved_over_needed": moved, "limit": MOVED_OVER_NEEDED})
    line = f"{each:.3g} sectors a {kind} request, {moved:.3g} times the bytes that the matrix has"
    if moved > MOVED_OVER_NEEDED:
        problem = f"{line}; at most {MOVED_OVER_NEEDED:g} times asked for. {mostly(worst)}"
        raise CheckFailed(problem, line=worst.line)
    if moved < LEAST_MOVED:
        raise CheckFailed(f"{line}. So few cannot be all: each element takes a load and a store, and an atomic is neither.")
    return f"{line}."


@check(points=1, after=("waits_for_its_tile",))
def loads_whole_sectors(attempt: Attempt) -> str:
    """Counted work: the loads go along the rows of A, and move each byte of it once."""
    run = counted(attempt)
    worst = worst_line(run, lambda counters: counters.global_load_sectors)
    sectors, each = run.counters.global_load_sectors, run.counters.global_load_sectors_per_request
    return expect_whole_sectors(attempt, run, "load", sectors, each, worst)


@check(points=2, after=("waits_for_its_tile",))
def stores_whole_sectors(attempt: Attempt) -> str:
    """Counted work: the stores go along the rows of B as well, and move each byte of it once."""
    run = counted(attempt)
    worst = worst_line(run, lambda counters: counters.global_store_sectors)
    sectors, each = run.counters.global_store_sectors, run.counters.global_store_sectors_per_request
    return expect_whole_sectors(attempt, run, "store", sectors, each, worst)


@check(points=2, after=("waits_for_its_tile",))
def meets_no_bank_conflicts(attempt: Attempt) -> str:
    """Counted work: the lanes of a warp find their elements of the tile in different banks."""
    run = counted(attempt)
    counters = run.counters
    requests = min(shared_requests(counters), 2 * elements(run) // 32)  # who asks more often waits no less
    each = bank_conflicts(counters) / max(1, requests)
    attempt.record(conflicts_per_shared_request=each, limit=CONFLICTS_PER_SHARED_REQUEST)
    if each > CONFLICTS_PER_SHARED_REQUEST:
        worst = worst_line(run, lambda c: c.shared_load_bank_conflicts + c.shared_store_bank_conflicts)
        raise CheckFailed(
            f"{each:.3g} bank conflicts a shared request, at most {CONFLICTS_PER_SHARED_REQUEST:g} asked for. "
            f"{mostly(worst)}",
            line=worst.line,
        )
    worst_side = worst_conflicts(run)
    if a_row_a_warp(run) and worst_side > CONFLICTS_WITH_A_ROW_A_WARP:
        worst = worst_line(run, lambda c: c.shared_load_bank_conflicts + c.shared_store_bank_conflicts)
        raise CheckFailed(
            f"{worst_side:.3g} bank conflicts a request where the tile is {conflicting_side(run)}; with rows as long "
            f"as a warp none is needed, and at most {CONFLICTS_WITH_A_ROW_A_WARP:g} are asked for. {mostly(worst)}",
            line=worst.line,
        )
    return f"{each:.3g} bank conflicts a shared request."


def conflicts_a_request(run: Run) -> tuple[float, float]:
    """Bank conflicts for each request that loads from shared memory, and for each that stores there.

    By no more requests of each kind than it takes to move each element once.
    """
    counters, most = run.counters, elements(run) // 32
    loads = counters.shared_load_bank_conflicts / max(1, min(counters.shared_load_requests, most))
    return loads, counters.shared_store_bank_conflicts / max(1, min(counters.shared_store_requests, most))


def worst_conflicts(run: Run) -> float:
    return max(conflicts_a_request(run))


def conflicting_side(run: Run) -> str:
    loads, stores = conflicts_a_request(run)
    return "read" if loads >= stores else "filled"


def a_row_a_warp(run: Run) -> bool:
    """Whether blocks are wide enough, and tiles large enough, for each warp to fill a row of a tile and to read one.

    The launch with the tiles tells: others may be of any form, and blocks without work make no tile smaller.
    """
    launch = max(run.launches, key=lambda each: shared_requests(each.counters))
    return launch.block[0] >= 32 and launch.shared_bytes >= BYTES_WITH_A_ROW_A_WARP


@check(points=1, after=("waits_for_its_tile",))
def keeps_to_float32(attempt: Attempt) -> None:
    """Counted work: tiles hold float32, and nothing is turned into float64 on its way."""
    run = counted(attempt)
    counters = run.counters
    requests = counters.shared_load_requests + counters.shared_store_requests
    conflicts = counters.shared_load_bank_conflicts + counters.shared_store_bank_conflicts
    wavefronts = counters.shared_load_wavefronts + counters.shared_store_wavefronts - conflicts
    attempt.record(float64_operations=counters.float64_operations, wavefronts_without_conflicts=wavefronts)
    if counters.float64_operations:
        worst = worst_line(run, lambda each: each.float64_operations)
        raise CheckFailed(f"{counters.float64_operations:,} operations in float64. {mostly(worst)}", line=worst.line)
    if wavefronts > requests:
        raise CheckFailed(
            f"{requests:,} shared requests take {wavefronts:,} wavefronts without any bank conflict: "
            "the tile's elements are wider than the 4 bytes of a float32."
        )


# ---- part 4: speed ---------------------------------------------------------------------------------------------------


@check(
    points=3, after=("right_on_any_size", "loads_whole_sectors", "stores_whole_sectors", "meets_no_bank_conflicts",
                     "keeps_to_float32"),
)  # fmt: skip
def faster_than_the_first_transpose(attempt: Attempt) -> str:
    """Speed: it is clearly faster than a transpose that stores down the columns."""
    shape = attempt.drawn(*SPEED_SIDES), attempt.drawn(*SPEED_SIDES)
    sample = attempt.sample(SPEED_BLOCKS_SIMULATED)
    return attempt.speedup(
        lambda: replace(transposing(attempt, *shape), work_limit=SPEED_WORK_LIMIT, **sample),
        threshold=SPEEDUP, no_points_at=NO_POINTS_AT, best_known=BEST_KNOWN, forbidden=MOVES, element_by_element=True,
    )  # fmt: skip


# ---- part 5: layout --------------------------------------------------------------------------------------------------


@check(points=2, after=("right_on_any_size",))
def lets_every_point_fall(attempt: Attempt) -> None:
    """Layout: all points come to where they should be, one launch a step; other fields stay."""
    for points, steps in FALLS:
        request = falling(attempt, points, steps)
        run = simulated = attempt.simulate(request, may_fault=True)
        attempt.expect_no_hazards(run)
        if attempt.source == "measured":
            run = attempt.run(request)
        expect_fallen(attempt, request, run.outputs["points"])
        expect_kernels_at_work(run, (points, FIELDS), "`points`", COPIES)
        attempt.need("fall_kernel")
        launches = sum(launch.kernel == "fall_kernel" for launch in run.launches)
        if launches != steps:
            raise CheckFailed(f"{launches} launches of fall_kernel for {steps} steps; a launch a step is asked for.")
        expect_a_step_a_launch(attempt.counted(Trial(request, simulated)), points, steps)
        for each in range(steps):
            expect_its_step(attempt, request, simulated, each)


def expect_its_step(attempt: Attempt, request: RunRequest, run: Run, launch: int) -> None:
    """Fails the check where most points come to the same places if one launch of fall_kernel is left out.

    `run`: what the request gives with all of its launches, simulated. What a step leaves is what the next begins with, so
    that no later one makes up for it: then another kernel would know where points come to, or another launch.
    """
    without = attempt.trace(replace(request, leaves_out=("fall_kernel", launch)))
    if without.fault is not None:
        return  # it depends on that launch
    fields = sorted(fields_fallen(request))
    same = (without.outputs["points"] == run.outputs["points"])[:, fields].any(axis=1).mean()
    if same > MOST_THE_SAME:
        raise CheckFailed(
            f"Launch {launch + 1} of fall_kernel does not take its step: without it {same:.0%} of the points end up with "
            "the same height or speed."
        )


def expect_a_step_a_launch(run: Run, points: int, steps: int) -> None:
    """Fails the check where some launches of fall_kernel load or store clearly less than a step of all points does."""
    if (done := steps_taken(run, points, steps)) < LEAST_DONE:
        raise CheckFailed(
            f"The launches of fall_kernel load or store only {done:.0%} of what a step of all points in each takes."
        )


def fall_counted(attempt: Attempt, steps: int) -> Run:
    """A fall in so many steps, run once for all checks that count its work."""
    trial = attempt.once(f"fall in steps: {steps}", lambda by: falling(by, by.drawn(*COUNTED_POINTS), steps))
    run = attempt.counted(trial)
    expect_a_step_a_launch(run, len(run.outputs["points"]), steps)
    expect_its_step(attempt, trial.request, run, steps // 2)
    return run


def moved_bytes_a_point(run: Run) -> float:
    return run.counters.requested_bytes / len(run.outputs["points"])


def moved_by_a_launch(run: Run) -> float:
    """Bytes for each point that a launch of fall_kernel moves, on average."""
    launches = [each for each in run.launches if each.kernel == "fall_kernel"]
    moved = sum(each.counters.requested_bytes for each in launches)
    return moved / max(1, len(launches)) / len(run.outputs["points"])


@check(points=2, after=("lets_every_point_fall",))
def moves_only_what_a_step_needs(attempt: Attempt) -> str:
    """Layout: a step moves the two fields that it works on, and no others."""
    few, many = fall_counted(attempt, 1), fall_counted(attempt, 3)
    by_steps = (moved_bytes_a_point(many) - moved_bytes_a_point(few)) / 2
    moved = max(by_steps, *(moved_by_a_launch(each) for each in (few, many)))  # what else one of them moves hides nothing
    attempt.record(bytes_a_point_and_step=moved, limit=STEP_BYTES * STEP_MOVED_OVER_NEEDED)
    line = f"A step moves {moved:.3g} bytes for each point, of which it needs {STEP_BYTES}"
    if moved > STEP_BYTES * STEP_MOVED_OVER_NEEDED:
        own = max(moved_by_a_launch(each) for each in (few, many))
        others = "" if moved > own else "fall_kernel"  # of which launches moved it: of all in a step, or of this one
        raise CheckFailed(f"{line}; at most {STEP_BYTES * STEP_MOVED_OVER_NEEDED:g} asked for.", launch=others)
    return f"{line}."


@check(points=2, after=("moves_only_what_a_step_needs", "loads_whole_sectors", "stores_whole_sectors"))
def changes_the_layout_in_whole_sectors(attempt: Attempt) -> str:
    """Layout: it changes twice, before the first step and after the last, in whole sectors."""
    few, many = fall_counted(attempt, 1), fall_counted(attempt, 3)
    moved = 1.5 * moved_bytes_a_point(few) - 0.5 * moved_bytes_a_point(many)
    asked = LAYOUT_BYTES * LAYOUT_MOVED_OVER_NEEDED
    attempt.record(layout_bytes_a_point=moved, limit=asked)
    line = f"The changes of layout move {moved:.4g} bytes for each point; whole sectors take {LAYOUT_BYTES}"
    if moved > asked:
        raise CheckFailed(f"{line}, and at most {asked:g} are asked for.")
    if moved < LEAST_LAYOUT_BYTES:
        raise CheckFailed(
            f"{line}. So few cannot be all: an assignment from array to array is no kernel of yours, and is not counted."
        )
    return f"{line}."


@check(points=1, after=("lets_every_point_fall", "keeps_to_float32"))
def falls_in_float32(attempt: Attempt) -> None:
    """Layout: a step computes in float32, although `dt` comes as a Python float."""
    run = fall_counted(attempt, 1)
    doubles = run.counters.float64_operations
    attempt.record(float64_operations=doubles)
    if doubles:
        worst = worst_line(run, lambda each: each.float64_operations)
        hazards = [h for h in run.hazards if h.kind == "accidental_float64"]
        problem = f"{doubles:,} operations in float64. {mostly(worst)}"
        raise CheckFailed(problem, hazards=hazards, line=worst.line)


@check(
    points=2, after=("faster_than_the_first_transpose", "changes_the_layout_in_whole_sectors", "falls_in_float32"),
)  # fmt: skip
def faster_over_many_steps(attempt: Attempt) -> str:
    """Layout: many steps are clearly faster than on structures, all changes of layout included."""
    points, steps = attempt.drawn(*FALL_POINTS), attempt.drawn(*FALL_STEPS)
    sample = attempt.sample(FALL_BLOCKS_SIMULATED)

    def drawn(steps: int) -> RunRequest:
        return replace(falling(attempt, points, steps), work_limit=SPEED_WORK_LIMIT, **sample)

    line = attempt.speedup(
        lambda: drawn(steps), shorter=lambda: drawn(STEPS_FOLLOWED), threshold=FALL_SPEEDUP,
        no_points_at=FALL_NO_POINTS_AT, best_known=FALL_BEST_KNOWN, forbidden=COPIES, element_by_element=True,
    )  # fmt: skip
    earned = attempt.fraction
    attempt.award(0)  # until all points have fallen
    # Few points, and no trial of this check: hints look at the timed ones.
    stored = layout_stores_a_point(attempt.trace(falling(attempt, FALLS[0][0], 1)), FALLS[0][0])
    if attempt.comparison.sampled is not None:
        expect_all_points_done(attempt.comparison.sampled, points, steps, stored)
    for many in (MANY_POINTS, points):
        more = replace(falling(attempt, many, 1), work_limit=SPEED_WORK_LIMIT, **sample)
        expect_all_points_done(attempt.counted(more), many, 1, stored)
    attempt.award(earned)
    return line


def expect_all_points_done(run: Run, points: int, steps: int, stored: float) -> None:
    """Fails the check where sampled blocks show that points are left out, in the steps or in the changes of layout.

    `stored`: bytes for each point that the changes of layout store where few points fall.
    """
    falls = [each.counted for each in run.launches if each.kernel == "fall_kernel" and each.counted is not None]
    all_blocks = falls and not any(each.is_sampled for each in falls)  # as what is little work, and read later
    if (done := steps_taken(run, points, steps)) < (1 if all_blocks else LEAST_DONE):
        taken = f"Only {_rounded_down(done)} of the steps are taken for {points:,} points"
        raise CheckFailed(f"{taken}, and all of them are to fall.")
    if stored and (done := layout_stores_a_point(run, points) / stored) < LEAST_DONE:
        raise CheckFailed(
            f"Only {done:.0%} of the changes of layout are made for {points:,} points, and all of them are to fall."
        )


def _rounded_down(share: float) -> str:
    """In per cent: never all of it where a little is missing."""
    return f"{np.floor(1000 * share) / 10:g}%"


def steps_taken(run: Run, points: int, steps: int) -> float:
    """What share of the steps is loaded and stored, as sampled blocks show it: two float32 for each point and step, at
    places of their own."""
    counters = [launch.counted for launch in run.launches if launch.kernel == "fall_kernel"]
    moved = (
        min(
            each.global_store_useful_bytes, 32 * each.unique_store_sectors,
            each.global_load_useful_bytes, 32 * each.unique_load_sectors,
        )
        for each in counters if each
    )  # fmt: skip
    return sum(min(each, 8 * points) for each in moved) / (8 * points * steps)


def layout_stores_a_point(run: Run, points: int) -> float:
    """Bytes for each point that all other kernels store."""
    counters = [launch.counted for launch in run.launches if launch.kernel != "fall_kernel"]
    return sum(each.global_store_useful_bytes for each in counters if each) / points


# ---- bonus: in place -------------------------------------------------------------------------------------------------


@check(points=4, after=("faster_than_the_first_transpose",), bonus=True)
def transposes_in_place(attempt: Attempt) -> str:
    """Bonus: `transpose_in_place(a)` needs no second matrix and moves each element once."""
    counted_side = attempt.drawn(*IN_PLACE_COUNTED)
    for side in (counted_side, *IN_PLACE_SIDES):
        a = attempt.integers(1, 60_000, (side, side), np.float32)
        request = RunRequest("transpose_in_place", {"a": a}, work_limit=WORK_LIMIT)
        run = attempt.simulate(request, may_fault=True)
        attempt.expect_no_hazards(run)
        right_in_place(attempt, request, run.outputs)
        expect_kernels_at_work(run, (side, side), "A")
        if any((launch.array_bytes or 0) > a.nbytes for launch in run.launches):
            raise CheckFailed("A kernel is given a second array: in place means that there is none in global memory.")
        if side == counted_side:
            counted_run = attempt.counted(Trial(request, run))
    moved = counted_run.counters.requested_bytes / (2 * 4 * counted_side**2)
    attempt.record(bytes_moved_over_needed=moved, limit=MOVED_OVER_NEEDED)
    line = f"{moved:.3g} times the bytes that one load and one store of each element move"
    if moved > MOVED_OVER_NEEDED:
        raise CheckFailed(f"{line}; at most {MOVED_OVER_NEEDED:g} times asked for.")
    if moved < LEAST_MOVED_IN_PLACE:
        raise CheckFailed(f"{line}: kernels are to move each element, and these leave most of them to something else.")
    return f"{line}."
