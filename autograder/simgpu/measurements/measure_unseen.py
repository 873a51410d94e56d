"""Times the unseen cases on the GPU at hand, runs each once under Nsight Compute, and writes unseen_measured.json.

    python -m autograder.simgpu.measurements.measure_unseen times LINES [options]       # needs a GPU
    python -m autograder.simgpu.measurements.measure_unseen counters LINES [options]    # needs ncu as well
    python -m autograder.simgpu.measurements.measure_unseen join LINES...               # needs neither

The first two add lines to a file, each as soon as it is there, and leave cases alone that the file has already: a run
that was cut off goes on where it ended. `--part 1/2` with CUDA_VISIBLE_DEVICES=0 and `--part 2/2` with
CUDA_VISIBLE_DEVICES=1 share the work between two GPUs (a file each); `join` makes one table of the files. A case that
fails is noted with its error, and the next one goes on; `--again` takes those up once more.

Several processes at a time make arguments and compile, but a lock lets one alone use each GPU. Before a case is timed it
runs at its small size, and is held against NumPy. Its arguments are the same before each launch, and L2 then holds nothing
of them and no dirty line (`validation.Flush`). Times are medians of five, taken again where these differ by more than a
third: between CUDA events around all launches of a case, which the GPU finds waiting; and for chains also by the host's
clock, from before the first launch, the GPU being idle, to the end of the last one.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from autograder import perfmodel
from autograder.simgpu.measurements.measured_lines import add_choice, append_line, chosen, lines_of
from autograder.simgpu.measurements.sizing import Arguments, SizedCase, SizedLaunch
from autograder.simgpu.measurements.unseen_cases import ALL_CASES, CASES

RESULT = Path(perfmodel.__file__).parent / "measurements" / "unseen_measured.json"
WARM_UP, REPEATS = 1, 5
ATTEMPTS, UNSTEADY = 3, 1.35  # times that differ by more were disturbed by something else: they are taken again
AT_ONCE = 6  # cases that a process works on
CHILD_SECONDS = 400
MIDDLE_NS, LARGE_NS = (1e4, 2.5e5), (2e5, 6e6)  # times that the sizes are to have; `join` names those that have others
BY_NAME = {case.name: case for case in ALL_CASES}
FAILED = 3  # a child's exit status: its GPU context may be broken, and what is left needs a new one

PIPES = ("adu", "alu", "cbu", "fma", "fmaheavy", "fmalite", "fp16", "fp64", "lsu", "tex", "uniform", "xu")
STALLS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard",
    "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction", "not_selected", "selected",
    "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
BUSY, ELAPSED = "avg.pct_of_peak_sustained_active", "avg.pct_of_peak_sustained_elapsed"

# Name in the result -> the profiler's metric. Those that this version of the profiler has no name for are left out.
METRICS = {
    "ns": "gpu__time_duration.sum",
    "instructions": "smsp__inst_executed.sum",
    "issued": "smsp__inst_issued.sum",
    "threads_per_instruction": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "threads_on_per_instruction": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    **{f"pipe_{pipe}": f"sm__inst_executed_pipe_{pipe}.sum" for pipe in PIPES},
    **{f"pipe_{pipe}_busy": f"sm__pipe_{pipe}_cycles_active.{BUSY}" for pipe in ("alu", "fma", "fmaheavy", "fp64")},
    **{f"pipe_{pipe}_busy": f"sm__inst_executed_pipe_{pipe}.{BUSY}" for pipe in ("lsu", "xu", "uniform", "adu")},
    **{
        f"{space}_{name}_{what}": f"l1tex__t_{what}_pipe_lsu_mem_{space}_op_{op}.sum"
        for space, names in (("global", ("load", "store", "red", "atom")), ("local", ("load", "store")))
        for name, op in zip(names, ("ld", "st", "red", "atom"), strict=False)
        for what in ("requests", "sectors")
    },
    "global_load_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "global_store_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum",
    "local_load_hits": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum",
    "local_store_hits": "l1tex__t_sectors_pipe_lsu_mem_local_op_st_lookup_hit.sum",
    "l1_hit_rate": "l1tex__t_sector_hit_rate.pct",
    "l1_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l2_hit_rate": "lts__t_sector_hit_rate.pct",
    **{f"l2_{op}_sectors": f"lts__t_sectors_op_{op}.sum" for op in ("read", "write", "red", "atom")},
    "l2_sectors_of_l1": "lts__t_sectors_srcunit_tex.sum",
    "l2_hits_of_l1": "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "l2_requests_of_l1": "lts__t_requests_srcunit_tex.sum",
    "dram_bytes_read": "dram__bytes_read.sum",
    "dram_bytes_written": "dram__bytes_write.sum",
    "achieved_occupancy": f"sm__warps_active.{BUSY}",
    "cycles": "sm__cycles_elapsed.max",
    "sm_cycles_active": "sm__cycles_active.avg",
    "issue_busy": f"smsp__issue_active.{BUSY}",
    "warps_active": "smsp__warps_active.avg.per_cycle_active",
    "warps_eligible": "smsp__warps_eligible.avg.per_cycle_active",
    **{f"stall_{why}": f"smsp__average_warps_issue_stalled_{why}_per_issue_active.ratio" for why in STALLS},
    "sm_throughput": f"sm__throughput.{ELAPSED}",
    "memory_throughput": f"gpu__compute_memory_throughput.{ELAPSED}",
    "l1_throughput": f"l1tex__throughput.{BUSY}",
    "l2_throughput": f"lts__throughput.{ELAPSED}",
    "dram_throughput": f"gpu__dram_throughput.{ELAPSED}",
    "registers": "launch__registers_per_thread",
    "waves": "launch__waves_per_multiprocessor",
    "blocks_by_registers": "launch__occupancy_limit_registers",
    "blocks_by_shared": "launch__occupancy_limit_shared_mem",
    "blocks_by_warps": "launch__occupancy_limit_warps",
}
MOST_OF_LAUNCHES = ("registers", "waves", "blocks_by_registers", "blocks_by_shared", "blocks_by_warps")


@contextmanager
def the_gpu_alone() -> Iterator[None]:
    """One process at a time uses the GPU that CUDA_VISIBLE_DEVICES names."""
    which = os.environ.get("CUDA_VISIBLE_DEVICES", "0").replace(",", "_").replace("/", "_")
    with FileLock(Path(tempfile.gettempdir()) / f"measure_unseen_gpu_{which}.lock"):
        yield


# -- on the device: children of this command ------------------------------------------------------------------------


def compile_for(case: SizedCase, arguments: Arguments) -> None:
    """Compiles a case's kernels for these arguments (of the host), which needs no GPU to itself."""
    from numba import typeof

    for launch in {id(each.kernel): each for each in case.launches(arguments)}.values():
        launch.kernel.compile(tuple(typeof(each) for each in launch.arguments))


