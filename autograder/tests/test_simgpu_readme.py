"""The simulated GPU's README: its example of a new function for kernels works as it stands, and the files it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from autograder.simgpu import cuda_module, intrinsics

FOLDER = Path(cuda_module.__file__).parent
README = (FOLDER / "README.md").read_text()


@pytest.fixture
def added():
    """The README's example, for as long as a test runs."""
    known = dict(intrinsics.CALLS)
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(example, {"intrinsic": intrinsics.intrinsic, "np": np})
    yield
    intrinsics.CALLS.clear()
    intrinsics.CALLS.update(known)


def test_a_function_for_kernels_is_added_as_the_readme_says(added):
    cuda = cuda_module.build_module()

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = cuda.lanes_after()

    out = np.zeros(40)
    kernel[2, 32](out)
    assert out.tolist() == [*range(31, -1, -1), *range(31, 23, -1)]


def test_every_file_that_the_readme_names_is_there():
    named = set(re.findall(r"`([a-z_]+\.py)`", README))
    assert len(named) > 20
    assert sorted(name for name in named if not (FOLDER / name).exists()) == []


def test_every_function_that_the_readme_sends_a_reader_to_is_there():
    guide = README.split("## How it works")[1].split("## What it runs")[0]
    text = "\n".join(path.read_text() for path in FOLDER.glob("*.py"))
    named = set(re.findall(r"`(?:Memory\.)?([a-z_]+)`", guide)) - {"mask", "arguments", "cuda"}
    assert {"do_body", "count_sectors", "load"} <= named
    assert sorted(name for name in named if f"def {name}(" not in text) == []
