"""`@cuda.jit` on the simulated GPU: what it makes of a function, signatures, and launches."""

from __future__ import annotations

import atexit
import functools
import math
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from autograder.errors import KernelFault, UsageError
from autograder.language.live import as_dtype, from_python
from autograder.language.program import Casts, Function, Kind, Options, reachable
from autograder.language.validate import validate_kernel
from autograder.records.hazards import Hazard, name_of
from autograder.simgpu.exceptions import Debug
from autograder.simgpu.host.device import Session
from autograder.simgpu.host.findings import Findings
from autograder.simgpu.host.launch_record import LaunchRecord, estimate_launch
from autograder.simgpu.values.array_checks import OtherType
from autograder.simgpu.values.arrays import DeviceArray, In, InOut, described_array
from autograder.simgpu.values.geometry import normalise
from autograder.simgpu.values.memory import SHADOW

MODEL = "H200"  # whose times events report
FORALL_THREADS = 256
LIVE_WORK_LIMIT = 50_000_000_000  # of one launch: a notebook can be interrupted, a graded run cannot


class LiveDevice:
    """The simulated GPU as a notebook or script sees it: one memory, launches in order, hazards told after each."""

    def __init__(self) -> None:
        self.begin()
        self.listeners: list[Callable[[LaunchRecord, Function, tuple[Any, ...]], None]] = []
        self.tell: Callable[[Sequence[Hazard]], None] = tell_on_stderr
        self.findings = Findings()
        self.counts_at_exit = False
        self.keeps_time = False  # from the first event on
        self.estimated_ns = 0.0  # of what was launched since then: the device's clock

    def begin(self) -> None:
        """A new session: empty memory."""
        self._session = Session(keep_records=False, work_limit=LIVE_WORK_LIMIT, knows_repeats=True)

    @property
    def session(self) -> Session:
        """The session; with shadow memory, or without where the environment says so by now."""
        wish = os.environ.get(SHADOW, "on")
        if wish not in ("on", "off"):
            raise UsageError(f"{SHADOW} is {wish!r}; it can be on or off.")
        self._session.checks_order = self._session.addresses.has_shadows = wish == "on"
        return self._session

    def launch(
        self, kernel: Function, configuration: tuple[Any, ...], arguments: tuple[Any, ...], debug: Debug | None = None
    ) -> LaunchRecord:
        grid, block, *rest = configuration
        shared = int(rest[1]) if len(rest) > 1 else 0
        for function in reachable(kernel):
            if function.kind != "host":
                validate_kernel(function)
        session = self.session
        session.work = 0
        session.wants_lines = bool(self.listeners)
        try:
            record = session.launch(kernel, grid, block, arguments, shared, debug)
        except BaseException:
            self.tell_of(session.last)  # what it had found by then
            raise
        if self.keeps_time:
            self.estimated_ns += estimate_launch(record, MODEL).ns
        for listener in self.listeners:
            listener(record, kernel, arguments)
        self.tell_of(record)
        return record

    def tell_of(self, record: LaunchRecord | None) -> None:
        """Tells the errors that a launch has found, those that no launch before it had."""
        new = self.findings.add(record.hazards) if record is not None else []
        serious = [hazard for hazard in new if hazard.severity == "error"]
        if serious:
            self.tell(serious)
        if record is not None and record.hazards and not self.counts_at_exit:
            self.counts_at_exit = True
            atexit.register(self.tell_counts)

    def tell_counts(self) -> None:
        """Tells in how many launches each error was that more than one had, and begins anew."""
        for sentence in self.findings.repeated() if self.tell is tell_on_stderr else ():
            print(f"simulated GPU: {sentence}", file=sys.stderr)
        self.findings.clear()


def tell_on_stderr(hazards: Sequence[Hazard]) -> None:
    for hazard in hazards:
        print(f"simulated GPU: {name_of(hazard.kind)}: {hazard}", file=sys.stderr)


device = LiveDevice()


