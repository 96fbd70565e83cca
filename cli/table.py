# SPDX-License-Identifier: BSD-2-Clause
"""The command `table`: writes an encoding table and its minimal DFA."""

from __future__ import annotations

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import TABLES, one_of, output_option, reject_others
from utf8fpga.cli.output import write_bytes
from utf8fpga.model.render import FORMATS, columns, render


@command("table", "table --table utf-16 --format json")
@click.option("--table", "name", default="utf-8", **one_of(TABLES, "The encoding form; default: utf-8 (Table 3-7)."))
@click.option("--format", "form", default="text", **one_of(FORMATS, "The form; default: text."))
@click.option("--list", "names", is_flag=True, help="List the names and sources.")
@output_option
def table(name: str, form: str, names: bool, output: str) -> None:
    """Write an encoding table and its minimal DFA as text, as JSON, or as a drawing."""
    text = render(TABLES[name], form)
    if names:
        reject_others("--list", "names", "output")
        rows = [[each, found.name, found.source] for each, found in TABLES.items()]
        text = "\n".join(columns(rows, ["name", "encoding form", "source"])) + "\n"
    write_bytes(output, text.encode())
