"""Runs one of Numba's test modules in this process, on the simulated GPU or on Numba's simulator, a line of JSON per test.

Started by run_numba_tests.py, a process for each module: Numba's tests are free to break what they share.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import importlib
import inspect
import itertools
import json
import linecache
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from collections.abc import Iterator, Sequence
from typing import IO, Any

DEVICES = ("simulated_gpu", "numba_simulator")
SAME_SIZE_EVERYWHERE = ("cudapy.test_laplace",)  # its small size for a simulator has grids of no blocks
MOST_MESSAGE = 400  # characters kept of what a failed test says


class TestTooLong(BaseException):
    """A test used up its time (no `Exception`: a test that expects one must not swallow it)."""


def install_simulated_gpu() -> types.ModuleType:
    """Our `cuda` module in place of Numba's, with the parts that only the tests need still reachable beneath it.

    The tests import `numba.cuda.testing` and look into the compiler (`numba.cuda.core`, ...). Those modules stay the
    real ones; whatever launches, allocates or is used inside a kernel is ours.
    """
    import numba.cuda as real

    testing = importlib.import_module("numba.cuda.testing")
    importlib.import_module("numba.cuda.extending")
    support = "numba.cuda.tests.support" if _exists("numba.cuda.tests.support") else "numba.tests.support"
    vars(importlib.import_module(support))["run_in_subprocess"] = run_in_subprocess_on_simulated_gpu
    vars(testing).update(cc_X_or_above=lambda major, minor: (9, 0) >= (major, minor))  # asks the driver otherwise
    vars(testing).update(cudadevrt_missing=lambda: False)
    vars(importlib.import_module("numba.cuda.cudadrv.libs")).update(get_cuda_include_dir=_no_headers)
    _count_no_allocations(importlib.import_module(support))
    beneath = {name: module for name, module in sys.modules.items() if name.startswith("numba.cuda.")}
    beneath_names = {name: value for name, value in vars(real).items() if not name.startswith("__")}

    from autograder.simgpu.host import cuda_module

    ours = cuda_module.install()
    ours.__path__ = list(real.__path__)
    ours.__file__ = real.__file__
    for name, module in beneath.items():
        if name not in sys.modules:
            sys.modules[name] = module
    extending = _with_our_decorators(beneath["numba.cuda.extending"], vars(ours)["extending"])
    vars(ours)["extending"] = sys.modules["numba.cuda.extending"] = extending
    for name in ("config", "HAS_NUMBA", "testing", "tests", "core", "cudadrv", "utils", "compiler", "descriptor"):
        if name in beneath_names:
            ours.__dict__.setdefault(name, beneath_names[name])
    cuda_module.device.tell = lambda hazards: None
    return ours


def _with_our_decorators(theirs: types.ModuleType, ours: types.ModuleType) -> types.ModuleType:
    """The real module reaches into the compiler, which some tests look into: its decorators tell our device as well."""

    def both(name: str) -> Any:
        note, real = getattr(ours, name), getattr(theirs, name)

        def decorator(*arguments: Any, **options: Any) -> Any:
            if name == "register_jitable" and arguments:
                return real(note(*arguments), **options)
            noted, known = note(*arguments, **options), real(*arguments, **options)
            return lambda function: known(noted(function))

        return decorator

    noted = ("overload", "overload_method", "overload_attribute", "register_jitable")
    vars(theirs).update({name: both(name) for name in noted})
    return theirs


def _no_headers() -> str:
    """There are no CUDA headers here; tests that need them skip themselves."""
    raise FileNotFoundError("CUDA headers")


def _count_no_allocations(support: types.ModuleType) -> None:
    """Tests that look for leaks in the run-time system of Numba's compiled code find nothing: it does not run here."""
    leaks = getattr(support, "MemoryLeak", None)
    for name in ("memory_leak_setup", "memory_leak_teardown"):
        if hasattr(leaks, name):
            setattr(leaks, name, lambda self: None)
    for name in ("setUp", "tearDown"):
        if hasattr(getattr(support, "EnableNRTStatsMixin", None), name):
            setattr(support.EnableNRTStatsMixin, name, getattr(unittest.TestCase, name))


def register_source_of_exec() -> None:
    """Makes text that a test runs with `exec` findable, as IPython does for a cell: our device works from source."""
    plain, numbers = builtins.exec, itertools.count()

    def exec_with_source(source: Any, scope: Any = None, local: Any = None, /, **more: Any) -> None:
        caller = sys._getframe(1)
        scope = caller.f_globals if scope is None else scope
        local = (caller.f_locals if scope is caller.f_globals else scope) if local is None else local
        if isinstance(source, str):
            name = f"<exec {next(numbers)}>"
            linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
            source = compile(source, name, "exec")
        plain(source, scope, local, **more)

    builtins.exec = exec_with_source


def simulate_in_children(folder: str) -> None:
    """Has every `python -c ...` that a test starts use our device too: a sitecustomize module installs it."""
    text = (
        "import linecache, sys\n"
        "if '-c' in sys.orig_argv:\n"
        "    code = sys.orig_argv[sys.orig_argv.index('-c') + 1]\n"
        "    linecache.cache['<string>'] = (len(code), None, code.splitlines(keepends=True), '<string>')\n"
        "    from autograder.simgpu.host import cuda_module\n"
        "    cuda_module.install()\n"
    )
    with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
        file.write(text)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])


