"""What a class handed in, as a learning platform exports it: a zip or a folder in, one `Entry` a student out.

START HERE: collecting.py. names.py knows how Canvas, Moodle and Gradescope name what they export, archive.py unpacks a
stranger's zip (decompressing.py one member of it), gradescope_metadata.py reads who is behind a Gradescope submission.
"""

from autograder.grading.exports.collecting import opened_class

__all__ = ["opened_class"]
