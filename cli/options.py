# SPDX-License-Identifier: BSD-2-Clause
"""Options and types of values shared by several commands. Those that select a core are in `core_options`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from utf8fpga.model.practices import Practice

MAX_SEED = (1 << 31) - 1
"""The largest seed that all tools accept."""


class _Name(click.types.StringParamType):
    """A name, which must not be empty.

    Args:
        what: the kind of object named, for the error message.
        placeholder: the placeholder in the help text.
    """

    def __init__(self, what: str, placeholder: str) -> None:
        self._what, self.name = what, placeholder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail(f"'' is not the name of {self._what}", param, ctx)
        return value


FILE, FOLDER, MODULE = _Name("a file", "FILE"), _Name("a folder", "DIR"), _Name("a module", "NAME")
HOST, SCHEDULER = _Name("a host", "[USER@]HOST[:PORT]"), _Name("a scheduler", "ADDRESS")

SEED = click.IntRange(0, MAX_SEED)

practice_option: Callable[[Any], Any] = click.option(
    "--practice",
    type=click.Choice([practice.value for practice in Practice]),
    default=Practice.MAXIMAL_SUBPARTS.value,
    show_default=True,
    help="Which ill-formed bytes are replaced by one U+FFFD.",
)
output_option = click.option(
    "-o", "--output", type=FILE, default="-", help="File for the result; default: standard output."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
