"""What `make lab` opens: the course from its root, in a real JupyterLab, where every link of a lesson leads to a file."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from autograder.command_output import FAULT, USAGE
from autograder.course_folder import FIRST_LESSON, course_root
from autograder.decks.browser import Browser, find_browser
from autograder.errors import GraderFault, UsageError
from autograder.grading.labs import load_lab
from autograder.tests.finding import found
from autograder.tests.jupyter_server import OPTIONS, SECONDS, TOKEN, Server, served
from autograder.tests.test_layout_repository import COURSE, READMES, ROOT

pytestmark = pytest.mark.long

LESSONS = sorted(ROOT.glob("notebooks/[0-9][0-9]*_*.ipynb"))
LABS = sorted(ROOT.glob("labs/*/lab.ipynb"))
DECKS = sorted(ROOT.glob("slides/[0-9][0-9]_*.md"))
LESSON_1 = "notebooks/01b_what_holds_it_up.ipynb"
LAB_1 = "labs/lab01_naive_matmul/lab.ipynb"


def in_course(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# ---- links, without a server -----------------------------------------------------------------------


class Links(HTMLParser):
    """The addresses that a page links to or shows."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attributes if name in ("href", "src")]


def pages(path: Path) -> Iterator[str]:
    """The HTML that JupyterLab makes of a file's Markdown, and that outputs bring along."""
    from markdown_it import MarkdownIt

    render = MarkdownIt("commonmark").enable("table").render
    if path.suffix == ".md":
        yield render(path.read_text(encoding="utf-8"))
        return
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            yield render("".join(cell["source"]))
        for output in cell.get("outputs", []):
            yield "".join(output.get("data", {}).get("text/html", ""))


def targets(path: Path) -> set[str]:
    """Where the links within the course lead, as JupyterLab resolves them: from the file's folder, up to the root."""
    found = set()
    for link in (link for page in pages(path) for link in Links(page).found):
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc and parts.path:
            found.add(normpath(join(dirname(in_course(path)), unquote(parts.path))))
    return found


def promised(deck: Path) -> str:
    """What a deck says that `make lab` is for."""
    return found(r"^make lab +(?:then open|opens) (\S+)$", deck.read_text(encoding="utf-8"), re.MULTILINE)[1]


@pytest.mark.parametrize("path", [*LESSONS, *LABS, *READMES], ids=in_course)
def test_links_lead_to_files_that_jupyterlab_can_open(path: Path) -> None:
    for target in targets(path):
        assert not target.startswith(("/", "..")), f"{target} is outside the course"
        assert not any(part.startswith(".") for part in target.split("/")), f"{target}: hidden files are not served"
        assert (ROOT / target).is_file(), f"{target} is no file, and JupyterLab opens no folder from a link"


def test_every_lab_is_linked_to_by_its_lesson_and_by_the_list_of_lessons() -> None:
    from_lessons = {target for path in LESSONS for target in targets(path)}
    assert {in_course(path) for path in LABS} <= from_lessons & targets(ROOT / "notebooks" / "README.md")
    assert {FIRST_LESSON, LAB_1} <= targets(ROOT / "README.md")


def test_the_last_slide_of_each_deck_names_a_notebook_of_the_course() -> None:
    assert {promised(deck) for deck in DECKS} >= {FIRST_LESSON, *(in_course(path) for path in LABS)}
    assert all((ROOT / promised(deck)).is_file() for deck in DECKS)


def test_one_command_opens_jupyterlab_with_make_and_without() -> None:
    makefile, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "README.md"))
    assert "\nlab: $(READY)\n\t@$(RUN) -m autograder lab -- $(JUPYTER_FLAGS)\n" in makefile
    for python in (".venv/bin/python", r".venv\Scripts\python"):
        assert re.search(rf"{re.escape(python)} -m autograder lab\s", readme)
    for path in (ROOT / "Makefile", *READMES, *DECKS):
        assert not re.search(r"jupyter[ -]lab\b", path.read_text(encoding="utf-8")), f"{path}: another way to open it"


# ---- the command, without a server -----------------------------------------------------------------


def test_outside_a_course_the_command_says_what_it_looks_for(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("autograder.__file__", str(tmp_path / "site-packages" / "autograder" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"it holds {FIRST_LESSON}. Run this in it."):
        course_root()
    (tmp_path / "notebooks" / "data").mkdir(parents=True)
    (tmp_path / FIRST_LESSON).touch()
    monkeypatch.chdir(tmp_path / "notebooks" / "data")
    assert course_root() == tmp_path


def test_without_jupyterlab_the_command_says_how_to_install_it() -> None:
    lacking = "import sys; sys.modules['jupyterlab'] = None; from autograder.cli import main; sys.exit(main(['lab']))"
    done = subprocess.run([sys.executable, "-c", lacking], capture_output=True, text=True, cwd=ROOT, timeout=SECONDS)
    assert done.returncode == FAULT
    said = r"autograder: The package jupyterlab(\.labapp)? is not installed\. Install what the course needs: \S+ -m pip .*\n"
    assert re.fullmatch(said, done.stderr)


def test_options_that_jupyterlab_refuses_are_bad_usage(tmp_path) -> None:
    own = {"JUPYTER_CONFIG_DIR": str(tmp_path), "JUPYTER_DATA_DIR": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "autograder", "lab", "--", "--no-browser", "--port=none"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | own, timeout=SECONDS)
    assert done.returncode == USAGE
    assert "Traceback" not in done.stderr


# ---- the server ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the course that students may write into; its path has a space."""
    root = tmp_path_factory.mktemp("a course")
    for name in COURSE:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "tests"))
    for name in ("Makefile", "README.md", "requirements.txt", "pyproject.toml"):
        shutil.copy2(ROOT / name, root / name)
    return root


