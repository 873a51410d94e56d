"""A class as JUnit XML, for CI: a test suite a student, a test case a check; nothing secret in it, since logs travel.

The form that CI systems read in common: https://github.com/testmoapp/junitxml. A failed check is a failure, one that
waits for another is skipped, and so is a failed bonus, which fails nothing; one that the grader could not run is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from autograder.records.results import Result
from autograder.reports.withheld import for_students
from autograder.reports.wording import visible

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # https://www.w3.org/TR/xml/#charsets


def text(results: Iterable[Result]) -> str:
    """The results as one XML document; students in order of their names."""
    root = ElementTree.Element("testsuites")
    ordered = [for_students(each) for each in sorted(results, key=lambda result: (result.student, result.submission))]
    for result in ordered:
        root.append(_suite(result))
    _count(root, sum(each.seconds for each in ordered))
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(result: Result) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_xml_text(result.student), hostname=_xml_text(result.device))
    if result.graded_at:
        suite.set("timestamp", _xml_text(result.graded_at))
    for check in result.checks:
        classname = _xml_text(f"{result.lab}.{result.student}")
        case = ElementTree.SubElement(suite, "testcase", name=_xml_text(check.name), classname=classname, time="0")
        message = _xml_text(result.error or check.message)
        if check.fault:
            ElementTree.SubElement(case, "error", type="grader", message=message)
        elif (check.outcome == "failed" and not check.bonus) or (result.error and check is result.checks[0]):
            ElementTree.SubElement(case, "failure", type="check", message=message).text = _xml_text(check.title)
        elif check.outcome != "passed":
            ElementTree.SubElement(case, "skipped", message=message)
    _count(suite, result.seconds)
    return suite


def _count(element: ElementTree.Element, seconds: float) -> None:
    """Sets the totals that a suite, or all suites together, must name."""
    kinds = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, tag in kinds.items():
        element.set(name, str(sum(1 for _ in element.iter(tag))))
    element.set("time", f"{seconds:.3f}")


def _xml_text(words: str) -> str:
    return _NOT_XML.sub("\ufffd", visible(words))
