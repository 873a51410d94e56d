"""What `mypy --strict` finds in the package and the labs: nothing. A core checks types while another runs tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autograder.tests.test_layout_repository import ROOT

pytestmark = pytest.mark.long(45)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="NumPy for Python 3.10 has too few types of its own")
def test_types_are_right() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