@dataclass(frozen=True)
class TypedParameter:
    """One argument of an explicit signature: a scalar's dtype, an array's dtype and dimensions, or a pointer's dtype."""

    kind: str  # scalar, array, pointer or other
    dtype: np.dtype | None = None
    ndim: int = 0
    numba_type: Any = field(default=None, compare=False)

    def takes(self, value: Any, exactly: bool = True) -> bool:
        """Whether a launch may give `value` here: arrays must match, or be of numbers as well; scalars are converted."""
        if self.kind == "array":
            found = getattr(value, "dtype", None)
            if found is None or getattr(value, "ndim", 0) != self.ndim:
                return False
            return np.dtype(found) == self.dtype or not exactly and self.sees_otherwise(value)
        if self.kind == "scalar":
            return np.ndim(value) == 0 and not isinstance(value, (tuple, DeviceArray)) and value is not None
        return True

    def sees_otherwise(self, value: Any) -> bool:
        """Whether `value` is an array of numbers of another dtype than this one's."""
        found = getattr(value, "dtype", None)
        if self.kind != "array" or self.dtype is None or found is None or np.ndim(value) != self.ndim:
            return False
        both = self.dtype, np.dtype(found)
        return both[0] != both[1] and all(each.kind in "biufc" for each in both)

    def cost(self, value: Any) -> int:
        """How far a scalar is from this type; the signature with the smallest sum is taken."""
        if self.kind != "scalar" or self.dtype is None:
            return 0
        given = np.asarray(value).dtype
        if given == self.dtype:
            return 0
        return 1 if np.can_cast(given, self.dtype) else 2 if given.kind == self.dtype.kind else 3

    def convert(self, value: Any) -> Any:
        if self.dtype is None:
            return value
        if self.kind == "scalar" and not isinstance(value, (DeviceArray, np.ndarray, tuple)):
            if self.dtype.kind in "iu" and isinstance(value, (float, complex, np.inexact)):
                raise OtherType(
                    f"A parameter of type {self.dtype} is given {value!r:.40}: Numba takes no float for an integer.",
                    remedy="Write int(...), or another signature.",
                )
            if self.dtype.kind in "iu" and isinstance(value, int):
                return np.array(value % 2**64, np.uint64).astype(self.dtype)[()]  # wraps around, as C does
            return self.dtype.type(value)
        if self.kind == "pointer" and isinstance(value, (int, np.integer)):
            return device.session.addresses.view_at(int(value), self.dtype)
        return value


class NotConfigured(KernelFault, ValueError):
    """A kernel called without a grid and a block, or with something else in their place."""


class NotAKernel(KernelFault, RuntimeError):
    """A device function launched by the host."""


