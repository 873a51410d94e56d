"""The reader's own product against the ladder and, where there is a GPU, against its library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.course.lesson08.limit_figures import recorded
from autograder.course.replies import Reply, not_yet, right
from autograder.live import wants_gpu

Product = Callable[[Any, Any, Any], None]
SIDE = 128  # of the product that is counted
LARGE = 4096  # of the one that is timed on a GPU


def against_the_library(product: Product) -> Reply:
    """What a function of (a, b, c) that launches kernels for c = a b reaches; device arrays, float32, 2-D.

    It is checked against NumPy at 128 x 128. On a GPU it is timed at 4,096 x 4,096 beside cuBLAS, where PyTorch or CuPy is
    installed, else beside what an H200 was measured to do. Without a GPU only its result is judged.
    """
    from numba import cuda

    if not callable(product) or product.__code__.co_code == _nothing.__code__.co_code:
        return Reply("your turn", "Launch your kernels in product and run this cell again.")
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-4, 5, (SIDE, SIDE)).astype(np.float32) for _ in range(2))
    c = cuda.to_device(np.full((SIDE, SIDE), -1, np.float32))
    product(cuda.to_device(a), cuda.to_device(b), c)
    wrong = int((c.copy_to_host() != a @ b).sum())
    if wrong:
        return not_yet(f"{wrong:,} of {c.size:,} elements are wrong at {SIDE} x {SIDE}: mend that first.")
    if not wants_gpu():
        return right(f"Right at {SIDE} x {SIDE}. How fast it is, a GPU has to say.")
    from autograder.course.lesson08.measurements import QueueClock, Libraries, random_matrix

    clock, libraries = QueueClock(), Libraries()
    x, y, z = random_matrix(LARGE, LARGE, 1), random_matrix(LARGE, LARGE, 2), cuda.device_array((LARGE, LARGE), np.float32)
    ours = clock.milliseconds(lambda: product(x, y, z))
    beside = libraries.products(x, y, z)
    if beside:
        library, whose = clock.milliseconds(beside["cuBLAS"]), "cuBLAS here"
    else:
        library, whose = recorded()["products"]["milliseconds"][str(LARGE)]["cuBLAS"], "cuBLAS on an H200"
    rate = 2 * LARGE**3 / ours / 1e9
    return right(f"{LARGE:,} x {LARGE:,}: {ours:.2f} ms, {rate:.1f} TFLOP/s; {library / ours:.0%} of {whose}.")


def _nothing(a: Any, b: Any, c: Any) -> None:
    pass
