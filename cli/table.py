# SPDX-License-Identifier: BSD-2-Clause
"""The command `table`: writes an encoding table and its minimal DFA."""

from __future__ import annotations

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import one_of, output_option
from utf8fpga.cli.output import write_bytes
from utf8fpga.model import CATALOGUE
from utf8fpga.model.named import encoding_word
from utf8fpga.model.render import FORMATS, render

_TABLES = one_of(map(encoding_word, CATALOGUE), "The encoding form; default: utf-8 (Table 3-7).")


@command("table", "table --table utf-16 --format json")
@click.option("--table", "name", default="utf-8", **_TABLES)
@click.option("--format", "form", default="text", **one_of(FORMATS, "The form; default: text."))
@output_option
def table(name: str, form: str, output: str) -> None:
    """Write an encoding table and its minimal DFA as text or as JSON."""
    write_bytes(output, render(name, form).encode())
