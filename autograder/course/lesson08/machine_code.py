"""What the compiler makes of lesson 8's ladder: each rung's inner loop, and how far its loads lie from their use.

    python -m autograder.course.lesson08.machine_code     # needs numba-cuda, ptxas and cuobjdump; no GPU; a minute

The packages are those of autograder/simgpu/measurements/spellings.py. `main` compiles each rung for compute capability 9.0
and writes ladder_machine_code.json: registers of a thread, instructions of the loop with the most multiply-adds, and for
each of its loads from shared memory how many instructions lie between it and the first one that needs what it brings.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from autograder.course.data import DATA
from autograder.course.lesson08.instructions import compiled, number_said
from autograder.course.lesson08.kernels import ANY_SIZE, LADDER, SMALL, SMALL_ANY_SIZE
from autograder.course.lesson08.launching import Rung

RESULT = DATA / "ladder_machine_code.json"
INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,5})\*/\s+(.*?);")
JUMP = re.compile(r"\bBRA.*?(0x[0-9a-f]+)")
LOAD = re.compile(r"LDS(?:\.\w+)*\s+R(\d+),")
NAMED = ("FFMA", "LDS", "LDS.64", "LDS.128", "STS", "LDG", "BAR")


def inner_loop(code: list[tuple[int, str]]) -> list[str]:
    """The instructions of the loop that has the most multiply-adds and no other loop in it; of several the first."""
    places = {address: at for at, (address, _) in enumerate(code)}
    spans = []
    for end, (address, text) in enumerate(code):
        jump = JUMP.search(text)
        if jump and int(jump[1], 16) < address and int(jump[1], 16) in places:
            spans.append((places[int(jump[1], 16)], end))
    inner = [
        (start, end)
        for start, end in spans
        if not any(start <= other and last <= end for other, last in spans if (other, last) != (start, end))
    ]
    loops = [[text for _, text in code[start : end + 1]] for start, end in sorted(inner)]
    return max(loops, key=lambda loop: sum("FFMA" in each for each in loop))


def name_of(text: str) -> str:
    """An instruction's name without its modifiers, but for the width of a fetch."""
    words = re.sub(r"^@!?U?P\w+\s+", "", text).split()[0]
    width = next((each for each in (".128", ".64") if each in words), "")
    return words.split(".")[0] + width


def until_use(loop: list[str]) -> list[int]:
    """For each load from shared memory: the instructions up to the first that reads what it brings, round and round."""
    between = []
    for at, text in enumerate(loop):
        found = LOAD.search(text)
        if found is None:
            continue
        width = {"LDS.128": 4, "LDS.64": 2}.get(name_of(text), 1)
        brings = re.compile("|".join(rf"\bR{int(found[1]) + each}\b" for each in range(width)))
        distance = 0
        while distance < len(loop):
            _, _, operands = loop[(at + 1 + distance) % len(loop)].partition(",")
            if brings.search(operands):
                break
            distance += 1
        between.append(distance)
    return between


def figures(rung: Rung) -> dict[str, Any]:
    """What is stored of a rung."""
    listing, said = compiled(rung, "cuobjdump", "-sass")
    loop = inner_loop([(int(at, 16), text.strip()) for at, text in INSTRUCTION.findall(listing)])
    counts = Counter(map(name_of, loop))
    return {
        "registers": number_said(said, r"Used (\d+) registers"),
        "instructions_in_the_loop": len(loop),
        "by_name": {name: counts[name] for name in NAMED if counts[name]},
        "instructions_until_use": until_use(loop),
    }


def main() -> None:
    import numba.cuda.dispatcher as dispatcher

    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))  # none is needed to compile
    versions = {name: version(name) for name in ("numba-cuda", "nvidia-nvvm", "nvidia-cuda-nvcc", "numba")}
    rungs = {rung.name: figures(rung) for rung in (*LADDER, SMALL, ANY_SIZE, SMALL_ANY_SIZE)}
    RESULT.write_text(json.dumps({"versions": versions, "rungs": rungs}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
