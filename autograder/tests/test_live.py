"""What `%load_ext autograder` does where there is a GPU; without one every lesson shows what it does."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

from autograder import live


def test_on_a_gpu_nobody_is_warned_of_small_grids_and_arrays_of_the_host(monkeypatch, capsys) -> None:
    monkeypatch.setattr(live, "wants_gpu", lambda: True)
    monkeypatch.setattr(live, "devices", lambda: ["NVIDIA H200"])
    shell = SimpleNamespace(
        set_custom_exc=lambda *_: None, events=SimpleNamespace(register=lambda *_: None)
    )  # as much of IPython as is needed
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        live.load_ipython_extension(shell)
        text = "\x1b[1mGrid size 4 will likely result in GPU under-utilization due to low occupancy.\x1b[0m"
        warnings.warn(text, stacklevel=1)  # as Numba words it
        warnings.warn("Host array used in CUDA kernel will incur copy overhead to/from device.", stacklevel=1)
        warnings.warn("Something else.", stacklevel=1)
    assert [str(each.message) for each in heard] == ["Something else."]
    assert "NVIDIA H200" in capsys.readouterr().out
