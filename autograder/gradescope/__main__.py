"""What `run_autograder` runs."""

from __future__ import annotations

import sys
from pathlib import Path

from autograder.gradescope.hand_in import main

sys.exit(main(Path(sys.argv[1])))
