# SPDX-License-Identifier: BSD-2-Clause
"""The command line: the group of commands, each in a separate module."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from utf8fpga import __version__
from utf8fpga.cli.output import CommandError
from utf8fpga.cli.process import run

COMMANDS = (
    *("demo", "decode", "table", "vectors", "generate", "simulate", "check", "prove", "build", "boards", "bench"),
    *("talk", "release"),
)
"""The commands, in the order of the help text; `utf8fpga.cli.NAME` has the command `NAME`."""


class _Commands(click.Group):
    """A group that imports a command's module when the command is used, which makes the start faster."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"utf8fpga.cli.{cmd_name}"), cmd_name)
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A UTF-8 decoder in hardware, generated from Table 3-7 of the Unicode Standard.

    FILE may be - for standard input or output.
    """
    if context.invoked_subcommand is None:
        raise CommandError(f"no command given: use one of {', '.join(COMMANDS)}; -h describes them")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process.

    Args:
        arguments: the words after the program's name; default: those of the process.

    Raises:
        SystemExit: always, except where a signal ends the process; see `run` for the status.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)

    def command() -> None:
        # `click`'s own `main` would write an empty line before it reports an interrupt.
        with cli.make_context("utf8fpga", words) as context:
            cli.invoke(context)

    sys.exit(run(command))
