"""Public programs: brought at their commit, run behind walls, and judged; with a repository made here, no network."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import unittest
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from autograder.errors import UsageError
from autograder.public_programs import checkout, manifest, run_programs, table
from autograder.public_programs.manifest import PublicProgram
from autograder.public_programs.table import ProgramResult
from autograder.records.hazards import HAZARDS, Hazard

HEAD = "import sys\nimport numpy as np\nfrom numba import cuda\n\n@cuda.jit\ndef add(x, out):\n"
PROGRAMS = {
    "runs.py": HEAD + "    i = cuda.grid(1)\n    if i < x.size:\n        out[i] = x[i] + 1\n\n"
    "out = np.zeros(64)\nadd[2, 32](np.arange(64.0), out)\nassert out[63] == 64\nopen('out.txt', 'w').write(sys.argv[1])\n",
    "outside.py": HEAD + "    out[cuda.grid(1) + 1] = x[0]\n\n"
    "for _ in range(3):\n    add[1, 64](np.zeros(1), np.zeros(64))\n",
    "refused.py": HEAD + "    out[0] = yesterday\n\nadd[1, 1](np.zeros(1), np.zeros(1))\n",
    "endless.py": HEAD + "    out[0] = 1\n    out[-1] = 1\n\nwhile True:\n    add[1, 1](np.zeros(1), np.zeros(4))\n",
    "large.py": HEAD + "    out[0] = 1\n\ncuda.device_array(10**10)\n",
    "broken.py": "import nowhere_to_be_found\n",
    "ends.py": "import os\nos._exit(3)\n",
    "leaves.py": "import sys\nfrom numba import cuda\nsys.exit('no arguments')\n",
    "cupy_kernel.py": "import cupy\ncupy.RawKernel('', 'f')\n",
    "reaches.py": """
import os, socket, subprocess, sys
for reach in (
    lambda: open("/WHERE/seen.txt", "w"), lambda: os.listdir("/WHERE"),
    lambda: socket.create_connection(("127.0.0.1", PORT), 1),
):
    try:
        reach()
        print("reached")
        sys.exit("reached")
    except OSError:
        pass
open("mine.txt", "w").close()
subprocess.run([sys.executable, "-c", "open('mine_too.txt', 'w').close()"], check=True)
""",
}
CELLS = {
    "book.ipynb": [
        "%matplotlib inline\nfrom numba import cuda\nimport numpy as np, matplotlib.pyplot as plt",
        "plt.plot([1, 2]); plt.show()",
        "%%time\nx = 1", "@cuda.jit\ndef f(x):\n    x[cuda.grid(1)] = 1", "out = np.zeros(8)\nf[1, 9](out)",
        "assert out.sum() == 8",
    ],
    "cells.ipynb": ["import nowhere_to_be_found", "from numba import cuda", "undefined"],
}  # fmt: skip
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the walls are Linux's")


@pytest.fixture(scope="module")
def mirrors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of mirrors with one repository."""
    place = tmp_path_factory.mktemp("mirrors")
    clone = place / "somebody" / "programs"
    (clone / "more").mkdir(parents=True)
    for name, text in PROGRAMS.items():
        (clone / "more" / name).write_text(text, encoding="utf-8")
    for name, cells in CELLS.items():
        book = {"cells": [{"cell_type": "markdown", "source": "# x"}]}
        book["cells"] += [{"cell_type": "code", "source": cell} for cell in cells]
        (clone / "more" / name).write_text(json.dumps(book), encoding="utf-8")
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=clone, check=True)
    return place


@pytest.fixture(scope="module")
def commit(mirrors: Path) -> str:
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=mirrors / "somebody" / "programs", capture_output=True, text=True,
        check=True
    )
    return found.stdout.strip()


@pytest.fixture(scope="module")
def results(mirrors: Path, commit: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ProgramResult]:
    """What became of every program, each run once: by its file's name."""
    build = tmp_path_factory.mktemp("build")
    names = [name for name in [*PROGRAMS, *CELLS] if name != "reaches.py"] + ["missing.py"]
    arguments = {"runs.py": "12"}
    programs = [PublicProgram("somebody/programs", commit, f"more/{each}", arguments.get(each, "")) for each in names]
    endless = [each for each in programs if each.file == "more/endless.py"]  # waited for to the end of its time
    others = [each for each in programs if each not in endless]
    found = [*run_programs.run_all(others, mirrors, 2, build, seconds=60)]
    found += run_programs.run_all(endless, mirrors, 1, build, seconds=4)
    return {Path(each.file).name: each for each in found}


