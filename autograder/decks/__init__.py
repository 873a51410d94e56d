"""Slide decks: `slides/*.md` in, self-contained HTML and PDF in `build/slides/` out.

START HERE: `source.py` says what a deck may hold.

    source.py     Markdown text -> Deck: slides, executable blocks, speaker notes
    execution.py  Deck -> what each block printed, drew or returned, from one fresh Python
    fitting.py    how large a slide's code may be
    rendering.py  Deck + outputs -> one HTML file with reveal.js inside
    browser.py    a headless Chromium: HTML -> PDF, and what the tests look at
    __main__.py   `python -m autograder.decks`, which `make slides` calls
"""
