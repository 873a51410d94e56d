"""A worker's reply as data: one frame of JSON, and after it the raw bytes of arrays. It names nothing to import or to call.

What may stand where is known from the annotations of the records: they are read here, once for each type, and become a
coder with two ends. The worker's end writes a value down; the grader's end builds the same value of the same types, and
raises `Malformed` for anything else. Both ends are of one version of the package: a record is the list of its fields.

A frame: the length of all that follows, the length of the JSON (eight bytes each), the JSON, the arrays back to back. The
JSON is `[[dtype, shape, order] of each array, value]`; in the value an array is its number.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import math
import numbers
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import IO, Any, NamedTuple

import numpy as np

from autograder.errors import (
    BrokenDefinition,
    FaultKind,
    GraderFault,
    KernelFault,
    KitError,
    Line,
    NotCarriedOut,
    NotCounted,
    SubmissionError,
    TooSlow,
    Unforeseen,
    UsageError,
    WorkLimit,
    one_line,
)
from autograder.language.host_limits import NUMBERS
from autograder.perfmodel import Estimate
from autograder.records.counters import Counters
from autograder.records.runs import Launch

JSON_BYTES = 1 << 24  # of one frame: Python's own numbers and lists take twenty times as much
MOST_OF_AN_ERROR = 4_000  # characters of one of its sentences
# What a worker may say went wrong. A fault of the machine ends a whole class: that is for the grader alone to find.
_OF_AUTHORS = (KernelFault, NotCarriedOut, TooSlow, WorkLimit, BrokenDefinition, SubmissionError)
_OF_OURS = (NotCounted, Unforeseen, GraderFault, UsageError)
TOLD: dict[str, type[KitError]] = {each.__name__: each for each in (*_OF_AUTHORS, *_OF_OURS)}
# What records leave open, because they import nothing.
LEFT_OPEN: dict[tuple[type, str], Any] = {(Launch, "estimate"): Estimate | None}
DTYPE = re.compile(rf"[<>|=][{NUMBERS}]\d{{1,2}}")

Arrays = Sequence[np.ndarray]


class Malformed(ValueError):
    """A frame that is not what was asked for: whoever wrote it is not to be relied on."""


class TooMuch(ValueError):
    """A reply larger than what was asked for can be."""


class Coder(NamedTuple):
    """Both ends for one type: a value becomes JSON data with its arrays appended to a list, and both become the value."""

    write: Callable[[Any, list[np.ndarray]], Any]
    read: Callable[[Any, Arrays], Any]


# ---- frames --------------------------------------------------------------------------------------------


def write_frame(stream: IO[bytes], kind: Any, value: Any, most_bytes: int) -> None:
    """Writes a value of an annotated type as one frame. Raises `TooMuch` before anything is written, and `Malformed` for a
    value of another type."""
    arrays: list[np.ndarray] = []
    form = coder_of(kind).write(value, arrays)
    data = json.dumps([[_layout(each) for each in arrays], form], separators=(",", ":")).encode("ascii")
    if len(data) > JSON_BYTES:
        raise TooMuch(f"{len(data):,} bytes of counters, hazards and text, at most {JSON_BYTES:,} allowed")
    length = 8 + len(data) + sum(each.nbytes for each in arrays)
    if length > most_bytes:
        raise TooMuch(f"a message of {length:,} bytes, at most {most_bytes:,} allowed")
    stream.write(_in_bytes(length) + _in_bytes(len(data)) + data)
    for each in arrays:  # no array is copied into a message: it may be as large as all that a machine has left
        stream.write(_raw(each))
    stream.flush()


def read_frame(stream: IO[bytes], kind: Any, most_bytes: int) -> Any:
    """Reads a value of an annotated type. Raises `EOFError` where the other side has gone, and `Malformed`.

    No length is believed before it fits the whole, and no more memory is taken than the frame's own bytes.
    """
    length = _length(stream)
    if length > most_bytes:
        raise Malformed(f"a message of {length:,} bytes, at most {most_bytes:,} allowed")
    size = _length(stream) if length >= 8 else length
    if not 0 < size <= min(length - 8, JSON_BYTES):
        raise Malformed("lengths that do not fit")
    data = bytearray(size)
    fill(stream, memoryview(data))
    try:
        layouts, form = json.loads(data)
        empty = _empty_arrays(layouts, length - 8 - size)
        for each in empty:
            fill(stream, _raw(each))
        return coder_of(kind).read(form, empty)
    except EOFError:
        raise
    except (Malformed, MemoryError):
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as problem:
        raise Malformed(f"{type(problem).__name__}: {one_line(str(problem))}") from None


def _in_bytes(length: int) -> bytes:
    return length.to_bytes(8, "little")


def _length(stream: IO[bytes]) -> int:
    data = bytearray(8)
    fill(stream, memoryview(data))
    return int.from_bytes(data, "little")


def fill(stream: IO[bytes], view: memoryview) -> None:
    """Reads as many bytes as there is room for; raises `EOFError` where the other side has gone."""
    assert isinstance(stream, io.BufferedIOBase)
    done = 0
    while done < len(view):
        count = stream.readinto(view[done:])
        if not count:
            raise EOFError
        done += count


# ---- arrays --------------------------------------------------------------------------------------------


def _is_by_columns(array: np.ndarray) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def _layout(array: np.ndarray) -> list[Any]:
    return [array.dtype.str, list(array.shape), "F" if _is_by_columns(array) else "C"]


def _raw(array: np.ndarray) -> memoryview:
    """The bytes of an array as they lie in memory; of one with gaps, of a copy."""
    whole = np.ascontiguousarray(array.T if _is_by_columns(array) else array)
    return whole.reshape(-1).view(np.uint8).data


def _empty_arrays(layouts: Any, size_bytes: int) -> list[np.ndarray]:
    """Arrays of these layouts, which take so many bytes together; raises `Malformed` where they do not."""
    asked = []
    for dtype, shape, order in layouts:
        if not DTYPE.fullmatch(dtype) or order not in ("C", "F") or not all(type(n) is int and n >= 0 for n in shape):
            raise Malformed("an array of no numbers")
        asked.append((np.dtype(dtype), tuple(shape), order))
    if sum(math.prod(shape) * dtype.itemsize for dtype, shape, _ in asked) != size_bytes:
        raise Malformed("lengths that do not fit")
    return [np.empty(shape, dtype, order) for dtype, shape, order in asked]


def _write_array(value: Any, arrays: list[np.ndarray]) -> int:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in NUMBERS:
        raise Malformed(f"{_named(value)} in place of an array of numbers")
    arrays.append(value)
    return len(arrays) - 1


def _read_array(form: Any, arrays: Arrays) -> np.ndarray:
    if type(form) is not int or not 0 <= form < len(arrays):
        raise Malformed("no array of that number")
    return arrays[form]


# ---- values of no declared type: what a function returned, and notes -----------------------------------


def _write_any(value: Any, arrays: list[np.ndarray]) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.ndarray):
        return ["array", _write_array(value, arrays)]
    if isinstance(value, np.generic):
        return ["scalar", _write_array(np.asarray(value), arrays)]
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, (tuple, list)):
        return ["tuple", [_write_any(each, arrays) for each in value]]
    raise Malformed(f"{_named(value)} in an answer")


def _read_any(form: Any, arrays: Arrays) -> Any:
    if form is None or type(form) in (bool, int, float, str):
        return form
    what, *parts = form
    if what == "array" and len(parts) == 1:
        return _read_array(parts[0], arrays)
    if what == "scalar" and len(parts) == 1:
        array = _read_array(parts[0], arrays)
        if array.ndim == 0:
            return array[()]
    if what == "complex" and len(parts) == 2:
        return complex(_read_float(parts[0], arrays), _read_float(parts[1], arrays))
    if what == "tuple" and len(parts) == 1 and isinstance(parts[0], list):
        return tuple(_read_any(each, arrays) for each in parts[0])
    raise Malformed("a value of no known form")


# ---- values of a declared type -------------------------------------------------------------------------


def _named(value: Any) -> str:
    return type(value).__name__


def _expected(kind: type) -> Coder:
    """For what JSON has itself: truth values and text."""

    def same(form: Any, _: Any) -> Any:
        if type(form) is not kind:
            raise Malformed(f"{_named(form)} in place of {kind.__name__}")
        return form

    return Coder(same, same)


def _write_int(value: Any, _: list[np.ndarray]) -> int:
    return index(value)


def _read_int(form: Any, _: Arrays) -> int:
    if type(form) is not int:
        raise Malformed(f"{_named(form)} in place of a whole number")
    return form


def _write_float(value: Any, _: list[np.ndarray]) -> float:
    if not isinstance(value, numbers.Real):
        raise Malformed(f"{_named(value)} in place of a number")
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _read_float(form: Any, _: Arrays) -> float:
    if type(form) not in (int, float):
        raise Malformed(f"{_named(form)} in place of a number")
    number: float = form
    return number


NUMBER_OF_COUNTERS = len(dataclasses.fields(Counters))


def _write_counters(value: Any, _: list[np.ndarray]) -> list[int]:
    if not isinstance(value, Counters):
        raise Malformed(f"{_named(value)} in place of Counters")
    return [*map(index, value.__dict__.values())]


def _read_counters(form: Any, _: Arrays) -> Counters:
    if type(form) is not list or len(form) != NUMBER_OF_COUNTERS or set(map(type, form)) != {int}:
        raise Malformed("counters that are none")
    return Counters.of(form)


def _of_record(kind: type) -> Coder:
    """A frozen record as the list of its fields' values, in their order."""
    hints = typing.get_type_hints(kind)
    names = [each.name for each in dataclasses.fields(kind)]
    coders = [coder_of(LEFT_OPEN.get((kind, name), hints[name])) for name in names]
    fields = list(zip(names, coders, strict=True))

    def write(value: Any, arrays: list[np.ndarray]) -> list[Any]:
        if not isinstance(value, kind):
            raise Malformed(f"{_named(value)} in place of {kind.__name__}")
        return [coder.write(getattr(value, name), arrays) for name, coder in fields]

    def read(form: Any, arrays: Arrays) -> Any:
        if type(form) is not list or len(form) != len(coders):
            raise Malformed(f"no {kind.__name__}")
        return kind(*[coder.read(each, arrays) for coder, each in zip(coders, form, strict=True)])

    return Coder(write, read)