@pytest.mark.rest  # twelve programs, each in a process of its own; the tool is used before a release
@pytest.mark.long
def test_what_became_of_each(results: dict[str, ProgramResult]) -> None:
    assert {name: each.outcome for name, each in results.items()} == {
        "runs.py": "runs", "outside.py": "runs", "book.ipynb": "runs", "cells.ipynb": "cells", "refused.py": "gap",
        "endless.py": "size",
        "large.py": "size", "broken.py": "other", "ends.py": "gap", "leaves.py": "other", "cupy_kernel.py": "other",
        "missing.py": "other",
    }  # fmt: skip
    assert "`yesterday`" in results["refused.py"].told and "not at its end after 4 s" in results["endless.py"].told
    assert "GiB" in results["large.py"].told and "nowhere_to_be_found" in results["broken.py"].told
    assert "RawKernel" in results["cupy_kernel.py"].told
    assert results["cells.ipynb"].told.startswith("cell 1: ModuleNotFoundError")


@pytest.mark.rest  # twelve programs, each in a process of its own; the tool is used before a release
@pytest.mark.long
def test_hazards_are_told_once_with_how_often(results: dict[str, ProgramResult]) -> None:
    (hazard,) = results["outside.py"].hazards
    assert (hazard["kind"], hazard["array"], hazard["occurrences"]) == ("out_of_bounds", "out", 3)
    assert hazard["line"] == "outside.py, line 7"
    assert results["runs.py"].hazards == () and (results["runs.py"].launches, results["outside.py"].launches) == (1, 3)
    (in_book,) = results["book.ipynb"].hazards
    assert in_book["cell"] == 5 and "Writes `x[8]`" in in_book["message"]
    stopped = results["endless.py"]
    assert stopped.launches > 3 and stopped.hazards[0]["kind"] == "negative_index"


@linux
@pytest.mark.long
def test_a_program_reaches_its_own_folder_alone(mirrors: Path, commit: str, tmp_path: Path) -> None:
    import socket

    secret = tmp_path / "secret"
    secret.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        folder = checkout.bring("somebody/programs", commit, tmp_path / "build", mirrors)
        program = PublicProgram("somebody/programs", commit, "more/reaches.py")
        path = folder / program.file
        path.write_text(
            path.read_text(encoding="utf-8").replace("/WHERE", str(secret)).replace("PORT", str(server.getsockname()[1])),
            encoding="utf-8",
        )
        result = run_programs.run_one(program, folder, 30)
    if {"no network", "files"} <= set(result.walls):
        assert (result.outcome, result.told) == ("runs", "")
        assert (folder / "more" / "mine_too.txt").is_file() and not list(secret.iterdir())
    else:
        assert result.outcome == "other", "without the walls it reaches further, and the result says which were up"


def test_what_programs_wrote_is_gone_for_the_next(mirrors: Path, commit: str, tmp_path: Path) -> None:
    folder = checkout.bring("somebody/programs", commit, tmp_path, mirrors)
    (folder / "more" / "runs.py").write_text("changed", encoding="utf-8")
    (folder / "left.txt").write_text("left", encoding="utf-8")
    assert checkout.bring("somebody/programs", commit, tmp_path, mirrors) == folder
    assert (folder / "more" / "runs.py").read_text(encoding="utf-8") == PROGRAMS["runs.py"]
    assert not (folder / "left.txt").exists()


def test_what_cannot_be_brought_is_said_and_the_others_run(mirrors: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no mirror of somebody/else. Put a clone of it at somebody/else."):
        checkout.bring("somebody/else", "0" * 40, tmp_path, mirrors)
    with pytest.raises(UsageError, match=f"somebody/programs at {'0' * 40} cannot be brought"):
        checkout.bring("somebody/programs", "0" * 40, tmp_path, mirrors)
    (result,) = run_programs.run_all([PublicProgram("somebody/programs", "0" * 40, "x.py")], mirrors, 1, tmp_path)
    assert result.outcome == "other" and "cannot be brought" in result.told


ERROR = {"cell": None, "kind": "KernelFault", "message": "`x` is not defined here.", "is_refusal": True, "is_size": False,
         "is_ours": False, "is_of_cupy": False}  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "changes", "outcome"),
    [
        ("", {}, "gap"),
        ("`x` is not defined", {}, "refused"),
        ("`y` is not defined", {}, "gap"),  # what somebody looked at was another refusal
        ("", {"is_refusal": False, "is_ours": True, "kind": "KeyError"}, "gap"),
        ("", {"is_refusal": False, "kind": "KeyError"}, "other"),
        ("", {"is_refusal": False, "kind": "KeyError", "cell": 3}, "cells"),
        ("", {"is_size": True}, "size"),
        ("", {"is_of_cupy": True}, "other"),
    ],
)
def test_an_error_says_what_became_of_a_program(judged: str, changes: dict[str, Any], outcome: str) -> None:
    program = PublicProgram("a/b", "0" * 40, "c.py", judged=judged)
    assert table.judged(program, {"ended": True, "errors": [ERROR | changes]}, "")[0] == outcome


