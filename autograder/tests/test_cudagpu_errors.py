"""What an error of the CUDA driver becomes, whichever library reports it. No GPU is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.cudagpu.session import GpuSession
from autograder.errors import GraderFault, KernelFault
from autograder.records.runs import Launch


class CUDAError(Exception):
    """As cuda.core raises it, which Numba launches with."""


def outcome_of(problem: Exception) -> Exception:
    """What comes out of a session in which a driver call raises this, after a launch of `walk`."""
    nothing: Any = None  # is compiled here
    session = GpuSession(nothing, np.random.default_rng(1))
    session.launches.append((Launch("walk", (1, 1, 1), (32, 1, 1)), None, None))

    def action() -> None:
        raise problem

    with pytest.raises(Exception) as caught:
        session.checked(action)
    return caught.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CUDA_ERROR_ILLEGAL_ADDRESS: While executing a kernel ...", "belongs to no array"),
        ("CUDA_ERROR_INVALID_ADDRESS_SPACE: While executing a kernel ...", "lies outside that memory"),
        ("CUDA_ERROR_LAUNCH_FAILED: An exception occurred ...", "crashed the GPU"),
        ("CUDA_ERROR_OUT_OF_MEMORY: ...", "memory is exhausted"),
    ],
)
def test_a_fault_that_the_next_launch_reports_is_the_kernel_s(text: str, words: str) -> None:
    fault = outcome_of(CUDAError(text))
    assert isinstance(fault, KernelFault)
    assert str(fault).startswith("`walk` failed on the GPU: ") and words in str(fault)


def test_numba_s_own_errors_say_the_same() -> None:
    driver = pytest.importorskip("numba.cuda.cudadrv.driver")
    fault = outcome_of(driver.CudaAPIError(700, "Call to cuMemcpyDtoH results in CUDA_ERROR_ILLEGAL_ADDRESS"))
    assert str(fault) == str(outcome_of(CUDAError("CUDA_ERROR_ILLEGAL_ADDRESS: ...")))


def test_what_no_kernel_can_be_blamed_for_is_the_grader_s() -> None:
    assert isinstance(outcome_of(CUDAError("CUDA_ERROR_NOT_INITIALIZED: ...")), GraderFault)
    assert isinstance(outcome_of(ZeroDivisionError("ours")), ZeroDivisionError)