def _of_error(kind: type[KitError]) -> Coder:
    """An error by the name of its class, or of the nearest one that a worker may raise, its sentences, and of which
    definition or which kind it is."""
    line, fault_kind = coder_of(Line | None), coder_of(FaultKind)

    def write(value: Any, arrays: list[np.ndarray]) -> list[Any]:
        if not isinstance(value, kind):
            raise Malformed(f"{_named(value)} in place of an error")
        name = next((each.__name__ for each in type(value).__mro__ if TOLD.get(each.__name__) is each), "Unforeseen")
        about = value.name if isinstance(value, BrokenDefinition) else value.kind if isinstance(value, KernelFault) else ""
        sentences = [each[:MOST_OF_AN_ERROR] for each in (value.message, value.remedy, about)]
        return [name, line.write(value.line, arrays), *sentences]

    def read(form: Any, arrays: Arrays) -> KitError:
        name, where, *sentences = form
        told = TOLD.get(name)
        if told is None or not issubclass(told, kind) or len(sentences) != 3:
            raise Malformed("an error that no worker raises")
        if not all(type(each) is str and len(each) <= MOST_OF_AN_ERROR for each in sentences):
            raise Malformed("an error of no sentences")
        message, remedy, about = sentences
        if told is BrokenDefinition:
            return BrokenDefinition(message, name=about, line=line.read(where, arrays), remedy=remedy)
        if issubclass(told, KernelFault):
            return told(message, line=line.read(where, arrays), remedy=remedy, kind=fault_kind.read(about, arrays))
        return told(message, line=line.read(where, arrays), remedy=remedy)

    return Coder(write, read)