def run_in_subprocess_on_simulated_gpu(
    code: str, flags: Any = (), env: Any = None, timeout: int = 30
) -> tuple[str, str]:
    """What `numba.cuda.tests.support.run_in_subprocess` does, with the code as a script on our device."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as script:
        script.write(code)
        script.flush()
        command = [sys.executable, *flags, "-m", "autograder", "run", script.name]
        done = subprocess.run(command, capture_output=True, env=env, timeout=timeout * 4, check=True, text=True)
    return done.stdout, done.stderr


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class Results(unittest.TestResult):
    """Writes what became of each test as a line of JSON, as soon as it is known."""

    def __init__(self, out: IO[str], seconds: int) -> None:
        super().__init__()
        self.out, self.seconds = out, seconds
        self.began = 0.0
        self.told = False

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 (unittest's name)
        super().startTest(test)
        self.began, self.told = time.perf_counter(), False
        self.write(test, "started")
        _allow(self.seconds)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        _allow(0)
        super().stopTest(test)

    def write(self, test: Any, outcome: str, message: str = "") -> None:
        if outcome != "started" and self.told and not message:
            return
        self.told = outcome != "started"
        row = {"test": test.id(), "outcome": outcome, "seconds": round(time.perf_counter() - self.began, 2)}
        if message:
            row["message"] = message[:MOST_MESSAGE]
        self.out.write(json.dumps(row) + "\n")
        self.out.flush()

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self.write(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self.write(test, "skipped", reason)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        skipped = err[0].__name__ == "Skipped"  # pytest's, where a test asks for a library that is not here
        self.write(test, "skipped" if skipped else "failed", _error_text(err))

    addError = addFailure  # noqa: N815

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.write(test, "passed")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self.write(test, "failed", "passed, though Numba expects a failure")

    def addSubTest(self, test: unittest.TestCase, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.write(test, "failed", _error_text(err))


def _stop(signum: int, frame: Any) -> None:
    raise TestTooLong


def _allow(seconds: int) -> None:
    """Ends what runs after so many seconds, 0 for never. Windows has no such alarm: there a test takes what it takes."""
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, _stop)
        signal.alarm(seconds)


def _error_text(err: tuple[Any, ...]) -> str:
    kind, value, trace = err
    if kind is TestTooLong:
        return "stopped: took too long"
    text = f"{kind.__name__}: {value}"
    if os.environ.get("CONFORMANCE_TRACEBACK"):
        import traceback

        traceback.print_exception(kind, value, trace, file=sys.__stderr__)
    return " ".join(text.split())


def tests_in(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from tests_in(each)
        else:
            yield each


def plain_functions(module: types.ModuleType) -> list[types.FunctionType]:
    """Tests that are functions without arguments (a few modules are written for pytest)."""
    found = [value for name, value in vars(module).items() if name.startswith("test_") and callable(value)]
    return [each for each in found if not inspect.signature(each).parameters]


def run_each(tests: Sequence[unittest.TestCase], results: Results) -> None:
    """Runs them one after the other; a test whose time is up ends, and the run goes on."""
    for test in tests:
        _allow(0)
        try:
            test(results)
        except TestTooLong:
            results.write(test, "failed", "stopped: took too long")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("device", choices=DEVICES)
    parser.add_argument("out")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--after", default="", help="go on after this test")
    parser.add_argument("--only", default="", help="only tests whose name contains this")
    given = parser.parse_args()
    with open(given.out, "a", encoding="utf-8") as out:
        results = Results(out, given.seconds)
        try:
            if given.device == "simulated_gpu":
                install_simulated_gpu()
                register_source_of_exec()
                simulate_in_children(tempfile.mkdtemp())
            suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(given.module))
            if given.device == "simulated_gpu" and not given.module.endswith(SAME_SIZE_EVERYWHERE):
                # What is skipped was settled on import; from here on the tests leave out what they ask of compiled code
                ours, own = vars(sys.modules["numba.cuda"]), vars(sys.modules[given.module])
                vars(importlib.import_module("numba.core.config"))["ENABLE_CUDASIM"] = True
                vars(ours["config"])["ENABLE_CUDASIM"] = True
                if "ENABLE_CUDASIM" in own:
                    own["ENABLE_CUDASIM"] = True
        except BaseException as error:  # pytest's Skipped is a BaseException
            kind = "skipped" if type(error).__name__ in ("Skipped", "SkipTest") else "failed"
            out.write(json.dumps({"test": given.module, "outcome": kind, "seconds": 0, "message":
                                  f"import: {type(error).__name__}: {error}"[:MOST_MESSAGE]}) + "\n")  # fmt: skip
            if os.environ.get("CONFORMANCE_TRACEBACK"):
                raise
            return
        functions = map(unittest.FunctionTestCase, plain_functions(sys.modules[given.module]))
        chosen = [test for test in (*tests_in(suite), *functions) if given.only in test.id()]
        names = [test.id() for test in chosen]
        if given.after in names:
            chosen = chosen[names.index(given.after) + 1 :]
        with contextlib.redirect_stdout(sys.stderr):
            run_each(chosen, results)


if __name__ == "__main__":
    main()
