"""What a kernel may hold, item by item: each kernel is followed by the arguments it gets and the output it must give.

The expected values are worked out by hand, by Python or by NumPy; none comes from the simulated GPU.
"""

from __future__ import annotations

import cmath
import enum
import math
import operator
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from autograder.errors import KernelFault, KitError, SubmissionError
from autograder.language import parse_program, submission_from_cells
from autograder.language.validate import validate_kernel
from autograder.simgpu.host import cuda_module
from autograder.simgpu.host.device import Session

pytestmark = pytest.mark.quick

cuda = cuda_module.build_module()
TABLE: list[tuple[Any, ...]] = []
SCALE = 3
WEIGHTS = np.array([1.0, 2.0, 4.0])
EXPECTED_STATES = [
    (313611670190079035, 410834281257317300), (11993970802556713180, 5368778761872700062),
    (17249457156002458569, 895864088961879842),
]  # fmt: skip


def gives(*arguments, expected, grid=1, block=8, output=0):
    """Adds the kernel below to the table: after the launch, argument number `output` must equal `expected`."""

    def add(function):
        TABLE.append((function.__name__, cuda.jit(function), grid, block, arguments, output, expected))
        return function

    return add


def zeros(n=8, dtype=np.int64):
    return np.zeros(n, dtype)


# -- grids and blocks ---------------------------------------------------------------------------------------------


@gives(zeros(24), expected=np.arange(24), grid=3)
def one_dimension(out):
    out[cuda.grid(1)] = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x


@gives(zeros((4, 6)), expected=np.add.outer(10 * np.arange(4), np.arange(6)), grid=(2, 3), block=(2, 2))
def two_dimensions(out):
    i, j = cuda.grid(2)
    out[i, j] = 10 * i + j


@gives(zeros((2, 4, 3)), expected=np.arange(24).reshape(2, 4, 3), grid=(2, 1, 3), block=(1, 4, 1))
def three_dimensions(out):
    x, y, z = cuda.grid(3)
    nx, ny, nz = cuda.gridsize(3)
    out[x, y, z] = (x * ny + y) * nz + z


@gives(zeros(10), np.arange(10), expected=np.arange(10) * 2, grid=2, block=2)
def grid_stride_loop(out, values):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = 2 * values[i]


# -- control flow -------------------------------------------------------------------------------------------------


@gives(zeros(), expected=[0, 0, 1, 3, 6, 10, 15, 15])
def while_break_continue_return(out):
    i = cuda.grid(1)
    total = k = 0
    while True:
        k += 1
        if k == 7:
            break
        if k > i:
            continue
        total += k if k < i else 0
    if i == 7:
        out[i] = 15
        return
    out[i] = total


@gives(zeros(), expected=[1, 1, 1, 1, 0, 0, 0, 0])
def chained_comparison_and_short_circuit(out):
    i = cuda.grid(1)
    inside = -1 < i <= 3
    out[i] = 1 if inside and 12 // (i - 9) != 99 or i > 100 else 0


@gives(zeros(), expected=[8, 8, 7, 7, 6, 6, 5, 5])
def for_else_and_nested_loops(out):
    i = cuda.grid(1)
    for j in range(8, 0, -1):
        for k in range(2):
            if 2 * (8 - j) + k == i:
                break
        else:
            continue
        out[i] = j
        break
    else:
        out[i] = -1


@gives(zeros(), expected=[1, 0, 3, 2, 5, 4, 7, 6])
def tuples_and_swaps(out):
    i = cuda.grid(1)
    a, (b, c) = i, (i + 1, i - 1)
    a, b = b, a
    pair = (a, c)
    out[i] = pair[i % 2]


@gives(zeros(2), expected=[45, 21], block=1)
def sequences(out):
    for j, (a, b) in enumerate(zip((1, 2, 3), out)):  # noqa: B905 (Numba knows no strict)
        out[1] += j * a + b
    for each in (4, 5, 10):
        out[1] += each
    kept = range(10)
    for k in kept:
        out[0] += k


# -- functions, constants and closures ----------------------------------------------------------------------------


@cuda.jit(device=True)
def clamp(value, low=0, high=5):
    if value < low:
        return low
    return high if value > high else value


