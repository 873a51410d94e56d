"""The reader's own product against the ladder and, where there is a GPU, against its library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.course.lesson08.limit_figures import recorded
from autograder.course.replies import Reply, not_yet, right
from autograder.live import wants_gpu

Product = Callable[[Any, Any, Any], None]
COUNTED, COUNTED_COLUMNS = (256, 128), 384  # of a, of b: the product whose result is held to NumPy's
LARGE = 4096  # of the one that is timed on a GPU


def against_the_library(product: Product) -> Reply:
    """What a function of (a, b, c) that launches kernels for c = a b reaches; device arrays, float32, 2-D.

    It is checked against NumPy on matrices that are no squares. On a GPU it is timed at 4,096 x 4,096 beside cuBLAS, where
    PyTorch or CuPy is installed, else beside what an H200 was measured to do. Without a GPU only its result is judged.
    """
    from numba import cuda

    if not callable(product) or product.__code__.co_code == _nothing.__code__.co_code:
        return Reply("your turn", "Launch your kernels in product and run this cell again.")
    (m, depth), n = COUNTED, COUNTED_COLUMNS
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, depth), (depth, n)))
    c = cuda.to_device(np.full((m, n), -1, np.float32))
    product(cuda.to_device(a), cuda.to_device(b), c)
    wrong = int((c.copy_to_host() != a @ b).sum())
    sizes = f"{m} x {depth} times {depth} x {n}"
    if wrong:
        return not_yet(f"{sizes}: {wrong:,} of {c.size:,} elements are wrong. Mend that first.")
    if not wants_gpu():
        return right(f"Right: {sizes}. How fast it is, a GPU has to say.")
    from autograder.course.lesson08.measurements import Libraries, QueueClock, differs, random_matrix

    clock, libraries = QueueClock(), Libraries()
    x, y, z = random_matrix(LARGE, LARGE, 1), random_matrix(LARGE, LARGE, 2), cuda.device_array((LARGE, LARGE), np.float32)
    product(x, y, z)
    if differs(z, x, y) > 1e-5:
        return not_yet(f"Right for {sizes}, and wrong at {LARGE:,} x {LARGE:,}. Which blocks are missing there?")
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
