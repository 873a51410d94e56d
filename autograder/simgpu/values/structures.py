"""Values of a type that a program gave to Numba (`register_model`): parts in registers, in the order of its data model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autograder.simgpu.values.values import Value


@dataclass(frozen=True, eq=False)
class Structure:
    """A value of a Numba type of somebody's own; `parts` as the type's data model has them."""

    type: Any  # numba.core.types.Type
    parts: tuple[Value, ...]

    @property
    def name(self) -> str:
        """The type's name, for messages."""
        return str(self.type)


@dataclass(frozen=True)
class Foreign:
    """A function or class of the program's own that Numba was told how to call: what LLVM code is built for."""

    function: Any
    type: Any  # what Numba's typing has for it

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return str(getattr(self.function, "__name__", self.function))


@dataclass(frozen=True, eq=False)
class Bound:
    """A method before it is called: what `@overload_method` or Numba's typing has for the owner's type."""

    owner: Value
    name: str
    method: Any  # language.overloads.Overloaded, or numba.core.types.BoundFunction
