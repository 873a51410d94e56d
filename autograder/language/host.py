"""Interprets host functions: the Python that picks a grid, moves arrays and launches kernels, from a closed vocabulary.

START HERE: `call(program, function, arguments, backend)` walks the function's syntax tree. Numbers, tuples and lists are
ordinary Python values of ours; arrays are the backend's handles; kernels are launched through the backend, which any
device provides. Nothing of the submission is ever executed as Python.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from autograder.errors import KernelFault, Line, SubmissionError
from autograder.language.host_limits import (
    ITERABLE,
    MOST_ITEMS,
    check_bits,
    check_key,
    check_magnitude,
    contains,
    fixed,
    handed_back,
    shown,
    spread,
    weigh,
)
from autograder.language.host_names import ARRAY_ATTRIBUTES, METHOD_KEYWORDS, METHODS, call_library, library_value
from autograder.language.program import Function, Program, Reference, reachable
from autograder.language.transfers import Transfer
from autograder.language.validate import validate_kernel

MOST_STEPS = 50_000  # statements and expressions of host code: a thousand launches, but no product of matrices
LAUNCH_STEPS = 25  # that one launch counts for beside its own expressions
MOST_CALLS = 40  # host functions calling each other, deepest
MOST_ARGUMENTS = 255  # of one call

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
ITEMS_A_STEP = 16  # items that a library function works through in the time of one step


class Backend(Protocol):
    """What a device gives to host code; arrays are handles that only the backend understands."""

    transfers: list[Transfer]  # what host code asked for beside launches, in order

    def to_device(self, host: np.ndarray) -> Any: ...

    def device_array(self, shape: Any, dtype: Any) -> Any: ...

    def copy_to_host(self, array: Any) -> np.ndarray: ...

    def launch(
        self, kernel: Function, grid: Any, block: Any, arguments: Sequence, dynamic_shared_bytes: int = 0
    ) -> Any: ...


class Returned(Exception):  # noqa: N818 (control flow, not an error)
    def __init__(self, value: Any) -> None:
        self.value = value


class LoopEnds(Exception):  # noqa: N818
    pass


class LoopGoesOn(Exception):  # noqa: N818
    pass


class Configured:
    """A kernel with its launch configuration: `kernel[grid, block]`."""

    def __init__(self, kernel: Function, grid: Any, block: Any, shared_bytes: int = 0) -> None:
        self.kernel, self.grid, self.block, self.shared_bytes = kernel, grid, block, shared_bytes


class ForAll:
    """`kernel.forall(n)`: a one-dimensional launch with at least n threads."""

    def __init__(self, kernel: Function, count: int, threads: int = 128) -> None:
        self.kernel, self.grid, self.block, self.shared_bytes = kernel, max(1, -(-count // threads)), threads, 0


class Method:
    """A method of a value, waiting to be called."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name


def call(program: Program, function: Function, arguments: Sequence, backend: Backend) -> Any:
    """Interprets a host function; raises `SubmissionError` (with the line) for whatever goes wrong in it.

    Returns what it returned where that is an array, a number, text or a tuple of such; None otherwise.
    """
    return handed_back(HostInterpreter(backend).call(function, list(arguments), {}, None))


def evaluate_constant(node: ast.expr, file: str, names: Any) -> Any:
    """The value of a module-level assignment, by the same closed vocabulary, without a device; nothing can change it."""
    module = ast.FunctionDef(name="the module", args=ast.arguments([], [], None, [], [], None, []), body=[], lineno=1)
    frame = Function("the module", "host", module, file, "", names)
    interpreter = HostInterpreter(None)
    interpreter.frames.append((frame, {}))
    return interpreter.guarded(node, fixed, interpreter.evaluate(node))


