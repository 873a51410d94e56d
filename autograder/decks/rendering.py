"""Turns a deck and what its code gave into one HTML file: reveal.js, styles, figures and notes inside, no network."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from autograder.decks.execution import Executed, Output
from autograder.decks.fitting import LEAST_TEXT, Stack, code_sizes, room_of
from autograder.decks.source import CodeBlock, Deck, Pause, Slide, SlideColumn, Text
from autograder.errors import GraderFault, UsageError

# reveal.js 6.0.1 as npm publishes it; the pinned wheel carries the same bytes, and nothing else goes into a deck.
_REVEAL = {
    "reset.css": "39413c3490fdcf826427c26ff4c1ee59ea961a0aa8507c18454e0c6dc96c12d8",
    "reveal.css": "64e6203ee2048665c9f49c368f345fb3d7f936c404934162c70369a7682f388f",
    "reveal.js": "3fb84c30d2e610dd598843d75a123ef2c4dbc588847cda86cd8c7a61e18ddb6b",
    "plugin/notes.js": "946159680c70354c665dbf4f3c9023a737d8b14b48c6c9af452553717a046729",
}
_HERE = Path(__file__).parent
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
_PYGMENTS_STYLE = "friendly"


def render(deck: Deck, executed: Executed) -> str:
    """The whole page; the same deck and outputs give the same bytes."""
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    highlighting = HtmlFormatter(style=_PYGMENTS_STYLE).get_style_defs(".code")
    return environment.get_template("deck.html").render(
        deck=deck,
        slides=[_slide(slide, executed) for slide in deck.slides],
        styles=Markup("\n".join([_reveal("reset.css"), _reveal("reveal.css"), highlighting, _own("deck.css")])),
        scripts=[Markup(_reveal("reveal.js")), Markup(_reveal("plugin/notes.js")), Markup(_own("deck.js"))],
    )


def _slide(slide: Slide, executed: Executed) -> dict[str, object]:
    """What the template needs of one slide."""
    columns: list[list[str]] = [[]]
    waits = 0
    room = room_of(1 + sum(isinstance(part, SlideColumn) for part in slide.parts))
    stacks = [Stack()]
    for part in slide.parts:
        if isinstance(part, SlideColumn):
            columns.append([])
            stacks.append(Stack())
        elif isinstance(part, Pause):
            waits += 1
        else:
            _measure(part, executed, stacks[-1])
            html = "\n".join(_part(part, executed, room))
            if html:
                columns[-1].append(f'<div class="fragment">{html}</div>' if waits else f"<div>{html}</div>")
    return {
        "heading": Markup(_MARKDOWN.renderInline(slide.heading)),
        "kind": slide.kind,
        "seconds": round(60 * slide.minutes),  # for the presenter view's pacing clock
        "sizes": code_sizes(slide.heading, stacks, slide.kind == "question"),
        "columns": [Markup("\n".join(column)) for column in columns],
        "notes": Markup("\n".join(_part(slide.notes, executed, room))),
    }


def _measure(part: Text | CodeBlock, executed: Executed, stack: Stack) -> None:
    """Adds what a part shows to what its column holds."""
    if isinstance(part, Text):
        stack.text.append([line for line in part.filled(_values(part, executed)).split("\n") if line.strip()])
        return
    if part.mode in ("", "code"):
        stack.code.append(part.code.split("\n"))
    for output in executed.outputs.get(part.line.number, ()) if part.mode in ("", "figure", "steps") else ():
        if output.mime == "text/plain":
            stack.output.append(output.data.rstrip().split("\n"))
        else:
            stack.drawn = True


def _values(text: Text, executed: Executed) -> list[str]:
    return list(executed.values.get(text.line.number, ()))


def _part(part: Text | CodeBlock, executed: Executed, room: tuple[float, float]) -> Iterator[str]:
    if isinstance(part, Text):
        yield _MARKDOWN.render(part.filled(_values(part, executed)))
        return
    if part.mode in ("", "code"):
        yield _code(part)
    outputs = executed.outputs.get(part.line.number, ())
    if part.mode == "steps":
        last = len(outputs) - 1
        yield _stacked([_output(each, part, f"s{at}", room, at == last) for at, each in enumerate(outputs)])
    elif part.mode in ("", "figure"):
        yield from (_output(each, part, f"o{at}", room) for at, each in enumerate(outputs))


def _code(block: CodeBlock) -> str:
    """Coloured code; with groups of lines, one copy for each, the other lines faded."""
    try:
        lexer = get_lexer_by_name(block.language, stripnl=False)
    except ClassNotFound:
        raise UsageError(f"No language is called {block.language}.", line=block.line) from None
    lines = highlight(block.code, lexer, HtmlFormatter(nowrap=True)).rstrip("\n").split("\n")
    copies = [
        "".join(
            f'<span class="line{" faded" if group and number not in group else ""}">{line}</span>\n'
            for number, line in enumerate(lines, start=1)
        )
        for group in block.groups or ((),)
    ]
    return _stacked([f'<pre class="code"><code>{copy}</code></pre>' for copy in copies])


def _stacked(frames: list[str]) -> str:
    """Frames on top of each other: the first is there at once, each key shows the next in place of the last."""
    if len(frames) < 2:
        return "".join(frames)
    last = len(frames) - 1
    kinds = ["fade-out", *["current-visible"] * (last - 1), "fade-in"]
    shown = [
        f'<div class="frame fragment {kind}" data-fragment-index="{max(0, at - 1)}" aria-hidden="{str(at > 0).lower()}">'
        f"{frame}</div>"
        for at, (kind, frame) in enumerate(zip(kinds, frames, strict=True))
    ]
    return f'<div class="frames">{"".join(shown)}</div>'


def _output(output: Output, block: CodeBlock, name: str, room: tuple[float, float], is_last: bool = True) -> str:
    alt = escape(_alt(output, block, is_last))
    if output.mime == "image/svg+xml":
        svg = _legible(_own_names(output.data, f"f{block.line.number}{name}"), room)
        return f"<figure>{_labelled(svg, alt)}</figure>"
    if output.mime == "image/png":
        return f'<figure><img alt="{alt}" src="data:image/png;base64,{output.data}"></figure>'
    if output.mime == "text/html":
        return f'<div class="shown">{output.data}</div>'
    return f'<pre class="output">{escape(output.data.rstrip())}</pre>'


def _alt(output: Output, block: CodeBlock, is_last: bool) -> str:
    """What a screen reader says: the figure's own words; the author's tell the end of a build, so its last frame alone."""
    return ". ".join(each.rstrip(".") for each in (block.alt if is_last or not output.alt else "", output.alt) if each)


def _labelled(svg: str, alt: str) -> str:
    """The picture with `alt`, escaped, as its only words for a screen reader."""
    opening, rest = svg.split(">", 1)
    opening = re.sub(r'\s(?:role|aria-label)="[^"]*"', "", opening)
    return f'{opening} role="img" aria-label="{alt}">{rest}'


def _legible(svg: str, room: tuple[float, float]) -> str:
    """A figure drawn for a page, with its small text made large enough for a slide on which it has `room` to grow."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if box is None:
        return svg
    least = LEAST_TEXT / min(room[0] / float(box[1]), room[1] / float(box[2]))
    return re.sub(r'font-size="([\d.]+)"', lambda size: f'font-size="{max(float(size[1]), least):.4g}"', svg)


def _own_names(svg: str, prefix: str) -> str:
    """Inline pictures share one page: their ids must not meet."""
    svg = re.sub(r"^.*?(?=<svg)", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)


def _own(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _reveal(name: str) -> str:
    """A file of reveal.js from the wheel that carries it; raises `GraderFault` unless it is the published one."""
    carrier = importlib.util.find_spec("pyreveal")
    if carrier is None or carrier.origin is None:
        raise GraderFault("reveal.js is not installed.", remedy="Run pip install -r requirements.txt")
    data = (Path(carrier.origin).parent / "revealjs" / "dist" / name).read_bytes()
    if hashlib.sha256(data).hexdigest() != _REVEAL[name]:
        raise GraderFault(
            f"{name} is not the file that reveal.js 6.0.1 published.", remedy="Install requirements.txt again."
        )
    return data.decode("utf-8").replace("</script", "<\\/script")
