"""Where the measured numbers lie that lessons show."""

from __future__ import annotations

from autograder import course_folder

DATA = course_folder.folder("notebooks") / "data"
"""Beside the notebooks, whose readers open them."""
HARDWARE_COUNTERS = course_folder.PACKAGE / "simgpu" / "measurements" / "h200_counters.json"
"""What Nsight Compute read on an H200, launch by launch."""
MICROBENCHMARKS = course_folder.PACKAGE / "perfmodel" / "measurements" / "microbenchmarks.json"
"""Latencies and rates of an H200."""
