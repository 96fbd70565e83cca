# SPDX-License-Identifier: BSD-2-Clause
"""The command `table`: writes an encoding table and its minimal DFA."""

from __future__ import annotations

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import TABLES, one_of, output_option, reject_others
from utf8fpga.cli.output import CommandError, write_bytes
from utf8fpga.model.exceptions import did_you_mean
from utf8fpga.model.forms import COMPOSITIONS
from utf8fpga.model.named import encoding_word
from utf8fpga.model.render import FORMATS, columns, render


@command("table", "table utf-16 --format json")
@click.argument("name", default=next(iter(TABLES)))
@click.option("--format", "form", default="text", **one_of(FORMATS, "The form; default: text."))
@click.option("--list", "names", is_flag=True, help="List the names.")
@output_option
def table(name: str, form: str, names: bool, output: str) -> None:
    """Write an encoding table and its minimal DFA as text, as JSON, or as a drawing.

    NAME is the name of the encoding form, as --list shows it; default: utf-8 (Table 3-7).
    """
    word = encoding_word(name)
    if names:
        reject_others("--list", "names", "output")
        rows = [[each, found.name, found.source] for each, found in TABLES.items()]
        text = "\n".join(columns(rows, ["name", "encoding form", "source"])) + "\n"
    elif composition := {encoding_word(each): whole for each, whole in COMPOSITIONS.items()}.get(word):
        parts = " and ".join(encoding_word(part.name) for part in (composition.form, composition.unit_table))
        raise CommandError(f"{name} is a composition and has no table of its own: its tables are {parts}")
    elif word not in TABLES:
        raise CommandError(f"there is no table {name!r}{did_you_mean(word, TABLES) or '; table --list lists them'}")
    else:
        text = render(TABLES[word], form)
    write_bytes(output, text.encode())
