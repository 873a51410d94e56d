"""The speed check of a real lab carries its pictures: what each resource needs, and the kernel under the roof."""

from __future__ import annotations

from autograder.grading.grade import check_submission
from autograder.grading.labs import labs_root, load_lab
from autograder.grading.worker import Worker


def test_an_estimated_speed_is_shown_as_bars_and_on_the_roofline():
    lab = load_lab("lab01")
    solution = labs_root().parent / "solutions" / lab.name / "lab.ipynb"
    with Worker("simulated") as worker:
        result = check_submission(lab, solution, worker=worker)
    (speed,) = [check for check in result.checks if check.source == "simulated"]
    bars, roof = speed.pictures
    assert "each resource" in bars.alt and " ms" in bars.alt
    assert "matmul_kernel" in roof.alt and "FLOP" in roof.alt
    assert all(picture.svg.startswith("<svg") for picture in speed.pictures)
