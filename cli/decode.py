# SPDX-License-Identifier: BSD-2-Clause
"""The command `decode`: decodes a text with the golden model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import from_hex, hex_option, json_option, one_of, output_option, practice_option, reject
from utf8fpga.cli.output import CommandError, progress, read_chunks, write_bytes, writing
from utf8fpga.cli.show import Tally, item_table, json_line, summary_line
from utf8fpga.model import Decoder, Item, Practice
from utf8fpga.model.render import counted

FORMS = ("utf-8", "cesu-8", "modified-utf-8")
"""The encodings of bytes without surrogates, which could not be written as UTF-8."""

TOGETHER = 1 << 14
"""Bytes decoded at once, whose items need some megabytes."""


@command("decode --hex 'C3 A9 FF'", "decode --json --summary page.html")
@click.argument("file", required=False)
@hex_option
@output_option
@json_option
@click.option("--summary", is_flag=True, help="Each ill-formed span with its cause, and counts.")
@practice_option
@click.option("--table", default="utf-8", **one_of(FORMS, "The encoding of the text; default: utf-8."))
@click.option("--strict", is_flag=True, help="Exit status 1 if the text is ill-formed.")
def decode(
    file: str | None,
    digits: str | None,
    output: str,
    as_json: bool,
    summary: bool,
    practice: str,
    table: str,
    strict: bool,
) -> None:
    """Decode FILE with the golden model, to text with U+FFFD.

    With --json each item is a line; with --summary as well each ill-formed item, and the last line has the counts.
    """
    _check_files(file, digits, output)
    if table != FORMS[0]:
        reject(f"with --table {table}", "practice")
    decoder, tally = Decoder(table, practice=Practice(practice)), Tally()
    if digits is not None and not (as_json or summary):
        data = from_hex(digits)
        tally.add(items := decoder.decode(data, final=True))
        write_bytes(output, _text([*item_table(items, data), *tally.lines()]))
    else:
        chunks = read_chunks("-" if file is None else file) if digits is None else iter([from_hex(digits)])
        with writing(output) as out, progress("decoding, bytes") as done:
            for items, units in _decoded(chunks, decoder):
                tally.add(items)
                out.write(_shown(items, units, as_json=as_json, summary=summary).encode())
                done(tally.units)
            if summary:
                out.write(_text([tally.json_line()] if as_json else tally.lines()))
    if strict and tally.ill_formed:
        said = f"{digits or file!r} is ill-formed: {tally.ill_formed} of {counted(tally.items, 'item')}"
        raise CommandError(said, status=1)


def _check_files(file: str | None, digits: str | None, output: str) -> None:
    """Check that there is one input, which the output does not replace."""
    if file is not None and digits is not None:
        raise CommandError(f"give either FILE or --hex BYTES, not {file!r} and --hex {digits!r}")
    if output != "-" and file and os.path.realpath(file) == os.path.realpath(output):
        raise CommandError(f"-o {output!r} is the file that is read: give another name")


def _decoded(chunks: Iterable[bytes], decoder: Decoder) -> Iterator[tuple[list[Item], bytes]]:
    """The items that each part of a text completes, and their bytes."""
    rest = b""
    for part in _parts(chunks):
        items = decoder.decode(part, final=not part)
        rest += part
        end = sum(item.length for item in items)
        yield items, rest[:end]
        rest = rest[end:]


def _parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The parts of a text that are decoded at once, the last one empty."""
    for chunk in chunks:
        for first in range(0, len(chunk), TOGETHER):
            yield chunk[first : first + TOGETHER]
    yield b""


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _shown(items: list[Item], units: bytes, *, as_json: bool, summary: bool) -> str:
    """What is printed of items, whose bytes are `units`."""
    if not summary:
        return "".join(json_line(item) if as_json else item.char for item in items)
    ill_formed = [item for item in items if item.error is not None]
    if as_json:
        return "".join(map(json_line, ill_formed))
    first = items[0].offset if items else 0
    return "".join(summary_line(item, units[item.offset - first : item.end - first]) for item in ill_formed)
