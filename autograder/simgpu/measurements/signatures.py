"""Which calls in a kernel Numba's typing takes: right ones, and each with one argument or keyword that is wrong.

    python -m autograder.simgpu.measurements.signatures        # writes signatures.json; needs Numba, and no GPU

Each right call is changed in every way that a slip can take: one argument less, one more, a keyword that nobody knows, and
each argument in turn a value of another kind. Numba compiles a kernel of that one line, as far as its own code
generator's input (`compile_cuda`: typing and lowering, 10 ms); the file holds what it took and what it refused.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

PATH = Path(__file__).with_suffix(".json")
COMPUTE_CAPABILITY = (9, 0)  # an H200's; typing is the same for all that Numba supports

# The parameters of every kernel here. Threads are alone: one block of one thread.
PARAMETERS: dict[str, Any] = {
    "a": np.ones(8),
    "m": np.ones(8, np.int32),
    "u": np.ones(8, np.uint32),
    "d": np.ones((4, 4)),
    "i": np.int64(1),
    "k": np.uint32(1),
    "f": np.float64(1.5),
    "h": np.float32(1.5),
    "b": np.bool_(True),
    "c": np.complex128(1 + 1j),
}
OTHER_KINDS = ("f", "i", "a", "c", "(i, i)", "'x'", "None")  # that an argument is replaced by, one at a time

_BUILTINS = """
abs(f) abs(i) abs(c) min(f,h) max(i,f) min(i,i,i) max((f,f)) pow(f,i) divmod(i,i) int(f) float(i) bool(f) complex(f,f)
complex(f) round(f) round(f,i) len(a) len((i,i)) range(i) range(i,i) range(i,i,i) tuple((i,i)) print(i) print('x',f) print()
enumerate(a) enumerate(a,i) zip(a,m) zip() isinstance(i,int) float('inf') float('nan') float('-inf') float('5') int('5')
min(f) max(a) min() len(d) bool(a) int() float() bool() complex() int(f,i) print(a) print((i,i)) print(b) print(c) range(f)
str(i) sum(a) sorted(a) list(a) hash(i) chr(i) ord('x') any(a) all(a) reversed(a) divmod(f,f)
iter(a) slice(i) type(i) repr(i)
np.float32(f) np.int32(f) np.float64() np.uint8(i) np.bool_(i) np.complex64(c) np.int32('x')
isinstance(i,(int,float)) isinstance(i,np.int64) isinstance(b,bool) isinstance(a,tuple) int(b) float(b) abs(b) complex(f,i)
round(i,h) print(cuda.threadIdx.x) print(k,h,'x') print(cuda.threadIdx) range(b) bool(None)
"""
_ONE_FLOAT = """sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh fabs
degrees radians erf erfc gamma lgamma floor ceil trunc isnan isinf isfinite frexp modf exp2"""
_TWO_FLOATS = "atan2 hypot fmod copysign pow remainder fmax fmin nextafter"
_CUDA = """
cuda.grid(1) cuda.grid(2) cuda.grid(3) cuda.grid(4) cuda.grid(i) cuda.gridsize(1) cuda.gridsize(2)
cuda.syncthreads() cuda.syncthreads_count(i) cuda.syncthreads_and(i) cuda.syncthreads_or(i)
cuda.threadfence() cuda.threadfence_block() cuda.threadfence_system() cuda.nanosleep(i) cuda.nanosleep(k)
cuda.syncwarp() cuda.syncwarp(0xffffffff) cuda.syncwarp(mask=0xffffffff) cuda.activemask() cuda.lanemask_lt()
cuda.shfl_sync(0xffffffff,f,i) cuda.shfl_sync(0xffffffff,i,0) cuda.shfl_up_sync(0xffffffff,f,i)
cuda.shfl_down_sync(0xffffffff,h,i) cuda.shfl_xor_sync(0xffffffff,i,i) cuda.shfl_sync(mask=0xffffffff,value=f,src_lane=i)
cuda.ballot_sync(0xffffffff,b) cuda.all_sync(0xffffffff,b) cuda.any_sync(0xffffffff,i) cuda.eq_sync(0xffffffff,b)
cuda.all_sync(mask=0xffffffff,predicate=b) cuda.match_any_sync(0xffffffff,i) cuda.match_all_sync(0xffffffff,i)
cuda.popc(i) cuda.brev(i) cuda.clz(i) cuda.ffs(i) cuda.popc(b) cuda.ffs(b) cuda.syncthreads_count(b)
cuda.syncthreads_count(1) cuda.shfl_sync(0xffffffff,b,i) cuda.selp(b,i,i) cuda.selp(b,i,k) cuda.selp(b,b,b)
cuda.fma(i,i,i) cuda.cbrt(i) cuda.fma(f,f,f) cuda.fma(h,h,h) cuda.selp(b,f,f)
cuda.selp(b,f,h) cuda.cbrt(f) cuda.cg.this_grid() cuda.cg.this_grid().sync() cuda.const.array_like(a)
cuda.shared.array(4,np.float32) cuda.shared.array((2,2),np.float32) cuda.shared.array(shape=4,dtype=np.float32)
cuda.shared.array(4,dtype='float32') cuda.shared.array(0,np.float32) cuda.shared.array(dtype=np.float32,shape=4)
cuda.local.array(4,np.float32) cuda.local.array((2,2),np.float32) cuda.local.array(shape=4,dtype=np.float32)
cuda.shared.array(4,np.float32,shape=4) cuda.shared.array(4,float) cuda.shared.array(4,numba.float32)
cuda.shared.array(4,bool) cuda.shared.array(-1,np.float32) cuda.shared.array((2,i),np.float32)
cuda.const.array_like(ndarray=a)
"""
_ATOMICS = """
cuda.atomic.{}(a,i,f) cuda.atomic.{}(m,i,i) cuda.atomic.{}(u,i,k) cuda.atomic.{}(d,(i,i),f) cuda.atomic.{}(a,(i,i),f)
cuda.atomic.{}(d,i,f) cuda.atomic.{}(d,(f,f),f) cuda.atomic.{}(d,(i,i,i),f)
cuda.atomic.{}(a,(i,),f) cuda.atomic.{}(a,i,val=f)
"""
_CAS = """
cuda.atomic.cas(m,i,i,i) cuda.atomic.cas(u,i,k,k) cuda.atomic.cas(a,i,f,f) cuda.atomic.compare_and_swap(m,i,i)
cuda.atomic.compare_and_swap(m,i,f)
"""
_ATOMIC_NAMES = "add sub max min nanmax nanmin and_ or_ xor inc dec exch"
_OPERATORS = """add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift lt le gt ge eq ne iadd isub imul itruediv
ifloordiv imod ipow iand ior ixor ilshift irshift"""
_ONE_OPERATOR = "neg pos invert inv not_"
_TWO_NUMBERS = "i,i"  # what an operator that not every float has is shown with
_METHODS = """
a.sum() a.min() a.max() a.mean() a.copy() a.ravel() a.reshape(2,4) a.reshape((2,4)) d.transpose() a.view(np.int64) a.item()
np.sum(a) np.min(a) np.mean(a) numba.literal_unroll((i,f))
"""
_ODD = ("isnat",)  # of dates


def _ufuncs() -> list[str]:
    """NumPy's universal functions that a kernel here can name, by their first name."""
    from autograder.simgpu.functions.known_functions import CALLS

    named = {path.removeprefix("numpy.") for path in CALLS if path.startswith("numpy.")}
    return sorted(name for name in named if isinstance(getattr(np, name, None), np.ufunc) and name not in _ODD)


