"""Builds the decks: `python -m autograder.decks [DECK.md ...] [--out DIR] [--pictures]`; exit codes as everywhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autograder.decks.browser import Browser, find_browser
from autograder.decks.execution import execute
from autograder.decks.rendering import render
from autograder.decks.source import read_deck
from autograder.errors import KitError, UsageError

ROOT = Path(__file__).resolve().parents[2]
SLIDES = ROOT / "slides"
HANDOUTS = {"": "", "_without_answers": "&answers=no", "_with_notes": "&showNotes=separate-page"}
"""What is printed of a deck: how each file's name ends, and what the page is asked for (deck.js)."""


def build(source: Path, out: Path) -> Path:
    """Reads, executes and renders one deck; returns the HTML file."""
    deck = read_deck(source)
    page = render(deck, execute(deck, ROOT))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{deck.name}.html"
    path.write_text(page, encoding="utf-8")
    return path


def main(arguments: list[str] | None = None) -> int:
    """Builds the decks named, or all of them, as HTML, and as PDF handouts where there is a browser."""
    parser = argparse.ArgumentParser(prog="python -m autograder.decks", description="Builds slide decks.")
    parser.add_argument("decks", nargs="*", type=Path, help="Markdown files (default: all in slides/)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "slides", help="where to (default: build/slides)")
    parser.add_argument("--pictures", action="store_true", help="also one PNG for each step of each slide")
    options = parser.parse_args(arguments)
    try:
        sources = options.decks or sorted(SLIDES.glob("[0-9][0-9]_*.md"))
        if not sources:
            raise UsageError(f"There is no deck in {SLIDES}.")
        pages = [build(source, options.out) for source in sources]
        for page in pages:
            print(f"{page}: open it in any browser; S shows the presenter view")
        _print(pages, options.pictures)
    except KitError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code
    return 0


def _print(pages: list[Path], pictures: bool) -> None:
    """Handouts, and pictures if wanted, through a headless browser."""
    program = find_browser()
    if program is None:
        print("No PDF: found no Chromium, Chrome or Edge. Set BROWSER to one, or print the HTML: add ?view=print")
        return
    with Browser(program) as browser:
        for page in pages:
            for ending, asked in HANDOUTS.items():
                handout = page.with_name(f"{page.stem}{ending}.pdf")
                browser.write_pdf(page, handout, asked)
                print(handout)
            if pictures:
                print(f"{browser.write_pictures(page, page.with_suffix(''))} pictures in {page.with_suffix('')}")


if __name__ == "__main__":
    sys.exit(main())
