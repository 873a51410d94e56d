"""What Numba refuses is refused before a kernel runs, also where no thread comes; what may be dropped or is unknown is not.

Every kernel here is held against Numba's own verdict as well, so that the table cannot say more than Numba does.
"""

from __future__ import annotations

import linecache
import math
import types
from typing import Any

import numpy as np
import pytest

from autograder.errors import KernelFault
from autograder.simgpu.host import cuda_module
from autograder.simgpu.measurements import generated_kernels as made

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()
LINE = 6  # of the first line of a body

SOURCE = """
@cuda.jit
def kernel(out, a, m, x, y, n, t):
    i = cuda.grid(1)
    if i > 99:
{body}
"""
TYPES = {"out": "float64[1]", "a": "float32[1]", "m": "float32[2]", "x": "int32", "y": "float32", "n": "int64",
         "t": "(int64 float64)"}  # fmt: skip

# The body of a branch that no thread takes; which line of it is at fault, from 0; what is said
REFUSED = (
    ("v = 1 if n else a", 0, "The two sides are different kinds of thing. Numba needs one type."),
    ("v = a[0] or 'text'", 0, "The two sides are different kinds of thing."),
    ("v = 1\nif n:\n    v = a\nout[i] = v", 3, "`v` holds different kinds of thing on different paths."),
    ("v = 1\nfor k in range(3):\n    out[i] = v\n    v = a", 2, "`v` holds different kinds of thing"),
    ("v = (1, 2)\nif n:\n    v = (1, 2, 3)\nout[i] = v[0]", 3, "`v` holds different kinds of thing"),
    ("f = twice\nif n:\n    f = scaled\nout[i] = f(x)", 3, "`f` holds different kinds of thing"),
    ("v = y & 1", 0, "Numba has no `&` for float32 and int64 in a kernel."),
    ("v = a + 1", 0, "`a` is a whole array of shape (8,); arithmetic needs one element."),
    ("v = m[i] * 2", 0, "Numba has no `*` for a part of an array in a kernel"),
    ("v = t\nv += (1,)", 1, "Numba has no `+=` for a tuple in a kernel. Write v = v + w."),
    ("m[i] *= 2", 0, "Numba has no `*=` for a whole array or a part of one in a kernel."),
    ("v = not t", 0, "Numba has no `not` for a tuple. Write len(t) == 0."),
    ("v = -t", 0, "Numba has no `-` for a tuple."),
    ("v = ~y", 0, "`~` needs an integer, not float32."),
    ("v = 1j < n", 0, "Complex numbers have no order."),
    ("return x", 0, "A kernel cannot return a value. Write results into an array argument."),
    ("for k in (16, 8.5, 4):\n    out[i] += k", 0, "The items of this tuple are of several types"),
    ("for k in ():\n    pass", 0, "A kernel cannot loop over an empty tuple."),
    ("for k in x:\n    pass", 0, "A kernel cannot loop over `x`. Loop over range(...)."),
    ("for k in zip(range(3), t):\n    pass", 0, "The items of this tuple are of several types"),
    ("v = t[i % 2]", 0, "The items of this tuple are different kinds of thing: which one is meant must be a constant."),
    ("v = m.shape[1.5]", 0, "The index `1.5` of a tuple is float64; it must be an integer."),
    ("v = m.shape[True]", 0, "The index `True` of a tuple is bool; it must be an integer."),
    ("v = 2 in t", 0, "The items of this tuple are different kinds of thing."),
    ("v = a[x > 1]", 0, "The index `x > 1` is bool; an index must be an integer. Write int(...)."),
    ("a[y] = 1", 0, "The index `y` is float32; an index must be an integer. Use // instead of /, or int()."),
    ("v = a[i, 0]", 0, "`a` has 1 dimension, but 2 indices are given."),
    ("v = x[0]", 0, "`x` is not an array, so it cannot be indexed."),
    ("v = a[...]", 0, "Numba has no `[...]` alone for an array in a kernel."),
    ("a[:2] = a[2:4]", 0, "Numba cannot copy one array, or a part of one, into another in a kernel."),
    ("m[i] = a[:4]", 0, "Numba cannot copy one array"),
    ("out[i] = 1j", 0, "A complex value cannot be stored in `out` (float64)."),
    ("out[i] = t", 0, "Only one number can be stored in an element of `out`."),
    ("v = plain", 0, "`plain` is an ordinary Python function; a kernel can only call device functions."),
    ("v = cuda.threadidx.x", 0, "`cuda.threadidx.x` cannot be used in a kernel on this device. Did you mean `cuda.th"),
    ("v = np.tau", 0, "`np.tau` cannot be used in a kernel on this device."),
    ("v = a.dtype.itemsize", 0, "A type in a kernel has no `.itemsize`."),
    ("v = a.nothing", 0, "Arrays in a kernel have no `.nothing`."),
    ("v = x.size", 0, "`x.size` has no meaning in a kernel."),
    ("raise 2", 0, "`2` is no exception."),
    ("raise WORD", 0, "`WORD` is no exception."),
    ("raise ValueError(x)", 0, "An exception in a kernel is made of constants, and `x` is none."),
    ("raise ValueError('no') from None", 0, "A kernel cannot raise one exception from another."),
    ("assert x, i", 0, "An exception in a kernel is made of constants, and `i` is none."),
    ("def f():\n    return w\nw = 1\nout[i] = f()", 0, "`f` reads `w`, which is assigned after it"),
    ("def f(q):\n    return f(q - 1) if q > 0 else 0\nout[i] = f(3)", 0, "`f` calls itself"),
    ("f = lambda *q: len(q)\nout[i] = f(1, 2)", 1, "`lambda` takes any number of arguments"),
    ("cuda.syncthreads(x)", 0, "`cuda.syncthreads` takes no arguments, but 1 is given."),
    ("v = cuda.popc(1j)", 0, "`cuda.popc` takes an integer as x, not complex128."),
    ("v = np.int32(x=1)", 0, "takes no arguments by name, but `x` is given."),
    ("v = math.sqrt('no')", 0, "A text is not a number."),
    ("v = int(1j)", 0, "`int` takes a number that is not complex as x, not complex128."),
    ("print(a)", 0, "A kernel can print numbers and texts, and not the whole array `a`"),
    ("v = twice(1, 2)", 0, "`twice` takes 1 argument"),
    ("v = scaled(x, bogus=2)", 0, "`scaled` has no parameter `bogus` to give by name."),
    ("v = cuda.local.array(np.int32(4), float32)", 0, "The shape of a shared or local array must be a constant"),
)  # fmt: skip

