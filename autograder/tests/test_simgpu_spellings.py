"""Spellings of one kernel with equal machine code have equal counters and an equal predicted time.

measurements/spellings.json says which spellings the compiler makes the same machine code of. `KNOWN` lists what differs here
today; a difference that is not listed fails, and a listed one that has gone fails too.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from autograder import profile
from autograder.profiling import Profile
from autograder.records.counters import Counters
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.launch_record import estimate_launch
from autograder.simgpu.measurements.differences import ATOMIC, GLOBAL, LOCAL, RATIO, SHARED
from autograder.simgpu.measurements.spellings import COMPILED, FAMILIES, Family, defined

cuda = cuda_module.build_module()
FAMILY = {family.name: family for family in FAMILIES}
CODE = json.loads(COMPILED.read_text(encoding="utf-8"))["families"]
SAME = ("equal", "but for registers", "but for order")
COUNTERS = (*GLOBAL, *SHARED, *ATOMIC, *LOCAL, RATIO)  # those that are held against the hardware
PAIRS = [(name, spelling) for name, kinds in CODE.items() for spelling in kinds
         if spelling and kinds[spelling]["like the first"] in SAME]  # fmt: skip

MOST_OF_TIME = 0.01  # by which the predicted times of two spellings may differ, even where that is listed
# (kernel, spelling): what differs from the kernel as it stands; "time" is the predicted time on an H200
KNOWN: dict[tuple[str, str], str] = {
    # by 0.2 %: the slowest warp's instructions are counted as the source has them
    ("scan", "other half named"): "time",
    ("shared stencil", "ifs nested"): "time",
    ("naive multiply", "ifs nested"): "time",
    ("naive multiply", "element function"): "time",
    ("total in global memory", "written out"): "time",
    ("total in global memory", "commuted"): "time",
    ("transpose", "written out"): "time",
    ("reduction", "while half"): "time",
    ("reduction", "not zero"): "time",
    ("reduction", "loop over a tuple"): "threads_per_instruction time",
    ("global histogram", "step by formula"): "time",
    ("stencil", "two comparisons"): "threads_per_instruction",
    ("stencil", "ifs nested"): "threads_per_instruction time",
    # one read of a parameter or of a thread's place more or less, which the compiler folds into another instruction
    ("reduction", "grid named"): "threads_per_instruction time",
    ("transpose", "value named"): "time",
    ("total in global memory", "row of the result"): "time",
    ("global histogram", "shape for size"): "time",
}


def of_the_compiler(record: Profile) -> Counters:
    """The counters of a launch as the compiler leaves the kernel: those that equal machine code has in common."""
    return record.compiled


@cache
def seen(name: str, spelling: str) -> dict[str, float]:
    """Counters held against the hardware and the predicted time in ns, of one launch in a spelling."""
    family: Family = FAMILY[name]
    launched = profile(defined(family.text(spelling), cuda))[family.grid, family.block](*family.arguments())
    counters = of_the_compiler(launched)
    return {each: getattr(counters, each) for each in COUNTERS} | {"time": estimate_launch(launched.record, "H200").ns}


def differing(name: str, spelling: str) -> str:
    plain, other = seen(name, ""), seen(name, spelling)
    return " ".join(each for each in plain if plain[each] != pytest.approx(other[each], rel=1e-9, abs=0))


@pytest.mark.parametrize(("name", "spelling"), PAIRS, ids=[f"{name}, {spelling}" for name, spelling in PAIRS])
def test_a_spelling_with_the_same_machine_code_has_the_same_counters_and_time(name: str, spelling: str) -> None:
    differs, listed = differing(name, spelling), KNOWN.get((name, spelling), "")
    values = {each: (seen(name, "")[each], seen(name, spelling)[each]) for each in differs.split()}
    assert differs == listed, f"differs in {values}, listed is {listed!r}"
    if "time" in values:
        assert values["time"][0] == pytest.approx(values["time"][1], rel=MOST_OF_TIME), values


def test_the_data_is_of_these_kernels_and_has_at_least_seventy_pairs() -> None:
    assert {name: ["", *family.spellings] for name, family in FAMILY.items()} == {k: list(v) for k, v in CODE.items()}
    assert set(KNOWN) <= set(PAIRS)
    assert len(PAIRS) >= 150
    equal = [pair for pair in PAIRS if CODE[pair[0]][pair[1]]["like the first"] == "equal"]
    assert all(CODE[name][spelling]["sha256"] == CODE[name][""]["sha256"] for name, spelling in equal)
    assert len(equal) >= 70