def _of_sequence(each_kind: Any) -> Coder:
    each = coder_of(each_kind)

    def write(value: Any, arrays: list[np.ndarray]) -> list[Any]:
        if not isinstance(value, (tuple, list)):
            raise Malformed(f"{_named(value)} in place of a sequence")
        return [each.write(one, arrays) for one in value]

    def read(form: Any, arrays: Arrays) -> tuple[Any, ...]:
        if type(form) is not list:
            raise Malformed(f"{_named(form)} in place of a sequence")
        return tuple(each.read(one, arrays) for one in form)

    return Coder(write, read)


def _of_tuple(kinds: Sequence[Any]) -> Coder:
    """A tuple whose places each have a type."""
    coders = [coder_of(each) for each in kinds]

    def write(value: Any, arrays: list[np.ndarray]) -> list[Any]:
        return [coder.write(one, arrays) for coder, one in zip(coders, value, strict=True)]

    def read(form: Any, arrays: Arrays) -> tuple[Any, ...]:
        if type(form) is not list:
            raise Malformed(f"{_named(form)} in place of a tuple")
        return tuple(coder.read(one, arrays) for coder, one in zip(coders, form, strict=True))

    return Coder(write, read)


def _of_mapping(value_kind: Any) -> Coder:
    """A mapping by text."""
    each = coder_of(value_kind)

    def write(value: Any, arrays: list[np.ndarray]) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(type(key) is str for key in value):
            raise Malformed(f"{_named(value)} in place of a mapping by text")
        return {key: each.write(one, arrays) for key, one in value.items()}

    def read(form: Any, arrays: Arrays) -> dict[str, Any]:
        if type(form) is not dict:
            raise Malformed(f"{_named(form)} in place of a mapping")
        return {key: each.read(one, arrays) for key, one in form.items()}

    return Coder(write, read)


