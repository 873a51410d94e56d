"""What `mypy --strict` checks: the whole package and all labs, without silence, and what it leaves to kernels and tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from typing import Any

import pytest

from autograder.tests.finding import found
from autograder.tests.test_layout_repository import PACKAGE, ROOT

pytestmark = pytest.mark.quick

OF_LABS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("labs/*/*.py"))
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py")) + OF_LABS
SETTINGS = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
NO_MODULE_OF_OURS = {
    "cupy", "cupyx.*", "distributed", "jupyterlab.*", "llvmlite", "numba.cuda", "numba.cuda.*", "psutil", "pygments.*",
    "pynvml", "setuptools.*", "tqdm",
}  # fmt: skip
OF_TESTS = ["autograder.tests.*"]
OF_BASELINES = ["labs.*.baseline"]  # one a lab, and labs come


def section(title: str) -> str:
    """The text of a section of pyproject.toml."""
    return found(rf"^\[{re.escape(title)}\]$\n(.*?)(?=^\[|\Z)", SETTINGS, re.DOTALL | re.MULTILINE)[1]


def overrides() -> list[tuple[list[str], dict[str, Any]]]:
    """The exceptions: for which modules, and what is set for them. (Python 3.10 has no reader of TOML.)"""
    read = []
    for text in SETTINGS.split("[[tool.mypy.overrides]]\n")[1:]:
        text = re.split(r"^\[", text, flags=re.MULTILINE)[0]
        entries = dict(re.findall(r"^(\w+) = (\[.*?\]|\S+)(?=$| *#)", text, re.DOTALL | re.MULTILINE))
        names = ast.literal_eval(entries.pop("module"))
        read.append((names, {key: ast.literal_eval(value.title() if value[0] in "tf" else value)
                             for key, value in entries.items()}))  # fmt: skip
    return read


def without_annotations(node: ast.FunctionDef) -> bool:
    asked = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    return node.returns is None or any(each is not None and each.annotation is None for each in asked)


def test_types_are_checked_as_on_the_first_python_that_checks_them_on_every_other() -> None:
    """Else what passes on one fails on the next: `ast.FunctionDef` has other arguments from 3.12 on."""
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    first = found(r"^mypy==\S+ ; python_version >= (\"[\d.]+\")", requirements, re.MULTILINE)[1]
    assert found(r"^python_version = (\S+)", section("tool.mypy"), re.MULTILINE)[1] == first


def test_the_whole_package_and_all_labs_are_checked_strictly() -> None:
    own = section("tool.mypy")
    assert "strict = true" in own and 'files = ["autograder", "labs/*/*.py"]' in own
    assert not re.search(r"^(exclude|ignore|disable|allow|no_|follow_)\w* *=", own, re.MULTILINE)
    assert len(MODULES) > 400 and len(OF_LABS) >= 18


SILENCE = r"type:\s*ignore|mypy:"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_no_silence(name: str) -> None:
    if not re.search(SILENCE, (ROOT / name).read_text(encoding="utf-8")):
        return
    with tokenize.open(ROOT / name) as text:
        comments = [each.string for each in tokenize.generate_tokens(text.readline) if each.type == tokenize.COMMENT]
    assert [each for each in comments if re.search(SILENCE, each)] == []  # a text or a name may hold it


def test_only_kernels_and_tests_are_left_a_part_of_it() -> None:
    """No kind of error is silenced outside the tests, and there only those of stand-ins."""
    silent = {name for names, given in overrides() for name in names if "disable_error_code" in given}
    assert silent == set(OF_TESTS)
    ours = [(names, given) for names, given in overrides() if not set(names) <= NO_MODULE_OF_OURS]
    assert [names for names, _ in ours if names == OF_TESTS] == [OF_TESTS]
    for names, given in ours:
        if names != OF_TESTS:
            assert names == OF_BASELINES or not [name for name in names if "*" in name], "modules are named one by one"
            settings = {"allow_untyped_defs", "allow_untyped_calls", "allow_untyped_decorators", "check_untyped_defs"}
            settings |= {"disallow_subclassing_any"}  # of what comes without types
            assert set(given) <= settings


UNTYPED = [name for names, given in overrides() if given.get("check_untyped_defs") is False for name in names]
KERNELS = [name for name in UNTYPED if name not in OF_BASELINES]
BASELINES = [name for name in OF_LABS if name.endswith("/baseline.py")]


@pytest.mark.parametrize("name", KERNELS)
def test_what_has_no_annotations_is_a_kernel_or_says_what_one_must_compute(name: str) -> None:
    tree = ast.parse((ROOT / (name.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and without_annotations(node)]
    compiled = re.compile(r"\b(cuda\.jit|njit)\b")  # a kernel, or the same on the CPU
    kernels = [each for each in functions if any(compiled.search(ast.unparse(one)) for one in each.decorator_list)]
    known = {at.id for at in ast.walk(tree) if isinstance(at, ast.Name)}  # what a table of kernels or a function names
    others = [each.name for each in functions if each not in kernels]
    assert kernels
    assert [each for each in others if each not in known] == []
    assert not others or "unseen(" in ast.unparse(tree), "known answers stand beside the table of kernels"


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_holds_kernels_and_what_launches_them(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    kernels = [each for each in functions if any("cuda.jit" in ast.unparse(one) for one in each.decorator_list)]
    launches = re.compile(rf"\b({'|'.join(each.name for each in kernels)})\[|^    pass$", re.MULTILINE)  # or does nothing
    assert set(UNTYPED) - set(KERNELS) == set(OF_BASELINES) and kernels
    assert [each.name for each in functions if each not in kernels and not launches.search(ast.unparse(each))] == []


def test_make_quick_checks_types_before_all_else_and_make_test_among_its_tests() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "types" in found(r"^quick: (.*)$", makefile, re.MULTILINE)[1].split()
    assert re.search(r"^types:.*\n(?:\t.*\n)*\t.*\$\(RUN\) -m mypy\b", makefile, re.MULTILINE)
    assert "unit" in found(r"^test: (.*)$", makefile, re.MULTILINE)[1].split()
    assert "mypy" in (PACKAGE / "tests" / "test_types.py").read_text(encoding="utf-8")


def test_the_names_of_values_import_no_engine() -> None:
    """So that each module of the engine can import them."""
    imports = "import sys, autograder.simgpu.values.values; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", imports], capture_output=True, text=True, check=True, cwd=ROOT)
    ours = {name for name in done.stdout.split() if name.startswith("autograder")}
    assert ours == {"autograder", "autograder.simgpu", "autograder.simgpu.values", "autograder.simgpu.values.values"}