def on_device(arguments: Arguments) -> Arguments:
    from numba import cuda

    return tuple(cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in arguments)


def start(case: SizedCase, arguments: Arguments) -> None:
    """Launches a case, and does not wait for its end."""
    for each in case.launches(arguments):
        each.kernel[each.grid, each.block, 0, each.shared_bytes](*each.arguments)


def is_right(case: SizedCase) -> bool:
    """Whether the case leaves what its reference says; for small sizes."""
    from numba import cuda

    made = case.make_arguments()
    wanted = tuple(each.copy() if isinstance(each, np.ndarray) else each for each in made)
    case.of.reference(*wanted)
    arguments = on_device(made)
    start(case, arguments)
    cuda.synchronize()
    found = tuple(each.copy_to_host() if isinstance(one, np.ndarray) else each
                  for each, one in zip(arguments, made, strict=True))  # fmt: skip
    pairs = zip(case.of.seen(*found), case.of.seen(*wanted), strict=True)
    return all(is_close(one, other) for one, other in pairs if isinstance(one, np.ndarray))


def is_close(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.names:
        return all(is_close(one[name], other[name]) for name in one.dtype.names)
    return bool(np.allclose(one, other, rtol=2e-3, atol=2e-3, equal_nan=True))


def time_case(case: SizedCase, flush: Any) -> dict[str, Any]:
    """Nanoseconds of a case, from equal arguments each time."""
    from numba import cuda

    made = case.make_arguments()
    launches = case.launches(made)
    with the_gpu_alone():
        kept, arguments = on_device(made), on_device(made)
        events, by_host = list[float](), list[int]()
        for _ in range(ATTEMPTS):
            events = []
            for _ in range(WARM_UP + REPEATS):
                prepare(arguments, kept, flush)
                first, last = cuda.event(), cuda.event()
                first.record()
                start(case, arguments)
                last.record()
                last.synchronize()
                events.append(1e6 * cuda.event_elapsed_time(first, last))
            events = events[WARM_UP:]
            if max(events) < UNSTEADY * min(events):
                break
        for _ in range(REPEATS if len(launches) > 1 else 0):
            prepare(arguments, kept, flush)
            cuda.synchronize()
            began = time.perf_counter_ns()
            start(case, arguments)
            cuda.synchronize()
            by_host.append(time.perf_counter_ns() - began)
        del kept, arguments
    return {
        "ns": round(float(np.median(events))),
        "spread": round(max(events) / min(events) - 1, 3),
        **({"host_ns": round(float(np.median(by_host)))} if by_host else {}),
        "launches": len(launches),
        "bytes": sum(each.nbytes for each in made if isinstance(each, np.ndarray)),
        "registers": registers_of(launches),
    }


def prepare(arguments: Arguments, kept: Arguments, flush: Any) -> None:
    """Makes the arguments what they were, and empties L2; the host does not wait for it."""
    for one, other in zip(arguments, kept, strict=True):
        if hasattr(one, "copy_to_device"):
            one.copy_to_device(other)
    flush()
    flush()  # half a millisecond together, in which the host comes to launch what is timed


def registers_of(launches: Iterable[SizedLaunch]) -> list[int]:
    """Registers a thread of each kernel, once it was launched."""
    kernels = {id(each.kernel): each.kernel for each in launches}.values()
    return [max(each.get_regs_per_thread().values()) for each in kernels]


def child_times(names: Sequence[str], out: Path) -> int:
    from autograder.perfmodel.measurements.validation import FillL2

    flush, right = None, {}
    for name in names:
        try:
            case = BY_NAME[name]
            small = case.of.case(case.of.small)
            compile_for(case, small.make_arguments())
            with the_gpu_alone():
                flush = flush or FillL2()
                if case.of.name not in right:
                    right[case.of.name] = is_right(small)
            append_line(out, {"case": name, "times": {"right": right[case.of.name], **time_case(case, flush)}})
        except Exception as error:
            append_line(out, {"case": name, "times": {"error": error_text(error)}})
            return FAILED
    return 0


def child_counters(names: Sequence[str], out: Path) -> int:
    """What the profiler watches: each case once; after each a line says which kernels were launched."""
    from numba import cuda

    for name in names:
        try:
            case = BY_NAME[name]
            made = case.make_arguments()
            compile_for(case, made)
            with the_gpu_alone():
                arguments = on_device(made)
                start(case, arguments)
                cuda.synchronize()
                kernels = [each.kernel.py_func.__name__ for each in case.launches(arguments)]
                del arguments
            append_line(out, {"case": name, "kernels": kernels})
        except Exception as error:
            append_line(out, {"case": name, "counters": {"error": error_text(error)}})
            return FAILED
    return 0


def error_text(error: BaseException) -> str:
    """An error in one line."""
    traceback.print_exc()
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


# -- on the host: what is measured next --------------------------------------------------------------------------


def run_all(kind: str, given: argparse.Namespace) -> int:
    """Hands the chosen cases that are not measured to children, a few at a time; returns how many failed."""
    known = {name: row[kind] for name, row in lines_of(given.lines).items() if kind in row}
    names = [case.name for case in chosen(given)
             if case.name not in known or given.again and "error" in known[case.name]]  # fmt: skip
    metrics = known_metrics() if kind == "counters" else {}
    print(
        f"{len(names)} cases to do, {len(known)} known", *metrics and [f"{len(metrics)} metrics"], sep=", ", flush=True
    )
    ends, lock = time.monotonic() + given.limit, threading.Lock()
    failed: list[str] = []

    def work_on(group: list[str]) -> None:
        left = list(group)
        while left and time.monotonic() < ends:
            with tempfile.TemporaryDirectory() as folder:
                rows = in_a_child(kind, left, Path(folder), metrics)
            if not rows:
                rows = [{"case": left[0], kind: {"error": "the process ended, and said nothing"}}]
            with lock:
                for row in rows:
                    append_line(given.lines, row)
                    print(row["case"], json.dumps(row[kind])[:150], sep="\t", flush=True)
                    failed.extend([row["case"]] if "error" in row[kind] else [])
            done = {row["case"] for row in rows}
            left = [name for name in left if name not in done]

    groups = [names[i : i + AT_ONCE] for i in range(0, len(names), AT_ONCE)]
    with ThreadPoolExecutor(given.processes) as pool:
        list(pool.map(work_on, groups))
    missing = [name for name in names if kind not in lines_of(given.lines).get(name, {})]
    print(f"failed: {' '.join(failed) or 'none'}; not reached: {len(missing)}", flush=True)
    return len(failed)


def in_a_child(kind: str, names: Sequence[str], folder: Path, metrics: Mapping[str, str]) -> list[dict[str, Any]]:
    """What a process of its own measured of these cases: those it came to."""
    out = folder / "lines"
    command = [
        sys.executable,
        "-m",
        "autograder.simgpu.measurements.measure_unseen",
        f"child_{kind}",
        str(out),
        *names,
    ]
    if kind == "counters":
        command = [
            "ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
            "--metrics", ",".join(metrics.values()), *command,
        ]  # fmt: skip
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        page, words = child.communicate(timeout=CHILD_SECONDS)
    except subprocess.TimeoutExpired:
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)  # the profiler and what it watches, which may hold the lock
        page, words = child.communicate()
    rows = list(lines_of(out).values())
    if kind == "counters":
        rows = by_case(page.splitlines(), rows, metrics)
    if len(rows) < len(names) or any("error" in row.get(kind, {}) for row in rows):
        sys.stderr.write("\n".join([*words.splitlines()[-12:], *page.splitlines()[-3:]])[-3000:] + "\n")
    return rows


