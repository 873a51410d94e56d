"""What a check draws, and what is right for it, is the same for each submission of one seed, and nobody can change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from autograder.grading.attempt import Attempt
from autograder.grading.kept import KEPT, Kept
from autograder.grading.products import products_of

pytestmark = pytest.mark.quick


def attempt(seed: int) -> Attempt:
    return Attempt("a_check", cast(Any, None), np.random.default_rng(seed))


DRAWS: list[Callable[[Attempt], np.ndarray]] = [
    lambda by: by.uniform((30, 40)),
    lambda by: by.uniform(9, low=0.0),
    lambda by: by.uniform(9, np.float64),
    lambda by: by.integers(1, 6, (30, 40), np.float32),
    lambda by: by.integers(1, 6, (30, 40)),
    lambda by: by.integers(1, 7, (30, 40)),
    lambda by: by.integers(1, 6, (40, 30)),
]


def test_draws_of_one_seed_are_one_array_and_all_others_are_others() -> None:
    first, again, other = ([draw(attempt(seed)) for draw in DRAWS] for seed in (1, 1, 2))
    assert all(one is two for one, two in zip(first, again, strict=True))
    assert len({id(each) for each in (*first, *other)}) == 2 * len(DRAWS)
    assert not any(np.array_equal(one, two) for one, two in zip(first, other, strict=True))


@pytest.mark.parametrize("draw", DRAWS)
def test_a_draw_is_what_its_recipe_makes_and_read_only(draw: Callable[[Attempt], np.ndarray]) -> None:
    by = attempt(3)
    array = draw(by)
    _, recipe = by._recipes[id(array)]
    made = eval(recipe, {"np": np})
    assert made.dtype == array.dtype and np.array_equal(made, array)
    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0


def test_a_run_of_numbers_goes_on_alike_whether_a_draw_was_kept_or_not() -> None:
    kept, drawn = attempt(4), attempt(4)
    assert kept.uniform(5) is drawn.uniform(5)
    assert kept.drawn(0, 1 << 40) == drawn.drawn(0, 1 << 40)


def test_what_follows_from_drawn_arrays_is_worked_out_once() -> None:
    a, b = (attempt(seed).integers(1, 6, (7, 7), np.float32) for seed in (5, 6))
    product, sizes = KEPT.of(products_of, a, b)
    assert KEPT.of(products_of, a, b)[0] is product and KEPT.of(products_of, b, a)[0] is not product
    assert np.array_equal(product, a.astype(float) @ b) and not product.flags.writeable and not sizes.flags.writeable


def test_what_follows_from_arrays_that_may_change_is_worked_out_each_time() -> None:
    def total(values: np.ndarray) -> np.ndarray:
        return values.sum(keepdims=True)

    kept, values = Kept(), np.ones(3)
    assert kept.of(total, values)[0] == 3
    values[0] = 5
    assert kept.of(total, values)[0] == 7 and not len(kept)
    part = values[:2]
    part.flags.writeable = False  # and by its other name it can be changed
    assert kept.of(total, part)[0] == 6
    values[0] = 1
    assert kept.of(total, part)[0] == 2 and not len(kept)


def test_what_was_longest_not_asked_for_is_let_go() -> None:
    kept, made = Kept(most_bytes=3 * 800), []

    def draw(name: str) -> np.ndarray:
        return kept.drawn(name, lambda: made.append(name) or np.zeros(100))

    for name in ("a", "b", "c", "a", "d", "a", "b"):
        draw(name)
    assert made == ["a", "b", "c", "d", "b"] and kept.nbytes == 3 * 800
    kept.drawn("more than there is room for", lambda: np.zeros(1000))
    assert kept.nbytes == 3 * 800 and len(kept) == 3
