"""Which modules `mypy --strict` checks: all but those that are named here, and none with a silence in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from autograder.tests.test_layout_repository import PACKAGE, ROOT

WATCHED = (
    "language",
    "simgpu",
    "errors.py",
    "device.py",
    "live.py",
    "profiling.py",
)  # in which each module is accounted for

# What is not checked, by the reason. A module that passes leaves this list for the one in pyproject.toml.
NOT_YET = {
    "kernels as students write them, without annotations, and the scripts that launch them by hand on a card": [
        "simgpu/bench_kernels.py",
        "simgpu/measurements",
    ],
    "scripts that are run by hand, beside Numba's own tests": ["simgpu/conformance"],
}


def modules(place: str) -> set[str]:
    """The modules of a folder or file of the package, by their paths in it."""
    found = PACKAGE / place
    files = found.rglob("*.py") if found.is_dir() else [found]
    return {each.relative_to(PACKAGE).as_posix() for each in files}


def checked() -> set[str]:
    """The modules that pyproject.toml has checked."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^\[tool\.mypy\]$.*?^files = (\[.*?^\])$", settings, re.DOTALL | re.MULTILINE)
    assert listed is not None
    return set().union(
        *(modules(Path(each).relative_to("autograder").as_posix()) for each in ast.literal_eval(listed[1]))
    )


def test_each_module_is_checked_or_named_with_a_reason() -> None:
    waiting = [name for places in NOT_YET.values() for place in places for name in modules(place)]
    assert len(waiting) == len(set(waiting))
    there = set().union(*map(modules, WATCHED))
    assert there - checked() == set(waiting)


def test_what_is_checked_is_there() -> None:
    assert len(checked()) > 40
    assert [name for name in checked() if not (PACKAGE / name).is_file()] == []


@pytest.mark.parametrize("name", sorted(checked()))
def test_a_checked_module_has_no_silence(name: str) -> None:
    with tokenize.open(PACKAGE / name) as text:
        comments = [each.string for each in tokenize.generate_tokens(text.readline) if each.type == tokenize.COMMENT]
    assert [each for each in comments if re.search(r"type:\s*ignore|mypy:", each)] == []


def test_the_settings_are_strict_and_have_no_exceptions() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    own = settings.split("[tool.mypy]")[1].split("\n[")[0]
    assert "strict = true" in own
    assert "[[tool.mypy.overrides]]" not in settings
    assert not re.search(r"^(ignore|disable|allow|no_)\w* *=", own, re.MULTILINE)


def test_make_test_checks_types() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "types" in re.findall(r"^test: (.*)$", makefile, re.MULTILINE)[0].split()
    assert re.search(r"^types:.*\n(?:\t.*\n)*\t.*\$\(RUN\) -m mypy\b", makefile, re.MULTILINE)


def test_the_names_of_values_import_no_engine() -> None:
    """So that each module of the engine can import them."""
    imports = "import sys, autograder.simgpu.values.values; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", imports], capture_output=True, text=True, check=True, cwd=ROOT)
    ours = {name for name in done.stdout.split() if name.startswith("autograder")}
    assert ours == {"autograder", "autograder.simgpu", "autograder.simgpu.values", "autograder.simgpu.values.values"}
