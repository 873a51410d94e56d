"""What instructions that touch no memory are: arithmetic, comparisons, conversions, predicates."""

from __future__ import annotations

import re

from autograder.simgpu.measurements.machine_code_emulator.operations import COMPARISONS, OPERATIONS, ROUNDINGS
from autograder.simgpu.measurements.machine_code_emulator.parts import (
    EVERYBODY,
    PLAIN,
    PREDICATE,
    Parts,
    decodes,
    immediate,
)


def with_carries(parts: Parts, kinds: str, registers: int = 1) -> list[str]:
    """Destination, carries out, sources, carries in, as sums have them; returns what is left of the operands."""
    operands = list(parts.operands)
    parts.destination(operands.pop(0), registers)
    carries = []
    while operands and PREDICATE.match(operands[0]):
        carries.append(operands.pop(0))
    parts.predicates_to(*carries)
    parts.row["predicate"], parts.row["predicate_not"] = EVERYBODY, 1  # no carry: false
    taken: list[str] = []
    while operands and PREDICATE.match(operands[-1]):
        taken.insert(0, operands.pop())
    parts.predicate_sources(*taken)
    for kind in kinds.split():
        parts.source(operands.pop(0), kind)
    return operands


@decodes("IADD3", "UIADD3")
def _add(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["IADD3"]
    if parts.has("X"):
        parts.flag("EXTENDED")
    with_carries(parts, "integer integer integer")


@decodes("VIADD")
def _add_two(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["IADD3"]
    parts.operands.append("RZ")
    with_carries(parts, "integer integer integer")


@decodes("IMAD", "UIMAD")
def _multiply_add(parts: Parts) -> None:
    wide, high = parts.has("WIDE"), parts.has("HI")
    if parts.has("X"):
        parts.flag("EXTENDED")
    parts.ignore("MOV", "SHL", "IADD")
    if not parts.has("U32"):
        parts.flag("SIGNED")
    parts.row["op"] = OPERATIONS["IMAD_WIDE" if wide else "IMAD_HI" if high else "IMAD"]
    with_carries(parts, f"integer integer {'long' if wide or high else 'integer'}", 2 if wide else 1)


@decodes("LEA", "ULEA")
def _scaled_add(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["LEA"]
    if parts.has("X"):
        parts.flag("EXTENDED")
    high, extends = parts.has("HI"), parts.has("SX32")
    if high:
        parts.flag("HIGH")
    if extends:
        parts.flag("SIGN_EXTENDS")
    left = with_carries(parts, "integer integer integer" if high and not extends else "integer integer")
    parts.row["shift"] = int(left[0], 16)


@decodes("SHF", "USHF")
def _shift(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["SHF"]
    if parts.one_of("L", "R") == "L":
        parts.flag("LEFT")
    kind = parts.one_of("U32", "S32", "U64", "S64")
    parts.flag(*["SIGNED"] * kind.startswith("S"), *["FROM_64"] * kind.endswith("64"))
    for modifier, flag in (("HI", "HIGH"), ("W", "WRAPS")):
        if parts.has(modifier):
            parts.flag(flag)
    with_carries(parts, "integer integer integer")


@decodes("LOP3", "ULOP3")
def _logic(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["LOP3"]
    parts.ignore("LUT")
    if PREDICATE.match(parts.operands[0]):
        parts.predicates_to(parts.operands.pop(0))
    parts.row["table"] = int(parts.operands.pop(-2), 16)
    to = parts.row["predicate_to"].copy()
    with_carries(parts, "integer integer integer")
    parts.row["predicate_to"] = to


@decodes("PLOP3", "UPLOP3")
def _logic_of_predicates(parts: Parts) -> None:
    parts.row["op"], parts.row["to_uniform"] = OPERATIONS["PLOP3"], int(parts.name == "UPLOP3")
    parts.ignore("LUT")
    parts.predicates_to(*parts.operands[:2])
    parts.predicate_sources(*parts.operands[2:5])
    parts.row["table"], parts.row["table_two"] = (int(each, 16) for each in parts.operands[5:7])


def condition(parts: Parts, kind: str) -> None:
    """Two predicates, two operands, and what they are combined with."""
    parts.predicates_to(*parts.operands[:2])
    combination(parts, kind, parts.operands[2:])


def combination(parts: Parts, kind: str, operands: list[str]) -> None:
    """Two operands that are compared, and the predicates that the outcome is combined with."""
    parts.sources(kind, *operands[:2])
    parts.predicate_sources(*operands[2:])
    parts.row["combine"] = ["AND", "OR", "XOR"].index(parts.one_of("AND", "OR", "XOR"))


@decodes("ISETP", "UISETP")
def _compare(parts: Parts) -> None:
    parts.row["op"], parts.row["to_uniform"] = OPERATIONS["ISETP"], int(parts.name == "UISETP")
    if parts.has("EX"):
        parts.flag("EXTENDED")
    if not parts.has("U32"):
        parts.flag("SIGNED")
    parts.row["compare"] = COMPARISONS.index(parts.one_of(*COMPARISONS[:6]))
    condition(parts, "integer")


@decodes("FSETP", "DSETP", "HSETP2")
def _compare_floats(parts: Parts) -> None:
    kind = {"FSETP": "float", "DSETP": "double", "HSETP2": "halves"}[parts.name]
    parts.row["op"] = OPERATIONS[parts.name]
    is_unordered = comparison_of_floats(parts)
    condition(parts, kind)
    parts.row["source"][0]["unordered"] = int(is_unordered)


@decodes("FSET")
def _set_by_floats(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["FSET"]
    if parts.has("BF"):
        parts.flag("TO_FLOAT")  # 1.0 where it holds, else all bits
    is_unordered = comparison_of_floats(parts)
    parts.destination(parts.operands[0])
    combination(parts, "float", parts.operands[1:])
    parts.row["source"][0]["unordered"] = int(is_unordered)


def comparison_of_floats(parts: Parts) -> bool:
    """Notes how floats are compared; returns whether it holds where one of them is not a number."""
    if parts.has("FTZ"):
        parts.flag("FLUSH")
    word = parts.one_of(*COMPARISONS, *(f"{each}U" for each in COMPARISONS[:6]))
    ordered = word.removesuffix("U") if word in {f"{each}U" for each in COMPARISONS[:6]} else word
    parts.row["compare"] = COMPARISONS.index(ordered)
    return ordered != word


@decodes("MOV", "UMOV", "R2UR", "CS2R", "IABS", "POPC", "UPOPC", "FLO", "UFLO", "BREV", "UBREV")
def _of_one(parts: Parts) -> None:
    name = parts.name.removeprefix("U")
    if parts.name in ("R2UR", "CS2R"):
        name = "MOV"
    if name == "FLO":
        parts.flag(*["SIGNED"] * (not parts.has("U32")), *["HIGH"] * parts.has("SH"))
    parts.row["op"] = OPERATIONS[name]
    if parts.name == "CS2R":
        if parts.operands[1] != "SRZ":
            raise parts.refuse("a clock")
        parts.operands[1] = "RZ"
    parts.ignore("32")
    parts.destination(parts.operands[0], 2 if parts.name == "CS2R" and not parts.has("32") else 1)
    parts.source(parts.operands[-1], "integer")


@decodes("SEL", "USEL", "FSEL", "VIMNMX", "VIMNMX3", "FMNMX", "VIADDMNMX")
def _select(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS[parts.name.removeprefix("U")]
    parts.ignore("FTZ")
    if not parts.has("U32"):
        parts.flag("SIGNED")
    parts.destination(parts.operands[0])
    parts.sources("float" if parts.name[0] == "F" else "integer", *parts.operands[1:-1])
    parts.predicate_sources(parts.operands[-1])


@decodes("PRMT", "UPRMT", "SGXT", "BMSK", "IDP")
def _of_several(parts: Parts) -> None:
    name = parts.name.removeprefix("U")
    if name == "SGXT" and not parts.has("U32"):
        parts.flag("SIGNED")
    if name == "IDP":
        name = "IDP_2A"
        if not all([parts.has(each) for each in ("2A", "LO", "U16", "U8")]):
            raise parts.refuse()
    parts.row["op"] = OPERATIONS[name]
    parts.destination(parts.operands[0])
    parts.sources("integer", *parts.operands[1:])


@decodes("I2F", "I2FP", "F2I", "F2F", "FRND")
def _convert(parts: Parts) -> None:
    parts.ignore("FTZ", "NTZ")
    rounding = parts.one_of("RM", "RP", "RZ", "FLOOR", "CEIL", "TRUNC")
    parts.row["rounding"] = ROUNDINGS.index({"FLOOR": "RM", "CEIL": "RP", "TRUNC": "RZ"}.get(rounding, rounding))
    name = "I2F" if parts.name == "I2FP" else parts.name
    parts.row["op"] = OPERATIONS[name]
    if name == "F2F":
        kinds = [each for each in parts.modifiers if each in ("F16", "F32", "F64")]
        parts.ignore("F16", "F32", "F64")
        ways = ["", "F64.F32", "F32.F64", "F16.F32", "F16.F64", "F64.F16"]
        if ".".join(kinds) not in ways:
            raise parts.refuse()
        parts.row["what"] = ways.index(".".join(kinds))
        parts.destination(parts.operands[0], 2 if kinds[0] == "F64" else 1)
        parts.source(parts.operands[1], "double" if kinds[1] == "F64" else "halves" if kinds[1] == "F16" else "float")
        return
    parts.ignore("F32")
    double = parts.has("F64")
    whole = parts.one_of("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64") or "S32"
    if not whole.startswith("U"):
        parts.flag("SIGNED")
    if name == "FRND":
        parts.flag(*["FROM_64"] * double)
        parts.destination(parts.operands[0], 2 if double else 1)
        parts.source(parts.operands[1], "double" if double else "float")
        return
    wide = whole.endswith("64")
    if name == "F2I":
        if whole[1:] not in ("32", "64"):
            raise parts.refuse()
        parts.flag(*["TO_64"] * wide, *["FROM_64"] * double)
        parts.destination(parts.operands[0], 2 if wide else 1)
        parts.source(parts.operands[1], "double" if double else "float")
        return
    parts.row["what"] = {"8": 1, "16": 2}.get(whole[1:], 0)
    parts.flag(*["FROM_64"] * wide, *["TO_64"] * double)
    parts.destination(parts.operands[0], 2 if double else 1)
    parts.source(parts.operands[1], "long" if wide else "integer")


@decodes("F2FP")
def _pack_halves(parts: Parts) -> None:
    if not all([parts.has(each) for each in ("F16", "F32", "PACK_AB")]):
        raise parts.refuse()
    parts.row["op"], parts.row["what"] = OPERATIONS["F2F"], 6
    parts.destination(parts.operands[0])
    parts.sources("float", *parts.operands[1:])


@decodes("FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA")
def _floats(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS[parts.name]
    parts.row["rounding"] = ROUNDINGS.index(parts.one_of("RM", "RP", "RZ"))
    for modifier, flag in (("FTZ", "FLUSH"), ("SAT", "SATURATE")):
        if parts.has(modifier):
            parts.flag(flag)
    double = parts.name[0] == "D"
    parts.destination(parts.operands[0], 2 if double else 1)
    parts.sources("double" if double else "float", *parts.operands[1:])


@decodes("HADD2", "HMUL2", "HFMA2")
def _halves(parts: Parts) -> None:
    parts.ignore("MMA")
    to_float = parts.name == "HADD2" and parts.has("F32")
    parts.row["op"] = OPERATIONS["HADD2_F32" if to_float else parts.name]
    parts.destination(parts.operands[0])
    rest = parts.operands[1:]
    while rest:
        if PLAIN.match(rest[0].replace(".reuse", "")):
            parts.source(rest.pop(0), "halves")
            continue
        high, low = (immediate(each, "half", parts) for each in (rest.pop(0), rest.pop(0)))
        parts.source(hex(high << 16 | low), "integer")


@decodes("FCHK")
def _check_division(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["FCHK"]
    parts.predicates_to(parts.operands[0])
    parts.sources("float", *parts.operands[1:])


@decodes("MUFU")
def _function(parts: Parts) -> None:
    functions = ["RCP", "RSQ", "SQRT", "SIN", "COS", "EX2", "LG2", "TANH"]
    double = parts.one_of("RCP64H", "RSQ64H")
    which = double.removesuffix("64H") or parts.one_of(*functions)
    if not which:
        raise parts.refuse()
    parts.row["op"], parts.row["what"] = OPERATIONS["MUFU_64H" if double else "MUFU"], functions.index(which)
    parts.destination(parts.operands[0])
    if double and not PLAIN.match(parts.operands[1]):  # the upper half of a double that is written out
        parts.source(hex(immediate(parts.operands[1], "double", parts) >> 32), "integer")
    else:
        parts.source(parts.operands[1], "integer" if double else "float")


@decodes("P2R")
def _keep_predicates(parts: Parts) -> None:
    parts.row["op"] = OPERATIONS["P2R"]
    parts.destination(parts.operands[0])
    parts.sources("integer", *parts.operands[2:])


@decodes("R2P")
def _take_predicates(parts: Parts) -> None:
    parts.row["op"], parts.row["table"] = OPERATIONS["R2P"], int(parts.operands[2], 16)
    found = re.match(r"(R\w+)(?:\.B(\d))?$", parts.operands[1])
    if found is None:
        raise parts.refuse()
    parts.row["shift"] = 8 * int(found[2] or 0)
    parts.source(found[1], "integer")