TAKEN = (
    "v = 1\nif N > 5:\n    v = a\nout[i] = v",  # the compiler drops what a constant decides
    "v = 1\nif a.ndim > 1:\n    v = a\nout[i] = v",
    "if NOTHING is not None and x:\n    out[i] = a + 1",
    "while False:\n    out[i] = a + 1",
    "v = a + 1 if N > 5 else 2",
    "v = 1\nfor k in range(3):\n    if k == 1:\n        v = a",  # nobody reads it after that
    "v = None\nif i < 4:\n    v = 1\nw = v",
    "v = (1, 2)\nif n:\n    v = (1, 2.5)\nout[i] = v[0]",
    "x = a\nout[i] = x[0]",
    "a[...] = 0",
    "a[:] = 0",
    "a[:2] = (1.0, 2.0)",
    "raise ValueError(N)",
    "k = 3\nif i > 99:\n    raise ValueError(k)",
    "return cuda.syncthreads()",
    "v = (1, 2.5)[True]",
    "v = cuda.local.array(len(t), float32)",
    "v = a.dtype.type(2)",
)


def kernel_of(body: str, names: dict[str, Any]) -> Any:
    source = f"{made.PRELUDE}{SOURCE.format(body=made.indented(made.indented(body)))}"
    file = f"<refused {body}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names["kernel"]


def arguments() -> list[Any]:
    return [made.argument(each) for each in TYPES.values()]


def numbas_verdict(body: str, monkeypatch: pytest.MonkeyPatch) -> str:
    import numba.cuda.dispatcher as dispatcher
    from numba import cuda as numbas
    from numba import typeof

    monkeypatch.setattr(dispatcher, "get_current_device", dispatcher.get_current_device)  # put back afterwards
    made.with_no_device()
    kernel = kernel_of(body, made.namespace(numbas))
    return made.numbas_verdict(kernel.py_func, tuple(map(typeof, arguments())))


