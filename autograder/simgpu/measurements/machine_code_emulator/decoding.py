"""Machine code as text, decoded into what the emulator steps through; what it does not know is refused, never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.simgpu.measurements.machine_code_emulator import decoding_memory, decoding_values
from autograder.simgpu.measurements.machine_code_emulator.operations import FLAGS
from autograder.simgpu.measurements.machine_code_emulator.parts import (
    DECODERS,
    EVERYBODY,
    GUARD,
    INSTRUCTION,
    Parts,
    Unsupported,
    immediate,
    split_operands,
)

__all__ = ["Decoded", "Unsupported", "decoded", "immediate", "one"]
DECODED_BY = (decoding_memory, decoding_values)  # each has put its functions into `DECODERS`


@dataclass
class Decoded:
    """A kernel's instructions: their text, what C steps through, and the address of the first."""

    texts: list[str]
    rows: np.ndarray

    def opcode(self, at: int) -> str:
        return GUARD.sub("", self.texts[at]).split()[0]


def decoded(texts: list[str]) -> Decoded:
    """A kernel's instructions, in order from its first; `Unsupported` names what is not known."""
    rows = np.zeros(len(texts), INSTRUCTION)
    for at, text in enumerate(texts):
        rows[at] = one(text)
    return Decoded(texts, rows)


def one(text: str) -> Any:
    """One instruction's row."""
    row = np.zeros(1, INSTRUCTION)[0]
    row["to"], row["guard"], row["predicate_to"], row["predicate"] = -1, EVERYBODY, EVERYBODY, EVERYBODY
    guard = GUARD.match(text)
    if guard is not None:
        row["guard"] = (7 if guard[3] == "T" else int(guard[3])) + (8 if guard[2] else 0)
        row["flags"] = FLAGS["GUARD_NOT"] if guard[1] else 0
    bare = GUARD.sub("", text).replace(".reuse", "")
    word, _, rest = bare.partition(" ")
    name, *modifiers = word.split(".")
    parts = Parts(text, name, modifiers, split_operands(rest), row)
    if name not in DECODERS:
        raise parts.refuse()
    DECODERS[name](parts)
    unknown = set(modifiers) - parts.used
    if unknown:
        raise parts.refuse(f"{', '.join(sorted(unknown))} is not known")
    return row
