"""Lesson 8a: what its prose says follows from the recorded numbers; pictures and replies say what the kernels do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda

from autograder import profile, simulate
from autograder.course import lesson08
from autograder.course.replies import Reply
from autograder.tests.finding import found
from autograder.tests.test_notebooks_exercises import reply_to

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOK = json.loads((NOTEBOOKS / "08a_from_tiles_to_registers.ipynb").read_text(encoding="utf-8"))
CELLS = {each["id"]: "".join(each["source"]) for each in NOTEBOOK["cells"]}
PROSE = " ".join("\n".join("".join(c["source"]) for c in NOTEBOOK["cells"] if c["cell_type"] == "markdown").split())
H200 = json.loads((NOTEBOOKS / "data" / "ladder_h200.json").read_text(encoding="utf-8"))
CODE = json.loads((NOTEBOOKS / "data" / "ladder_machine_code.json").read_text(encoding="utf-8"))["rungs"]
TIMES = H200["products"]["milliseconds"]["4096"]


def answer(cell: str) -> str:
    """The kernel that stands in a hidden answer, named as `reply_to` takes it."""
    text = found(r"```python\n@cuda.jit\n(.*?)```", CELLS[cell], re.S)[1]
    return re.sub(r"^def \w+", "def kernel", text)


FOUR, SQUARE = answer("r-four-answer"), answer("r-square-answer")
ADD = "sums[i, j] += a_tile[k, y + i] * b_tile[k, x + j]"


@pytest.mark.quick
def test_what_the_prose_says_holds_in_what_was_recorded() -> None:
    assert TIMES["tiles"] / TIMES["cuBLAS"] > 4 and "many times as fast on the same GPU" in PROSE
    assert TIMES["strips"] / TIMES["squares"] < 1.25 and "Hardly more than strips" in PROSE
    assert TIMES["squares"] / TIMES["unsigned"] > 1.5
    by_name = {name: CODE[name]["by_name"] for name in ("strips", "squares", "unsigned")}
    whole = {name: CODE[name]["instructions_in_the_loop"] for name in by_name}
    for name in ("strips", "squares"):
        neither = whole[name] - sum(by_name[name].get(each, 0) for each in ("FFMA", "LDS", "LDS.128"))
        assert neither > whole[name] / 2
    assert "in both loops more than half of the instructions are neither" in PROSE
    assert (by_name["squares"]["LDS"], by_name["unsigned"]["LDS.128"]) == (16, 4)
    assert by_name["strips"]["LDS.128"] / by_name["strips"]["FFMA"] == 16 / 64
    assert whole["unsigned"] < whole["squares"] / 2
    assert "Four fetches of four numbers in place of sixteen of one, and less than half the instructions" in PROSE
    read = H200["counters"]["rungs"]
    assert read["unsigned"]["warp_instructions"] < read["squares"]["warp_instructions"] / 2


@pytest.mark.quick
def test_no_recorded_number_is_typed_into_the_prose() -> None:
    for name in ("tiles", "strips", "squares", "unsigned"):
        share = 100 * TIMES["cuBLAS"] / TIMES[name]
        assert not re.search(rf"\b{share:.0f} ?%", PROSE), name
        assert f"{TIMES[name]:.1f}" not in PROSE


def test_what_a_thread_fetches_is_what_its_indices_say() -> None:
    with simulate():
        from autograder.course.lesson08.kernels import squares

        share = lesson08.share_of(squares, (128, 128), 256, 8, 100)
        picture = lesson08.who_holds_what(squares, thread=100)
    y, x = 100 // 16 * 8, 100 % 16 * 8
    assert share.written == {(y + i, x + j) for i in range(8) for j in range(8)}
    of_a = {("a_tile", k, y + i) for k in range(8) for i in range(8)}
    assert share.fetched == of_a | {("b_tile", k, x + j) for k in range(8) for j in range(8)}
    assert share.numbers_a_multiply_add == 16 / 64
    assert f"rows {y} to {y + 7} and columns {x} to {x + 7} of c" in picture.alt


def test_a_thread_without_a_share_is_told() -> None:
    with simulate():
        from autograder.course.lesson02.kernels import naive

        with pytest.raises(ValueError, match="thread 3 reads nothing from shared memory"):
            lesson08.share_of(naive, (32, 32), (32, 32), 8, 3)


@pytest.mark.parametrize(
    "exercise, right",
    [
        (lesson08.numbers_fetched, (1.25, 0.5)),
        (lesson08.what_serves, (128, 16)),
        (lesson08.signed_or_not, ("signed", "unsigned", "signed", "unsigned")),
        (lesson08.signed_or_not, [" Signed", "unsigned", "signed", "UNSIGNED"]),
        (lesson08.blocks_with_registers, (2, 25)),
    ],
)
def test_right_answers(exercise: Callable[[Any], Reply], right: Any) -> None:
    assert exercise(right).outcome == "right"
    assert exercise(tuple(... for _ in right)).outcome == exercise(...).outcome == "your turn"


@pytest.mark.parametrize(
    "exercise, wrong, words",
    [
        (lesson08.numbers_fetched, (5, 8), "How many multiply-adds"),
        (lesson08.numbers_fetched, (0.8, 2), "Upside down"),
        (lesson08.numbers_fetched, (1.25, 0.3125), "four numbers of B"),
        (lesson08.what_serves, (16, 128), "Swapped"),
        (lesson08.what_serves, (32, 16), "the whole block's"),
        (lesson08.signed_or_not, ("unsigned",) * 4, "a plain 8"),
        (lesson08.signed_or_not, ("signed",) * 4, "neither can be below 0"),
        (lesson08.signed_or_not, ("signed", "unsigned", "unsigned", "unsigned"), "Look at the third"),
        (lesson08.signed_or_not, ("unsigned", "signed", "unsigned", "signed"), "other way round"),
        (lesson08.signed_or_not, ("no",) * 4, "four words"),
        (lesson08.signed_or_not, 5, "four words"),
        (lesson08.blocks_with_registers, (8, 100), "registers run out"),
        (lesson08.blocks_with_registers, (2, 12.5), "two blocks of 8 warps"),
    ],
)
def test_wrong_answers_get_words_that_help(exercise: Callable[[Any], Reply], wrong: Any, words: str) -> None:
    reply = exercise(wrong)
    assert reply.outcome == "not yet" and words in reply.words


def test_numba_types_the_four_indices_as_the_exercise_says() -> None:
    """By Numba's own inference."""
    pytest.importorskip("numba.core")
    from numba import njit

    def indices(t: Any, u: Any) -> Any:
        for i in range(8):
            return t * 8, t * np.uint32(8), t + i, t + np.uint32(i)
        return None

    compiled = njit(indices)
    compiled(np.uint32(3), np.uint32(0))
    (overload,) = compiled.overloads.values()
    types = overload.signature.return_type.type.types if hasattr(overload.signature.return_type, "type") else None
    types = types or overload.signature.return_type.types
    kinds = tuple("signed" if each.signed else "unsigned" for each in types)
    assert lesson08.signed_or_not(kinds).outcome == "right"


