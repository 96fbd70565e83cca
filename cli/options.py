# SPDX-License-Identifier: BSD-2-Clause
"""Options and types of values shared by several commands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from utf8fpga.cli.output import CommandError
from utf8fpga.model import CATALOGUE, Practice
from utf8fpga.model.exceptions import did_you_mean
from utf8fpga.model.named import encoding_word

MAX_SEED = (1 << 31) - 1
"""The largest seed that all tools accept."""

MAX_BAUD = (1 << 31) - 1
"""The highest speed that operating systems accept."""

TABLES = {encoding_word(name): table for name, table in CATALOGUE.items()}
"""Every table by its word of the command line."""


class Word(click.Choice):  # type: ignore[type-arg]  # It has no parameter in older versions of click.
    """One of some words. The name of an encoding may also be that of the documents, such as UTF-8 of RFC 2279."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        known = {str(choice): choice for choice in self.choices}
        word = value if value in known else encoding_word(str(value))
        if word not in known:
            near = did_you_mean(word, known)
            name = param.opts[0] if isinstance(param, click.Option) else str(param and param.human_readable_name)
            raise CommandError(f"{name} {value!r} is not one of {', '.join(known)}{near}")
        return known[word]


def one_of(words: Iterable[str], text: str) -> dict[str, Any]:
    """The arguments of `click.option` for a value that is one of some words; if they are many, the help lists them."""
    choices = list(words)
    if len("|".join(choices)) <= _LONGEST_CHOICE:
        return {"type": Word(choices), "metavar": "|".join(choices), "help": text}
    return {"type": Word(choices), "metavar": "NAME", "help": f"{text} One of {', '.join(choices)}."}


_LONGEST_CHOICE = 20
"""Upper bound on the characters of the words in front of a help text."""


class Number(click.ParamType):  # type: ignore[type-arg]  # As above.
    """A whole number in a range."""

    name = "N"

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if re.fullmatch("-?[0-9]{1,18}", str(value)) and self._least <= int(value) <= self._most:
            return int(value)
        option = param.opts[0] if param else ""
        raise CommandError(f"{option} {value!r} is not a number in {self._least}..{self._most}")


class _Name(click.types.StringParamType):
    """A name; its placeholder in the help is that of a kind of object."""

    def __init__(self, placeholder: str) -> None:
        self.name = placeholder


FILE, FOLDER, MODULE, SCHEDULER = map(_Name, ("FILE", "DIR", "NAME", "ADDRESS"))

SEED = Number(0, MAX_SEED)

practice_option = click.option(
    "--practice",
    default=Practice.MAXIMAL_SUBPARTS.value,
    **one_of(Practice, "What becomes one U+FFFD; default: maximal-subparts."),
)
output_option = click.option("-o", "--output", type=FILE, default="-", help="File to write; default: standard output.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
hex_option = click.option("--hex", "digits", metavar="BYTES", help="Bytes such as 'C2 41' in place of a file.")
directory_option = click.option(
    "--directory", type=FOLDER, default="build", help="Folder for the files; default: build."
)
form_option = click.option(
    "--form",
    default="words",
    **one_of(["words", "utf-8"], "What the board sends; default: words, one an item."),
)
baud_option = click.option("--baud", type=Number(1, MAX_BAUD), help="Bits per second; default: the fastest.")


def reject_others(option: str, *allowed: str) -> None:
    """Reject parameters on the command line that have no effect with an option; `allowed` are those that have one."""
    names = {each.name for each in click.get_current_context().command.params}
    reject(f"with {option}", *names.difference(allowed))


def reject(where: str, *names: str | None) -> None:
    """Reject parameters on the command line that have no effect `where`, such as "without --soak"."""
    context = click.get_current_context()
    for each in context.command.params:
        is_given = context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE
        if each.name in names and is_given:
            words = each.opts if context.params.get(each.name or "") or not each.secondary_opts else each.secondary_opts
            given = words[-1] if isinstance(each, click.Option) else each.make_metavar(context)
            raise CommandError(f"{given} has no effect {where}: leave it out")


def from_hex(digits: str) -> bytes:
    """The bytes that the value of `hex_option` denotes."""
    try:
        # As the notations of C, Python and Rust, too.
        return bytes.fromhex(re.sub(r"0[xX]|\\x|,", " ", digits))
    except ValueError:
        raise CommandError(f"--hex {digits!r} is not bytes in hexadecimal: write them as 'C2 41'") from None
