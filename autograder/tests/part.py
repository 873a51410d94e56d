"""Which known answers `make test` grades: a part that shows all that they show together. `make test-all` grades them all.

The rule goes by the verdicts that are kept of them (solutions/LAB/calibration/simulated.json):

- Graded whole are answers by which each check is failed and passed, each bonus earned and missed, and each kind of flag
  raised.
- Of the others, those by which each hint is given are judged by the checks that they fail, and by no others. A hint that
  no answer is given whose grading takes at most `MOST_SECONDS` is left out.
- Of answers that show the same, the one is taken that took the least time of a processor to grade.
- Always graded whole: an answer of which no verdict is kept, or one that was given to another text, and a right answer that
  a page of the course names.

The rest is skipped, and says so.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from autograder.grading.known_answers.answers import fingerprint

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 2.0  # of a processor, for a hint. 21 of 397 hints take longer
PAGES = ("*.md", "labs/*.md", "labs/*/lab.ipynb", "notebooks/*.md", "notebooks/*.ipynb", "slides/*.md", "autograder/*.md")

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True)
class Part:
    """Of a lab's known answers, by their names in tables of verdicts."""

    whole: frozenset[str]  # graded as submissions are
    alone: frozenset[str]  # judged by the checks that they fail
    new: frozenset[str]  # of the first: no verdict of their text is kept
    dear: frozenset[str]  # hints that all answers which are given them take long to show


def part_of(kept: Mapping[str, Any], texts: Mapping[str, str], named: Collection[str] = ()) -> Part:
    """The part of the answers in `texts`, by name, of which the file `kept` has verdicts; those `named` are in it whole."""
    stale = {name for name, text in texts.items() if kept.get("texts", {}).get(name) != fingerprint(text)}
    verdicts = {name: kept["verdicts"][name] for name in quickest_first(kept) if name in texts and name not in stale}
    first = [name for name in verdicts if name in named]
    whole = covering(_decisions(verdicts), first)
    hints: dict[str, list[str]] = {name: each["hints"] for name, each in verdicts.items()}
    seconds: Mapping[str, float] = kept.get("seconds", {})
    quick = {name: each for name, each in hints.items() if name in whole or seconds.get(name, 0) <= MOST_SECONDS}
    given = covering(quick, whole)
    dear = {hint for each in hints.values() for hint in each}.difference(*quick.values())
    return Part(frozenset([*whole, *stale]), frozenset(given) - frozenset(whole), frozenset(stale), frozenset(dear))


def covering(shows: Mapping[Name, Iterable[Hashable]], first: Collection[Name] = ()) -> list[Name]:
    """Names by which all is shown that any name shows: those `first`, then one after the other.

    In the order of `shows`, for one thing to be shown after the other in the order of their texts: a name that is added
    takes the place of one behind it, or none.
    """
    of = {name: frozenset(each) for name, each in shows.items()}
    chosen = list(first)
    seen = {each for name in chosen for each in of[name]}
    for wanted in sorted(frozenset().union(*of.values()), key=repr):
        if wanted not in seen:
            chosen.append(next(name for name, shown in of.items() if wanted in shown))
            seen.update(of[chosen[-1]])
    return chosen


def quickest_first(kept: Mapping[str, Any]) -> list[str]:
    """The names of the answers that have a verdict, by the seconds of a processor that it took to give it."""
    seconds: Mapping[str, float] = kept.get("seconds", {})
    return sorted(kept.get("verdicts", ()), key=lambda name: seconds.get(name, math.inf))


def _decisions(verdicts: Mapping[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """What each verdict decides, hints aside."""
    checks = {check for each in verdicts.values() for check in each["failed"]}
    bonus = {check for each in verdicts.values() for check in each["bonus"]}
    return {
        name: [
            *(("check", check, str(check in each["failed"])) for check in checks),
            *(("bonus", check, str(check in each["bonus"])) for check in bonus),
            *(("flag", *flag.split(": ")[:2]) for flag in each["flags"]),  # without its numbers
        ]
        for name, each in verdicts.items()
    }


@cache
def part_of_lab(lab: str) -> Part:
    """That of the course's lab, by its full name."""
    folder = ROOT / "solutions" / lab
    file = folder / "calibration" / "simulated.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    paths = [path for kind in ("right", "wrong") for path in sorted((folder / kind).glob("*.py"))]
    texts = {f"{path.parent.name}/{path.stem}": path.read_text(encoding="utf-8") for path in paths}
    return part_of(kept, texts, [name for name in texts if name.startswith("right/") and name in _named()])


def named_in(text: str) -> frozenset[str]:
    """The right answers that a text may name: by their place, or as code."""
    found = re.findall(r"\bright/(\w+)|`(\w+)(?:\.py)?`", text)
    return frozenset(f"right/{place or code}" for place, code in found)


@cache
def _named() -> frozenset[str]:
    """What the course's pages name."""
    paths = [path for pattern in PAGES for path in ROOT.glob(pattern) if path.name != "CHANGELOG.md"]
    return named_in("\n".join(path.read_text(encoding="utf-8") for path in paths))


def first_of(values: Iterable[Any], tried: int = 1, name: Callable[[Any], str] = str) -> list[Any]:
    """Parameters of a test that is the same for all of them: the first ones, and the rest left to `make test-all`."""
    return [
        pytest.param(each, id=name(each)) if i < tried else left_to_all(each, name(each)) for i, each in enumerate(values)
    ]


def left_to_all(value: Value, name: str) -> Any:
    """A parameter of a test which `make test-all` alone tries."""
    return pytest.param(value, id=name, marks=pytest.mark.rest)
