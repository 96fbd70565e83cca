# SPDX-License-Identifier: BSD-2-Clause
"""Commands of a core, which is a subcommand with the options of its parameters, and where their jobs run."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any

import click

from utf8fpga.cli.command import Command
from utf8fpga.cli.jobs import job_executor
from utf8fpga.cli.options import SCHEDULER, TABLES, Number, one_of, reject
from utf8fpga.cli.output import CommandError
from utf8fpga.hdl import CORES, CoreParameters, Option
from utf8fpga.hdl.parameters import option_word
from utf8fpga.model.exceptions import did_you_mean
from utf8fpga.model.named import encoding_word


class CoreCommand(click.Command):
    """A command whose first argument may be a subcommand, the name of a core, which determines its options.

    Args:
        default: the command where the first argument is no core.
        commands: for each core the command with its options.
    """

    def __init__(self, default: Command, commands: Mapping[str, Command]) -> None:
        super().__init__(default.name, params=default.params, help=default.help)
        self.default, self.commands, self.examples = default, commands, default.examples

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        core = args[0] if args and args[0] in self.commands else None
        if core is None and args and not extra.get("resilient_parsing"):
            self._check_spelling(args[0])
        try:
            if core is None:
                return self.default.make_context(info_name, args, parent, **extra)
            return self.commands[core].make_context(f"{info_name} {core}", args[1:], parent, **extra)
        except click.NoSuchOption as error:
            cores = [name for name, each in self.commands.items() if error.option_name in option_names(each)]
            if not cores:
                raise
            noun = "core" if len(cores) == 1 else "cores"
            said = f"{error.option_name} is an option of the {noun} {', '.join(cores)}"
            raise CommandError(f"{said}: {info_name} {cores[0]} {error.option_name} ...") from None

    def _check_spelling(self, word: str) -> None:
        """Check that the first argument is not a misspelt core, which it is not if there is a file of this name."""
        near = did_you_mean(word, self.commands)
        takes_arguments = any(isinstance(each, click.Argument) for each in self.params)
        is_argument = takes_arguments and (os.path.exists(word) or not (near and word.isalpha()))
        if not is_argument and not word.startswith("-"):
            known = ", ".join(self.commands)
            raise CommandError(f"there is no core {word!r}{near or f'; the cores are {known}'}")


def option_names(command: click.Command) -> list[str]:
    """All options of a command."""
    return [name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)]


def core_command(*examples: str, optional: bool = False) -> Callable[[Callable[..., Any]], click.Command]:
    """A decorator for a command of a core, whose parameters are its argument `parameters`.

    Args:
        examples: see `Command`.
        optional: `parameters` is None where neither a core nor an option of one is given.

    Raises:
        InvalidArgumentError: (when the command runs) the combination of options is invalid.
    """

    def with_options(function: Callable[..., Any], kind: type[CoreParameters]) -> Callable[..., Any]:
        """Add the options of a core to a command, before those of the command itself."""
        defaults = {each.name: each.default for each in fields(kind)}

        @functools.wraps(function)
        def choosing(**given: Any) -> Any:
            chosen = {name: given.pop(name) for name in defaults}
            # Options that are not given have the defaults of the parameters.
            values = {name: value for name, value in chosen.items() if value is not None}
            if "table" in values:
                values["table"] = TABLES[values["table"]]
            parameters = kind(**values)
            for name in values.keys() - parameters.chosen().keys():
                if values[name] != defaults[name]:
                    reject(f"with lanes {parameters.lanes}", name)
            is_default = optional and kind is next(iter(CORES.values())) and not values
            return function(parameters=None if is_default else parameters, **given)

        # A copy of click's list of parameters, since the options differ between the cores.
        own: list[click.Parameter] = getattr(function, "__click_params__", [])
        made = [_core_option(name, how, defaults[name]) for name, how in reversed(kind.options().items())]
        choosing.__click_params__ = [*own, *made]  # type: ignore[attr-defined]  # click reads it
        return choosing

    def decorate(function: Callable[..., Any]) -> click.Command:
        make = click.command(cls=Command, examples=examples)
        commands = {name: make(with_options(function, kind)) for name, kind in CORES.items()}
        first = next(iter(CORES))
        default = make(with_options(function, CORES[first]))
        default.has_core = True
        default.help = f"{default.help}\n\nCORE is {', '.join(CORES)}, and determines the options; default: {first}."
        return CoreCommand(default, commands)

    return decorate


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
    if how.choices:
        choices = map(encoding_word, how.choices) if name == "table" else how.choices
        return click.Option([word, name], **one_of(choices, text))
    return click.Option([word, name], type=Number(*how.range) if how.range else None, help=text)


MAX_JOBS = 1024
"""Upper bound on the concurrent jobs of this machine."""

dask_option = click.option("--dask", type=SCHEDULER, help="Scheduler of a Dask cluster that runs the jobs.")
jobs_option = click.option("--jobs", type=Number(1, MAX_JOBS), help="Concurrent jobs; default: one per processor.")


def chosen_executor(jobs: int | None, dask: str | None) -> AbstractContextManager[Executor]:
    """Where the jobs of a command run, from the values of these options."""
    if dask and jobs:
        raise CommandError(f"--jobs {jobs} has no effect with --dask, where the cluster schedules: leave it out")
    return job_executor(jobs, dask)
