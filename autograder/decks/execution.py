"""Runs a deck's blocks in order in one fresh Python, as a notebook would: a slide shows what its code just gave."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autograder.decks.source import CodeBlock, Deck, Text
from autograder.errors import UsageError

# Charts and figures become SVG with real text, so that it can be measured, searched and read aloud; a chart's is large
# enough for the last row.
_OF_CHARTS = "svg.fonttype: none\nsvg.hashsalt: deck\nfont.size: 20\n"  # a file: few decks load Matplotlib at all
_PRELUDE = """
%config InlineBackend.figure_formats = ["svg"]
get_ipython().display_formatter.mimebundle_formatter.for_type_by_name(
    "autograder.figures.svg", "Figure",
    lambda figure: ({"image/svg+xml": figure.svg, "text/plain": figure.alt}, {"image/svg+xml": {"alt": figure.alt}})
)
"""
# The last value that a cell gave; `_` is not that any more once a deck's code has assigned to it.
_SHOW_EACH = "from IPython.display import display as _display\nfor _each in list(_oh.values())[-1]:\n    _display(_each)"
_RICHEST_FIRST = ("image/svg+xml", "text/html", "image/png", "text/plain")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Output:
    """One thing that a block showed: `mime` says what `data` is, `alt` what a figure says of itself in words."""

    mime: str
    data: str
    alt: str = ""


@dataclass(frozen=True)
class Executed:
    """What a deck's code gave: the outputs of each block and the values in each text, by source line."""

    outputs: Mapping[int, tuple[Output, ...]] = field(default_factory=dict)
    values: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


def execute(deck: Deck, folder: Path, seconds: int = 120) -> Executed:
    """Runs the deck from `folder`; raises `UsageError`, with the line, where code fails or is too slow."""
    import nbformat
    from nbclient import NotebookClient

    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=seconds, kernel_name="python3", resources=resources)
    outputs: dict[int, tuple[Output, ...]] = {}
    values: dict[int, tuple[str, ...]] = {}
    with ExitStack() as running:
        settings = Path(running.enter_context(TemporaryDirectory())) / "matplotlibrc"
        settings.write_text(_OF_CHARTS, encoding="utf-8")
        environment = {**os.environ, "MATPLOTLIBRC": str(settings)}
        # It warns of its own TCP port on every start.
        running.enter_context(client.setup_kernel(stderr=subprocess.DEVNULL, env=environment))
        _run(client, _PRELUDE)
        for part in (part for slide in deck.slides for part in (*slide.parts, slide.notes)):
            if isinstance(part, CodeBlock) and part.is_executed:
                outputs[part.line.number] = _run_part(client, part, part.code)
                if part.mode == "steps":
                    shown = _run_part(client, part, _SHOW_EACH) if outputs[part.line.number] else ()
                    if not shown:
                        raise UsageError("Steps end with a list of what to show: this block shows nothing.", line=part.line)
                    outputs[part.line.number] = shown
            elif isinstance(part, Text) and part.values:
                values[part.line.number] = tuple(_value(client, part, each) for each in part.values)
    return Executed(outputs, values)


def _value(client: Any, text: Text, expression: str) -> str:
    """A text's computed value, formatted as the text says."""
    return "".join(output.data for output in _run_part(client, text, f"print(f'''{{{expression}}}''', end='')"))


def _run_part(client: Any, part: CodeBlock | Text, code: str) -> tuple[Output, ...]:
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    try:
        return _run(client, code)
    except CellExecutionError as problem:
        words = _COLOURS.sub("", f"{problem.ename}: {problem.evalue}")
        raise UsageError(f"The code on this slide fails: {words}", line=part.line) from None
    except CellTimeoutError:
        raise UsageError("The code on this slide takes too long.", line=part.line) from None


def _run(client: Any, code: str) -> tuple[Output, ...]:
    import nbformat

    cell = nbformat.v4.new_code_cell(code)
    client.nb.cells.append(cell)
    client.execute_cell(cell, len(client.nb.cells) - 1)
    return tuple(shown for output in _joined(cell.outputs) if (shown := _richest_form(output)) is not None)


def _joined(outputs: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What was printed in a row is one output, in however many pieces it arrived."""
    joined: list[Mapping[str, Any]] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output["output_type"] == "stream" and output.get("name") == last.get("name"):
            joined[-1] = {**last, "text": last["text"] + output["text"]}
        else:
            joined.append(output)
    return joined


def _richest_form(output: Mapping[str, Any]) -> Output | None:
    """The richest form of one notebook output; what went to stderr is not shown."""
    if output["output_type"] == "stream":
        return Output("text/plain", _COLOURS.sub("", output["text"])) if output["name"] == "stdout" else None
    data = output.get("data", {})
    mime = next((each for each in _RICHEST_FIRST if each in data), None)
    if mime is None:
        return None
    return Output(mime, "".join(data[mime]), output.get("metadata", {}).get(mime, {}).get("alt", ""))
