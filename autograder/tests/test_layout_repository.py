"""The README against the disk, and the direction of imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import autograder

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "autograder"
README = (ROOT / "README.md").read_text(encoding="utf-8")
COURSE = ("notebooks", "labs", "solutions", "slides", "autograder")
READMES = [ROOT / "README.md", *sorted(each for folder in COURSE for each in (ROOT / folder).rglob("README.md"))]

# What each folder and module imports, even inside a function: the README's table, from the bottom up.
IMPORTS = {
    row: set(names.split(", ")) - {"nothing"}
    for row, names in re.findall(r"^\| ([a-z_]+) \| ([a-z_, ]+) \|$", README, re.MULTILINE)
}
ORDER = list(IMPORTS)
FREE = {"errors"}  # which imports nothing, and which everybody may import
# What is loaded only when it is asked for: the grader starts without a device.
TOP_LEVEL_NEVER = {"grading": {"simgpu", "cudagpu"}}


def layout() -> dict[str, str]:
    """The README's layout: path -> its line."""
    described, parent = {}, ""
    for line in README.split("## For maintainers")[1].splitlines():
        match = re.match(r"^    (  )?([\w.]+/?) +(\S.*)$", line)
        if match:
            parent = parent if match[1] else match[2]
            described[(parent if match[1] else "") + match[2]] = match[3]
    return described


def test_the_layout_in_the_readme_is_the_layout_on_the_disk() -> None:
    described = layout()
    assert len(described) > 15
    for path in described:
        assert (ROOT / path).exists(), f"README.md describes {path}, which is not there"
        assert (ROOT / path).is_dir() == path.endswith("/")
    folders = {f"autograder/{each.name}/" for each in PACKAGE.iterdir() if (each / "__init__.py").is_file()}
    assert folders <= set(described), "README.md does not describe every folder of the package"
    ignored = {".git", ".venv", "build"}
    top = {each.name + "/" for each in ROOT.iterdir() if each.is_dir() and not each.name.startswith(".")} - {"build/"}
    top = {each for each in top if each.rstrip("/") not in ignored and not each.endswith(".egg-info/")}
    assert top <= set(described) | {"shared/"}, "README.md does not describe every top-level folder"


@pytest.mark.parametrize("readme", READMES, ids=lambda each: str(each.relative_to(ROOT)))
def test_links_in_a_readme_lead_somewhere(readme: Path) -> None:
    prose = re.sub(
        r"```.*?```|^    [^\n]*|`[^`\n]*`", "", readme.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if not target.startswith("http"):
            assert (readme.parent / target).exists(), f"{readme.name}: {target}"


def test_the_commands_in_the_readme_exist() -> None:
    from autograder.cli import build_parser

    parser = build_parser()
    named = re.findall(r"-m autograder ([a-z]+)([^#\n`]*)", README)
    assert {name for name, _ in named} >= {"demo", "check", "grade", "profile", "run", "labs"}
    for name, rest in named:
        words = [word for word in rest.replace("(Windows:", "").split() if not word.startswith("(")]
        parser.parse_args([name, *words])  # exits, which fails the test, where it does not know the command


def test_the_targets_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z]+)\b", README)) - {"on", "and"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


def test_the_exit_codes_in_the_readme_are_those_of_the_errors() -> None:
    from autograder.errors import GraderFault, KernelFault, SubmissionError, UsageError

    codes = {int(code): words for code, words in re.findall(r"^\| (\d) \| (.*) \|$", README, re.MULTILINE)}
    assert set(codes) == {0, SubmissionError.exit_code, UsageError.exit_code, GraderFault.exit_code}
    assert KernelFault.exit_code == SubmissionError.exit_code
    assert "submission" in codes[SubmissionError.exit_code] and "usage" in codes[UsageError.exit_code]


def test_versions_in_the_readme_are_those_that_are_pinned() -> None:
    pinned = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    for name, version in re.findall(r'"(numba)==([\d.]+)"', README):
        assert f"{name}=={version}" in pinned


def test_every_requirement_is_pinned_and_says_why() -> None:
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            assert re.match(r"^[\w.-]+==[\w.]+( ; python_version [<>]=? \"3\.\d+\")?\s+# \S", line), line
            assert not re.search(r"cu1\d|nvidia|cuda-", line.split("#")[0]), "no CUDA wheels by default"


def imports(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    """Dotted names that a module imports at run time."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules(row: str, package: Path = PACKAGE) -> list[Path]:
    single = package / f"{row}.py"
    return [single] if single.is_file() else sorted((package / row).rglob("*.py"))


def reached(name: str) -> str:
    """The folder or module of the package that a dotted name leads into; empty for other packages."""
    parts = name.split(".")
    if parts[0] != "autograder" or len(parts) == 1:
        return ""
    return autograder._HOME.get(parts[1], name).split(".")[1]  # `from autograder import profile` leads to profiling


def targets(row: str, package: Path = PACKAGE) -> dict[str, str]:
    """Folder or module that a folder imports -> one of the files that does."""
    found = {reached(name): str(path.relative_to(package)) for path in modules(row, package) for name in imports(path)}
    return {target: path for target, path in found.items() if target not in ("", row, *FREE)}


def broken_walls(row: str, package: Path = PACKAGE) -> list[str]:
    """The imports of a folder that the README's table does not have."""
    found = targets(row, package).items()
    return [
        f"{path} imports {target}, and README.md has no such arrow"
        for target, path in found
        if target not in IMPORTS[row]
    ]


def test_the_readme_has_a_row_for_each_folder_and_module() -> None:
    folders = {each.parent.name for each in PACKAGE.glob("*/__init__.py")} - {"tests"}
    singles = {each.stem for each in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert set(IMPORTS) | FREE == folders | singles


@pytest.mark.parametrize("row", ORDER)
def test_each_row_imports_only_from_rows_above_it(row: str) -> None:
    assert IMPORTS[row] <= set(ORDER[: ORDER.index(row)])


@pytest.mark.parametrize("row", ORDER)
def test_a_folder_imports_what_the_readme_says(row: str) -> None:
    assert not broken_walls(row)
    gone = IMPORTS[row] - set(targets(row))
    assert not gone, f"README.md says that {row} imports {', '.join(gone)}, and it does not any more: better so"


@pytest.mark.parametrize(
    ("row", "target"), [(row, target) for row in ORDER for target in ORDER if target not in {row} | IMPORTS[row]]
)
def test_a_wall_that_is_broken_is_seen(row: str, target: str, tmp_path: Path) -> None:
    (tmp_path / row).mkdir()
    broken = tmp_path / row / "some_module.py"
    broken.write_text(f"def f() -> None:\n    from autograder.{target} import anything\n", encoding="utf-8")
    assert len(broken_walls(row, tmp_path)) == 1


def test_errors_import_nothing_of_the_package() -> None:
    assert not targets("errors")


@pytest.mark.parametrize("row", TOP_LEVEL_NEVER)
def test_what_is_loaded_only_when_it_is_asked_for(row: str) -> None:
    for path in modules(row):
        for name in imports(path, top_level_only=True):
            assert reached(name) not in TOP_LEVEL_NEVER[row], f"{path.relative_to(ROOT)} imports {name}"


def test_nothing_imports_the_course() -> None:
    for path in PACKAGE.rglob("*.py"):
        for name in imports(path):
            assert name.split(".")[0] not in COURSE[:-1], f"{path} imports {name}"
