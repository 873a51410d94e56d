"""The course: what serves one lesson lies in its room, `lesson00` to `lesson09`, beside what several lessons share.

A lesson's notebook and deck import its room and nothing else of this kind: `from autograder.course.lesson03 import walks`.
A room holds the lesson's exercises (an answer goes in, a `Reply` comes out that a notebook shows at once), its pictures
(one module each, pure: a `Figure` comes out), and where there are measurements its kernels and the script that takes them.
START HERE: `lesson00/__init__.py`; `replies.py` for exercises. The grader loads nothing of this.
"""
