# SPDX-License-Identifier: BSD-2-Clause
"""The command `table`: writes an encoding table and its minimal DFA."""

from __future__ import annotations

import click

from utf8fpga.cli.options import output_option
from utf8fpga.cli.output import CommandError, write_bytes
from utf8fpga.model import TABLE_3_7
from utf8fpga.model.forms import CATALOGUE, COMPOSITIONS
from utf8fpga.model.properties import CharacterProperty, code_points_of, unicode_version
from utf8fpga.model.render import FORMATS, columns, render


@click.command()
@click.argument("name", default=TABLE_3_7.name)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--list", "names", is_flag=True, help="List the names.")
@click.option("--documents", is_flag=True, help="Compare the older documents' rules with Table 3-7.")
@click.option("--properties", is_flag=True, help="List the properties of decoders with their code points.")
@output_option
def table(name: str, form: str, names: bool, documents: bool, properties: bool, output: str) -> None:
    """Write an encoding table and its minimal DFA as text, as a drawing, or as a C header.

    NAME is the name of the encoding form; default: UTF-8 (Table 3-7).
    """
    if names:
        rows = [[each.name, each.source] for each in CATALOGUE.values()]
        text = "\n".join(columns(rows, ["name", "source"])) + "\n"
    elif properties:
        rows = [[each.value, " ".join(map(str, code_points_of(each)))] for each in CharacterProperty]
        heads = ["property", f"code points, by the Unicode data {unicode_version()} of this Python"]
        text = "\n".join(columns(rows, heads)) + "\n"
    elif documents:
        from utf8fpga.model.history.differences import comparison_text

        text = "\n".join(comparison_text()) + "\n"
    elif name in COMPOSITIONS:
        parts = f"{COMPOSITIONS[name].form.name!r} and {COMPOSITIONS[name].unit_table.name!r}"
        raise CommandError(f"{name} is a composition and has no table of its own: its tables are {parts}")
    elif name not in CATALOGUE:
        raise CommandError(f"unknown table {name!r} (known: {', '.join(CATALOGUE)})")
    else:
        text = render(CATALOGUE[name], form)
    write_bytes(output, text.encode())