@pytest.mark.parametrize(("body", "line", "said"), REFUSED, ids=[body for body, _, _ in REFUSED])
def test_what_numba_refuses_is_refused_where_no_thread_comes(
    body: str, line: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = arguments()
    before = given[0].copy()
    with pytest.raises(KernelFault) as caught:
        kernel_of(body, made.namespace(cuda))[2, 4](*given)
    assert said in str(caught.value)
    first = made.PRELUDE.count("\n") + LINE - 1
    assert caught.value.line is not None and caught.value.line.number == first + line + 1
    assert np.array_equal(given[0], before)
    assert numbas_verdict(body, monkeypatch)


@pytest.mark.parametrize("body", TAKEN)
def test_what_numba_takes_is_not_refused(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_of(body, made.namespace(cuda))[2, 4](*arguments())
    assert not numbas_verdict(body, monkeypatch)


# -- what Numba takes and kernels seldom have -------------------------------------------------------------------------

VALUES = (  # an expression of `i` from 0 to 7, and its value
    ("i in (1, 2, 3)", lambda i: i in (1, 2, 3)),
    ("i not in [1, 5]", lambda i: i not in [1, 5]),
    ("i in range(1, 6, 2)", lambda i: i in range(1, 6, 2)),
    ("i in range(5, 0, -3)", lambda i: i in range(5, 0, -3)),
    ("0.5 in range(3)", lambda i: False),
    ("(i, 2) in ((1, 2), (3, 4))", lambda i: (i, 2) in ((1, 2), (3, 4))),
    ("(i, 2) < (3, 1)", lambda i: (i, 2) < (3, 1)),
    ("(3, i) <= (3, 4)", lambda i: (3, i) <= (3, 4)),
    ("(i, i) > (4, 5, 6)", lambda i: (i, i) > (4, 5, 6)),
    ("(4, i) >= (4,)", lambda i: True),
    ("(1, (2, i)) < (1, (2, 4))", lambda i: i < 4),
    ("i == None", lambda i: False),
    ("i != None", lambda i: True),
    ("not 'text'", lambda i: False),
    ("(lambda q: q * 2)(i)", lambda i: 2 * i),
    ("(lambda q, r=3: q * r + i)(i)", lambda i: 4 * i),
    ("applied(lambda q: q + i, 1)", lambda i: 1 + i),
    ("a[slice(1, 4)][2]", lambda i: 3),
    ("a[slice(3)].size", lambda i: 3),
    ("a[1.7:].size", lambda i: 7),
    ("a[:i / 2].size", lambda i: int(i / 2)),
    ("a[None, :][0, i]", lambda i: i),
    ("a[:, None].shape[1]", lambda i: 1),
    ("m[None, 1, ..., 2][0]", lambda i: 6),
    ("len(range(1, 8, 3))", lambda i: 3),
    ("a.dtype.type(i / 2)", lambda i: i / 2),
    ("cuda.grid(ndim=1)", lambda i: i),
    ("cuda.syncthreads_count(predicate=int(i < 3))", lambda i: 3),
    ("(*t, 5)[2]", lambda i: 5),
)


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[expression for expression, _ in VALUES])
def test_an_expression_has_the_value_that_python_gives_it(expression: str, expected: Any) -> None:
    source = "@cuda.jit(device=True)\ndef applied(f, v):\n    return f(v)\n\n@cuda.jit\ndef kernel(out, a, m, t):\n"
    source += f"    i = cuda.grid(1)\n    out[i] = {expression}\n"
    file = f"<value of {expression}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"cuda": cuda, "np": np, "math": math}
    exec(compile(source, file, "exec"), names)
    out, a = np.full(8, -1.0), np.arange(8, dtype=np.float32)
    names["kernel"][1, 8](out, a, np.arange(16.0).reshape(4, 4), (1, 2))
    assert out.tolist() == [float(expected(i)) for i in range(8)]


def test_a_list_is_looped_over_and_enumerate_begins_where_each_thread_says() -> None:
    @cuda.jit
    def kernel(out, a):
        i = cuda.grid(1)
        for k in [1, 2]:
            out[i] += k
        for place, _ in enumerate(a, i):
            out[i] += place

    out = np.zeros(4)
    kernel[1, 4](out, np.zeros(3))
    assert out.tolist() == [3 + 3 * i + 3 for i in range(4)]


def test_a_private_function_of_a_module_is_called_through_it() -> None:
    @cuda.jit(device=True)
    def _doubled(x):
        return 2 * x

    core = types.ModuleType("core")
    vars(core)["_doubled"] = _doubled

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = core._doubled(i)

    out = np.zeros(4)
    kernel[1, 4](out)
    assert out.tolist() == [0, 2, 4, 6]


def test_what_waits_to_be_freed_is_freed_at_once() -> None:
    waiting = cuda.current_context().deallocations
    waiting.clear()
    assert len(waiting) == 0
