"""Limits of host code: how large its numbers and sequences may grow, what may index an array, and what may not change.

Host code is interpreted with Python's own numbers and lists. So each limit is checked before Python does anything: a
single operation on a nested list, a long range or a huge integer could take hours, or all memory.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autograder.errors import KernelFault
from autograder.language.program import Function, Reference

MOST_BITS = 4096  # of an integer
MOST_ITEMS = 100_000  # of a list, tuple or string, nested ones counted through
ITEMS_A_STEP = 16  # items that a library function works through in the time of one step
MOST_RETURNED = 64  # values in a tuple that a host function returns
MOST_RETURNED_BYTES = 2**22  # of all that it returns: a check looks at it, and the grader has to hold it
NUMBERS = "biufc"  # kinds of dtype that a result may have: truth values, whole, real and complex numbers
ITERABLE = (range, list, tuple, str, enumerate, zip, reversed, np.ndarray)


class FixedList(list[Any]):
    """A list made at module level: it stays as it was made, so that no call can leave something for the next."""

    def __setitem__(self, *_: Any) -> None:
        raise TypeError("a list made at module level stays as it is")

    __delitem__ = __setitem__


class HostMethod:
    """A method of a value, waiting to be called."""

    in_words = "a method that is not called"

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name


def fixed(value: Any) -> Any:
    """A module-level value that no function can change: iterators become tuples, arrays and records read-only."""
    weigh(value)
    if isinstance(value, HostMethod):  # what it belongs to could be changed through it
        raise KernelFault(f"`.{value.name}` cannot be kept at module level.", remedy="Call it where it is needed.")
    if isinstance(value, list):
        return FixedList(fixed(each) for each in value)
    if isinstance(value, tuple):
        return tuple(fixed(each) for each in value)
    if isinstance(value, (zip, enumerate, reversed)):
        return tuple(fixed(each) for each in to_list(value))
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    if isinstance(value, np.void):  # one record, which is a view of memory like an array
        whole = np.array(value)
        whole.flags.writeable = False
        value = whole[()]
    return value


def weigh(value: Any) -> int:
    """How many items a value holds; a nested list counts each time that it occurs. Raises a fault if there are too many."""
    if not isinstance(value, (list, tuple)):
        return 0
    count, stack = 0, [value]
    while stack:
        current = stack.pop()
        count += len(current)
        if count > MOST_ITEMS:
            raise KernelFault("This is too long for host code: work on many values belongs in a kernel.")
        stack.extend(each for each in current if isinstance(each, (list, tuple)))
    return count


def to_list(items: Iterable[Any] = ()) -> list[Any]:
    """The items of whatever can be looped over; a fault where they are too many."""
    found = list(itertools.islice(iter(items), MOST_ITEMS + 1))
    if len(found) > MOST_ITEMS:
        raise KernelFault("This is too long for host code: work on many values belongs in a kernel.")
    return found


def numbers(items: Iterable[Any]) -> list[Any]:
    """The items, all of them numbers or text: sums and products of whole arrays are a kernel's work."""
    found = to_list(items)
    for each in found:
        number(each)
    return found


def number(value: Any) -> Any:
    """The value, where it is a number, a truth value or text; a fault for arrays and lists."""
    if isinstance(value, (bool, int, float, complex, str, np.number, np.bool_)):
        return value
    raise KernelFault(
        f"Host code cannot compute with a {type(value).__name__}.", remedy="Arithmetic on arrays belongs in a kernel."
    )


