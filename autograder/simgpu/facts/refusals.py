"""Refuses, before a kernel runs, what Numba refuses to compile, on every path, whether a thread takes it or not.

Numba infers the type of everything in a kernel, so a mistake counts even in a branch that no thread takes. Each rule here
concludes only from kinds that are surely known. What the compiler may drop because a condition is decided early
(`if DEBUG:`) is not checked.

START HERE: `Refusals.check`; the oracle is tests/test_simgpu_oracle.py.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping, Sequence

from autograder.language import overloads
from autograder.language.numeric_types import TypeReference
from autograder.language.program import Function, Reference, wrong_number
from autograder.simgpu.facts.call_checks import check_call, standing_for
from autograder.simgpu.facts.found import Found
from autograder.simgpu.facts.known import (
    Conflicting,
    Inner,
    Known,
    KnownArray,
    KnownName,
    KnownNumber,
    KnownTuple,
    Unknown,
    conflict,
)
from autograder.simgpu.facts.library import OfArray
from autograder.simgpu.facts.pruning import may_be_decided
from autograder.simgpu.operations.arithmetic import SYMBOLS
from autograder.simgpu.operations.expressions import Constant, Local
from autograder.simgpu.operations.function_calls import FunctionCall, Unpacked, check_names
from autograder.simgpu.operations.indexing import Attribute, Slice, Subscript, no_such_name
from autograder.simgpu.operations.loops import For, While
from autograder.simgpu.operations.number_values import number
from autograder.simgpu.operations.operation import Operation
from autograder.simgpu.operations.operators import Binary, Compare, Junction, Selection, Unary
from autograder.simgpu.operations.registry import METHODS
from autograder.simgpu.operations.statements import (
    Assign,
    Definition,
    Element,
    Nameless,
    Nothing,
    Raise,
    Return,
    UpdateElement,
    UpdateName,
)
from autograder.simgpu.operations.steps import Expression
from autograder.simgpu.operations.structured import FUNCTIONS
from autograder.simgpu.values import numba_types as nt
from autograder.simgpu.values.memory import View, cannot_be_written

ONE_TYPE = "Numba needs one type."
NOTHING_KNOWN = Unknown()
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_NUMBERS = "biufc"
_UNROLLING = ("numba.literal_unroll", "numba.cuda.literal_unroll")


class Refusals:
    """Checks a kernel's operations; raises a `KernelFault` at the first for which Numba has no type."""

    def __init__(self, found: Found, kernel: Function, views: Mapping[Hashable, View]) -> None:
        """`views`: the arrays that the kernel is given, by identity, for messages."""
        self.found = found
        self.kernel = kernel
        self.views = views

    def value_of(self, op: Operation | None) -> Known:
        """What the analysis found about a value."""
        return NOTHING_KNOWN if op is None else self.found.values.get(op, NOTHING_KNOWN)

    def check(self, op: Operation) -> None:
        """Checks an operation, and before it the operations that it consists of."""
        if op in self.found.dropped:
            return
        for each in self._parts(op):
            self.check(each)
        if isinstance(op, FunctionCall):
            for body in op.bodies.values():
                self.check(body.body)
        self._check(op)
        if isinstance(op, For):
            self.check(op.body)
            self.check(op.orelse)

    def _parts(self, op: Operation) -> Sequence[Operation]:
        """The operations that one consists of, without those that the compiler may drop."""
        if isinstance(op, Selection) and may_be_decided(op.condition, self.found):
            return [op.condition]
        if (
            isinstance(op, While)
            and may_be_decided(op.condition, self.found)
            and not _is_true(self.value_of(op.condition))
        ):
            return [op.condition]
        if isinstance(op, Junction) and any(may_be_decided(each, self.found) for each in op.operands[:-1]):
            return [op.operands[0]]
        if isinstance(op, Attribute) and isinstance(op.owner, Attribute) and isinstance(self.value_of(op.owner), KnownName):
            return []  # `cuda.threadIdx.x` is checked as a whole
        if isinstance(op, Assign):
            return [op.operand, *op.targets]
        return [op.source, op.target] if isinstance(op, For) else list(op.parts())

    def _check(self, op: Operation) -> None:
        match op:
            case Local():
                self._variable(op)
            case Constant():
                self._constant(op)
            case Selection() | Junction():
                self._sides(op)
            case Binary():
                self._operands(op, op.kind, self.value_of(op.left), self.value_of(op.right))
            case Unary():
                self._operand(op)
            case Compare():
                self._order(op)
            case UpdateName():
                self._update(op, op.kind, self.value_of(op.read), self.value_of(op.operand))
            case UpdateElement():
                if isinstance(op.reached, Subscript):
                    self._is_to_be_written(op, op.reached)
                self._update(op, op.kind, self._element(op.reached), self.value_of(op.operand))
            case Assign():
                self._assignment(op)
            case Subscript():
                self._subscript(op)
            case Attribute():
                self._attribute(op)
            case FunctionCall():
                self._call(op)
            case For():
                self._loop(op)
            case Return():
                self._returned(op)
            case Definition() | Nameless():
                self._definition(op)
            case Raise() | Nothing():
                self._raised(op)

    # -- names ----------------------------------------------------------------------------------------------------

    def _variable(self, op: Local) -> None:
        if isinstance(self.value_of(op), Conflicting):
            raise op.fault(f"`{op.name}` holds different kinds of thing on different paths.", ONE_TYPE)

    def _constant(self, op: Constant) -> None:
        if isinstance(op.constant, Function) and op.constant.kind == "host":
            raise op.fault(
                f"`{op.constant.name}` is an ordinary Python function; a kernel can only call device functions.",
                "Decorate it with @cuda.jit(device=True).",
            )

    def _attribute(self, op: Attribute) -> None:
        if overloads.has_member(op.name):
            return
        owner = self.value_of(op.owner)
        if isinstance(owner, KnownName) and isinstance(owner.value, TypeReference):
            if op.name != "type":
                raise op.fault(f"A type in a kernel has no `.{op.name}`.", "Its name alone stands for it.")
        elif isinstance(owner, KnownName) and isinstance(owner.value, Reference):
            no_such_name(op, f"{owner.value.path}.{op.name}")
        elif isinstance(self.value_of(op), KnownName) and isinstance(owner, KnownArray):
            method = self.value_of(op)
            if isinstance(method, KnownName) and isinstance(method.value, OfArray) and op.name not in METHODS | _ATTRIBUTES:
                raise op.fault(
                    f"Arrays in a kernel have no `.{op.name}`.", "Available: shape, size, ndim, dtype, strides, T."
                )
        elif _is_number(owner) and op.name not in ("real", "imag", "conjugate", "bit_count"):
            raise op.fault(f"`{op.text}` has no meaning in a kernel.")

    def _definition(self, op: Definition | Nameless) -> None:
        if isinstance(op, Definition) and op in self.found.early:
            name = self.found.early[op]
            what = "calls itself" if name == op.inner.name else f"reads `{name}`, which is assigned after it"
            raise op.fault(
                f"`{op.inner.name}` {what}: Numba has none of that in a function inside a kernel.",
                "Write a device function with @cuda.jit(device=True) above the kernel, and pass what it needs.",
            )

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def _sides(self, op: Selection | Junction) -> None:
        sides = [op.yes, op.no] if isinstance(op, Selection) else list(op.operands)
        conditions = [op.condition] if isinstance(op, Selection) else op.operands[:-1]
        first = self.value_of(sides[0])
        if any(may_be_decided(each, self.found) for each in conditions):
            return
        if any(conflict(first, self.value_of(each)) for each in sides[1:]):
            raise op.fault("The two sides are different kinds of thing.", ONE_TYPE)

    def _operands(self, op: Operation, kind: type[ast.operator], left: Known, right: Known) -> None:
        if overloads.of_library(f"operator.{FUNCTIONS[kind].__name__}") is not None:
            return
        if _is_number(left) and _is_number(right):
            self._types(op, kind, left, right)
        elif isinstance(left, KnownArray) and _is_sure(right) or isinstance(right, KnownArray) and _is_sure(left):
            array = left if isinstance(left, KnownArray) else right
            assert isinstance(array, KnownArray)
            if not array.dtype.fields:
                shown = standing_for(array, self._name_of(op, array), self.views)
                if isinstance(shown, View):
                    number(shown, op)
                raise op.fault(
                    f"Numba has no `{SYMBOLS[kind]}` for a part of an array in a kernel; arithmetic needs one element.",
                    "Index it, for example with the thread's position.",
                )
        elif isinstance(left, KnownTuple) and _is_number(right) or isinstance(right, KnownTuple) and _is_number(left):
            raise op.fault("A tuple is not a number.")

    def _name_of(self, op: Operation, array: KnownArray) -> str:
        """The name in messages of an operand that is an array."""
        sides = (
            [op.left, op.right]
            if isinstance(op, Binary)
            else [op.operand]
            if isinstance(op, (UpdateName, UpdateElement))
            else []
        )
        return next((each.text for each in sides if self.value_of(each) == array), "this")

    def _types(self, op: Operation, kind: type[ast.operator], left: Known, right: Known) -> None:
        assert isinstance(left, KnownNumber) and isinstance(right, KnownNumber)
        assert left.dtype is not None and right.dtype is not None
        try:
            nt.operator_types(kind, left.dtype, right.dtype)
        except (TypeError, KeyError):
            raise op.fault(f"Numba has no `{SYMBOLS[kind]}` for {left.dtype} and {right.dtype} in a kernel.") from None

    def _update(self, op: Operation, kind: type[ast.operator], left: Known, right: Known) -> None:
        if isinstance(left, (KnownTuple, KnownArray)) and not (isinstance(left, KnownArray) and left.dtype.fields):
            what = "a tuple" if isinstance(left, KnownTuple) else "a whole array or a part of one"
            raise op.fault(
                f"Numba has no `{SYMBOLS[kind]}=` for {what} in a kernel.",
                "Write v = v + w." if isinstance(left, KnownTuple) else "Index one element of it.",
            )
        self._operands(op, kind, left, right)

    def _operand(self, op: Unary) -> None:
        operand = self.value_of(op.operand)
        if isinstance(operand, KnownTuple):
            sign = {ast.Not: "not", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[op.kind]
            raise op.fault(f"Numba has no `{sign}` for a tuple.", "Write len(t) == 0." if op.kind is ast.Not else "")
        if (
            op.kind is ast.Invert
            and isinstance(operand, KnownNumber)
            and operand.dtype is not None
            and operand.dtype.kind in "fc"
        ):
            raise op.fault(f"`~` needs an integer, not {operand.dtype}.")

    def _order(self, op: Compare) -> None:
        sides = [self.value_of(each) for each in (op.left, *op.others)]
        for kind, left, right in zip(op.kinds, sides, sides[1:], strict=False):
            if kind in (ast.In, ast.NotIn) and isinstance(right, KnownTuple) and not _are_alike(right.items):
                raise op.fault(
                    "The items of this tuple are different kinds of thing.", "Compare with each of them instead."
                )
            if kind not in _ORDERS or not (_is_sure(left) and _is_sure(right)):
                continue
            if any(
                isinstance(each, KnownNumber) and each.dtype is not None and each.dtype.kind == "c" for each in (left, right)
            ):
                raise op.fault("Complex numbers have no order.", "Compare their .real, their .imag, or abs() of them.")
            if isinstance(left, KnownTuple) != isinstance(right, KnownTuple):
                raise op.fault("A tuple is not a number.")

    # -- arrays and tuples ----------------------------------------------------------------------------------------

    def _element(self, reached: Subscript | Attribute) -> Known:
        """The element that an update reads before it writes."""
        place = self.found.reached.get(reached)
        if place is None or place.array.dtype.fields or not isinstance(reached, Subscript):
            return NOTHING_KNOWN
        has_slice = any(isinstance(each, Slice) for each in reached.indices)
        whole = len(place.array.prefix) + place.array.ndim
        if has_slice or None not in place.indices and len(place.indices) < whole:
            return place.array
        return NOTHING_KNOWN

    def _assignment(self, op: Assign) -> None:
        value = self.value_of(op.operand)
        for target in op.targets:
            if isinstance(target, Element) and isinstance(target.reached, Subscript):
                self._is_to_be_written(target, target.reached)
                self._stored(target, target.reached, value)

    def _is_to_be_written(self, op: Operation, reached: Subscript) -> None:
        """Refuses a store to an array that the host may only read: to Numba, that is a type of its own."""
        place = self.found.reached.get(reached)
        view = None if place is None else self.views.get(place.array.identity)
        if view is not None and view.read_only and not view.dtype.fields:
            raise op.fault(*cannot_be_written(view))

    def _stored(self, op: Operation, reached: Subscript, value: Known) -> None:
        place = self.found.reached.get(reached)
        if place is None or place.array.dtype.fields or place.array.dtype.kind not in _NUMBERS:
            return
        name = reached.owner.text
        if isinstance(self._element(reached), KnownArray):
            if isinstance(value, KnownArray):
                raise op.fault(
                    "Numba cannot copy one array, or a part of one, into another in a kernel.",
                    "Write a loop that copies element by element.",
                )
        elif None not in place.indices and len(place.indices) == len(place.array.prefix) + place.array.ndim:
            if isinstance(value, (KnownTuple, KnownArray)) and not (isinstance(value, KnownArray) and value.dtype.fields):
                raise op.fault(f"Only one number can be stored in an element of `{name}`.")
            if isinstance(value, KnownNumber) and value.dtype is not None and value.dtype.kind == "c":
                if place.array.dtype.kind not in "cb":
                    raise op.fault(f"A complex value cannot be stored in `{name}` ({place.array.dtype}).")

    def _subscript(self, op: Subscript) -> None:
        owner = self.value_of(op.owner)
        indices = [self.value_of(each) for each in op.indices]
        if isinstance(owner, KnownTuple) and len(indices) == 1:
            self._item(op, owner, indices[0])
        elif isinstance(owner, KnownArray) and op.field is None and not owner.dtype.fields:
            if indices == [KnownName(...)] and op not in self.found.stores:
                raise op.fault("Numba has no `[...]` alone for an array in a kernel.", "Use the array itself.")
            self._index(op, owner, indices)
        elif _is_number(owner) and op.field is None:
            raise op.fault(f"`{op.owner.text}` is not an array, so it cannot be indexed.")

    def _item(self, op: Subscript, owner: KnownTuple, index: Known) -> None:
        if not isinstance(index, KnownNumber) or index.dtype is None:
            return
        if index.dtype.kind == "b" and not _are_alike(owner.items) and index.constant is not None:
            return  # Numba takes it for 0 or 1 where it selects by a constant
        if index.dtype.kind not in "iu":
            raise op.fault(
                f"The index `{op.indices[0].text}` of a tuple is {index.dtype}; it must be an integer.",
                "Use // instead of /, or int().",
            )
        if index.constant is None and not _are_alike(owner.items):
            raise op.fault(
                "The items of this tuple are different kinds of thing: which one is meant must be a constant.",
                "Write t[0], t[1] and so on.",
            )

    def _index(self, op: Subscript, owner: KnownArray, indices: Sequence[Known]) -> None:
        for part, known in zip(op.indices, indices, strict=True):
            for each in known.items if isinstance(known, KnownTuple) else [known]:
                self._is_whole(part, each)
        plain = [each for each in indices if isinstance(each, KnownNumber)]
        if len(plain) == len(indices) and len(plain) > owner.ndim:
            dimensions = "1 dimension" if owner.ndim == 1 else f"{owner.ndim} dimensions"
            raise op.fault(f"`{op.owner.text}` has {dimensions}, but {len(plain)} indices are given.")

    def _is_whole(self, part: Expression, index: Known) -> None:
        if not isinstance(index, KnownNumber) or index.dtype is None or index.dtype.kind in "iu":
            return
        remedy = "Write int(...)." if index.dtype.kind == "b" else "Use // instead of /, or int()."
        raise part.fault(f"The index `{part.text}` is {index.dtype}; an index must be an integer.", remedy)

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, op: FunctionCall) -> None:
        callee = self.value_of(op.callee)
        arguments: list[Known] = []
        for each in op.arguments:
            known = self.value_of(each)
            if isinstance(each, Unpacked) and not isinstance(known, KnownTuple):
                return
            arguments.extend(known.items if isinstance(each, Unpacked) and isinstance(known, KnownTuple) else [known])
        keywords = {name: self.value_of(each) for name, each in op.keywords.items()}
        function = callee.function if isinstance(callee, Inner) else callee.value if isinstance(callee, KnownName) else None
        if isinstance(function, Function):
            if isinstance(callee, Inner) and function.star is not None and _is_defined_in(op.function, function):
                what = f"`{function.name}` takes any number of arguments"
                raise op.fault(f"{what}: Numba has none of that in a function inside a kernel.", "Name its parameters.")
            self._of_device(op, function, arguments, keywords)
        elif isinstance(function, Reference):
            for given in arguments:
                if function.path in ("builtins.zip", "builtins.enumerate") and isinstance(given, KnownTuple):
                    self._items_alike(op, given)
            if overloads.of_library(function.path) is not None:
                return
            check_call(op, function, arguments, keywords, self.views, is_kernel=op.function is self.kernel)
        elif _is_number(callee) or isinstance(callee, (KnownArray, KnownTuple)):
            raise op.fault(f"`{op.callee.text}` is not a function.")

    def _of_device(
        self, op: FunctionCall, function: Function, arguments: Sequence[Known], keywords: dict[str, Known]
    ) -> None:
        check_names(op, function, len(arguments), keywords)
        given = len(arguments) + len(keywords)
        has_default = len(function.node.args.defaults)
        if given > len(function.parameters) and function.star is None or given < len(function.parameters) - has_default:
            raise op.fault(wrong_number(function, given))

    # -- statements -----------------------------------------------------------------------------------------------

    def _loop(self, op: For) -> None:
        source = self.value_of(op.source)
        if isinstance(op.source, FunctionCall) and self.found.callees.get(op.source) in _UNROLLING:
            return
        if isinstance(source, KnownTuple):
            self._items_alike(op.source, source)
        elif _is_number(source):
            raise op.fault(f"A kernel cannot loop over `{op.source.text}`.", "Loop over range(...).")

    def _items_alike(self, op: Operation, source: KnownTuple) -> None:
        if not source.items and isinstance(op, Local) and op.name == op.function.star:
            return  # other calls may give it items
        if not source.items:
            raise op.fault("A kernel cannot loop over an empty tuple.", "Leave the loop out.")
        if not _are_alike(source.items):
            raise op.fault(
                "The items of this tuple are of several types, and a kernel cannot loop over them.",
                "Write them with one type, such as 16.0, 8.5, 4.0.",
            )

    def _returned(self, op: Return) -> None:
        value = self.value_of(op.result)
        if (
            op.function is self.kernel
            and op.result is not None
            and not isinstance(value, Unknown)
            and value != KnownName(None)
        ):
            raise op.fault("A kernel cannot return a value.", "Write results into an array argument.")

    def _raised(self, op: Raise | Nothing) -> None:
        node = op.node
        if isinstance(node, ast.Assert) and node.msg is not None:
            self._is_known_early(op, node.msg)
        if not isinstance(node, ast.Raise) or node.exc is None:
            return
        if node.cause is not None:
            raise op.fault("A kernel cannot raise one exception from another.", "Leave `from` out.")
        if isinstance(node.exc, ast.Constant) or isinstance(node.exc, ast.Subscript):
            raise op.fault(f"`{ast.unparse(node.exc)}` is no exception.", "Write raise ValueError, for example.")
        if isinstance(node.exc, ast.Name) and isinstance(op.function.names.get(node.exc.id), (str, int, float, tuple)):
            raise op.fault(f"`{node.exc.id}` is no exception.", "Write raise ValueError, for example.")
        for each in node.exc.args if isinstance(node.exc, ast.Call) else ():
            self._is_known_early(op, each)

    def _is_known_early(self, op: Operation, part: ast.expr) -> None:
        """Refuses an exception whose arguments only the run could know."""
        for each in ast.walk(part):
            if (
                isinstance(each, (ast.Subscript, ast.Attribute))
                or isinstance(each, ast.Name)
                and self._changes(op, each.id)
            ):
                raise op.fault(
                    f"An exception in a kernel is made of constants, and `{ast.unparse(part)}` is none.",
                    "Leave it out, or write its value.",
                )

    def _changes(self, op: Operation, name: str) -> bool:
        """Whether a variable is a parameter, or is assigned anything but a literal."""
        if name not in op.function.local_names:
            return False
        assigned = [
            each for each in ast.walk(op.function.node)
            if isinstance(each, ast.Assign) and any(isinstance(n, ast.Name) and n.id == name for n in each.targets)
        ]  # fmt: skip
        return len(assigned) != 1 or not isinstance(assigned[0].value, ast.Constant)


