"""A kernel that gives the right result and changes what it is only to read hears of that, in each exercise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograder.course import lesson00, lesson01, lesson02, lesson03, lesson04, lesson05, lesson08, lesson09
from autograder.course.answers import Inputs
from autograder.tests.test_notebooks_exercises import reply_to

REDUCED = """
    step = {first}
    while step > 1:
        half = (step + 1) // 2
        if t + half < step:
            values[i] += values[i + half]
        cuda.syncthreads()
        step = half
    if t == 0:
        sums[cuda.blockIdx.x] = values[i]"""
IN_PLACE = [
    (lesson00.first_kernel, "x, y, out", "x", "if i < out.size:\n        x[i] = 3 * x[i] + y[i]\n        out[i] = x[i]"),
    (
        lesson01.scale_rows,
        "a, factor, c",
        "a",
        "row, column = i // a.shape[1], i % a.shape[1]\n    if row < a.shape[0]:\n"
        "        a[row, column] *= factor[row]\n        c[row, column] = a[row, column]",
    ),
    (
        lesson02.two_barriers,
        "x, out",
        "x",
        "piece = cuda.shared.array(64, np.float32)\n    for start in range(0, x.size, 64):\n"
        "        piece[t] = x[start + t]\n"
        "        cuda.syncthreads()\n        x[start + t] = piece[63 - t]\n        out[start + t] = x[start + t]\n"
        "        cuda.syncthreads()",
    ),
    (lesson03.table_of_bytes, "x, box, out", "x", "if i < x.size:\n        x[i] = box[x[i]]\n        out[i] = x[i]"),
    (
        lesson03.few_threads,
        "x, out",
        "x",
        "while i < x.size:\n        x[i] = x[i] * x[i]\n        out[i] = x[i]\n        i += cuda.gridsize(1)",
    ),
    (lesson04.first_threads_add, "values, sums", "values", REDUCED.format(first=256).strip()),
    (lesson04.any_width, "values, sums", "values", REDUCED.format(first="cuda.blockDim.x").strip()),
    (
        lesson04.largest_of_warp,
        "values, best",
        "values",
        "for step in (16, 8, 4, 2, 1):\n"
        "        values[i] = max(values[i], cuda.shfl_xor_sync(0xFFFFFFFF, values[i], step))\n"
        "    if cuda.laneid == 0:\n        best[i // 32] = values[i]",
    ),
    (
        lesson04.rows_in_order,
        "order, starts, values, sums",
        "values",
        "if i < order.size:\n        total = np.float32(0)\n"
        "        for k in range(starts[order[i]], starts[order[i] + 1]):\n"
        "            total += values[k]\n            values[k] = 0\n        sums[order[i]] = total",
    ),
    (
        lesson05.places_found,
        "items, wanted, places, found",
        "items",
        "if i < items.size and items[i] == wanted:\n        items[i] = 0\n        places[cuda.atomic.add(found, 0, 1)] = i",
    ),
    (
        lesson05.matches,
        "items, value, total",
        "items",
        "own = 0\n    while i < items.size:\n        if items[i] == value:\n"
        "            own += 1\n            items[i] = -1\n"
        "        i += cuda.gridsize(1)\n    cuda.atomic.add(total, 0, own)",
    ),
    (
        lesson08.in_slices,
        "a, b, c",
        "a",
        "x, y = t, cuda.threadIdx.y\n    total, k = np.float32(0), cuda.blockIdx.x\n    while k < a.shape[1]:\n"
        "        total += a[y, k] * b[k, x]\n        k += cuda.gridDim.x\n    cuda.atomic.add(c, (y, x), total)\n"
        "    cuda.syncthreads()\n    if x == 0 and cuda.blockIdx.x < a.shape[1]:\n        a[y, cuda.blockIdx.x] = 99",
    ),
    (
        lesson09.mended_a,
        "image, bins",
        "image",
        "own = cuda.shared.array(256, np.int32)\n    own[t] = 0\n    cuda.syncthreads()\n"
        "    for row in range(cuda.blockIdx.x, image.shape[0], cuda.gridDim.x):\n"
        "        for column in range(t, image.shape[1], 256):\n            cuda.atomic.add(own, image[row, column], 1)\n"
        "            image[row, column] = 0\n    cuda.syncthreads()\n    cuda.atomic.add(bins, t, own[t])",
    ),
]


@pytest.mark.parametrize("exercise, given, changed, body", IN_PLACE)
def test_what_a_kernel_is_to_read_stays_as_it_is(
    exercise: Callable[[Any], Any], given: str, changed: str, body: str
) -> None:
    kernel = f"\ndef kernel({given}):\n    i, t = cuda.grid(1), cuda.threadIdx.x\n    {body}\n"
    reply = reply_to(exercise, kernel)
    assert reply.outcome == "not yet" and f"The kernel writes to {changed}, which it reads." in reply.words, reply


def test_inputs_are_told_by_name_and_are_there_again_afterwards() -> None:
    x, y = np.arange(3.0), np.ones((2, 2))
    inputs = Inputs(x=x, y=y)
    assert inputs.changed() is None
    y[1, 0] = 5
    reply = inputs.changed("Four threads.")
    assert reply is not None and reply.words.startswith("Four threads. The kernel writes to y,")
    assert inputs.changed() is None and (y == 1).all()
