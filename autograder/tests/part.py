"""Which known answers `make test` grades: a part that shows all that they show together. `make test-all` grades them all.

The rule goes by the verdicts that are kept of them (solutions/LAB/calibration/simulated.json):

- Graded whole are answers by which each check is failed twice and passed twice, each bonus earned twice and missed twice,
  and each kind of flag raised twice: or as often as there are answers for it, where there are fewer.
- Of the others, those by which each hint is given twice are judged by the checks that they fail, and by no others.
- Of answers that show the same, those are taken first that were not timed, or are predicted to take the least time: to
  simulate them takes less, too.
- Always graded whole: an answer of which no verdict is kept, or one that was given to another text, and a right answer that
  a page of the course names.

The rest is skipped, and says so.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from autograder.grading.known_answers.answers import fingerprint

ROOT = Path(__file__).resolve().parents[2]
TIMES = 2  # once would do, were not one answer in reach of one mistake
PAGES = ("*.md", "labs/*.md", "labs/*/lab.ipynb", "notebooks/*.md", "notebooks/*.ipynb", "slides/*.md", "autograder/*.md")

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True)
class Part:
    """Of a lab's known answers, by their names in tables of verdicts."""

    whole: frozenset[str]  # graded as submissions are
    alone: frozenset[str]  # judged by the checks that they fail


def part_of(kept: Mapping[str, Any], texts: Mapping[str, str], named: Collection[str] = ()) -> Part:
    """The part of the answers in `texts`, by name, of which the file `kept` has verdicts; those `named` are in it whole."""
    stale = {name for name, text in texts.items() if kept.get("texts", {}).get(name) != fingerprint(text)}
    verdicts = {name: kept["verdicts"][name] for name in _quickest_first(kept) if name in texts and name not in stale}
    first = [name for name in verdicts if name in named]
    whole = covering(_decisions(verdicts), first)
    hints = {name: [("hint", hint) for hint in each["hints"]] for name, each in verdicts.items()}
    given = covering(hints, whole)
    return Part(frozenset([*whole, *stale]), frozenset(given) - frozenset(whole))


def covering(
    shows: Mapping[Name, Iterable[Hashable]], first: Collection[Name] = (), times: int = TIMES
) -> list[Name]:
    """Names by which all is shown so many times that any name shows: those `first`, then one after the other.

    In the order of `shows`, for one thing to be shown after the other in the order of their texts: a name that is added
    takes the place of one behind it, or none.
    """
    of = {name: frozenset(each) for name, each in shows.items()}
    chosen = list(first)
    seen = Counter(each for name in chosen for each in of[name])
    for wanted in sorted(frozenset().union(*of.values()), key=repr):
        for name, shown in of.items():
            if seen[wanted] >= times:
                break
            if wanted in shown and name not in chosen:
                chosen.append(name)
                seen.update(shown)
    return chosen


def _quickest_first(kept: Mapping[str, Any]) -> list[str]:
    """The names of the answers that have a verdict, by how many times the baseline's time they are predicted to take."""
    names = kept.get("verdicts", {})
    times = {name: sum(1 / of[name]["ratio"] for of in kept.get("ratios", {}).values() if name in of) for name in names}
    return sorted(names, key=times.__getitem__)


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


def left_to_all(value: Value, name: str) -> Any:
    """A parameter of a test which `make test-all` alone tries."""
    return pytest.param(value, id=name, marks=pytest.mark.rest)
