"""A term's classes in one file, to be graded again years later: `autograder archive GRADES ... --to TERM.tar.gz`.

START HERE: `making.archive`. again.py goes into the archive as it is, and is all that somebody runs who has unpacked it: it
needs nothing but Python and the packages that requirements.txt beside it pins.
"""

from autograder.archive.making import archive

__all__ = ["archive"]
