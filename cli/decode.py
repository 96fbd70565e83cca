# SPDX-License-Identifier: BSD-2-Clause
"""The command `decode`: decodes a text with the golden model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import FILE, from_hex, hex_option, json_option, one_of, output_option, practice_option
from utf8fpga.cli.output import CommandError, file_size, is_standard_output, progress, read_chunks, say, writing
from utf8fpga.cli.show import Tally, decoder_of, item_table, shown_items
from utf8fpga.model import Composition, Item, Practice
from utf8fpga.model.encodings import ENCODINGS
from utf8fpga.model.render import counted

_FORMS = {
    name: each.form
    for name, each in ENCODINGS.items()
    if each.unit_bytes == 1
    and (isinstance(each.form, Composition) or not any(0xD800 in row.code_points for row in each.form.rows))
}
"""The encodings of bytes without surrogates, which could not be written as UTF-8."""

TOGETHER = 1 << 14
"""Bytes decoded at once, whose items need some megabytes."""


@command("decode --hex 'C3 A9 FF'", "decode --json --summary page.html")
@click.argument("file", type=FILE, required=False)
@hex_option
@output_option
@json_option
@click.option("--summary", is_flag=True, help="Each ill-formed span with its cause, and counts.")
@practice_option
@click.option("--table", "name", default="utf-8", **one_of(_FORMS, "The encoding of the text; default: utf-8."))
@click.option("--strict", is_flag=True, help="Exit status 1 if the text is ill-formed.")
def decode(
    file: str | None,
    digits: str | None,
    output: str,
    as_json: bool,
    summary: bool,
    practice: str,
    name: str,
    strict: bool,
) -> None:
    """Decode FILE with the golden model, to text with U+FFFD.

    With --json each item is a line; with --summary as well each ill-formed item,
    and the last line has the counts.
    """
    if file is not None and digits is not None:
        raise CommandError(f"give either FILE or --hex BYTES, not {file!r} and --hex {digits!r}")
    file = "-" if file is None else file
    if "-" not in (file, output) and Path(file).exists() and Path(output).exists() and Path(file).samefile(output):
        raise CommandError(f"-o {output!r} is the file that is read: give another name")
    decoder, tally = decoder_of(Practice(practice), _FORMS[name]), Tally()
    data = None if digits is None else from_hex(digits)
    is_typed = data is None and file == "-" and sys.stdin.isatty()
    if is_typed:
        say("type or paste a text; Ctrl-D at the beginning of a line ends it")
    is_quiet = is_typed or data is not None
    bar = nullcontext(lambda _: None) if is_quiet else progress("decoding", file_size(file), rate=True)
    with writing(output) as out, bar as done:
        if data is not None and not (as_json or summary):
            items = decoder.decode(data, final=True)
            tally.add(items)
            text = "".join(f"{line}\n" for line in [*item_table(items, data), *tally.lines()])
            out.write((text if is_standard_output(output) else click.unstyle(text)).encode())
        else:
            chunks = read_chunks(file) if data is None else iter([data])
            for items, units in _decoded(chunks, decoder):
                tally.add(items)
                out.write(shown_items(items, units, as_json=as_json, summary=summary).encode())
                done(tally.units)
                if practice == Practice.FIRST_ERROR and tally.ill_formed:
                    break
            if summary:
                lines = [tally.json_line()] if as_json else tally.lines()
                out.write("".join(f"{line}\n" for line in lines).encode())
    if strict and tally.ill_formed:
        said = f"{digits or file!r} is ill-formed: {tally.ill_formed} of {counted(tally.items, 'item')}"
        raise CommandError(said, status=1)


def _decoded(chunks: Iterable[bytes], decoder: Any) -> Iterator[tuple[list[Item], bytes]]:
    """The items that each part of a text completes, and their bytes."""
    rest = b""
    for part in _parts(chunks):
        items = decoder.decode(part, final=not part)
        rest += part
        end = sum(item[1] for item in items)
        yield items, rest[:end]
        rest = rest[end:]


def _parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The parts of a text that are decoded at once, the last one empty."""
    for chunk in chunks:
        for first in range(0, len(chunk), TOGETHER):
            yield chunk[first : first + TOGETHER]
    yield b""
