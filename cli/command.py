# SPDX-License-Identifier: BSD-2-Clause
"""Commands with two examples and a help text on one screen, ``-h``, or whole, ``--help``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any

import click

from utf8fpga.cli.output import CommandError

SHORT_COLUMNS = 80
_NAME_COLUMNS = 24


def _print_short_help(context: click.Context, _option: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not context.resilient_parsing:
        click.echo(short_help(context))
        context.exit()


SHORT_HELP = click.Option(
    ["-h", "short_help"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_short_help,
    help="Show the options in one screen.",
)


def short_help(context: click.Context) -> str:
    """A help text that fits on one screen: of each option the beginning of its help."""
    command, formatter = context.command, click.HelpFormatter(width=SHORT_COLUMNS)
    command.format_usage(context, formatter)
    lines = [formatter.getvalue().rstrip(), "", shorten(_sentence(command.help or ""), SHORT_COLUMNS), ""]
    if isinstance(command, click.Group):
        commands = click.HelpFormatter(width=SHORT_COLUMNS)
        command.format_commands(context, commands)
        return "\n".join([*lines, commands.getvalue(), *example_lines(command)])
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record and parameter is not SHORT_HELP:
            names = record[0] if len(record[0]) <= _NAME_COLUMNS else record[0].rsplit(" ", 1)[0]
            text = shorten(_sentence(record[1]), SHORT_COLUMNS - _NAME_COLUMNS - 4, placeholder=" ...")
            lines.append(f"  {names:{_NAME_COLUMNS}}  {text}")
    return "\n".join([*lines, "", *example_lines(command)])


def _sentence(text: str) -> str:
    """The first sentence of a text."""
    return re.split(r"(?<=\.)\s| \[", " ".join(text.split("\n\n")[0].split()))[0]


def example_lines(command: click.Command) -> list[str]:
    """The examples of a command, as lines of its help."""
    return ["Examples:", *(f"  $ utf8fpga {words}" for words in getattr(command, "examples", ()))]


class Command(click.Command):
    """A command whose help has examples: with ``-h`` on one screen, with ``--help`` whole.

    Args:
        examples: the words after ``utf8fpga`` of two command lines.
    """

    has_core = False

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **details: Any) -> None:
        super().__init__(*arguments, **details | {"context_settings": {"help_option_names": ["--help"]}})
        self.examples = examples
        self.params.append(SHORT_HELP)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        core = ["[CORE]"] if self.has_core else []
        return [*core, *super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(list(args))
            once = [each for each in given if isinstance(each, click.Option) and not each.multiple]
            if twice := next((each for each in once if once.count(each) > 1), None):
                raise CommandError(f"{'/'.join((*twice.opts, *twice.secondary_opts))} is given twice: leave out one")
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("\n" + "\n".join(example_lines(self)) + "\n")


def command(*examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A decorator for a command with examples."""
    return click.command(cls=Command, examples=examples)
