"""Every command of the instructor's guide is carried out as it stands there, in a small course of its own."""

from __future__ import annotations

import re
import shlex
import shutil
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from autograder import cli
from autograder.gradescope.building import pinned
from autograder.grading import bench
from autograder.grading.labs import labs_root
from autograder.records.json_form import from_text, write_result
from autograder.tests.finding import found
from autograder.tests.lending import laid_with_compiled, lend_cache
from autograder.tests.test_grading_bad_input import GOOD

pytestmark = pytest.mark.long

GUIDE = (labs_root() / "README.md").read_text(encoding="utf-8")
LAB = "lab01_naive_matmul"
INDENTED = re.findall(r"^    autograder (.+)$", GUIDE, re.MULTILINE)
WITHIN_TEXT = re.findall(r"`autograder ([^`]+)`", GUIDE)
METADATA = "---\n" + "".join(
    f"submission_{number}:\n  :submitters:\n  - :name: {name}\n    :sid: '{sid}'\n"
    f"  :created_at: 2026-10-0{day} 10:00:00.500000000 Z\n"
    for number, name, sid, day in ((900, "ada", 101, 1), (901, "alan", 102, 3))
)
# What each command comes to in the course below, where that is not 0: half of its class is wrong, a starter is no
# solution, nobody has written the new lab's judge, `doctor` says what a test machine lacks, and there is no cluster.
CODES = {"grade": {1}, "check lab08": {1}, "fuzz lab08": {2}, "doctor": {0, 3}, "grade --dask": {2}}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    solutions = labs_root().parent / "solutions" / LAB
    shutil.copytree(labs_root() / LAB, root / "labs" / LAB, ignore=shutil.ignore_patterns("example_class"))
    (root / "solutions" / LAB / "wrong").mkdir(parents=True)
    shutil.copy(solutions / "lab.ipynb", root / "solutions" / LAB)
    shutil.copy(solutions / "wrong" / "transposed_mapping.py", root / "solutions" / LAB / "wrong")
    with zipfile.ZipFile(
        root / "SUBMISSIONS", "w"
    ) as export:  # Gradescope's has an ID that Canvas and Moodle know as well
        export.writestr("submission_metadata.yml", METADATA)
        export.writestr("submission_900/lab.py", GOOD)
        export.writestr("submission_901/lab.py", GOOD.replace("total = 0.0", "total = 1.0"))
    (root / "FILE").write_text(GOOD)
    (root / "OVERRIDES.csv").write_text("student,check,points,comment\n102,total,3,Seen in class.\n")
    (root / "SEED").write_text("nobody guesses this")
    (root / "HIDDEN.py").write_text(found(r"```python\n(.*?)```", GUIDE, re.DOTALL)[1])
    (root / "WHEELS").mkdir()
    for pin in pinned():
        name, version = pin.split(" ")[0].split("==")
        (root / "WHEELS" / f"{name}-{version}-py3-none-any.whl").touch()
    (root / "CANVAS.csv").write_text(f"Student,ID,SIS User ID,{LAB} (5012),Essay (5013)\nA,7,101,,\nB,8,102,,\n")
    (root / "MOODLE.csv").write_text("Identifier,ID number,Grade,Maximum grade\nParticipant 5,101,,10\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOGRADER_LABS", str(root / "labs"))
        patch.setattr("autograder.grading.dask_batch.CONNECT_SECONDS", 0.5, raising=False)
        patch.setattr("autograder.release.lay_course", laid_with_compiled)
        patch.setattr("autograder.grading.bench._check_command", checked_with_compiled)
        patch.chdir(root)
        yield root


def checked_with_compiled(lab, submission, numba_cache, run=bench._check_command):
    """The benchmark's first check, in a cache in which all is compiled."""
    lend_cache(Path(numba_cache))
    run(lab, submission, numba_cache)


def expected(command):
    fitting = [codes for start, codes in CODES.items() if f"{command} ".startswith(f"{start.split(' --')[0]} ")]
    if "--feedback" in command:  # Gradescope's class has nobody whom Moodle or Canvas would know; see below
        return {2}
    return CODES["grade --dask"] if "--dask" in command else (fitting[0] if fitting else {0})


