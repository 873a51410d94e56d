"""What is a kernel and what is not, by Numba's word: 4,000 generated kernels against measurements/generated_kernels.json.

`CAUSES` lists every disagreement known today by cause, with its number of kernels; one that is new fails, and one that has
gone fails too, so that the table is taken down as the simulated GPU is mended. `make test` tries two kernels of each
template, `make test-all` every one.
"""

from __future__ import annotations

import linecache
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from autograder.errors import KitError
from autograder.simgpu.host import cuda_module
from autograder.simgpu.measurements import generated_kernels as made
from autograder.simgpu.measurements.generated_kernels import BLOCK, GRID, SEEDS, Generated, generated
from autograder.tests.part import covering

pytestmark = pytest.mark.long

cuda = cuda_module.build_module()
KEPT = made.read_verdicts()
NUMBA: dict[str, str] = KEPT["numba"]["verdicts"]
UNDECIDED = set(KEPT["numba-cuda"]["verdicts"])  # seeds on which numba and numba-cuda disagree with each other


@dataclass(frozen=True)
class Cause:
    """Kernels that one side takes and the other refuses.

    `words` is searched in "feature: template | Numba's words", with the template as the grammar has it: what Numba takes
    has no words, so those causes are told by the template alone. The first cause that fits is the one that counts.
    """

    taken_by: str  # "us": Numba refuses them; "Numba": we refuse them
    words: str
    kernels: int
    reason: str


def _taken_by_us(words: str, kernels: int, reason: str) -> Cause:
    return Cause("us", words, kernels, reason)


def _taken_by_numba(words: str, kernels: int, reason: str) -> Cause:
    return Cause("Numba", words, kernels, reason)


