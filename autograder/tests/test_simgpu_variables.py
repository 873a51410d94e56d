"""Variables that different lanes got at different times: what each lane sees, and what is kept for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.simgpu.values.lanes import Mask
from autograder.simgpu.values.variables import MOST_LAYERS, Unmergeable, Variable

pytestmark = pytest.mark.quick
LANES = 64


def parts_of(everyone: Mask) -> list[Mask]:
    """Lanes from 1 on, lanes up to 62, and lanes from 32 on: none of them within another."""
    lanes = np.arange(LANES)
    return [everyone.only(lanes > 0), everyone.only(lanes < 63), everyone.only(lanes >= 32)]


@pytest.mark.parametrize("order", [(0, 1), (0, 2), (1, 2), (0, 1, 2), (2, 1, 0, 1)])
def test_a_variable_that_is_assigned_in_two_branches_again_and_again_keeps_a_few_layers(order):
    everyone, variable = Mask(np.ones(LANES, bool), None), Variable()
    expected = np.full(LANES, -1)
    variable.write(everyone, expected.copy())
    for value in range(100):
        mask = parts_of(everyone)[order[value % len(order)]]  # each round of a loop makes masks of its own
        variable.write(mask, np.full(LANES, value))
        expected[mask.lanes] = value
        assert len(variable.layers) <= MOST_LAYERS + 1
        if value % 10 == 9:
            seen, unset = variable.read(everyone)
            assert unset is None and (seen == expected).all()
    variable.write(everyone, np.zeros(LANES))
    assert len(variable.layers) == 1


def test_lanes_that_were_never_assigned_stay_so_when_layers_are_joined():
    everyone, variable = Mask(np.ones(LANES, bool), None), Variable()
    for value in range(20):
        masks = parts_of(everyone)
        variable.write(everyone.only(masks[2].lanes & (np.arange(LANES) % 2 == value % 2)), np.full(LANES, value))
    seen: Any
    seen, unset = variable.read(everyone)
    assert unset is not None and (unset == (np.arange(LANES) < 32)).all()
    assert (seen[32::2] == 18).all() and (seen[33::2] == 19).all()


def test_masks_join_below_what_they_are_both_parts_of():
    everyone = Mask(np.ones(LANES, bool), None)
    inner = everyone.only(np.arange(LANES) < 32)
    one, other = inner.only(np.arange(LANES) < 5), inner.only(np.arange(LANES) > 8)
    joined = one.joined(other)
    assert joined.is_within(inner) and joined.is_within(everyone) and joined.active == 5 + 23
    assert one.joined(one.only(np.arange(LANES) < 2)) is one
    assert one.joined(inner) is inner
    assert Mask(inner.lanes, None).joined(one).active == 32


def test_a_name_that_was_something_else_further_out_is_what_its_branch_made_of_it():
    """As Numba has it, which gives each assignment a name of its own: `R` may be an array first, and a number later."""
    everyone, variable = Mask(np.ones(LANES, bool), None), Variable()
    branch = everyone.only(np.arange(LANES) < 20)
    inner = branch.only(np.arange(LANES) % 2 == 0)
    variable.write(everyone, ("an", "array"))
    variable.write(branch, np.full(LANES, 1.0))
    variable.write(inner, np.full(LANES, 2.0))
    seen: Any
    seen, unset = variable.read(branch)
    assert unset is None and seen[:20].tolist() == [2.0, 1.0] * 10
    others = everyone.only(np.arange(LANES) >= 20)
    assert variable.read(others)[0] == ("an", "array")
    within: Any = variable.read(inner)[0]
    again: Any = variable.read(branch)[0]
    assert within[0] == 2 and again[1] == 1
    with pytest.raises(Unmergeable):
        variable.read(everyone)