def test_the_guide_has_commands_for_everything_that_an_instructor_does():
    used = " ".join([*INDENTED, *WITHIN_TEXT])
    commands = "labs doctor grade check export calibrate new-lab starters release gradescope archive"
    for word in commands.split():
        assert re.search(rf"\b{word}\b", used), word
    for option in (
        "--only",
        "--regrade",
        "--canvas",
        "--moodle",
        "--gradescope",
        "--junit",
        "--hidden",
        "--seed-file",
        "--above-maximum",
        "--overrides",
        "--due",
        "--late",
        "--comments",
        "--feedback",
        "--zip",
        "--wheels",
    ):
        assert option in used


def test_every_command_of_the_guide_works_in_the_order_in_which_it_stands(course, capsys):
    everything = re.findall(r"^    autograder (.+)$|`autograder ([^`]+)`", GUIDE, re.MULTILINE)
    for command in dict.fromkeys(indented or within for indented, within in everything):
        code = cli.main(shlex.split(command))
        captured = capsys.readouterr()
        assert code in expected(command), f"autograder {command}: {code}\n{captured.out}\n{captured.err}"
    assert (course / "GRADES" / "canvas.csv").read_text().splitlines()[1].startswith("A,7,101,2")
    table = (course / "GRADES" / "gradebook.csv").read_text(encoding="utf-8-sig")
    assert "1 day 12 h 1 min late, handed in 2026-10-03 12:00 CEST, due 2026-10-01 23:59 CEST." in table
    assert table.count("Handed in late") == 1
    assert "3 points by hand" in table and "B,8,102,3," in (course / "GRADES" / "canvas.csv").read_text()
    assert re.search(
        "Participant 5,101,2[0-9.]*,10", (course / "GRADES" / "moodle.csv").read_text()
    )  # 20 of 10 are kept
    assert (course / "GRADES" / "junit.xml").is_file() and (course / "GRADES" / "gradescope").is_dir()
    assert (course / "CALIBRATION.json").is_file()
    assert zipfile.is_zipfile(course / "STUDENTS.zip") and (course / "MY_COURSE" / "labs" / LAB / "lab.ipynb").is_file()
    with tarfile.open(course / "TERM.tar.gz") as term:
        held = {f"classes/GRADES/{name}" for name in ("seed.txt", "hidden/HIDDEN.py", "grades/gradebook.csv")}
        assert {f"TERM/{name}" for name in ("again.py", *held)} <= set(term.getnames())
    with zipfile.ZipFile(course / "lab01.zip") as opened:
        assert {"setup.sh", "run_autograder"} <= set(opened.namelist())


def test_the_guides_reports_go_back_in_a_zip_and_its_table_says_what_the_class_misunderstands(course):
    (command,) = [each for each in INDENTED if "--feedback" in each]
    for number, path in enumerate(sorted((course / "GRADES" / "results").glob("*.json")), start=41):
        given = from_text(path.read_text(encoding="utf-8"))
        write_result(replace(given, ids={"moodle": str(number)}), path)
    assert cli.main(shlex.split(command)) == 0
    with zipfile.ZipFile(course / "GRADES" / "feedback_moodle.zip") as opened:
        assert opened.namelist() == [f"{name}_assignfeedback_file_{LAB}.html" for name in ("ada_41", "alan_42")]
        assert b"tall" not in opened.read(opened.namelist()[1])  # the hidden check's sentence
    table = (course / "GRADES" / "misconceptions.csv").read_text(encoding="utf-8-sig").splitlines()
    assert table[0] == '"check","hint","sentence","count","share","students"' and '0.5,"alan"' in table[1]


def test_the_hidden_check_of_the_guide_decides_and_stays_hidden(course):
    pages = [path.read_text(encoding="utf-8") for path in (course / "GRADES" / "reports").glob("*.html")]
    assert len(pages) == 2 and all("Hidden check 1" in page and "tall" not in page for page in pages)
