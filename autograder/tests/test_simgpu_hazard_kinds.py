"""The one table of hazards: every kind is in it, and whoever speaks of kinds reads it."""

from __future__ import annotations

import typing

from autograder.course.answers import RULES
from autograder.records.hazards import HAZARDS, HazardKind, name_of


def test_every_kind_has_its_row():
    assert set(HAZARDS) == set(typing.get_args(HazardKind))


def test_names_are_words_and_meanings_are_told_once():
    assert all(about.name and about.meaning and "_" not in about.name for about in HAZARDS.values())
    assert len({about.meaning for about in HAZARDS.values()}) == len(HAZARDS)
    assert name_of("out_of_bounds") == "out of bounds"


def test_exercises_forgive_what_is_only_untidy():
    assert {"race", "out_of_bounds", "uninitialised_read", "endless"} <= set(RULES)
    assert not {"accidental_float64", "overflow_on_store", "launch"} & set(RULES)