def right_calls() -> list[str]:
    """The calls to start from; most are right, some are wrong in their own way."""
    calls = [*_BUILTINS.split("\n"), *_CUDA.split("\n"), *_CAS.split("\n"), *_METHODS.split("\n")]
    calls = [call for line in calls for call in line.split()]
    calls += [f"math.{name}(f)" for name in _ONE_FLOAT.split()] + [f"math.{name}(i)" for name in _ONE_FLOAT.split()]
    calls += [f"math.{name}(f,h)" for name in _TWO_FLOATS.split()] + ["math.ldexp(f,i)", "math.ldexp(h,k)"]
    calls += [call.format(name) for name in _ATOMIC_NAMES.split() for call in _ATOMICS.format(*["{}"] * 10).split()]
    calls += [f"operator.{name}({_TWO_NUMBERS})" for name in _OPERATORS.split()]
    calls += [f"operator.{name}(i)" for name in _ONE_OPERATOR.split()] + [
        "operator.getitem(a,i)",
        "operator.getitem(d,(i,i))",
    ]
    calls += [
        "operator.getitem(d,i)",
        "operator.getitem((i,f),1)",
        "operator.add((i,i),(i,i))",
        "operator.eq((i,i),(i,i))",
    ]
    for name in _ufuncs():
        calls.append(f"np.{name}({','.join('i' * getattr(np, name).nin)})")
        calls.append(f"np.{name}({','.join('f' * getattr(np, name).nin)})")
        calls.append(f"np.{name}({','.join('a' * getattr(np, name).nin)},a)")
    return list(dict.fromkeys(calls))


