"""The results of Numba's tests as Markdown: totals by suite, a row for each module, and why tests fail, by cause."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OUTCOMES = ("passed", "failed", "skipped")
SIMULATED_GPU = "simulated_gpu"
IMPORT = "the whole module"  # a test that stands for all of a module that cannot be imported

HOW = (
    "Written by `run_numba_tests.py`; do not edit. What a test skips is settled as for a GPU of compute capability 9.0;",
    "while tests run, Numba's ENABLE_CUDASIM is set, which is how they ask whether there is compiled code to look at.",
    "Causes are told by module and message. Numba's simulator skips by itself most of what it cannot do.",
)

# (what is not supported and what to use instead, modules that are about nothing else, what a failure's message says);
# the first that fits counts
CAUSES = (
    ("Too much work for the time given to one test", "", r"took too long|process ended"),
    ("Compiled code (PTX, LLVM IR, debug information, registers, line tables): kernels are interpreted; "
     "use autograder.profile",
     r"debuginfo|lineinfo|test_inspect|test_debug$|optimization|test_nvvm|test_compiler|test_ipc_ptx",
     r"asks for compiled code|cuda\.compile|compile_ptx|_compile_for_args|has no attribute '(values|items|compile_device)'|"
     r"_Compiled|NVVM|nvvm"),
    ("libdevice: the common functions are there, of the others not all; use math", r"test_libdevice", r"libdevice"),
    ("Code in C++ or PTX linked into kernels: needs a real GPU",
     r"linkable|test_linker|cffi|test_ffi|nvrtc|nvjitlink|inline_ptx", r"declare_device|CUSource|libnvrtc|cffi"),
    ("bfloat16 and fp8: NumPy has no such types; use float16 or float32", r"bfloat16|fp8", r"bfloat16|fp8"),
    ("Numba's compiler from the inside: typing, rewriting, caching on disk, pickling, new types and attributes",
     r"extending|overload|caching|test_ssa|ir_utils|copy_propagate|test_analysis|make_function|dispatcher|serialize|"
     r"launch_config_sensitive|numba_interop|test_warning|sm_creation",
     r"TypingError|StructModelType|_numba_type_|NumbaWarning|Flags|ordinary Python function|\*args|Nonlocal"),
    ("The driver and its contexts, streams of other libraries, handles shared between processes, memory managers",
     r"driver|context|test_ipc|emm|dealloc|multiprocess|multithreads|module_callbacks|nrt|host_alloc|managed|reset|init",
     r"CudaSupportError|DynamicLib|CudaAPIError|SimulatedContext|gpu_data|ipc|'stream'|memory_manager|'driver'|uuid|"
     r"require an cuda ndarray"),
    ("Arrays of other libraries captured as globals: pass them as arguments", r"device_array_capture", r"ForeignArray"),
    ("New arrays made inside a kernel (array expressions): use cuda.local.array", "", r"whole array|new array"),
    ("Addresses of shared and local arrays, and a given alignment: arrays start on 16 bytes", "alignment", r"\.ctypes"),
    ("The device array interface of pinned and managed memory and of streams", r"cuda_array_interface", r"__cuda_array"),
    ("A ufunc's options and arguments are not checked as strictly as Numba's", r"vectorize|gufunc", r"gufunc accepts"),
    ("A transposed device array is a view here, and a copy in Numba", r"transpose", r"like_2d_view_transpose|\(40, 8\)"),
    ("Errors and warnings that Numba raises at compile or launch time, or words differently",
     r"test_errors", r"DID NOT WARN|not raised|needs a grid and a block|not found in|Should raise"),
    ("Needs a library that is not installed", "", r"could not import|No module named"),
)  # fmt: skip


def cause_of(module: str, row: dict[str, Any]) -> str:
    """Why a test fails, in the words of CAUSES; "other" where nobody has looked closer yet."""
    message = row.get("message", "")
    for cause, modules, messages in CAUSES:
        if re.search(messages, message) or modules and re.search(modules, module):
            return cause
    return "other"


@dataclass(frozen=True)
class Module:
    """What became of a module's tests, as far as anybody looks: of what passes and is skipped, the names.

    On the simulated GPU most tests pass, and what does not is named; Numba's simulator skips most, and what passes is named.
    """

    counts: tuple[int, int, int]  # by OUTCOMES
    failed: dict[str, list[str]] = field(default_factory=dict)  # by cause
    first: str = ""  # what the first of them says
    skipped: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    def cause(self, test: str) -> str | None:
        """Why a test fails; also where its module could not be imported. None where it does not."""
        return next((cause for cause, tests in self.failed.items() if test in tests or IMPORT in tests), None)


Results = dict[str, dict[str, Module]]  # "numba-cuda 0.30.4 on simulated_gpu" -> module -> its tests


def reduced(module: str, rows: list[dict[str, Any]], device: str) -> Module:
    """What is kept of a module's rows (`run_numba_tests.run_module`)."""
    names: dict[str, list[str]] = {outcome: [] for outcome in OUTCOMES}
    failed: dict[str, list[str]] = {}
    first = ""
    for row in rows:
        is_import = row.get("message", "").startswith("import:")
        names[row["outcome"]].append(IMPORT if is_import else row["test"])
        if row["outcome"] == "failed":
            failed.setdefault(cause_of(module, row), []).append(names["failed"][-1])
            first = first or _escaped(row)
    counts = (len(names["passed"]), len(names["failed"]), len(names["skipped"]))
    if device == SIMULATED_GPU:
        return Module(counts, failed, first, skipped=names["skipped"])
    return Module(counts, failed, first, passed=names["passed"])


