"""Keeps one student's trouble in that student's row: finds the results that a report cannot show before reports are made.

Errors during grading are caught where they happen (grade.py, batch.py). An error while a result is written down would
cost everybody the gradebook. So every form is first made of each result alone.
"""

from __future__ import annotations

import html
import json
import traceback
from collections.abc import Callable, Sequence

from autograder.errors import MachineFault
from autograder.grading.grade import FAULT_OF_OURS, faulted, in_words
from autograder.grading.spec import Lab
from autograder.records.results import Result


def showable(result: Result, lab: Lab) -> tuple[Result, str]:
    """(result, ""), or (a result that says that this one cannot be shown, the traceback of why)."""
    try:
        for make in _forms(lab):
            make(result)
    except MachineFault:
        raise
    except Exception as problem:
        fault = f"The result cannot be shown: {in_words(problem)}."
        instead = faulted(lab, result.student, result.submission, result.device, result.source, fault)
        return instead, traceback.format_exc()
    return result, ""


def page_of(result: Result) -> str:
    """The student's page. Where it cannot be made, a page that says so, as the row then does."""
    from autograder.reports import html as pages
    from autograder.reports.withheld import for_students

    try:
        return pages.render(for_students(result))
    except Exception:
        name = html.escape(result.student.encode("utf-8", "replace").decode("utf-8"))
        return f'<!doctype html>\n<meta charset="utf-8">\n<title>{name}</title>\n<p>{name}: {FAULT_OF_OURS}</p>\n'


def _forms(lab: Lab) -> Sequence[Callable[[Result], object]]:
    """The functions that make each form of one result."""
    from autograder.records import json_form
    from autograder.reports import alike, alike_page, class_page, gradebook, html, junit, misconceptions, terminal
    from autograder.reports.withheld import for_students

    return (
        lambda result: json.dumps(json_form.to_dict(result), allow_nan=False),
        lambda result: html.render(for_students(result)),
        lambda result: terminal.render(result),
        lambda result: terminal.render_class([result]),
        lambda result: class_page.render([result], lab.title),
        lambda result: gradebook.text([result]),
        lambda result: misconceptions.text([result]),
        lambda result: junit.text([result]),
        lambda result: alike_page.render([alike.Alike(alike.SAME_FILE, (result,) * 2, frozenset())], [result], lab.title),
    )
