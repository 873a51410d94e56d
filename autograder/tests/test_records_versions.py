"""Results of older versions stay readable, those of newer ones are refused in a line, and no form changes unseen."""

from __future__ import annotations

import dataclasses
import json
import shutil
import typing
from pathlib import Path
from typing import Any

import pytest

from autograder import cli
from autograder.errors import UsageError
from autograder.grading.class_folder import CLASS_LIST
from autograder.records import versions
from autograder.records.json_form import from_dict, from_text, to_dict, to_text
from autograder.records.results import Result
from autograder.reports import gradebook, html

OLDER = Path(__file__).with_name("older")
pytestmark = pytest.mark.quick


def form_of(kind: type) -> dict[str, dict[str, str]]:
    """Each record that a result is made of -> its fields, with their types, and what is there where one is missing."""
    found: dict[str, dict[str, str]] = {}
    waiting: list[Any] = [kind]
    while waiting:
        each = waiting.pop()
        waiting += typing.get_args(each)
        if isinstance(each, type) and dataclasses.is_dataclass(each) and each.__name__ not in found:
            hints = typing.get_type_hints(each)
            waiting += hints.values()
            found[each.__name__] = {one.name: _described(one, hints[one.name]) for one in dataclasses.fields(each)}
    return dict(sorted(found.items()))


def _described(one: dataclasses.Field[Any], hint: Any) -> str:
    required = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
    words = one.type if isinstance(one.type, str) else getattr(hint, "__name__", str(hint))
    if typing.get_origin(hint) is typing.Literal:
        words = " | ".join(map(repr, typing.get_args(hint)))
    return f"{words}{', required' if required else ''}"


def test_the_form_of_a_result_changes_with_its_version():
    noted = json.loads((OLDER / "form.json").read_text(encoding="utf-8"))
    now = {"version": versions.VERSION, "records": form_of(Result)}
    assert now == noted, (
        "A result's form has changed. In records/versions.py raise VERSION and add the step from the form before, put a "
        f"result of that form beside {OLDER.name}/form.json as result_{noted['version']}.json, then write form.json anew: "
        "python -m autograder.tests.test_records_versions"
    )


def test_there_is_an_example_of_each_older_form_and_a_step_from_it():
    examples = sorted(int(path.stem.removeprefix("result_")) for path in OLDER.glob("result_*.json"))
    assert examples == list(range(1, versions.VERSION))


@pytest.mark.parametrize("path", sorted(OLDER.glob("result_*.json")), ids=lambda path: path.stem)
def test_an_older_result_is_read_whole_and_shown(path):
    """Written by the kit of commits 6d226f0^ (form 1), 7654d6b (form 2) and 7af6b48 (form 3), of lab 1's example class."""
    written = json.loads(path.read_text(encoding="utf-8"))
    result = from_dict(written)
    assert (result.student, result.points, result.outcome) == ("elif_yilmaz", written["points"], written["outcome"])
    assert [each.name for each in result.checks] == [each["name"] for each in written["checks"]]
    (failed,) = [each for each in result.checks if each.outcome == "failed"]
    assert failed.hints and failed.pictures and failed.reproduce
    assert failed.title in html.render(result) and "elif_yilmaz" in gradebook.text([result])
    assert from_text(to_text(result)) == result and to_dict(result)["version"] == versions.VERSION


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (versions.VERSION + 1, f"this is of form {versions.VERSION + 1}, written by a newer version of the kit"),
        (0, "this is no result: its version is 0."),
        ("2", "this is no result: its version is '2'."),
        (True, "this is no result: its version is True."),
        (None, "this is no result: its version is None."),
    ],
)
def test_any_other_version_is_refused_in_a_line(version, said):
    with pytest.raises(UsageError, match=said) as refused:
        from_dict({"version": version})
    assert "\n" not in str(refused.value) and refused.value.remedy


@pytest.fixture
def older_class(tmp_path):
    """A class as the kit of form 1 left it."""
    (tmp_path / "results").mkdir()
    shutil.copy(OLDER / "result_1.json", tmp_path / "results" / "elif_yilmaz.json")
    listed = {"version": 1, "lab": "lab01_naive_matmul", "results": ["elif_yilmaz"], "out_of_date": []}
    (tmp_path / CLASS_LIST).write_text(json.dumps(listed))
    return tmp_path


def test_an_older_class_is_exported(older_class, tmp_path, capsys):
    (tmp_path / "hand.csv").write_text("student,check,points\nelif_yilmaz,total,7\n")
    command = ["export", str(older_class), "--gradescope", "--overrides", str(tmp_path / "hand.csv")]
    assert cli.main(command) == 0 and capsys.readouterr().err == ""
    assert ",7," in (older_class / "gradebook.csv").read_text(encoding="utf-8-sig")
    assert json.loads((older_class / "gradescope" / "elif_yilmaz" / "results.json").read_text())["score"] == 7


@pytest.mark.parametrize("file", [CLASS_LIST, "results/elif_yilmaz.json"])
def test_a_newer_class_is_refused_in_a_line_that_names_the_file(older_class, capsys, file):
    form = json.loads((older_class / file).read_text())
    (older_class / file).write_text(json.dumps({**form, "version": versions.VERSION + 1}))
    assert cli.main(["export", str(older_class), "--gradescope"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and file in told and "written by a newer version of the kit" in told


if __name__ == "__main__":
    text = json.dumps({"version": versions.VERSION, "records": form_of(Result)}, indent=1)
    (OLDER / "form.json").write_text(text + "\n", encoding="utf-8")