def test_the_worst_of_a_notebook_s_cells_says_it() -> None:
    program = PublicProgram("a/b", "0" * 40, "c.ipynb")
    errors = [ERROR | {"is_refusal": False, "cell": 1, "kind": "NameError"}, ERROR | {"cell": 4}]
    assert table.judged(program, {"ended": True, "errors": errors}, "") == ("gap", "cell 4: `x` is not defined here.")
    stopped = {"ended": False, "stopped_by": "not at its end after 60 s"}
    assert table.judged(program, stopped, "") == ("size", "not at its end after 60 s")
    assert table.judged(program, stopped | {"errors": errors}, "")[0] == "gap"
    window = replace(program, until="somebody closes its window")
    told = "runs until somebody closes its window: not at its end after 60 s"
    assert table.judged(window, stopped | {"launches": 1}, "") == ("other", told)
    assert table.judged(window, stopped | {"launches": 0}, "")[0] == "size"
    assert table.judged(window, stopped | {"launches": 1, "errors": errors}, "")[0] == "gap"
    assert table.judged(program, {"ended": False}, "a\nFatal Python error\n") == (
        "gap", "the process ended by itself: Fatal Python error",
    )  # fmt: skip


def test_where_something_is_installed_is_left_out() -> None:
    error = ERROR | {"is_refusal": False, "kind": "ImportError", "message": "no name 'x' in 'y' (/usr/lib/y.py)"}
    program = PublicProgram("a/b", "0" * 40, "c.py")
    assert table.judged(program, {"ended": True, "errors": [error]}, "") == ("other", "ImportError: no name 'x' in 'y'")
    assert table.without_places("no module (yet) in y (C:\\\\lib\\\\y.py)") == "no module (yet) in y"


BAD = [
    ("a,{c},x.py,,,", "no repository: write owner/name"), ("a/b,{c}0,x.py,,,", "no commit: write all 40 digits"),
    ("a/b,main,x.py,,,", "no commit"), ("a/b,{c},/x.py,,,", "no script"), ("a/b,{c},../x.py,,,", "no script"),
    ("a/b,{c},x.txt,,,", "no script"), ("a/b,{c}", "has the columns"), ("a/b,{c},x.py,,,,more", "has the columns"),
    ("a/b,{c},x.py,,,\na/b,{c},x.py,,,", "named twice"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), BAD)
