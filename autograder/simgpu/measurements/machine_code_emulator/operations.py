"""Names and numbers that the decoder and the C files share; `header` tells C."""

from __future__ import annotations

_NAMES = """
    NOP MOV IADD3 IMAD IMAD_WIDE IMAD_HI LEA SHF LOP3 PLOP3 ISETP FSETP DSETP HSETP2 FSET SEL FSEL VIMNMX
    VIMNMX3 VIADDMNMX FMNMX PRMT POPC FLO BREV IABS SGXT BMSK IDP_2A I2F F2I F2F FRND FADD FMUL FFMA FCHK MUFU
    MUFU_64H DADD DMUL DFMA HADD2 HADD2_F32 HMUL2 HFMA2 P2R R2P LOAD STORE ATOMIC LDC BRA JUMP EXIT BSSY BSYNC
    BREAK WARPSYNC BMOV_FROM BMOV_TO BAR B2R S2R SHFL VOTE MATCH REDUX
""".split()
OPERATIONS = {name: number for number, name in enumerate(_NAMES)}
OPERATIONS["FSEL"] = OPERATIONS["SEL"]
FLAGS = {
    name: 1 << at
    for at, name in enumerate(
        "GUARD_NOT EXTENDED HIGH SIGNED FLUSH SATURATE WRAPS LEFT TO_64 FROM_64 SIGN_EXTENDS TO_FLOAT".split()
    )
}
COMPARISONS = ["LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "MAX", "MIN"]
ROUNDINGS = ["", "RM", "RP", "RZ"]
WHERE = ["immediate", "register", "uniform"]
TYPES = ["integer", "float", "long", "double", "halves"]
ATOMICS = "ADD ADDF32 ADDF64 MIN MAX AND OR XOR INC DEC POPC EXCH CAS CAST".split()
_ATOMICS_IN_C = "ADD ADD_F32 ADD_F64 MIN MAX AND OR XOR INC DEC COUNT EXCHANGE COMPARE CAST".split()
SPECIAL = {
    "SR_TID.X": 0, "SR_TID.Y": 1, "SR_TID.Z": 2, "SR_CTAID.X": 3, "SR_CTAID.Y": 4, "SR_CTAID.Z": 5, "SR_LANEID": 6,
    "SR_EQMASK": 7, "SR_LTMASK": 8, "SR_LEMASK": 9, "SR_GTMASK": 10, "SR_GEMASK": 11, "SR_CgaCtaId": 16,
}  # fmt: skip
FAULTS = {
    1: "an address outside",
    2: "threads that wait for each other",
    3: "an operation that is not known",
    4: "more instructions than the limit",
    5: "a jump to nowhere",
}
COUNTS = ("warps", "threads", "threads_on", "requests", "sectors", "wavefronts", "conflicts")


def header() -> str:
    """The enumerations as C has them."""
    operations = ", ".join(f"OP_{name} = {number}" for name, number in OPERATIONS.items())
    flags = ", ".join(f"{name} = {bit}" for name, bit in FLAGS.items())
    atomics = ", ".join(f"ATOMIC_{name}" for name in _ATOMICS_IN_C)
    listed = (operations, flags, atomics, "IN_GLOBAL, IN_SHARED, IN_LOCAL")
    return "".join(f"enum {{ {names} }};\n" for names in listed)
