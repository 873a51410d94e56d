"""`numba.extending` in kernels: types, functions and methods of a program's own. What a GPU gives was worked out by hand."""

import importlib
import math
import operator
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numba.core import cgutils, types

from autograder import profile
from autograder.errors import KernelFault
from autograder.simgpu.host import cuda_module

pytestmark = pytest.mark.usefixtures("installed")


@pytest.fixture(scope="module")
def installed():
    cuda_module.install()
    yield
    cuda_module.uninstall()


@pytest.fixture(scope="module")
def interval(installed):
    """An `Interval` of two float64 as NVIDIA's tutorial and Numba's documentation have it, in LLVM code and in Python."""
    from numba.core.typing.templates import AttributeTemplate, ConcreteTemplate
    from numba.cuda.cudadecl import registry
    from numba.cuda.cudaimpl import lower, lower_attr
    from numba.extending import (
        lower_builtin,
        make_attribute_wrapper,
        models,
        overload,
        overload_attribute,
        overload_method,
        register_model,
        type_callable,
        typeof_impl,
    )

    class Interval:
        def __init__(self, lo, hi):
            self.lo, self.hi = lo, hi

    class IntervalType(types.Type):
        def __init__(self):
            super().__init__(name="Interval")

    interval_type = IntervalType()
    typeof_impl.register(Interval)(lambda value, context: interval_type)

    @type_callable(Interval)
    def type_interval(context):
        return lambda lo, hi: interval_type if isinstance(lo, types.Float) and isinstance(hi, types.Float) else None

    @register_model(IntervalType)
    class Model(models.StructModel):
        def __init__(self, manager, kind):
            super().__init__(manager, kind, [("lo", types.float64), ("hi", types.float64)])

    make_attribute_wrapper(IntervalType, "lo", "lo")
    make_attribute_wrapper(IntervalType, "hi", "hi")

    @lower_builtin(Interval, types.Float, types.Float)
    def make(context, builder, sig, arguments):
        made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        made.lo, made.hi = arguments
        return made._getvalue()

    @registry.register_attr
    class Attributes(AttributeTemplate):
        key = IntervalType

        def resolve_width(self, kind):
            return types.float64

    @lower_attr(IntervalType, "width")
    def width(context, builder, sig, value):
        return builder.fsub(builder.extract_value(value, 1), builder.extract_value(value, 0))

    @registry.register_global(operator.add)
    class Addition(ConcreteTemplate):
        cases = [interval_type(interval_type, interval_type)]

    @lower(operator.add, interval_type, interval_type)
    def add(context, builder, sig, arguments):
        made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        one, other = (cgutils.create_struct_proxy(interval_type)(context, builder, value=each) for each in arguments)
        made.lo, made.hi = builder.fadd(one.lo, other.lo), builder.fadd(one.hi, other.hi)
        return made._getvalue()

    @overload_attribute(IntervalType, "middle", target="cuda")
    def middle(value):
        return lambda value: (value.lo + value.hi) / 2

    @overload_method(IntervalType, "scaled", target="cuda")
    def scaled(value, factor):
        return lambda value, factor: Interval(value.lo * factor, value.hi * factor)

    @overload(operator.lt, target="cuda")
    def less(a, b):
        if isinstance(a, IntervalType) and isinstance(b, IntervalType):
            return lambda a, b: a.hi < b.lo
        return None

    @overload(math.sqrt, target="cuda")
    def root_of(value):
        if isinstance(value, IntervalType):
            return lambda value: Interval(math.sqrt(value.lo), math.sqrt(value.hi))
        return None

    return Interval


def launched(kernel, size, dtype=np.float64):
    from numba import cuda

    out = np.zeros(size, dtype)
    cuda.jit(kernel)[1, 32](out)
    return out.tolist()


