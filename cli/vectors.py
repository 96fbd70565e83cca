# SPDX-License-Identifier: BSD-2-Clause
"""The command `vectors`: writes named test vectors by cause."""

from __future__ import annotations

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import one_of, output_option, practice_option
from utf8fpga.cli.output import write_bytes
from utf8fpga.model.practices import Practice
from utf8fpga.model.vectors import VECTOR_FORMATS, render_vectors


@command("vectors -o vectors.json", "vectors --format readmemh -o vectors.hex")
@click.option("--format", "form", default="json", **one_of(VECTOR_FORMATS, "The form; default: json."))
@practice_option
@output_option
def vectors(form: str, practice: str, output: str) -> None:
    """Write named test vectors by cause, with the expected items of every practice.

    A file for readmemh has the items of one practice. JSON has those of all practices and states when each item is
    known; schema is its JSON Schema.
    """
    write_bytes(output, render_vectors(form, Practice(practice)).encode())
