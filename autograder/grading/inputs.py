"""The inputs of a check: random numbers that its seed gives, and how the report can make them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.grading.given import Beforehand, Recipes
from autograder.grading.kept import KEPT
from autograder.records.runs import Sample

DRAWN_AT_ONCE = 1 << 20  # random numbers


class DrawnInputs:
    """What an `Attempt` draws: sizes, samples and arrays."""

    def __init__(self, given: Beforehand) -> None:
        self.rng = given.rng
        self._recipes: Recipes = {}
        self._keeps = True  # what is drawn, for other submissions

    def drawn(self, low: int, high: int, step: int = 1) -> int:
        """A whole number from `low` to `high`, both included, in steps: the size of a run that counts or is timed.

        It is the seed's, so that no submission can know it and do something else there.
        """
        return low + step * int(self.rng.integers((high - low) // step + 1))

    def uniform(
        self, shape: tuple[int, ...] | int, dtype: Any = np.float32, low: float = -1.0, high: float = 1.0
    ) -> np.ndarray:
        """Random numbers in [low, high), read-only; the report can say how to make the same array again."""
        seed = int(self.rng.integers(2**31))
        recipe = f"np.random.default_rng({seed}).uniform({low}, {high}, {shape}).astype(np.{np.dtype(dtype)})"

        def make() -> np.ndarray:
            rng = np.random.default_rng(seed)
            return _random_array(shape, dtype, lambda count: rng.uniform(low, high, count))

        return self.made(recipe, make)

    def integers(self, low: int, high: int, shape: tuple[int, ...] | int, dtype: Any = np.int32) -> np.ndarray:
        """Random whole numbers in [low, high), read-only and reproducible as with `uniform`."""
        seed = int(self.rng.integers(2**31))
        recipe = f"np.random.default_rng({seed}).integers({low}, {high}, {shape}).astype(np.{np.dtype(dtype)})"

        def make() -> np.ndarray:
            rng = np.random.default_rng(seed)
            return _random_array(shape, dtype, lambda count: rng.integers(low, high, count))

        return self.made(recipe, make)

    def sample(self, blocks: int) -> Sample:
        """So many blocks of the simulated GPU for a request that is too large for all, where nobody can foresee."""
        return {"sample_blocks": blocks, "sample_seed": int(self.rng.integers(2**31))}

    def made(self, recipe: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """The array that this expression in NumPy makes, and `make` as well: read-only, since the next submission gets
        the same one where it has the same seed. The report can make it again."""
        if self._keeps:
            return self.remember(KEPT.drawn(recipe, make), recipe)
        array = make()
        array.flags.writeable = False
        return self.remember(array, recipe)

    def remember(self, array: np.ndarray, recipe: str) -> np.ndarray:
        """The array, which the report can make again by this expression in NumPy."""
        self._recipes[id(array)] = (array, recipe)
        return array


def _random_array(shape: tuple[int, ...] | int, dtype: Any, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    """An array of random numbers, the same as drawn at once, without the same again in float64 or int64 beside it."""
    array = np.empty(shape, dtype)
    flat = array.reshape(-1)
    for start in range(0, flat.size, DRAWN_AT_ONCE):
        count = min(DRAWN_AT_ONCE, flat.size - start)
        flat[start : start + count] = draw(count).astype(dtype)
    return array
