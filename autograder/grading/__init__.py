"""Grading: a lab's spec, its checks, the worker in which submissions run, class batches, and the `Result` of each.

START HERE: spec.py (how a lab is written), attempt.py (what a check can do), grade.py (one submission to a `Result`).
"""

from autograder.grading.attempt import Attempt
from autograder.grading.failures import CheckFailed
from autograder.grading.spec import Lab, check, hint
from autograder.language.requirements import Required
from autograder.records.results import Hint, Picture
from autograder.records.runs import RunRequest, Uninitialised

__all__ = ["Attempt", "CheckFailed", "Hint", "Lab", "Picture", "Required", "RunRequest", "Uninitialised", "check", "hint"]
