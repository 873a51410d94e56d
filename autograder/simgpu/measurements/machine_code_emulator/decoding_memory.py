"""What instructions are that touch memory, jump, wait, or let lanes tell each other something."""

from __future__ import annotations

import re

from autograder.simgpu.measurements.machine_code_emulator.operations import ATOMICS, OPERATIONS, SPECIAL
from autograder.simgpu.measurements.machine_code_emulator.parts import CONSTANT, PLACE, PREDICATE, Parts, decodes

# -- memory -------------------------------------------------------------------------------------------------------

SPACES = {"LDG": 0, "STG": 0, "ATOMG": 0, "REDG": 0, "LDS": 1, "STS": 1, "ATOMS": 1, "LDL": 2, "STL": 2}


def width(parts: Parts) -> int:
    kind = parts.one_of("U8", "S8", "U16", "S16", "64", "128")
    if kind.startswith("S"):
        parts.flag("SIGNED")
    return {"": 4, "U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}[kind]


@decodes("LDG", "LDS", "LDL", "STG", "STS", "STL")
def _access(parts: Parts) -> None:
    parts.ignore("E", "CONSTANT", "STRONG", "GPU", "SYS", "SM", "CTA", "EF", "EL", "LU", "EU", "NA")
    load = parts.name[0] == "L"
    space = SPACES[parts.name]
    parts.row["op"], parts.row["what"] = OPERATIONS["LOAD" if load else "STORE"], space
    parts.row["bytes"] = width(parts)
    if load:
        parts.destination(parts.operands[0], max(1, int(parts.row["bytes"]) // 4))
        parts.place(parts.operands[1], space == 0)
    else:
        parts.place(parts.operands[0], space == 0)
        parts.source(parts.operands[1], "integer")


@decodes("ATOMG", "REDG", "ATOMS")
def _atomic(parts: Parts) -> None:
    parts.ignore("E", "STRONG", "GPU", "SYS", "CTA", "FTZ", "RN", "SPIN", "32")
    parts.row["op"], parts.row["what"] = OPERATIONS["ATOMIC"], SPACES[parts.name]
    kind = parts.one_of("F32", "F64", "S32", "U32", "64", "S64", "U64") or "U32"
    if kind.startswith("S"):
        parts.flag("SIGNED")
    parts.row["bytes"] = 8 if kind.endswith("64") else 4
    how = parts.one_of("ADD", "MIN", "MAX", "AND", "OR", "XOR", "INC", "DEC", "EXCH", "CAS", "CAST", "POPC")
    if how == "POPC":
        parts.ignore("INC")
    if how == "INC" and parts.has("POPC"):
        how = "POPC"
    if kind.startswith("F"):
        how += kind
    if how not in ATOMICS:
        raise parts.refuse()
    parts.row["table"] = ATOMICS.index(how)
    operands = list(parts.operands)
    parts.row["to"] = 255
    if PREDICATE.match(operands[0]):
        parts.predicates_to(operands.pop(0))
    if not PLACE.match(operands[0]):
        parts.destination(operands.pop(0), int(parts.row["bytes"]) // 4)
    parts.place(operands.pop(0), parts.row["what"] == 0, is_wide=how == "CAS")
    typed = "long" if parts.row["bytes"] == 8 else "integer"
    parts.sources(typed, *(operands or ["RZ"]))


@decodes("LDC", "ULDC")
def _load_constant(parts: Parts) -> None:
    found = CONSTANT.match(parts.operands[1])
    if found is None:
        raise parts.refuse()
    parts.row["op"], parts.row["bytes"] = OPERATIONS["LDC"], width(parts)
    parts.destination(parts.operands[0], 2 if parts.row["bytes"] == 8 else 1)
    parts.row["table"] = int(found[1], 16)
    if not 0 <= parts.row["table"] < 8:
        raise parts.refuse()
    register, offset = "RZ", 0
    for term in found[2].replace("+-", "-").replace("-", "+-").split("+"):
        if re.match(r"U?R", term):
            register = term
        elif term:
            offset = int(term, 16)
    parts.source(register, "integer")
    parts.row["shift"] = offset


# -- control ------------------------------------------------------------------------------------------------------


@decodes("NOP", "YIELD", "MEMBAR", "ERRBAR", "CCTL", "NANOSLEEP", "DEPBAR", "WARPSYNC.ALL")
def _nothing(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["NOP"]
    parts.used.update(parts.modifiers)


@decodes("BRA", "CALL")
def _jump(parts: Parts) -> None:
    parts.ignore("REL", "NOINC", "U")
    parts.row["op"] = OPERATIONS["BRA"]
    operands = list(parts.operands)
    if parts.has("DIV"):
        parts.row["what"] = 1
        parts.source(operands.pop(0), "integer")
    elif len(operands) == 2:
        parts.predicate_sources(operands.pop(0))
    parts.row["target"] = target(parts, operands[-1])


def target(parts: Parts, text: str) -> int:
    if not re.fullmatch(r"0x[0-9a-f]+", text) or int(text, 16) % 16:
        raise parts.refuse("where it goes is not known")
    return int(text, 16) // 16


@decodes("RET", "BRX")
def _jump_to_register(parts: Parts) -> None:
    parts.ignore("REL", "NODEC")
    parts.row["op"] = OPERATIONS["JUMP"]
    register, _, offset = parts.operands[0].partition(" ")
    parts.source(register, "integer" if parts.name == "RET" else "long")
    parts.row["shift"] = int(offset.strip() or "0", 16)
    parts.row["what"] = int(parts.name == "BRX")


@decodes("EXIT")
def _exit(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["EXIT"]


@decodes("BSSY", "BSYNC", "BREAK")
def _converge(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS[parts.name]
    *predicates, barrier = [each for each in parts.operands if not each.startswith("0x")]
    if predicates:
        raise parts.refuse()
    parts.row["what"] = int(barrier.removeprefix("B"))


@decodes("WARPSYNC")
def _wait_for_lanes(parts: Parts) -> None:
    parts.ignore("EXCLUSIVE")
    if parts.has("ALL"):
        parts.operands = ["0xffffffff"]
    if parts.has("COLLECTIVE"):
        raise parts.refuse()
    parts.row["op"] = OPERATIONS["WARPSYNC"]
    parts.source(parts.operands[0], "integer")


@decodes("BMOV")
def _move_barrier(parts: Parts) -> None:
    parts.ignore("32")
    to, source = parts.operands
    if parts.has("CLEAR"):
        parts.flag("HIGH")
    if to.startswith("B"):
        parts.row["op"], parts.row["what"] = OPERATIONS["BMOV_TO"], int(to[1:])
        parts.source(source, "integer")
    else:
        parts.row["op"], parts.row["what"] = OPERATIONS["BMOV_FROM"], int(source[1:])
        parts.destination(to)


@decodes("BAR")
def _barrier(parts: Parts) -> None:
    parts.ignore("DEFER_BLOCKING")
    parts.row["op"] = OPERATIONS["BAR"]
    if parts.operands[0] != "0x0" or parts.one_of("SYNC", "RED") == "":
        raise parts.refuse("a barrier of some threads")
    if parts.has("RED"):
        parts.row["what"] = ["", "POPC", "AND", "OR"].index(parts.one_of("POPC", "AND", "OR"))
        parts.predicate_sources(parts.operands[1])


@decodes("B2R")
def _barrier_said(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["B2R"]
    if not parts.has("RESULT"):
        raise parts.refuse()
    parts.destination(parts.operands[0])
    parts.predicates_to(*parts.operands[1:])


@decodes("S2R", "S2UR")
def _special(parts: Parts) -> None:
    if parts.operands[1] not in SPECIAL:
        raise parts.refuse()
    parts.row["op"], parts.row["what"] = OPERATIONS["S2R"], SPECIAL[parts.operands[1]]
    parts.destination(parts.operands[0])


# -- lanes --------------------------------------------------------------------------------------------------------


@decodes("SHFL")
def _shuffle(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["SHFL"]
    ways = ["UP", "DOWN", "BFLY", "IDX"]
    parts.row["what"] = ways.index(parts.one_of(*ways))
    parts.predicates_to(parts.operands[0])
    parts.destination(parts.operands[1])
    parts.sources("integer", *parts.operands[2:])


@decodes("VOTE", "VOTEU")
def _vote(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["VOTE"]
    ways = ["ANY", "ALL", "EQ"]
    parts.row["what"] = ways.index(parts.one_of(*ways))
    operands = list(parts.operands)
    if not PREDICATE.match(operands[0]):
        parts.destination(operands.pop(0))
    parts.row["to_uniform"] = int(parts.name == "VOTEU")
    *to, said = operands
    parts.predicates_to(*to)
    parts.predicate_sources(said)
    parts.source("RZ", "integer")


@decodes("MATCH")
def _match(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["MATCH"]
    parts.row["what"] = ["ANY", "ALL"].index(parts.one_of("ANY", "ALL"))
    operands = list(parts.operands)
    if PREDICATE.match(operands[0]):
        parts.predicates_to(operands.pop(0))
    parts.destination(operands[0])
    parts.source(operands[1], "long" if parts.has("U64") else "integer")


@decodes("REDUX")
def _reduce(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["REDUX"]
    if not parts.one_of("U32") and (parts.has("S32") or not parts.has("U32")):
        parts.flag("SIGNED")
    ways = ["SUM", "MIN", "MAX", "AND", "OR", "XOR"]
    parts.row["what"] = ways.index(parts.one_of(*ways) or "SUM")
    parts.destination(parts.operands[0])
    parts.source(parts.operands[1], "integer")
