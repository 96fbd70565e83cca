# SPDX-License-Identifier: BSD-2-Clause
"""The command line: the group of commands, each in a separate module."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from utf8fpga import __version__
from utf8fpga.cli.command import examples
from utf8fpga.cli.output import CommandError
from utf8fpga.cli.process import run
from utf8fpga.model.exceptions import did_you_mean

GROUPS = {
    "First steps": {"demo": "Show all steps, from the table to a virtual board."},
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

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            raise CommandError(
                f"there is no command {cmd_name!r}{did_you_mean(cmd_name, COMMANDS) or '; utf8fpga -h lists them'}"
            )
        try:
            module = importlib.import_module(f"utf8fpga.cli.{cmd_name}")
        except ModuleNotFoundError as missing:
            if missing.name is None or missing.name.startswith("utf8fpga"):
                raise
            extra = "boards" if cmd_name in ("demo", *GROUPS["Boards"]) else "hdl"
            extra = "fast" if missing.name in ("numba", "numpy") else extra
            raise CommandError(f"{cmd_name} requires {missing.name}: pip install -e '.[{extra}]'") from None
        found: click.Command = getattr(module, cmd_name)
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands alone, so that the help is one screen: `--help` and `--version` are in every program."""
        formatter.write("\n")
        for heading, commands in GROUPS.items():
            formatter.write(f"{heading}:\n")
            for name, text in commands.items():
                formatter.write(f"  {name:9} {text}\n")


@click.group(
    cls=_Commands,
    epilog=examples("demo", "generate --lanes 4 -o utf8_decoder.v"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    invoke_without_command=True,
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A UTF-8 decoder in hardware, generated from Table 3-7 of the Unicode Standard."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default that of the process, and end the process; see `run` for the status."""
    words = list(sys.argv[1:] if arguments is None else arguments)

    def command() -> None:
        # `click`'s own `main` would write an empty line before it reports an interrupt.
        with cli.make_context("utf8fpga", words) as context:
            cli.invoke(context)

    status = run(command)
    if status == 130 and arguments is None:
        os._exit(status)  # At once: to take down all modules can take Python a second.
    sys.exit(status)
