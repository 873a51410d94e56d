"""What wrong elements of a product look like: whose they are, which steps are missing, or that nobody set a sum to 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

SAME = 1e-4  # relative: float32 sums in another order


def what_is_there(a: np.ndarray, b: np.ndarray, c: np.ndarray, steps: int, strip: str = "") -> str:
    """A sentence on what stands in c in place of a @ b, where it can be told for all of c; else nothing.

    `steps` is how many columns of a (rows of b) a tile holds; `strip` what to say where elements have changed places.
    """
    if np.isnan(c).any():
        return (
            " nan is what an array of the thread's own holds here until something is written there (on a GPU: leftovers). "
            "Set every sum to 0 before the first tile."
        )
    for words, among in _fewer_steps(a.shape[1], steps):
        if _same(c, a[:, among].astype(np.float64) @ b[among]):
            return f" {words}"
    product = a.astype(np.float64) @ b
    at = _first_wrong(c, product)
    row, column = np.unravel_index(int(np.abs(product - c[at]).argmin()), product.shape)
    if _moved(c, product):
        return f" It is what belongs to c[{row}, {column}].{strip}"
    if (c == 0).any():
        return f" {int((c == 0).sum()):,} elements of c are still 0: nothing was added to these sums."
    return ""


def _fewer_steps(depth: int, steps: int) -> Iterator[tuple[str, np.ndarray]]:
    """Steps of k that a kernel may have left it at, and how to say so."""
    k = np.arange(depth)
    yield "Only the last product is there: add (+=) to the sums.", k == depth - 1
    if depth > steps:
        last = k >= depth - steps
        yield "Only the products of the last tile are there. Set the sums to 0 once, before the first tile.", last
        yield "Only the products of the first tile are there.", k < steps
    for done in range(1, steps):
        few = f"the first {done}" if done > 1 else "one"
        yield f"Only {few} of the {steps} steps of each tile went into the sums.", k % steps < done


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=SAME, atol=SAME))


def _first_wrong(c: np.ndarray, product: np.ndarray) -> tuple[int, ...]:
    return tuple(int(each) for each in np.argwhere(~np.isclose(c, product, rtol=SAME, atol=SAME))[0])


def _moved(c: np.ndarray, product: np.ndarray) -> bool:
    """Whether each element of c is an element of the product, if of another place."""
    known = np.sort(product.ravel())
    at = np.searchsorted(known, c.ravel()).clip(1, known.size - 1)
    nearest = np.minimum(np.abs(known[at] - c.ravel()), np.abs(known[at - 1] - c.ravel()))
    return bool((nearest <= known.max() * 1e-6).all())