def test_an_interval_is_made_read_added_and_scaled_in_lanes(interval):
    from numba import cuda, njit

    @njit
    def inside(value, x):
        return value.lo <= x < value.hi

    root: Any = math.sqrt

    def kernel(out):
        i = cuda.grid(1)
        if i < 4:
            a = interval(i * 1.0, i + 2.0)
            b = a + interval(0.5, 1.0)
            if i > 1:
                b = a.scaled(10)
            out[8 * i] = a.width
            out[8 * i + 1] = b.lo
            out[8 * i + 2] = b.hi
            out[8 * i + 3] = b.middle
            out[8 * i + 4] = inside(a, 2.5)
            out[8 * i + 5] = a < b
            out[8 * i + 6] = root(b).hi
            out[8 * i + 7] = math.sqrt(4.0)

    expected = []
    for i in range(4):
        lo, hi = (0.5 + i, 3.0 + i) if i < 2 else (10.0 * i, 10.0 * (i + 2))
        expected += [2, lo, hi, (lo + hi) / 2, i <= 2.5 < i + 2, i + 2 < lo, math.sqrt(hi), 2]
    assert launched(kernel, 32) == expected


def test_a_structure_costs_nothing_but_what_its_code_computes(interval):
    from numba import cuda

    @cuda.jit
    def kernel(out):
        a = interval(1.0, 3.0) + interval(2.0, 5.0)
        out[cuda.grid(1)] = a.width

    assert profile(kernel)[1, 32](np.zeros(32)).counters.float64_operations == 3 * 32


@pytest.mark.parametrize("rounds", [10, 500])
def test_a_loop_of_one_thread_and_launches_that_are_repeated_keep_structures(interval, rounds):
    from numba import cuda

    @cuda.jit
    def kernel(out):
        total = interval(0.0, 0.0)
        for i in range(rounds):
            total = total + interval(i * 1.0, 2.0)
        out[0] += total.hi - total.lo

    out = np.zeros(1)
    for _ in range(5):
        kernel[1, 1](out)
    assert out.tolist() == [5 * (2 * rounds - rounds * (rounds - 1) / 2)]


def test_a_global_object_of_a_type_of_ones_own_needs_a_constant(interval):
    from numba.core.imputils import lower_constant  # noqa: F401
    from numba.cuda.cudaimpl import registry

    @registry.lower_constant(type(_type_of(interval)))
    def constant(context, builder, kind, value):
        parts = [context.get_constant(types.float64, each) for each in (value.lo, value.hi)]
        return ir.Constant.literal_struct(parts)

    whole = interval(0.25, 8.5)

    def kernel(out):
        out[0] = whole.lo + whole.width

    assert launched(kernel, 1) == [8.5]


def _type_of(interval):
    from numba import typeof

    return typeof(interval(0.0, 1.0))


