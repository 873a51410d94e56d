"""Makes intervals.json, from which an estimate says how sure it is, and the README's table of how well that holds.

    python -m autograder.perfmodel.measurements.intervals     # after counts, times or the model have changed

Split conformal prediction (Vovk, Gammerman and Shafer 2005): of the cases set aside for it, the logarithms of measured over
predicted are put in order by size, and the one at nine tenths (of their number and one more) is the factor that a new case
stays within nine times of ten, whatever their distribution, as long as the new one is like them. Mondrian: by the resource
that limits the kernel, where that has `LEAST` cases; the others take the factor of all cases together.

Times: of the eighth set of kernels, timed when the rules stood. Those that it was developed with would say too little, and
so would the learned half of the unseen ones, on which its rules were made. Ratios: of the labs' answers whose verdict is one
of speed, those of the same work once. Sizes of one kernel are alike, and so are
answers to one lab: who judges the intervals by the cases that made them leaves out all of a kernel, or of a lab, together.
Of the held half only totals are taken, of all and of each resource with `TOLD` cases: it is these shares that are told, not
the one that was aimed at.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, exp, log

from autograder.perfmodel import SPECIFICATIONS, sureness
from autograder.perfmodel.measurements import unseen, verdicts
from autograder.perfmodel.measurements.predicting import publish
from autograder.perfmodel.sureness import ANY, Class

SHARE = 0.9  # of cases that an interval is to hold
TOLD = 10  # cases, the fewest of which a share is told
OTHERS = "all others"  # resources with fewer
LEAST = 19  # cases, the fewest of which no single one sets the factor: its place in the order is not the last


@dataclass(frozen=True)
class ClockedPrediction:
    """One prediction held against the clock."""

    name: str  # of the kernel, or of the lab's check and answer
    group: str  # what is left out together when a prediction is judged that had no part in the table
    binding: str
    off: float  # logarithm of measured over predicted
    unit: str = ""  # cases of the same one are alike: of them together the one that is furthest off counts
    waits: bool = False  # for other threads: its interval has no upper end

    def is_within(self, classes: Mapping[str, Class]) -> bool:
        """Whether the interval that these factors give holds the clock."""
        below = -self.off if self.waits else abs(self.off)
        return below <= log(classes.get(self.binding, classes[ANY]).factor)


def factor(sizes: Sequence[float]) -> float:
    """What a new case is off by at most, nine times of ten, by the sizes of the logarithms of those that are known."""
    place = ceil((len(sizes) + 1) * SHARE - 1e-9)
    if place > len(sizes):
        raise ValueError(f"{len(sizes)} cases are too few for an interval that holds {SHARE:.0%} of others: take more.")
    return exp(sorted(sizes)[place - 1])


def classes(cases: Iterable[ClockedPrediction]) -> dict[str, Class]:
    """The factor of each resource with enough units, and that of all together. Who waits for others has no part in them."""
    furthest: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for each in cases:
        for kind in () if each.waits else (ANY, each.binding):
            unit = each.unit or each.name
            furthest[kind][unit] = max(abs(each.off), furthest[kind].get(unit, 0.0))
    return {
        kind: Class(round_up(factor(list(furthest[kind].values()))), len(furthest[kind]))
        for kind in sorted(furthest)
        if kind == ANY or len(furthest[kind]) >= LEAST
    }


def round_up(number: float) -> float:
    """To three decimals, upwards: the case at the edge stays within."""
    return ceil(number * 1000 - 1e-9) / 1000


def times(half: str) -> list[ClockedPrediction]:
    """The unseen cases of a half, or the closed set's."""
    return [
        ClockedPrediction(
            each.case,
            kernel := each.case.split("@")[0],
            each.binding,
            log(each.measured_ns / each.predicted_ns),
            unit=kernel,
            waits=each.waits,
        )
        for each in (unseen.of_set(half) if half == unseen.CLOSED else unseen.predictions())
        if each.half == half
    ]


def judged_answers() -> list[ClockedPrediction]:
    """The labs' answers on which speed decides, without the baseline: one for all that do the same work in a check."""
    return [
        ClockedPrediction(f"{lab}, {check}: {each.name}", lab, each.binding, log(each.measured / each.predicted))
        for lab in verdicts.labs()
        for check in verdicts.speed_checks(lab)
        for each in verdicts.distinct([one for one in verdicts.judged(lab, check) if one.name != "baseline"])
    ]