@cuda.jit("int64(int64)", device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@gives(zeros(), expected=[0, 1, 2, 3, 4, 5, 5, 5])
def device_functions(out):
    i = cuda.grid(1)
    out[i] = clamp(i, high=5)


@gives(zeros(), expected=[0, 1, 1, 2, 3, 5, 8, 13])
def recursion(out):
    out[cuda.grid(1)] = fibonacci(cuda.grid(1))


@gives(zeros(), expected=[3, 5, 7, 9, 11, 13, 15, 17])
def nested_function(out):
    i = cuda.grid(1)

    def twice(v):
        return 2 * v + SCALE

    out[i] = twice(i)


@gives(zeros(3, np.float64), expected=[3.0, 6.0, 12.0], block=3)
def module_constants(out):
    weights = cuda.const.array_like(WEIGHTS)
    out[cuda.grid(1)] = weights[cuda.grid(1)] * SCALE + WEIGHTS[0] - 1


def test_a_closure_and_a_global_are_fixed_at_the_first_launch():
    def make(step):
        @cuda.jit
        def add(out):
            out[cuda.grid(1)] += step

        def change():
            nonlocal step
            step = 100

        return add, change

    add, change = make(5)
    out = zeros()
    add[1, 8](out)
    change()
    add[1, 8](out)
    assert out.tolist() == [10] * 8


# -- types --------------------------------------------------------------------------------------------------------


@gives(zeros(8), expected=[-3, -1, 2, 1, -4, 3, 247, -128], block=1)
def integer_division_modulo_and_wraparound(out):
    out[0] = -5 // 2
    out[1] = 5 % -2
    out[2] = -7 % 3
    out[3] = np.int8(257)
    out[4] = -13 >> 2
    out[5] = int(3.99)
    out[6] = -np.uint8(9)
    out[7] = -np.int8(-128)


_LEAST = np.iinfo(np.int64).min


@gives(
    zeros(6),
    np.array([1, -1, -1, 2, 0, 3]),
    np.array([-1, -1, -2, -3, -1, 2]),
    expected=[1, -1, 1, 0, _LEAST, 9],
    block=6,
)
def negative_powers_of_integers(out, base, exponent):
    i = cuda.grid(1)
    out[i] = base[i] ** exponent[i]


@gives(np.zeros(4, np.uint8), np.array([-1, 256, 300, 2**40 + 3]), expected=[255, 0, 44, 3], block=4)
def casts_on_store(out, values):
    out[cuda.grid(1)] = values[cuda.grid(1)]


@gives(zeros(6, np.float64), expected=[0.5, 2.5, 8.0, 1.0, -1.0, 1 / 3], block=1)
def types_of_scalars(out):
    out[0] = 1 / 2
    out[1] = np.float32(2.5)
    out[2] = 2**3
    out[3] = bool(7)
    out[4] = np.int32(2**32 - 1)
    out[5] = np.float64(1) / 3


@gives(np.zeros(4, np.complex128), expected=[2j, -1, abs(3 + 4j), cmath.exp(1j)], block=1)
def complex_numbers(out):
    z = 1 + 1j
    out[0] = z * z
    out[1] = (1j * 1j).real
    out[2] = abs(complex(3, 4))
    out[3] = cmath.exp(1j)


_UNARY = ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "atan", "sinh", "tanh", "erf", "gamma", "floor", "ceil",
          "log2", "log10", "log1p", "expm1", "fabs", "degrees")  # fmt: skip


@pytest.mark.parametrize("name", _UNARY)
def test_functions_of_math(name):
    function = getattr(math, name)

    @cuda.jit
    def kernel(out, values):
        out[cuda.grid(1)] = function(values[cuda.grid(1)])

    values = np.array([0.1, 0.25, 0.5, 0.9])
    out = np.zeros(4)
    kernel[1, 4](out, values)
    np.testing.assert_allclose(out, [function(v) for v in values], rtol=1e-14)


@gives(zeros(8, np.float64), expected=[8.0, 5.0, 1.0, 2.0, 4.0, -1.5, 7.0, 0.75], block=1)
def functions_of_two_arguments(out):
    out[0] = math.pow(2.0, 3.0)
    out[1] = math.hypot(3.0, 4.0)
    out[2] = math.fmod(7.0, 3.0)
    out[3] = min(2, 7, 3)
    out[4] = max(4, -1.0)
    out[5] = math.copysign(1.5, -2.0)
    out[6] = operator.add(3, 4)
    out[7] = math.frexp(3.0)[0]


# -- memory -------------------------------------------------------------------------------------------------------


