"""Reads a deck: Markdown that a person can review in a diff, with Python blocks that are executed at every build.

# Title                 the first slide; its heading names the deck
---                     alone on a line: the next slide
## Heading              one a slide
<!-- slide: question -->  what kind of slide this is (a CSS class): title, question, answer, lab
. . .                   alone on a line: what follows waits for the next key
|||                     alone on a line: what follows stands in the next column
{{ ratio:.1f }}         a value computed by the blocks, formatted as in an f-string
Note:                   the rest of the slide is for the speaker; it begins with its time: "2 min."

```python               executed; code and output are shown
```python silent        executed; nothing is shown
```python code          executed; only the code is shown
```python figure alt="What it shows"    executed; only the output is shown
```python steps alt="What it shows"     executed; its value is a list, shown one by one, a key each
```python code lines="1-2|4|5-6"        the code is walked through, a key for each group of lines
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from autograder.errors import Line, UsageError

MODES = ("", "silent", "code", "figure", "steps")
KINDS = ("plain", "title", "question", "answer", "lab")

_FENCE = re.compile(r"^(`{3,})(.*)$")
_KIND = re.compile(r"^<!--\s*slide:\s*(\w+)\s*-->$")
_MINUTES = re.compile(r"^(\d+(?:\.\d+)?) min\b")
_VALUE = re.compile(r"\{\{(.+?)\}\}")


@dataclass(frozen=True)
class Text:
    """Markdown as written."""

    markdown: str
    line: Line

    @property
    def values(self) -> tuple[str, ...]:
        """The expressions between double braces, in order."""
        return tuple(match.strip() for match in _VALUE.findall(self.markdown))

    def filled(self, values: list[str]) -> str:
        """The Markdown with each expression replaced by its value."""
        remaining = iter(values)
        return _VALUE.sub(lambda _: next(remaining), self.markdown)


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block: executed where the language is python."""

    code: str
    line: Line  # of its first line of code
    language: str = "python"
    mode: str = ""
    alt: str = ""
    groups: tuple[tuple[int, ...], ...] = ()  # lines to walk through, counted from 1

    @property
    def is_executed(self) -> bool:
        return self.language == "python"


class Pause:
    """What follows waits for the next key."""


class SlideColumn:
    """What follows stands in the next column."""


Part = Text | CodeBlock | Pause | SlideColumn


@dataclass(frozen=True)
class Slide:
    """One slide; `notes` is for the speaker, `minutes` the time that it should take."""

    heading: str
    kind: str
    parts: tuple[Part, ...]
    notes: Text
    minutes: float
    line: Line


@dataclass(frozen=True)
class Deck:
    """A deck: `name` is its file's stem, the notebook's name too."""

    name: str
    title: str
    slides: tuple[Slide, ...]

    @property
    def minutes(self) -> float:
        return sum(slide.minutes for slide in self.slides)


