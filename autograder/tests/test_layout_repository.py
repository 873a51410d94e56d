"""The README against the disk, and the direction of imports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

import autograder
from autograder.tests.finding import found
from autograder.tests.modules_read import module_at

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "autograder"
README = (ROOT / "README.md").read_text(encoding="utf-8")
COURSE = ("notebooks", "labs", "solutions", "slides", "autograder")
OF_FOLDERS = sorted(each for folder in COURSE for each in (ROOT / folder).rglob("README.md"))
READMES = [ROOT / "README.md", *sorted((ROOT / ".github").glob("*.md")), *OF_FOLDERS]

# What each folder and module imports, even inside a function: the README's table, from the bottom up.
IMPORTS = {
    row: set(names.split(", ")) - {"nothing"}
    for row, names in re.findall(r"^\| ([a-z_]+) \| ([a-z_, ]+) \|$", README, re.MULTILINE)
}
ORDER = list(IMPORTS)
FREE = {"errors"}  # which imports nothing, and which everybody may import
# What is loaded only when it is asked for: the grader starts without a device.
TOP_LEVEL_NEVER = {"grading": {"simgpu", "simulated_device", "cudagpu"}}


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
    for target in set(re.findall(r"\bmake ([a-z-]+)\b", README)) - {"on", "and"}:
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
    assert set(re.findall(r"mind_the_bandwidth-([\d.]+)-py3", README)) == {autograder.__version__}


def test_there_is_one_version_and_the_list_of_changes_begins_with_it() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'version = { attr = "autograder.__version__" }' in settings
    assert not re.search(r'^version = "', settings, re.MULTILINE)
    newest = re.search(r"^## ([\d.]+)", (ROOT / "autograder" / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None and newest[1] == autograder.__version__


def test_the_command_line_says_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    from autograder.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"autograder {autograder.__version__}\n"


def test_the_commands_that_contributors_are_told_exist() -> None:
    text = (ROOT / "autograder" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z-]+)\b", text)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for module in re.findall(r"python -m (autograder\.[\w.]+)", text):
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module


def test_no_file_names_a_folder_of_somebody_s_machine() -> None:
    """Messages of libraries say where these are installed: stored ones leave that out."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a clone")
    place = re.compile(rb"/(?:root|home/\w+|Users/\w+)/|/site-packages?/|lib-dynload/")
    named = [name for name in listed.stdout.split("\0") if name and place.search((ROOT / name).read_bytes())]
    assert [name for name in named if (ROOT / name) != Path(__file__)] == []


def test_windows_runs_what_make_quick_runs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    makefile = makefile.replace("$(PARALLEL)", found(r"^PARALLEL := (.*)$", makefile, re.MULTILINE)[1])
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8").split("windows:\n")[1]
    for target in ("quick", "lint", "types"):
        recipe = makefile.split(f"\n{target}:")[1].split("\n\n")[0]
        commands = re.findall(r"(?<!echo \")\$\(RUN\) -m ((?:pytest|ruff|mypy)[^;\n]*)", recipe)
        assert commands and all(f"python -m {each}" in workflow for each in commands)


def test_pytest_rewrites_the_tests_and_not_the_package() -> None:
    """Each of its modules would be read, compiled and kept a second time, by every process that runs tests."""
    ours = [(name, each) for name, each in sorted(sys.modules.items()) if name.startswith("autograder.")]
    rewritten = [name for name, each in ours if isinstance(each.__loader__, AssertionRewritingHook)]
    assert {__name__, "autograder.tests.finding", "autograder.tests.conftest"} <= {*rewritten}
    assert [name for name in rewritten if not name.startswith("autograder.tests")] == []


def test_every_requirement_is_pinned_and_says_why() -> None:
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            assert re.match(r"^[\w.-]+==[\w.]+( ; python_version [<>]=? \"3\.\d+\")?\s+# \S", line), line
            assert not re.search(r"cu1\d|nvidia|cuda-", line.split("#")[0]), "no CUDA wheels by default"