@gives(zeros(), expected=[7, 6, 5, 4, 3, 2, 1, 0])
def static_shared_arrays(out):
    width = 8
    first = cuda.shared.array(width, np.int64)
    second = cuda.shared.array((2, 4), dtype=np.float32)
    i = cuda.threadIdx.x
    first[i] = i
    second[i // 4, i % 4] = 0.5
    cuda.syncthreads()
    out[i] = first[7 - i] + 2 * second[1 - i // 4, 0] - 1


def test_dynamic_shared_memory():
    @cuda.jit
    def reverse(out):
        tile = cuda.shared.array(0, np.int64)
        i = cuda.threadIdx.x
        tile[i] = i
        cuda.syncthreads()
        out[i] = tile[tile.size - 1 - i]

    out = zeros()
    reverse[1, 8, 0, 64](out)
    assert out.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    reverse[1, 8, 0, 48 * 1024](out)
    with pytest.raises(KernelFault, match="52,000 bytes of dynamic shared memory"):  # as an H200 refused it
        reverse[1, 8, 0, 52_000](out)


def test_static_and_dynamic_shared_memory_share_one_limit():
    @cuda.jit
    def both(out):
        fixed = cuda.shared.array(1024, np.int64)
        fixed[cuda.threadIdx.x] = 1
        out[cuda.threadIdx.x] = fixed[cuda.threadIdx.x]

    both[1, 8, 0, 40 * 1024](zeros())
    with pytest.raises(KernelFault, match="take 49,160 bytes"):
        both[1, 8, 0, 40 * 1024 + 8](zeros())


TYPE_BY_ITS_NAME = "float32"


@gives(zeros(8, np.float64), expected=[4, 4, 8, 8, 1, 4, 1, 16], block=1)
def arrays_of_types_by_their_names(out):
    out[0] = cuda.shared.array(2, TYPE_BY_ITS_NAME).itemsize
    out[1] = cuda.local.array(2, "f4").itemsize
    out[2] = cuda.local.array(2, dtype="float").itemsize
    out[3] = cuda.shared.array((2, 2), "int").itemsize
    out[4] = cuda.shared.array(2, "bool").itemsize
    out[5] = cuda.local.array(2, "<i4").itemsize
    out[6] = cuda.shared.array(2, np.bool_).itemsize
    out[7] = cuda.local.array(2, np.complex128).itemsize


@gives(zeros(), expected=[0, 1, 3, 6, 10, 15, 21, 28])
def local_arrays(out):
    i = cuda.grid(1)
    mine = cuda.local.array((2, 4), np.int32)
    for k in range(8):
        mine[k // 4, k % 4] = k if k <= i else 0
    for k in range(8):
        out[i] += mine[k // 4][k % 4]


@cuda.jit(device=True)
def total(row):
    result = 0.0
    for value in row:
        result += value
    return result


@gives(zeros(3, np.float64), np.arange(24.0).reshape(3, 8), expected=[4 * 1.5, 4 * 9.5, 4 * 17.5], block=3)
def rows_and_slices_as_arguments(out, matrix):
    i = cuda.grid(1)
    out[i] = total(matrix[i, 0:4]) if matrix[i, :4].shape[0] == matrix.shape[1] // 2 else 0.0


@gives(zeros((4, 2)), expected=[[5, 1], [5, 2], [7, 7], [0, 9]], block=1)
def slices_assigned(out):
    out[:2, 0] = 5
    out[2] = 7
    out[0, 1], out[1, 1] = 1, 2
    out[..., 1][3] = 9


@gives(zeros(3), np.arange(6), expected=[15, 5, 0], block=1)
def methods_of_arrays(out, values):
    out[0] = values.sum()
    out[1] = values.reshape(2, 3)[1].max()
    out[2] = values.min()


PARTICLE = np.dtype([("position", np.float64, (2,)), ("mass", np.float32), ("id", np.int32)], align=True)


@gives(np.zeros(3, PARTICLE), expected=np.array([([0, 1], 2, 0), ([1, 1], 2, 1), ([1, 1], 2, 1)], PARTICLE), block=1)
def structured_arrays(particles):
    for i in range(2):
        particles[i].position[0] = i
        particles[i]["position"][1] = 1
        particles[i].mass += 2
        particles[i].id = i
    particles[2] = particles[1]


Point = namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    RED = 3


@gives(zeros(2), Point(4, 0.5), expected=[2, 3], block=1)
def named_tuples_and_enumerations(out, point):
    out[0] = point.x * point.y
    out[1] = Colour.RED


_CONVOLVED = [sum(3**k * (7 + k - t) for k in range(10)) for t in range(8)]


@gives(zeros(), np.arange(1000), expected=_CONVOLVED)
def indices_that_count_backwards_from_a_moving_start(out, a):
    t = cuda.threadIdx.x
    back = -t
    for k in range(7, 17):
        out[t] += 3 ** (k - 7) * a[back + k]


_WRAPPED = np.array([[(k - t) % 20 for k in range(20)] for t in range(8)])


@gives(zeros((8, 20)), np.arange(20), expected=_WRAPPED)
def indices_that_wrap_round_until_the_start_has_moved_on(out, a):
    t = cuda.threadIdx.x
    back = -t
    for k in range(20):
        out[t, k] = a[back + k]


@gives(zeros((8, 20)), expected=_WRAPPED)
def backwards_in_shared_memory(out):
    t = cuda.threadIdx.x
    s = cuda.shared.array(27, np.int64)
    for k in range(t, 27, 8):
        s[k] = (k - 7) % 20
    cuda.syncthreads()
    back = 7 - t
    for k in range(20):
        out[t, k] = s[back + k]


@gives(zeros(), expected=[-1, 0, 1, 2, 3, 4, 5, 5])
def an_array_chosen_under_one_mask_after_another(out):
    x = cuda.threadIdx.x
    mine = cuda.local.array(1, np.int64)
    other = cuda.local.array(1, np.int64)
    other[0] = -1
    chosen = mine
    for phase in range(6):
        if x > phase:
            chosen = other
            chosen[0] = phase
    out[x] = other[0]


# -- atomics: what is left, and the old values --------------------------------------------------------------------

_ATOMICS = {  # operation: (start, operand of thread i, end, old values sorted)
    "add": (10, lambda i: i, 38, [10, 10, 11, 13, 16, 20, 25, 31]),
    "sub": (10, lambda i: 1, 2, [3, 4, 5, 6, 7, 8, 9, 10]),
    "max": (3, lambda i: i, 7, [3, 3, 3, 3, 3, 4, 5, 6]),
    "min": (3, lambda i: i, 0, [0, 0, 0, 0, 0, 0, 0, 3]),
    "and_": (0b111, lambda i: 0b110, 0b110, [6] * 7 + [7]),
    "or_": (0, lambda i: 1, 1, [0] + [1] * 7),
    "xor": (0, lambda i: 1, 0, [0] * 4 + [1] * 4),
    "exch": (9, lambda i: i, 7, [0, 1, 2, 3, 4, 5, 6, 9]),
    "inc": (0, lambda i: 2, 2, [0, 0, 0, 1, 1, 1, 2, 2]),
    "dec": (0, lambda i: 2, 1, [0, 0, 0, 1, 1, 2, 2, 2]),
}


@pytest.mark.parametrize("name", _ATOMICS)
def test_every_atomic_returns_the_old_value(name):
    start, operand, end, olds = _ATOMICS[name]
    update = getattr(cuda.atomic, name)

    @cuda.jit
    def kernel(target, old, operands):
        i = cuda.grid(1)
        old[i] = update(target, 0, operands[i])

    target, old = np.array([start], np.uint64 if name in ("inc", "dec") else np.int64), zeros()
    kernel[1, 8](target, old, np.array([operand(i) for i in range(8)], target.dtype))
    assert target[0] == end and sorted(old.tolist()) == olds


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("add", np.int16), ("add", np.uint8), ("exch", np.float32), ("inc", np.int32), ("max", np.bool_)],
)
def test_an_atomic_that_numba_does_not_have_is_refused(name, dtype):
    update = getattr(cuda.atomic, name)

    @cuda.jit
    def kernel(target):
        update(target, 0, 1)

    with pytest.raises(KernelFault, match=f"Numba has no cuda.atomic.{name} for an array of {np.dtype(dtype)}"):
        kernel[1, 8](np.zeros(1, dtype))


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("cuda.atomic.ad(x, 0, 1)", "Did you mean `cuda.atomic.add`?"),
        ("x[0] = cuda.blockDIm.x", "Did you mean `cuda.blockDim.x`?"),
        ("x[0] = 1 + cuda.laneid()", ""),
        ("tile = np.zeros(4, np.float32)", "cuda.shared.array"),
        ("x[0] = np.bincount(x)", "Kernels can use arithmetic"),
        ("x[0] = np.dot(x, x)", "Kernels can use arithmetic"),  # and no `np.hypot`
        ("x[0] = math.sin + 1", "Did you mean to call it?"),
    ],
)
def test_a_name_that_a_kernel_cannot_use_comes_with_the_one_that_is_meant(line, advice):
    text = f"import math\nimport numpy as np\nfrom numba import cuda\n@cuda.jit\ndef kernel(x):\n    {line}\n"
    function = parse_program(submission_from_cells("k.py", [("k.py", text)], is_notebook=False)).function("kernel")
    with pytest.raises(KernelFault) as problem:
        Session().launch(function, 1, 1, (np.zeros(1, np.float32),))
    assert advice in str(problem.value)