def check_bits(value: Any) -> Any:
    """The value, unless it is an integer of too many digits, or could hold any other value and so keep it for later."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise KernelFault("This number is too large.")
    dtype = value if isinstance(value, np.dtype) else getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.hasobject:
        raise KernelFault(
            "Host code has no arrays of objects: each element is a number.",
            remedy="Give numbers of at most 64 bits, rows of one length, and a type such as np.int32.",
        )
    return value


def check_magnitude(op: ast.operator, left: Any, right: Any) -> None:
    """Refuses results that would fill the memory: huge powers, shifts and repeated sequences."""
    whole = isinstance(left, int) and isinstance(right, int)
    if isinstance(op, (ast.Pow, ast.LShift, ast.Mult)) and whole:
        if _bits_of_result(op, left, right) > MOST_BITS:
            raise KernelFault("This number is too large.")
    sequences = [each for each in (left, right) if isinstance(each, (str, tuple, list))]
    if not sequences:
        return
    if isinstance(op, ast.Mod):
        raise KernelFault("Host code cannot format strings with %.", remedy="Use an f-string.")
    if isinstance(op, ast.Mult):
        times = next((int(each) for each in (left, right) if isinstance(each, (int, np.integer))), None)
        if times is None:
            raise KernelFault("A sequence can only be repeated a whole number of times.")
        if len(sequences[0]) * max(0, times) > MOST_ITEMS:
            raise KernelFault("This sequence is too long.")
    elif len(sequences) < 2:
        raise KernelFault(
            f"Host code cannot compute with a {type(sequences[0]).__name__} and a number.",
            remedy="Arithmetic on arrays belongs in a kernel.",
        )
    elif sum(map(len, sequences)) > MOST_ITEMS:
        raise KernelFault("This sequence is too long.")


def _bits_of_result(op: ast.operator, left: int, right: int) -> int:
    """How many bits a power, a shift or a product has at most."""
    if isinstance(op, ast.Pow):
        return max(1, left.bit_length()) * right
    return left.bit_length() + (right if isinstance(op, ast.LShift) else right.bit_length())


def short(path: str) -> str:
    """A library name as people write it: np.float32, cuda.grid, max."""
    for module, as_written in (("builtins.", ""), ("numba.cuda.", "cuda."), ("numpy.", "np.")):
        path = as_written + path.removeprefix(module) if path.startswith(module) else path
    return path


def described(value: Any) -> str:
    """What a value is, in a sentence: "text", "the type np.float32", "a list"."""
    if isinstance(value, Function):
        return f"the {'kernel' if value.kind == 'kernel' else 'function'} `{value.name}`"
    if isinstance(value, Reference):
        kind = "type" if hasattr(value, "dtype") else "name"
        return f"the {kind} `{short(value.path)}`"
    if isinstance(value, (str, bytes)):
        return "text"
    if isinstance(value, np.dtype):
        return f"the type `{value}`"
    if isinstance(value, np.ndarray) and value.dtype.kind in "SU":
        return "an array of text"
    if hasattr(type(value), "in_words"):
        return str(type(value).in_words)
    if isinstance(value, int):
        return "a number of more than 64 bits"
    kind = type(value).__name__.lower().removeprefix("fixed")
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def without_insides(text: str) -> str:
    """Python's or NumPy's message, in which our stand-ins for library names are spelled as people write those names."""
    plain = re.sub(r"(?:Type)?Reference\(path='([\w.]+)'\)", lambda found: short(found[1]), text)
    return re.sub(r"<(?:\w+\.)*(\w+) object at 0x[0-9a-f]*>?", r"this \1", plain)


def holds(value: Any, is_one: Callable[[Any], bool]) -> bool:
    """Whether a value is such a one, or a list or tuple with one in it."""
    if isinstance(value, (list, tuple)):
        return any(holds(each, is_one) for each in value)
    return is_one(value)


def contains(container: Any, item: Any) -> bool:
    """`item in container`, without walking through what is only a recipe for numbers."""
    if isinstance(container, range):
        return isinstance(item, (int, np.integer)) and int(item) in container
    if isinstance(container, (str, list, tuple)):
        return item in container
    raise KernelFault(f"`in` cannot be used with a {type(container).__name__} here.")


def check_key(key: Any) -> None:
    """Refuses any index of an array but integers, slices, `...` and `None`: index arrays are a kernel's work."""
    for each in key if isinstance(key, tuple) else (key,):
        whole = isinstance(each, (int, np.integer)) and not isinstance(each, bool)
        if not (whole or each is None or each is Ellipsis or isinstance(each, slice)):
            raise KernelFault(f"Host code indexes arrays with integers and slices, not with a {type(each).__name__}.")


def handed_back(name: str, value: Any) -> Any:
    """What a host function of this name returned, where that is numbers, text or arrays of numbers; None for anything else.

    Raises `KernelFault` for arrays of something else, and for more than a check would look at.
    """
    values = value if isinstance(value, (list, tuple)) else [value]
    if len(values) > MOST_RETURNED:
        return None
    arrays = [each for each in values if isinstance(each, np.ndarray) or hasattr(type(each), "copy_to_host")]
    for each in arrays:
        if each.dtype.kind not in NUMBERS:
            raise KernelFault(f"`{name}` returns an array of {each.dtype!s:.60}.", remedy="Return an array of numbers.")
    size_bytes = sum(each.nbytes for each in arrays)
    if size_bytes > MOST_RETURNED_BYTES:
        raise KernelFault(
            f"`{name}` returns {size_bytes / 2**20:,.0f} MiB of arrays; at most {MOST_RETURNED_BYTES >> 20} are looked at.",
            remedy="Return what is asked for.",
        )
    if isinstance(value, (list, tuple)):
        return tuple(map(_single, value))
    return value if hasattr(type(value), "copy_to_host") else _single(value)


def _single(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value if value.dtype.kind in NUMBERS else None
    return value if isinstance(value, (bool, int, float, complex, str)) else None


def spread(value: Any) -> Iterator[Any]:
    """The items that `*value` stands for."""
    if not isinstance(value, ITERABLE):
        raise KernelFault(f"A {type(value).__name__} cannot be spread out with `*`.")
    return iter(to_list(value))
