"""`pytest --simulated-gpu`: runs a project's tests with the simulated GPU in place of `numba.cuda`."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("simulated GPU")
    group.addoption(
        "--simulated-gpu", action="store_true", help="run kernels of `from numba import cuda` on the simulated GPU"
    )
    group.addoption(
        "--simulated-gpu-strict", action="store_true", help="likewise, and fail a test whose kernels race or go astray"
    )


def pytest_configure(config: Any) -> None:
    """Before any test module is imported, so that its `from numba import cuda` finds the simulated module."""
    if not is_wanted(config):
        return
    from autograder.simgpu.loading import for_good

    with for_good():
        from autograder.simgpu.host import cuda_module

    cuda_module.install()
    config.pluginmanager.register(Faults(config.getoption("--simulated-gpu-strict")), "simulated-gpu-faults")


def pytest_unconfigure(config: Any) -> None:
    if is_wanted(config):
        from autograder.simgpu.host import cuda_module

        cuda_module.uninstall()


def pytest_report_header(config: Any) -> str | None:
    return "numba.cuda: the simulated GPU" if is_wanted(config) else None


def is_wanted(config: Any) -> bool:
    return any(config.getoption(option, False) for option in ("--simulated-gpu", "--simulated-gpu-strict"))


class Faults:
    """Keeps what goes wrong in the kernels of the running test: shown with the test, or failing it."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, Any]:
        from autograder.simgpu.host import cuda_module

        found: list[str] = []
        cuda_module.device.tell = lambda hazards: found.extend(str(hazard) for hazard in hazards)
        cuda_module.device.findings.clear()  # each test is told of its own, also of those that another one has had
        result = yield
        found.extend(cuda_module.device.findings.repeated())
        cuda_module.device.findings.clear()
        if found and self.strict:
            pytest.fail("On the simulated GPU: " + "\n".join(found), pytrace=False)
        if found:
            item.add_report_section("call", "simulated GPU", "\n".join(found))
        return result
