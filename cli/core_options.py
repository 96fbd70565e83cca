# SPDX-License-Identifier: BSD-2-Clause
"""The options that choose a core, made from the parameters of the core."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from itertools import product
from typing import Any

import click

from utf8fpga.cli.output import CommandError
from utf8fpga.hdl import CORES, CoreParameters, DecoderParameters, Option
from utf8fpga.model import CATALOGUE, InvalidArgumentError

__all__ = ["Choice", "core_command", "parsed"]

_Command = Callable[..., Any]


@dataclass(frozen=True)
class Choice:
    """Several cores that one command line chooses.

    Attributes:
        cores: their parameters; none where no option is given.
        words: the options.
    """

    cores: tuple[Any, ...] = ()
    words: tuple[str, ...] = ()


class _CoreCommand(click.Command):
    """A command whose first word may name a core, and whose options are that core's.

    Args:
        commands: by core the command; the first is the default.
    """

    def __init__(self, commands: Mapping[str, click.Command]) -> None:
        default = next(iter(commands.values()))
        super().__init__(default.name, params=default.params, help=default.help)
        self._commands = commands

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        core = args[0] if args and args[0] in self._commands else next(iter(self._commands))
        rest = args[1:] if args[:1] == [core] else args
        return self._commands[core].make_context(info_name, rest, parent, **extra)


def core_command(*, several: Collection[str] = (), optional: bool = False) -> Callable[[_Command], click.Command]:
    """Make a command that takes a core, by its name and its options, as the argument `parameters`.

    Args:
        several: the fields of which several values may be given: numbers with commas between them, words by an option
            each. Then `parameters` is a `Choice` of all combinations; of several fields with several values, those
            that do not go together are left out.
        optional: `parameters` is None where none of the core's options is given.

    Raises:
        InvalidArgumentError: (in the command) the options do not go together.
    """

    def decorate(command: _Command) -> click.Command:
        commands = {}
        for name, kind in CORES.items():
            commands[name] = click.command()(_with_options(kind, command, several, optional))
            commands[
                name
            ].help = f"{cleandoc(commands[name].help or '')}\n\nThe first word may name the core: {', '.join(CORES)}."
        return _CoreCommand(commands)

    return decorate


def _with_options(
    kind: type[CoreParameters], command: _Command, several: Collection[str], optional: bool = False
) -> _Command:
    """The command with the options of a core before its own."""

    @functools.wraps(command)
    def choosing(**given: Any) -> Any:
        chosen = {name: given.pop(name) for name in kind.options()}
        # What is not given has the default of the parameters.
        values = {name: value for name, value in chosen.items() if value not in (None, ())}
        if optional and not values:
            return command(parameters=None, **given)
        return command(parameters=_several(kind, values, several) if several else _one(kind, values), **given)

    # The list of click's parameters is added to; each core has its own.
    choosing.__click_params__ = list(getattr(command, "__click_params__", []))  # type: ignore[attr-defined]
    decorated: _Command = choosing
    for name, how in reversed(kind.options().items()):
        decorated = _click_option(name, how, several=name in several)(decorated)
    return decorated


def parsed(words: Sequence[str], kind: type[CoreParameters] = DecoderParameters) -> CoreParameters:
    """The parameters that words of the command line choose.

    Raises:
        click.UsageError: a word is no option of this core, or has a wrong value.
        InvalidArgumentError: the options do not go together.
    """

    def command(parameters: CoreParameters) -> CoreParameters:
        return parameters

    chosen = click.command()(_with_options(kind, command, ()))
    found: CoreParameters = chosen.main(list(words), prog_name=kind.core, standalone_mode=False)
    return found


def _one(kind: type[CoreParameters], values: dict[str, Any]) -> CoreParameters:
    return kind(**{name: CATALOGUE[value] if name == "table" else value for name, value in values.items()})


def _several(kind: type[CoreParameters], values: dict[str, Any], several: Collection[str]) -> Choice:
    if not values:
        return Choice()
    lists = {name: value if name in several else (value,) for name, value in values.items()}
    lenient = sum(len(each) > 1 for each in lists.values()) > 1
    cores: list[CoreParameters] = []
    error: InvalidArgumentError | None = None
    for combination in product(*lists.values()):
        try:
            cores.append(_one(kind, dict(zip(lists, combination, strict=True))))
        except InvalidArgumentError as found:
            if not lenient:
                raise
            error = found
    if error and not cores:
        raise error
    words = [word for name, how in kind.options().items() if name in values for word in _words(name, how, values[name])]
    return Choice(tuple(dict.fromkeys(cores)), tuple(words))


def _words(name: str, how: Option, value: Any) -> list[str]:
    if how.flags:
        return [how.flags[not value]]
    if how.range and isinstance(value, tuple):
        value = ",".join(map(str, value))
    values = value if isinstance(value, tuple) else (value,)
    return [word for each in values for word in (f"--{name}", str(each))]


def _click_option(name: str, how: Option, *, several: bool) -> Callable[[_Command], _Command]:
    details: dict[str, Any] = {"default": None, "help": how.help}
    if how.flags:
        to_true, to_false = how.flags
        if to_true and to_false:
            return click.option(f"{to_true}/{to_false}", name, **details)
        return click.option(to_true or to_false, name, flag_value=bool(to_true), type=bool, **details)
    if how.choices:
        details |= {"type": click.Choice(list(how.choices)), "multiple": several}
    elif how.range and several:
        details |= {"callback": functools.partial(_numbers, limits=how.range), "metavar": "LIST"}
    elif how.range:
        details |= {"type": click.IntRange(*how.range), "metavar": how.metavar}
    return click.option(f"--{name}", name, **details)


def _numbers(
    _context: click.Context, option: click.Parameter, value: str | None, *, limits: tuple[int, int | None]
) -> tuple[int, ...] | None:
    """Reads numbers with commas between them."""
    if value is None:
        return None
    lowest, highest = limits
    numbers = [int(word) if re.fullmatch("[0-9]{1,9}", word) else -1 for word in value.split(",")]
    if not all(lowest <= number and (highest is None or number <= highest) for number in numbers):
        raise CommandError(f"--{option.name} {value!r} must be numbers in {lowest}..{highest}, such as 1,4,16")
    return tuple(dict.fromkeys(numbers))