def table() -> dict[str, object]:
    """What intervals.json is to hold."""

    def as_data(found: Mapping[str, Class]) -> dict[str, object]:
        return {name: asdict(each) for name, each in found.items()}

    known = classes(times(unseen.CLOSED))
    learned = {ANY: classes(times("learned"))[ANY]}
    answers = judged_answers()
    return {
        "gpu": SPECIFICATIONS["H200"].name,
        "share": SHARE,
        "times": as_data(known),
        "ratios": as_data(classes(answers)),
        "held times": shares([(each, each.is_within(known)) for each in times("held")]),
        "held ratios": shares(without_its_group(answers)),
        "learned half": {
            "times": asdict(learned[ANY]),
            "held times": shares([(each, each.is_within(learned)) for each in times("held")])[ANY],
        },
    }


def shares(found: Sequence[tuple[ClockedPrediction, bool]]) -> dict[str, int]:
    """How many of a hundred lie within their interval, downwards: of all, and of each resource with `TOLD` cases."""
    by_kind: defaultdict[str, list[bool]] = defaultdict(list)
    for each, is_within in found:
        for kind in (ANY, each.binding):
            by_kind[kind].append(is_within)
    return {
        kind: 100 * sum(by_kind[kind]) // len(by_kind[kind])
        for kind in sorted(by_kind)
        if kind == ANY or len(by_kind[kind]) >= TOLD
    }


def without_its_group(cases: Sequence[ClockedPrediction]) -> list[tuple[ClockedPrediction, bool]]:
    """Each case, and whether the intervals of all other groups hold it."""
    groups = {each.group for each in cases}
    known = {group: classes(each for each in cases if each.group != group) for group in groups}
    return [(each, each.is_within(known[each.group])) for each in cases]


def coverage_text(found: Sequence[tuple[ClockedPrediction, bool]]) -> str:
    """How many lie within their interval."""
    within = sum(is_within for _, is_within in found)
    return f"{within} of {len(found)} ({within / len(found):.0%})"


def coverage_table() -> str:
    """By limiting resource: the factors, and how many cases that had no part in them they hold.

    Resources without a factor of their own have that of any; those with few cases are told together.
    """
    known = sureness.known()
    held = [(each, each.is_within(known.times)) for each in times("held")]
    answers = without_its_group(judged_answers())
    told = [shares(found) for found in (held, answers)]
    lines = [
        "| limited by | times: within a factor of | kernels | held half within "
        "| ratios | answers | within, of labs left out |",
        "|---|---|---|---|---|---|---|",
    ]
    resources = sorted({*known.times, *known.ratios, *told[0], *told[1]} - {ANY})
    for name in (ANY, *resources, OTHERS):
        cells = []
        for of, found, alone in ((known.times, held, told[0]), (known.ratios, answers, told[1])):
            own = of.get(name)
            cells += [f"{own.factor:.2f}", str(own.cases)] if own else ["", ""]
            kinds = [each if each in alone else OTHERS for each in (one[0].binding for one in found)]
            within = [one for one, kind in zip(found, kinds, strict=True) if name in (ANY, kind)]
            cells.append(coverage_text(within) if within else "")
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def close_calls() -> str:
    """By check of speed: of how many answers the interval spans the threshold, and what the clock says of them."""
    lines = [
        "| lab, check | judged by speed | too close to call | of them pass by both | fail by both | differ |",
        "|---|---|---|---|---|---|",
    ]
    for lab in verdicts.labs():
        for check in verdicts.speed_checks(lab):
            found = verdicts.judged(lab, check)
            close = [each for each in found if each.is_close]
            passing = sum(each.agrees and each.measured >= each.threshold for each in close)
            failing = sum(each.agrees and each.measured < each.threshold for each in close)
            cells = (f"{lab}, {check}", len(found), len(close), passing, failing, len(close) - passing - failing)
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    text = json.dumps(table(), indent=1)
    sureness.TABLE.write_text(text + "\n", encoding="utf-8")
    sureness.known.cache_clear()
    publish("coverage", coverage_table())
    publish("close calls", close_calls())
    print(text)


if __name__ == "__main__":
    main()
