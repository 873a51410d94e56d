"""How a notebook or script gets its device: a CUDA GPU where there is one, the simulated GPU otherwise."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from autograder import run_texts
from autograder.errors import KitError, UsageError
from autograder.records.hazards import Hazard, name_of
from autograder.simgpu.host import child_processes
from autograder.simgpu.loading import for_good

ENVIRONMENT = "AUTOGRADER_DEVICE"  # auto, gpu or simulated
MODEL = "H200"


def devices() -> list[str]:
    """The devices that kernels can run on here, as people know them: first the one that live kernels run on."""
    from autograder.cudagpu import find_gpu

    return ([find_gpu().name] if wants_gpu() else []) + [f"simulated GPU (times estimated for an NVIDIA {MODEL})"]


def wants_gpu() -> bool:
    """Whether live kernels go to a real GPU: as $AUTOGRADER_DEVICE says, by default if there is one."""
    from autograder.cudagpu import find_gpu

    wish = os.environ.get(ENVIRONMENT, "auto")
    if wish not in ("auto", "gpu", "simulated"):
        raise UsageError(f"{ENVIRONMENT} is {wish!r}; it can be auto, gpu or simulated.")
    if wish == "simulated":
        return False
    found = find_gpu()
    if wish == "gpu" and not found.usable:
        raise UsageError(f"No GPU can be used here: {found.reason}.", remedy=found.remedy)
    return found.usable


class simulate:  # noqa: N801 (used like a function)
    """Puts the simulated GPU in place of `numba.cuda`: from here on, or inside a `with` block only."""

    def __init__(self) -> None:
        with for_good():
            from autograder.simgpu.host import cuda_module

        self._was_installed = getattr(sys.modules.get("numba.cuda"), "simulated", False)
        self.cuda = cuda_module.install()

    def __enter__(self) -> Any:
        return self.cuda

    def __exit__(self, *_: object) -> None:
        if not self._was_installed:
            from autograder.simgpu.host import cuda_module

            cuda_module.uninstall()

    def __repr__(self) -> str:
        return "from numba import cuda now gives the simulated GPU"


run_cells = [""]  # the cell that loaded the extension, unseen, and those since: nbval keeps no history


def _remember(info: Any) -> None:
    run_cells.append(info.raw_cell)
    run_texts.remember_cell(info.raw_cell)
    if child_processes.is_asked():  # also where an earlier cell has asked for it
        child_processes.ask()


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext autograder`: picks the device, says which, and shows errors for people without tracebacks."""
    shell.set_custom_exc((KitError,), _show_error)
    shell.events.register("pre_run_cell", _remember)
    shell.events.register("post_run_cell", _tell_counts)
    try:
        on_gpu = wants_gpu()
    except UsageError as error:
        print(error)
        return
    if on_gpu:
        # lessons begin with grids of a few blocks and with NumPy arrays, and say themselves what that costs
        for said in (r"Grid size \d+ will likely result in GPU under-utilization", "Host array used in CUDA kernel"):
            warnings.filterwarnings("ignore", message=f".*{said}")
        print(f"Kernels run on the GPU of this machine: {devices()[0]}.")
        return
    with for_good():
        from autograder.simgpu.host import cuda_module

    cuda_module.install()
    cuda_module.device.tell = _tell_in_notebook
    shell.push({"cuda": sys.modules["numba.cuda"]} if "cuda" in shell.user_ns else {})
    print(f"Kernels run on the simulated GPU; times are estimates for an NVIDIA {MODEL}.")


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext autograder`: brings back the `numba.cuda` that was there before."""
    shell.events.unregister("pre_run_cell", _remember)
    shell.events.unregister("post_run_cell", _tell_counts)
    from autograder.simgpu.host import cuda_module

    cuda_module.uninstall()


def _show_error(shell: Any, kind: type, error: KitError, traceback: Any, tb_offset: Any = None) -> list[str]:
    print(f"{error}", file=sys.stderr)
    return [str(error)]


def _tell_counts(result: Any = None) -> None:
    """At a cell's end: in how many launches a fault was that has been told once."""
    if not getattr(sys.modules.get("numba.cuda"), "simulated", False):
        return
    from autograder.simgpu.host import cuda_module

    for sentence in cuda_module.device.findings.repeated():
        print(sentence[0].upper() + sentence[1:], file=sys.stderr)
    cuda_module.device.findings.clear()


def _tell_in_notebook(hazards: Sequence[Hazard]) -> None:
    for hazard in hazards:
        print(f"{name_of(hazard.kind).capitalize()}: {hazard}", file=sys.stderr)