@pytest.fixture(scope="module")
def server(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`make lab`, for a user whose own settings are all about another folder."""
    folder = tmp_path_factory.mktemp("jupyter")
    (folder / "config").mkdir()
    elsewhere = {
        "ServerApp.root_dir": str(folder),
        "ServerApp.preferred_dir": str(folder),
        "LabApp.default_url": "/doc",
    }
    settings = "".join(f"c.{name} = {value!r}\n" for name, value in elsewhere.items())
    (folder / "config" / "jupyter_server_config.py").write_text(settings, encoding="utf-8")
    options = shlex.join([*OPTIONS, "--LabApp.expose_app_in_browser=True"])
    command = [
        "make",
        "--old-file=.venv/.ready",
        "lab",
        f"RUN={shlex.quote(sys.executable)}",
        f"JUPYTER_FLAGS={options}",
    ]
    others = {"AUTOGRADER_LABS": "", "MAKEFLAGS": "", "CUDA_VISIBLE_DEVICES": ""}
    with served(command, course, folder, PYTHONPATH=str(course), **others) as running:
        yield running


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="no make: nobody looked at `make lab`")


@needs_make
def test_make_lab_serves_all_that_lessons_readmes_and_slides_name(server: Server) -> None:
    assert {"labs", "notebooks"} <= {each["name"] for each in server.get("api/contents/")["content"]}
    named = {in_course(path) for path in LESSONS} | {promised(deck) for deck in DECKS}
    named |= {
        target for path in (*LESSONS, ROOT / "README.md", ROOT / "notebooks/README.md") for target in targets(path)
    }
    assert len([path for path in named if path.endswith("lab.ipynb")]) == len(LABS)
    for path in named:
        kind = "notebook" if path.endswith(".ipynb") else "file"
        assert server.get(f"api/contents/{path}?content=0")["type"] == kind


@needs_make
def test_make_lab_shows_the_first_lesson_first(server: Server) -> None:
    assert server.ask("")[0] == f"{server.url}lab/tree/{FIRST_LESSON}"
    assert f"/lab/tree/{FIRST_LESSON}?token=" in server.log.read_text(encoding="utf-8")


@needs_make
@pytest.mark.parametrize("path", [*LESSONS, *LABS], ids=in_course)
def test_a_lesson_or_lab_comes_with_what_its_kernel_will_say_of_itself(server: Server, path: Path) -> None:
    """JupyterLab would write it in, and take the notebook for one that somebody changed."""
    kernel = server.get("api/kernelspecs")["kernelspecs"]["python3"]["spec"]
    metadata = server.get(f"api/contents/{in_course(path)}")["content"]["metadata"]
    named = {key: kernel[key] for key in ("display_name", "language")}
    assert metadata["kernelspec"] == {"name": "python3", **named}
    assert metadata["language_info"]["version"] == sys.version.split()[0]


@needs_make
@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"kernelspec": "python3"},
        {"kernelspec": ["python3"]},
        {"kernelspec": {"name": "ir", "display_name": "R"}},
    ],
    ids=str,
)
def test_a_notebook_for_another_kernel_or_none_is_read_as_it_stands(
    server: Server, course: Path, metadata: dict[str, Any]
) -> None:
    notebook = {"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (course / "own.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    assert server.get("api/contents/own.ipynb")["content"] == notebook


# ---- the browser -----------------------------------------------------------------------------------

SHOWN = "window.jupyterapp?.shell.currentWidget"
KERNEL = f"{SHOWN}?.sessionContext?.session?.kernel"
CHANGED = f"{SHOWN}.context.model.dirty"
LINK = "[...document.querySelectorAll('.jp-Notebook a')].find(link => link.href.includes('/labs/'))"
CHECKS = f"{SHOWN}.node.querySelectorAll('.jp-OutputArea section.check').length"
POINTS = f"{SHOWN}.node.querySelector('.jp-OutputArea .big').parentElement.innerText"
RESTORED = f"[...({SHOWN}?.parent.widgets() ?? [])].some(each => each.context?.path === '{LAB_1}')"
HIDDEN = f"{SHOWN}.content.widgets.filter(each => each.model.type === 'code').map(each => each.outputHidden)"
WORKSPACE = "lab/api/workspaces/default"  # what JupyterLab had open, and opens again


class Student:
    """Somebody at JupyterLab: a context manager. Who waits in vain fails with what the page and the server say."""

    def __init__(self, server: Server) -> None:
        program = find_browser()
        if program is None:
            pytest.skip("no Chromium, Chrome or Edge found: nobody looked at `make lab` (set BROWSER to one)")
        self._server = server
        self._browser = Browser(program, SECONDS)
        self.asks = self._browser.evaluate

    def __enter__(self) -> Student:
        self._browser.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._browser.__exit__(*error)

    def goes_to(self, path: str) -> None:
        self._browser.call("Page.navigate", url=f"{self._server.url}{path}{'&' if '?' in path else '?'}token={TOKEN}")

    def waits_for(self, expression: str) -> None:
        try:
            self._browser.wait_for(expression)
        except GraderFault as problem:
            seen = self.asks("location.pathname + '\\n' + document.body.innerText.slice(-2000)")
            raise AssertionError(f"{problem}\nThe page shows:\n{seen}\n{self._server.said()}") from None

    def sees(self, path: str) -> None:
        """Waits until the notebook is in front, and its kernel has said what it is and has nothing to do."""
        self.waits_for(f"{SHOWN}?.context?.path === '{path}' && {KERNEL}?.status === 'idle'")
        self.asks(f"Promise.all([{KERNEL}.info, {KERNEL}.spec]).then(() => new Promise(noted => setTimeout(noted)))")

    def runs_all_cells(self) -> str:
        """The points that the check at the notebook's end gives, as it shows them."""
        self.asks("void jupyterapp.commands.execute('notebook:run-all-cells')")
        self.waits_for(f"{CHECKS} > 0")
        return self.asks(POINTS)


@needs_make
def test_a_lesson_s_link_opens_its_lab_and_the_lab_gives_a_verdict(server: Server, course: Path) -> None:
    """Nothing counts as changed before something has been run. Whoever comes back finds lesson 0 before the rest."""
    shutil.copy2(ROOT / LAB_1, course / LAB_1)
    lab = load_lab("lab01")
    with Student(server) as student:
        student.goes_to(f"lab/tree/{LESSON_1}?reset")
        student.sees(LESSON_1)
        assert student.asks(CHANGED) is False
        student.waits_for(LINK)
        student.asks(f"{LINK}.click()")
        student.sees(LAB_1)
        assert student.asks(CHANGED) is False
        assert student.runs_all_cells() == f"0 of {lab.points:g} points"
        assert student.asks(CHECKS) == len(lab.checks)
        end = time.monotonic() + SECONDS
        while f"notebook:{LAB_1}" not in json.dumps(server.get(WORKSPACE)):
            assert time.monotonic() < end, f"JupyterLab does not note what is open.\n{server.said()}"
            time.sleep(0.1)
    with Student(server) as student:
        student.goes_to("")
        student.waits_for(RESTORED)
        student.sees(FIRST_LESSON)


@needs_make
def test_what_is_to_be_predicted_is_hidden_until_its_cell_is_run(server: Server) -> None:
    cells = [each for each in json.loads((ROOT / FIRST_LESSON).read_text(encoding="utf-8"))["cells"]]
    asked = [each["metadata"].get("jupyter", {}).get("outputs_hidden", False) for each in cells if "outputs" in each]
    first = asked.index(True)
    with Student(server) as student:
        student.goes_to(f"lab/tree/{FIRST_LESSON}?reset")
        student.sees(FIRST_LESSON)
        assert student.asks(HIDDEN) == asked
        student.asks("void jupyterapp.commands.execute('notebook:run-all-cells')")
        student.waits_for(f"{HIDDEN}[{first}] === false && {KERNEL}?.status === 'idle'")
        assert not any(student.asks(HIDDEN))


@pytest.mark.rest  # the test above runs all cells of a lab there, and others grade the solution
@needs_make
def test_the_model_solution_gets_all_points_in_jupyterlab(server: Server, course: Path) -> None:
    solution = json.loads((ROOT / LAB_1.replace("labs", "solutions", 1)).read_text(encoding="utf-8"))
    cells = [cell | ({"outputs": []} if cell["cell_type"] == "code" else {}) for cell in solution["cells"]]
    (course / LAB_1).write_text(json.dumps(solution | {"cells": cells}), encoding="utf-8")
    for session in server.get("api/sessions"):  # a starter's kernel, if the test above has run
        server.ask(f"api/sessions/{session['id']}", "DELETE")
    lab = load_lab("lab01")
    with Student(server) as student:
        student.goes_to(f"lab/tree/{LAB_1}?reset")
        student.sees(LAB_1)
        bonus = sum(check.points for check in lab.checks if check.bonus)
        assert student.runs_all_cells() == f"{lab.points:g} + {bonus:g} bonus of {lab.points:g} points"
