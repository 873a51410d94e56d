"""How many of the sectors that a warp stores to again at once L2 does not see, by the profiler: the model's MERGED_STORES.

    python -m autograder.perfmodel.measurements.merging     # prints each kernel's share and their mean

Stores of the same lanes one after another, with no load between them, are counted as `global_store_sectors_again`. Where a
kernel has none, the profiler sees one and a half times as many writes in L2 as sectors that L1 sends (half of them go to its
other half as well), whatever the kernel. How many fewer it sees where there are some, as a share of these, differs from none
to all by what lies between the stores. Kernels with local arrays are left out, for these are stored to as well.
"""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np

from autograder.perfmodel.measurements import unseen

WRITTEN_FOR_EACH = 1.5  # sectors written in L2 for each that is stored
LEAST = 0.1  # of the stores, from which on there is something to see


def shares() -> dict[str, float]:
    """By kernel of the learned half and the third set: the share that is merged, the mean of its sizes."""
    found = defaultdict[str, list[float]](list)
    for counted_file, measured_file in (
        (unseen.COUNTED, unseen.MEASURED),
        (unseen.THIRD_COUNTED, unseen.THIRD_MEASURED),
    ):
        counted = {row["case"]: row["launches"] for row in json.loads(counted_file.read_text(encoding="utf-8"))}
        form = json.loads(measured_file.read_text(encoding="utf-8"))
        for row in form["cases"]:
            if row["half"] == "held" or row["case"] not in counted:
                continue
            profiled = dict(zip(form["metrics"], row["counters"], strict=True))
            stored, again = (
                sum(each["times"] * each["counters"].get(name, 0) for each in counted[row["case"]])
                for name in ("global_store_sectors", "global_store_sectors_again")
            )
            if again > LEAST * stored and not profiled["local_store_sectors"]:
                seen = profiled["l2_write_sectors"] / WRITTEN_FOR_EACH / profiled["global_store_sectors"]
                found[row["case"].split("@")[0]].append(min(1.0, max(0.0, (1 - seen) * stored / again)))
    return {kernel: float(np.mean(each)) for kernel, each in found.items()}


def main() -> None:
    found = shares()
    for kernel, share in sorted(found.items(), key=lambda each: each[1]):
        print(f"{kernel}: {share:.2f}")
    print(f"mean of {len(found)} kernels: {np.mean(list(found.values())):.2f}")


if __name__ == "__main__":
    main()
