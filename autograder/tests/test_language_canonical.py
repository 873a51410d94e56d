"""A canonical form is the same for a disguised copy, another one for another program, and never in the way of grading."""

from __future__ import annotations

import ast
import random
import textwrap
import time

import pytest

from autograder.grading.labs import lab_names, load_lab
from autograder.language import canonical, parse_program
from autograder.language.canonical import fingerprints
from autograder.language.source import read_submission, submission_from_cells

pytestmark = pytest.mark.quick

KERNEL = """
@cuda.jit
def kernel(a, b, c):
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    tile = cuda.shared.array((16, 16), float32)
    other = cuda.shared.array((16, 16), float32)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = a[row, column]
    other[cuda.threadIdx.y, cuda.threadIdx.x] = b[row, column]
    cuda.syncthreads()
    if row < c.shape[0]:
        c[row, column] = tile[0, 1] + 2 * other[1, 0]
"""


def digest(kernel):
    text = "from numba import cuda, float32\nimport math\nTILE = 32\n" + textwrap.dedent(kernel)
    (found,) = fingerprints(parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False)))
    return found.digest


def edited(*pairs):
    text = KERNEL
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    return text


def lines_swapped(one, other):
    lines = KERNEL.split("\n")
    at, to = (next(i for i, line in enumerate(lines) if line.strip().startswith(each)) for each in (one, other))
    lines[at], lines[to] = lines[to], lines[at]
    return "\n".join(lines)


SAME = {
    "names": edited(("row", "y"), ("column", "x"), ("tile", "s"), ("other", "t"), ("kernel", "k")),
    "sizes": edited(("(16, 16)", "(8, 8)")),
    "a named size": edited(("(16, 16)", "(TILE, TILE)")),
    "comments and layout": edited(("    cuda.sync", "    # wait\n\n    cuda.sync"), ("2 * other", "2*other")),
    "a product turned round": edited(("2 * other[1, 0]", "other[1, 0] * 2")),
    "a sum turned round": edited(("tile[0, 1] + 2 * other[1, 0]", "2 * other[1, 0] + tile[0, 1]")),
    "a comparison turned round": edited(("row < c.shape[0]", "c.shape[0] > row")),
    "declarations in another order": lines_swapped("row =", "column ="),
    "loads in another order": lines_swapped("tile[", "other["),
    "far apart": lines_swapped("row =", "other = "),
    "a module by another name": "from numba import cuda as nc\n" + edited(("cuda.", "nc.")),
}
OTHER = {
    "an index swapped": edited(("a[row, column]", "a[column, row]")),
    "a small number": edited(("tile[0, 1]", "tile[1, 1]")),
    "a barrier elsewhere": lines_swapped("cuda.syncthreads", "other["),
    "a barrier less": edited(("    cuda.syncthreads()\n", "")),
    "axes swapped": edited(("blockIdx.y * ", "blockIdx.x * ")),
    "another array": edited(("= b[row", "= a[row")),
    "a difference turned round": edited(("tile[0, 1] + 2 * other[1, 0]", "tile[0, 1] - 2 * other[1, 0]")),
    "parameters turned round": edited(("kernel(a, b, c)", "kernel(b, a, c)")),
}


@pytest.mark.parametrize("copy", SAME)
def test_a_disguised_copy_has_the_same_form(copy):
    assert SAME[copy] != KERNEL and digest(SAME[copy]) == digest(KERNEL)


@pytest.mark.parametrize("program", OTHER)
def test_another_program_has_another_form(program):
    assert digest(OTHER[program]) != digest(KERNEL)


def test_statements_stay_behind_what_they_need():
    first = "@cuda.jit\ndef f(a):\n    i = cuda.grid(1)\n    x = a[i]\n    a[i] = 1\n    a[i] = 2 * x\n"
    assert digest(first) != digest(
        first.replace("    a[i] = 1\n    a[i] = 2 * x\n", "    a[i] = 2 * x\n    a[i] = 1\n")
    )
    left = (
        "@cuda.jit\ndef f(a):\n    i = cuda.grid(1)\n    if i >= a.size:\n        return\n    j = i + 1\n    a[i] = j\n"
    )
    moved = left.replace("    j = i + 1\n", "").replace("    if i", "    j = i + 1\n    if i")
    assert digest(left) != digest(moved)  # it would run where the first one has returned


def test_an_assignment_of_several_names_is_one_of_each():
    one = "@cuda.jit\ndef f(a):\n    i, j = cuda.threadIdx.x, cuda.blockIdx.x\n    a[i] += j\n"
    assert digest(one) == digest(
        "@cuda.jit\ndef f(a):\n    i = cuda.threadIdx.x\n    j = cuda.blockIdx.x\n    a[i] = a[i] + j\n"
    )
    turned = "@cuda.jit\ndef f(a):\n    i, j = 0, 1\n    i, j = j, i\n    a[i] = j\n"
    assert digest(turned) != digest(turned.replace("i, j = j, i", "i = j\n    j = i"))


class Disguise(ast.NodeTransformer):
    """Every name that a function binds itself becomes another one, in no order."""

    def __init__(self, tree, seed):
        self.outside = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
        self.seed = seed

    def visit_FunctionDef(self, node):  # noqa: N802
        own = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        own |= {each.arg for each in node.args.args}
        fresh = [f"z{number}" for number in range(len(own))]
        random.Random(self.seed).shuffle(fresh)
        new = dict(zip(sorted(own), fresh, strict=True))
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                each.id = new.get(each.id, each.id)
            elif isinstance(each, ast.arg):
                each.arg = new[each.arg]
        return node


@pytest.mark.parametrize("lab", lab_names())
def test_right_answers_under_other_names_have_the_same_form_and_each_design_has_its_own(lab):
    found: dict[tuple[str, ...], list[str]] = {}
    files = sorted((load_lab(lab).folder.parent.parent / "solutions" / lab / "right").glob("*.py"))
    for number, path in enumerate(files):
        form = [each.digest for each in fingerprints(parse_program(read_submission(path)))]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        text = ast.unparse(Disguise(tree, number).visit(tree))  # layout and comments are gone as well
        copy = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
        assert form and [each.digest for each in fingerprints(copy)] == form, path.name
        found.setdefault(tuple(sorted(form)), []).append(path.stem)
    two_sizes = 2 if lab == "lab02_tiled_matmul" else 1  # answers of which a lab has the same in two sizes, at most
    assert len(found) >= len(files) - two_sizes


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    return a" + "[0]" * 980 + "\n",
        "def f(a):\n    return (" + "a," * canonical.MOST_NODES + ")\n",
        "def f(a):\n" + "    a = a + 1\n" * (canonical.MOST_STATEMENTS + 1),
        "A = (" + "1," * 300 + ")\n" + "".join(f"{new} = ({f'{old},' * 300})\n" for old, new in ("AB", "BC", "CD"))
        + "def f(a):\n    return D\n",
    ],
    ids=["deep", "wide", "long", "constants within constants"],
)  # fmt: skip
def test_a_program_made_to_take_for_ever_is_not_compared(text):
    program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    started = time.process_time()
    assert fingerprints(program) == ()
    assert time.process_time() - started < 5


def test_only_what_the_lab_reaches_is_compared():
    text = "def used(x):\n    return x\ndef tried(x):\n    return x\ndef f(x):\n    return used(x)\n"
    program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    assert [each.name for each in fingerprints(program, ["f"])] == ["used", "f"]
    assert fingerprints(program, ["f"])[0].line.number == 1 and len(fingerprints(program)) == 3
    assert fingerprints(program, ["absent"]) == ()