@pytest.mark.parametrize("row", ["records", "language", "simgpu", "sampling", "cudagpu", "figures"])
def test_what_runs_any_kernel_names_no_lab_and_no_answer(row: str) -> None:
    """What serves a lab lies in that lab, and what is known of answers with the grader."""
    named = {path.name for path in modules(row) if re.search(r"\blab\d\d|solutions/", path.read_text(encoding="utf-8"))}
    assert len(modules(row)) > 1 and named == set()


def test_the_grader_names_no_file_of_an_answer() -> None:
    """What is known of an answer lies beside it, in its lab's folder of solutions."""
    answers = [path for kind in ("right", "wrong") for path in (ROOT / "solutions").glob(f"lab*/{kind}/*.py")]
    names = {f"{path.parent.name}/{path.stem}" for path in answers} | {path.name for path in answers}
    assert len(names) > 900
    files = [path for path in (PACKAGE / "grading").rglob("*") if path.suffix in (".py", ".json", ".j2")]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    told = {path.name: set(re.findall(r"\b(?:right|wrong)/\w+|\b\w+\.py\b", text)) & names for path, text in texts.items()}
    assert {name: found for name, found in told.items() if found} == {}


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
    found = {
        reached(name): str(path.relative_to(package))
        for path in modules(row, package)
        for name in module_at(path).imported
    }
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


@pytest.mark.parametrize("row", ORDER)
def test_a_wall_that_is_broken_is_seen(row: str, tmp_path: Path) -> None:
    """However the import is spelled, for each folder and module that the row is not to know."""
    spelled = ("from autograder.{} import anything", "from autograder import {}", "import autograder.{}",
               "import_module('autograder.{}')")  # fmt: skip
    (tmp_path / row).mkdir()
    for target in set(ORDER) - {row} - IMPORTS[row]:
        for each in spelled:
            text = f"def f() -> None:\n    {each.format(target)}\n"
            (tmp_path / row / "some_module.py").write_text(text, encoding="utf-8")
            assert len(broken_walls(row, tmp_path)) == 1, text


def test_errors_import_nothing_of_the_package() -> None:
    assert not targets("errors")


def test_the_engine_knows_neither_requests_nor_results() -> None:
    """It is told which blocks of a launch to carry out; who asks for a sample and what is made of it is others' business."""
    imported = {name for path in modules("simgpu") for name in module_at(path).imported}
    known = {name for name in imported if name.startswith("autograder.records")}
    assert len(known) > 5
    assert not {name for name in known if re.match(r"autograder\.records\.(runs|results)\b", name)}


@pytest.mark.parametrize("row", TOP_LEVEL_NEVER)
def test_what_is_loaded_only_when_it_is_asked_for(row: str) -> None:
    for path in modules(row):
        for name in module_at(path).at_top:
            assert reached(name) not in TOP_LEVEL_NEVER[row], f"{path.relative_to(ROOT)} imports {name}"


def test_nothing_imports_the_course() -> None:
    for path in PACKAGE.rglob("*.py"):
        for name in module_at(path).imported:
            assert name.split(".")[0] not in COURSE[:-1], f"{path} imports {name}"


def test_no_function_has_a_name_that_cannot_be_searched() -> None:
    """Words that half of all sentences have, too."""
    names = {f"{mark}{word}" for word in ("about", "told", "shown", "plain", "words") for mark in ("", "_")}
    for row in {*ORDER} - {"simgpu"}:
        for path in modules(row):
            found = module_at(path).functions & names
            assert not found, f"{path.relative_to(ROOT)}: {found}"


def test_a_class_name_means_one_thing() -> None:
    """In all that is not a test; where something is spoken of by its name, nobody has to ask which."""
    named: dict[str, list[str]] = {}
    for path in (*PACKAGE.rglob("*.py"), *(ROOT / "labs").glob("lab*/*.py")):
        if "tests" not in path.relative_to(ROOT).parts:
            for name in module_at(path).classes:
                named.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    assert not {name: places for name, places in named.items() if len(places) > 1}