class HostInterpreter:
    """Walks host code statement by statement; one instance for each outermost call."""

    def __init__(self, backend: Backend | None) -> None:
        self.backend = backend
        self.steps = 0
        self.frames: list[tuple[Function, dict[str, Any]]] = []

    # -- functions and statements ---------------------------------------------------------------------------------

    def call(self, function: Function, arguments: list, keywords: dict[str, Any], node: ast.AST | None) -> Any:
        if function.kind != "host":
            raise self.fault(
                node, f"`{function.name}` is a kernel: it must be launched, not called.",
                f"Write {function.name}[grid, block](...).",
            )  # fmt: skip
        if len(self.frames) >= MOST_CALLS:
            raise self.fault(node, f"`{function.name}` calls itself more than {MOST_CALLS} deep.", "Use a loop.")
        self.frames.append((function, self.bind(function, arguments, keywords, node)))
        try:
            self.body(function.node.body)
        except Returned as returned:
            return returned.value
        except (LoopEnds, LoopGoesOn):
            raise self.fault(function.node, "`break` or `continue` outside a loop.") from None
        finally:
            self.frames.pop()
        return None

    def bind(self, function: Function, arguments: list, keywords: dict[str, Any], node: ast.AST | None) -> dict:
        spec = function.node.args
        if spec.vararg or spec.kwarg or spec.posonlyargs:
            raise SubmissionError(f"`{function.name}` must take plain parameters.", line=function.line(function.node))
        names = [a.arg for a in spec.args]
        values = dict(zip(names, arguments, strict=False)) | keywords
        for name, default in zip(reversed(names), reversed(spec.defaults), strict=False):
            if name not in values:
                values[name] = evaluate_constant(default, function.file, function.names)
        missing = [name for name in names if name not in values]
        if missing or len(arguments) > len(names) or set(values) - set(names):
            raise SubmissionError(
                f"`{function.name}` takes {len(names)} arguments ({', '.join(names)}), "
                f"but it is called with {len(arguments) + len(keywords)}.",
                line=function.line(function.node),
            )
        return values

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.step(statement)
            method = getattr(self, f"do_{type(statement).__name__.lower()}", None)
            if isinstance(statement, ast.FunctionDef):
                raise self.fault(
                    statement, f"`{statement.name}` is defined inside a function, which a submission cannot do.",
                    "Define it outside of all functions, and sizes that it needs as constants beside it.",
                )  # fmt: skip
            if method is None:
                what = type(statement).__name__.lower()
                raise self.fault(
                    statement, f"Host code in a submission cannot contain `{what}`.",
                    "Use assignments, if, for, while, arithmetic and launches.",
                )  # fmt: skip
            method(statement)

    def do_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value)

    def do_pass(self, node: ast.Pass) -> None:
        pass

    def do_assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def do_augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self.name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
        else:
            old = self.evaluate(node.target)
        self.assign(node.target, self.operate(node, node.op, old, self.evaluate(node.value)))

    def do_return(self, node: ast.Return) -> None:
        raise Returned(self.evaluate(node.value) if node.value is not None else None)

    def do_break(self, node: ast.Break) -> None:
        raise LoopEnds

    def do_continue(self, node: ast.Continue) -> None:
        raise LoopGoesOn

    def do_if(self, node: ast.If) -> None:
        self.body(node.body if self.truth(node.test) else node.orelse)

    def do_while(self, node: ast.While) -> None:
        while self.truth(node.test):
            self.step(node)
            try:
                self.body(node.body)
            except LoopEnds:
                return
            except LoopGoesOn:
                continue
        self.body(node.orelse)

    def do_for(self, node: ast.For) -> None:
        items = self.evaluate(node.iter)
        self.check_iterable(node, items)
        for item in items:
            self.step(node)
            self.assign(node.target, item)
            try:
                self.body(node.body)
            except LoopEnds:
                return
            except LoopGoesOn:
                continue
        self.body(node.orelse)

    def check_iterable(self, node: ast.AST, items: Any) -> None:
        if not isinstance(items, ITERABLE) or (isinstance(items, np.ndarray) and not items.ndim):
            raise self.fault(node, f"Host code cannot loop over a {type(items).__name__}.", "Loop over range(...).")

    def do_assert(self, node: ast.Assert) -> None:
        if not self.truth(node.test):
            raise self.fault(node, f"The assertion `{shown(node.test)}` does not hold.")

    def do_raise(self, node: ast.Raise) -> None:
        raise self.fault(node, f"The submission itself raises {shown(node.exc) or 'an error'}.")

    def do_import(self, node: ast.Import | ast.ImportFrom) -> None:
        from autograder.language.modules import imported

        for name, meaning in imported(node, self.frames[-1][0].file):
            if isinstance(meaning, SubmissionError):
                raise meaning
            self.frames[-1][1][name] = meaning

    do_importfrom = do_import

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.frames[-1][1][target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, (tuple, list, range)) or self.guarded(target, len, value) != len(target.elts):
                raise self.fault(target, f"This cannot be unpacked into {len(target.elts)} variables.")
            for each, part in zip(target.elts, value, strict=True):
                self.assign(each, part)
        elif isinstance(target, ast.Subscript):
            owner, key = self.evaluate(target.value), self.evaluate(target.slice)
            self.guarded(target, _set_item, owner, key, value)
            if is_on_device(owner) and not is_on_device(value):
                self.note(target, "an assignment", np.asarray(value, owner.dtype).nbytes)
        else:
            raise self.fault(target, "This cannot be assigned to in a submission.")

    # -- expressions ----------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr) -> Any:
        self.step(node)
        method = getattr(self, f"on_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.fault(node, f"Host code in a submission cannot contain this ({type(node).__name__}).")
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
        raise self.fault(node, f"`{node.id}` is not defined, or cannot be used in a submission.")

    def on_tuple(self, node: ast.Tuple) -> tuple:
        return tuple(self.items(node))

    def on_list(self, node: ast.List) -> list:
        return self.items(node)

    def items(self, node: ast.Tuple | ast.List) -> list:
        return self.several(node.elts)

    def several(self, nodes: Sequence[ast.expr]) -> list:
        """The values of some expressions, those under a `*` spread out."""
        found: list = []
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
        known = isinstance(value, (int, float, str, tuple, list, np.generic))
        return self.guarded(node, str, value)[:200] if known else "..."

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
            if not self.as_truth(node, self.guarded(node, COMPARISONS[type(op)], left, right)):
                return False
            left = right
        return True

    def on_ifexp(self, node: ast.IfExp) -> Any:
        return self.evaluate(node.body if self.truth(node.test) else node.orelse)

    def on_listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> list:
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise self.fault(node, "Host code may have one `for` in a comprehension.")
        generator, found = node.generators[0], []
        items = self.evaluate(generator.iter)
        self.check_iterable(node, items)
        for item in items:
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
            raise self.fault(node, f"`{shown(node.value)}` cannot be indexed.")
        found = self.guarded(node, _item, owner, key)
        if is_on_device(owner) and not is_on_device(found):
            self.note(node, "an element", owner.dtype.itemsize)
        return found

    def configure(self, node: ast.AST, kernel: Function, key: Any) -> Configured:
        if kernel.kind != "kernel":
            raise self.fault(
                node, f"`{kernel.name}` is not a kernel, so it cannot be launched.",
                "Decorate it with @cuda.jit." if kernel.kind == "host" else "Device functions are called by kernels.",
            )  # fmt: skip
        if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
            raise self.fault(node, "A launch needs a grid and a block.", f"Write {kernel.name}[grid, block](...).")
        shared_bytes = key[3] if len(key) == 4 else 0
        if not isinstance(shared_bytes, (int, np.integer)) or shared_bytes < 0:
            raise self.fault(node, "The dynamic shared memory of a launch is a whole number of bytes, 0 or more.")
        return Configured(kernel, key[0], key[1], int(shared_bytes))

    def on_attribute(self, node: ast.Attribute) -> Any:
        owner, name = self.evaluate(node.value), node.attr
        if isinstance(owner, Reference):
            return library_value(f"{owner.path}.{name}")
        if isinstance(owner, Function):
            if name == "forall":
                return Method(owner, name)
            raise self.fault(node, f"Kernels have no `.{name}` in a submission.")
        if name in ARRAY_ATTRIBUTES and is_array(owner):
            return getattr(owner, name)
        if name in METHODS.get(kind_of(owner), ()):
            return Method(owner, name)
        raise self.fault(node, f"`.{name}` cannot be used in a submission.")

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
        if isinstance(function, (Configured, ForAll)):
            if keywords:
                raise self.fault(node, "A kernel takes no arguments by keyword.")
            return self.launch(node, function, arguments)
        if isinstance(function, Function):
            return self.call(function, arguments, keywords, node)
        if isinstance(function, Method):
            return self.method(node, function, arguments, keywords)
        if isinstance(function, Reference):
            result = self.guarded(node, call_library, function, self.backend, arguments, keywords)
            made = is_on_device(result) and not any(result is each for each in arguments)
            if made or function.path == "numba.cuda.synchronize":
                self.note(node, function.path.rpartition(".")[2], result.nbytes if is_on_device(result) else 0)
            return self.guarded(node, check_bits, result)
        raise self.fault(node, f"`{shown(node.func)}` is not a function.")

    def launch(self, node: ast.AST, configured: Configured | ForAll, arguments: list) -> None:
        if self.backend is None:
            raise self.fault(node, "Kernels cannot be launched at module level of a submission.")
        self.steps += LAUNCH_STEPS
        for each in arguments:
            if isinstance(each, np.ndarray):  # Numba copies it to the device and back
                self.note(node, "a NumPy array as an argument", 2 * each.nbytes)
        for function in reachable(configured.kernel):
            if function.kind != "host":
                validate_kernel(function)
        try:
            self.backend.launch(
                configured.kernel, configured.grid, configured.block, tuple(arguments), configured.shared_bytes
            )
        except KernelFault as fault:
            if fault.line is None:
                raise KernelFault(fault.message, line=self.line(node), remedy=fault.remedy) from None
            raise

    def method(self, node: ast.AST, method: Method, arguments: list, keywords: dict[str, Any]) -> Any:
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
            return self.backend.copy_to_host(method.owner)
        return self.guarded(node, getattr(method.owner, method.name), *arguments, **keywords)

    # -- bookkeeping ----------------------------------------------------------------------------------------------

    def truth(self, node: ast.expr) -> bool:
        return self.as_truth(node, self.evaluate(node))

    def as_truth(self, node: ast.AST, value: Any) -> bool:
        if is_array(value) and not isinstance(value, np.generic):
            raise self.fault(node, "An array is neither true nor false.")
        return bool(value)

    def weigh(self, node: ast.AST, *values: Any) -> None:
        """Counts the items of values that Python is about to walk through; a fault where they are too many."""
        for value in values:
            if isinstance(value, (list, tuple)):
                self.steps += self.guarded(node, weigh, value) // ITEMS_A_STEP

    def guarded(self, node: ast.AST, function: Callable, *arguments: Any, **keywords: Any) -> Any:
        """Calls one of our functions on the submission's values; Python's complaint becomes a fault with the line."""
        try:
            return function(*arguments, **keywords)
        except KernelFault as fault:
            if fault.line is None:
                raise KernelFault(fault.message, line=self.line(node), remedy=fault.remedy) from None
            raise
        except SubmissionError:
            raise
        except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise self.fault(node, f"`{shown(node)}` fails: {error}.") from None

    def note(self, node: ast.AST, what: str, size_bytes: int) -> None:
        """Keeps account of what the device was asked for beside launches."""
        if self.backend is not None:
            self.backend.transfers.append(Transfer(what, int(size_bytes), self.line(node)))

    def step(self, node: ast.AST) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise self.fault(
                node, f"The host code was stopped after {MOST_STEPS:,} steps (an endless loop?).",
                "Host code should only launch kernels; let the kernels do the work.",
            )  # fmt: skip

    def line(self, node: ast.AST | None) -> Line | None:
        if not self.frames:
            return None
        function = self.frames[-1][0]
        return Line(function.file, getattr(node, "lineno", function.node.lineno))

    def fault(self, node: ast.AST | None, message: str, remedy: str = "") -> KernelFault:
        return KernelFault(message, line=self.line(node), remedy=remedy)


def _item(owner: Any, key: Any) -> Any:
    if isinstance(owner, np.ndarray) or hasattr(type(owner), "copy_to_host"):
        check_key(key)
    return owner[key]


def _set_item(owner: Any, key: Any, value: Any) -> None:
    if isinstance(owner, np.ndarray) or hasattr(type(owner), "copy_to_host"):
        check_key(key)
        weigh(value)
    owner[key] = value


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
