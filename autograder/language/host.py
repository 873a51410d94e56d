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
from autograder.language.host_names import ARRAY_ATTRIBUTES, METHODS, call_library, library_value
from autograder.language.program import Function, Program, Reference, reachable
from autograder.language.validate import validate_kernel

MOST_STEPS = 200_000  # statements and expressions of host code
MOST_CALLS = 40  # host functions calling each other, deepest
MOST_BITS = 4096  # of an integer
MOST_ITEMS = 100_000  # of a list, tuple or string

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
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip


class Backend(Protocol):
    """What a device gives to host code; arrays are handles that only the backend understands."""

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
    """Interprets a host function; raises `SubmissionError` (with the line) for whatever goes wrong in it."""
    return HostInterpreter(backend).call(function, list(arguments), {}, None)


def evaluate_constant(node: ast.expr, file: str, names: Any) -> Any:
    """The value of a module-level assignment, by the same closed vocabulary, without a device."""
    module = ast.FunctionDef(name="the module", args=ast.arguments([], [], None, [], [], None, []), body=[], lineno=1)
    frame = Function("the module", "host", module, file, "", names)
    interpreter = HostInterpreter(None)
    interpreter.frames.append((frame, {}))
    return interpreter.evaluate(node)


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
        if not isinstance(items, (range, list, tuple, str, enumerate, zip, reversed)):
            raise self.fault(node, f"Host code cannot loop over a {type(items).__name__}.", "Loop over range(...).")
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

    def do_assert(self, node: ast.Assert) -> None:
        if not self.truth(node.test):
            raise self.fault(node, f"The assertion `{ast.unparse(node.test)}` does not hold.")

    def do_raise(self, node: ast.Raise) -> None:
        raise self.fault(node, f"The submission itself raises {ast.unparse(node.exc) if node.exc else 'an error'}.")

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
            if not isinstance(value, (tuple, list, range)) or len(value) != len(target.elts):
                raise self.fault(target, f"This cannot be unpacked into {len(target.elts)} variables.")
            for each, part in zip(target.elts, value, strict=True):
                self.assign(each, part)
        elif isinstance(target, ast.Subscript):
            owner, key = self.evaluate(target.value), self.evaluate(target.slice)
            self.guarded(target, operator.setitem, owner, key, value)
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
        return node.value

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
        found: list = []
        for each in node.elts:
            found.extend(self.evaluate(each.value) if isinstance(each, ast.Starred) else [self.evaluate(each)])
        return found

    def on_slice(self, node: ast.Slice) -> slice:
        return slice(*(self.evaluate(p) if p is not None else None for p in (node.lower, node.upper, node.step)))

    def on_joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self.evaluate(part)) for part in node.values)[:MOST_ITEMS]

    def on_formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.evaluate(node.value)
        return str(value)[:200] if isinstance(value, (int, float, str, tuple, list, np.generic)) else "..."

    def on_binop(self, node: ast.BinOp) -> Any:
        return self.operate(node, node.op, self.evaluate(node.left), self.evaluate(node.right))

    def operate(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        if type(op) not in OPERATORS:
            raise self.fault(node, "This operator cannot be used in host code.")
        for value in (left, right):
            if not isinstance(value, (int, float, complex, np.generic, str, tuple, list)):
                raise self.fault(
                    node, f"Host code cannot compute with a {type(value).__name__}.",
                    "Arithmetic on arrays belongs in a kernel.",
                )  # fmt: skip
        self.check_magnitude(node, op, left, right)
        return self.guarded(node, OPERATORS[type(op)], left, right)

    def check_magnitude(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> None:
        """Refuses results that would fill the memory: huge powers, shifts and repeated sequences."""
        whole = isinstance(left, int) and isinstance(right, int)
        if isinstance(op, (ast.Pow, ast.LShift)) and whole:
            bits = right if isinstance(op, ast.LShift) else max(1, left.bit_length()) * right
            if bits > MOST_BITS:
                raise self.fault(node, "This number is too large.")
        if isinstance(op, ast.Mult):
            if whole and left.bit_length() + right.bit_length() > MOST_BITS:
                raise self.fault(node, "This number is too large.")
            for sequence, times in ((left, right), (right, left)):
                if isinstance(sequence, (str, tuple, list)) and isinstance(times, int):
                    if len(sequence) * max(0, times) > MOST_ITEMS:
                        raise self.fault(node, "This sequence is too long.")
        if isinstance(op, ast.Add) and isinstance(left, (str, tuple, list)) and isinstance(right, (str, tuple, list)):
            if len(left) + len(right) > MOST_ITEMS:
                raise self.fault(node, "This sequence is too long.")
        if isinstance(op, ast.Mod) and isinstance(left, str):
            raise self.fault(node, "Host code cannot format strings with %.", "Use an f-string.")

    def on_unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return not self.as_truth(node, value)
        if not isinstance(value, (int, float, complex, np.generic)):
            raise self.fault(node, f"Host code cannot negate a {type(value).__name__}.")
        return {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[type(node.op)](value)

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
        for item in self.evaluate(generator.iter):
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
            raise self.fault(node, f"`{ast.unparse(node.value)}` cannot be indexed.")
        return self.guarded(node, operator.getitem, owner, key)

    def configure(self, node: ast.AST, kernel: Function, key: Any) -> Configured:
        if kernel.kind != "kernel":
            raise self.fault(
                node, f"`{kernel.name}` is not a kernel, so it cannot be launched.",
                "Decorate it with @cuda.jit." if kernel.kind == "host" else "Device functions are called by kernels.",
            )  # fmt: skip
        if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
            raise self.fault(node, "A launch needs a grid and a block.", f"Write {kernel.name}[grid, block](...).")
        return Configured(kernel, key[0], key[1], key[3] if len(key) == 4 else 0)

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
        arguments: list = []
        for each in node.args:
            arguments.extend(self.evaluate(each.value) if isinstance(each, ast.Starred) else [self.evaluate(each)])
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fault(node, "`**` cannot be used in a call here.")
            keywords[keyword.arg] = self.evaluate(keyword.value)
        if isinstance(function, (Configured, ForAll)):
            return self.launch(node, function, arguments)
        if isinstance(function, Function):
            return self.call(function, arguments, keywords, node)
        if isinstance(function, Method):
            return self.method(node, function, arguments, keywords)
        if isinstance(function, Reference):
            return self.guarded(node, call_library, function, self.backend, arguments, keywords)
        raise self.fault(node, f"`{ast.unparse(node.func)}` is not a function.")

    def launch(self, node: ast.AST, configured: Configured | ForAll, arguments: list) -> None:
        if self.backend is None:
            raise self.fault(node, "Kernels cannot be launched at module level of a submission.")
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
            raise self.fault(node, f"`{ast.unparse(node)[:80]}` fails: {error}.") from None

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


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) or hasattr(type(value), "copy_to_host")


def kind_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "ndarray"
    if hasattr(type(value), "copy_to_host"):
        return "device array"
    return type(value).__name__
