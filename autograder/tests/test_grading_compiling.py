"""Right answers are kernels: what grading runs on the simulated GPU is what Numba compiles, by its word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from autograder.grading.known_answers import compiling
from autograder.simgpu.host import cuda_module

# numba's own numba.cuda has no min or max of two numbers of these types; numba-cuda, which ran these answers on a GPU, has
WITHOUT_MIN = "TypeError: Signature mismatch: 2 argument types given, but function takes 1 arguments"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(cuda_module.device.session, "work_limit", compiling.WORK_LIMIT)
    yield cuda_module.install()
    cuda_module.uninstall()


def verdicts(calibration: Path) -> dict[str, dict[str, str]]:
    """By answer and kernel."""
    kept: dict[str, dict[str, str]] = json.loads((calibration / compiling.VERDICTS).read_text(encoding="utf-8"))
    return kept


@pytest.mark.parametrize("calibration", compiling.labs(), ids=lambda each: each.parent.name)
def test_the_kernels_of_the_right_answers_run_here_as_they_were_compiled(calibration: Path, installed: ModuleType) -> None:
    answers, kept = compiling.answers(calibration), verdicts(calibration)
    assert answers and list(kept) == list(answers)
    calls = compiling.calls_of(calibration)
    for name, path in answers.items():
        types, said = compiling.run_here(path, calls, installed)
        assert said in ("", "host: IndexError"), f"{name}: {said}"
        assert {kernel for kernel, given in types.items() if given} == set(kept[name]), name


def test_numba_compiles_the_kernels_of_the_right_answers_in_all_six_labs() -> None:
    said = [each for calibration in compiling.labs() for of in verdicts(calibration).values() for each in of.values()]
    assert len(compiling.labs()) >= 6 and len(said) >= 120
    refused = [each for each in said if each]
    assert set(refused) == {WITHOUT_MIN} and len(refused) == 5