_ATTRIBUTES = {"strides": None, "real": None, "imag": None, "flat": None}


def _is_defined_in(around: Function, inner: Function) -> bool:
    """Whether a function stands in another one's source, where Numba puts it in place of a call.

    One that was handed on, and is called elsewhere, it compiles by itself.
    """
    return any(each is inner.node.args for each in ast.walk(around.node))


def _is_number(known: Known) -> bool:
    return isinstance(known, KnownNumber) and known.dtype is not None and known.dtype.kind in _NUMBERS


def _is_sure(known: Known) -> bool:
    return _is_number(known) or isinstance(known, (KnownTuple, KnownArray))


def _is_true(known: Known) -> bool:
    return isinstance(known, KnownNumber) and known.constant not in (None, 0)


def _are_alike(items: Sequence[Known]) -> bool:
    """Whether items are, or may be, of one type: a variable can then index the tuple, and a loop go over it."""
    types = [_type_of(each) for each in items]
    return any(each is None for each in types) or len(set(types)) <= 1  # a dtype is "equal" to None


def _type_of(known: Known) -> Hashable:
    """What the items of a tuple must have in common; None if it is not known."""
    if _is_number(known):
        assert isinstance(known, KnownNumber)
        return known.dtype
    if isinstance(known, KnownArray):
        return "array", known.dtype, known.ndim
    if isinstance(known, KnownTuple):
        inner = tuple(map(_type_of, known.items))
        return None if any(each is None for each in inner) else inner
    return None