def test_a_manifest_with_a_mistake_is_refused_in_one_line(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "manifest.csv"
    path.write_text(f"{','.join(manifest.COLUMNS)}\n{line.format(c='0' * 40)}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=re.escape(said)) as raised:
        manifest.read(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(UsageError, match="cannot be read"):
        manifest.read(tmp_path / "none.csv")


def test_the_manifest_names_a_hundred_programs_and_more() -> None:
    programs = manifest.read()
    assert len(programs) >= 100 and len({each.repository for each in programs}) >= 40
    assert manifest.selected(programs, ["numba-examples"])
    with pytest.raises(UsageError, match="No program of the manifest is called nowhere"):
        manifest.selected(programs, ["nowhere"])


def test_results_are_of_the_manifest_and_the_table_is_of_the_results(tmp_path: Path) -> None:
    results = table.read(run_programs.RESULTS)
    named = [(each.repository, each.commit, each.file) for each in manifest.read()]
    there = {(each.repository, each.commit, each.file) for each in results}
    assert [each for each in named if each in there] == [(each.repository, each.commit, each.file) for each in results]
    written = run_programs.RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert written == table.markdown(results, len(named))
    assert f"{len(named) - len(results)} more are in the manifest" in written or len(named) == len(results)
    table.save(tmp_path / "again.json", results)
    assert (tmp_path / "again.json").read_bytes() == run_programs.RESULTS.read_bytes()
    assert all({"no network", "files"} <= set(each.walls) for each in results if each.walls)


def found_in_the_wild() -> list[tuple[str, str, str, list[str]]]:
    """The page's rows: repository, file, what was told, and the numbers of lines and cells."""
    text = (manifest.HERE / "README.md").read_text(encoding="utf-8").split("## Found in the wild")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\w.-]+/[\w.-]+) \| `([^`]+)` \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    return [(repository, file, told, re.findall(r"\d+", where)) for repository, file, told, where in rows]


IN_NUMBA = ("numba/numba", "numba/cuda/tests/doc_examples/test_sessionize.py")  # installed here: told by the test below


def test_what_the_page_claims_is_in_the_results() -> None:
    """No bug is claimed that the last run did not tell, at that line."""
    by_file = {(each.repository, each.file): each for each in table.read(run_programs.RESULTS)}
    rows = found_in_the_wild()
    assert len(rows) >= 15
    for repository, file, told, numbers in rows:
        if (repository, file) == IN_NUMBA:
            continue
        result = by_file[repository, file]
        if told.startswith("refused"):
            assert result.outcome == "refused" and set(numbers) <= set(re.findall(r"\d+", result.told)), file
            continue
        for name in [about.name for about in HAZARDS.values() if re.search(rf"\b{about.name}", told)] or ["nothing"]:
            found = [each for each in result.hazards if HAZARDS[each["kind"]].name == name]
            lines = {re.findall(r"line (\d+)", each["line"])[0] for each in found}
            assert lines & set(numbers), f"{file}: {name} was told at {sorted(lines)}"
            cells = {str(each["cell"]) for each in found}
            assert cells & {*numbers, "None"}, f"{file}: {name} was told in cells {sorted(cells)}"


def test_the_example_of_numba_s_documentation_waits_where_most_threads_do_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its test module, as it is installed; `numba.cuda.testing` only says where such tests are skipped."""
    import numba

    import autograder
    from autograder.simgpu.host.dispatch import device

    testing: Any = ModuleType("numba.cuda.testing")
    testing.CUDATestCase = unittest.TestCase
    testing.skip_if_cudadevrt_missing = testing.skip_unless_cc_60 = lambda each: each
    testing.skip_if_mvc_enabled = testing.skip_on_cudasim = lambda reason: lambda each: each
    found: list[Hazard] = []
    with autograder.simulate():
        monkeypatch.setitem(sys.modules, "numba.cuda.testing", testing)
        monkeypatch.setattr(device, "tell", found.extend)
        names = runpy.run_path(str(Path(numba.__file__).parents[1] / IN_NUMBA[1]))
        names["TestSessionization"]("test_ex_sessionize").debug()  # raises where its own assertion fails
    (hazard,) = found
    assert hazard.kind == "divergent_barrier" and hazard.absent == 15 and hazard.line is not None
    (numbers,) = [numbers for repository, file, _, numbers in found_in_the_wild() if (repository, file) == IN_NUMBA]
    assert str(hazard.line.number) in numbers


def test_the_readme_s_first_screen_says_how_many() -> None:
    root = (manifest.HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    first_screen = root.split("## Start")[0]
    (number,) = re.findall(r"(\d+)\s+true\s+bugs", first_screen)
    assert int(number) == len(found_in_the_wild()) and "autograder/public_programs" in first_screen


def test_one_result_of_a_manifest_can_be_renewed(
    mirrors: Path, commit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "manifest.csv"
    path.write_text(
        f"{','.join(manifest.COLUMNS)}\nsomebody/programs,{commit},more/none.py,,,\n"
        f"somebody/programs,{commit},more/gone.py,,,\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(run_programs, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(run_programs, "BUILD", tmp_path / "build")
    words = ["run_programs", "--manifest", str(path), "--mirrors", str(mirrors)]
    monkeypatch.setattr(sys, "argv", words)
    assert run_programs.main() == 0
    first = table.read(tmp_path / "results.json")
    assert [each.outcome for each in first] == ["other", "other"]
    table.save(tmp_path / "results.json", [replace(each, told="old") for each in first])
    monkeypatch.setattr(sys, "argv", [*words, "--only", "gone"])
    assert run_programs.main() == 0
    assert [each.told for each in table.read(tmp_path / "results.json")] == ["old", first[1].told]
    table.save(tmp_path / "results.json", [replace(first[0], told="old")])
    monkeypatch.setattr(sys, "argv", [*words, "--missing"])
    assert run_programs.main() == 0
    assert [each.told for each in table.read(tmp_path / "results.json")] == ["old", first[1].told]
    monkeypatch.setattr(sys, "argv", [*words, "--only", "nothing of the kind"])
    assert run_programs.main() == 2
