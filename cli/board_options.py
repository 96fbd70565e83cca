# SPDX-License-Identifier: BSD-2-Clause
"""The option `--form` of the commands for boards."""

from __future__ import annotations

import click

from utf8fpga.cli.options import Word

form_option = click.option(
    "--form",
    type=Word(["words", "utf-8"]),
    default="words",
    show_default=True,
    help="What the board sends: a word for each item, or the repaired text.",
)