def slips(call: str) -> Iterator[str]:
    """The call with one thing wrong, or another: fewer and more arguments, a strange keyword, other kinds of value."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    function, given = ast.unparse(node.func), [ast.unparse(each) for each in (*node.args, *node.keywords)]
    if given:
        yield f"{function}({', '.join(given[:-1])})"
    yield f"{function}({', '.join([*given, 'bogus=1'])})"
    if node.keywords:
        return
    yield f"{function}({', '.join([*given, 'i'])})"
    for position in range(len(given)):
        for other in OTHER_KINDS:
            if other != given[position]:
                yield f"{function}({', '.join([*given[:position], other, *given[position + 1 :]])})"


def every_call() -> list[str]:
    """All calls that Numba is asked about, in order and each once."""
    right = [ast.unparse(ast.parse(call, mode="eval")) for call in right_calls()]
    return list(dict.fromkeys([*right, *(slip for call in right for slip in slips(call))]))


def kernel_text(call: str) -> str:
    """A kernel of the one call, which is all that it does."""
    return f"def kernel({', '.join(PARAMETERS)}):\n    x = {call}\n"


def numbas_verdict(call: str) -> str:
    """Why Numba refuses the call, in its first words; empty where it takes it.

    Part of Numba's functions for kernels are device functions, which it compiles for the GPU that is there: it is told one.
    """
    import math
    import operator

    import numba
    from numba import cuda
    from numba.cuda.compiler import compile_cuda

    names: dict[str, Any] = {"cuda": cuda, "math": math, "np": np, "numba": numba, "operator": operator}
    exec(kernel_text(call), names)
    device = mock.Mock(compute_capability=COMPUTE_CAPABILITY)
    with mock.patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        try:
            types = tuple(numba.typeof(value) for value in PARAMETERS.values())
            compile_cuda(names["kernel"], numba.types.void, types, cc=COMPUTE_CAPABILITY, nvvm_options={})
        except Exception as problem:
            return f"{type(problem).__name__}: {_in_short(str(problem))}"
    return ""


def _in_short(message: str) -> str:
    """The first line of Numba's message that is about the call, 80 characters of it."""
    lines = [line.strip() for line in message.splitlines() if line.strip() and not line.startswith("Failed in")]
    line = re.sub(r" at 0x[0-9a-f]+", "", next(iter(lines), ""))
    return re.sub(r"(<module '[\w.]+') from '[^']*'>", r"\1>", line)[:80]


def stored() -> dict[str, str]:
    """Numba's verdict on each call: why it refuses it, or nothing where it takes it."""
    found = json.loads(PATH.read_text(encoding="utf-8"))
    return dict.fromkeys(found["taken"], "") | {call: why for why, calls in found["refused"].items() for call in calls}


def version() -> str:
    """Whose verdicts are stored: the version of Numba."""
    return str(json.loads(PATH.read_text(encoding="utf-8"))["numba"])


def _as_json(numbas_version: str, taken: list[str], refused: dict[str, list[str]]) -> str:
    """The verdicts as JSON with a line for each reason, so that a change of Numba's is seen line by line."""
    lines = [f"{json.dumps(why)}: {json.dumps(calls)}" for why, calls in refused.items()]
    body = ",\n".join(lines)
    return f'{{"numba": "{numbas_version}",\n"taken": {json.dumps(taken)},\n"refused": {{\n{body}\n}}}}\n'


def main() -> None:
    import numba

    verdicts = {call: numbas_verdict(call) for call in every_call()}
    refused: dict[str, list[str]] = {}
    for call, why in verdicts.items():
        if why:
            refused.setdefault(why, []).append(call)
    taken = [call for call, why in verdicts.items() if not why]
    PATH.write_text(_as_json(numba.__version__, taken, refused), encoding="utf-8")
    print(f"{len(taken)} calls taken, {len(verdicts) - len(taken)} refused")


if __name__ == "__main__":
    main()
