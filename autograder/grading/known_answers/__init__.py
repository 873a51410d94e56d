"""A lab's known answers: graded, timed, counted, profiled, tabled, and used to choose a threshold. One command does all:

    python -m autograder.grading.known_answers LAB --help

START HERE: `answers.py`, what is known of an answer before it is graded; `recording.py`, what grading it shows.

Beside it, `compiling.py` asks Numba whether the kernels of right answers are kernels.
"""
