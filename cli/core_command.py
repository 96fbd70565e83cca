# SPDX-License-Identifier: BSD-2-Clause
"""Commands of a core, which is a subcommand with the options of its parameters."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

import click

from utf8fpga.cli.command import examples
from utf8fpga.cli.options import Number, Word, one_of, reject
from utf8fpga.cli.output import CommandError
from utf8fpga.hdl import CORES, CoreParameters
from utf8fpga.hdl.parameters import Option, option_word
from utf8fpga.model.exceptions import did_you_mean
from utf8fpga.model.named import encoding_word


class CoreCommand(click.Command):
    """A command whose first argument may be the name of a core, which determines the options; default: the first one.

    Args:
        commands: for each core the command with its options.
    """

    def __init__(self, commands: Mapping[str, click.Command]) -> None:
        default = next(iter(commands.values()))
        super().__init__(default.name, None, default.callback, default.params, default.help, default.epilog)
        self.commands = commands

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[CORE]", *super().collect_usage_pieces(ctx)]

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in self.commands:
            chosen = self.commands[args[0]]
            return chosen.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        if args and not args[0].startswith("-") and not os.path.exists(args[0]):
            near = did_you_mean(args[0], self.commands)
            if near or not any(isinstance(each, click.Argument) for each in self.params):
                raise CommandError(f"there is no core {args[0]!r}{near or f': it is one of {_NAMES}'}")
        return super().make_context(info_name, args, parent, **extra)


_NAMES = ", ".join(CORES)


def core_command(*lines: str) -> Callable[[Callable[..., Any]], CoreCommand]:
    """A decorator for a command of a core, whose parameters are its argument `parameters`.

    Args:
        lines: see `examples`.
    """

    def decorate(function: Callable[..., Any]) -> CoreCommand:
        plain = click.command()(function)
        about = f"{inspect.cleandoc(function.__doc__ or '')} CORE is {_NAMES}."
        commands = {}
        for name, kind in CORES.items():
            options = [_core_option(each.name, kind.options()[each.name], each.default) for each in fields(kind)]
            callback = partial(_call, function, kind)
            commands[name] = click.Command(
                plain.name, None, callback, [*plain.params, *options], about, examples(*lines)
            )
        return CoreCommand(commands)

    return decorate


def _call(function: Callable[..., Any], kind: type[CoreParameters], /, **given: Any) -> Any:
    """Call a command's function with the parameters of the core that the options choose."""
    chosen = {each.name: given.pop(each.name) for each in fields(kind)}
    # Options that are not given have the defaults of the parameters.
    parameters = kind(**{name: value for name, value in chosen.items() if value is not None})
    if parameters.lanes == 1:
        reject("with one lane", "packed")
    return function(parameters=parameters, **given)


def _core_option(name: str, how: Option, default: Any) -> click.Option:
    """The option of the command line for a field of parameters."""
    word = option_word(name)
    if how.flags:
        to_true, to_false = how.flags
        if to_true and to_false:
            return click.Option([f"{to_true}/{to_false}", name], default=None, help=how.help)
        return click.Option(
            [to_true or to_false, name], flag_value=bool(to_true), type=bool, default=None, help=how.help
        )
    usual = encoding_word(default.name) if name == "table" else default
    text = f"{how.help.rstrip('.')}; default: {usual}."
    if name == "table":
        words = [encoding_word(choice) for choice in how.choices]
        return click.Option([word, name], type=Word(words), metavar="NAME", help=f"{text} One of {', '.join(words)}.")
    if how.choices:
        return click.Option([word, name], **one_of(how.choices, text))
    return click.Option([word, name], type=Number(*how.range or ()), help=text)
