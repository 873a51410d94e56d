"""The signature of a function of the library: how many arguments it takes, under which names, and of which kinds.

It is read off the function's own Python parameters, and holds each call to them: what does not fit is refused in one
sentence, with the line, and with what to write.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from autograder.errors import KernelFault
from autograder.simgpu.operations.kinds import ArgumentPlace, Caller, Kind, NotTaken
from autograder.simgpu.values.values import NUMBERS, Value

MISSING = inspect.Parameter.empty
ANYTHING: Any = object()
"""An argument of which nothing is known yet: any parameter takes it."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function of the library; `default` is MISSING where it has none."""

    name: str
    kind: Kind
    default: object = MISSING
    is_positional_only: bool = True


class Signature:
    """The parameters of a function, and of `*rest` where it takes any number of arguments."""

    def __init__(self, name: str, parameters: Sequence[Parameter], rest: Parameter | None = None) -> None:
        self.name, self.parameters, self.rest = name, tuple(parameters), rest
        self.least = sum(each.default is MISSING for each in parameters)
        self._plain = tuple(each.kind.plain for each in parameters)
        self._defaults = [each.default for each in parameters]

    @classmethod
    def of(cls, name: str, handler: Callable[..., object]) -> Signature:
        """The signature that a handler declares, behind its first parameter, which is the call itself."""
        declared = list(inspect.signature(handler, eval_str=True).parameters.values())[1:]
        parameters = [
            Parameter(each.name, _kind_of(each), each.default, each.kind is each.POSITIONAL_ONLY)
            for each in declared
            if each.kind is not each.VAR_POSITIONAL
        ]
        rest = [Parameter(each.name, _kind_of(each)) for each in declared if each.kind is each.VAR_POSITIONAL]
        return cls(name, parameters, rest[0] if rest else None)

    def bind(self, call: Caller, arguments: Sequence[Value], keywords: dict[str, Value]) -> Sequence[object]:
        """The arguments in the order of the parameters, each of its parameter's kind; a KernelFault where they are not.

        The first lines are for what nearly every call is: numbers by position, of the very kinds that are wanted.
        """
        given = len(arguments)
        if not keywords and self.least <= given <= len(self._plain):
            for value, plain in zip(arguments, self._plain, strict=False):
                if not isinstance(value, NUMBERS) or value.dtype.kind not in plain:
                    break
            else:
                return arguments if given == len(self._plain) else [*arguments, *self._defaults[given:]]
        return self._bound(call, arguments, keywords)

    def _bound(self, call: Caller, arguments: Sequence[Value], keywords: dict[str, Value]) -> list[object]:
        most = len(self.parameters)
        if len(arguments) > most and self.rest is None:
            raise self.wrong_number(call, len(arguments) + len(keywords))
        self._check_names(call, len(arguments), keywords)
        bound: list[object] = []
        for position, parameter in enumerate(self.parameters):
            if position < len(arguments):
                bound.append(self._accept(call, arguments[position], parameter, position))
            elif parameter.name in keywords:
                bound.append(self._accept(call, keywords[parameter.name], parameter, None))
            elif parameter.default is MISSING:
                raise self.wrong_number(call, len(arguments) + len(keywords))
            else:
                bound.append(parameter.default)
        if self.rest is not None:
            bound += [self._accept(call, each, self.rest, i) for i, each in enumerate(arguments[most:], most)]
        return bound

    def _check_names(self, call: Caller, given: int, keywords: dict[str, Value]) -> None:
        """Refuses names that no parameter has or takes, and a value that is given twice."""
        by_name = {each.name for each in self.parameters if not each.is_positional_only}
        for name in keywords:
            if name in by_name and name not in {each.name for each in self.parameters[:given]}:
                continue
            if name in by_name:
                problem = f"`{self.name}` is given `{name}` twice: by its position, and by its name."
            elif by_name:
                problem = f"`{self.name}` has no parameter `{name}`."
            else:
                problem = f"`{self.name}` takes no arguments by name, but `{name}` is given."
            raise call.fault(problem, self.remedy)

    def _accept(self, call: Caller, value: Value, parameter: Parameter, position: int | None) -> object:
        if value is ANYTHING:
            return value
        try:
            return parameter.kind.take(call, value, ArgumentPlace(parameter.name, position))
        except NotTaken as problem:
            instead = str(problem) or call.described(value)
        raise call.fault(f"`{self.name}` takes {parameter.kind.words} as {parameter.name}, not {instead}.", self.remedy)

    def wrong_number(self, call: Caller, given: int) -> KernelFault:
        """What to say where there are too few arguments or too many."""
        least, most = self.least, len(self.parameters)
        number = f"at least {least}" if self.rest else f"{least}" if least == most else f"{least} to {most}"
        names = f" ({', '.join(each.name for each in self.parameters)})" if self.parameters else ""
        plural = "" if number.endswith(" 1") or number == "1" else "s"
        are = "is" if given == 1 else "are"
        number = "no" if number == "0" else number
        return call.fault(
            f"`{self.name}` takes {number} argument{plural}{names}, but {given} {are} given.", self.remedy
        )

    @property
    def remedy(self) -> str:
        """What to write: the call with its parameters, of which those in brackets may be left out."""
        shown = [each.name if each.default is MISSING else f"[{each.name}]" for each in self.parameters]
        return f"Write {self.name}({', '.join([*shown, *(['...'] if self.rest else [])])})."


def _kind_of(parameter: inspect.Parameter) -> Kind:
    written = (parameter.annotation, *get_args(parameter.annotation))  # `Number`, or `Number | None`
    for each in (kind for one in written for kind in get_args(one)):
        if isinstance(each, Kind):
            return each
    raise TypeError(f"the parameter `{parameter.name}` needs a kind of kinds.py as its annotation")
