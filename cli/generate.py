# SPDX-License-Identifier: BSD-2-Clause
"""The command `generate`: writes a core as Verilog."""

from __future__ import annotations

import click

from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import output_option
from utf8fpga.cli.output import CommandError, write_bytes
from utf8fpga.hdl import CoreParameters, axi_verilog, check_module_name
from utf8fpga.model import InvalidArgumentError

__all__ = ["generate"]


@core_command()
@click.option("--name", help="Name of the top module; default: utf8_ and the name of the core.")
@output_option
def generate(parameters: CoreParameters, name: str | None, output: str) -> None:
    """Write the core as one self-contained Verilog-2005 file with AXI4-Stream ports."""
    try:
        if name is not None:
            check_module_name(name)
    except InvalidArgumentError as error:
        raise CommandError(f"--name {error}") from None
    write_bytes(output, axi_verilog(parameters.build(), name).encode())
