"""Building the wheel: the course's folders go with the package, into `autograder/packed`. Only setuptools loads this."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools.command.build_py import build_py

# From the repository's root. No solution: of those only the figures that lesson 7 shows.
PACKED = (
    "requirements.txt",
    "pyproject.toml",
    "Makefile",
    "notebooks/*.ipynb",
    "notebooks/README.md",
    "notebooks/data/*",
    "labs/*/lab.ipynb",
    "labs/*/example_class/**/*",
    "solutions/*/calibration/counted.json",
    "solutions/*/calibration/h200.json",
)


def packed() -> list[Path]:
    """The files that are packed, from the root."""
    root = Path.cwd()
    sys.path.insert(0, str(root))  # before an older version that is installed here
    from autograder.course_folder import lab_modules

    found = {path.relative_to(root) for pattern in PACKED for path in root.glob(pattern) if path.is_file()}
    found |= {path.relative_to(root) for spec in root.glob("labs/*/spec.py") for path in lab_modules(spec.parent)}
    return sorted(path for path in found if "__pycache__" not in path.parts and ".ipynb_checkpoints" not in path.parts)


AT_EVERY_START = Path("autograder/simgpu/children/autograder_simulate.pth")  # of a Python that has the package


class BuildWithCourse(build_py):
    """Copies what is packed as well; where the package is installed to be edited, the repository has it.

    What Python runs at every start goes beside the package; for an editable installation the Makefile puts it there.
    """

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_file(str(AT_EVERY_START), str(Path(self.build_lib, AT_EVERY_START.name)))
            for path in packed():
                target = Path(self.build_lib, "autograder", "packed", path)
                self.mkpath(str(target.parent))
                self.copy_file(str(path), str(target))

    def get_source_files(self) -> list[str]:
        """For a source distribution, which is to build the same wheel."""
        return [*super().get_source_files(), str(AT_EVERY_START), *map(str, packed())]