@gives(zeros(9), expected=[1] + [0] * 7 + [5], output=0)
def compare_and_swap(out):
    i = cuda.grid(1)
    if cuda.atomic.cas(out, 8, 0, 5) == 0:
        out[i] = 1


# -- the block and the warp ---------------------------------------------------------------------------------------


@gives(zeros((3, 8)), expected=[[3] * 8, [0] * 8, [1] * 8])
def barriers_that_vote(out):
    i = cuda.grid(1)
    out[0, i] = cuda.syncthreads_count(int(i < 3))
    out[1, i] = cuda.syncthreads_and(int(i < 7))
    out[2, i] = cuda.syncthreads_or(int(i == 7))


@gives(zeros((6, 32)), expected=[
    np.roll(np.arange(32), -1) * 0 + np.minimum(np.arange(32) + 1, 31), np.maximum(np.arange(32) - 1, 0),
    np.arange(32) ^ 1, [5] * 32, [0b1111] * 32, [2**32 - 1] * 32], block=32)  # fmt: skip
def shuffles_and_votes(out):
    lane = cuda.laneid
    everyone = 0xFFFFFFFF
    down = cuda.shfl_down_sync(everyone, lane, 1)
    out[0, lane] = down
    out[1, lane] = cuda.shfl_up_sync(everyone, lane, 1)
    out[2, lane] = cuda.shfl_xor_sync(everyone, lane, 1)
    out[3, lane] = cuda.shfl_sync(everyone, lane, 5)
    out[4, lane] = cuda.ballot_sync(everyone, lane < 4)
    cuda.syncwarp()
    out[5, lane] = cuda.activemask()


