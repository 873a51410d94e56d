"""Results as grading leaves them, one of each kind that a report must tell apart, and some made to break a page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from autograder.errors import Line
from autograder.records.counters import Counters, LineProfile
from autograder.records.hazards import Hazard
from autograder.records.results import CheckResult, Hint, Mismatch, Picture, Result

CELL = "lab.ipynb, code cell 3"
SIMULATED = "simulated GPU (modelled on an NVIDIA H200)"
TITLE = "Lab 1: naive matrix multiply"

_KERNEL = """@cuda.jit
def matmul_kernel(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = numba.float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, column]
        c[row, column] = total
""".splitlines()

# 256 x 256 by 256 x 256 in 16 x 16 blocks: the totals that a hardware profiler read on an H200 for this kernel.
_COUNTED = {
    3: Counters(warp_instructions=4_096),
    4: Counters(warp_instructions=8_192, branches=2_048),
    5: Counters(warp_instructions=2_048),
    6: Counters(warp_instructions=526_336),
    7: Counters(
        global_load_requests=1_048_576,
        global_load_sectors=2_097_152,
        warp_instructions=2_621_440,
        float32_operations=33_554_432,
    ),
    8: Counters(global_store_requests=2_048, global_store_sectors=8_192, warp_instructions=2_048),
}
LINES = tuple(
    LineProfile(Line(CELL, number), text, _COUNTED.get(number, Counters()), _COUNTED.get(number, Counters()))
    for number, text in enumerate(_KERNEL, start=1)
    if number > 1
)

_CHECKS = (
    ("right_on_square_matrices", "The product is right on square matrices.", 2),
    ("right_on_any_shape", "The product is right on ragged, tiny and non-square matrices.", 2),
    ("stays_inside_its_arrays", "The kernel never reads or writes outside its arrays.", 2),
    ("leaves_its_inputs_alone", "The kernel leaves its inputs alone.", 1),
    ("writes_every_element", "Every element of the product is written.", 1),
    ("walks_along_rows", "Consecutive threads walk along a row of B.", 2),
    ("beats_the_baseline", "The kernel beats the baseline.", 3),
)

_SPEED = {
    "ratio": 2.81,
    "low": 2.81,
    "high": 2.81,
    "threshold": 2.0,
    "full_points_at": 2.6,
    "baseline_ns": 4.46e6,
    "submission_ns": 1.587e6,
    "binding": "L1",
}


def passed_check(name: str, title: str, points: float) -> CheckResult:
    if name == "beats_the_baseline":
        return CheckResult(name, title, "passed", points, points, measured=_SPEED, source="simulated")
    if name == "walks_along_rows":
        measured = {"sectors_per_request": 2.0, "most_allowed": 4.0}
        return CheckResult(name, title, "passed", points, points, measured=measured)
    return CheckResult(name, title, "passed", points, points)


def result_with(student: str, changed: dict[str, dict[str, Any]] | None = None, **fields) -> Result:
    """A full-marks result of `student`, with the fields in `changed` replaced in the checks it names."""
    checks = []
    for name, title, points in _CHECKS:
        check = passed_check(name, title, points)
        checks.append(replace(check, **(changed or {}).get(name, {})))
    whole = Result(
        lab="lab01",
        lab_title=TITLE,
        student=student,
        submission="lab.ipynb",
        checks=tuple(checks),
        device=SIMULATED,
        source="simulated",
        isolation=("process", "memory 2 GiB", "time 60 s"),
        lines=LINES,
        counters=Counters(global_load_requests=1_048_576, launches=1, blocks=256, threads=65_536),
        key="4f2a9c1be07d",
        graded_at="2026-11-03T10:15:00Z",
        seconds=1.34,
    )
    return replace(whole, **fields)


def all_passed() -> Result:
    return result_with("ada")


def syntax_error() -> Result:
    message = "lab.ipynb, code cell 3, line 7: this is not Python: '(' was never closed"
    changed = {
        name: {"outcome": "not run", "points": 0, "message": "The submission could not be read.", "measured": {}}
        for name, _, _ in _CHECKS
    }
    return result_with("grace", changed, error=message, lines=(), counters=None)


def transposed_mapping() -> Result:
    """Right answers, wrong walk: x mapped to rows, and a slip in the border besides."""
    rng = np.random.default_rng(7)
    expected = rng.normal(0, 8, 24).astype(np.float32)
    got = [np.float32(0) if i % 3 else np.float32("nan") for i in range(24)]
    mismatches = tuple(Mismatch("c", (i // 5, 66 + i % 5), float(expected[i]), float(got[i])) for i in range(24))
    reproduce = (
        "import numpy as np\nfrom numba import cuda\n\nrng = np.random.default_rng(3)\n"
        "a = cuda.to_device(rng.random((33, 67), dtype=np.float32))\n"
        "b = cuda.to_device(rng.random((67, 71), dtype=np.float32))\n"
        "c = cuda.device_array((33, 71), np.float32)\nmatmul(a, b, c)\n"
        "print(abs(c.copy_to_host() - a.copy_to_host() @ b.copy_to_host()).max())"
    )
    hint = Hint(
        "transposed_mapping",
        "Your x index picks the row. The 32 threads of a warp differ in x first, so they read 32 different rows of B "
        "at once, each in a sector of its own. Let x pick the column.",
    )
    return result_with(
        "emmy",
        {
            "right_on_any_shape": {
                "outcome": "failed",
                "points": 0.5,
                "message": "24 of 2,343 elements of c are wrong for a (33 x 67) by a (67 x 71) matrix.",
                "mismatches": mismatches,
                "reproduce": reproduce,
                "pictures": (
                    Picture(
                        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 284 132" width="568" height="264">'
                        '<rect width="284" height="132" fill="#dfe6ec"/>'
                        '<rect x="248" width="36" height="20" fill="#D55E00"/></svg>',
                        "A map of c: the wrong elements are the last five columns of the first five rows.",
                    ),
                ),
            },
            "walks_along_rows": {
                "outcome": "failed",
                "points": 0,
                "message": "A load of B touches 16 sectors a request; 4 are enough.",
                "measured": {"sectors_per_request": 16.0, "most_allowed": 4.0, "worst_line": 7},
                "hints": (hint,),
            },
            "beats_the_baseline": {
                "outcome": "failed",
                "points": 0,
                "message": "1.04 times the baseline's speed (simulated); 2 times asked for.",
                "measured": _SPEED | {"ratio": 1.04, "low": 1.04, "high": 1.04, "submission_ns": 4.29e6},
            },
        },
    )


def race() -> Result:
    hazard = Hazard(
        kind="race",
        message="Two threads of one block use tile[0, 3] with no barrier between, and one of them writes it.",
        remedy="Call cuda.syncthreads() between the store and the load.",
        line=Line(CELL, 14),
        text="            total += tile_a[ty, k] * tile_b[k, tx]",
        kernel="matmul_kernel",
        block=(0, 0, 0),
        thread=(3, 1, 0),
        array="tile",
        index=(0, 3),
        occurrences=61_440,
        other_line=Line(CELL, 11),
        other_thread=(3, 0, 0),
    )
    warning = replace(
        hazard,
        kind="accidental_float64",
        severity="warning",
        message="0.5 is a float64, so this line computes in float64, at half the speed or less.",
        remedy="Write numba.float32(0.5).",
        other_line=None,
        other_thread=None,
        occurrences=1,
    )
    failed = {"outcome": "failed", "points": 0, "message": "The kernel has a race.", "hazards": (hazard, warning)}
    waits = {"outcome": "not run", "points": 0, "message": "Waits for: stays inside its arrays.", "measured": {}}
    return result_with("barbara", {"stays_inside_its_arrays": failed, "beats_the_baseline": waits})


def out_of_bounds() -> Result:
    hazard = Hazard(
        kind="out_of_bounds",
        message="Index 1000 is outside axis 1 of b, which has 1,000 columns.",
        remedy="Guard the access: only threads with column < c.shape[1] may go on.",
        line=Line(CELL, 7),
        text="            total += a[row, i] * b[i, column]",
        kernel="matmul_kernel",
        block=(62, 0, 0),
        thread=(8, 0, 0),
        array="b",
        index=(0, 1000),
        occurrences=8_000,
    )
    failed = {
        "outcome": "failed",
        "points": 0,
        "message": "The kernel reads outside b.",
        "hazards": (hazard,),
        "hints": (Hint("no_guard", "63 blocks of 16 are 1,008 threads, so the last eight have no column."),),
    }
    waits = {"outcome": "not run", "points": 0, "message": "Waits for: stays inside its arrays.", "measured": {}}
    changed = {"stays_inside_its_arrays": failed, "walks_along_rows": waits, "beats_the_baseline": waits}
    return result_with("edsger", changed)


def ambiguous_on_a_gpu() -> Result:
    measured = _SPEED | {"ratio": 2.02, "low": 1.94, "high": 2.11, "submission_ns": 2.21e6, "ambiguous": True}
    speed = {"points": 1.5, "measured": measured | {"repeats": 60}, "source": "measured"}
    flags = ("beats_the_baseline: 2 times lies within the interval 1.94 to 2.11", "clock fell by 12 % while timing")
    return result_with("katherine", {"beats_the_baseline": speed}, device="NVIDIA H200", source="measured", flags=flags)


def too_close_by_prediction() -> Result:
    """Too slow by what was predicted, and not by so much that a GPU could not see it otherwise."""
    measured = _SPEED | {"ratio": 1.9, "low": 1.52, "high": 2.38, "submission_ns": 2.35e6, "ambiguous": True}
    measured |= {"slowest_kernel": "matmul_kernel, 2.35 ms; 1.88 ms to 2.94 ms in 78 % of unseen kernels"}
    measured |= {"interval_held_percent": 86}
    speed = {"outcome": "failed", "points": 1.35, "measured": measured}
    flags = ("beats_the_baseline: too close to call by prediction: 2 times lies within the 1.52 to 2.38 to expect",)
    return result_with("radia", {"beats_the_baseline": speed}, flags=flags)


def grader_fault() -> Result:
    message = "The worker was killed: out of memory."
    fault = {"outcome": "not run", "points": 0, "fault": True, "message": message, "measured": {}}
    return result_with("annie", {"writes_every_element": fault, "beats_the_baseline": fault})


KINDS = (
    all_passed, syntax_error, transposed_mapping, race, out_of_bounds, ambiguous_on_a_gpu, grader_fault,
)  # fmt: skip

HOSTILE_NAME = '=cmd|"/c calc"!A1</script><script>alert(1)</script>\u202egnp.exe\x1b[2J 🧮 عربي'


def hostile() -> Result:
    """Every field that a student controls, filled with what breaks pages, terminals and spreadsheets."""
    long_line = "x = '" + "<&\"'>" * 2_000 + "'"
    hazard = Hazard("race", HOSTILE_NAME, HOSTILE_NAME, Line(HOSTILE_NAME, 1), text=long_line, kernel=HOSTILE_NAME)
    check = CheckResult(
        name="right",
        title="The product is right.",
        outcome="failed",
        points=0,
        max_points=2,
        message=long_line,
        hints=(Hint("hint", long_line),),
        mismatches=tuple(Mismatch(HOSTILE_NAME, (i, i), float("nan"), float("-inf")) for i in range(500)),
        hazards=(hazard,) * 50,
        reproduce=(HOSTILE_NAME + "\n") * 500,
        measured={HOSTILE_NAME: HOSTILE_NAME, "ratio": float("nan"), "threshold": 2.0},
        pictures=(Picture("<svg><script>alert(1)</script></svg>", HOSTILE_NAME), Picture(" " * 900_000, "too big")),
    )
    lines = tuple(
        LineProfile(Line(HOSTILE_NAME, i), long_line, Counters(warp_instructions=i), Counters())
        for i in range(1, 2_000)
    )
    return Result(
        lab="lab01",
        lab_title=TITLE,
        student=HOSTILE_NAME,
        submission=HOSTILE_NAME + "\udc80",
        checks=(check,) * 8,
        device=SIMULATED,
        source="simulated",
        error=HOSTILE_NAME,
        flags=(HOSTILE_NAME,),
        lines=lines,
    )


def a_class(size: int = 300) -> list[Result]:
    """`size` results with the spread of a real class, the same every time."""
    rng = np.random.default_rng(11)
    results = []
    for i in range(size):
        base = KINDS[min(int(rng.exponential(2.0)), len(KINDS) - 1)]()
        ratio = float(np.round(rng.lognormal(0.8, 0.35), 3))
        checks = []
        for check in base.checks:
            if check.source is not None and "ratio" in check.measured and not check.measured.get("ambiguous"):
                won = ratio >= 2.0
                measured = {**check.measured, "ratio": ratio, "low": ratio * 0.98, "high": ratio * 1.02}
                check = replace(check, measured=measured, outcome="passed" if won else "failed", points=3.0 if won else 0.0)
            checks.append(check)
        results.append(replace(base, student=f"{base.student}-{i:03d}", checks=tuple(checks)))
    return results
