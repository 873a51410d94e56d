"""The results of Numba's tests as Markdown: totals by suite, a row for each module, and why tests fail, by cause."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

OUTCOMES = ("passed", "failed", "skipped")

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


def counts(rows: list[dict[str, Any]]) -> str:
    tally = Counter(row["outcome"] for row in rows)
    return " | ".join(str(tally[each]) for each in OUTCOMES)


def markdown(results: dict[str, dict[str, list[dict[str, Any]]]], public: str) -> str:
    """The whole page."""
    lines = ["# Numba's own CUDA tests on the simulated GPU", "", *HOW, ""]
    lines += ["| tests of | on | suite | passed | failed | skipped |", "|---|---|---|---|---|---|"]
    for key, modules in results.items():
        whose, device = key.split(" on ")
        for suite in sorted({module.split(".")[0] for module in modules}, reverse=True):
            rows = [row for module, found in modules.items() if module.startswith(suite) for row in found]
            lines.append(f"| {whose} | {device.replace('_', ' ')} | {suite} | {counts(rows)} |")
    lines += ["", "## Passed by Numba's simulator and not here", "", *_behind(results)]
    for key, modules in results.items():
        if not key.endswith("simulated_gpu"):
            continue
        lines += ["", f"## {key.replace('_', ' ')}: why tests fail", "", "| tests | cause |", "|---|---|"]
        causes = Counter(cause_of(m, r) for m, rows in modules.items() for r in rows if r["outcome"] == "failed")
        lines += [f"| {number} | {cause} |" for cause, number in causes.most_common()]
        lines += ["", f"## {key.replace('_', ' ')}: module by module", ""]
        lines += ["| module | passed | failed | skipped | first of what failed |", "|---|---|---|---|---|"]
        for module, rows in modules.items():
            failed = [row for row in rows if row["outcome"] == "failed"]
            first = _escaped(failed[0]) if failed else ""
            lines.append(f"| {module} | {counts(rows)} | {first} |")
    return "\n".join([*lines, "", public.strip(), ""])


def _escaped(row: dict[str, Any]) -> str:
    text = re.sub(r"/\S*/", "", row.get("message", ""))[:120]
    return f"{row['test'].split('.')[-1]}: {text}".replace("|", "\\|").replace("<", "&lt;")


def _behind(results: dict[str, dict[str, list[dict[str, Any]]]]) -> list[str]:
    """Tests that pass under Numba's simulator and not on the simulated GPU, with the reason."""
    lines, own = ["| tests of | test | cause |", "|---|---|---|"], []
    for key, theirs in results.items():
        whose, device = key.split(" on ")
        ours = results.get(f"{whose} on simulated_gpu")
        if device != "numba_simulator" or ours is None:
            continue
        for module, rows in theirs.items():
            mine = {row["test"]: row for row in ours.get(module, [])}
            whole = next((row for row in mine.values() if row.get("message", "").startswith("import:")), None)
            for row in rows:
                found = mine.get(row["test"], whole)
                if row["outcome"] == "passed" and found is not None and found["outcome"] == "skipped":
                    own.append(f"`{module}: {row['test'].split('.')[-1]}`")
                if row["outcome"] == "passed" and found is not None and found["outcome"] == "failed":
                    lines.append(f"| {whose} | {module}: {row['test'].split('.')[-1]} | {cause_of(module, found)} |")
    about = f"Tests of that simulator itself, which skip themselves everywhere else: {', '.join(own)}."
    return [*lines, "", about] if own else lines


def write(results_file: Path, public_file: Path, table_file: Path) -> None:
    results = json.loads(results_file.read_text(encoding="utf-8"))
    table_file.write_text(markdown(results, public_file.read_text(encoding="utf-8")), encoding="utf-8")