LOOP = FOUR[FOUR.index("        k = 0\n") : FOUR.index("            k += 1\n") + len("            k += 1\n")]
ONE_AFTER_THE_OTHER = """        for i in range(4):
            k = 0
            while k < 32:
                sums[i] += a_tile[y + 8 * i, k] * b_tile[k, x]
                k += 1
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "change, outcome, words",
    [
        (("", ""), "right", "1.25 each"),
        (("* from_b", "* b_tile[k, x]"), "right", "1.25 each"),
        ((LOOP, ONE_AFTER_THE_OTHER), "not yet", "as with one sum"),
        (("a_tile[y + 8 * i, k] *", "a[row + 8 * i, start + k] *"), "not yet", "asks global memory 408 times"),
        (("k += 1\n        cuda.syncthreads()", "k += 1"), "not yet", "Race on `a_tile"),
        (("    for i in range(4):\n        sums[i] = 0\n", ""), "not yet", "Set every sum to 0 before the first tile"),
        (("(4):\n            a_tile", "(4):\n            sums[i] = 0\n            a_tile"), "not yet", "of the last tile"),
        (("32 * cuda.blockIdx.x + x", "x"), "not yet", "a is 64 x 96, b is 96 x 64"),
        (("32 * cuda.blockIdx.y + y", "y"), "not yet", "a is 64 x 96, b is 96 x 64"),
        (("while k < 32", "while k < 8"), "not yet", "Only the first 8 of the 32 steps"),
        (("range(0, a.shape[1], 32)", "range(0, 32, 32)"), "not yet", "Only the products of the first tile"),
        (("    for i in range(4):\n        c[", "    for i in range(2):\n        c["), "not yet", "16 rows of c, row 16"),
        (("+=", "="), "not yet", "elements differ"),
        (("c[row + 8 * i, column] = sums[i]", "pass"), "your turn", "Nothing was written"),
    ],
)
def test_four_sums(change: tuple[str, str], outcome: str, words: str) -> None:
    changed = FOUR.replace(*change) if change[0] != "+=" else FOUR.replace("sums[i] +=", "sums[i] =")
    assert change == ("", "") or changed != FOUR
    reply = reply_to(lesson08.four_in_a_column, changed)
    assert reply.outcome == outcome and words in reply.words, reply


@pytest.mark.long
@pytest.mark.parametrize(
    "line, outcome, words",
    [
        (ADD, "right", "half a number each"),
        ("pass", "your turn", "All sums are 0"),
        (ADD.replace("+=", "="), "not yet", "add (+=)"),
        (ADD.replace("k, y", "k, z").replace("k, x", "k, y").replace("k, z", "k, x"), "not yet", "takes row y + i"),
        (ADD.replace("[k, y + i]", "[k, i]"), "not yet", "and is 3.1666. It is what belongs to c[0, 0]"),
        (ADD.replace("sums[i, j]", "sums[j, i]"), "not yet", "It is what belongs to c[1, 0]."),
        (ADD.replace("for j in range(4)", "").replace("[i, j]", "[i, i]").replace("x + j", "x + i"), "not yet", "still 0"),
        (ADD.replace("[k, y + i]", "[y + i, k]"), "not yet", "outside its shape (8, 32)"),
        ("sums[i, j] += a[first_row + y + i, start + k] * b_tile[k, x + j]", "not yet", "asks global memory"),
    ],
)
def test_a_square_of_sums(line: str, outcome: str, words: str) -> None:
    reply = reply_to(lesson08.square_of_sums, SQUARE.replace(ADD, line))
    assert reply.outcome == outcome and words in reply.words, reply


@pytest.mark.parametrize("base", ["first_row", "first_column"])
def test_a_square_of_sums_that_all_blocks_begin_at_0_is_not_praised(base: str) -> None:
    axis = "y" if base == "first_row" else "x"
    reply = reply_to(lesson08.square_of_sums, SQUARE.replace(f"32 * cuda.blockIdx.{axis}", "0"))
    assert reply.outcome == "not yet" and "a is 64 x 24, b is 24 x 64" in reply.words, reply


def test_an_unsigned_index_below_0_is_reported_as_outside_and_does_not_wrap() -> None:
    """As the notebook says; on a GPU the address is that of the element in front of the array."""

    @cuda.jit
    def before(x, out):
        i = np.uint32(cuda.threadIdx.x)
        out[i] = x[i - np.uint32(1)]

    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    p = profile(before)[1, 8](x, out)
    assert [each.kind for each in p.hazards] == ["out_of_bounds"]
    assert (out[1:] == x[:-1]).all() and out[0] != x[-1]
