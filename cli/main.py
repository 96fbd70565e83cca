# SPDX-License-Identifier: BSD-2-Clause
"""The command line: the group of commands, each in a separate module."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from utf8fpga import __version__
from utf8fpga.cli.command import SHORT_HELP, example_lines, short_help
from utf8fpga.cli.output import CommandError
from utf8fpga.cli.process import run
from utf8fpga.model.exceptions import did_you_mean

GROUPS = {
    "First steps": {
        "demo": "Show all steps, from the table to a virtual board.",
    },
    "Software": {
        "decode": "Decode a text with the golden model.",
        "table": "Write an encoding table and its DFA.",
        "vectors": "Write named test vectors by cause.",
    },
    "Hardware": {
        "generate": "Write a core as Verilog.",
        "simulate": "Simulate a core and compare it with the model.",
        "prove": "Prove that a core is correct on every input.",
        "check": "Compare any UTF-8 core in Verilog with the model.",
        "bench": "Measure area, clock frequency and throughput.",
    },
    "Boards": {
        "boards": "List the boards.",
        "build": "Build the bitstream for a board.",
        "talk": "Send a text to a board and show what comes back.",
    },
}
"""The groups of the help text, with a summary of each command; `utf8fpga.cli.NAME` has the command `NAME`."""

COMMANDS = tuple(name for commands in GROUPS.values() for name in commands)
"""The commands, in the order of the help text."""


class _Commands(click.Group):
    """A group that imports a command's module when the command is used; its help needs no module."""

    def __init__(self, *arguments: Any, examples: Sequence[str], **details: Any) -> None:
        super().__init__(*arguments, **details)
        self.examples = examples

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(f"utf8fpga.cli.{cmd_name}")
        except ModuleNotFoundError as missing:
            if missing.name is None or missing.name.startswith("utf8fpga"):
                raise
            if missing.name in ("numba", "numpy"):
                raise CommandError(f"{cmd_name} requires Numba: pip install 'utf8fpga[fast]'") from None
            extra = "boards" if cmd_name in ("demo", *GROUPS["Boards"]) else "hdl"
            raise CommandError(f"{cmd_name} requires {missing.name}: pip install 'utf8fpga[{extra}]'") from None
        found: click.Command = getattr(module, cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            near = did_you_mean(args[0], COMMANDS)
            raise CommandError(f"there is no command {args[0]!r}{near or '; utf8fpga -h lists them'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in GROUPS.items():
            formatter.write(f"{heading}:\n")
            for name, text in commands.items():
                formatter.write(f"  {name:9} {text}\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("\n".join(["", *example_lines(self), ""]))


@click.group(
    cls=_Commands,
    examples=("demo", "generate --lanes 4 -o utf8_decoder.v"),
    context_settings={"help_option_names": ["--help"], "max_content_width": 80},
    params=[SHORT_HELP],
    invoke_without_command=True,
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A UTF-8 decoder in hardware, generated from Table 3-7 of the Unicode Standard.

    FILE may be - for standard input or output.
    """
    if context.invoked_subcommand is None:
        click.echo(short_help(context))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default that of the process, and end the process; see `run` for the status."""
    words = list(sys.argv[1:] if arguments is None else arguments)

    def command() -> None:
        # `click`'s own `main` would write an empty line before it reports an interrupt.
        with cli.make_context("utf8fpga", words) as context:
            cli.invoke(context)

    sys.exit(run(command))
