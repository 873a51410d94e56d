"""From a validated function to one that numba-cuda may compile: nothing of it runs as Python. No GPU needed."""

from __future__ import annotations

import ast
import math
import sys
from typing import Any

import pytest

from autograder.cudagpu import find_gpu
from autograder.cudagpu.compilation import Compiler, code_of, compile_fault, resolve, stripped
from autograder.errors import KernelFault, SubmissionError
from autograder.language import parse_program, submission_from_cells
from autograder.language.program import Function, Kind, Reference
from autograder.language.validate import validate_kernel

KERNEL = '''

@decorate(launch_missiles())
def kernel(a: annotate(), b=default()) -> result():
    """Doubles."""
    i: int = cuda.grid(1)
    if i < a.size:
        b[i] = SCALE * helper(a[i])
'''
HELPER = "def helper(x):\n    return math.sqrt(x)\n"
CUDA, MATH = Reference("numba.cuda"), Reference("math")


def function(text: str, kind: Kind = "kernel", **names: object) -> Function:
    node = next(each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef))
    return Function(node.name, kind, node, "lab.py", text, names)


def test_the_code_keeps_names_and_lines_and_none_of_what_a_definition_would_run() -> None:
    code = code_of(function(KERNEL, cuda=CUDA))
    assert code.co_name == "kernel" and code.co_varnames == ("a", "b", "i")
    assert not {"decorate", "launch_missiles", "annotate", "default", "result", "int"} & set(code.co_names)
    assert min(line for _, _, line in code.co_lines() if line) >= 4
    assert "lab.py" in code.co_filename


def test_a_kernel_sees_only_the_names_it_uses() -> None:
    helper = function(HELPER, "device", math=MATH)
    given: dict[str, Any] = {"cuda": CUDA, "SCALE": 2, "helper": helper, "unused": Reference("os.system")}
    dispatcher = Compiler().dispatcher(function(KERNEL, **given))
    plain = dispatcher.py_func
    assert set(plain.__globals__) - {"__builtins__"} == {"cuda", "SCALE", "helper"}
    assert plain.__defaults__ is None and not plain.__annotations__
    assert plain.__globals__["helper"].py_func.__globals__["math"] is math


def test_a_program_s_kernel_is_compiled_once() -> None:
    compiler, kernel = Compiler(), function(KERNEL, cuda=CUDA)
    assert compiler.dispatcher(kernel) is compiler.dispatcher(kernel)


def test_a_device_function_that_calls_itself_is_refused() -> None:
    names: dict[str, object] = {}
    node = ast.parse("def again(x):\n    return again(x)\n").body[0]
    assert isinstance(node, ast.FunctionDef)
    again = Function("again", "device", node, "lab.py", "", names)
    names["again"] = again
    with pytest.raises(KernelFault, match="calls itself"):
        Compiler().dispatcher(again)


@pytest.mark.parametrize("path", ["os.system", "numpy.__loader__", "numba.cuda._hidden", "math.nothing", "sys"])
def test_other_libraries_and_hidden_names_cannot_be_reached(path: str) -> None:
    with pytest.raises(KernelFault):
        resolve(path)


def test_library_names_become_the_library_s_objects() -> None:
    assert resolve("math.sqrt") is math.sqrt
    assert resolve("numba.cuda").__name__ == "numba.cuda"
    assert resolve("numba.float32").__class__.__name__ == "Float"


def test_a_compiler_s_report_becomes_one_line() -> None:
    report = (
        "Failed in cuda mode pipeline (step: nopython frontend)\n\x1b[1mNo conversion from str to float32\n\n"
        'File "<lab.py>", line 7:\n<source missing>\n'
    )
    fault = compile_fault(function(KERNEL), RuntimeError(report))
    assert str(fault).startswith("lab.py, line 7: The GPU's compiler does not accept `kernel`: No conversion")
    assert "\n" not in str(fault) and "\x1b" not in str(fault)


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (
            "No implementation of function Function(<function shared.array at 0x7f5d6fd21260>) found for signature:\n \n "
            ">>> array(Literal[int](4), Function(<class 'float'>))\n \nThere are 2 candidate implementations:\n",
            "lab.py, line 5: The GPU's compiler does not accept `kernel`: "
            "`shared.array` does not go with 4, Python's `float`",
        ),
        (
            "No implementation of function Function(<built-in function setitem>) found for signature:\n \n "
            ">>> setitem(array(float32, 2d, A), Literal[int](0), Literal[str](text))\n \nThere are 12 candidate\n",
            "lab.py, line 3: The GPU's compiler does not accept `kernel`: "
            "storing an element does not go with a 2-d array of float32, 0, the string 'text'",
        ),
        (
            "No implementation of function Function(<built-in function add>) found for signature:\n \n "
            ">>> add(float32, Literal[str](x))\n",
            "lab.py, line 3: The GPU's compiler does not accept `kernel`: `+` does not go with float32, the string 'x'",
        ),
    ],
)
def test_types_that_do_not_go_together_are_told_in_words_at_the_call_where_there_is_one(report: str, told: str) -> None:
    """As numba-cuda 0.30 reports them, without a line."""
    text = "\n\ndef kernel(a):\n    i = cuda.grid(1)\n    tile = cuda.shared.array(4, float)\n    a[i] = tile[0]\n"
    assert str(compile_fault(function(text, cuda=CUDA), RuntimeError(report))).startswith(told)


def test_a_machine_without_a_gpu_says_why_and_a_machine_with_one_its_name() -> None:
    found = find_gpu()
    assert bool(found.name) if found.usable else bool(found.reason)


@pytest.mark.parametrize(
    ("variable", "value", "word"), [("CUDA_VISIBLE_DEVICES", "", "hides"), ("NUMBA_ENABLE_CUDASIM", "1", "simulator")]
)
def test_a_hidden_gpu_is_reported_as_hidden(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, word: str
) -> None:
    for each in ("CUDA_VISIBLE_DEVICES", "NUMBA_ENABLE_CUDASIM"):  # somebody's own, for these tests too
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(variable, value)
    found = find_gpu.__wrapped__()
    assert not found.usable and word in found.reason


@pytest.mark.skipif(sys.version_info < (3, 12), reason="only Python 3.12 and later can parse type parameters")
def test_type_parameters_are_refused_and_never_compiled():
    text = "from numba import cuda\n@cuda.jit\ndef kernel[T: print('ran')](a):\n    a[0] = 1\n"
    program = parse_program(submission_from_cells("kernel.py", [("kernel.py", text)], is_notebook=False))
    function = program.functions["kernel"]
    assert not vars(stripped(function.node))["type_params"]
    with pytest.raises(SubmissionError, match="type parameters"):
        validate_kernel(function)


@pytest.mark.parametrize("written", [True, False])
def test_fastmath_of_a_submission_reaches_the_compiler(written: bool) -> None:
    text = (
        "from numba import cuda\n\n\n@cuda.jit(device=True)\ndef half(x):\n    return x / 2\n\n\n"
        f"@cuda.jit(fastmath={written}, max_registers=40)\ndef kernel(a):\n    a[0] = half(a[0])\n"
    )
    program = parse_program(submission_from_cells("lab.py", [("lab.py", text)], is_notebook=False))
    kernel = program.functions["kernel"]
    assert (kernel.options.fastmath, kernel.options.max_registers) == (written, 40)
    compiler = Compiler()
    told = compiler.dispatcher(kernel).targetoptions
    assert (told["fastmath"], told["max_registers"]) == (written, 40)
    assert not compiler.dispatcher(program.functions["half"]).targetoptions["fastmath"]