@gives(zeros((7, 32)), expected=[
    [0x55555555, 0xAAAAAAAA - 2**32] * 16, [1] * 32, [0] * 32, [1] * 32, [-1] * 32, [-1] * 32, [32] * 32],
    block=32)  # fmt: skip
def matches_and_agreement(out):  # of lane 31 the sign, as an H200 has it
    lane = cuda.laneid
    everyone = cuda.ballot_sync(0xFFFFFFFF, True)
    out[4, lane] = everyone >> 1
    out[5, lane] = cuda.match_all_sync(0xFFFFFFFF, 7)[0]
    out[6, lane] = cuda.popc(everyone)
    out[0, lane] = cuda.match_any_sync(0xFFFFFFFF, lane % 2)
    out[1, lane] = cuda.match_all_sync(0xFFFFFFFF, 7)[1]
    out[2, lane] = cuda.all_sync(0xFFFFFFFF, lane < 31)
    out[3, lane] = cuda.any_sync(0xFFFFFFFF, lane == 31) and cuda.warpsize == 32


@gives(zeros(7, np.float64), expected=[3, 2**31, 31, 3, 7, 5, 2], block=1)
def bits_and_small_intrinsics(out):
    out[0] = cuda.popc(0b10101)
    out[1] = cuda.brev(np.uint32(1))
    out[2] = cuda.clz(np.int32(1))
    out[3] = cuda.ffs(np.int32(0b100))
    out[4] = cuda.fma(2.0, 3.0, 1.0)
    out[5] = cuda.selp(out[0] > 2, 5, 6)
    out[6] = cuda.cbrt(8.0)
    cuda.threadfence()


@gives(zeros((3, 8)), expected=[np.zeros(8), [1] * 8, [2] * 8], grid=4, block=2)
def cooperative_grid(out):
    i = cuda.grid(1)
    everyone = cuda.cg.this_grid()
    for row in range(1, 3):
        out[row, i] = out[row - 1, 7 - i] + 1
        everyone.sync()


@gives(zeros(3, np.float64), expected=[1.5, 7, 3], block=1)
def vector_types(out):
    v = cuda.float32x4(cuda.float2(0.5, 1.0), 2, 3)
    out[0] = v.x + v.y
    out[1] = v.z + v.w + 2
    out[2] = np.float32(v.w)


@gives(zeros(32, np.float32), expected=[*range(4, 20), *[np.nan] * 4, *[0] * 12], block=32)
def a_shuffle_from_a_lane_that_has_left_gives_no_number(out):
    t = cuda.threadIdx.x
    if t < 20:
        out[t] = cuda.shfl_down_sync(0xFFFFF, np.float32(t), 4)


