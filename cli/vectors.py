# SPDX-License-Identifier: BSD-2-Clause
"""The command `vectors`: writes named test vectors by cause."""

from __future__ import annotations

from utf8fpga.cli.command import command
from utf8fpga.cli.options import output_option
from utf8fpga.cli.output import write_bytes
from utf8fpga.model.vectors import vectors_json


@command("vectors", "vectors -o vectors.json")
@output_option
def vectors(output: str) -> None:
    """Write named test vectors by cause as JSON, with the expected items of every practice."""
    write_bytes(output, vectors_json().encode())
