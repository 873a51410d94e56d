"""The results of Numba's tests as Markdown: totals by suite, a row for each module, and why tests fail, by cause."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

OUTCOMES = ("passed", "failed", "skipped")

# (what is not supported and what to use instead, pattern of the test's name or message); the first that fits counts
CAUSES = (
    ("Compiled code (PTX, LLVM IR, debug information, registers): kernels are interpreted; use autograder.profile",
     r"inspect_|compile_ptx|cuda\.compile|get_regs|get_shared_mem|get_const_mem|get_local_mem|max_cooperative|"
     r"debuginfo|lineinfo|asks for compiled code|_compile_for_args|test_inline|nvvm|nvrtc|nvjitlink|lto|LTO"),
    ("Code in C++ or PTX linked into kernels: needs a real GPU",
     r"declare_device|CUSource|linkable|LinkableCode|test_linker|cffi|ffi|libnvrtc|cubin|inline_ptx"),
    ("Numba's compiler from the inside (typing, rewriting, caching to disk, extending it with overload or lower)",
     r"overload|extending|test_caching|test_cache|Flags|CUDATypingContext|typeof|intrinsic|test_ssa|test_ir_utils|"
     r"copy_propagate|register_|lower|test_analysis|make_function|closure|\*args|TypingError|NumbaWarning|"
     r"test_dispatcher|specialization|overloads|test_serialize|pickle"),
    ("bfloat16, fp8: NumPy has no such types; use float16 or float32", r"bfloat16|bf16|fp8|ml_dtypes"),
    ("Dates, times and strings in arrays: store integers", r"datetime|timedelta|NPTimedelta|\|S\d|<U\d|string|bytes"),
    ("The driver and its contexts, handles shared between processes, several GPUs, memory managers",
     r"driver|context|ipc|Ipc|memalloc|deallocation|emm|EMM|DeviceOnly|multiprocess|fork|module_callback|nrt|NRT|"
     r"CudaSupportError|CUDA driver|libcuda|DynamicLib|host_alloc|memhost|gpu_data|device_ctypes|mempool|runtime|"
     r"CudaAPIError|reset"),
    ("Slices whose bounds differ from thread to thread: pass the array and an offset", r"bounds of a slice must be"),
    ("New arrays made inside a kernel (copy, array expressions): use cuda.local.array", r"no `\.copy`|whole array"),
    ("Numba's own warnings and the exact wording or class of its errors",
     r"DID NOT WARN|NOT RAISE|not raised|Warning|No matching definition|needs a grid and a block|ctypes|aligned"),
    ("Too much work for the time given to one test", r"took too long|process ended"),
)  # fmt: skip


def cause_of(module: str, row: dict[str, Any]) -> str:
    """Why a test fails, in the words of CAUSES; "other" where nobody has said yet."""
    text = f"{module} {row['test']} {row.get('message', '')}"
    return next((cause for cause, pattern in CAUSES if re.search(pattern, text)), "other")


def counts(rows: list[dict[str, Any]]) -> str:
    tally = Counter(row["outcome"] for row in rows)
    return " | ".join(str(tally[each]) for each in OUTCOMES)


def markdown(results: dict[str, dict[str, list[dict[str, Any]]]], public: str) -> str:
    """The whole page."""
    lines = ["# Numba's own CUDA tests on the simulated GPU", "", "Written by `run_numba_tests.py`; do not edit.", ""]
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
    """Tests that pass under Numba's simulator and fail on the simulated GPU, with the reason."""
    lines = ["| tests of | test | cause |", "|---|---|---|"]
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
                if row["outcome"] == "passed" and found is not None and found["outcome"] == "failed":
                    lines.append(f"| {whose} | {module}: {row['test'].split('.')[-1]} | {cause_of(module, found)} |")
    return lines


def write(results_file: Path, public_file: Path, table_file: Path) -> None:
    results = json.loads(results_file.read_text(encoding="utf-8"))
    table_file.write_text(markdown(results, public_file.read_text(encoding="utf-8")), encoding="utf-8")
