# SPDX-License-Identifier: BSD-2-Clause
"""Options and types of values shared by several commands. Those that select a core are in `core_options`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from utf8fpga.cli.output import CommandError, did_you_mean
from utf8fpga.model import CATALOGUE, Practice
from utf8fpga.model.encodings import encoding_word

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # It has no type parameter before click 8.2.

MAX_SEED = (1 << 31) - 1
"""The largest seed that all tools accept."""

TABLES = {encoding_word(name): table for name, table in CATALOGUE.items()}
"""Every table by its word of the command line."""

CORE_NAMES = "utf8fpga.core_names"
"""The key in `click.Context.meta` of the core names that may be the next word, for completion."""


def completion(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """The value of ``shell_complete`` of a parameter whose values are names."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in (*core_names(context, parameter), *names()) if name.startswith(incomplete)]

    return complete


def core_names(context: click.Context, parameter: click.Parameter | None) -> Iterable[str]:
    """The names of cores that may be the next word in place of a parameter."""
    return () if isinstance(parameter, click.Option) else context.meta.get(CORE_NAMES, ())


class Word(_Choice):
    """One of some words. The name of an encoding may also be that of the documents, such as UTF-8 of RFC 2279."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        known = {str(choice): choice for choice in self.choices}
        word = value if value in known else encoding_word(str(value))
        if word not in known:
            self.fail(f"{value!r} is not one of {', '.join(map(repr, known))}{did_you_mean(word, known)}", param, ctx)
        return known[word]


class _ListingOption(click.Option):
    """An option whose help text lists the words; the reference lists those of every option."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        text = self.help
        words = self.type.choices if isinstance(self.type, Word) else ()
        self.help = f"{text} One of {', '.join(words)}."
        try:
            return super().get_help_record(ctx)
        finally:
            self.help = text


def one_of(words: Iterable[str], text: str) -> dict[str, Any]:
    """The arguments of `click.option` for a value that is one of some words; if they are many, the help lists them."""
    choices = list(words)
    if len("|".join(choices)) <= _LONGEST_CHOICE:
        return {"type": Word(choices), "help": text}
    return {"cls": _ListingOption, "type": Word(choices), "metavar": "NAME", "help": text}


_LONGEST_CHOICE = 48
"""Upper bound on the characters of the words in front of a help text."""


class _Name(click.types.StringParamType):
    """A name, which must not be empty, of a kind of object that messages name, and its placeholder in the help."""

    def __init__(self, what: str, placeholder: str) -> None:
        self._what, self.name = what, placeholder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail(f"'' is not the name of {self._what}", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        kinds = {"FILE": ["file"], "DIR": ["dir"]}.get(self.name, [])
        names = [CompletionItem(incomplete, type=kind) for kind in kinds]
        # Below the kind, which in bash removes the words above it.
        return names + [CompletionItem(name) for name in core_names(ctx, param) if name.startswith(incomplete)]


FILE, FOLDER, MODULE = _Name("a file", "FILE"), _Name("a folder", "DIR"), _Name("a module", "NAME")
SCHEDULER = _Name("a scheduler", "ADDRESS")

SEED = click.IntRange(0, MAX_SEED)

practice_option: Callable[[Any], Any] = click.option(
    "--practice",
    default=Practice.MAXIMAL_SUBPARTS.value,
    show_default=True,
    **one_of(Practice, "Which ill-formed bytes are replaced by one U+FFFD."),
)
output_option = click.option(
    "-o", "--output", type=FILE, default="-", help="File for the result; default: standard output."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
hex_option = click.option(
    "--hex", "digits", metavar="BYTES", help="Bytes in hexadecimal instead of a file, such as 'C2 41'; shows the items."
)


def reject_others(option: str, *allowed: str, others: Collection[str] | None = None) -> None:
    """Reject parameters on the command line that have no effect with an option.

    Args:
        allowed: names of parameters that have one.
        others: names of those that have none; default: all but `allowed`.
    """
    context = click.get_current_context()
    for each in context.command.params:
        name = each.name or ""
        is_other = name not in allowed if others is None else name in others
        # Several flags may set one parameter.
        word = getattr(each, "flag_value", None)
        is_meant = not isinstance(word, str) or context.params[name] == word
        if is_other and is_meant and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            given = "/".join(each.opts) if isinstance(each, click.Option) else each.human_readable_name
            raise CommandError(f"{given} has no effect with {option}: leave it out")


def from_hex(digits: str) -> bytes:
    """The bytes that the value of `hex_option` denotes."""
    try:
        # As the notations of C, Python and Rust, too.
        return bytes.fromhex(re.sub(r"0[xX]|\\x|,", " ", digits))
    except ValueError:
        raise CommandError(f"--hex {digits!r} is not bytes in hexadecimal: write them as 'C2 41'") from None