def by_case(
    page: Iterable[str], launched: Iterable[Mapping[str, Any]], metrics: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The profiler's rows by case; a case whose launches it did not see in order is an error."""
    rows = (row for row in csv.DictReader(line for line in page if line.startswith('"')) if row["Kernel Name"])
    found: list[dict[str, Any]] = []
    for case in launched:
        if "kernels" not in case:
            found.append(dict(case))
            continue
        seen = [row for _, row in zip(case["kernels"], rows, strict=False)]
        named = [name in row["Kernel Name"] for name, row in zip(case["kernels"], seen, strict=False)]
        if len(seen) < len(case["kernels"]) or not all(named):
            found.append({"case": case["case"], "counters": {"error": f"the profiler saw {len(seen)} of its launches"}})
            break  # what follows cannot be told apart
        found.append({"case": case["case"], "counters": together([read(row, metrics) for row in seen])})
    return found


def read(row: Mapping[str, str], metrics: Mapping[str, str]) -> dict[str, float]:
    """A row's numbers by their names here."""
    found = {}
    for name, metric in metrics.items():
        try:
            found[name] = float(row.get(metric, "").split("(")[0].replace(",", ""))
        except ValueError:  # "n/a", or not there
            continue
    return found


def together(launches: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Counters of several launches: sums, the most of what a launch has once, and of rates the mean over time."""
    result: dict[str, float] = {"launches": len(launches)}
    for name in METRICS:
        values = [each[name] for each in launches if name in each]
        if len(values) < len(launches):
            continue
        if name in MOST_OF_LAUNCHES:
            value = max(values)
        elif METRICS[name].endswith(".sum"):
            value = sum(values)
        else:
            value = float(np.average(values, weights=[max(1.0, each.get("ns", 1.0)) for each in launches]))
        result[name] = short(value)
    return result


def short(value: float) -> float:
    """A whole number as such, others with five digits."""
    return int(value) if value == int(value) else float(f"{value:.5g}")


def known_metrics() -> dict[str, str]:
    """METRICS as far as this profiler has them for the GPU at hand; all, where it does not say."""
    try:
        asked = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, timeout=120)
        names = {line.split()[0] for line in asked.stdout.splitlines() if "__" in line.split(" ")[0]}
    except (OSError, subprocess.TimeoutExpired):
        names = set()
    if len(names) < 100:
        print("The profiler does not say which metrics it has: all are asked for.", file=sys.stderr)
        return METRICS
    known = {name: metric for name, metric in METRICS.items()
             if metric.startswith("launch__") or metric.split(".")[0] in names}  # fmt: skip
    print("not known to the profiler:", *(METRICS.keys() - known.keys()), file=sys.stderr)
    return known


# -- one table -----------------------------------------------------------------------------------------------------


def join(files: Sequence[Path], target: Path, cases: Sequence[SizedCase] = CASES) -> None:
    """Writes a table of all lines: a head, and a line for each case, its counters in the order of the head's metrics."""
    rows: dict[str, dict[str, Any]] = {}
    for file in files:
        for name, row in lines_of(file).items():
            rows.setdefault(name, {}).update(row)
    names = ["launches", *METRICS]
    lines = []
    for case in cases:
        row = rows.get(case.name, {})
        times, counters = row.get("times", {"error": "not measured"}), row.get("counters", {"error": "not measured"})
        numbers = counters if "error" in counters else [counters.get(name) for name in names]
        lines.append({"case": case.name, "half": case.half, "times": times, "counters": numbers})
    head = json.dumps({**described(rows), "metrics": {"launches": "kernels launched", **METRICS}}, indent=1)
    body = ",\n".join(json.dumps(line) for line in lines)
    target.write_text(f'{head[:-2]},\n "cases": [\n{body}\n ]\n}}\n', encoding="utf-8")
    timed, counted = (sum("error" not in line[what] for line in lines) for what in ("times", "counters"))
    print(f"{target.name}: {len(lines)} cases, {timed} timed, {counted} with counters")
    ns = {name: row["times"]["ns"] for name, row in rows.items() if "ns" in row.get("times", {})}
    for size, (least, most) in (("middle", MIDDLE_NS), ("large", LARGE_NS)):
        asked = (case.name for case in cases if case.size == getattr(case.of, size))
        others = [f"{name} ({ns[name] / 1e3:.1f})" for name in asked if name in ns and not least <= ns[name] <= most]
        print(f"of {size} size, but not {least / 1e3:g} to {most / 1e3:g} us:", *others or ["none"])
    wrong = [name for name, row in rows.items() if row.get("times", {}).get("right") is False]
    print("not what NumPy says:", *wrong or ["none"])


def measured(file: Path = RESULT) -> dict[str, dict[str, Any]]:
    """The table's rows by case, with their counters by name; only those that have both times and counters."""
    table = json.loads(file.read_text(encoding="utf-8"))
    return {
        row["case"]: {**row, "counters": dict(zip(table["metrics"], row["counters"], strict=True))}
        for row in table["cases"]
        if "error" not in row["times"] and isinstance(row["counters"], list)
    }


def described(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The GPU and versions that the lines were measured with: what `times` and `counters` put in their first line."""
    found: dict[str, Any] = dict(rows.get("", {}).get("described", {}))
    return found


def describe(lines: Path) -> None:
    """Notes in the file, once, on what is measured."""
    if "" in lines_of(lines):
        return
    from autograder.simgpu.measurements.read_counters import ProfilerFailed, description

    try:
        append_line(lines, {"case": "", "described": description()})
    except (ProfilerFailed, OSError, IndexError, ValueError) as error:
        print(f"The GPU is not described: {error}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] in (["child_times"], ["child_counters"]):
        child = child_times if arguments[0] == "child_times" else child_counters
        return child(arguments[2:], Path(arguments[1]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("times", "counters", "join"))
    parser.add_argument("lines", type=Path, nargs="+", help="file of lines; for `join` several")
    parser.add_argument("--out", type=Path, default=RESULT, help="what `join` writes")
    add_choice(parser)
    parser.add_argument("--processes", type=int, default=6, help="at a time")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no more processes are started")
    parser.add_argument("--again", action="store_true", help="measure those cases again that failed")
    given = parser.parse_args(arguments)
    if given.what == "join":
        join(given.lines, given.out, chosen(given))
        return 0
    given.lines = given.lines[0]
    if given.what == "counters" and not shutil.which("ncu"):
        print("Nsight Compute's `ncu` is not on the PATH.", file=sys.stderr)
        return FAILED
    describe(given.lines)
    return 1 if run_all(given.what, given) else 0


if __name__ == "__main__":
    sys.exit(main())