def read_deck(path: Path) -> Deck:
    """Reads `slides/NN_topic.md`; raises `UsageError`, with the line, for what the format does not know."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{path} cannot be read as a deck ({problem}).") from problem
    slides = tuple(_slide(lines, first, path.name) for first, lines in _split_slides(text))
    return Deck(path.stem, slides[0].heading, slides)


def _split_slides(text: str) -> list[tuple[int, list[str]]]:
    """Lines of each slide with the number of its first; `---` inside a fence separates nothing."""
    slides: list[tuple[int, list[str]]] = [(1, [])]
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        match = _FENCE.match(line)
        if match and (not fence or match[1] == fence):
            fence = "" if fence else match[1]
        if line.strip() == "---" and not fence:
            slides.append((number + 1, []))
        else:
            slides[-1][1].append(line)
    return slides


def _slide(lines: list[str], first: int, file: str) -> Slide:
    here = Line(file, first)
    body, notes = _split_notes(lines, here)
    reading = _Reading(file)
    for offset, line in enumerate(body):
        reading.take(line, first + offset)
    reading.close(first + len(body))
    if not reading.heading:
        raise UsageError("This slide has no heading.", line=here, remedy='Begin it with "## " and one idea.')
    timing = _MINUTES.match(notes.markdown)
    if timing is None:
        raise UsageError(
            f'The slide "{reading.heading}" has no notes that begin with a time.',
            line=here,
            remedy='Add "Note:" and "2 min."',
        )
    return Slide(reading.heading, reading.kind, tuple(reading.parts), notes, float(timing[1]), here)


def _split_notes(lines: list[str], here: Line) -> tuple[list[str], Text]:
    for index, line in enumerate(lines):
        if line.startswith("Note:"):
            notes = "\n".join([line.removeprefix("Note:").strip(), *lines[index + 1 :]]).strip()
            return lines[:index], Text(notes, Line(here.file, here.number + index))
    return lines, Text("", here)


@dataclass
class _Reading:
    """The state of reading one slide line by line."""

    file: str
    heading: str = ""
    kind: str = "plain"
    parts: list[Part] = field(default_factory=list)
    fence: str = ""
    opening: str = ""
    pending: list[str] = field(default_factory=list)
    began: int = 0

    def take(self, line: str, number: int) -> None:
        fence = _FENCE.match(line)
        if self.fence:
            if fence and fence[1] == self.fence and not fence[2].strip():
                self._finish_block()
            else:
                self.pending.append(line)
        elif fence:
            self._finish_text()
            self.fence, self.opening, self.began = fence[1], fence[2], number + 1
        elif not self.heading and re.match(r"^##? ", line):
            self.heading = line.lstrip("# ").strip()
        elif kind := _KIND.match(line):
            self._take_kind(kind[1], number)
        elif line.strip() in (". . .", "|||"):
            self._finish_text()
            self.parts.append(Pause() if line.strip() == ". . ." else SlideColumn())
        else:
            self.began = self.began if self.pending else number
            self.pending.append(line)

    def close(self, number: int) -> None:
        if self.fence:
            raise UsageError(
                "This block is never closed.", line=Line(self.file, self.began), remedy=f"Close it with {self.fence}"
            )
        self._finish_text()

    def _take_kind(self, kind: str, number: int) -> None:
        self.kind = kind
        if self.kind not in KINDS:
            known = ", ".join(KINDS)
            raise UsageError(
                f"No kind of slide is called {self.kind}.", line=Line(self.file, number), remedy=f"Known: {known}."
            )

    def _finish_text(self) -> None:
        if "".join(self.pending).strip():
            self.parts.append(Text("\n".join(self.pending).strip("\n"), Line(self.file, self.began)))
        self.pending = []

    def _finish_block(self) -> None:
        here = Line(self.file, self.began)
        self.parts.append(_block("\n".join(self.pending), self.opening, here))
        self.fence, self.pending = "", []


def _block(code: str, opening: str, line: Line) -> CodeBlock:
    try:
        language, *words = shlex.split(opening) or ["text"]
    except ValueError as problem:
        raise UsageError(f"The opening line of this block cannot be read ({problem}).", line=line) from problem
    options = dict(word.split("=", 1) for word in words if "=" in word)
    modes = [word for word in words if "=" not in word]
    unknown = [word for word in modes if word not in MODES] + [name for name in options if name not in ("alt", "lines")]
    if unknown or len(modes) > 1:
        raise UsageError(
            f"A block cannot be {' '.join(unknown or modes)}.", line=line, remedy=f"Known: {', '.join(MODES[1:])}."
        )
    mode = modes[0] if modes else ""
    if mode in ("figure", "steps") and not options.get("alt"):
        raise UsageError(
            "This figure has no text for those who cannot see it.", line=line, remedy='Add alt="What it shows".'
        )
    return CodeBlock(code, line, language, mode, options.get("alt", ""), _groups(options.get("lines", ""), line))


def _groups(text: str, line: Line) -> tuple[tuple[int, ...], ...]:
    """Turns "all|1-2|4" into ((), (1, 2), (4,))."""
    try:
        return tuple(
            tuple(
                number
                for span in group.split(",")
                if group != "all"
                for number in range(int(span.split("-")[0]), int(span.split("-")[-1]) + 1)
            )
            for group in text.split("|")
            if text
        )
    except ValueError as problem:
        raise UsageError(
            f'lines="{text}" cannot be read.', line=line, remedy='Write it like lines="1-2|4".'
        ) from problem
