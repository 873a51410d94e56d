"""Grades the classes of this archive again, with the kit, labs and seeds that lie in it, and compares the gradebooks.

    python again.py             # all classes, into the folder `again`
    python again.py lab01       # one of them

It needs the packages of requirements.txt: README.md says how. Where it is stopped, the same command goes on.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
AGAIN = HERE / "again"
USAGE, FAULT = 2, 3  # exit codes of the kit; 0 and 1 say what became of the submissions


def main(names: list[str]) -> int:
    """0 where every gradebook came out byte for byte, 1 where one did not, 2 for a class that is not here."""
    listed = json.loads((HERE / "archive.json").read_text(encoding="utf-8"))
    classes = {each["name"]: each for each in listed["classes"]}
    if unknown := [name for name in names if name not in classes]:
        print(f"There is no class {unknown[0]} here. There are: {', '.join(classes)}.", file=sys.stderr)
        return USAGE
    for line in differences(listed):
        print(line)
    outcomes = [graded_again(classes[name]) for name in names or classes]
    return 0 if all(outcomes) else 1


def differences(listed: dict[str, Any]) -> list[str]:
    """What is here in another version than where the classes were graded."""
    here = {"Python": platform.python_version()}
    for name in listed["packages"]:
        try:
            here[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            here[name] = "missing"
    then = {"Python": listed["python"], **listed["packages"]}
    return [f"{name}: {then[name]} then, {here[name]} here" for name in then if then[name] != here[name]]


def graded_again(each: dict[str, Any]) -> bool:
    """Grades one class into a folder of its own; says and returns whether its gradebook came out the same."""
    folder, out = HERE / "classes" / each["name"], AGAIN / each["name"]
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "class.json").exists():  # points by hand, dates and names
        shutil.copy(folder / "grades" / "class.json", out)
    command = [sys.executable, "-m", "autograder", "grade", each["lab"], str(folder / "submissions" / each["submissions"])]
    command += ["--out", str(out), "--device", each["device"]]
    command += ["--seed-file", str(folder / "seed.txt")] if each["has_seed"] else []
    command += ["--hidden", str(folder / "hidden" / each["hidden"])] if each["hidden"] else []
    environment = {**os.environ, "PYTHONPATH": str(HERE / "kit"), "AUTOGRADER_LABS": str(folder / "labs")}
    code = subprocess.run(command, cwd=HERE, env=environment, stdout=subprocess.DEVNULL).returncode
    if not (out / "gradebook.csv").is_file() or code == USAGE:
        print(f"{each['name']}: could not be graded (exit code {code}).")
        return False
    then, now = ((place / "gradebook.csv").read_bytes() for place in (folder / "grades", out))
    if then == now:
        print(f"{each['name']}: the same gradebook, byte for byte.")
        return True
    rows = sum(one != other for one, other in zip(then.splitlines(), now.splitlines(), strict=False))
    measured = " Its speeds were measured on a GPU, which never gives the same twice." if each["device"] == "gpu" else ""
    print(f"{each['name']}: {rows or 'some'} rows of the gradebook came out otherwise, in {out}.{measured}")
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
