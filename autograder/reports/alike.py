"""Which submissions of a class are alike: START HERE: `alike`. For an instructor, who looks at them side by side.

Most of a lab's answers have most statements in common. So only what a program has of its own counts: what is neither at
hand to everybody (the starter, the lesson, the lab's known answers) nor found in more than `MOST_STUDENTS` submissions, as
in Moss (https://theory.stanford.edu/~aiken/publications/papers/sigmod03.pdf). How that came about, no program can tell.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import keyword
import os
import tokenize
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from autograder.records.files import write_atomically
from autograder.records.results import FunctionFingerprint, Result
from autograder.reports.wording import neutral

SAME_FILE, SAME_TEXT, SAME_PROGRAM, NEARLY = "same file", "same text", "same but for names", "nearly the same"
KINDS = {
    SAME_FILE: "The same file, byte for byte",
    SAME_TEXT: "The same functions, names and comments included",
    SAME_PROGRAM: "The same but for names, layout, sizes or the order of independent statements",
    NEARLY: "Nearly the same, such differences aside",
}
MOST_STUDENTS = 10  # what more of them have is what one comes to
LEAST_OWN = 3  # statements (or for the same text also names and comments) of their own that two must share
# Of 434 pairs of right answers, in seven labs, four reach this; four more differ in sizes alone (labs/README.md).
NEARLY_SHARE, NEARLY_OWN = 0.9, 6
Kind = TypeVar("Kind", bound=Hashable)
MOST_OF_A_CELL = 32_000  # characters: spreadsheets take no more


@dataclass(frozen=True)
class AtHand:
    """What every student has to begin with: statements (digests), names and comments, and the starter's functions."""

    statements: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    starter: frozenset[str] = frozenset()

    @classmethod
    def of(cls, functions: Iterable[FunctionFingerprint], starter: Iterable[FunctionFingerprint]) -> AtHand:
        starter = list(starter)
        functions = [*functions, *starter]
        statements = {statement.digest for each in functions for statement in each.statements}
        words = {word for each in functions for word in words_of(each.text)}
        return cls(frozenset(statements), frozenset(words), frozenset(each.text for each in starter))

    def within(self, results: Iterable[Result]) -> AtHand:
        """What of it these results have."""
        there = AtHand.of(functions := [each for result in results for each in result.fingerprints], functions)
        return AtHand(self.statements & there.statements, self.words & there.words, self.starter & there.starter)

    def to_dict(self) -> dict[str, list[str]]:
        return {name: sorted(marks) for name, marks in vars(self).items()}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> AtHand:
        return cls(**{name: frozenset(map(str, form.get(name, ()))) for name in ("statements", "words", "starter")})


@dataclass(frozen=True)
class Alike:
    """Submissions that are alike; `shared` are the statements of their own (digests), `share` how much that is of all."""

    kind: str
    results: tuple[Result, ...]
    shared: frozenset[str]
    share: float = 1.0


@dataclass(frozen=True)
class Mark:
    """What one submission is compared by: hashes, so that a class of thousands is held in memory. Of statements, names and
    comments those that not everybody has at hand."""

    texts: str = ""  # empty: it could not be read, or is too large
    program: str = ""
    statements: tuple[str, ...] = ()
    words: tuple[int, ...] = ()
    is_starter: bool = False


@dataclass(frozen=True)
class _Own:
    """What one submission has of its own."""

    statements: Counter[str]
    words: frozenset[int]


def compared(results: Iterable[Result]) -> list[Result]:
    """The results whose programs can be compared: the others could not be read, or are too large."""
    return [each for each in results if each.fingerprints]


def mark_of(result: Result, at_hand: AtHand) -> Mark:
    """What a submission is compared by in a class that has so much at hand."""
    functions = result.fingerprints
    if not functions:
        return Mark()
    words = {word for each in functions for word in words_of(each.text)} - at_hand.words
    statements = sorted(one.digest for each in functions for one in each.statements if one.digest not in at_hand.statements)
    return Mark(
        texts=_hash("\0".join(_texts(result))),
        program=_hash("\0".join(sorted(each.digest for each in functions))),
        statements=tuple(statements),
        words=tuple(sorted(int(_hash(each), 16) for each in words)),
        is_starter=all(each.text in at_hand.starter for each in functions),
    )


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def alike(results: Sequence[Result], at_hand: AtHand, marks: Mapping[str, Mark] | None = None) -> list[Alike]:
    """Groups of submissions that are alike, the same files first; each group once, by what says most of it.

    `marks`: what each is compared by, by student, where the results themselves are not in memory.
    """
    results = sorted(results, key=lambda each: (each.display_name.casefold(), each.student))
    marks = {each.student: mark_of(each, at_hand) for each in results} if marks is None else marks
    own = _own(marks)
    found: list[Alike] = []
    for group in _equal(results, lambda each: each.key):
        if not marks[group[0].student].is_starter:
            found.append(_exact(SAME_FILE, group, own))
    for group in _equal(results, lambda each: marks[each.student].texts):
        mine = own[group[0].student]
        if mine.statements.total() + len(mine.words) >= LEAST_OWN:
            found.append(_exact(SAME_TEXT, group, own))
    programs = list(_equal(results, lambda each: marks[each.student].program, least=1))
    for group in programs:
        if len(group) > 1 and own[group[0].student].statements.total() >= LEAST_OWN:
            found.append(_exact(SAME_PROGRAM, group, own))
    found += _nearly(programs, own)
    order = list(KINDS)
    found.sort(key=lambda each: (order.index(each.kind), -each.share, -len(each.shared), _students(each.results)))
    first: dict[frozenset[str], Alike] = {}
    for each in found:
        first.setdefault(frozenset(_students(each.results)), each)
    return list(first.values())