class Kernel:
    """What `@cuda.jit` makes of a function here: `kernel[grid, block](...)` runs it on the simulated GPU.

    Like Numba's it is fixed when it is first launched with arguments of some types: what its global names stand for
    then, they stand for in every later launch with such arguments.
    """

    def __init__(
        self,
        py_func: types.FunctionType,
        *,
        is_device: bool,
        options: dict[str, Any],
        signatures: list[tuple[TypedParameter, ...]] | None,
        is_specialized: bool = False,
    ) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        self.is_device = is_device
        self.options = options
        self.signatures = signatures
        self.is_specialized = is_specialized  # by one signature that stands alone: Numba then looks at no argument's type
        self._compiled: dict[Any, Function] = {}
        self._types: dict[Any, tuple[Any, ...]] = {}  # Numba's types of the arguments that it was compiled for

    def function_for(self, types_given: Any = None) -> Function:
        """The kernel as it was when it was first wanted for arguments of these types."""
        if types_given not in self._compiled:
            kind: Kind = "device" if self.is_device else "kernel"
            self._compiled[types_given] = from_python(
                self.py_func, kind, self.for_the_compiler, self.options.get("casts")
            )
        return self._compiled[types_given]

    @property
    def for_the_compiler(self) -> Options:
        return Options(self.options.get("max_registers"), bool(self.options.get("fastmath")))

    @property
    def __autograder_function__(self) -> Function:
        known = next(iter(self._compiled.values()), None)
        return known or self.function_for()

    def __getitem__(self, configuration: Any) -> ConfiguredKernel:
        if self.is_device:
            raise NotAKernel(
                f"Cannot compile a device function as a kernel: kernels call `{self.__name__}`, the host cannot launch it."
            )
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise NotConfigured(
                "A launch needs a grid and a block.", remedy=f"Write {self.__name__}[grid, block](...)."
            )
        normalise("grid", configuration[0])
        normalise("block", configuration[1])
        return ConfiguredKernel(self, configuration)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> ConfiguredKernel:
        return self[griddim, blockdim, stream, sharedmem]

    def __call__(self, *arguments: Any) -> None:
        if self.is_device:
            raise NotAKernel(f"`{self.__name__}` is a device function: only kernels can call it.")
        raise NotConfigured(
            f"`{self.__name__}` is a kernel, and its launch configuration was not specified: it needs a grid and a block.",
            remedy=f"Write {self.__name__}[grid, block](...).",
        )

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ConfiguredKernel:
        """A one-dimensional launch with at least `ntasks` threads (none at all for 0)."""
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        threads = tpb or FORALL_THREADS
        return ConfiguredKernel(self, (-(-int(ntasks) // threads), threads, stream, sharedmem), may_be_empty=True)

    def converted(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Scalars in the types of the explicit signature that fits best."""
        if not self.signatures:
            return arguments
        right_length = [each for each in self.signatures if len(each) == len(arguments)]
        if not right_length:
            raise KernelFault(
                f"`{self.__name__}` was compiled for {len(self.signatures[0])} arguments, but {len(arguments)} are given."
            )
        exactly = not self.is_specialized
        fitting = [
            each for each in right_length if all(p.takes(a, exactly) for p, a in zip(each, arguments, strict=True))
        ]
        if not fitting:
            shown = ", ".join(str(_type_of(a)) for a in arguments)
            raise OtherType(
                f"No matching definition for argument type(s) {shown}: `{self.__name__}` was compiled for "
                f"{' or '.join(_signature_text(each) for each in right_length)}.",
                remedy="Convert the arguments, or add a signature.",
            )
        best = min(fitting, key=lambda each: sum(p.cost(a) for p, a in zip(each, arguments, strict=True)))
        return tuple(p.convert(a) for p, a in zip(best, arguments, strict=True))

    def seen_as_compiled(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments whose arrays have the dtypes of the one signature that was given: what lies there, taken for those.

        Numba does not look at the types of what a kernel with one signature is launched with.
        """
        if not self.is_specialized or not self.signatures or len(self.signatures[0]) != len(arguments):
            return arguments
        return tuple(self.seen_as(*each) for each in zip(self.signatures[0], arguments, strict=True))

    def seen_as(self, parameter: TypedParameter, argument: Any) -> Any:
        array = argument.value if isinstance(argument, InOut) else argument
        dtype = parameter.dtype
        if dtype is None or not parameter.sees_otherwise(array):
            return argument
        warnings.warn(
            f"`{self.__name__}` was compiled for {parameter.numba_type} and is launched with {_type_of(array)}. Numba "
            f"does not look: the kernel takes the bytes that lie there for {dtype}.",
            stacklevel=5,
        )
        layout = getattr(parameter.numba_type, "layout", "A")
        if isinstance(array, DeviceArray):
            return array.taken_for(dtype, layout)
        lent = argument if isinstance(argument, InOut) else InOut(array)
        lent.seen = lambda device: device.taken_for(dtype, layout)
        return lent

    def specialize(self, *arguments: Any) -> Kernel:
        """One form of a kernel serves all types here."""
        return self

    @property
    def extensions(self) -> list[Any]:
        extensions: list[Any] = self.options.setdefault("extensions", [])
        return extensions

    def compile(self, signature: Any = None) -> Kernel:
        self.signatures = [*(self.signatures or []), *_signatures(signature)] or None
        return self

    @property
    def overloads(self) -> Overloads:
        """What the kernel was compiled for, by the tuple of its arguments' types, as in Numba."""
        return Overloads(self)

    def types_compiled_for(self) -> list[tuple[Any, ...]]:
        """Numba's types of the arguments: of each explicit signature, or of those that it was launched with so far."""
        if self.signatures:
            return [tuple(parameter.numba_type for parameter in each) for each in self.signatures]
        return list(dict.fromkeys(self._types.values()))

    def note_types(self, key: Any, arguments: tuple[Any, ...]) -> None:
        """Remembers that the kernel is launched with arguments of these types, of which `key` stands for the same."""
        if key not in self._types:
            self._types[key] = tuple(map(_type_of, arguments))

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("inspect_", "get_regs", "get_shared_mem", "get_const_mem", "get_local_mem", "get_max_")):
            raise KernelFault(
                f"`{name}` asks for compiled code, and the simulated GPU interprets kernels.",
                remedy="Use autograder.profile(kernel) to see what a kernel does, or a real GPU for its code.",
            )
        raise AttributeError(f"a kernel on the simulated GPU has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.py_func, self.is_device, self.options, self.signatures, self.is_specialized)


def _again(
    py_func: types.FunctionType,
    is_device: bool,
    options: dict[str, Any],
    signatures: list[tuple[TypedParameter, ...]] | None,
    is_specialized: bool,
) -> Kernel:
    return Kernel(
        py_func, is_device=is_device, options=options, signatures=signatures, is_specialized=is_specialized
    )


class NoSuchOverload(KernelFault, KeyError):
    """A kernel asked for what it was compiled for by types that it was not compiled for."""

    __str__ = KernelFault.__str__  # a KeyError shows its message in quotes


class Overloads(Mapping[Any, "Overload"]):
    """`kernel.overloads`: by the tuple of its arguments' types, what the kernel was compiled for."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __getitem__(self, types_given: Any) -> Overload:
        if types_given not in self._kernel.types_compiled_for():
            raise NoSuchOverload(
                f"`{self._kernel.__name__}` was not compiled for {types_given!r:.200}.",
                remedy="Launch it first, or decorate it with a signature; list(kernel.overloads) names what there is.",
            )
        return Overload(self._kernel, types_given)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._kernel.types_compiled_for())

    def __len__(self) -> int:
        return len(self._kernel.types_compiled_for())

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True)
class Overload:
    """A kernel compiled for arguments of some types: the simulated GPU has one form of it for all of them."""

    kernel: Kernel
    argument_types: tuple[Any, ...]

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks of so many threads are resident on all multiprocessors of an H200 at once.

        `blockdim`: a number or up to three; `dynsmemsize` in bytes. The kernel's registers are not known, and are left out
        unless it says their number. The simulated GPU itself takes any number of blocks.
        """
        from autograder.perfmodel import SPECIFICATIONS
        from autograder.perfmodel.occupancy import occupancy

        specification = SPECIFICATIONS[MODEL]
        threads = math.prod(normalise("block", blockdim))
        registers = self.kernel.options.get("max_registers") or 0
        return specification.multiprocessors * occupancy(specification, threads, dynsmemsize, registers).blocks

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself looks for, to copy an object for one
            raise AttributeError(name)
        return getattr(self.kernel, name)


class ConfiguredKernel:
    """A kernel with its grid and block, ready to be called."""

    def __init__(self, kernel: Kernel, configuration: tuple[Any, ...], may_be_empty: bool = False) -> None:
        self.kernel, self.configuration, self.may_be_empty = kernel, configuration, may_be_empty

    def __call__(self, *arguments: Any) -> None:
        if self.may_be_empty and self.configuration[0] == 0:
            return
        self.check_launch_bounds()
        for extension in reversed(self.kernel.options.get("extensions", ())):
            arguments = tuple(extension.prepare_args(None, a, stream=0, retr=[])[1] for a in arguments)
        arguments = self.kernel.seen_as_compiled(arguments)
        if self.kernel.is_specialized:  # Numba does not look whether the host may write to an array
            arguments = tuple(In(a) if isinstance(a, np.ndarray) and not a.flags.writeable else a for a in arguments)
        given = tuple(map(_on_device, arguments))
        given = self.kernel.converted(given)
        shown = tuple(map(_type_key, given))
        function = self.kernel.function_for(shown)
        self.kernel.note_types(shown, given)
        try:
            options = self.kernel.options
            debug = Debug(division=not options.get("fastmath")) if options.get("debug") else None
            record = device.launch(function, self.configuration, given, debug)
            if debug is not None and record.raised is not None:
                raise record.raised.as_exception()
        finally:
            for argument in arguments:
                if isinstance(argument, InOut):
                    argument.copy_back()

    def check_launch_bounds(self) -> None:
        """Refuses a block of more threads than `launch_bounds` promised the compiler."""
        bounds = self.kernel.options.get("launch_bounds")
        if bounds is None:
            return
        most = int(bounds[0] if isinstance(bounds, tuple) else bounds)
        x, y, z = normalise("block", self.configuration[1])
        if x * y * z > most:
            raise KernelFault(
                f"`{self.kernel.__name__}` was compiled with launch_bounds={bounds} and is launched with blocks of "
                f"{x * y * z:,} threads.",
                remedy="Use smaller blocks, or raise launch_bounds.",
            )


def _on_device(argument: Any) -> Any:
    """An argument as launches take it: `cuda.In(...)` copied over, another library's array found in device memory."""
    if isinstance(argument, InOut):
        return argument.to_device(device.session)
    if not isinstance(argument, (DeviceArray, np.ndarray)) and hasattr(argument, "__cuda_array_interface__"):
        return described_array(device.session.addresses, argument.__cuda_array_interface__)
    return argument


def _type_key(value: Any) -> str:
    """An argument's type, as the key of what it is compiled for."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return f"{dtype}[{getattr(value, 'ndim', 0)}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_type_key, value))})"
    return type(value).__name__


def _type_of(value: Any) -> Any:
    """Numba's type of an argument; a text in place of one that Numba has no type for."""
    from numba import typeof, types
    from numba.np.numpy_support import from_dtype

    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return types.BaseTuple.from_types(tuple(map(_type_of, value)))
    try:
        if isinstance(value, DeviceArray):
            layout: Literal["C", "F", "A"] = "C" if value.is_c_contiguous() else "F" if value.is_f_contiguous() else "A"
            return types.Array(from_dtype(value.dtype), value.ndim, layout)
        return typeof(value)
    except Exception:  # whatever Numba says of a value that it cannot take
        return _type_key(value)


def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:  # noqa: A002 (Numba's own name)
    """Numba's decorator: bare, with options, or with one or several signatures."""
    if isinstance(func_or_sig, Kernel):
        return func_or_sig
    func_or_sig = _without_numba(func_or_sig)
    if isinstance(func_or_sig, types.FunctionType):
        return Kernel(func_or_sig, is_device=device, options=options, signatures=None)
    signatures = _signatures(func_or_sig) if func_or_sig is not None and not device else None
    is_specialized = signatures is not None and not isinstance(func_or_sig, list)
    if device and func_or_sig is not None and not isinstance(func_or_sig, list):
        options["casts"] = _casts(func_or_sig)

    def decorate(function: types.FunctionType | Kernel) -> Kernel:
        return Kernel(
            _without_numba(function),
            is_device=device,
            options=options,
            signatures=signatures,
            is_specialized=is_specialized,
        )

    return decorate


def _signature_text(parameters: tuple[TypedParameter, ...]) -> str:
    return f"({', '.join(str(each.numba_type) for each in parameters)})"


def _without_numba(function: Any) -> Any:
    """The Python function of one that `numba.jit` or `cuda.jit` made something of."""
    inner = getattr(function, "py_func", None)
    return inner if isinstance(inner, types.FunctionType) else function


def _signatures(given: Any) -> list[tuple[TypedParameter, ...]]:
    """The parameters of each explicit signature."""
    return [_parameters(each) for each in (given if isinstance(given, list) else [given])]


def _parameters(signature: Any) -> tuple[TypedParameter, ...]:
    from numba.core import sigutils

    try:
        arguments, returned = sigutils.normalize_signature(signature)
    except Exception as error:
        raise KernelFault(f"The signature {signature!r:.80} cannot be read: {error}.") from None
    if returned is not None and str(returned) not in ("none", "void"):
        raise KernelFault("A kernel returns nothing: its signature must be void(...).")
    return tuple(replace(_parameter(each), numba_type=each) for each in arguments)


def _casts(signature: Any) -> Casts | None:
    """What the signature of a device function converts; a result that it does not name stays as it is."""
    from numba.core import sigutils

    try:
        arguments, returned = sigutils.normalize_signature(signature)
    except Exception:  # Numba has many classes for what it cannot read; such a function works without the casts
        return None
    wanted = [_parameter(each) for each in arguments]
    result = _parameter(returned) if returned is not None else None
    return Casts(
        tuple(each.dtype if each.kind == "scalar" else None for each in wanted),
        result.dtype if result is not None and result.kind == "scalar" else None,
    )


def _parameter(numba_type: Any) -> TypedParameter:
    kind = type(numba_type).__name__
    try:
        if kind == "Array":
            return TypedParameter("array", as_dtype(numba_type.dtype), numba_type.ndim)
        if kind == "CPointer":
            return TypedParameter("pointer", as_dtype(numba_type.dtype))
        dtype = as_dtype(numba_type)
    except Exception:  # a type without a dtype: a tuple, a record of Numba's own making
        return TypedParameter("other")
    return TypedParameter("scalar", dtype) if dtype.kind in "biufc" else TypedParameter("other", dtype)
