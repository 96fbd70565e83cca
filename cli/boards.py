# SPDX-License-Identifier: BSD-2-Clause
"""The command `boards`: a list of the boards that `build` supports."""

from __future__ import annotations

import json

import click

from utf8fpga.boards import BOARDS
from utf8fpga.cli.options import json_option
from utf8fpga.model.render import columns

__all__ = ["boards"]


@click.command()
@json_option
def boards(as_json: bool) -> None:
    """List the boards that bitstreams can be built for."""
    if as_json:
        known = [{"name": b.name, "family": b.family, "description": b.description} for b in BOARDS.values()]
        click.echo(json.dumps(known, indent=2))
    else:
        rows = [[b.name, b.description] for b in BOARDS.values()]
        click.echo("\n".join(columns(rows, ["board", "device and clock"])))