def _students(results: Iterable[Result]) -> list[str]:
    return [each.student for each in results]


def _exact(kind: str, group: tuple[Result, ...], own: Mapping[str, _Own]) -> Alike:
    return Alike(kind, group, frozenset(own[group[0].student].statements))


def _nearly(programs: Sequence[tuple[Result, ...]], own: Mapping[str, _Own]) -> Iterator[Alike]:
    """Pairs of different programs that share most of what they have of their own.

    Only pairs that have a statement of their own in common are looked at: few have one, so that the work grows with the
    class and not with its square.
    """
    candidates = [(group, own[group[0].student].statements) for group in programs]
    candidates = [(group, marks) for group, marks in candidates if marks.total() >= NEARLY_OWN]
    having: dict[str, list[int]] = defaultdict(list)
    for place, (_, marks) in enumerate(candidates):
        for each in marks:
            having[each].append(place)
    pairs = {pair for places in having.values() for pair in itertools.combinations(places, 2)}
    for first, second in sorted(pairs):
        (one, marks), (other, others) = candidates[first], candidates[second]
        shared = marks & others
        share = 2 * shared.total() / (marks.total() + others.total())
        if shared.total() >= NEARLY_OWN and share >= NEARLY_SHARE:
            yield Alike(NEARLY, (one[0], other[0], *one[1:], *other[1:]), frozenset(shared), share)


def _equal(results: Iterable[Result], mark: Any, least: int = 2) -> Iterator[tuple[Result, ...]]:
    """The results by a mark of theirs, where so many have it; an empty one is none."""
    groups: dict[Hashable, list[Result]] = defaultdict(list)
    for each in results:
        if mark(each):
            groups[mark(each)].append(each)
    yield from (tuple(group) for group in groups.values() if len(group) >= least)


def _texts(result: Result) -> tuple[str, ...]:
    """The functions as text, without the blanks that nobody sees."""
    return tuple(sorted("\n".join(map(str.rstrip, each.text.splitlines())) for each in result.fingerprints))


def _own(marks: Mapping[str, Mark]) -> dict[str, _Own]:
    """What each student's submission has of its own: neither at hand nor found in many."""
    frequent = _frequent(set(each.statements) for each in marks.values())
    frequent_words = _frequent(each.words for each in marks.values())
    return {
        student: _Own(
            Counter(one for one in mark.statements if one not in frequent),
            frozenset(mark.words) - frequent_words,
        )
        for student, mark in marks.items()
    }


def _frequent(marks: Iterable[Iterable[Kind]]) -> set[Kind]:
    counts = Counter(itertools.chain.from_iterable(marks))
    return {each for each, count in counts.items() if count > MOST_STUDENTS}


def words_of(text: str) -> frozenset[str]:
    """A function's names and its comments."""
    words = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                words.add(" ".join(token.string.split()))
    except (tokenize.TokenError, SyntaxError, ValueError):  # what was read until then is enough
        pass
    return frozenset(words)


# ---- the same as CSV -------------------------------------------------------------------------------


def write(groups: Sequence[Alike], path: str | os.PathLike[str]) -> None:
    """Writes the table of what is alike to `path`, whole or not at all, as the gradebook is written."""
    write_atomically(path, "\ufeff" + text(groups))


def text(groups: Sequence[Alike]) -> str:
    """A row a group, in the page's order; students and their submissions are joined by semicolons."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(["alike", "students", "submissions", "own_statements", "share"])
    for each in groups:
        names = "; ".join(result.display_name for result in each.results)
        files = "; ".join(result.submission for result in each.results)
        row = [neutral(each.kind), neutral(names, MOST_OF_A_CELL), neutral(files, MOST_OF_A_CELL)]
        writer.writerow([*row, len(each.shared), round(each.share, 4)])
    return buffer.getvalue()
