"""Holds predictions against measured times: counted.json and validation.json in, a table of TABLES.md out.

python -m autograder.perfmodel.measurements.predicting     # writes the table into TABLES.md
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autograder.perfmodel import SPECIFICATIONS, Estimate, estimate, roofline
from autograder.records.counters import Counters

HERE = Path(__file__).parent
PAGES = (HERE.parent / "README.md", HERE.parent / "TABLES.md")


@dataclass(frozen=True)
class Prediction:
    """One case: measured, predicted, and what the plain roofline would say.

    `counters` are those that the compiler leaves, on which predictions stand; `source` those of the source, which the
    model of 2009 reads.
    """

    case: str
    size: int
    measured_ns: float
    estimate: Estimate
    roofline_ns: float
    counters: Counters
    source: Counters

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.estimate.ns / self.measured_ns - 1


def predictions() -> list[Prediction]:
    """Every counted case that was measured."""
    cases = json.loads((HERE / "validation.json").read_text(encoding="utf-8"))["cases"]
    measured = {(row["case"], row["size"]): row for row in cases}
    h200, found = SPECIFICATIONS["H200"], []
    for row in json.loads((HERE / "counted.json").read_text(encoding="utf-8")):
        key = row["case"], row["size"]
        counters = Counters(**row["counters"])
        source = Counters(**(row["counters"] | row["source"]))
        predicted = estimate(
            counters,
            h200,
            threads_per_block=row["threads_per_block"],
            shared_bytes_per_block=row["shared_bytes_per_block"],
            registers_per_thread=measured[key]["registers_per_thread"],
            array_bytes=row["array_bytes"],
        )
        moved = 32 * (counters.unique_load_sectors + counters.unique_store_sectors)
        floor = roofline(h200).floor_ns(counters.operations, moved)
        found.append(Prediction(*key, measured[key]["measured_ns"], predicted, floor, counters, source))
    return found


def by_case() -> dict[tuple[str, int], Prediction]:
    """The same by name and size, to look one up."""
    return {(each.case, each.size): each for each in predictions()}


def summary(found: list[Prediction]) -> dict[str, float]:
    """Median and 90th percentile of the error's size."""
    sizes = np.abs([each.error for each in found])
    return {"median": float(np.median(sizes)), "90th percentile": float(np.percentile(sizes, 90))}


def table(found: list[Prediction]) -> str:
    """The table, in microseconds."""
    lines = [
        "| case | size | measured us | predicted us | error | binds | roofline us |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in sorted(found, key=lambda one: (one.case, one.size)):
        lines.append(
            f"| {each.case} | {each.size} | {each.measured_ns / 1e3:.1f} | {each.estimate.ns / 1e3:.1f} "
            f"| {each.error:+.0%} | {each.estimate.binding} | {each.roofline_ns / 1e3:.1f} |"
        )
    return "\n".join(lines)


def headline(found: list[Prediction]) -> str:
    """The sentence above the table."""
    shares = ", ".join(f"{name} {share:.0%}" for name, share in summary(found).items())
    plain = np.median([abs(each.roofline_ns / each.measured_ns - 1) for each in found])
    errors = f"size of the error: {shares}. The roofline's median error is {plain:.0%}."
    return f"{len(found)} cases, those of development; {errors}"


def publish(name: str, text: str) -> None:
    """Puts text between the comments that bear this name, in README.md or in TABLES.md: one of them has the place."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end of {name} -->)", flags=re.S)
    places = [(page, len(pattern.findall(page.read_text(encoding="utf-8")))) for page in PAGES]
    if sum(count for _, count in places) != 1:
        found_in = ", ".join(f"{page.name} {count}" for page, count in places)
        raise ValueError(f"`<!-- {name} -->` is to stand on one page, once; it stands there so often: {found_in}.")
    for page, count in places:
        if count:
            written = pattern.sub(lambda found: found[1] + text + found[2], page.read_text(encoding="utf-8"))
            page.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    everything = predictions()
    publish("predictions", f"{headline(everything)}\n\n{table(everything)}")
    print(headline(everything))
