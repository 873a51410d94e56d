"""Which of many cases of a test `make test` tries: the quickest, for as long as `BUDGET` lasts. `make test-all` tries all.

seconds.json holds how long cases took, for each test whose cases took longer than that together:

    make test-all EVERYTHING="--everything --write-seconds"   # on an idle machine: writes it anew

A case that is not in it, such as a new one, is tried. So is each test of one case, and what is marked `covering`: cases
that were chosen for what they show together. Where few files are asked for (pytest autograder/tests/test_x.py), nothing is
left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

KEPT = Path(__file__).with_name("seconds.json")
BUDGET = 1.0  # seconds for all cases of one test
NOTICED = 0.05  # seconds below which a case is tried anyway
FEW_FILES = 12  # at most, for all of their cases to be tried

Seconds = Mapping[str, Mapping[str, float]]  # of each test's cases, by what stands in brackets in a case's name


def test_and_case(nodeid: str) -> tuple[str, str]:
    """The test that a case is of, and which of its cases it is: nothing for the only one."""
    test, _, case = nodeid.partition("[")
    return test, case.removesuffix("]")


def left_out(seconds: Seconds, nodeids: Iterable[str]) -> set[str]:
    """The names of the cases that are too many, the longest of their test; one of each test stays."""
    cases = defaultdict(list)
    for nodeid in nodeids:
        test, case = test_and_case(nodeid)
        cases[test].append((seconds.get(test, {}).get(case, 0.0), nodeid))
    found = set()
    for of_test in cases.values():
        spent = 0.0
        for i, (took, nodeid) in enumerate(sorted(of_test)):
            spent += took
            if i and took and spent > BUDGET:
                found.add(nodeid)
    return found


def kept() -> Seconds:
    """What seconds.json says; nothing where there is none."""
    found: Seconds = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    return found


def write(took: Mapping[str, float], collected: Collection[str], file: Path = KEPT) -> None:
    """Keeps how long cases took, by their names; of those that were skipped or not asked for, what was known of them."""
    known = {f"{test}[{case}]": each for test, cases in kept().items() for case, each in cases.items()}
    of_test: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for nodeid in sorted(collected):
        test, case = test_and_case(nodeid)
        of_test[test][case] = round(took.get(nodeid, known.get(nodeid, 0.0)), 1 if took.get(nodeid, 0) > 1 else 2)
    others = {test: cases for test, cases in kept().items() if test not in of_test}
    found = others | {
        test: {case: each for case, each in cases.items() if each >= NOTICED}
        for test, cases in of_test.items()
        if len(cases) > 1 and sum(cases.values()) > BUDGET
    }
    lines = (f"{json.dumps(test)}: {json.dumps(cases)}" for test, cases in sorted(found.items()))
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