CAUSES = (
    _taken_by_us(r"module 'numba\.cuda' has no attribute 'random'", 4,
        "cuda.random in a program that has not imported it: a kernel cannot tell here"),
    _taken_by_us(r"^builtin: .*(max\(|complex\()", 2,
        "max of three numbers, at which Numba 0.68 fails by itself; complex() of a float16"),
    _taken_by_us(r"^numpy: ", 1, "more of NumPy runs here than on Numba's CUDA target"),
    _taken_by_us(r"^tuple: .*\(a, m\)", 2, "an item of a mixed tuple by a difference of constants, not worked out by Numba"),
    _taken_by_us(r"Type of variable '\.\.' cannot be determined", 3,
        "`:=` of more than a name in a condition: Numba loses the variable, which is a mistake of its own"),
    _taken_by_numba(r"^nested: .*lambda", 3, "a lambda called with more arguments than it takes: Numba ignores them"),
    _taken_by_numba(r"^membership: ", 1, "a text looked for among numbers"),
    _taken_by_numba(r"^unset: ", 14,
        "a variable that no thread has assigned: Numba reads zeros, or what the register held; told on purpose"),
    _taken_by_numba(r"^builtin: v = (str|type)", 9, "str() and type(): of no use in a kernel that stores numbers"),
    _taken_by_numba(r"^text: ", 3, "texts added or repeated: told as a slip on purpose"),
    _taken_by_numba(r"^slice: v = a\[::0\]", 4,
        "a slice with a step of zero: a mistake of values, told when it is made"),
    _taken_by_numba(r"^barrier: cuda\.syncthreads$", 4, "a barrier that is named and not called: refused on purpose"),
    _taken_by_numba(r"^function: .*maybe", 1, "the result of a function that returns a number or nothing, stored"),
    _taken_by_numba(r"^two types: v = None", 4, "a variable that is None or a number: Numba's optional values"),
    _taken_by_numba(r"^two types: .*v = a\[1:\]", 2, "a variable that is an array or a slice of it"),
    _taken_by_numba(r"^unpack: v, w = a$", 3,
        "an array unpacked into fewer variables than it has elements: a mistake of values, told when it is made"),
    _taken_by_numba(r"^statement: (async|global|match|v = __name__)", 8,
        "async def, global that is only read, match, __name__"),
    _taken_by_numba(r"^tuple: .*index\(2\)", 2, "a tuple's index()"),
    _taken_by_numba(r"^(tuple|position): .*<const>", 5,
        "an item that a tuple lacks, by a variable: a mistake of values, told when it is made"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hazards are none of this test's business: a kernel that reads past an array has run."""
    monkeypatch.setattr(cuda_module.device, "tell", lambda hazards: None)


def run_here(source: str, file: str, names: dict[str, Any]) -> dict[str, Any]:
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names


@cache
def prelude() -> dict[str, Any]:
    """What all generated kernels may name: their device functions are read once."""
    return run_here(made.PRELUDE, "<prelude>", made.namespace(cuda))


def our_verdict(kernel: Generated) -> str:
    """Nothing where the simulated GPU ran a kernel, else what it said. An error that is not for people fails the test."""
    before, _, source = kernel.source.partition(made.PRELUDE)
    assert not before and source
    names = run_here(source, f"<generated {kernel.seed}>", dict(prelude()))
    try:
        names["kernel"][GRID, BLOCK](*kernel.arguments())
    except KitError as error:
        return f"{type(error).__name__}: {error.message}"
    return ""


def words_of(kernel: Generated) -> str:
    template = kernel.template.replace("\n", "; ")
    return f"{kernel.feature}: {template} | {NUMBA[str(kernel.seed)]}".removesuffix(" | ")


def disagreements(kernels: Iterable[Generated]) -> dict[Cause | None, list[Generated]]:
    """Of these kernels those on which we and Numba differ, by the first cause that fits; None has those that fit none."""
    found = defaultdict(list)
    for kernel in kernels:
        ours, theirs = our_verdict(kernel), NUMBA[str(kernel.seed)]
        if bool(ours) != bool(theirs):
            taken_by, words = "Numba" if ours else "us", words_of(kernel)
            fitting = (each for each in CAUSES if each.taken_by == taken_by and re.search(each.words, words))
            found[next(fitting, None)].append(kernel)
    return found


@cache
def decided() -> list[Generated]:
    return [generated(seed) for seed in SEEDS if str(seed) not in UNDECIDED]


def news(found: dict[Cause | None, list[Generated]]) -> list[str]:
    return [f"new: {kernel.seed}, {words_of(kernel)}" for kernel in found.get(None, [])]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_a_kernel_of_each_template_runs_here_where_numba_compiles_it_unless_the_cause_is_listed() -> None:
    """Of a template of which Numba takes some kernels and refuses others, two of each."""
    shows = {kernel.seed: [(kernel.feature, kernel.template, bool(NUMBA[str(kernel.seed)]))] for kernel in decided()}
    chosen = covering(shows)
    chosen += covering({seed: shown for seed, shown in shows.items() if seed not in set(chosen)})
    found = disagreements(generated(seed) for seed in chosen)
    assert len(chosen) > 1000 and not news(found), "\n".join(news(found))
    gone = [cause.reason for cause in CAUSES if cause not in found]
    assert not gone, "\n".join(gone)


@pytest.mark.rest
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_a_kernel_runs_here_exactly_where_numba_compiles_it_unless_the_cause_is_listed() -> None:
    found = disagreements(decided())
    wrong = news(found)
    for cause in CAUSES:
        kernels = found.get(cause, [])
        if len(kernels) != cause.kernels:
            seeds = ", ".join(str(kernel.seed) for kernel in kernels[:5])
            wrong.append(f"{len(kernels)} of {cause.kernels} listed kernels ({seeds}): {cause.reason}")
    assert not wrong, "\n".join(wrong)


def test_every_cause_has_kernels_and_half_of_all_kernels_are_valid() -> None:
    assert all(cause.kernels > 0 and cause.reason for cause in CAUSES)
    assert list(NUMBA) == [str(seed) for seed in SEEDS]
    valid = sum(not said for said in NUMBA.values())
    assert 0.4 * len(NUMBA) <= valid <= 0.6 * len(NUMBA)
    assert len(UNDECIDED) <= len(NUMBA) / 25


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_the_verdicts_are_those_of_numba_as_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba.cuda.dispatcher as dispatcher

    monkeypatch.setattr(dispatcher, "get_current_device", dispatcher.get_current_device)  # put back afterwards
    made.with_no_device()
    for seed in random.Random(1).sample([seed for seed in SEEDS if str(seed) not in UNDECIDED], 20):
        assert bool(made.verdict_on(seed)) == bool(NUMBA[str(seed)]), (
            f"{seed}: {NUMBA[str(seed)]}\n{generated(seed).source}"
        )
