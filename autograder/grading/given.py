"""What an attempt is given: the check's name, where the submission runs, and what is known of it beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.errors import BrokenDefinition
from autograder.grading.trials import Compared, Place, Runner, Trial
from autograder.records.runs import RunRequest

Outputs = Mapping[str, np.ndarray]
Recipes = dict[int, tuple[np.ndarray, str]]  # how an array was made, by its identity


@dataclass
class SharedRuns:
    """The runs that several checks of one submission look at, each carried out once; see `Attempt.once`."""

    generator: Callable[[str], np.random.Generator]  # the inputs' random numbers, by the run's name
    known: dict[tuple[str, Place], tuple[Trial, Recipes]] = field(default_factory=dict)
    compared: dict[str, tuple[RunRequest, Compared, Recipes, tuple[str, ...]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Beforehand:
    """Of one attempt, for the parts that it is made of."""

    check: str
    runner: Runner
    rng: np.random.Generator  # seeded by lab, check and the (secret) seed
    sources: Mapping[str, str]  # the submission's functions: name -> source text, to read and never to run
    shared: SharedRuns
    unusable: Mapping[str, BrokenDefinition]  # functions that the lab asks for and cannot call, with what is wrong
    results: Mapping[str, Callable[[Any, RunRequest, Outputs], None]]  # by function: see `Lab.results`
