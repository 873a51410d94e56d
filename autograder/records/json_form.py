"""A `Result` as JSON and back again, exactly: `from_dict(to_dict(result)) == result`.

Strict JSON has no NaN, no infinity and no complex numbers, so these are written `{"$float": "nan"}` and
`{"$complex": [0.0, 1.0]}`; a mapping's own key that begins with `$` gets a second one. Sequences come back as tuples
and NumPy scalars as Python numbers: a result is frozen data.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import numbers
import os
import types
import typing
from collections.abc import Mapping
from typing import Any

from autograder.errors import UsageError
from autograder.records.counters import Counters
from autograder.records.files import write_atomically
from autograder.records.results import Result
from autograder.records.versions import VERSION, upgraded

_DERIVED = ("points", "bonus_points", "max_points", "outcome")  # for scripts; computed again on reading


def to_dict(result: Result) -> dict[str, Any]:
    """`result` as plain JSON data, without the counters that are zero; raises TypeError for what JSON cannot hold."""
    form = {"version": VERSION, **{name: _as_json(getattr(result, name)) for name in _DERIVED}}
    plain: dict[str, Any] = _as_json(result)
    return form | plain


def from_dict(form: Mapping[str, Any]) -> Result:
    """The `Result` that `to_dict` wrote, today or in an older version; raises `UsageError` for anything else."""
    if not isinstance(form, Mapping) or "version" not in form:
        raise UsageError("this is not a result: it has no version.", remedy="Grade the submission again.")
    form = upgraded(form)
    try:
        result: Result = _build(
            Result, {key: value for key, value in form.items() if key not in ("version", *_DERIVED)}
        )
        return result
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"this is not a result: {error}.", remedy="Grade the submission again.") from error


def to_text(result: Result) -> str:
    """`result` as a JSON document, ASCII only so that any text a student wrote survives."""
    return json.dumps(to_dict(result), indent=1, allow_nan=False) + "\n"


def from_text(text: str) -> Result:
    """The `Result` in a JSON document; raises `UsageError` where there is none."""
    try:
        form = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"this is not a result: {error}.", remedy="Grade the submission again.") from error
    return from_dict(form)


def write_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Writes `result` to `path` whole or not at all."""
    write_atomically(path, to_text(result))


def _as_json(value: Any) -> Any:
    """`value` as JSON data: dataclasses and mappings to objects, sequences to arrays, numbers to Python's."""
    if hasattr(value, "tolist"):  # a NumPy scalar or array
        value = value.tolist()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else {"$float": repr(number)}
    if isinstance(value, numbers.Complex):
        return {"$complex": [_as_json(value.real), _as_json(value.imag)]}
    if isinstance(value, Counters):
        return {name: count for name, count in _fields_of(value).items() if count}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields_of(value)
    if isinstance(value, Mapping):
        return {_escaped(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_as_json(each) for each in value]
    raise TypeError(f"a result cannot hold a {type(value).__name__}: {value!r}")


def _fields_of(value: Any) -> dict[str, Any]:
    return {each.name: _as_json(getattr(value, each.name)) for each in dataclasses.fields(value)}


def _escaped(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a result's mapping needs text for keys, not {key!r}")
    return f"${key}" if key.startswith("$") else key


def _build(kind: Any, value: Any) -> Any:
    """`value` as the annotated type `kind`."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        if unknown := set(value) - set(hints):
            raise ValueError(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
        return kind(**{name: _build(hints[name], each) for name, each in value.items()})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _build(next(each for each in arguments if each is not type(None)), value)
    if origin is tuple:
        return tuple(_build(arguments[0] if Ellipsis in arguments else Any, each) for each in value)
    if origin is typing.Literal:
        if value not in arguments:
            raise ValueError(f"{value!r} is none of {', '.join(map(repr, arguments))}")
        return value
    if kind in (str, bool) and not isinstance(value, kind):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    value = _free(value)
    if kind in (int, float, complex) and not isinstance(value, numbers.Complex if kind is complex else numbers.Real):
        raise TypeError(f"{value!r} is not a number")
    return value


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _free(value: Any) -> Any:
    """JSON data of no declared shape: arrays to tuples, `$float` to the number it names."""
    if isinstance(value, list):
        return tuple(_free(each) for each in value)
    if isinstance(value, Mapping):
        if set(value) == {"$float"}:
            return float(value["$float"])
        if set(value) == {"$complex"}:
            return complex(*(_free(part) for part in value["$complex"]))
        return {key[1:] if key.startswith("$$") else key: _free(each) for key, each in value.items()}
    return value