class Plain:
    """Numba was told nothing of it."""

    x = 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Interval(1, 2.0)", r"`Interval` has no version for \(Literal\[int\]\(1\), float64\)"),
        ("Interval(1.0, 2.0).height", "values of the type Interval have no `height`"),
        ("Interval(1.0, 2.0) * 3", "not told how to compute this with a value of the type Interval"),
        ("abs(Interval(1.0, 2.0))", "Interval"),
        ("type(out)", "cannot be used|is a type|not defined"), ("Plain()", "`Plain` is a type, which a kernel cannot use"),
        ("plain.x", "`plain` is a Plain, which a kernel cannot use"),
    ],
)
def test_what_numba_was_not_told_is_refused_in_a_sentence(interval, line, told, tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(f"def kernel(out):\n    x = {line}\n    out[0] = x\n")
    names = {"Interval": interval, "Plain": Plain, "plain": Plain()}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(KernelFault, match=told):
        launched(names["kernel"], 1)


# -- overloads of what kernels know -------------------------------------------------------------------------------


def test_an_overload_of_len_is_asked_first_and_arrays_keep_theirs():
    from numba import cuda
    from numba.extending import overload

    @overload(len, target="cuda")
    def length(group):
        return (lambda group: cuda.gridsize(1)) if isinstance(group, cuda.types.GridGroup) else None

    def kernel(out):
        out[0] = len(cuda.cg.this_grid())
        out[1] = len(out)

    assert launched(kernel, 7, np.int64)[:2] == [32, 7]


def test_methods_and_attributes_of_arrays_are_what_the_program_says():
    from numba import cuda
    from numba.cuda.extending import overload_attribute, overload_method

    @overload_method(types.Array, "scaled_sum")
    def scaled_sum(array, factor):
        if array.ndim != 1:
            return None

        def implementation(array, factor):
            total = 0.0
            for i in range(len(array)):
                total += array[i]
            array[0] = total * factor
            return total

        return implementation

    @overload_attribute(types.Array, "bits")
    def bits(array):
        return lambda array: array.size * array.itemsize * 8

    def kernel(out):
        if cuda.grid(1) == 0:
            for i in range(len(out)):
                out[i] = 2.0
            out[1] = out.scaled_sum(10.0)
            out[2] = out.bits

    def of_two_dimensions(out):
        out[0] = out.reshape(2, 2).scaled_sum(1.0)

    assert launched(kernel, 4) == [80, 8, 256, 2]
    with pytest.raises(KernelFault, match=r"`scaled_sum` has no overload for \(array"):
        launched(of_two_dimensions, 4)


def test_who_chooses_an_overload_is_told_what_fails_in_it():
    from numba.cuda.extending import overload

    def answer(x):
        raise NotImplementedError

    @overload(answer)
    def choose(x):
        return x.no_such_attribute

    with pytest.raises(KernelFault, match=r"`choose`, which chooses what `answer` is .*AttributeError"):
        launched(lambda out: answer(1), 1)


# -- LLVM code ------------------------------------------------------------------------------------------------------


def made(build, result=types.float64, arguments=1):
    """An intrinsic whose code `build(builder, values)` tells the builder; of float64."""
    from numba.cuda.extending import intrinsic

    def define(context, *given):
        def codegen(target, builder, signature, values):
            return build(builder, values, target)

        return result(*(types.float64,) * arguments), codegen

    named = {1: lambda context, a: define(context, a), 2: lambda context, a, b: define(context, a, b)}
    return intrinsic(named[arguments])


def test_lanes_part_at_branches_of_the_code_and_go_round_its_loops():
    from numba import cuda

    def build(builder, values, target):
        total = cgutils.alloca_once_value(builder, ir.Constant(ir.DoubleType(), 0.0))
        count = builder.fptosi(values[0], ir.IntType(64))
        with cgutils.for_range(builder, count) as loop:
            is_odd = builder.trunc(loop.index, ir.IntType(1))
            with builder.if_else(is_odd) as (then, otherwise):
                with then:
                    builder.store(builder.fadd(builder.load(total), ir.Constant(ir.DoubleType(), 100.0)), total)
                with otherwise:
                    term = builder.sitofp(loop.index, ir.DoubleType())
                    builder.store(builder.fadd(builder.load(total), term), total)
        return builder.load(total)

    steps = made(build)

    def kernel(out):
        i = cuda.grid(1)
        out[i] = steps(i * 1.0)

    assert launched(kernel, 32) == [sum(100 if k % 2 else k for k in range(i)) for i in range(32)]


def test_code_calls_functions_that_numba_knows_and_those_written_in_python():
    def twice(x):
        if x > 1.0:
            return 2 * x
        return x - 1.0

    def build(builder, values, target):
        root = target.get_function(math.sqrt, types.float64(types.float64))(builder, values)
        return target.compile_internal(builder, twice, types.float64(types.float64), [root])

    both = made(build)

    def kernel(out):
        out[0] = both(16.0)
        out[1] = both(0.25)

    assert launched(kernel, 2) == [8, -0.5]


INTEGERS = [-7, -1, 0, 1, 3, 40, 2**40 + 5]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("udiv", lambda a: a % 2**64 // 3), ("urem", lambda a: a % 2**64 % 3), ("sdiv", lambda a: int(math.trunc(a / 3))),
        ("srem", lambda a: int(math.fmod(a, 3))), ("lshr", lambda a: (a % 2**64) >> 3), ("ashr", lambda a: a >> 3),
        ("shl", lambda a: a << 3), ("xor", lambda a: a ^ 3), ("and_", lambda a: a & 3), ("or_", lambda a: a | 3),
    ],
)  # fmt: skip
def test_integers_are_signed_or_not_as_the_instruction_says(name, expected):
    from numba.cuda.extending import intrinsic

    @intrinsic
    def computed(context, a):
        def codegen(target, builder, signature, values):
            return getattr(builder, name)(values[0], ir.Constant(ir.IntType(64), 3))

        return types.int64(types.int64), codegen

    def kernel(given):
        for i in range(len(given)):
            given[i] = computed(given[i])

    from numba import cuda

    given = np.array(INTEGERS)
    cuda.jit(kernel)[1, 1](given)
    assert [each % 2**64 for each in given.tolist()] == [expected(each) % 2**64 for each in INTEGERS]


