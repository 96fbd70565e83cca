# SPDX-License-Identifier: BSD-2-Clause
"""Options shared by several commands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from utf8fpga.cli.output import CommandError
from utf8fpga.model import Practice
from utf8fpga.model.exceptions import did_you_mean


class Number(click.IntRange):
    """A whole number in a range."""

    name = "number"

    def _describe_range(self) -> str:  # in help texts and messages
        return f"{self.min} or more" if self.max is None else f"{self.min} to {self.max}"


class Word(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """One of some words, where case, hyphens and underscores do not matter: UTF8 is utf-8."""

    name = "word"

    def __init__(self, choices: Iterable[str]) -> None:
        self.choices = {_plain(choice): choice for choice in choices}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        found = self.choices.get(_plain(value))
        if found is None:
            known = self.choices.values()
            self.fail(f"{value!r} is not one of {', '.join(known)}{did_you_mean(value, known)}", param, ctx)
        return found


def _plain(word: str) -> str:
    return re.sub("[-_ ]", "", word.lower())


def one_of(words: Iterable[str], text: str) -> dict[str, Any]:
    """The arguments of `click.option` for a value that is one of some words, which the help lists."""
    choices = list(map(str, words))
    if len(joined := "|".join(choices)) <= _SHORT:
        return {"type": Word(choices), "metavar": joined, "help": text}
    return {"type": Word(choices), "metavar": "NAME", "help": f"{text} One of {', '.join(choices)}."}


_SHORT = 12
"""Upper bound on the characters of words in front of the help text of an option."""

practice_option = click.option(
    "--practice",
    default=Practice.MAXIMAL_SUBPARTS.value,
    **one_of(Practice, "What becomes one U+FFFD; default: maximal-subparts."),
)
output_option = click.option(
    "-o", "--output", metavar="FILE", default="-", help="File to write; default: standard output."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
hex_option = click.option("--hex", "digits", metavar="BYTES", help="Bytes such as 'C2 41', not a file; prints a table.")
directory_option = click.option(
    "--directory", metavar="DIR", default="build", help="Folder for the files; default: build."
)
form_option = click.option(
    "--form", default="words", **one_of(["words", "utf-8"], "What the board sends; default: words, one an item.")
)
baud_option = click.option("--baud", type=Number(300), help="Bits per second; default: the fastest.")
record_option = click.option("--record", "checkout", metavar="DIR", help="Write the results into this checkout.")
dask_option = click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster for the jobs.")
seed_option = click.option("--seed", type=Number(0), default=1, help="Seed; default: 1.")


def reject(where: str, *names: str) -> None:
    """Reject options on the command line that have no effect `where`, such as "without --against"."""
    context = click.get_current_context()
    for each in context.command.params:
        if each.name in names and context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE:
            name = "/".join([each.opts[-1], *each.secondary_opts])
            raise CommandError(f"{name} has no effect {where}: leave it out")


def from_hex(digits: str) -> bytes:
    """The bytes that the value of `hex_option` denotes."""
    try:
        # As the notations of C, Python and Rust, too.
        return bytes.fromhex(re.sub(r"0[xX]|\\x|,", " ", digits))
    except ValueError:
        raise CommandError(f"--hex {digits!r} is not bytes in hexadecimal: write them as 'C2 41'") from None