def read(path: Path) -> Results:
    """The results in a file; none where there is no file."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return {key: {name: _module(given) for name, given in modules.items()} for key, modules in found.items()}


def _module(given: dict[str, Any]) -> Module:
    passed, failed, skipped = given.pop("counts")
    return Module((passed, failed, skipped), **given)


def save(path: Path, results: Results) -> None:
    """Writes the results, a module a line."""
    parts = []
    for key, modules in results.items():
        lines = []
        for name, module in modules.items():
            kept = {field: value for field, value in vars(module).items() if value}
            lines.append(f"  {json.dumps(name)}: {json.dumps(kept)}")
        parts.append(f" {json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n }")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _sums(modules: Iterable[Module]) -> str:
    return " | ".join(str(sum(each)) for each in zip(*(module.counts for module in modules), strict=True))


def markdown(results: Results) -> str:
    """The whole page."""
    lines = ["# Numba's own CUDA tests on the simulated GPU", "", *HOW, ""]
    lines += ["| tests of | on | suite | passed | failed | skipped |", "|---|---|---|---|---|---|"]
    for key, modules in results.items():
        whose, device = key.split(" on ")
        for suite in sorted({module.split(".")[0] for module in modules}, reverse=True):
            sums = _sums(found for module, found in modules.items() if module.startswith(suite))
            lines.append(f"| {whose} | {device.replace('_', ' ')} | {suite} | {sums} |")
    lines += ["", "## Passed by Numba's simulator and not here", "", *_behind(results)]
    for key, modules in results.items():
        if not key.endswith(SIMULATED_GPU):
            continue
        lines += ["", f"## {key.replace('_', ' ')}: why tests fail", "", "| tests | cause |", "|---|---|"]
        causes = Counter(cause for found in modules.values() for cause, tests in found.failed.items() for _ in tests)
        lines += [f"| {number} | {cause} |" for cause, number in causes.most_common()]
        lines += ["", f"## {key.replace('_', ' ')}: module by module", ""]
        lines += ["| module | passed | failed | skipped | first of what failed |", "|---|---|---|---|---|"]
        lines += [f"| {name} | {_sums([found])} | {found.first} |" for name, found in modules.items()]
    return "\n".join([*lines, ""])


def _escaped(row: dict[str, Any]) -> str:
    text = re.sub(r"/\S*/", "", row.get("message", ""))[:120]
    return f"{row['test'].split('.')[-1]}: {text}".replace("|", "\\|").replace("<", "&lt;")


def _behind(results: Results) -> list[str]:
    """Tests that pass under Numba's simulator and not on the simulated GPU, with the reason."""
    lines, own = ["| tests of | test | cause |", "|---|---|---|"], []
    for key, theirs in results.items():
        whose, device = key.split(" on ")
        ours = results.get(f"{whose} on {SIMULATED_GPU}")
        if device == SIMULATED_GPU or ours is None:
            continue
        for name, found in theirs.items():
            for test in found.passed if name in ours else ():
                cause, short = ours[name].cause(test), test.split(".")[-1]
                if cause is not None:
                    lines.append(f"| {whose} | {name}: {short} | {cause} |")
                elif test in ours[name].skipped:
                    own.append(f"`{name}: {short}`")
    about = f"Tests of that simulator itself, which skip themselves everywhere else: {', '.join(own)}."
    return [*lines, "", about] if own else lines


def write(results_file: Path, table_file: Path) -> None:
    """Writes the page of the results in a file."""
    table_file.write_text(markdown(read(results_file)), encoding="utf-8")
