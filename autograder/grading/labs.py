"""Finding the labs on this machine and loading one: folder name -> `Lab` with its checks and hints."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from autograder import course_folder
from autograder.errors import GraderFault, KitError, UsageError, one_line
from autograder.grading.spec import Lab, marked

LAB_FOLDER = re.compile(r"lab\d\d_\w+")
SHORTEST_SEED = 8  # characters


def labs_root() -> Path:
    """The folder that holds the labs: $AUTOGRADER_LABS, else the clone's, else in or above this folder, else the wheel's."""
    named = os.environ.get("AUTOGRADER_LABS")
    if named:
        if not Path(named).is_dir():
            raise UsageError(
                f"AUTOGRADER_LABS names {named}, which is not a folder.", remedy="Point it at the labs folder."
            )
        return Path(named).resolve()
    here = Path.cwd()
    own = course_folder.folder("labs")
    candidates = [folder / "labs" for folder in (here, *here.parents)]
    for candidate in [*candidates, own] if course_folder.is_packed() else [own, *candidates]:
        if any(_lab_folders(candidate)):
            return candidate.resolve()
    raise UsageError(
        "No labs folder was found.", remedy="Run this in the course's folder, or set AUTOGRADER_LABS to it."
    )


def _lab_folders(root: Path) -> Iterator[Path]:
    if root.is_dir():
        yield from sorted(each.parent for each in root.glob("lab*/spec.py") if LAB_FOLDER.fullmatch(each.parent.name))


def lab_names() -> list[str]:
    """The names of all labs, in course order."""
    return [folder.name for folder in _lab_folders(labs_root())]


def find_lab(name: str) -> Path:
    """The folder of the lab called `name`: "lab01", "lab01_naive_matmul", any prefix that fits one lab, or its path."""
    separators = {os.sep, os.altsep or os.sep}  # Windows takes two
    if separators & set(name) and (Path(name) / "spec.py").is_file():
        return Path(name).resolve()
    root = labs_root()
    known = [folder.name for folder in _lab_folders(root)]
    fitting = [each for each in known if each == name] or [each for each in known if name and each.startswith(name)]
    if len(fitting) == 1:
        return root / fitting[0]
    problem = f"`{name}` fits more than one lab" if fitting else f"There is no lab called `{name}`"
    raise UsageError(f"{problem}.", remedy=f"Labs: {', '.join(fitting or known)}.")


def load_lab(name: str) -> Lab:
    """Loads a lab by name; raises `UsageError` where there is none and `GraderFault` where its spec is broken."""
    folder = find_lab(name)
    _forget(folder)
    module = _import_spec(folder / "spec.py")
    hints = _import_spec(folder / "hints.py") if (folder / "hints.py").is_file() else module
    lab = getattr(module, "LAB", None)
    if not isinstance(lab, Lab):
        raise GraderFault(f"{folder.name}/spec.py does not define LAB = Lab(...).")
    rules = {rule.name: rule for rule in (*marked(vars(module), "as_hint"), *marked(vars(hints), "as_hint"))}
    checks = marked(vars(module), "as_check")
    lab = replace(lab, name=folder.name, folder=folder, checks=checks, hints=tuple(rules.values()))
    _validate(lab, f"{lab.name}/spec.py")
    return lab


def with_hidden_checks(lab: Lab, spec: Path) -> Lab:
    """The lab with the checks of a second spec after its own; `after` may name checks of either.

    Raises `UsageError` where there is no such file or check, or where the spec is broken: it came as an argument.
    """
    if not spec.is_file():
        raise UsageError(f"There is no file {spec}.")
    if spec.suffix != ".py":
        raise UsageError(f"{spec} is no spec.", remedy="Hidden checks stand in a Python file (.py), as a lab's do.")
    module = _import_spec(spec, spec.name, UsageError)
    checks = tuple(replace(each, hidden=True) for each in marked(vars(module), "as_check"))
    checks = tuple(each for each in checks if each.judge.__module__ == module.__name__)  # not those that it imports
    if not checks:
        raise UsageError(f"{spec} holds no checks.", remedy="A hidden check is a function under @check(points=...).")
    known = {each.name for each in lab.checks}
    if again := [each.name for each in checks if each.name in known]:
        raise UsageError(f"{spec}: the lab has a check called `{again[0]}` already.", remedy="Give it another name.")
    lab = replace(lab, checks=(*lab.checks, *checks), hidden_spec=spec.resolve())
    _validate(lab, spec.name, UsageError)
    return lab


def spec_of(name: str) -> ModuleType:
    """A lab's spec as a module, for a hidden spec to use its functions: `product = spec_of("lab01").product`."""
    return _import_spec(find_lab(name) / "spec.py")


