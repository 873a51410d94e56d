"""An instruction taken apart: name, modifiers, operands, and the row of numbers that C steps through."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.simgpu.measurements.machine_code_emulator.operations import FLAGS, TYPES, WHERE

OPERAND = np.dtype(
    [(name, np.int32) for name in "where number type negative absolute inverted half unordered".split()]
    + [("value", np.uint64)]
)
INSTRUCTION = np.dtype(
    [(name, np.int32) for name in "op guard flags to to_uniform to_registers".split()]
    + [("predicate_to", np.int32, 2), ("predicate", np.int32, 3), ("predicate_not", np.int32, 3)]
    + [(name, np.int32) for name in "sources compare combine table table_two shift bytes target what rounding".split()]
    + [("source", OPERAND, 4)]
)
GUARD = re.compile(r"^@(!?)(U?)P(\d|T)\s+")
PREDICATE = re.compile(r"^(!?)(U?)P(\d|T)$")
PLAIN = re.compile(r"^([-~]?)(\|?)(U?)R(\d+|Z)\|?((?:\.\w+)*)$")
PLACE = re.compile(r"^(?:desc\[UR\d+\])?\[([^\]]*)\]$")
CONSTANT = re.compile(r"^c\[0x(\d+)\]\[([^\]]*)\]$")
EVERYBODY = 7  # the predicate that is always true


class Unsupported(Exception):
    """An instruction, or a form of one, that the emulator does not have."""


@dataclass
class Parts:
    """An instruction taken apart: name, modifiers, operands; `row` is what is made of it."""

    text: str
    name: str
    modifiers: list[str]
    operands: list[str]
    row: Any
    used: set[str] = field(default_factory=set)

    def has(self, modifier: str) -> bool:
        self.used.add(modifier)
        return modifier in self.modifiers

    def one_of(self, *among: str) -> str:
        """The modifier that is one of these; "" where there is none."""
        self.used.update(among)
        return next((each for each in among if each in self.modifiers), "")

    def ignore(self, *modifiers: str) -> None:
        self.used.update(modifiers)

    def flag(self, *names: str) -> None:
        for name in names:
            self.row["flags"] |= FLAGS[name]

    def refuse(self, why: str = "") -> Unsupported:
        return Unsupported(f"{self.text}{': ' if why else ''}{why}")

    # -- operands

    def predicate_number(self, text: str) -> tuple[int, int]:
        found = PREDICATE.match(text)
        if found is None:
            raise self.refuse(text)
        return (7 if found[3] == "T" else int(found[3])) + (8 if found[2] else 0), int(bool(found[1]))

    def predicate_sources(self, *texts: str) -> None:
        for at, text in enumerate(texts):
            self.row["predicate"][at], self.row["predicate_not"][at] = self.predicate_number(text)

    def predicates_to(self, *texts: str) -> None:
        for at, text in enumerate(texts):
            self.row["predicate_to"][at] = self.predicate_number(text)[0]

    def destination(self, text: str, registers: int = 1) -> None:
        found = PLAIN.match(text)
        if found is None or found[1] or found[2]:
            raise self.refuse(text)
        self.row["to_uniform"] = int(bool(found[3]))
        self.row["to"] = (63 if found[3] else 255) if found[4] == "Z" else int(found[4])
        self.row["to_registers"] = registers

    def sources(self, kind: str, *texts: str) -> None:
        for text in texts:
            self.source(text, kind)

    def source(self, text: str, kind: str) -> None:
        row = self.row["source"][self.row["sources"]]
        self.row["sources"] += 1
        row["type"] = TYPES.index(kind)
        found = PLAIN.match(text.replace(".reuse", ""))
        if found is None:
            row["where"], row["value"] = WHERE.index("immediate"), immediate(text, kind, self)
            return
        sign, bars, uniform, number, suffixes = found.groups()
        row["negative"], row["inverted"], row["absolute"] = int(sign == "-"), int(sign == "~"), int(bool(bars))
        row["where"] = WHERE.index("immediate" if number == "Z" else "uniform" if uniform else "register")
        row["number"] = 0 if number == "Z" else int(number)
        for suffix in suffixes.split(".")[1:]:
            if suffix in ("H0_H0", "H1_H1") and kind == "halves":
                row["half"] = 1 if suffix == "H0_H0" else 2
            elif suffix != "64":
                raise self.refuse(text)

    def place(self, text: str, is_global: bool, *, is_wide: bool = False) -> None:
        """An address in brackets: a register, a uniform one, an offset; `is_wide`: it does not say that it has 64 bits."""
        found = PLACE.match(text)
        if found is None:
            raise self.refuse(text)
        terms = found[1].replace("+-", "-").replace("-", "+-").split("+")
        register, uniform, offset = "RZ", "URZ", 0
        for term in filter(None, terms):
            if term.startswith("UR"):
                uniform = term
            elif term.startswith("R"):
                register = term
            else:
                offset = int(term, 16)
        wide = is_global and not register.endswith(".U32")
        if is_global and not (is_wide or register.endswith((".64", ".U32")) or register == "RZ"):
            raise self.refuse("an address of 32 bits")
        self.source(register.removesuffix(".U32"), "long" if wide else "integer")
        self.source(uniform, "long" if is_global else "integer")
        self.row["shift"] = offset


def immediate(text: str, kind: str, parts: Parts) -> int:
    """The bits of a number that stands in an instruction."""
    word = text.strip()
    if re.fullmatch(r"-?0x[0-9a-f]+", word):
        value = int(word, 16)
        return value & (2**64 - 1 if kind in ("long", "double") else 2**32 - 1)
    negative = word.startswith("-")
    bare = word.lstrip("+-").strip()
    if bare in ("INF", "QNAN", "NAN"):
        number = float("inf") if bare == "INF" else float("nan")
    else:
        try:
            number = float(bare)
        except ValueError:
            raise parts.refuse(word) from None
    number = -number if negative else number
    if kind == "double":
        return int(struct.unpack("<Q", struct.pack("<d", number))[0])
    if kind == "float":
        return int(np.float32(number).view(np.uint32))
    if kind == "half":
        return int(np.float16(number).view(np.uint16))
    raise parts.refuse(word)


def split_operands(text: str) -> list[str]:
    """Operands between commas; what stands in brackets stays together."""
    return [each.strip() for each in re.split(r",(?![^\[]*\])", text)] if text.strip() else []


Decoder = Callable[[Parts], None]
DECODERS: dict[str, Decoder] = {}


def decodes(*names: str) -> Callable[[Decoder], Decoder]:
    """Marks the function that decodes instructions of these names."""

    def decorated(function: Decoder) -> Decoder:
        DECODERS.update(dict.fromkeys(names, function))
        return function

    return decorated
