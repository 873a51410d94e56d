"""Mind the Bandwidth: a simulated GPU, a performance model and an autograder for courses on `numba.cuda`.

`%load_ext autograder` in a notebook, then unmodified `from numba import cuda`. `check("lab01")` grades what is open;
`profile(kernel)[grid, block](...)` counts a kernel's work; `simulate()` puts the simulated GPU in place of numba.cuda;
`devices()` says what there is. The command line is `python -m autograder --help`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"  # for pyproject.toml and `autograder --version` too; changes: CHANGELOG.md
__all__ = ["check", "devices", "load_ipython_extension", "profile", "simulate"]

_HOME = {
    "check": "autograder.grading.notebook",
    "devices": "autograder.live",
    "load_ipython_extension": "autograder.live",
    "profile": "autograder.profiling",
    "simulate": "autograder.live",
    "unload_ipython_extension": "autograder.live",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:  # imported when first used, so that `import autograder` stays quick
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
