"""The simulated GPU's README cannot lie: its code is run, its listing is printed anew, and what it names is there."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import profile, simgpu
from autograder.errors import KernelFault
from autograder.records.counters import SIGNS
from autograder.simgpu.facts import reasons
from autograder.simgpu.facts.prepared import Prepared
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.single_launch import kernel_function, launch_once
from autograder.simgpu.operations import calls, kinds
from autograder.simgpu.operations.function_calls import everything_of
from autograder.simgpu.operations.loops import For, Loop, While
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.registry import CALLS

pytestmark = pytest.mark.quick

FOLDER = Path(simgpu.__file__).parent
PACKAGE = FOLDER.parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")
course = cuda_module.build_module()


@course.jit(device=True)
def cube(x, i):
    return x[i] * x[i] * x[i]


@course.jit
def cubes(a, out):
    i = course.grid(1)
    out[i] = cube(a, i)


def part(title: str) -> str:
    """What stands under a heading, up to the next one."""
    (found,) = re.findall(rf"^#+ {re.escape(title)}\n(.*?)(?=^##|\Z)", README, re.DOTALL | re.MULTILINE)
    return found


@pytest.fixture
def added():
    """The README's example, for as long as a test runs."""
    known = dict(CALLS)
    (example,) = re.findall(r"```python\n(.*?)```", part("A function that kernels may call"), re.DOTALL)
    names = {"intrinsic": calls.intrinsic, "Call": calls.Call, "Integer": kinds.Integer, "Any": Any, "np": np}
    exec(example, names)
    yield cuda_module.build_module()
    CALLS.clear()
    CALLS.update(known)


def test_a_function_for_kernels_is_added_as_the_readme_says(added):
    cuda = added

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = cuda.lanes_after(0)

    out = np.zeros(40)
    kernel[2, 32](out)
    assert out.tolist() == [*range(31, -1, -1), *range(31, 23, -1)]


def test_the_function_of_the_readme_refuses_what_does_not_fit(added):
    cuda = added

    @cuda.jit
    def with_an_array(out):
        out[0] = cuda.lanes_after(out)

    @cuda.jit
    def with_two(out):
        out[0] = cuda.lanes_after(0, 1)

    for kernel, words in ((with_an_array, "`out` is a whole array"), (with_two, r"cuda\.lanes_after")):
        with pytest.raises(KernelFault, match=words) as refused:
            kernel[1, 32](np.zeros(1))
        assert refused.value.line is not None


def test_the_listing_is_what_its_code_prints():
    statement = part("One statement")
    (code,) = re.findall(r"```python\n(.*?)```", statement, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", statement, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile_with_source(code), {})
    assert printed.getvalue() == shown
    assert "global_load_sectors 13 (0)" in shown


def compile_with_source(code: str) -> Any:
    """Code as a file of its own, since kernels are read from their source."""
    import linecache

    name = "<the README's listing>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    return compile(code, name, "exec")


def test_every_file_that_the_readme_names_is_there():
    named = set(re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9]+)*\.(?:py|json|md))`", README))
    assert len(named) > 40
    places = (FOLDER, PACKAGE, FOLDER / "measurements")
    assert sorted(name for name in named if not any((each / name).exists() for each in places)) == []


def test_every_name_that_the_readme_sends_a_reader_to_is_there():
    guide = re.sub(r"```.*?```", "", README.split("## How it works")[1].split("## What it runs")[0], flags=re.DOTALL)
    text = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py"))
    guide = re.sub(r"`[^`]*\.(py|json|md)`", "", guide)
    named = {name for each in re.findall(r"`([A-Za-z_.]+)`", guide) for name in each.split(".")}
    assert {"Lowering", "carry_out", "count_sectors", "left_out", "leaves_no_load"} <= named
    assert sorted(name for name in named if not re.search(rf"\b{name}\b", text)) == []


def test_every_fact_of_the_compilers_is_in_the_readmes_table():
    facts = set(Operation.__slots__) - {"node", "function", "line", "is_under_atomic", "multiplies"}
    facts = {each for each in facts if not each.startswith("_")}  # what operations keep for themselves
    facts |= {"held_loads", "held_stores", "is_cheap", "counted", "is_four_at_once", "arriving", "before", "fours"}
    owners = {*Operation.__slots__, *Loop.__slots__, *For.__slots__, *While.__slots__}
    assert facts <= owners
    rows = [line for line in part("What the compiler leaves").splitlines() if line.startswith("| ")][1:]
    told = {fact for row in rows for fact in re.findall(r"`([a-z_]+)`", row)}
    assert told == facts
    assert all(re.search(r"`[a-z_0-9/]+\.json`", row) for row in rows), "a rule without evidence"


def test_the_reasons_of_a_profile_are_facts_of_operations():
    assert set(reasons.OF_A_FACT) <= set(Operation.__slots__)
    words = [*reasons.OF_A_FACT.values(), reasons.HELD_LOAD, reasons.HELD_STORE, reasons.WIDE_LOADS, reasons.LOCAL]
    assert len(set(words)) == len(words) and not any(each.endswith(".") for each in words)


def test_the_numbers_of_measured_kernels_are_those_of_the_files():
    told = part("What the compiler leaves")
    for name, words in (
        ("h200_counters", "`h200_counters.json` has the counters of {} kernels"),
        ("unseen_counters", "those of {} ordinary ones"),
    ):
        cases = json.loads((FOLDER / "measurements" / f"{name}.json").read_text(encoding="utf-8"))["cases"]
        assert words.format(len(cases)) in " ".join(told.split())


def test_reasons_are_told_of_a_line_by_line_and_each_once():
    a = np.ones(64, np.float32)
    p = profile(cubes)[1, 64](a, np.zeros_like(a))
    by_text = {each.text.strip(): each.why for each in p.lines}
    assert by_text["return x[i] * x[i] * x[i]"] == (SIGNS, reasons.NO_LOAD)
    assert by_text["out[i] = cube(a, i)"] == (SIGNS,)


def test_operations_come_in_the_order_of_the_source_with_the_functions_that_are_called():
    function = kernel_function(cubes)
    launch_once(function, 1, 32, np.ones(32, np.float32), np.ones(32, np.float32))
    (ready,) = function.notes[Prepared].values()
    texts = [each.text for each in everything_of(ready.kernel.body) if each.text.startswith(("cube(", "x["))]
    assert texts == ["cube(a, i)", "x[i] * x[i] * x[i]", "x[i] * x[i]", "x[i]", "x[i]", "x[i]"]
