"""Keeps one student's trouble in that student's row: finds the results that a report cannot show before reports are made.

Errors during grading are caught where they happen (grade.py, batch.py). An error while a result is written down would
cost everybody the gradebook. So forms of a class are tried before any is written, and made of each result alone where that
goes wrong; a student's own page is made by itself (class_pages.py).
"""

from __future__ import annotations

import collections
import html
import json
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace

from autograder.errors import MachineFault
from autograder.grading.grade import FAULT_OF_OURS, faulted, in_words
from autograder.grading.spec import Lab
from autograder.records.results import Result


def class_is_showable(rows: Sequence[Result], lab: Lab) -> bool:
    """Whether forms of a class can be made of all at once. Where not, `showable` says of each alone whose fault it is."""
    try:
        for make in _forms_of_class(lab)[:-1]:  # side by side are only submissions that are alike
            make(rows)
    except MachineFault:
        raise
    except Exception:
        return False
    return True


def showable(result: Result, lab: Lab) -> tuple[Result, str]:
    """(result, ""), or (a result that says that this one cannot be shown, the traceback of why)."""
    try:
        for make in _forms_of_one():
            make(result)
        for of_class in _forms_of_class(lab):
            of_class([result])
    except MachineFault:
        raise
    except Exception as problem:
        return unshowable(result, lab, in_words(problem)), traceback.format_exc()
    return result, ""


def unshowable(result: Result, lab: Lab, why: str) -> Result:
    """What stands in for a result that cannot be shown: no verdict, and our fault."""
    fault = f"The result cannot be shown: {why}."
    instead = faulted(lab, result.student, result.submission, result.device, result.source, fault)
    return replace(instead, ids=result.ids, note=result.note)


def page_of(result: Result) -> str:
    """The student's page. Where it cannot be made, a page that says so, as the row then does."""
    from autograder.reports import html as pages
    from autograder.reports.withheld import for_students

    try:
        return pages.render(for_students(result))
    except Exception:
        name = html.escape(result.student.encode("utf-8", "replace").decode("utf-8"))
        return f'<!doctype html>\n<meta charset="utf-8">\n<title>{name}</title>\n<p>{name}: {FAULT_OF_OURS}</p>\n'


def _forms_of_one() -> Sequence[Callable[[Result], object]]:
    """The functions that make each form of one result alone."""
    from autograder.records import json_form
    from autograder.reports import html, terminal
    from autograder.reports.withheld import for_students

    return (
        lambda result: json.dumps(json_form.to_dict(result), allow_nan=False),
        lambda result: html.render(for_students(result)),
        lambda result: terminal.render(result),
    )


def _forms_of_class(lab: Lab) -> Sequence[Callable[[Sequence[Result]], object]]:
    """The functions that make each form of a class; no result is left out of any."""
    from autograder.reports import alike, alike_page, class_page, gradebook, junit, misconceptions, terminal

    def side_by_side(results: Sequence[Result]) -> None:
        for at in range(0, len(results), alike_page.MOST_GROUPS):
            some = results[at : at + alike_page.MOST_GROUPS]
            alike_page.render([alike.Alike(alike.SAME_FILE, (each,) * 2, frozenset()) for each in some], some, lab.title)

    return (
        terminal.render_class,
        lambda results: collections.deque(class_page.pieces(results, lab.title), maxlen=0),  # made, and not kept
        gradebook.text,
        misconceptions.text,
        junit.text,
        side_by_side,
    )
