"""The machine instructions that operations are weighed by, against what was counted of machine code and on an H200."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from autograder.simgpu.facts.analysis import Analysis
from autograder.simgpu.facts.forms import Forms
from autograder.simgpu.facts.instruction_costs import costs
from autograder.simgpu.facts.known import Unknown
from autograder.simgpu.facts.placing import READ
from autograder.simgpu.facts.prepared import Prepared
from autograder.simgpu.facts.rounds import rounds_of, value_of
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.single_launch import kernel_function, launch_once
from autograder.simgpu.measurements import instruction_costs
from autograder.simgpu.measurements.cases import CASES
from autograder.simgpu.measurements.differences import measured, simulated
from autograder.simgpu.operations.loops import While
from autograder.simgpu.operations.lowering import Lowering
from autograder.simgpu.operations.operation import Operation, everything_in
from autograder.simgpu.operations.operators import Binary
from autograder.simgpu.operations.powers import POWERS
from autograder.simgpu.operations.statements import UpdateElement

cuda = cuda_module.build_module()
TABLE: dict[str, dict[str, int]] = json.loads(instruction_costs.COSTS.read_text(encoding="utf-8"))["costs"]
HEAD = """
def kernel(a, b, c, d, n):
    i = cuda.grid(1)
"""


def kernel_of(body: str) -> Any:
    """A kernel of float32 arrays a and b, int64 arrays c and d, and a number."""
    import linecache

    text = HEAD + "\n".join(f"    {line}" for line in body.split("\n")) + "\n"
    name = f"<{body}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"cuda": cuda, "math": math, "np": np}
    exec(compile(text, name, "exec"), names)
    return cuda.jit(names["kernel"])


def arguments() -> list[Any]:
    return [np.ones(256, np.float32), np.ones(256, np.float32), np.arange(256), np.arange(256), np.int64(200)]


def operations(body: str) -> list[Operation]:
    function = kernel_function(kernel_of(body))
    launch_once(function, 1, 64, *arguments())
    (ready,) = function.notes[Prepared].values()
    return list(everything_in(ready.kernel.body))


def cost(body: str, text: str) -> int:
    """The instructions of the operation that is written so, at each of its places."""
    return sum(each.slots for each in operations(body) if each.text == text)


def issued(body: str) -> tuple[int, int]:
    """Instructions of warps and of threads, of two warps."""
    counters = launch_once(kernel_function(kernel_of(body)), 1, 64, *arguments()).compiled
    return counters.issued_warp_instructions, counters.issued_thread_instructions


# -- arithmetic -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("c[i] + d[i]", "sum"), ("c[i] * d[i]", "product"), ("c[i] * 7", "product with a constant"),
        ("c[i] * 8", "product with a power of two"), ("c[i] // d[i]", "quotient"), ("c[i] % d[i]", "remainder"),
        ("c[i] // 7", "quotient by a constant"), ("c[i] % 7", "remainder by a constant"),
        ("c[i] // 8", "quotient by a power of two"), ("c[i] % 8", "remainder by a power of two"),
        ("min(c[i], d[i])", "minimum"), ("-c[i]", "negation"),
    ],
)  # fmt: skip
def test_arithmetic_of_integers_costs_what_was_counted(text: str, counted: str) -> None:
    assert cost(f"c[i] = {text}", text) == TABLE["int64"][counted]


@pytest.mark.parametrize(
    ("exponent", "products"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (10, 4)]
)  # what the machine code of sm_90 has, by the emulator
def test_a_constant_whole_exponent_is_written_out_as_products(exponent: int, products: int) -> None:
    assert cost(f"a[i] = a[i] ** {exponent}", f"a[i] ** {exponent}") == products
    whole = cost(f"c[i] = c[i] ** {exponent}", f"c[i] ** {exponent}")
    assert whole == products * TABLE["int64"]["product"]
    assert cost("a[i] = a[i] ** n", "a[i] ** n") == POWERS[np.dtype(np.float32)].once + READ, "and bits, at the launch"


def test_quotient_and_remainder_of_the_same_numbers_have_their_work_in_common() -> None:
    both = "c[i] = n // d[i]\nd[i] = n % d[i]"
    assert cost(both, "n // d[i]") == TABLE["int64"]["quotient"] + READ  # of the parameter n
    assert cost("x = d[i]\nc[i] = n // x\nd[i] = n % x", "n % x") == TABLE["int64"]["quotient beside the remainder"]
    beside = TABLE["int64"]["quotient by a constant beside the remainder"]
    assert cost("c[i] = n // 7\nd[i] = n % 7", "n % 7") == beside


def test_a_value_that_is_there_costs_nothing_again_on_the_same_way_only() -> None:
    assert cost("c[i] = n * i\nd[i] = n * i", "n * i") == TABLE["int64"]["product"] + READ
    arms = "if c[i] > 3:\n    c[i] = n * i\nelse:\n    d[i] = n * i"
    assert cost(arms, "n * i") == 2 * (TABLE["int64"]["product"] + READ)


def test_the_table_is_that_of_the_script() -> None:
    assert costs() == TABLE
    assert set(TABLE["int64"]) == {
        *instruction_costs.OF_INTEGERS, "comparison", "quotient beside the remainder",
        "quotient by a constant beside the remainder",
    }  # fmt: skip
    for kind in ("float32", "float64", "float32, fastmath"):
        assert set(TABLE[kind]) == {*instruction_costs.OF_FLOATS, "from an integer"}
    assert all(number >= 1 for kind in TABLE.values() for number in kind.values())


# -- addresses ------------------------------------------------------------------------------------------------------------


def test_an_index_that_a_condition_tells_the_sign_of_is_not_wrapped_round() -> None:
    wrap = TABLE["address"]["global, 1"] - TABLE["address"]["global, 1, not negative"]
    open_, guarded = cost("if i < n:\n    a[i] = 1", "a[i]"), cost("if i >= 0 and i < n:\n    a[i] = 1", "a[i]")
    assert open_ - guarded == wrap + READ  # of the array's length
    assert cost("if i > 2:\n    a[i - 3] = 1", "a[i - 3]") == guarded
    assert cost("if i > 2:\n    a[i - 4] = 1", "a[i - 4]") == open_
    assert cost("if i < 0:\n    return\na[i] = 1", "a[i]") == guarded


def test_an_update_costs_what_the_same_assignment_costs() -> None:
    pairs = [("a[i] += b[i]", "a[i] = a[i] + b[i]"), ("c[i - 1] *= n", "c[i - 1] = c[i - 1] * n")]
    for update, assignment in pairs:
        assert issued(update) == issued(assignment)
    assert any(isinstance(each, UpdateElement) for each in operations(pairs[0][0]))


# -- loops ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    ["k //= 2", "k = k // 2", "k >>= 1", "k -= 8", "k = k - 5", "k = (k + 1) // 3"],
)
@pytest.mark.parametrize("condition", ["k > 0", "0 < k", "not k <= 0", "k >= 3"])
def test_the_rounds_of_a_while_loop_are_those_that_python_goes_through(steps: str, condition: str) -> None:
    variables, values = {"k": 64}, []
    while eval(condition, {}, variables):
        values.append(variables["k"])
        exec(steps, {}, variables)
    body = f"k = 64\nwhile {condition}:\n    a[i] += b[i + k]\n    {steps}"
    function = kernel_function(kernel_of(body))
    lowering = Lowering()
    lowered = lowering.of(function)
    analysis = Analysis(lowering.anew)
    found = analysis.of_kernel(lowered, {name: Unknown() for name in function.parameters})
    (loop,) = [each for each in everything_in(lowered.body) if isinstance(each, While)]
    rounds = rounds_of(loop, [{}], found, analysis.forms)
    assert [list(state.values()) for state in rounds.states] == [[value] for value in values]
    assert [list(state.values()) for state in rounds.behind] == [[variables["k"]]]
    assert [each.slots for each in operations(body) if isinstance(each, While)] == [0], "it is written out"
    assert all(each.slots == each.once == 0 for each in operations(body) if each.text in (steps, condition))


def test_rounds_that_depend_on_the_loop_around_are_known_too() -> None:
    body = (
        "size = 2\nwhile size <= 64:\n    step = size // 2\n    while step > 0:\n"
        "        a[i] += b[i ^ step]\n        step //= 2\n    size *= 2"
    )
    assert [each.slots for each in operations(body) if isinstance(each, While)] == [0, 0]
    inner_unknown = operations(body.replace("size // 2", "n"))
    assert sorted(each.slots > 0 for each in inner_unknown if isinstance(each, While)) == [False, True]


def test_a_loop_whose_variable_depends_on_memory_is_no_loop_written_out() -> None:
    found = operations("k = 64\nwhile k > 0:\n    k //= 2 + c[i]")
    (loop,) = [each for each in found if isinstance(each, While)]
    assert loop.slots > 0


def test_a_value_is_worked_out_from_the_variables_of_a_round() -> None:
    forms = Forms()
    k, other = forms.atom("k"), forms.atom("other")
    ((number, _),) = k[1]
    shifted = forms.multiply(forms.add(k, forms.constant(3)), forms.add(k, forms.constant(-1)))
    assert value_of(shifted, {number: 7}, forms) == (7 + 3) * (7 - 1)
    assert value_of(forms.add(shifted, other), {number: 7}, forms) is None


def test_an_item_of_an_argument_is_not_known_before_the_loop() -> None:
    forms = Forms()
    item = forms.atom((("argument", "t"), 0))
    assert value_of(item, {}, forms) is None


def test_what_a_loop_leaves_alone_is_worked_out_once() -> None:
    found = operations("for k in range(n):\n    c[k] = n * i + k")
    (product,) = [each for each in found if isinstance(each, Binary) and each.text == "n * i"]
    assert (product.slots, product.once) == (0, TABLE["int64"]["product"])


# -- branches -------------------------------------------------------------------------------------------------------------


def test_pass_behind_else_changes_nothing() -> None:
    body = "if i < 40:\n    a[i] = b[i] + b[i - 1] + b[i - 2]"
    assert issued(body) == issued(f"{body}\nelse:\n    pass")


def test_each_side_of_a_branch_waits_for_itself() -> None:
    """H200: reduce_divergent has 512 branches, 376 of them divergent, and 512 + 376 BSYNC."""
    opcodes = measured()["reduce_divergent"]["opcodes"]
    assert opcodes["BSYNC"] == opcodes["BSSY"] + measured()["reduce_divergent"]["divergent_branches"]
    text = "if {}:\n    for k in range(n):\n        a[i] += b[k] * b[i]\nc[i] = 1"
    whole, halves = issued(text.format("i < 32")), issued(text.format("i % 2 == 0"))
    assert whole[0] > 0 and halves[0] > whole[0]
    assert halves[1] / halves[0] < whole[1] / whole[0]


def test_an_element_that_both_arms_load_is_loaded_once() -> None:
    """H200: nested_branches has one LDG a warp, and 2912 instructions."""
    (case,) = [each for each in CASES if each.name == "nested_branches"]
    assert measured()[case.name]["opcodes"]["LDG.E"] == 32
    assert simulated(case).issued_warp_instructions == pytest.approx(measured()[case.name]["warp_instructions"], rel=0.15)


@cuda.jit(device=True)
def is_there(b, x):
    low = 0
    high = b.size
    while low < high:
        middle = (low + high) // 2
        if b[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low < b.size and b[low] == x


@cuda.jit
def asked_behind_and(a, b, c):
    i = cuda.grid(1)
    if a[i] > 3 and is_there(b, a[i]):
        c[i] += 1


@cuda.jit
def asked_in_a_branch(a, b, c):
    i = cuda.grid(1)
    if a[i] > 3:
        if is_there(b, a[i]):
            c[i] += 1


def test_a_function_that_is_called_behind_and_counts_as_in_a_branch() -> None:
    """Nothing of it was counted: the function's own body was taken for no part of the condition."""
    given = np.arange(256) % 37, np.arange(0, 512, 2), np.zeros(256, np.int64)
    one, other = (launch_once(each, 4, 64, *given).compiled for each in (asked_behind_and, asked_in_a_branch))
    assert one.issued_warp_instructions == pytest.approx(other.issued_warp_instructions, rel=0.02)
    assert one.issued_warp_instructions > 8 * 9 * 20, "nine rounds of a search for each of eight warps"


# -- whole kernels --------------------------------------------------------------------------------------------------------


def test_most_kernels_take_about_as_many_instructions_as_on_an_h200() -> None:
    cases = [case for case in CASES[::3] if measured()[case.name]["warp_instructions"] < 50_000]
    near = [
        case for case in cases
        if abs(simulated(case).issued_warp_instructions / measured()[case.name]["warp_instructions"] - 1) <= 0.25
    ]  # fmt: skip
    assert len(cases) > 45 and len(near) >= 0.85 * len(cases)
