"""Grading at the hand-in, on Gradescope or in any container: `autograder gradescope LAB`.

`building` makes the zip that an instructor uploads: the grader, one lab, and `files/`, the scripts that Gradescope runs.
There `python -m autograder.gradescope ROOT` (`hand_in`) grades what one student handed in. What goes where is Gradescope's:
https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""
