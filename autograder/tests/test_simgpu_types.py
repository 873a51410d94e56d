"""The typing rules of kernels, held against Numba's own type inference."""

from __future__ import annotations

import ast
import itertools
import operator

import numba
import numpy as np
import pytest
from numba import from_dtype
from numba.core.registry import cpu_target

from autograder.language.numeric_types import TYPES
from autograder.simgpu.values import numba_types as nt

DTYPES = [
    np.dtype(n)
    for n in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
]  # noqa: E501
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Pow: operator.pow,
}  # fmt: skip


@pytest.fixture(scope="module")
def typing_context():
    context = cpu_target.typing_context
    context.refresh()
    return context


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_every_operator_on_every_pair_of_types_gives_numbas_type(op, typing_context):
    wrong = []
    for a in DTYPES:
        for b in DTYPES:
            try:
                signature = typing_context.resolve_function_type(OPERATORS[op], (from_dtype(a), from_dtype(b)), {})
                numba_type = None if signature is None else str(signature.return_type)
            except Exception:
                numba_type = None
            try:
                ours = str(nt.operator_types(op, a, b)[1])
            except TypeError:
                ours = None
            if numba_type != ours:
                wrong.append(f"{a} {op.__name__} {b}: Numba {numba_type}, ours {ours}")
    assert not wrong, "\n".join(wrong)


WHOLE = [each for each in DTYPES if each.kind in "iu"]


@pytest.mark.parametrize("bounds", [*itertools.product(WHOLE), *itertools.product(WHOLE, WHOLE)], ids=str)
def test_a_range_counts_in_unsigned_numbers_where_it_does_in_numba(bounds, typing_context):
    iterated = typing_context.resolve_function_type(range, tuple(map(from_dtype, bounds)), {}).return_type
    assert str(nt.of_range(bounds)).startswith("u") == str(iterated.dtype).startswith("u")


@pytest.mark.parametrize("path", TYPES)
def test_every_type_that_a_kernel_can_name_exists(path):
    root, *names = path.split(".")
    found = {"numpy": np, "numba": numba}[root]
    for name in names:
        found = getattr(found, name)
    assert np.dtype(found if root == "numpy" else str(found)) == TYPES[path]


@pytest.mark.parametrize(
    "value, dtype", [(1, "int64"), (2**63, "uint64"), (1.5, "float64"), (True, "bool"), (1j, "complex128")]
)  # noqa: E501
def test_literals_are_typed_as_numba_types_them(value, dtype):
    assert nt.scalar(value).dtype == np.dtype(dtype)
