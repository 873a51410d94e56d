"""What Canvas, Moodle and Gradescope export becomes one row a student, whatever strangers put into the zip."""

from __future__ import annotations

import errno
import os
import random
import stat
import struct
import tracemalloc
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from autograder.errors import MachineFault, UsageError
from autograder.grading.class_grading import chosen_entries
from autograder.grading.exports import archive, names, opened_class
from autograder.grading.exports.collecting import PREFIX
from autograder.grading.exports.gradescope_metadata import read_metadata
from autograder.grading.submissions import Entry, is_called_lab
from autograder.records.files import report_name

MUTANTS = int(os.environ.get("MUTATED_ZIPS", "60"))  # 3,000 were tried once
SOURCE = "def double(values, out): ...\n"


def zipped(path: Path, *members: tuple[str | zipfile.ZipInfo, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, text in members:
            target.writestr(name, text)
    return path


def rows(path: Path) -> dict[str, Entry]:
    with opened_class(path) as entries:
        assert len({each.student for each in entries}) == len(entries)
        for each in entries:
            assert "\n" not in each.problem and (each.problem or each.path.read_text() is not None)
        return {each.student: each for each in entries}


def problems(path: Path) -> dict[str, str]:
    return {student: each.problem for student, each in rows(path).items()}


# ---- names -----------------------------------------------------------------------------------------

CANVAS_NAMES = [
    ("lovelaceada_1234_5678_lab.ipynb", ("lovelaceada", "1234", False, 5678, "lab.ipynb")),
    ("lovelaceada_LATE_1234_5678_lab-1.ipynb", ("lovelaceada", "1234", True, 5678, "lab-1.ipynb")),
    ("o_brienpat_1234_5678_my_lab_2_3.py", ("o_brienpat", "1234", False, 5678, "my_lab_2_3.py")),
    ("größeö_7_8_Übung 1.ipynb", ("größeö", "7", False, 8, "Übung 1.ipynb")),
    ("anon_ab1Cd_5678_lab.ipynb", ("anon_ab1Cd", "anon_ab1Cd", False, 5678, "lab.ipynb")),
    ("anon_AbC12_5678_77_lab.py", ("anon_AbC12", "anon_AbC12", False, 5678, "77_lab.py")),
    ("LATE_anon_AbC12_5678_77_lab.py", ("anon_AbC12", "anon_AbC12", True, 5678, "77_lab.py")),
    ("ada_1_101_text.html", ("ada", "1", False, 101, "text.html")),
    ("_1_101_lab.py", ("1", "1", False, 101, "lab.py")),
    ("LATE_anon_ab1Cd_5678_lab.ipynb", ("anon_ab1Cd", "anon_ab1Cd", True, 5678, "lab.ipynb")),
]


@pytest.mark.parametrize(("name", "expected"), CANVAS_NAMES)
def test_a_name_of_canvas_says_who_which_and_whether_late(name, expected):
    named = names.canvas(name)
    assert (named.owner.name, named.owner.ids["canvas"], named.late, named.order, named.file) == expected


@pytest.mark.parametrize(
    "name",
    ["ada_lovelace.ipynb", "lab.py", "ada_1234_lab.ipynb", "lab_2024.ipynb", "2026_11_ann.py", "LATE_1_2_lab.py"],
)
def test_a_name_that_canvas_would_not_give_is_none_of_its(name):
    assert names.canvas(name) is None and names.platform_of([name]) is None


def test_names_of_moodle_hold_blanks_and_underscores():
    assert names.moodle("Ada King_Byron_412_assignsubmission_file_").owner.ids == {"moodle": "412"}
    flat = names.moodle("Zoë O'Hara_7_assignsubmission_file_lab.ipynb")
    assert (flat.owner.name, flat.file) == ("Zoë O'Hara", "lab.ipynb")
    assert names.moodle("Ada_7_assignsubmission_onlinetext_").typed


# Each as Moodle gives it: downloader.php (get_student_prefix, load_submissionplugin_filelist) since 4.1, and before that
# mod/assign/locallib.php (download_submissions); importziplib.php reads both. Names hold no underscore and none of the
# signs that clean_filename takes out.
MOODLE_NAMES = [
    ("Ada Lovelace_412_assignsubmission_file", ("Ada Lovelace", "412", "", False)),
    ("Ada Lovelace_412_assignsubmission_file_", ("Ada Lovelace", "412", "", False)),
    ("Ada Lovelace_412_assignsubmission_file_lab.ipynb", ("Ada Lovelace", "412", "lab.ipynb", False)),
    (
        "Ada Lovelace_412_assignsubmission_file_x_7_assignsubmission_file",
        ("Ada Lovelace", "412", "x_7_assignsubmission_file", False),
    ),
    ("Ada Lovelace_412_assignsubmission_onlinetext", ("Ada Lovelace", "412", "", True)),
    ("Ada Lovelace_412_assignsubmission_onlinetext_", ("Ada Lovelace", "412", "", True)),
    ("Ada Lovelace_412_assignsubmission_onlinetext_onlinetext.html", ("Ada Lovelace", "412", "onlinetext.html", True)),
    ("Dr. J. R. Müller-Weiß_7_assignsubmission_file", ("Dr. J. R. Müller-Weiß", "7", "", False)),
    ("李 小龙_8_assignsubmission_file", ("李 小龙", "8", "", False)),
    (" Ada  _9_assignsubmission_file", ("Ada", "9", "", False)),
    ("Ada King_Byron_412_assignsubmission_file", ("Ada King_Byron", "412", "", False)),
    ("_412_assignsubmission_file", ("Moodle 412", "412", "", False)),
    ("Participant_412_assignsubmission_file", ("Participant", "412", "", False)),
    ("Group A_413_assignsubmission_file", ("Group A", "413", "", False)),
    ("Default group_assignsubmission_file", ("Default group", None, "", False)),
    ("Default group_assignsubmission_file_lab.py", ("Default group", None, "lab.py", False)),
]


@pytest.mark.parametrize(("name", "expected"), MOODLE_NAMES)
def test_a_name_of_moodle_says_who_and_which_since_4_1_and_before(name, expected):
    named = names.moodle(name)
    assert (named.owner.name, named.owner.ids.get("moodle"), named.file, bool(named.typed)) == expected
    assert names.platform_of([name, "Bob_5_assignsubmission_file"]) == "moodle"


@pytest.mark.parametrize(
    "name",
    ["_assignsubmission_file", "assignsubmission_file", "Ada_412_assignsubmission_", "Ada_412_assignfeedback_file"],
)
def test_a_name_that_moodle_would_not_give_is_none_of_its(name):
    assert names.platform_of([name]) is None


@pytest.mark.parametrize(
    ("file", "expected"),
    [("lab.ipynb", True), ("Lab-2.ipynb", True), ("lab (1).py", True), ("label.py", False), ("mylab.ipynb", False)],
)
def test_a_lab_is_called_lab_the_number_of_another_try_aside(file, expected):
    assert is_called_lab(file) is expected


METADATA = """---
submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0042'
    :email: ada@x.edu
  :created_at: 2026-10-01 10:00:00.000000000 Z
  :score: 1.0
  :results:
    tests:
    - name: |-
        submission_99:
          :submitters:
          - :name: Mallory
submission_12:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0042'
    :email: ada@x.edu
  :created_at: 2026-10-02 10:00:00.000000000 Z
submission_13:
  :submitters:
  - :name: 'Pat O''Brien'
    :sid:
    :email: pat@x.edu
  - :name: "Zo\\xEB: \\u4F60"
    :sid: '7'
    :email: zoe@x.edu
  :created_at: 2026-10-02 11:00:00.000000000 Z
submission_14:
  :submitters:
  - :name: Gone Away
    :sid: '8'
"""


def test_gradescope_s_metadata_is_read_as_a_yaml_reader_reads_it():
    yaml = pytest.importorskip("yaml", reason="PyYAML, the independent reader, is not installed")
    read = yaml.safe_load(METADATA)
    ours = read_metadata(METADATA)
    assert set(ours) == set(read) == {"submission_11", "submission_12", "submission_13", "submission_14"}
    for name, handed in ours.items():
        people = [(each[":name"], each[":sid"] or None) for each in read[name][":submitters"]]
        assert [(each.name, each.ids.get("sid")) for each in handed.owners] == people


@pytest.mark.parametrize("name", ["|-\n      Ida\n      Rhodes", ">\n      Ida", '"Ida\n      Rhodes"', "null", ""])
def test_a_name_that_does_not_stand_on_one_line_is_left_out_and_never_guessed(name):
    text = f"---\nsubmission_1:\n  :submitters:\n  - :name: {name}\n    :sid: null\n    :email: ida@x.edu\n"
    ((ida,), *_) = [each.owners for each in read_metadata(text).values()]
    assert ida.name == "ida@x.edu" and "sid" not in ida.ids


# ---- exports ---------------------------------------------------------------------------------------


def test_a_canvas_zip(tmp_path):
    found = rows(
        zipped(
            tmp_path / "submissions.zip",
            ("lovelaceada_101_900_lab.ipynb", "{}"),
            ("turingalan_LATE_102_901_lab.py", SOURCE),
            ("hoppergrace_103_902_notes.pdf", "x"),
            ("hoppergrace_103_903_lab-1.ipynb", "{}"),
            ("hoppergrace_103_899_lab.ipynb", "{}"),
            ("novakjan_104_904_lab.py", SOURCE),
            ("novakjan_105_905_lab.py", SOURCE),
            ("curiemarie_106_text.html", "<p>"),
            ("noetheremmy_107_907_essay.docx", "x"),
        )
    )
    assert {name: each.ids["canvas"] for name, each in found.items()} == {
        "curiemarie": "106", "hoppergrace": "103", "lovelaceada": "101", "noetheremmy": "107",
        "novakjan (104)": "104", "novakjan (105)": "105", "turingalan": "102",
    }  # fmt: skip
    assert found["turingalan"].note == "Late, says the platform."
    grace = found["hoppergrace"]
    assert grace.shown_as == "hoppergrace_103_903_lab-1.ipynb" and "the latest counts" in grace.note
    assert "hoppergrace_103_899_lab.ipynb" in grace.note and "notes.pdf" in grace.note
    assert found["curiemarie"].problem == "Handed in as a text typed into Canvas, not as a file."
    assert "is neither a notebook" in found["noetheremmy"].problem


def test_a_moodle_zip_with_folders_and_without(tmp_path):
    found = rows(
        zipped(
            tmp_path / "m.zip",
            ("Ada Lovelace_11_assignsubmission_file_/lab.ipynb", "{}"),
            ("Ada Lovelace_11_assignsubmission_file_/data.py", SOURCE),
            ("Alan Turing_12_assignsubmission_file_mine.py", SOURCE),
            ("Alan Turing_12_assignsubmission_onlinetext_/onlinetext.html", "<p>"),
            ("Emmy Noether_13_assignsubmission_file_/a.py", SOURCE),
            ("Emmy Noether_13_assignsubmission_file_/b.py", SOURCE),
            ("Grace Hopper_14_assignsubmission_file_/work.zip", "PK"),
            ("Marie Curie_15_assignsubmission_onlinetext_/onlinetext.html", "<p>"),
            ("Ada Lovelace_16_assignsubmission_file_/deep/er/lab.ipynb", "{}"),
        )
    )
    assert found["Ada Lovelace (11)"].note == "Passed over: data.py."
    assert found["Ada Lovelace (16)"].problem == "" and found["Ada Lovelace (16)"].ids == {"moodle": "16"}
    assert found["Alan Turing"].problem == "" and "onlinetext" in found["Alan Turing"].note
    assert "holds 2 (a.py, b.py) and none is called lab.ipynb" in found["Emmy Noether"].problem
    assert found["Grace Hopper"].problem.endswith("is an archive within the zip: hand in the notebook itself.")
    assert found["Marie Curie"].problem == "Handed in as a text typed into Moodle, not as a file."


def members(*files: str) -> list[tuple[str, str]]:
    return [(file, f"# {file}\n") for file in files]


def both(tmp_path: Path, *files: str) -> list[dict[str, Entry]]:
    """The rows of a zip with these files, and of a folder with them."""
    tmp_path.mkdir(exist_ok=True)
    export = zipped(tmp_path / "e.zip", *members(*files))
    with zipfile.ZipFile(export) as opened:
        opened.extractall(tmp_path / "unpacked")
    return [rows(export), rows(tmp_path / "unpacked")]


def test_moodle_exports_of_now_and_of_before_in_one(tmp_path):
    files = (
        "Ada Lovelace_412_assignsubmission_file/lab.ipynb",
        "Alan Turing_413_assignsubmission_file_/lab.py",
        "Zoë Ünal_414_assignsubmission_file_lab.py",
        "Dr. X. Y_415_assignsubmission_file/sub/my.py",
        "Grace Hopper_416_assignsubmission_onlinetext/onlinetext.html",
        "Marie Curie_417_assignsubmission_onlinetext_onlinetext.html",
        "Emmy Noether_418_assignsubmission_file/a.py",
        "Emmy Noether_418_assignsubmission_onlinetext/onlinetext.html",
        "Default group_assignsubmission_file/lab.py",
        "Default group_assignsubmission_onlinetext/onlinetext.html",
    )
    for found in both(tmp_path, *files):
        assert {name: (each.ids.get("moodle"), bool(each.problem)) for name, each in found.items()} == {
            "Ada Lovelace": ("412", False), "Alan Turing": ("413", False), "Zoë Ünal": ("414", False),
            "Dr. X. Y": ("415", False), "Grace Hopper": ("416", True), "Marie Curie": ("417", True),
            "Emmy Noether": ("418", False), "Default group": (None, False),
        }  # fmt: skip
        assert found["Grace Hopper"].problem == "Handed in as a text typed into Moodle, not as a file."


def test_an_anonymous_export_of_moodle_is_one_row_a_number(tmp_path):
    for found in both(tmp_path, *(f"Participant_{number}_assignsubmission_file/lab.py" for number in (11, 412))):
        assert {name: each.ids["moodle"] for name, each in found.items()} == {
            "Participant (11)": "11", "Participant (412)": "412",
        }  # fmt: skip


def test_a_student_s_own_file_name_makes_it_nobody_else_s(tmp_path):
    ada = "Ada Lovelace_412_assignsubmission_file_x_77_assignsubmission_file_lab.py"
    bob = "Bob Ross_77_assignsubmission_file_lab.py"
    for found in both(tmp_path / "moodle", ada, bob):
        assert {name: (each.shown_as, each.ids) for name, each in found.items()} == {
            "Ada Lovelace": (ada, {"moodle": "412"}),
            "Bob Ross": (bob, {"moodle": "77"}),
        }
    ada, bob = "ada_1_101_x_2_assignsubmission_file_lab.py", "bob_2_102_ada_1_103_lab.py"
    for found in both(tmp_path / "canvas", ada, bob):
        assert {name: (each.shown_as, each.ids) for name, each in found.items()} == {
            "ada": (ada, {"canvas": "1"}),
            "bob": (bob, {"canvas": "2"}),
        }
    found = rows(
        zipped(
            tmp_path / "folders.zip",
            *members("Ada L_4_assignsubmission_file_/x_1_2_lab.py", "Bob_5_assignsubmission_file_/a.py"),
        )
    )
    assert found["Ada L"].shown_as.endswith("x_1_2_lab.py") and found["Ada L"].ids == {"moodle": "4"}


PLAIN = {
    "some like Canvas's": ("ada", "bob", "lab1_2026_11_ann", "lab1_2026_11_bert", "lab1_2026_11_carl"),
    "one number for all": ("lab1_2026_11_ann", "lab1_2026_11_bert", "lab1_2026_11_carl"),
    "one ID for two names": ("lab1_2026_11_ann", "lab2_2026_12_bert"),
    "some like Moodle's": ("ada", "x_77_assignsubmission_file_lab"),
    "dates": ("2026_11_ann", "2026_12_bert"),
}


@pytest.mark.parametrize("students", PLAIN.values(), ids=PLAIN)
def test_a_folder_of_one_s_own_that_looks_like_an_export_loses_nobody(tmp_path, students):
    for found in both(tmp_path, *(f"{student}.py" for student in students)):
        assert {name: (each.shown_as, each.problem, each.ids) for name, each in found.items()} == {
            student: (f"{student}.py", "", {}) for student in students
        }


def test_a_gradebook_beside_an_export_leaves_it_one(tmp_path):
    for found in both(tmp_path, "ada_1_101_lab.py", "bob_2_102_lab.py", "cem_3_text.html", "2026-11 Grades.csv"):
        assert {name: dict(each.ids) for name, each in found.items() if each.ids} == {
            "ada": {"canvas": "1"}, "bob": {"canvas": "2"}, "cem": {"canvas": "3"},
        }  # fmt: skip


def test_a_folder_around_a_class_may_be_called_as_canvas_calls_files(tmp_path):
    files = ("lab1_2026_11_class/ada/lab.py", "lab1_2026_11_class/bob/lab.py")
    assert set(rows(zipped(tmp_path / "e.zip", *members(*files)))) == {"ada", "bob"}


def test_an_anonymous_student_of_canvas_is_one_student(tmp_path):
    for found in both(tmp_path, "anon_AbC12_101_77_lab.py", "anon_AbC12_102_lab.py", "anon_xY9zz_103_77_lab.py"):
        assert {name: each.shown_as for name, each in found.items()} == {
            "anon_AbC12": "anon_AbC12_102_lab.py", "anon_xY9zz": "anon_xY9zz_103_77_lab.py",
        }  # fmt: skip


def gradescope(path: Path) -> Path:
    root = "assignment_5_export/"
    return zipped(
        path,
        (f"{root}submission_metadata.yml", METADATA),
        (f"{root}submission_11/lab.ipynb", '{"first": 1}'),
        (f"{root}submission_12/lab.ipynb", '{"second": 2}'),
        (f"{root}submission_13/lab.py", SOURCE),
        (f"{root}submission_15/lab.py", SOURCE),
        ("__MACOSX/x", "y"),
    )


def test_a_gradescope_zip_has_names_groups_and_the_latest_of_two(tmp_path):
    found = rows(gradescope(tmp_path / "g.zip"))
    assert set(found) == {"Ada Lovelace", "Pat O'Brien", "Zoë: 你", "Gone Away", "submission_15"}
    ada = found["Ada Lovelace"]
    assert ada.shown_as == "submission_12/lab.ipynb" and ada.ids["sid"] == "0042" and "Handed in 2 times" in ada.note
    assert "Handed in together by Pat O'Brien, Zoë: 你." in found["Pat O'Brien"].note
    assert "does not hold it" in found["Gone Away"].problem
    assert "does not say whose it is" in found["submission_15"].note


def test_an_export_that_somebody_unpacked_is_read_the_same(tmp_path):
    zip_path = gradescope(tmp_path / "g.zip")
    with zipfile.ZipFile(zip_path) as opened:
        opened.extractall(tmp_path / "unpacked")
    folder = tmp_path / "unpacked" / "assignment_5_export"
    assert rows(tmp_path / "unpacked").keys() == rows(folder).keys()  # the folder around it may be given as well
    (folder / "submission_15" / "lab.py").unlink()
    (folder / "submission_16").mkdir()
    (folder / "submission_16" / "lab.py").symlink_to(zip_path)
    by_zip, by_folder = rows(zip_path), rows(folder)
    assert set(by_zip) | {"submission_16"} == set(by_folder)
    for student in ("Ada Lovelace", "Zoë: 你"):
        assert by_zip[student].shown_as == by_folder[student].shown_as
    assert "is empty" in by_folder["submission_15"].problem and "is a link" in by_folder["submission_16"].problem


def test_a_zip_of_a_plain_class_with_a_folder_around_it_or_without(tmp_path):
    plain = [("ann.py", SOURCE), ("bob/lab.ipynb", "{}"), ("bob/photo.png", "x")]
    assert set(rows(zipped(tmp_path / "one.zip", *plain))) == {"ann", "bob"}
    assert set(rows(zipped(tmp_path / "two.zip", *((f"class/{name}", text) for name, text in plain)))) == {"ann", "bob"}
    alone = zipped(tmp_path / "three.zip", ("bob/lab.ipynb", "{}"), ("bob/data.py", SOURCE))
    assert set(rows(alone)) == {"bob"}
    twice = zipped(tmp_path / "four.zip", ("ann.py", SOURCE), ("ann/lab.ipynb", "{}"))
    assert "Handed in more than once" in rows(twice)["ann"].problem


def test_endings_count_whatever_their_case(tmp_path):
    members = (("a_101_900_LAB.IPYNB", "{}"), ("b_102_901_Lab.Py", SOURCE), ("c_103_902_notes.PDF", "x"))
    found = rows(zipped(tmp_path / "submissions.zip", *members))
    assert not found["a"].problem and not found["b"].problem and found["c"].problem
    assert found["a"].path.suffix == ".ipynb" or found["a"].path.name == "lab.ipynb"


def test_what_a_killed_run_unpacked_is_removed_and_what_another_one_needs_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    class_zip = zipped(tmp_path / "c.zip", ("ann.py", SOURCE))
    for name in ("killed", "young"):
        (tmp_path / "tmp" / f"{PREFIX}{name}").mkdir(parents=True)
    os.utime(tmp_path / "tmp" / f"{PREFIX}killed", (0, 0))
    with opened_class(class_zip) as entries:
        mine = entries[0].path.parent.parent
        os.utime(mine, (0, 0))
        assert {each.name for each in (tmp_path / "tmp").iterdir()} == {f"{PREFIX}young", mine.name}
        with opened_class(class_zip):
            assert entries[0].path.read_text() == SOURCE
    assert [each.name for each in (tmp_path / "tmp").iterdir()] == [f"{PREFIX}young"]


# ---- nobody vanishes -------------------------------------------------------------------------------

LEFT = "holds only what an operating system, Jupyter or Python leaves behind"
NOTHING_TO_GRADE = {  # what a student's folder holds, and what their row says
    "a checkpoint": ((".ipynb_checkpoints/lab-checkpoint.ipynb",), LEFT),
    "a checkpoint further down": (("deep/.ipynb_checkpoints/lab-checkpoint.ipynb",), LEFT),
    "compiled Python": (("__pycache__/lab.cpython-311.pyc", "__pycache__/lab.py"), LEFT),
    "what macOS keeps": (("._lab.py", ".DS_Store"), LEFT),
    "what Windows keeps": (("desktop.ini", "Thumbs.db"), LEFT),
    "nothing": ((), "is empty"),
    "nothing further down": (("deep/",), "is empty"),
}
FOLDERS = {
    "plain": "{name}",
    "Moodle": "{name}_{number}_assignsubmission_file_",
    "Moodle, now": "{name}_{number}_assignsubmission_file",
    "Gradescope": "submission_{number}",
}


def written(root: Path, *files: str) -> Path:
    """A folder with these files; one that ends in a stroke is an empty folder."""
    for file in files:
        path = root / file
        if file.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# {file}\n")
    return root


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_a_student_of_whom_nothing_is_left_to_grade_is_a_row_that_says_so(tmp_path, folder):
    students = {f"s{number}": kind for number, kind in enumerate(NOTHING_TO_GRADE, start=11)}
    top = {student: folder.format(name=student, number=student[1:]) for student in students}
    files = [f"{top[student]}/{each}" for student, kind in students.items() for each in NOTHING_TO_GRADE[kind][0]]
    files += [folder.format(name="ann", number=1) + "/lab.py", *[f"{top[each]}/" for each in students], "__MACOSX/x"]
    if folder.startswith("submission"):
        files.append("submission_metadata.yml")
    filled = [each for each in files if not any(other != each and other.startswith(each) for other in files)]
    unpacked = written(tmp_path / "unpacked", *filled)
    for prefix in ("", "class/"):
        class_zip = zipped(tmp_path / "c.zip", *members(*(f"{prefix}{each}" for each in files)))
        for source in (class_zip, unpacked):
            found = {each.shown_as.split("/")[0]: each for each in rows(source).values()}
            assert set(found) == {*top.values(), folder.format(name="ann", number=1)}
            for student, kind in students.items():
                words = NOTHING_TO_GRADE[kind][1]
                if words != LEFT and source == unpacked and folder == FOLDERS["plain"]:
                    words = "it holds none"
                assert words in found[top[student]].problem, (source, kind)


def test_what_is_left_of_a_file_at_the_top_is_that_file_s_row(tmp_path):
    beside = [
        "ann.py",
        "._ann.py",
        "._bob.py",
        "._ida",
        "cem/lab.py",
        "._cem",
        "._.DS_Store",
        ".DS_Store",
        "desktop.ini",
    ]
    mirrored = [
        "ann.py",
        "__MACOSX/._ann.py",
        "__MACOSX/._bob.py",
        "__MACOSX/._ida",
        "cem/lab.py",
        "__MACOSX/cem/._lab.py",
    ]
    sources = [written(tmp_path / "folder", *beside)]
    for number, files in enumerate((beside, mirrored)):
        sources.append(zipped(tmp_path / f"{number}.zip", *members(*files)))
        around = [f"__MACOSX/class/{each[9:]}" if "__MACOSX" in each else f"class/{each}" for each in files]
        sources.append(zipped(tmp_path / f"{number}_around.zip", *members(*around, "__MACOSX/._class")))
    for source in sources:
        found = problems(source)
        assert set(found) == {"ann", "bob", "cem", "ida"} and not found["ann"] and not found["cem"], source
        assert found["bob"].startswith("._bob.py is what macOS keeps beside a file, and that file is missing")


def test_what_a_system_left_takes_nothing_from_who_handed_in(tmp_path):
    files = [
        "ann/lab.py",
        "ann/._lab.py",
        "ann/.ipynb_checkpoints/lab-checkpoint.ipynb",
        "ann/empty/",
        "__MACOSX/ann/._lab.py",
    ]
    for source in (zipped(tmp_path / "c.zip", *members(*files, "bob.py")), written(tmp_path / "f", *files, "bob.py")):
        found = rows(source)
        assert {name: (each.shown_as, each.problem, each.note) for name, each in found.items()} == {
            "ann": ("ann/lab.py", "", ""), "bob": ("bob.py", "", ""),
        }  # fmt: skip


def test_a_folder_of_one_student_s_own_is_not_taken_for_one_around_a_class(tmp_path):
    found = problems(zipped(tmp_path / "c.zip", *members("bob/lab.py", "bob/.ipynb_checkpoints/lab-checkpoint.ipynb")))
    assert found == {"bob": ""}
    found = problems(zipped(tmp_path / "d.zip", *members("bob/", "bob/.ipynb_checkpoints/lab-checkpoint.ipynb")))
    assert set(found) == {"bob"} and LEFT in found["bob"]


def test_a_folder_that_cannot_be_read_is_a_row(tmp_path, monkeypatch):
    files = ("Ada_11_assignsubmission_file/lab.py", "Bob_12_assignsubmission_file/lab.py")
    export, scandir = written(tmp_path / "export", *files), os.scandir

    def refused(path):
        if "Bob" in os.fspath(path):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert problems(export) == {
        "Ada": "", "Bob": "The folder Bob_12_assignsubmission_file cannot be read: Permission denied.",
    }  # fmt: skip


def test_a_file_of_a_folder_that_stands_twice_is_noted(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(tmp_path / "c.zip", *members("ann/lab.py", "bob/lab.py"), ("ann/lab.py", "second = 2\n"))
    with opened_class(path) as entries:
        ann, bob = entries
        assert ann.path.read_text() == "second = 2\n" and bob.note == ""
        assert ann.note == "ann/lab.py stands in the zip 2 times; the last counts."


def test_no_two_students_share_a_name_or_a_file(tmp_path, monkeypatch):
    moodle = [
        f"{name}_assignsubmission_file_/lab.py" for name in ("Ada_11", "Ada_12", "Ada (11)_13", "Ada (moodle 11)_14")
    ]
    found = rows(zipped(tmp_path / "m.zip", *members(*moodle)))
    assert {name: each.ids["moodle"] for name, each in found.items()} == {
        "Ada (11) (moodle 11)": "11", "Ada (12)": "12", "Ada (11) (moodle 13)": "13", "Ada (moodle 11)": "14",
    }  # fmt: skip
    unseen = "\u200b\u200c\u200d\u2060\u2061\u2062\u2063"  # no name of a report has any of them
    strange = [f"Ann{one}{other}" for one in unseen for other in unseen]
    plain = members(*(f"{name}.py" for name in strange), "bob.py")
    assert set(rows(zipped(tmp_path / "p.zip", *plain))) == {*strange, "bob"}
    monkeypatch.setattr("autograder.records.files._HASH_DIGITS", 2)  # so that some of them share a hash
    doubled = {name for name in strange if sum(report_name(name) == report_name(each) for each in strange) > 1}
    assert doubled
    for source in (tmp_path / "p.zip", written(tmp_path / "p", *(f"{name}.py" for name in strange), "bob.py")):
        found = rows(source)
        assert len({report_name(name) for name in found}) == len(found) == len(strange) + 1
        assert set(strange) - doubled < set(found) and not doubled & set(found)
        assert all(any(each.startswith(f"{name} ({name}.py)") for each in found) for name in doubled)
        assert not any(each.problem for each in found.values())


# ---- strangers' zips -------------------------------------------------------------------------------


def special(name: str, mode: int) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    return member


def test_nothing_is_written_outside_and_nothing_is_skipped_silently(tmp_path):
    (tmp_path / "inner").mkdir()
    evil = zipped(
        tmp_path / "inner" / "evil.zip",
        ("ann.py", SOURCE),
        ("../../escaped.py", SOURCE),
        ("/etc/absolute.py", SOURCE),
        ("C:\\windows\\drive.py", SOURCE),
        ("bob/../../cem.py", SOURCE),
        (special("link.py", stat.S_IFLNK | 0o777), "/etc/passwd"),
        (special("dan/lab.py", stat.S_IFLNK | 0o777), "../ann.py"),
        (special("pipe.py", stat.S_IFIFO | 0o666), ""),
        ("inner.zip", "PK"),
        ("empty.py", ""),
    )
    before = sorted(tmp_path.rglob("*"))
    found = problems(evil)
    assert sorted(tmp_path.rglob("*")) == before
    out = "has a name that leads out of the zip: it was not unpacked."
    assert found == {
        "ann": "",
        "../../escaped.py": f"../../escaped.py {out}",
        "etc/absolute.py": f"etc/absolute.py {out}",
        "C:/windows/drive.py": f"C:/windows/drive.py {out}",
        "bob/../../cem.py": f"bob/../../cem.py {out}",
        "link": "link.py is a link: hand in the file itself.",
        "dan": "dan/lab.py is a link: hand in the file itself.",
        "pipe": "pipe.py is not an ordinary file: hand in the file itself.",
        "inner.zip": "inner.zip is an archive within the zip: hand in the notebook itself.",
        "empty": "empty.py is empty.",
    }


def test_a_bomb_costs_one_row_and_little_disk(tmp_path, monkeypatch):
    bomb = zipped(tmp_path / "bomb.zip", ("ann.py", SOURCE), ("bomb.py", b"\0" * (archive.MOST_BYTES_A_FILE + 1)))
    assert bomb.stat().st_size < 100_000
    assert problems(bomb) == {"ann": "", "bomb": "bomb.py unpacks to more than 16 MiB: no submission is that large."}
    monkeypatch.setattr(archive, "MOST_BYTES", 10 << 20)
    many = zipped(tmp_path / "many.zip", *((f"s{n}.py", b"#" * (4 << 20)) for n in range(5)))
    assert [bool(each) for each in problems(many).values()] == [False, False, True, True, True]


def test_a_full_disk_of_ours_is_told_of_no_student(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    whole = zipped(tmp_path / "class.zip", ("ann.py", SOURCE), ("bob.py", SOURCE))
    monkeypatch.setattr(archive, "open", full, raising=False)
    with pytest.raises(MachineFault, match="cannot be unpacked to .*: No space left on device. Make room there"):
        problems(whole)


@pytest.mark.parametrize("inner", ["export.zip", "class/export.ZIP"])
def test_an_export_that_was_zipped_once_more_is_refused_with_what_to_do(tmp_path, inner):
    twice = zipped(tmp_path / "class.zip", (inner, b"PK"), ("__MACOSX/._export.zip", b"x"))
    with pytest.raises(UsageError, match="holds nothing but another zip, export.*Unpack it once"):
        problems(twice)
    one = zipped(tmp_path / "one.zip", ("lovelaceada_12_34_lab.zip", b"PK"))  # a class of one, who handed in a zip
    assert "archive within the zip" in problems(one)["lovelaceada"]


def test_a_declared_size_is_not_believed(tmp_path, monkeypatch):
    """The headers say one byte; the data unpack to more than is allowed."""
    monkeypatch.setattr(archive, "MOST_BYTES_A_FILE", 1000)
    path = zipped(tmp_path / "lies.zip", ("ann.py", SOURCE), ("liar.py", b"#" * 5000))
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.rfind(signature) + offset
        data[at : at + 4] = struct.pack("<I", 1)
    path.write_bytes(data)
    found = problems(path)
    assert found["ann"] == "" and found["liar"].startswith("liar.py ")


def test_damaged_and_encrypted_members_cost_their_own_row(tmp_path):
    path = zipped(tmp_path / "damaged.zip", ("ann.py", SOURCE), ("bob.py", "x = 1\n" * 500), ("cem.py", SOURCE))
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as opened:
        at = opened.getinfo("bob.py").header_offset
    data[at + 40] ^= 0xFF
    flags = data.rfind(b"PK\x01\x02") + 8
    data[flags] |= 0x1
    path.write_bytes(data)
    found = problems(path)
    assert found["ann"] == "" and "damaged" in found["bob"] and found["cem"] == "cem.py is protected by a password."


METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflated": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "LZMA": zipfile.ZIP_LZMA,
}


def packed(path: Path, method: int, *texts: bytes) -> Path:
    with zipfile.ZipFile(path, "w", method) as target:
        for number, text in enumerate(texts):
            target.writestr(f"s{number}.py", text)
    return path


def data_of(path: Path, name: str) -> tuple[int, int]:
    """Where a member's packed data begin in the file, and how many bytes they are."""
    with zipfile.ZipFile(path) as opened:
        member = opened.getinfo(name)
    return member.header_offset + 30 + len(name), member.compress_size


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_member_of_any_compression_is_unpacked_and_a_damaged_one_costs_its_own_row(tmp_path, method):
    text = bytes(random.Random(1).choices(b"abcdef \n", k=5000))
    path = packed(tmp_path / "c.zip", method, text, text, text, b"")
    with opened_class(path) as entries:
        assert [(each.problem, each.path.read_bytes()) for each in entries[:3]] == [("", text)] * 3
        assert entries[3].problem == "s3.py is empty."
    whole, (start, size) = path.read_bytes(), data_of(path, "s1.py")
    damages = {
        "a bit": lambda data: (
            data[: start + size // 2] + bytes([data[start + size // 2] ^ 1]) + data[start + size // 2 + 1 :]
        ),
        "its beginning": lambda data: data[:start] + b"\xff" * 16 + data[start + 16 :],
        "its end": lambda data: data[: start + size - 40] + b"\0" * 40 + data[start + size :],
        "all of it": lambda data: data[:start] + b"\0" * size + data[start + size :],
    }
    for damage, applied in damages.items():
        path.write_bytes(applied(whole))
        found = problems(path)
        assert found["s0"] == found["s2"] == "" and found["s1"].startswith("s1.py is damaged in the zip"), damage


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_member_that_is_cut_short_costs_its_own_row(tmp_path, method):
    path = packed(tmp_path / "c.zip", method, SOURCE.encode() * 50, SOURCE.encode() * 50)
    data, (_, size) = bytearray(path.read_bytes()), data_of(path, "s1.py")
    at = data.rfind(b"PK\x01\x02") + 20  # the packed size in the directory, of the last member
    data[at : at + 4] = struct.pack("<I", size // 2)
    path.write_bytes(data)
    found = problems(path)
    assert found["s0"] == "" and found["s1"].startswith("s1.py is damaged in the zip")


@pytest.mark.parametrize("method", [1, 6, 9, 93, 95, 97, 98, 99, 65535])
def test_a_member_of_an_unknown_compression_costs_its_own_row(tmp_path, method):
    path = packed(tmp_path / "c.zip", zipfile.ZIP_DEFLATED, SOURCE.encode(), SOURCE.encode())
    data = bytearray(path.read_bytes())
    for at in (data.rfind(b"PK\x03\x04") + 8, data.rfind(b"PK\x01\x02") + 10):
        data[at : at + 2] = struct.pack("<H", method)
    path.write_bytes(data)
    found = problems(path)
    assert found["s0"] == "" and f"is packed by a method that is not known here ({method})" in found["s1"]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_bomb_of_any_compression_takes_little_memory(tmp_path, method):
    """A few kilobytes of bzip2 or LZMA hold gigabytes: what is unpacked at once is limited, whatever is declared."""
    size = (1 if method == zipfile.ZIP_STORED else 200) << 20
    path = packed(tmp_path / "c.zip", method, b"\0" * size, SOURCE.encode())
    data = bytearray(path.read_bytes())
    data[(at := data.find(b"PK\x01\x02") + 24) : at + 4] = struct.pack("<I", 1 << 20)  # the size unpacked
    path.write_bytes(data)
    tracemalloc.start()
    found = problems(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["s1"] == "" and peak < 16 << 20
    assert ("s0.py" in found["s0"]) == (method != zipfile.ZIP_STORED)


def test_an_lzma_member_that_wants_much_memory_costs_its_own_row(tmp_path):
    path = packed(tmp_path / "c.zip", zipfile.ZIP_LZMA, SOURCE.encode(), SOURCE.encode())
    data, (start, _) = bytearray(path.read_bytes()), data_of(path, "s0.py")
    data[start + 5 : start + 9] = struct.pack("<I", 0xFFFFFFFF)
    path.write_bytes(data)
    assert "it wants 4,095 MiB of memory" in problems(path)["s0"] and problems(path)["s1"] == ""


def test_what_is_unpacked_for_nothing_counts_as_well(tmp_path, monkeypatch):
    """Members that are too large or damaged are removed again: a zip full of them must come to an end all the same."""
    monkeypatch.setattr(archive, "MOST_BYTES", 5 << 20)
    texts = [bytes([number]) * (1 << 20) for number in range(20)]
    path = packed(tmp_path / "c.zip", zipfile.ZIP_BZIP2, *texts)
    data = bytearray(path.read_bytes())
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        data[at + 16] ^= 0xFF  # the checksum in the directory
        at = data.find(b"PK\x01\x02", at + 4)
    path.write_bytes(data)
    found = problems(path).values()
    assert sum("is damaged in the zip" in each for each in found) == 5
    assert sum("the zip unpacks to more than" in each for each in found) == 15


def test_what_is_too_large_by_its_own_word_is_not_unpacked_at_all(tmp_path, monkeypatch):
    path = packed(tmp_path / "c.zip", zipfile.ZIP_DEFLATED, b"\0" * (17 << 20), SOURCE.encode())
    monkeypatch.setattr(archive, "pieces", lambda opened, member: iter([SOURCE.encode()]))
    assert problems(path) == {"s0": "s0.py unpacks to more than 16 MiB: no submission is that large.", "s1": ""}


def mutated(rng: random.Random, folder: Path) -> Path:
    """A class's zip with one to eight damages: bytes changed, cut out, put in, or copied, and the end cut off."""
    path = folder / "mutated.zip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that stand twice
        with zipfile.ZipFile(path, "w") as target:
            for name in rng.sample(
                ("ann.py", "bob/lab.py", "bob/", "cem/._lab.py", "dan.ipynb", "é.py", "ann.py", "x/y/z.py"), 5
            ):
                method = rng.choice([*METHODS.values(), zipfile.ZIP_LZMA])
                target.writestr(name, "" if name.endswith("/") else SOURCE * rng.randrange(40), method)
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at, size = rng.randrange(len(data)), rng.randint(1, 12)
        data[at : at + rng.choice((1, 1, size, 0))] = rng.choice(
            (rng.randbytes(1), rng.randbytes(size), b"", b"\0" * size, b"\xff" * size, data[:size])
        )
        data = data or bytearray(b"PK")
    path.write_bytes(data[: rng.randint(1, len(data))] if rng.random() < 0.1 else data)
    return path


def outcome_of(path: Path) -> str:
    try:
        return "rows" if rows(path) else "none"
    except UsageError as problem:
        assert "\n" not in str(problem)
        return "refused"


def test_a_mutated_zip_is_rows_or_one_sentence(tmp_path):
    rng = random.Random(20_260)
    outcomes = Counter(outcome_of(mutated(rng, tmp_path)) for _ in range(MUTANTS))
    assert set(outcomes) == {"rows", "refused"} and min(outcomes.values()) > MUTANTS // 20


def test_names_in_utf_8_that_do_not_say_so_are_read_as_utf_8(tmp_path):
    path = zipped(tmp_path / "names.zip", ("größe.py", SOURCE), ("你好.py", SOURCE), ("plain.py", SOURCE))
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset + 1] &= ~0x08
            at = data.find(signature, at + 4)
    path.write_bytes(data)
    assert set(rows(path)) == {"größe", "你好", "plain"}


def test_a_name_that_stands_twice_counts_once_and_says_so(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(tmp_path / "twice.zip", ("ann.py", "first = 1\n"), ("ann.py", "second = 2\n"), ("bob.py", SOURCE))
    with opened_class(path) as entries:
        ann = next(each for each in entries if each.student == "ann")
        assert ann.path.read_text() == "second = 2\n" and "stands in the zip 2 times; the last counts" in ann.note


@pytest.mark.parametrize("data", [b"", b"PK\x05\x06", b"not a zip at all", b"PK\x03\x04" + b"\0" * 100])
def test_what_is_no_zip_is_bad_usage(tmp_path, data):
    path = tmp_path / "class.zip"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="is not a zip|cannot be read|holds no submissions"):
        rows(path)


def test_an_empty_zip_is_bad_usage(tmp_path):
    with pytest.raises(UsageError, match="holds no submissions"):
        rows(zipped(tmp_path / "empty.zip"))


# ---- choosing --------------------------------------------------------------------------------------


def test_only_takes_a_name_a_file_or_an_id_and_nothing_near_it(tmp_path):
    export = zipped(
        tmp_path / "c.zip", *((f"{name}_{number}_9{number}_lab.py", SOURCE) for number, name in enumerate("abc", 101))
    )
    with opened_class(export) as entries:
        assert [each.student for each in chosen_entries(entries, ["102", "a"])] == ["b", "a"]
        assert chosen_entries(entries, []) == entries
        with pytest.raises(UsageError, match="--only 10: is no student's name, file or ID"):
            chosen_entries(entries, ["10"])
