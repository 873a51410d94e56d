"""The Jinja2 environment of the HTML reports: everything is escaped, and a page may load and run nothing but its own.

Templates, style sheets and the two small scripts lie in `templates/`. A page carries a content security policy that
forbids every request and every script but the one whose hash it names, should an escape ever be missed.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.records.hazards import name_of
from autograder.reports import wording


def render_template(name: str, **values: Any) -> str:
    """The template `name` filled with `values`, every string among them cleaned by `wording.visible` and escaped."""
    return _environment().get_template(name).render(**values)


def template_pieces(name: str, **values: Any) -> Iterator[str]:
    """The same piece by piece, for a page that grows with a class; what is wrong with `values` is raised on the way."""
    return _environment().get_template(name).generate(**values)


@functools.cache
def asset(name: str) -> Markup:
    """One of our own style sheets or scripts, as it stands in `templates/`."""
    return Markup(resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8"))


def policy(script: str) -> str:
    """A content security policy under which only `script` runs and nothing is fetched."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


_CODE = re.compile(r"`([^`\s](?:[^`\n]*[^`\s])?)`")


def prose(text: str) -> Markup:
    """Words of ours, which may quote a student's, with what stands between backticks set as code."""
    parts = _CODE.split(wording.visible(text))  # plain, code, plain, ...
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


_MAY_BREAK = re.compile(r"(?<=[_.@/-])(?=.)")


def breakable(text: str) -> Markup:
    """A name that breaks between its parts where it has to, and not in the middle of a word."""
    return Markup("<wbr>").join(_MAY_BREAK.split(wording.visible(text)))


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters.update(
        breakable=breakable,
        count=wording.count_text,
        earned=wording.earned_text,
        hazard_name=name_of,
        index=wording.index_text,
        measured=wording.measured_text,
        one_line=wording.one_line,
        pair=wording.pair_text,
        points=wording.points_text,
        prose=prose,
        ratio=wording.ratio_text,
        shortened=wording.shortened,
    )
    environment.globals["asset"] = asset
    return environment


def _finalized(value: Any) -> Any:
    return wording.visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