def _of_choice(choices: Sequence[Any]) -> Coder:
    def same(form: Any, _: Any) -> Any:
        if form not in choices:
            raise Malformed(f"none of {', '.join(map(repr, choices))}")
        return form

    return Coder(same, same)


def _or_none(kind: Any) -> Coder:
    coder = coder_of(kind)
    return Coder(
        lambda value, arrays: None if value is None else coder.write(value, arrays),
        lambda form, arrays: None if form is None else coder.read(form, arrays),
    )


SIMPLE: dict[Any, Coder] = {
    Any: Coder(_write_any, _read_any), int: Coder(_write_int, _read_int), float: Coder(_write_float, _read_float),
    bool: _expected(bool), str: _expected(str), np.ndarray: Coder(_write_array, _read_array),
    Counters: Coder(_write_counters, _read_counters), type(None): _expected(type(None)),
}  # fmt: skip


@functools.cache
def coder_of(kind: Any) -> Coder:
    """The coder of an annotated type; raises TypeError for one that no answer holds."""
    if kind in SIMPLE:
        return SIMPLE[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType) and len(arguments) == 2 and arguments[1] is type(None):
        return _or_none(arguments[0])
    if origin is typing.Literal:
        return _of_choice(arguments)
    if origin is tuple and arguments[1:] != (Ellipsis,):
        return _of_tuple(arguments)
    if origin in (tuple, Sequence):
        return _of_sequence(arguments[0])
    if origin is Mapping and arguments[0] is str:
        return _of_mapping(arguments[1])
    if isinstance(kind, type) and issubclass(kind, KitError):
        return _of_error(kind)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _of_record(kind)
    raise TypeError(f"no answer holds {kind}")
