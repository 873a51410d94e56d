"""What `run_autograder` runs, with ROOT, and `setup.sh`, with --try SOURCE."""

from __future__ import annotations

import sys
from pathlib import Path

from autograder.gradescope.hand_in import main, try_out

sys.exit(try_out(Path(sys.argv[2])) if sys.argv[1] == "--try" else main(Path(sys.argv[1])))
