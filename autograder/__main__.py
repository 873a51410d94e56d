"""`python -m autograder`: the command line, started so that nothing in the current folder is imported by accident."""

import os
import sys


def _leave_current_folder_off_the_path() -> None:
    """`python -m` puts the current folder first; a submission called numpy.py in it would then be imported and run."""
    package_root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    here = os.path.realpath(os.getcwd())
    if os.path.realpath(package_root) != here:
        sys.path[:] = [each for each in sys.path if each and os.path.realpath(each) != here]


if __name__ == "__main__":
    _leave_current_folder_off_the_path()
    from autograder.cli import main

    sys.exit(main())
