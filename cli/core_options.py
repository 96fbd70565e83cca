# SPDX-License-Identifier: BSD-2-Clause
"""The command-line options that select a core, derived from the parameters of the core."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from utf8fpga.cli.options import CORE_NAMES, TABLES, core_names, one_of
from utf8fpga.cli.output import CommandError, did_you_mean
from utf8fpga.hdl import CORES, CoreParameters, Option
from utf8fpga.hdl.cores import is_default
from utf8fpga.hdl.parameters import option_word
from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.encodings import encoding_word

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_Command = Callable[..., Any]


@dataclass(frozen=True)
class Choice:
    """The cores that a command line with lists of values selects.

    Attributes:
        cores: the parameters of each core; empty where no option is given.
        words: the options, for the command line in the figures.
    """

    cores: tuple[Any, ...] = ()
    words: tuple[str, ...] = ()


_SECTIONS = {
    "Core": ("core",),
    "Options": (),
    "Ports": ("name", "kind", "reset_low"),
    "Streams": ("input_pauses", "output_pauses", "null_beats", "gaps", "separate_end"),
    "Files": (
        *("output", "testbench", "vectors", "sva", "vcd"),
        *("plot", "record", "directory", "cache"),
    ),
    "Advanced": (*("routed", "dask", "divide"),),
}
"""The sections of a help text with the names of their parameters. Other fields of a core are in the first one."""

_SECTION_OF = {name: heading for heading, names in _SECTIONS.items() for name in names}


class _SectionedCommand(click.Command):
    """A command of one core, whose help has the options in sections."""

    fields: Collection[str] = ()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _SECTIONS}
        help_record = None
        for each in self.get_params(ctx):
            # The usage has the arguments.
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)):
                default = "Core" if each.name in self.fields else "Options"
                words = record[0].replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "NUMBER")
                if "--help" in each.opts:
                    help_record = (words, record[1])
                    continue
                sections[_SECTION_OF.get(each.name or "", default)].append((words, record[1]))
        if help_record:
            # In the last section that has an option.
            next(filter(None, reversed(sections.values())), sections["Options"]).append(help_record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [name for name in core_names(ctx, None) if name.startswith(incomplete)]
        return [*map(CompletionItem, names), *super().shell_complete(ctx, incomplete)]


class CoreCommand(click.Command):
    """A command whose first argument may name a core, which determines its options.

    Args:
        commands: for each core the command with its options; the first core is the default.
    """

    def __init__(self, commands: Mapping[str, click.Command]) -> None:
        default = next(iter(commands.values()))
        super().__init__(default.name, params=default.params, help=default.help)
        self._commands = commands

    @property
    def others(self) -> dict[str, click.Command]:
        """For each core but the default one its command, by the words that select it."""
        return dict(list(self._commands.items())[1:])

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        core, rest = None, args
        if args and args[0] in self._commands:
            core, rest = args[0], args[1:]
        elif args and not extra.get("resilient_parsing"):
            self._check_spelling(args[0])
        try:
            context = self._commands[core or next(iter(self._commands))].make_context(info_name, rest, parent, **extra)
        except click.NoSuchOption as error:
            raise self._elsewhere(error, info_name) or error from None
        context.meta[CORE_NAMES] = () if args else tuple(self._commands)
        return context

    def _elsewhere(self, error: click.NoSuchOption, info_name: str | None) -> CommandError | None:
        """The error for an option of other cores only; None if no core has it."""
        option = error.option_name
        cores = [
            core
            for core, command in self._commands.items()
            if any(option in (*each.opts, *each.secondary_opts) for each in command.params)
        ]
        if not cores:
            return None
        noun = "core" if len(cores) == 1 else "cores"
        said = f"{option} is an option of the {noun} {' and '.join(cores)}"
        return CommandError(f"{said}: {info_name} {cores[0]} {option} ...")

    def _check_spelling(self, word: str) -> None:
        """Check that the first argument is not a misspelt core, which it is not if there is a file of this name."""
        if not word.startswith("-") and not any(isinstance(each, click.Argument) for each in self.params):
            near = did_you_mean(word, self._commands)
            raise CommandError(f"there is no core {word!r} (known: {', '.join(self._commands)}){near}")
        if word.isalpha() and not os.path.exists(word) and (near := did_you_mean(word, self._commands)):
            raise CommandError(f"there is no core {word!r}{near}")


def core_command(
    *,
    several: Collection[str] = (),
    optional: bool = False,
) -> Callable[[_Command], click.Command]:
    """A decorator for a command that accepts the name and the options of a core; `parameters` has their values.

    Args:
        several: the fields with lists of values: numbers separated by commas, or a repeated option for words.
            `parameters` is then a `Choice` of all combinations; where more than one field has several values,
            invalid combinations are omitted.
        optional: `parameters` is None where neither another core than the default one nor an option of it is given.

    Raises:
        InvalidArgumentError: (when the command runs) the combination of options is invalid.
    """

    def decorate(command: _Command) -> click.Command:
        commands = {}
        for name, kind in CORES.items():
            found = click.command(cls=_SectionedCommand)(with_options(command, kind))
            found.fields = kind.options().keys()
            found.help = (
                f"{cleandoc(found.help or '')}\n\nThe first argument may name the core, which determines the options: "
                f"{', '.join(CORES)}; default: {next(iter(CORES))}."
            )
            commands[name] = found
        return CoreCommand(commands)

    def with_options(command: _Command, kind: type[CoreParameters]) -> _Command:
        """Add the options of a core to a command, before those of the command itself."""
        options = kind.options()

        @functools.wraps(command)
        def choosing(**given: Any) -> Any:
            chosen = {name: given.pop(name) for name in options}
            # Options that are not given have the defaults of the parameters.
            values = {name: value for name, value in chosen.items() if value not in (None, ())}
            # The name of another core than the default one is a choice by itself.
            if optional and not values and is_default(kind):
                return command(parameters=None, **given)
            return command(parameters=_several(kind, values, several) if several else _one(kind, values), **given)

        # A copy of click's list of parameters, since the options differ between the cores.
        choosing.__click_params__ = list(getattr(command, "__click_params__", []))  # type: ignore[attr-defined]  # click puts it there
        decorated: _Command = choosing
        for name, how in reversed(options.items()):
            decorated = _click_option(name, how, several=name in several)(decorated)
        return decorated

    return decorate


def _one(kind: type[CoreParameters], values: dict[str, Any]) -> CoreParameters:
    return kind(**{name: TABLES[value] if name == "table" else value for name, value in values.items()})


def _several(kind: type[CoreParameters], values: dict[str, Any], several: Collection[str]) -> Choice:
    if not values and is_default(kind):
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
    words = [] if is_default(kind) else [kind.core]
    words += [
        word for name, how in kind.options().items() if name in values for word in _words(name, how, values[name])
    ]
    return Choice(tuple(dict.fromkeys(cores)), tuple(words))


def _words(name: str, how: Option, value: Any) -> list[str]:
    if how.flags:
        return [how.flags[not value]]
    if how.range and isinstance(value, tuple):
        value = ",".join(map(str, value))
    values = value if isinstance(value, tuple) else (value,)
    return [word for each in values for word in (option_word(name), str(each))]


def _click_option(name: str, how: Option, *, several: bool) -> Callable[[_Command], _Command]:
    details: dict[str, Any] = {"default": None, "help": how.help}
    if how.flags:
        to_true, to_false = how.flags
        if to_true and to_false:
            return click.option(f"{to_true}/{to_false}", name, **details)
        return click.option(to_true or to_false, name, flag_value=bool(to_true), type=bool, **details)
    if how.choices:
        words = [encoding_word(word) for word in how.choices] if name == "table" else list(how.choices)
        details |= {**one_of(words, how.help), "multiple": several}
    elif how.range and several:
        details |= {"callback": functools.partial(_numbers, limits=how.range), "metavar": "LIST"}
    elif how.range:
        details |= {"type": click.IntRange(*how.range)}
    return click.option(option_word(name), name, **details)


def _numbers(
    _context: click.Context, option: click.Parameter, value: str | None, *, limits: tuple[int, int | None]
) -> tuple[int, ...] | None:
    """Parse numbers separated by commas."""
    if value is None:
        return None
    lowest, highest = limits
    numbers = [int(word) if re.fullmatch("[0-9]{1,9}", word) else -1 for word in value.split(",")]
    if not all(lowest <= number and (highest is None or number <= highest) for number in numbers):
        raise CommandError(f"--{option.name} {value!r} must be numbers in {lowest}..{highest}, such as 1,4,16")
    return tuple(dict.fromkeys(numbers))
