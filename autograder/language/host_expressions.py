"""The expressions of host functions: values of ours, handles of the backend's arrays, and launches of kernels."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.errors import BrokenDefinition, KernelFault
from autograder.language.host_limits import (
    ITEMS_A_STEP,
    MOST_ITEMS,
    HostMethod,
    check_bits,
    check_key,
    check_magnitude,
    contains,
    described,
    holds,
    spread,
    without_insides,
)
from autograder.language.host_names import (
    ARRAY_ATTRIBUTES,
    DEVICE_CALLS,
    FILLING_CALLS,
    GOES_OVER,
    GOES_THROUGH,
    METHOD_KEYWORDS,
    METHODS,
    READS_NOTHING,
    REDUCTIONS,
    SHOWN,
    as_dtype,
    call_library,
    check_no_names,
    library_value,
    no_text,
)
from autograder.language.host_state import HostState
from autograder.language.program import Function, Reference, reachable, wrong_number
from autograder.language.quoting import quoted
from autograder.language.validate import validate_kernel
from autograder.records.transfers import HOST_WORK, LEAST_HOST_BYTES

MOST_ARGUMENTS = 255  # of one call
LAUNCH_STEPS = 25  # that one launch counts for beside its own expressions
BUILTINS = frozenset(
    "abs bool divmod enumerate float int isinstance len list max min pow print range reversed round sorted str sum "
    "tuple zip all any".split()
)
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: contains(b, a), ast.NotIn: lambda a, b: not contains(b, a),
}  # fmt: skip
SIGNS: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip


INSTEAD: dict[type, str] = {  # of what host code does not have
    ast.Lambda: "Write a function with def.",
    ast.Dict: "Use variables, or a tuple.",
    ast.DictComp: "Use a list.",
    ast.Set: "Use a list or a tuple.",
    ast.SetComp: "Use a list.",
    ast.NamedExpr: "Assign on a line of its own.",
    ast.Yield: "Return what is needed, or write a loop.",
}


class ConfiguredFunction:
    """A kernel with its launch configuration: `kernel[grid, block]`."""

    in_words = "a kernel with its grid and block"

    def __init__(self, kernel: Function, grid: Any, block: Any, shared_bytes: int = 0) -> None:
        self.kernel, self.grid, self.block, self.shared_bytes = kernel, grid, block, shared_bytes


class ForAll:
    """`kernel.forall(n)`: a one-dimensional launch with at least n threads."""

    in_words = "a kernel with its number of threads"

    def __init__(self, kernel: Function, count: int, threads: int = 128) -> None:
        self.kernel, self.grid, self.block, self.shared_bytes = kernel, max(1, -(-count // threads)), threads, 0


class HostExpressions(HostState):
    """The expression half of `HostInterpreter`."""

    def evaluate(self, node: ast.expr) -> Any:
        self.step(node)
        method = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if method is None:
            what = f"Host code in a submission cannot contain this ({type(node).__name__})."
            raise self.refusal(node, what, INSTEAD.get(type(node), ""))
        return method(node)

    def on_constant(self, node: ast.Constant) -> Any:
        return self.guarded(node, check_bits, node.value)

    def on_name(self, node: ast.Name) -> Any:
        return self.name(node)

    def name(self, node: ast.Name) -> Any:
        function, variables = self.frames[-1]
        if node.id in variables:
            return variables[node.id]
        if node.id in function.names:
            return function.names[node.id]
        if node.id in BUILTINS:
            return Reference(f"builtins.{node.id}")
        told = self.fault if node.id in function.local_names else self.refusal  # a variable may be set for other inputs
        raise told(node, f"`{node.id}` is not defined, or cannot be used in a submission.")

    def on_tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.items(node))

    def on_list(self, node: ast.List) -> list[Any]:
        return self.items(node)

    def items(self, node: ast.Tuple | ast.List) -> list[Any]:
        return self.several(node.elts)

    def several(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """The values of some expressions, those under a `*` spread out."""
        found: list[Any] = []
        for each in nodes:
            if isinstance(each, ast.Starred):
                found.extend(self.guarded(each, spread, self.evaluate(each.value)))
                self.steps += len(found) // ITEMS_A_STEP
            else:
                found.append(self.evaluate(each))
        return found

    def on_slice(self, node: ast.Slice) -> slice:
        return slice(*(self.evaluate(p) if p is not None else None for p in (node.lower, node.upper, node.step)))

    def on_joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.evaluate(part)) for part in node.values)[:MOST_ITEMS]

    def on_formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.evaluate(node.value)
        self.weigh(node, value)
        return self.guarded(node, str, value)[:200] if isinstance(value, SHOWN) else "..."

    def on_binop(self, node: ast.BinOp) -> Any:
        return self.operate(node, node.op, self.evaluate(node.left), self.evaluate(node.right))

    def operate(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        if type(op) not in OPERATORS:
            raise self.fault(
                node, "`@` cannot be used in host code.", "A product of matrices is the kernels' work here."
            )  # fmt: skip
        for value in (left, right):
            if not isinstance(value, (int, float, complex, np.number, np.bool_, str, tuple, list)):
                raise self.fault(
                    node, f"Host code cannot compute with a {type(value).__name__}.",
                    "Arithmetic on arrays belongs in a kernel.",
                )  # fmt: skip
        self.guarded(node, check_magnitude, op, left, right)
        return self.guarded(node, OPERATORS[type(op)], left, right)

    def on_unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return not self.as_truth(node, value)
        if not isinstance(value, (int, float, complex, np.number, np.bool_)):
            raise self.fault(node, f"Host code cannot negate a {type(value).__name__}.")
        return self.guarded(node, SIGNS[type(node.op)], value)

    def on_boolop(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for each in node.values:
            value = self.evaluate(each)
            if self.as_truth(each, value) != isinstance(node.op, ast.And):
                break
        return value

    def on_compare(self, node: ast.Compare) -> bool:
        left = self.evaluate(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node)
            self.weigh(node, left, right)
            self.check_comparison(node, op, left, right)
            if not self.as_truth(node, self.guarded(node, COMPARISONS[type(op)], left, right)):
                return False
            left = right
        return True

    def check_comparison(self, node: ast.AST, op: ast.cmpop, left: Any, right: Any) -> None:
        """Refuses to compare what is on the device with an array of the host: NumPy would fetch it to do so."""
        sides = (left, right)
        if isinstance(op, (ast.Is, ast.IsNot)) or not any(holds(each, is_on_device) for each in sides):
            return
        if any(holds(each, lambda value: isinstance(value, (np.ndarray, np.generic))) for each in sides):
            raise self.fault(
                node, "Host code cannot compare what is in a device array.", "Comparing numbers is a kernel's work."
            )

    def on_ifexp(self, node: ast.IfExp) -> Any:
        return self.evaluate(node.body if self.truth(node.test) else node.orelse)

    def on_listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise self.fault(node, "Host code may have one `for` in a comprehension.")
        generator, found = node.generators[0], []
        items = self.evaluate(generator.iter)
        for item in self.over(generator.iter, items):
            self.step(node)
            self.assign(generator.target, item)
            if all(self.truth(test) for test in generator.ifs):
                found.append(self.evaluate(node.elt))
        return found

    on_generatorexp = on_listcomp

    def on_subscript(self, node: ast.Subscript) -> Any:
        owner, key = self.evaluate(node.value), self.evaluate(node.slice)
        if isinstance(owner, Function):
            return self.configure(node, owner, key)
        if isinstance(owner, (int, float, Reference)) or owner is None:
            raise self.fault(node, f"`{quoted(node.value)}` cannot be indexed.")
        return self.item_of(node, owner, key)

    def item_of(self, node: ast.AST, owner: Any, key: Any) -> Any:
        """A part of something; an element of a device array comes over to the host."""
        found = self.guarded(node, _item, owner, key)
        if is_on_device(owner) and not is_on_device(found):
            self.note(node, "an element", owner.dtype.itemsize)
        return found

    def configure(self, node: ast.AST, kernel: Function, key: Any) -> ConfiguredFunction:
        if kernel.kind != "kernel":
            raise self.refusal(
                node, f"`{kernel.name}` is not a kernel, so it cannot be launched.",
                "Decorate it with @cuda.jit." if kernel.kind == "host" else "Device functions are called by kernels.",
            )  # fmt: skip
        if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
            raise self.fault(node, "A launch needs a grid and a block.", f"Write {kernel.name}[grid, block](...).")
        for what, size in zip(("grid", "block"), key, strict=False):
            for part in size if isinstance(size, (tuple, list)) else (size,):
                if isinstance(part, (Function, Reference)) or hasattr(type(part), "in_words"):
                    raise self.fault(node, f"The {what} must be made of integers, and not of {described(part)}.")
        shared_bytes = key[3] if len(key) == 4 else 0
        if not isinstance(shared_bytes, (int, np.integer)) or shared_bytes < 0:
            raise self.fault(node, "The dynamic shared memory of a launch is a whole number of bytes, 0 or more.")
        return ConfiguredFunction(kernel, key[0], key[1], int(shared_bytes))

    def on_attribute(self, node: ast.Attribute) -> Any:
        owner, name = self.evaluate(node.value), node.attr
        if isinstance(owner, Reference):
            return self.guarded(node, library_value, f"{owner.path}.{name}")
        if isinstance(owner, Function):
            if name == "forall":
                return HostMethod(owner, name)
            raise self.fault(node, f"Kernels have no `.{name}` in a submission.")
        if name in ARRAY_ATTRIBUTES and is_array(owner):
            return self.guarded(node, getattr, owner, name)
        if name in METHODS.get(kind_of(owner), ()):
            return HostMethod(owner, name)
        remedy = ""
        if is_array(owner) and not name.startswith("_"):
            whose = "A device array" if is_on_device(owner) else "An array in host code"
            has = ", ".join(sorted(METHODS.get(kind_of(owner), ())))
            remedy = f"{whose} has {has}; what computes with its elements is a kernel: write one and launch it."
        raise self.fault(node, f"`.{name}` cannot be used in a submission.", remedy)

    def on_call(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        arguments = self.several(node.args)
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fault(node, "`**` cannot be used in a call here.")
            keywords[keyword.arg] = self.evaluate(keyword.value)
        if len(arguments) > MOST_ARGUMENTS:
            raise self.fault(node, f"A call may have at most {MOST_ARGUMENTS} arguments here.")
        self.weigh(node, *arguments, *keywords.values())
        if isinstance(function, (ConfiguredFunction, ForAll)):
            if keywords:
                raise self.fault(node, "A kernel takes no arguments by keyword.")
            return self.launch(node, function, arguments)
        if isinstance(function, Function):
            return self.call(function, arguments, keywords, node)
        if isinstance(function, HostMethod):
            return self.method(node, function, arguments, keywords)
        if isinstance(function, Reference):
            arguments, keywords = self.fetched(node, function.path, arguments, keywords)
            result = self.guarded(node, call_library, function, self.backend, arguments, keywords)
            made = is_on_device(result) and not any(result is each for each in arguments[:1])
            if made or function.path == "numba.cuda.synchronize":
                self.note(node, function.path.rpartition(".")[2], result.nbytes if is_on_device(result) else 0)
            if function.path in FILLING_CALLS:
                self.note_host_work(node, function.path.rpartition(".")[2], result)
            return self.guarded(node, check_bits, result)
        raise self.fault(node, f"`{quoted(node.func)}` is not a function.")

    def note_host_work(self, node: ast.AST, name: str, array: Any) -> None:
        """NumPy goes through an array of the host's: what takes time is noted beside copies, and is no less in the way."""
        if isinstance(array, np.ndarray) and array.nbytes >= LEAST_HOST_BYTES:
            self.note(node, f"{HOST_WORK}{name}", array.nbytes, is_host_work=True)

    def fetched(
        self, node: ast.AST, path: str, arguments: list[Any], keywords: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """A library call's arguments with a copy on the host for each device array whose elements the call reads.

        Numba does the same without being asked (`DeviceNDArray.__array__`, and one copy for each element that a loop
        comes to), so each is noted like the copy that it is.
        """
        if path in READS_NOTHING or (path in DEVICE_CALLS and path != "numba.cuda.to_device"):
            return arguments, keywords
        if path in GOES_OVER:
            return [self.elements(node, each) for each in arguments], keywords
        if path == "numba.cuda.to_device":  # one that is on the device is there already
            return [each if is_on_device(each) else self.on_the_host(node, each) for each in arguments], keywords
        return (
            [self.on_the_host(node, each) for each in arguments],
            {name: self.on_the_host(node, each) for name, each in keywords.items()},
        )

    def elements(self, node: ast.AST, value: Any) -> Any:
        """What is gone over: the elements of a device array of one dimension come to the host."""
        if not is_on_device(value) or value.ndim != 1:
            return value
        self.steps += value.size // ITEMS_A_STEP
        return self.on_the_host(node, value)

    def on_the_host(self, node: ast.AST, value: Any) -> Any:
        """The value with a copy in place of each device array in it; every copy is noted."""
        if is_on_device(value) and self.backend is not None:
            self.note(node, "copy_to_host", value.nbytes)
            return self.guarded(node, self.backend.copy_to_host, value)
        if isinstance(value, (list, tuple)) and holds(value, is_on_device):
            return type(value)(self.on_the_host(node, each) for each in value)
        return value

    def launch(self, node: ast.AST, configured: ConfiguredFunction | ForAll, arguments: list[Any]) -> None:
        if self.backend is None:
            raise self.fault(node, "Kernels cannot be launched at module level of a submission.")
        self.steps += LAUNCH_STEPS
        kernel = configured.kernel
        if not kernel.takes(len(arguments)):
            problem = wrong_number(kernel, len(arguments))
            raise BrokenDefinition(problem, name=kernel.name, line=kernel.line(kernel.node))
        for each in arguments:
            self.check_argument(node, configured.kernel, each)
            self.note_host_arrays(node, each)
        for function in reachable(configured.kernel):
            if function.kind != "host":
                validate_kernel(function)
        try:
            self.backend.launch(
                configured.kernel, configured.grid, configured.block, tuple(map(_to_write_to, arguments)),
                configured.shared_bytes,
            )  # fmt: skip
        except KernelFault as fault:
            if fault.line is None:
                raise fault.told_at(self.line(node), without_insides(fault.message)) from None
            raise

    def check_argument(self, node: ast.AST, kernel: Function, value: Any) -> None:
        """Refuses what no device could hand to a kernel."""
        if isinstance(value, tuple):
            for each in value:
                self.check_argument(node, kernel, each)
        elif isinstance(value, (str, bytes)) or isinstance(value, np.ndarray) and value.dtype.kind in "SU":
            self.refuse_argument(node, kernel, value)
        elif isinstance(value, int) and not -(2**63) <= value < 2**64:
            self.refuse_argument(node, kernel, value)
        elif not (value is None or is_array(value) or isinstance(value, (bool, int, float, complex))):
            self.refuse_argument(node, kernel, value)

    def refuse_argument(self, node: ast.AST, kernel: Function, value: Any) -> None:
        raise self.fault(
            node, f"`{kernel.name}` is given {described(value)}, which a kernel cannot take.",
            "Pass device arrays, NumPy arrays or numbers.",
        )  # fmt: skip

    def note_host_arrays(self, node: ast.AST, argument: Any) -> None:
        """Numba copies each NumPy array that a kernel is given, also one in a tuple, to the device and back."""
        if isinstance(argument, np.ndarray):
            self.note(node, "a NumPy array as an argument", 2 * argument.nbytes)
        elif isinstance(argument, tuple):
            for each in argument:
                self.note_host_arrays(node, each)

    def method(self, node: ast.AST, method: HostMethod, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if isinstance(method.owner, Function):
            if len(arguments) != 1 or not isinstance(arguments[0], (int, np.integer)):
                raise self.fault(node, "forall takes the number of threads.")
            return ForAll(method.owner, int(arguments[0]))
        unknown = set(keywords) - METHOD_KEYWORDS
        if unknown:
            raise self.fault(node, f"`.{method.name}` takes no `{sorted(unknown)[0]}` in a submission.")
        if method.name == "copy_to_host" or (method.name == "copy_to_device" and not any(map(is_on_device, arguments))):
            self.note(node, method.name, method.owner.nbytes)
        elif method.name == "synchronize":
            self.note(node, method.name, 0)
        if method.name == "copy_to_host" and self.backend is not None and not arguments:
            return self.guarded(node, self.backend.copy_to_host, method.owner)
        if isinstance(method.owner, np.ndarray):
            arguments = [self.on_the_host(node, each) for each in arguments]
            keywords = {name: self.on_the_host(node, each) for name, each in keywords.items()}
            arguments = [self.guarded(node, as_dtype, each) for each in arguments]
            keywords = {name: self.guarded(node, as_dtype, each) for name, each in keywords.items()}
            self.guarded(node, check_no_names, f".{method.name}", (*arguments, *keywords.values()))
            if method.name == "astype":
                for each in (*arguments, *keywords.values()):
                    self.guarded(node, no_text, each)
            if method.name in REDUCTIONS and arguments:  # along an axis
                raise self.fault(
                    node, f"`.{method.name}` goes through a whole array in host code of a submission, and along no axis.",
                    "What is done to rows or columns is a kernel's work.",
                )  # fmt: skip
            if method.name in GOES_THROUGH:
                self.note_host_work(node, method.name, method.owner)
        elif method.name == "index":
            self.weigh(node, method.owner)
            for each in arguments:
                self.check_comparison(node, ast.Eq(), method.owner, each)
        found = self.guarded(node, getattr(method.owner, method.name), *arguments, **keywords)
        return self.guarded(node, check_bits, found)

    def truth(self, node: ast.expr) -> bool:
        return self.as_truth(node, self.evaluate(node))

    def as_truth(self, node: ast.AST, value: Any) -> bool:
        if is_array(value) and not isinstance(value, np.generic):
            raise self.fault(node, "An array is neither true nor false.")
        return bool(value)


def _to_write_to(argument: Any) -> Any:
    """The argument, of which a device may write back what its kernel did to it: a copy of what stays as it is."""
    if isinstance(argument, tuple):
        return tuple(map(_to_write_to, argument))
    if isinstance(argument, (np.ndarray, np.void)) and not argument.flags.writeable:
        return argument.copy()
    return argument


def _item(owner: Any, key: Any) -> Any:
    if isinstance(owner, np.ndarray) or hasattr(type(owner), "copy_to_host"):
        check_key(key)
    return owner[key]


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) or is_on_device(value)


def is_on_device(value: Any) -> bool:
    return hasattr(type(value), "copy_to_host")


def kind_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "ndarray"
    if hasattr(type(value), "copy_to_host"):
        return "device array"
    return type(value).__name__
