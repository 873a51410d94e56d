"""`autograder new-lab labNN_topic`: a small lab that grades at once, for its author to rewrite piece by piece.

It comes with all that a lab needs: spec, baseline, solution, wrong answers that each fail what their first line says, what
mends them, one that is right, and the starter that is derived from the solution. In the course's own folder it gets its
test, and its line in the syllabus, so that `make test` passes from the start.
"""

from __future__ import annotations

import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from autograder.errors import GraderFault, UsageError
from autograder.grading.labs import LAB_FOLDER, labs_root
from autograder.grading.starters import derive

IN_LABS = {"spec.py": "spec.py", "baseline.py": "baseline.py"}
TEMPLATES = resources.files("autograder.grading.scaffold")
FURTHER_LABS = """## Further labs

Beside the lessons' own, for who wants to go on; hours for the lab.

| lab | lesson | hours |
|---|---|---|
"""
NEXT_SECTION = "## Eight lectures\n"
HOURS = 2  # what a new lab says it takes
NAME = re.compile(r"lab(?P<number>\d\d)_(?P<topic>[a-z][a-z0-9_]*)")


def write_new_lab(name: str) -> list[Path]:
    """Writes labs/NAME and solutions/NAME, and in the course's folder a test and a line of the syllabus.

    Raises `UsageError` for a name that is none or taken.
    """
    found = NAME.fullmatch(name)
    if found is None or LAB_FOLDER.fullmatch(name) is None:
        raise UsageError(f"`{name}` is no name for a lab.", remedy="Names are labNN_topic: lab08_prefix_sum.")
    labs = labs_root()
    if taken := sorted(path.name for path in labs.glob(f"lab{found['number']}_*")):
        raise UsageError(f"There is a lab {found['number']} already: {taken[0]}.", remedy="Take another number.")
    solutions = labs.parent / "solutions"
    if (solutions / name).exists():
        raise UsageError(f"{solutions / name} is there already.", remedy="Take another name, or move it away.")
    lesson = lesson_of(labs.parent, found)
    files = {labs / name / path: _text(template, found, lesson) for path, template in IN_LABS.items()}
    files |= {solutions / name / path: _text(template, found, lesson) for path, template in _answers().items()}
    files[solutions / name / "remedies.jsonl"] = _text("remedies.jsonl", found, lesson)
    notebook = solutions / name / "lab.ipynb"
    files[notebook] = notebook_text(_text("lab.py", found, lesson))
    if (tests := labs.parent / "autograder" / "tests").is_dir():
        files[tests / f"test_{name}.py"] = _text("test_lab.py", found, lesson)
    if (syllabus := labs.parent / "slides" / "SYLLABUS.md").is_file():
        files[syllabus] = with_lab(syllabus.read_text(encoding="utf-8"), name, lesson)
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        starter = labs / name / "lab.ipynb"
        starter.write_text(derive(notebook), encoding="utf-8", newline="\n")
    except OSError as problem:
        raise GraderFault(f"{problem.filename} cannot be written: {problem.strerror}.") from None
    return [*files, starter]


def lesson_of(course: Path, found: re.Match[str]) -> str:
    """The notebook that a new lab says it belongs to: the last with its number, else the last; its author knows better."""
    lessons = sorted(path.stem for path in (course / "notebooks").glob("[0-9][0-9]*_*.ipynb"))
    same = [lesson for lesson in lessons if lesson.startswith(found["number"])]
    return (same or lessons or [f"{found['number']}_{found['topic']}"])[-1]


def with_lab(syllabus: str, name: str, lesson: str) -> str:
    """The syllabus with a line for a further lab."""
    if "## Further labs\n" not in syllabus:
        before, heading, after = syllabus.partition(NEXT_SECTION)
        syllabus = f"{before}{FURTHER_LABS}\n{heading}{after}"
    start = syllabus.index("## Further labs\n")
    head, rule, rows = syllabus[start:].partition("|---|---|---|\n")
    listed, gap, rest = rows.partition("\n") if rows.startswith("\n") else rows.partition("\n\n")
    lines = [*listed.splitlines(), f"| {name} | {lesson} | {HOURS} |"]
    return f"{syllabus[:start]}{head}{rule}" + "\n".join(lines) + f"\n\n{rest}"


def _answers() -> dict[str, str]:
    """Where in a lab's folder of solutions its answers go, each with its template: `wrong.NAME.py` for wrong/NAME.py."""
    templates = (each.name.removesuffix(".j2") for each in TEMPLATES.iterdir())
    return {each.replace(".", "/", 1): each for each in sorted(templates) if each.startswith(("right.", "wrong."))}


def _text(template: str, found: re.Match[str], lesson: str) -> str:
    text = TEMPLATES.joinpath(f"{template}.j2").read_text(encoding="utf-8")
    topic = found["topic"].replace("_", " ")
    values = {"NAME": found[0], "TOPIC": topic.capitalize(), "LESSON": lesson, "HOURS": str(HOURS)}
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def notebook_text(percent_script: str) -> str:
    """A script in cells (`# %%` before code, `# %% [markdown]` before prose in comments) as a notebook without outputs."""
    cells: list[dict[str, Any]] = []
    for part in re.split(r"^# %%", percent_script, flags=re.MULTILINE)[1:]:
        first, _, body = part.partition("\n")
        body = body.strip("\n")
        is_prose = "[markdown]" in first
        if is_prose:
            body = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines())
        cells.append(_cell("markdown" if is_prose else "code", body, len(cells)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _cell(kind: str, text: str, place: int) -> dict[str, Any]:
    identity = hashlib.sha256(f"{place}/{text}".encode()).hexdigest()[:8]
    cell = {"cell_type": kind, "id": identity, "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
