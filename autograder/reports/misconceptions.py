"""What a class misunderstands: its checks in the lab's order as a funnel, and under each the hints that were given there.

START HERE: `steps` is what the class page draws, `text` the same as CSV. Whoever has not begun is counted apart from whoever
has failed, and a bonus apart from what everybody is asked for. An example of a hint names nobody, so that it can be shown.
"""

from __future__ import annotations

import csv
import io
import os
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from autograder.records.files import write_atomically
from autograder.records.results import CheckResult, FunctionText, Hint, Picture, Result
from autograder.records.stored import StoredResults, Weight
from autograder.reports.wording import neutral

NOT_TRIED, WITHOUT_HINT = "(not tried)", "(no hint)"  # in the CSV's column of hints
MOST_LINES = 45  # of an example's code
MOST_OF_A_DRAWING = 40_000  # characters
MOST_OF_A_CELL = 32_000  # characters: spreadsheets take no more
_MARKUP = re.compile(r"<[^>]*>")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class CodeLine:
    """One line of an example; `is_marked` where a hazard was found in it."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True)
class Example:
    """What one submission shows of a misconception, and nothing that says whose it is."""

    code: tuple[CodeLine, ...] = ()
    hazards: tuple[str, ...] = ()
    picture: Picture | None = None
    is_secret: bool = False  # it may quote inputs that students are not to see


Failed = tuple[Result, CheckResult]
ExampleOf = Callable[[Sequence[Failed]], Example | None]  # the example of some who got the same hint in the same words


@dataclass(frozen=True)
class HintTally:
    """One hint of one check: its sentence as most of them read it, who got it, and an example."""

    name: str
    sentence: str
    results: tuple[Result, ...]
    example: Example | None


@dataclass(frozen=True)
class CheckStep:
    """How a class did on one check: who ran it and with what outcome; the rest did not get as far.

    `number` counts the lab's checks from 1, bonuses among them.
    """

    number: int
    name: str
    title: str
    is_bonus: bool
    is_hidden: bool  # from the instructor's second spec
    passed: tuple[Result, ...]
    failed: tuple[Result, ...]
    not_tried: tuple[Result, ...]
    not_run: tuple[Result, ...]
    hints: tuple[HintTally, ...]
    without_hint: tuple[Result, ...]  # of those who failed

    @property
    def ran(self) -> int:
        return len(self.passed) + len(self.failed) + len(self.not_tried)

    @property
    def total(self) -> int:
        return self.ran + len(self.not_run)


def steps(results: Sequence[Result], example_of: ExampleOf | None = None) -> tuple[CheckStep, ...]:
    """The class's checks in the lab's order. `example_of`: chooses each hint's example; by default among the results."""
    names = dict.fromkeys(check.name for result in results for check in result.checks)
    example_of = example_of or examples_in(results)
    return tuple(_step(number, name, results, example_of) for number, name in enumerate(names, start=1))


def _step(number: int, name: str, results: Sequence[Result], example_of: ExampleOf) -> CheckStep:
    found = [(result, check) for result in results for check in result.checks if check.name == name]
    failed = [(result, check) for result, check in found if check.outcome == "failed" and check.tried]
    one = found[0][1]
    return CheckStep(
        number=number,
        name=name,
        title=one.title,
        is_bonus=one.bonus,
        is_hidden=one.secret == "check",
        passed=tuple(result for result, check in found if check.outcome == "passed"),
        failed=tuple(result for result, _ in failed),
        not_tried=tuple(result for result, check in found if check.outcome == "failed" and not check.tried),
        not_run=tuple(result for result, check in found if check.outcome == "not run"),
        hints=_hints(failed, example_of),
        without_hint=tuple(result for result, check in failed if not check.hints),
    )


def _hints(failed: Sequence[Failed], example_of: ExampleOf) -> tuple[HintTally, ...]:
    """The hints of those who failed a check, the most frequent first."""
    given: dict[str, list[tuple[Result, CheckResult, Hint]]] = {}
    for result, check in failed:
        for hint in check.hints:
            given.setdefault(hint.name, []).append((result, check, hint))
    tallies = []
    for name, each in given.items():
        sentence = Counter(hint.text for _, _, hint in each).most_common(1)[0][0]
        alike = [(result, check) for result, check, hint in each if hint.text == sentence]
        whose = tuple(result for result, _, _ in each)
        tallies.append(HintTally(name, sentence, whose, example_of(alike)))
    return tuple(sorted(tallies, key=lambda tally: (-len(tally.results), tally.name)))


# ---- one example -----------------------------------------------------------------------------------