@gives(zeros(32), expected=[1, *range(31)], block=32)
def a_shuffle_looks_at_the_last_five_bits_of_its_distance(out):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_up_sync(0xFFFFFFFF, t, 33) + (t == 0)


@pytest.mark.parametrize("name, kernel, grid, block, arguments, output, expected", TABLE, ids=[t[0] for t in TABLE])
def test_kernel_gives(name, kernel, grid, block, arguments, output, expected):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    kernel[grid, block](*given)
    if given[output].dtype.fields:
        for field in expected.dtype.names:
            np.testing.assert_array_equal(given[output][field], expected[field])
    else:
        np.testing.assert_allclose(given[output], expected, rtol=1e-7)


# -- the host side ------------------------------------------------------------------------------------------------


@cuda.jit
def double(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 2


def test_arrays_travel_to_the_device_and_back():
    device = cuda.to_device(np.arange(8.0))
    double.forall(8)(device)
    part = device[2:4]
    double[1, 8](part)
    target = np.empty(8)
    device.copy_to_host(target, stream=cuda.stream())
    assert target.tolist() == [0, 2, 8, 12, 8, 10, 12, 14]
    like = cuda.device_array_like(device.reshape(2, 4).T)
    assert like.shape == (4, 2) and like.is_f_contiguous() and not like.is_c_contiguous()
    for make in (cuda.pinned_array, cuda.mapped_array, cuda.managed_array):
        host = make(4, np.float32)
        host[:] = 1
        double[1, 4](host)
        assert host.tolist() == [2] * 4
    only_in = np.ones(4)
    double[1, 4](cuda.In(only_in))
    assert only_in.tolist() == [1] * 4


def test_streams_events_and_devices():
    start, end, stream = cuda.event(), cuda.event(), cuda.stream()
    start.record(stream)
    double[1, 8, stream](np.ones(8))
    end.record(stream)
    stream.synchronize()
    cuda.synchronize()
    assert cuda.event_elapsed_time(start, end) > 0
    assert cuda.is_available() and cuda.get_current_device().compute_capability == (9, 0) and len(cuda.gpus) == 1


def test_signatures_choose_by_type_and_convert_scalars():
    @cuda.jit(["void(float32[:], float32)", "void(int64[:], int64)"])
    def fill(out, value):
        out[cuda.grid(1)] = value / 2

    whole, fraction = zeros(1), np.zeros(1, np.float32)
    fill[1, 1](whole, 7)
    fill[1, 1](fraction, 3)
    assert whole[0] == 3 and fraction[0] == 1.5
    with pytest.raises(TypeError, match="No matching definition"):
        fill[1, 1](np.zeros(1, np.int8), 1)
    with pytest.raises(TypeError, match="int64 is given 7.9: Numba takes no float for an integer"):
        fill[1, 1](whole, 7.9)


@pytest.mark.parametrize("layout", ["A", "C"])
@pytest.mark.parametrize(("declared", "given"), [("int32", "int64"), ("float32", "int32"), ("uint8", "int32")])
@pytest.mark.parametrize("lend", [lambda a: a, cuda.InOut, cuda.to_device], ids=["host", "InOut", "device"])
def test_one_signature_alone_takes_the_bytes_of_arrays_of_another_dtype(declared, given, layout, lend):
    """As a GPU: the kernel goes by its own dtype, and by the array's strides unless it was compiled for packed ones."""
    import numba

    array_type = numba.types.Array(getattr(numba, declared), 1, layout)

    @cuda.jit(numba.void(array_type, array_type))
    def copies(a, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i]

    a = (np.arange(1, 9) * 0x01020304).astype(given)
    out = np.zeros(8, given)
    expected = out.copy()
    step = np.dtype(given).itemsize // np.dtype(declared).itemsize if layout == "A" else 1
    expected.view(declared)[: 8 * step : step] = a.view(declared)[: 8 * step : step]
    lent = lend(out)
    with pytest.warns(UserWarning, match=f"compiled for array.{declared}, 1d, {layout}. and is launched with array.{given}"):
        copies[1, 32](lend(a), lent)
    got = lent.copy_to_host() if lend is cuda.to_device else out
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize(("signature", "words"), [("int64[:]", "overlap"), ("int64[::1]", "beyond this array's 32 bytes")])
def test_one_signature_alone_does_not_reach_beyond_the_array(signature, words):
    @cuda.jit(f"void({signature})")
    def fill(a):
        a[cuda.grid(1)] = 1

    with pytest.warns(UserWarning), pytest.raises(KernelFault, match=words):
        fill[1, 8](np.zeros(8, np.int32))


@pytest.mark.parametrize("signatures", [["void(int32[:])"], ["void(int32[:])", "void(float32[:])"]])
def test_signatures_in_a_list_take_no_other_dtype(signatures):
    @cuda.jit(signatures)
    def fill(a):
        a[cuda.grid(1)] = 1

    with pytest.raises(TypeError, match=r"No matching definition for argument type\(s\) array\(int64, 1d, C\).*int32"):
        fill[1, 8](np.zeros(8, np.int64))


def test_one_signature_alone_takes_no_array_of_other_dimensions():
    @cuda.jit("void(int32[:])")
    def fill(a):
        a[cuda.grid(1)] = 1

    with pytest.raises(TypeError, match="No matching definition"):
        fill[1, 8](np.zeros((2, 4), np.int32))


def test_pointers_find_their_array():
    import numba

    @cuda.jit(numba.types.void(numba.types.CPointer(numba.types.uint8), numba.types.uint32))
    def add_one(x, n):
        if cuda.grid(1) < n:
            x[cuda.grid(1)] += 1

    device = cuda.to_device(np.arange(4, dtype=np.uint8))
    add_one[1, 32](device.__cuda_array_interface__["data"][0], 4)
    assert device.copy_to_host().tolist() == [1, 2, 3, 4]


def test_reduce_vectorize_and_guvectorize():
    import numba

    assert cuda.reduce(lambda a, b: a + b)(np.arange(1000)) == 499500
    cuda_module.install()
    try:

        @numba.vectorize(["float64(float64, float64)"], target="cuda")
        def product(a, b):
            return a * b

        @numba.guvectorize(["void(float64[:,:], float64[:], float64[:])"], "(m,n),(n)->(m)", target="cuda")
        def matvec(a, x, y):
            for i in range(a.shape[0]):
                y[i] = 0.0
                for j in range(a.shape[1]):
                    y[i] += a[i, j] * x[j]

        assert product(np.arange(4.0), 3).tolist() == [0, 3, 6, 9]
        a, x = np.arange(24.0).reshape(2, 3, 4), np.arange(4.0)
        np.testing.assert_array_equal(matvec(a, x), a @ x)
    finally:
        cuda_module.uninstall()


def test_random_states_are_the_ones_that_numba_makes():
    """The first states and draws for seed 42, computed once by numba.cuda.random of Numba 0.68.1 in its simulator."""
    from autograder.simgpu.wider.random_numbers import initial_states

    states = initial_states(3, 42, 1)
    assert [tuple(map(int, s)) for s in states] == EXPECTED_STATES


# -- what is not supported says so --------------------------------------------------------------------------------


def unsupported_list(out):
    values = [i for i in range(3)]
    out[0] = values[0]


def unsupported_copy(out):
    out[0] = out.copy()[0]


def unsupported_shape(out):
    cuda.shared.array(out.shape[0], np.float32)


def shape_of_the_launch(out):
    cuda.shared.array(cuda.blockDim.x, np.float32)


def shape_of_the_launch_by_name(out):
    width = cuda.gridDim.x
    cuda.shared.array(width, np.float32)


def shared_array_of_pythons_float(out):
    cuda.shared.array(4, float)


def local_array_of_pythons_int(out):
    cuda.local.array(4, dtype=int)


def shared_array_of_pythons_bool_by_a_name(out):
    flags = bool
    cuda.shared.array(4, flags)


def shared_array_of_pythons_complex(out):
    cuda.shared.array(4, complex)


def shared_array_of_nothing_known(out):
    cuda.shared.array(4, "float23")


def shared_array_of_swapped_bytes(out):
    cuda.shared.array(4, ">f4")


def view_of_pythons_float(out):
    out[0] = out.view(float)[0]


def view_by_a_string(out):
    out[0] = out.view("f8")[0]


def shuffle_without_a_mask(out):
    out[0] = cuda.shfl_down_sync(out[1], 1)


def ballot_of_nothing(out):
    out[0] = cuda.ballot_sync()


def vote_without_a_mask(out):
    out[0] = cuda.all_sync(out[1] > 0)


def equal_vote_without_a_mask(out):
    out[0] = cuda.eq_sync(out[1] > 0)


def any_vote_with_too_much(out):
    out[0] = cuda.any_sync(0xFFFFFFFF, out[1] > 0, 1)


def match_without_a_mask(out):
    out[0] = cuda.match_any_sync(out[1])


def match_all_of_nothing(out):
    out[0] = cuda.match_all_sync()[0]


@pytest.mark.parametrize(
    "function, words",
    [
        (shuffle_without_a_mask, r"`cuda.shfl_down_sync` takes 3 arguments \(mask, value, delta\), but 2 are given"),
        (ballot_of_nothing, r"takes 2 arguments \(mask, predicate\), but 0 are given. Write cuda.ballot_sync\(mask, "),
        (vote_without_a_mask, "takes 2 arguments .*, but 1 is given"),
        (equal_vote_without_a_mask, "takes 2 arguments .*, but 1 is given"),
        (any_vote_with_too_much, "takes 2 arguments .*, but 3 are given"),
        (match_without_a_mask, r"`cuda.match_any_sync` takes 2 arguments \(mask, value\), but 1 is given"),
        (match_all_of_nothing, "takes 2 arguments .*, but 0 are given"),
        (unsupported_list, "no lists; use cuda.local.array"),
        (unsupported_copy, "makes none in a kernel by default. Use cuda.local.array"),
        (unsupported_shape, "must be a constant"),
        (shape_of_the_launch, "must be a constant; `cuda.blockDim.x` is not"),
        (shape_of_the_launch_by_name, "must be a constant; `width` is not"),
        (shared_array_of_pythons_float, "`float` is none to the GPU.s compiler. Write np.float32, or np.float64 for"),
        (local_array_of_pythons_int, "Python's `int` is none to the GPU's compiler. Write np.int32, or np.int64"),
        (shared_array_of_pythons_bool_by_a_name, "Python's `bool` is none to the GPU's compiler. Write np.bool_"),
        (shared_array_of_pythons_complex, "Python's `complex` is none to the GPU's compiler. Write np.complex64"),
        (shared_array_of_nothing_known, "The dtype that cuda.shared.array takes must be a type such as np.float32"),
        (shared_array_of_swapped_bytes, "must be a type such as np.float32"),
        (view_of_pythons_float, "must be a type such as np.float32; Python's `float`"),
        (view_by_a_string, "takes a type such as np.float32, and no string"),
    ],
)
def test_what_is_not_supported_says_so_with_the_line(function, words):
    with pytest.raises(Exception, match=words) as caught:
        cuda.jit(function)[1, 1](zeros())
    problem: Any = caught.value
    assert problem.line.number > function.__code__.co_firstlineno


@pytest.mark.parametrize("call", [lambda: cuda.compile_ptx(None, ()), lambda: cuda.jit(unsupported_copy).inspect_asm()])
def test_what_needs_a_compiler_says_so(call):
    with pytest.raises(KernelFault, match="real GPU"):
        call()


HALF = """
import numba
import numpy as np
from numba import cuda
{line}

@cuda.jit
def kernel(out):
    out[0] = {name}(1.5)
"""


@pytest.mark.parametrize(
    "line, name",
    [
        ("from numba import float16", "float16"),
        ("from numba.cuda import float16 as half", "half"),
        ("", "numba.float16"),
    ],
)
def test_numba_has_no_float16_and_numpy_has(line, name):
    def run(name):
        submission = submission_from_cells("kernel.py", [("kernel.py", HALF.format(line=line, name=name))], False)
        function = parse_program(submission).function("kernel")
        validate_kernel(function)
        out = np.zeros(1, np.float16)
        Session().launch(function, 1, 1, (out,))
        return out[0]

    with pytest.raises(KitError, match=r"`numba(\.cuda)?` has no `float16`.*Use np.float16"):
        run(name)
    assert run("np.float16") == 1.5


@pytest.mark.parametrize(("is_notebook", "what"), [(True, "run the cell"), (False, "Run the file")])
def test_what_python_cannot_read_is_to_be_run_where_it_stands(is_notebook: bool, what: str) -> None:
    submission = submission_from_cells("lab", [("lab", "x = (1\n")], is_notebook=is_notebook)
    with pytest.raises(SubmissionError, match=what):
        parse_program(submission).function("x")


def test_a_range_of_unsigned_numbers_gives_unsigned_ones_to_one_lane_and_to_many():
    @cuda.jit
    def one_below(first, above, counts, n):
        i = cuda.grid(1)
        for k in range(n):  # the same for all
            first[i] = k - np.uint32(1)
            break
        for k in range(np.uint32(0), counts[i], np.uint32(2)):  # as many as the lane says
            above[i] += k - np.uint32(1) > n

    for threads in (1, 32):
        first, above, counts = np.zeros(threads), np.zeros(threads), np.full(threads, 9, np.uint32)
        one_below[1, threads](first, above, counts, np.uint32(5))
        assert (first == 2.0**64).all()
        assert (above == 2).all()  # for 0, of which one below is the largest number, and 8
