"""Times lab 5's answers as ordinary Numba code, without the grader: python time_answers.py, on a machine with a CUDA GPU.

Writes times_h200.json beside it: microseconds of one call of `histogram` on 2^20 items and 256 bins, between two CUDA
events, after L2 was filled with other data and while a delay keeps Python's part out; the median of five calls, after each
answer's result was compared with NumPy's. Answers that say `# not timed:` are left out, as are those with wrong results.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
from numba import cuda

from autograder.cudagpu.conditions import Flush
from autograder.grading.histograms import SKEW

HERE = Path(__file__).resolve().parent
BASELINE = HERE.parents[2] / "labs" / "lab05_histogram" / "baseline.py"
ITEMS, BINS, CALLS = 2**20, 256, 5
DELAY_NS = 3e5
BOUNDS = (66, 132, 264, 396, 1056, 2112)


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def modules() -> dict[str, ModuleType]:
    """Name -> the answer as a module, and the solution's kernel under other bounds of the grid."""
    found = {"baseline": loaded(BASELINE)}
    for kind in ("right", "wrong"):
        for path in sorted((HERE.parent / kind).glob("*.py")):
            if "\n# not timed:" not in path.read_text(encoding="utf-8"):
                found[f"{kind}/{path.stem}"] = loaded(path)
    for blocks in BOUNDS:
        found[f"at most/{blocks} blocks"] = loaded(HERE.parent / "right" / "grid_stride_loop.py")
        found[f"at most/{blocks} blocks"].MOST_BLOCKS = blocks  # type: ignore[attr-defined]
    return found


def microseconds(module: ModuleType, items: object, bins: object, flush: Flush) -> float:
    """One call of `histogram`."""
    flush.delay(DELAY_NS)
    flush()
    start, end = cuda.event(), cuda.event()
    start.record()
    module.histogram(items, bins)
    end.record()
    end.synchronize()
    return 1e3 * cuda.event_elapsed_time(start, end)


def main() -> None:
    rng, flush, answers = np.random.default_rng(1), Flush(), modules()
    kinds = {
        "uniform": rng.integers(0, BINS, ITEMS),
        "one value": np.full(ITEMS, 77),
        "zipf": (rng.zipf(SKEW, ITEMS) - 1) % BINS,
    }
    times: dict[str, dict[str, float]] = {kind: {} for kind in kinds}
    for kind, host in kinds.items():
        items, bins = cuda.to_device(host.astype(np.int32)), cuda.device_array(BINS, np.int32)
        for name, module in answers.items():
            microseconds(module, items, bins, flush)  # compiles
            if np.array_equal(bins.copy_to_host(), np.bincount(host, minlength=BINS)):
                calls = sorted(microseconds(module, items, bins, flush) for _ in range(CALLS))
                times[kind][name] = round(calls[CALLS // 2], 1)
    device = cuda.get_current_device().name
    form = {"what": __doc__, "device": device if isinstance(device, str) else device.decode(), "microseconds": times}
    (HERE / "times_h200.json").write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
