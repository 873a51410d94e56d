"""What a lab asks a submission to define, and what is wrong with each function that cannot be used.

A broken function fails only the checks that use it: `hold_to` puts the error in the place of the definition, and
whoever calls, launches or names the function meets it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.errors import BrokenDefinition, SubmissionError
from autograder.language.program import Function, Kind, Program

KIND_WORDS: dict[Kind, str] = {
    "kernel": "a kernel (a function under @cuda.jit)",
    "device": "a device function (under @cuda.jit(device=True))",
    "host": "an ordinary Python function (no @cuda.jit)",
}


@dataclass(frozen=True)
class Required:
    """A function that a lab asks for.

    `parameters`: what the lab itself calls it with; they are matched by number, their names are for messages. None where
    only the submission's own functions call it: then what it takes is theirs to choose.
    """

    name: str
    kind: Kind
    parameters: tuple[str, ...] | None = None


def hold_to(program: Program, required: Sequence[Required]) -> Program:
    """The program with what is wrong with each required function in `broken`, and in the place of its definition where
    nobody can use that: the function is missing, refused or of another kind."""
    functions, broken = dict(program.functions), {}
    for each in required:
        if (problem := _unusable(program, each)) is not None:
            program.names.spoil(each.name, problem)
            functions.pop(each.name, None)
        elif each.parameters is not None:
            problem = _other_parameters(functions[each.name], each)
        if problem is not None:
            broken[each.name] = problem
    return replace(program, functions=functions, broken=broken)


def _unusable(program: Program, required: Required) -> BrokenDefinition | None:
    """Why nobody can use the function; None where everybody can."""
    name = required.name
    try:
        found = program.function(name)
    except SubmissionError as problem:
        return BrokenDefinition(problem.message, name=name, line=problem.line, remedy=problem.remedy)
    if found.kind == required.kind:
        return None
    remedy = f"The lab needs {KIND_WORDS[required.kind]}."
    return BrokenDefinition(
        f"`{name}` is {KIND_WORDS[found.kind]}.", name=name, line=found.line(found.node), remedy=remedy
    )


def _other_parameters(found: Function, required: Required) -> BrokenDefinition | None:
    """Why the lab cannot call the function; the submission's own functions may."""
    assert required.parameters is not None
    most = len(found.parameters)
    least = most - (len(found.node.args.defaults) if found.kind == "host" else 0)
    if least <= len(required.parameters) <= most:
        return None
    takes = f"{most} parameters" if most != 1 else "1 parameter"
    return BrokenDefinition(
        f"`{found.name}` takes {takes} ({', '.join(found.parameters)}).",
        name=found.name,
        line=found.line(found.node),
        remedy=f"The lab calls {found.name}({', '.join(required.parameters)}).",
    )
