"""A Numba kernel's machine code for compute capability 9.0: its instructions, constants, parameters and source lines.

Needs the packages that ../spellings.py names; no GPU.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from autograder.simgpu.measurements.machine_code_emulator.decoding import Decoded, Unsupported, decoded
from autograder.simgpu.measurements.spellings import tool

CONSTANT = re.compile(r"^\.nv\.constant(\d)")
PARAMETER = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+[\w$]+(?:\[(\d+)\])?")
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
LINE = re.compile(r'\s*//## File "[^"]*", line (\d+)')
PLACE = re.compile(r"([.$\w]+):$")
NAMED = re.compile(r"`\(([^)]*)\)")
SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}


@dataclass
class Compiled:
    """A kernel's machine code, and what a launch of it needs."""

    code: Decoded
    constants: dict[int, bytearray]  # by bank; bank 0 has room for the parameters at its end
    parameters: list[tuple[int, int]]  # offset and size of each, behind `parameters_at`
    parameters_at: int
    shared_bytes: int
    lines: list[int]  # of each instruction
    variables: bytes  # the device's own: tables of functions, say
    variables_at: list[tuple[int, int]]  # where bank 4 is to hold an address: its offset, and that in `variables`


def compiled(kernel: Any, arguments: tuple[Any, ...]) -> Compiled:
    """Compiles a kernel for the types of these arguments; raises `Unsupported` where it needs what is not emulated."""
    import numba.cuda.dispatcher as dispatcher
    from numba import cuda, typeof

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))  # none is needed to compile
    options = getattr(kernel, "targetoptions", {})
    ptx, _ = cuda.compile_ptx(
        kernel.py_func, tuple(map(typeof, arguments)), cc=(9, 0), lineinfo=True, fastmath=bool(options.get("fastmath"))
    )
    if re.search(r"^\.extern \.func", ptx, re.M):
        raise Unsupported("a function of CUDA's device runtime")
    with tempfile.TemporaryDirectory() as folder:
        made, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        made.write_text(ptx, encoding="utf-8")
        subprocess.run([tool("ptxas"), "-arch=sm_90", "-lineinfo", str(made), "-o", str(cubin)], check=True)
        told = subprocess.run([tool("nvdisasm"), "-c", "-g", str(cubin)], check=True, capture_output=True, text=True)
        elf = cubin.read_bytes()
    found = sections(elf)
    constants: dict[int, bytearray] = {}
    shared = 0
    for name, (data, size) in found.items():
        bank = CONSTANT.match(name)
        if bank is not None:
            constants[int(bank[1])] = bytearray(data)
        elif name.startswith(".nv.shared."):
            shared = max(shared, size) if "reserved" not in name else shared
    parameters = parameters_of(ptx)
    length = parameters[-1][0] + parameters[-1][1] if parameters else 0
    texts, lines = instructions_of(told.stdout)
    variables, places = variables_of(elf, found)
    at = len(constants[0]) - length
    return Compiled(decoded(texts), constants, parameters, at, shared, lines, variables, places)


def sections(elf: bytes) -> dict[str, tuple[bytes, int]]:
    """The sections of a cubin: content (empty where the file has none) and size, by name."""
    table, entry, count, names = *struct.unpack_from("<Q", elf, 40), *struct.unpack_from("<3H", elf, 58)
    heads = [struct.unpack_from("<IIQQQQ", elf, table + entry * at) for at in range(count)]
    start = heads[names][4]
    found = {}
    for name, kind, _, _, offset, size in heads:
        word = elf[start + name : elf.index(b"\0", start + name)].decode()
        found[word] = (b"" if kind == 8 else elf[offset : offset + size], size)
    return found


def variables_of(elf: bytes, found: dict[str, tuple[bytes, int]]) -> tuple[bytes, list[tuple[int, int]]]:
    """The device's variables, one after the other, and which words of bank 4 want the address of which."""
    places, everything = {}, b""
    for number, (name, (data, size)) in enumerate(found.items()):
        if name.startswith(".nv.global"):
            everything += bytes(-len(everything) % 256)
            places[number] = len(everything)
            everything += data or bytes(size)
    wanted = []
    symbols, relocations = (found.get(name, (b"", 0))[0] for name in (".symtab", ".rela.nv.constant4"))
    for offset, about, addend in struct.iter_unpack("<QQq", relocations):
        _, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", symbols, 24 * (about >> 32))
        if section not in places:
            raise Unsupported("an address of something that is no variable")
        wanted.append((offset, places[section] + value + addend))
    return everything, wanted


def parameters_of(ptx: str) -> list[tuple[int, int]]:
    """Offset and size of each parameter of the kernel."""
    head = re.search(r"\.entry[^(]*\((.*?)\)\s*(?:\.\w+[^{]*)?\{", ptx, re.S)
    if head is None:
        raise Unsupported("no kernel in the PTX")
    offset, found = 0, []
    for align, kind, many in PARAMETER.findall(head[1]):
        each = SIZES[re.sub(r"\D", "", kind)]
        size = each * int(many or 1)
        to = int(align or each)
        offset = -(-offset // to) * to
        found.append((offset, size))
        offset += size
    return found


def instructions_of(listing: str) -> tuple[list[str], list[int]]:
    """The instructions that nvdisasm lists, with addresses where it names places, and the source line of each.

    Where a function was written into another, the line is the one that nvdisasm gives last: that of the calling function.
    """
    texts: list[str] = []
    lines: list[int] = []
    places: dict[str, int] = {}
    line = 0
    for text in listing.splitlines():
        said = LINE.match(text)
        named = PLACE.match(text)
        found = INSTRUCTION.match(text)
        if said is not None:
            line = int(said[1])
        elif named is not None:
            places[named[1]] = 16 * len(texts)
        elif found is not None:
            if int(found[1], 16) != 16 * len(texts):
                raise Unsupported("a listing of more than one function")
            texts.append(found[2])
            lines.append(line)
    return [NAMED.sub(lambda found: hex(places[found[1]]), text) for text in texts], lines
