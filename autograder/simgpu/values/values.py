"""What a value in a kernel can be: the types that the engine hands from expression to expression.

| type | what it is | how lanes differ |
|---|---|---|
| `Lanes` | a number for each lane | element by element |
| `Scalar` | one number that all lanes share | not at all |
| `View` | an array, or a part of one | by `offset`, `lengths` and `outside`, where those are lane vectors |
| `Record` | one element of a structured array | by its indices |
| `Items` | a tuple, with names or without | item by item |
| `Cut` | a slice or `...`, in an index | by its bounds |
| `Kept` | a range, a method or a function of the kernel's own, before it is used | by what it holds |
| `Extended` | values of types that a program gave to Numba, their methods and makers | part by part |
| `Known` | what was known before the launch: functions, library names, types, modules, texts, None | not at all |

This module holds names for types, and what asks for them. What it names is imported for type checkers alone, so that every
module of the engine can import this one.
"""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from autograder.language.live import EnumNames
    from autograder.language.numeric_types import TypeReference
    from autograder.language.overloads import Overloaded
    from autograder.language.program import Function, Namespace, Reference
    from autograder.simgpu.operations.callables import Closure, Enumerated, Method, Range, Zipped
    from autograder.simgpu.values.memory import View
    from autograder.simgpu.values.records import Record
    from autograder.simgpu.values.structures import Bound, Foreign, Structure

Lanes: TypeAlias = np.ndarray
"""A lane vector: one dimension, an element for each lane of the batch (padding lanes too), of the dtype that Numba gives
the value. What it holds in lanes that are not active means nothing. Never changed in place."""

Scalar: TypeAlias = np.generic
"""A number that all lanes share: of NumPy's class for its Numba type (`np.int64` for a literal 1), never Python's own."""

NUMBERS = (np.ndarray, np.generic)
"""For `isinstance`: a value by lane, or one that all lanes share."""

Number: TypeAlias = Lanes | Scalar
"""Whatever arithmetic takes; both have `dtype` and `astype`, and `isinstance(value, NUMBERS)` asks for it. Compute with
NumPy's functions (`np.add`): type checkers know no operators of a mere `np.generic`."""

Arithmetic: TypeAlias = Lanes | np.number[Any] | np.bool_
"""A `Number` that the library's functions compute with by operators: NumPy's classes of numbers have each their own. A date
or a time is one too where a function takes it, which the type does not say: what is done with it is written the same."""

Whole: TypeAlias = Lanes | np.integer[Any]
"""An integer that they compute with."""

Indices: TypeAlias = tuple[Number, ...]
"""Where an element lies in a view: an integer for each dimension, shared or by lane, as the kernel gave it (so it may be
negative, or outside)."""

AnyIndices: TypeAlias = "tuple[Number | Cut, ...]"
"""Indices with slices among them: of a part of an array."""

Items: TypeAlias = "tuple[Value, ...]"
"""A tuple, which a kernel has as many values, and none in memory; `variables.NamedItems` where its items have names too."""

Kept: TypeAlias = "Range | Enumerated | Zipped | Method | Closure"
"""What a kernel may keep in a variable before it is used: `range(n)`, `zip(a, b)`, `view.sum`, a function defined in it."""

Cut: TypeAlias = "slice | EllipsisType"
"""What stands for a part of an array in an index: `1:n`, `...`; the bounds of a slice are numbers or None."""

Known: TypeAlias = "Function | Overloaded | Reference | TypeReference | Namespace | EnumNames | str | bytes | None"
"""What is known before any lane runs. A `TypeReference` is a `Reference` to a numeric type, with its dtype."""

Extended: TypeAlias = "Structure | Foreign | Bound"
"""What a program has given to Numba: a value of a type of its own, and what can be called."""

Value: TypeAlias = "Number | View | Record | Items | Kept | Cut | Known | Extended"
"""Any value of an expression."""
