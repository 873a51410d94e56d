"""Right answers are kernels: what grading runs on the simulated GPU is what Numba compiles, by its word."""

from __future__ import annotations

import json

import pytest

from autograder.grading.known_answers import compiling
from autograder.simgpu.host import cuda_module

# numba's own numba.cuda has no min or max of two numbers of these types; numba-cuda, which ran these answers on a GPU, has
WITHOUT_MIN = "TypeError: Signature mismatch: 2 argument types given, but function takes 1 arguments"


def test_the_kernels_of_the_right_answers_run_here_and_numba_compiles_them(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = json.loads(compiling.VERDICTS.read_text(encoding="utf-8"))
    assert list(kept) == [path.relative_to(compiling.ROOT).as_posix() for path in compiling.paths()]
    monkeypatch.setattr(cuda_module.device.session, "work_limit", compiling.WORK_LIMIT)
    installed = cuda_module.install()
    try:
        for path, verdicts in zip(compiling.paths(), kept.values(), strict=True):
            types, said = compiling.run_here(path, installed)
            assert said in ("", "host: IndexError"), f"{path.name}: {said}"
            assert {name for name, given in types.items() if given} == set(verdicts), path.name
    finally:
        cuda_module.uninstall()
    refused = [said for verdicts in kept.values() for said in verdicts.values() if said]
    assert set(refused) == {WITHOUT_MIN} and len(refused) == 5
    assert sum(map(len, kept.values())) >= 120
