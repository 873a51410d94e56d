"""What lesson 5 counts: the letters of a book, and five kinds of items from evenly spread to all the same."""

from __future__ import annotations

import numpy as np

from autograder.course.data import DATA

BINS = 256
STARS = 0.02  # of all pixels of a night sky


def letters() -> np.ndarray:
    """The text as int32 codes."""
    return np.frombuffer((DATA / "alice.txt").read_bytes(), np.uint8).astype(np.int32)


def night_sky(rng: np.random.Generator, size: int) -> np.ndarray:
    """A made-up photograph, row after row: black, and every 50th pixel or so a star of some brightness."""
    return np.where(rng.random(size) < STARS, rng.integers(1, BINS, size), 0).astype(np.int32)


def five_kinds() -> dict[str, np.ndarray]:
    """As many int32 items of each kind as the text has letters, each below 256, by name; the same ones each time.

    In the kind called zipf, bin k comes with a probability proportional to 1 / (k + 1) ** 1.5.
    """
    rng, text = np.random.default_rng(5), letters()
    weights = 1 / np.arange(1, BINS + 1) ** 1.5
    stars = night_sky(rng, text.size)
    drawn = {
        "uniform": rng.integers(0, BINS, text.size),
        "letters": text,
        "zipf": rng.choice(BINS, text.size, p=weights / weights.sum()),
        "night sky": stars,
        "one value": np.full(text.size, 7),
    }
    return {name: items.astype(np.int32) for name, items in drawn.items()}