def test_an_intrinsic_sees_the_whole_numbers_that_are_written_and_reads_special_registers():
    from numba import cuda
    from numba.cuda.extending import intrinsic

    @intrinsic
    def lane_times(context, factor):
        if not isinstance(factor, types.IntegerLiteral):
            return None

        def codegen(target, builder, signature, values):
            read = ir.InlineAsm(ir.FunctionType(ir.IntType(32), []), "mov.u32 $0, %laneid;", "=r")
            lane = builder.call(read, [])
            return builder.mul(lane, ir.Constant(ir.IntType(32), factor.literal_value))

        return types.int32(factor), codegen

    def kernel(out):
        out[cuda.grid(1)] = lane_times(3)

    def unknown(out):
        out[0] = lane_times(len(out) + 1)

    assert launched(kernel, 32) == [3 * i for i in range(32)]
    with pytest.raises(KernelFault, match=r"`lane_times` has no version for \(int64\)"):
        launched(unknown, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mov.u64 $0, %clock64;", "it reads the clock .* the simulated GPU has none"),
        ("vote.ballot.b32 $0, 1;", "it has PTX written out"),
        ("mov.u64 $0, %envreg3;", "it reads the register `%envreg3`"),
    ],
)
def test_ptx_is_refused_with_what_to_write(text, told):
    def build(builder, values, target):
        builder.call(ir.InlineAsm(ir.FunctionType(ir.IntType(64), []), text, "=l", side_effect=True), [])
        return values[0]

    refused = made(build)
    with pytest.raises(KernelFault, match=told) as caught:
        launched(lambda out: refused(1.0), 1)
    assert "Write it in Python with @overload or a device function" in caught.value.remedy


def test_code_that_reaches_into_an_array_by_an_address_is_refused():
    from numba.cuda.extending import intrinsic

    @intrinsic
    def first(context, array):
        def codegen(target, builder, signature, values):
            return builder.load(builder.extract_value(values[0], 4))

        return array.dtype(array), codegen

    with pytest.raises(KernelFault, match="takes apart what an array consists of"):
        launched(lambda out: first(out), 1)


def test_an_error_in_the_function_that_builds_the_code_is_told_as_its_own():
    def build(builder, values, target):
        return builder.fadd(values[0], values[3])

    wrong = made(build)
    with pytest.raises(KernelFault, match=r"cannot be built for \(float64\): list index out of range\."):
        launched(lambda out: wrong(1.0), 1)


# -- what is there afterwards -----------------------------------------------------------------------------------------


def test_modules_of_the_compiler_are_numbas_own_and_others_are_not_there():
    import numba.cuda.cudadecl
    import numba.cuda.models
    from numba.cuda.cudadecl import registry

    assert numba.cuda.cudadecl.registry is registry and type(registry).__module__ == "numba.core.typing.templates"
    with pytest.raises(ImportError):
        importlib.import_module("numba.cuda.no_such_module")
