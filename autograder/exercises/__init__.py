"""The small exercises inside the lessons: an answer goes in, a `Reply` comes out that a notebook shows at once.

One module a lesson (`lesson01`, ...), one function an exercise, its docstring the question. START HERE: `replies.py`.
"""

from autograder.exercises.replies import Reply

__all__ = ["Reply"]