def read_seed(path: Path) -> str:
    """The secret seed in a file: its text without blanks around it; raises `UsageError` where there is none."""
    try:
        seed = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"The seed file {path} cannot be read: {reason}.") from None
    if len(seed) < SHORTEST_SEED:
        remedy = f"Write at least {SHORTEST_SEED} random characters into it, so that nobody can guess them."
        raise UsageError(f"The seed in {path} is too short to be a secret.", remedy=remedy)
    return seed


def _import_spec(path: Path, shown: str = "", error: type[KitError] = GraderFault) -> ModuleType:
    """Runs a spec, the instructor's own code and never a submission; raises `error` where that goes wrong."""
    spec = importlib.util.spec_from_file_location(f"{_package_of(path.parent)}.{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass in it looks its annotations up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:  # sys.exit() in it would end us, and look as if all were well
        frames = traceback.extract_tb(problem.__traceback__)
        within = [frame.lineno for frame in frames if Path(frame.filename).name == path.name]
        what = str(problem) if isinstance(problem, KitError) else f"{type(problem).__name__}: {problem}"
        if isinstance(problem, SyntaxError) and Path(problem.filename or "").name == path.name:
            within, what = [problem.lineno], f"{type(problem).__name__}: {problem.msg}"
        where = f", line {within[-1]}" if within else ""
        shown = shown or f"{path.parent.name}/{path.name}"
        raise error(f"{shown}{where} cannot be loaded: {one_line(what)}") from problem
    return module


def _package_of(folder: Path) -> str:
    """The folder as a package, so that a lab's files reach each other: `from .lists import laid_out`."""
    name = f"autograder_{folder.name}"
    package = sys.modules.get(name)
    if package is None or list(package.__path__) != [str(folder)]:
        _forget(folder)
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name


def _forget(folder: Path) -> None:
    """What was loaded of a folder of this name: it may have changed since, or be another one."""
    name = f"autograder_{folder.name}"
    for each in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[each]


def _validate(lab: Lab, spec: str, error: type[KitError] = GraderFault) -> None:
    """Holds a spec against its own rules, so that a mistake shows before a class is graded; `spec` is shown."""
    seen: set[str] = set()
    for required in lab.required:
        is_called = required.kind == "host" and required.parameters is not None  # by the lab itself
        if is_called and required.name not in lab.results:
            raise error(f"{spec}: LAB says nothing of what `{required.name}` is held to: give it a place in `results`.")
    bonuses = {each.name for each in lab.checks if each.bonus}
    for each in lab.checks:
        if not each.title:
            raise error(f"{spec}: `{each.name}` has no docstring, the sentence that the student reads.")
        if type(each.points) not in (int, float) or not math.isfinite(each.points):
            raise error(f"{spec}: the points of `{each.name}` are no number: {each.points!r}.")
        if each.points < 0:
            raise error(f"{spec}: `{each.name}` has negative points.")
        for name in each.after:
            if name not in seen:
                raise error(f"{spec}: `{each.name}` is to come after `{name}`, which is no check above it.")
            if name in bonuses and not each.bonus:
                raise error(f"{spec}: `{each.name}` is to come after `{name}`, a bonus, which comes after all others.")
        seen.add(each.name)
    for rule in lab.hints:
        unknown = set(rule.checks) - seen
        if unknown:
            raise error(f"{spec}: the hint `{rule.name}` names unknown checks: {', '.join(sorted(unknown))}.")
    if not lab.checks:
        raise error(f"{spec} has no checks.")
    if lab.baseline_path and not lab.baseline_path.is_file():
        raise error(f"{spec} names a baseline that is not there: {lab.baseline}.")


def lab_digest(lab: Lab) -> str:
    """A hash of all that decides a verdict on the lab's side: the Python files of its folder."""
    digest = hashlib.sha256()
    for path in sorted(lab.folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    if lab.hidden_spec is not None:
        digest.update(b"hidden\0" + lab.hidden_spec.read_bytes())
    return digest.hexdigest()
