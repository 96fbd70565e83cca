# SPDX-License-Identifier: BSD-2-Clause
"""The command `boards`: a list of the boards, and virtual ones."""

from __future__ import annotations

from contextlib import closing

import click

from utf8fpga.boards.build import facts_of, obstacle
from utf8fpga.boards.catalog import BOARDS
from utf8fpga.boards.forms import FORMS
from utf8fpga.cli.board_options import form_option
from utf8fpga.cli.options import completion, json_option, reject_others
from utf8fpga.cli.output import CommandError, did_you_mean, echo, near, say
from utf8fpga.model.render import columns


class _Boards(click.Group):
    """A group that knows what is meant by the name of a board after it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            said = f"boards has the command {' and '.join(self.commands)}, not {name!r}"
            board = name if name in BOARDS else next(iter(near(name, BOARDS)), None)
            meant = f"; did you mean utf8fpga build {board}?" if board else did_you_mean(name, self.commands)
            raise CommandError(f"{said}{meant}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Boards, invoke_without_command=True)
@json_option
@click.pass_context
def boards(context: click.Context, as_json: bool) -> None:
    """List the boards, with what is known of each and whether a bitstream can be built here."""
    if context.invoked_subcommand is not None:
        reject_others(f"boards {context.invoked_subcommand}")
        return
    known = [
        {name: getattr(board, name) for name in ("name", "family", "device")}
        | {**facts_of(board), "obstacle": obstacle(board)}
        for board in BOARDS.values()
    ]
    shown = ("name", "family", "device", "toolchain", "clock_mhz", "uart")
    rows = [[*(each[key] or "none" for key in shown), each["obstacle"] or "yes"] for each in known]
    headings = ["board", "family", "device", "toolchain", "clock in MHz", "UART", "can be built"]
    echo("\n".join(columns(rows, headings)), known, as_json=as_json)


@click.command()
@click.argument("board", shell_complete=completion(lambda: BOARDS))
@click.option("--baud", type=click.FloatRange(min=1), default=1_000_000, show_default=True, help="Bits per second.")
@form_option
@click.option("--rtl", is_flag=True, help="Simulate the circuit before synthesis, which is compiled faster.")
def run(
    board: str,
    baud: float,
    form: str,
    rtl: bool,
) -> None:
    """Simulate BOARD behind a pseudo-terminal, and print the name of its port; Ctrl-C ends it."""
    from utf8fpga.boards.virtual import VirtualBoard, VirtualPort

    virtual = VirtualBoard(board, baud=baud, core=FORMS[form].core, netlist=not rtl)
    if not rtl and not virtual.is_netlist:
        say(f"{board}: there are no models of all cells of its netlist: simulating the circuit before synthesis")
    with closing(VirtualPort(virtual)) as port:
        click.echo(port.name)
        port.serve()


run.short_help = "Simulate a board behind a pseudo-terminal."
boards.add_command(run)
