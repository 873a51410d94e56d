"""The Python processes that a program starts run their kernels on the simulated GPU too, where that is asked for.

The environment goes from process to process: `ask` puts a folder on PYTHONPATH whose `sitecustomize` Python runs at
every start, and that calls child_start.py. So it reaches `!python`, `%%python`, subprocess and multiprocessing, and no
process that is started with `python -E` or `-I`, or with an environment of its own. Where the package was installed from a
wheel or by make, a file beside it (autograder_simulate.pth) calls it too, so that the variable alone is enough.
"""

from __future__ import annotations

import os
from pathlib import Path

ASKED = "AUTOGRADER_SIMULATE"  # 1: child processes too
FOLDER = Path(__file__).resolve().parent.parent / "children"


def is_asked() -> bool:
    return os.environ.get(ASKED) == "1"


def ask() -> None:
    """Has all Python processes that this one starts run their kernels on the simulated GPU."""
    os.environ[ASKED] = "1"
    paths = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    if str(FOLDER) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(FOLDER), *paths])
