"""Exercises of notebooks/01_naive_matmul.ipynb; the answers that students see stand there, under "Answer"."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.exercises.replies import Reply, judge_array, judge_number, judge_tuple, not_yet


def which_thread(answer: Any) -> Reply:
    """Who computes c[50, 37] in blocks of (16, 16)? (blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y)"""
    return judge_tuple(
        answer,
        (2, 3, 5, 2),
        "Column 37 is 2 x 16 + 5 and row 50 is 3 x 16 + 2.",
        {
            (3, 2, 2, 5): "x and y are swapped: x counts columns, and 37 is the column.",
            (2, 5, 3, 2): "The right numbers in another order: both block numbers first, then both thread numbers.",
            (37, 50, 5, 2): "There are not that many blocks: which block of 16 is column 37 in?",
        },
    )


def which_grid(answer: Any) -> Reply:
    """How many blocks of (32, 8) threads cover a matrix of 100 rows and 200 columns? (x, y)"""
    return judge_tuple(
        answer,
        (7, 13),
        "7 x 32 = 224 threads cover 200 columns, and 13 x 8 = 104 cover 100 rows.",
        {
            (13, 7): "Swapped: x comes first and runs along the columns.",
            (4, 25): "x runs along the columns, of which there are 200; y along the 100 rows.",
            (6, 12): "Rounded down: 6 x 32 = 192 threads leave 8 columns without one. Round up.",
            (6, 13): "The second is right. 6 x 32 = 192 threads leave 8 columns without one.",
            (7, 12): "The first is right. 12 x 8 = 96 threads leave 4 rows without one.",
            (8, 13): "The second is right; the first covers 256 columns and 7 blocks would do.",
        },
    )


def flat_matmul(kernel: Any) -> Reply:
    """Finish the kernel that sees a (m, k), b (k, n) and c (m, n) as one-dimensional arrays."""
    from autograder import profile  # the simulated GPU is only loaded for the exercises that need it

    m, k, n = 5, 7, 11  # all different, so that no two strides can be mistaken for each other
    rng = np.random.default_rng(5)
    a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
    c = np.zeros(m * n, np.float32)
    hazards = profile(kernel)[(3, 2), (4, 4)](a.ravel(), b.ravel(), c, m, k, n).hazards
    outside = [each for each in hazards if each.kind in ("out_of_bounds", "negative_index")]
    if outside:
        return not_yet(str(outside[0]))
    if np.allclose(c, a.ravel()[:k] @ b.ravel()[:k]):
        return Reply("your turn", "Both indices are still i, for every thread. Change them and run this cell again.")
    expected = a.astype(np.float64) @ b
    return judge_array(c.reshape(m, n), expected, "Row-major order by hand: NumPy does the same sum for a[row, i].")


def share_of_peak(answer: Any) -> Reply:
    """What percentage of 1,600 GFLOP/s can the naive kernel reach with 600 GB/s of memory bandwidth?"""
    return judge_number(
        answer,
        100 * 600 / 4 / 1600,
        "600 GB/s bring 150 billion operands a second, one for each operation: 150 of 1,600 GFLOP/s.",
        {
            150.0: "That is the rate in GFLOP/s, and it is right. What percentage of 1,600 is it?",
            0.09375: "Right as a fraction; the exercise asks for a percentage.",
            37.5: "A gigabyte is not a billion operands: each takes 4 bytes.",
            75.0: "Two operations for every 8 bytes: 0.25 operations a byte, not 2.",
            18.75: "Two operations need two operands, so 8 bytes, not 4.",
        },
        tolerance=0.01,  # 9.3, 9.4 and 9.375 are all fine
    )


def sectors_per_request(answer: Any) -> Reply:
    """Sectors per load request with blocks of (16, 16): (x along columns, x along rows)"""
    return judge_tuple(
        answer,
        (2, 8.5),
        "(2 + 2) / 2 along columns, (16 + 1) / 2 along rows.",
        {
            (4, 17): "Those are the sectors of both loads together. A request is one load: take the mean of the two.",
            (2.5, 16.5): "That was the 32 x 32 block. Here a warp is two rows of 16 threads.",
            (8.5, 2): "Swapped: x along columns comes first.",
            (1.5, 8.5): "The second is right. Two rows of threads read two different rows of a: two sectors.",
            (2, 9): "The first is right. Two neighbouring columns of b lie in one sector.",
        },
    )