def examples_in(results: Sequence[Result]) -> ExampleOf:
    """Chooses the example that shows most; of several alike not the first by name, since who that is can be guessed.

    Of results on disk the one that is chosen is read, and others only where nobody has weighed them yet.
    """
    held = StoredResults.of(results)

    def weight(result: Result, check: CheckResult) -> Weight:
        if held.read is None:
            return _weight(_example_of(result, check))
        if result.student not in held.weights:
            held.weights[result.student] = weights_of(held.whole(result))
        return held.weights[result.student].get(check.name, (False, False, False))

    def chosen(found: Sequence[Failed]) -> Example | None:
        result, check = max(found, key=lambda each: (*weight(*each), each[0].key))
        whole = held.whole(result)
        best = _example_of(whole, next(each for each in whole.checks if each.name == check.name))
        return best if any(_weight(best)) else None

    return chosen


def weights_of(result: Result) -> dict[str, Weight]:
    """How much each check that got a hint would show as an example, by name."""
    return {each.name: _weight(_example_of(result, each)) for each in result.checks if each.hints}


def _weight(example: Example) -> Weight:
    return example.picture is not None, bool(example.code), bool(example.hazards)


def no_example(found: Sequence[Failed]) -> None:
    """For a table, which shows none."""


def _example_of(result: Result, check: CheckResult) -> Example:
    names = _names_of(result)
    marked = {(each.line.file, each.line.number) for each in check.hazards if each.line is not None}
    fitting = [each for each in check.pictures if len(each.svg) <= MOST_OF_A_DRAWING]
    shown = (each for each in fitting if not names & _words_in(f"{each.alt} {_MARKUP.sub(' ', each.svg)}"))
    return Example(
        code=_code(result, check, marked, names),
        hazards=tuple(dict.fromkeys(each.message for each in check.hazards if not names & _words_in(each.message)))[:2],
        picture=next(shown, None),
        is_secret=bool(check.secret),
    )


def _code(result: Result, check: CheckResult, marked: set[tuple[str, int]], names: set[str]) -> tuple[CodeLine, ...]:
    """The functions that a failed check came to, kernels first; none of them where they are many or say whose they are."""
    wanted = [each for each in result.functions if each.name in check.came_to]
    lines: list[CodeLine] = []
    for function in sorted(wanted, key=lambda each: not each.is_kernel):
        lines += [CodeLine("")] if lines else []
        lines += _lines_of(function, marked)
    says_whose = any(names & _words_in(each.text) for each in lines)
    return () if says_whose or len(lines) > MOST_LINES else tuple(lines)


def _lines_of(function: FunctionText, marked: set[tuple[str, int]]) -> Iterator[CodeLine]:
    """A function's lines without its comments, in which people sign."""
    before = function.text.split("\n")
    lines = list(before)
    for number, column in _comments(function.text):
        lines[number - 1] = lines[number - 1][:column].rstrip()
    for at, (line, was) in enumerate(zip(lines, before, strict=True)):
        if line.strip() or not was.strip():
            yield CodeLine(line, (function.line.file, function.line.number + at) in marked)


def _comments(text: str) -> list[tuple[int, int]]:
    """Where comments begin: line from 1 and column. Up to where Python cannot read on, should that be."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append(token.start)
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass
    return found


def _names_of(result: Result) -> set[str]:
    """The words that tell whose a submission is: those of the student's name and IDs, short numbers aside."""
    words = _words_in(" ".join([result.student, result.name, *result.ids.values()]))
    return {each for each in words if len(each) > 2 or not each.isdigit()}


def _words_in(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text) if len(word) > 1}


# ---- the same as CSV -------------------------------------------------------------------------------


def write(results: Sequence[Result], path: str | os.PathLike[str]) -> None:
    """Writes the table of misconceptions to `path`, whole or not at all, as the gradebook is written."""
    write_atomically(path, "\ufeff" + text(results))


def text(results: Sequence[Result]) -> str:
    """A row a hint, in the lab's order; `share` is that of the whole class, `students` are joined by semicolons."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(["check", "hint", "sentence", "count", "share", "students"])
    for step in steps(sorted(results, key=lambda result: (result.display_name, result.student)), no_example):
        for hint, sentence, whose in _rows(step):
            share = round(len(whose) / len(results), 4)
            writer.writerow([neutral(step.name), neutral(hint), neutral(sentence), len(whose), share, _joined(whose)])
    return buffer.getvalue()


def _rows(step: CheckStep) -> Iterator[tuple[str, str, Sequence[Result]]]:
    for tally in step.hints:
        yield tally.name, tally.sentence, tally.results
    if step.without_hint:
        yield WITHOUT_HINT, f"Failed: {step.title}", step.without_hint
    if step.not_tried:
        yield NOT_TRIED, f"Not tried: {step.title}", step.not_tried


def _joined(results: Iterable[Result]) -> str:
    return neutral("; ".join(result.display_name for result in results), MOST_OF_A_CELL)
