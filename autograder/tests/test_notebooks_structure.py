"""Every lesson is a finished page: run in order, pictures with alt text, no machine's paths, hidden answers that work.

What the cells print is checked by nbval; what the exercises say, by test_notebooks_exercises.py.
"""

from __future__ import annotations

import ast
import base64
import json
import linecache
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from autograder import simulate
from autograder.course.minutes import MOST, from_an_empty_cell, reading, writes_a_kernel
from autograder.tests.finding import found

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]*_*.ipynb"))
MACHINE_PATH = re.compile(r"(?<![\w.])(/(?:home|Users|tmp|work)/|/root\b|[A-Z]:\\Users)|ipykernel_\d+|0x[0-9a-f]{8,}")

pytestmark = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell | {"source": "".join(cell["source"])} for cell in notebook["cells"] if cell["cell_type"] == kind]


def prose(path: Path) -> str:
    return "\n\n".join(cell["source"] for cell in cells(path, "markdown"))


def outputs(path: Path) -> list[dict[str, Any]]:
    return [output for cell in cells(path, "code") for output in cell["outputs"]]


def test_every_code_cell_was_executed_in_order_without_an_error(path: Path) -> None:
    assert [cell["execution_count"] for cell in cells(path, "code")] == list(range(1, len(cells(path, "code")) + 1))
    assert not [
        output for output in outputs(path) if output["output_type"] == "error" or output.get("name") == "stderr"
    ]


def test_every_cell_that_shows_something_has_its_output_committed(path: Path) -> None:
    silent = re.compile(r"^(@cuda\.jit|def |%load_ext|import |from |my_)")
    for cell in cells(path, "code"):
        if not cell["outputs"]:
            last = [line for line in cell["source"].splitlines() if line and not line.startswith(" ")][-1]
            assert silent.match(last), f"nothing was shown by:\n{cell['source']}"


def test_there_are_pictures_and_each_has_alt_text(path: Path) -> None:
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs(path)]
    pictures = [picture for page in pages for picture in re.findall(r"<img [^>]*>", page)]
    assert len(pictures) >= 3
    for each in pictures:
        alt, data = found(r'alt="([^"]*)".* src="data:image/svg\+xml;base64,([^"]*)"', each, re.DOTALL).groups()
        assert len(alt) > 30
        assert b"<script" not in base64.b64decode(data)
    assert not [each for each in outputs(path) if "image/svg+xml" in each.get("data", {})], "JupyterLab gives it no alt"
    assert not re.search(r"!\[\]\(|<img(?![^>]*alt=)", prose(path))


def test_no_path_or_address_of_a_machine_was_committed(path: Path) -> None:
    found = MACHINE_PATH.search(path.read_text(encoding="utf-8"))
    assert not found, found


def test_a_lesson_opens_with_a_question_and_closes_with_what_you_can_now_do(path: Path) -> None:
    pages = [cell["source"] for cell in cells(path, "markdown")]
    assert pages[0].startswith("# ") and "?" in pages[0]
    assert "## What you can now do" in pages[-1] and "## Sources" in pages[-1]
    assert len(re.findall(r"\*\*Predict", prose(path))) >= 3


def test_it_takes_the_time_that_it_says_and_an_hour_at_most(path: Path) -> None:
    asked = reading(json.loads(path.read_text(encoding="utf-8"))["cells"])
    assert asked.minutes <= MOST, asked
    assert found(r"Allow (\d+) minutes", cells(path, "markdown")[0]["source"])[1] == str(asked.minutes_to_allow), asked


def test_two_kernels_are_the_reader_s_to_write_one_of_them_from_an_empty_cell(path: Path) -> None:
    sources = [cell["source"] for cell in cells(path, "code")]
    assert sum(map(writes_a_kernel, sources)) >= 2
    assert any(map(from_an_empty_cell, sources))


def test_what_a_prediction_is_about_stays_hidden_until_it_is_run(path: Path) -> None:
    """JupyterLab shows the outputs of such a cell when it is run, or when somebody asks for them."""
    everything = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for at, cell in enumerate(everything):
        if "**Predict" in "".join(cell["source"]):
            answer = next(each for each in everything[at:] if each["cell_type"] == "code")
            assert answer["metadata"].get("jupyter", {}).get("outputs_hidden"), "".join(answer["source"])


def test_at_most_two_cells_are_spared_the_comparison_of_outputs(path: Path) -> None:
    tags = [tag for cell in cells(path, "code") for tag in cell["metadata"].get("tags", [])]
    assert set(tags) <= {"nbval-ignore-output"}
    assert len(tags) <= 2


def test_links_to_files_lead_somewhere(path: Path) -> None:
    without_code = re.sub(r"`[^`\n]*`|^    .*$", "", prose(path), flags=re.M)
    targets = re.findall(r"\]\((?!https?://|#)([^)]+)\)", without_code)
    assert targets
    missing = [target for target in targets if not (NOTEBOOKS / target).exists()]
    assert not missing


def test_its_code_reads_nothing_beyond_its_folder(path: Path) -> None:
    """So that it runs in the folder that `autograder course` lays down."""
    assert not [cell["source"] for cell in cells(path, "code") if "../" in "".join(cell["source"])]


def test_three_to_seven_exercises_wait_for_an_answer_and_each_hidden_answer_is_right(path: Path) -> None:
    lesson = import_module(f"autograder.course.lesson{path.stem[:2]}")
    everything = json.loads(path.read_text(encoding="utf-8"))["cells"]
    asked = [at for at, cell in enumerate(everything) if re.search(r"^lesson\d\d\.", "".join(cell["source"]), re.M)]
    assert 3 <= len(asked) <= 7
    for at in asked:
        call = found(r"^lesson\d\d\.(\w+)\((\w+)\)$", "".join(everything[at]["source"]), re.M)
        shown = "".join(everything[at]["outputs"][0]["data"]["text/plain"])
        assert "Your turn" in shown, f"{call[1]} was committed with an answer"
        answer = "".join(everything[at + 1]["source"])
        assert answer.startswith("<details><summary>Answer</summary>\n\n")
        program = found(r"```python\n(.*?)```", answer, re.S)[1]
        reply = getattr(lesson, call[1])(evaluated(program, call[2], f"answer to {call[1]}", imports_of(path)))
        assert reply.outcome == "right", f"{call[1]}: {reply}"


def imports_of(path: Path) -> str:
    """The imports of a notebook's setup cell, a program of their own: all that an answer can count on."""
    setup = "\n".join(line for line in cells(path, "code")[0]["source"].splitlines() if not line.startswith("%"))
    return "\n".join(ast.unparse(each) for each in ast.parse(setup).body if isinstance(each, (ast.Import, ast.ImportFrom)))


def evaluated(program: str, name: str, file: str, imports: str) -> Any:
    """The value that a hidden answer gives to `name`; a kernel's source stays readable, as it is in a notebook."""
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
    exec(imports, {})  # modules load as they are: other tests share them
    with simulate():
        scope: dict[str, Any] = {}
        exec(imports, scope)
        exec(compile(program, file, "exec"), scope)
        return scope[name]


def test_an_answer_that_its_notebook_does_not_import_for_fails(path: Path) -> None:
    """An answer may use what the setup cell imports, and nothing else."""
    assert evaluated("mine = np.arange(3)", "mine", "an answer", imports_of(path)).size == 3
    with pytest.raises(NameError, match="statistics"):
        evaluated("mine = statistics.mean([1])", "mine", "an answer", imports_of(path))
