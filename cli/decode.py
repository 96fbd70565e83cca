# SPDX-License-Identifier: BSD-2-Clause
"""The command `decode`: decodes a text with the golden model."""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from utf8fpga.cli.options import FILE, from_hex, hex_option, one_of, output_option, practice_option
from utf8fpga.cli.output import (
    CommandError,
    file_size,
    is_standard_output,
    progress,
    read_chunks,
    say,
    writing,
)
from utf8fpga.cli.show import PlainOutput, Tally, decoder_of, item_table
from utf8fpga.model import Composition, EncodingTable, Practice
from utf8fpga.model.encodings import ENCODINGS
from utf8fpga.model.render import counted

_FORMS = {
    name: each.form
    for name, each in ENCODINGS.items()
    if each.unit_bytes == 1
    and (isinstance(each.form, Composition) or not any(0xD800 in row.code_points for row in each.form.rows))
}
"""The encodings of bytes without surrogates, which could not be written as UTF-8."""


@click.command()
@click.argument("file", type=FILE, required=False)
@hex_option
@output_option
@click.option("--json", "form", flag_value="json", help="Write one JSON object per line for each item.")
@click.option("--summary", "form", flag_value="summary", help="Write each ill-formed span with its cause, and counts.")
@practice_option
@click.option("--table", "name", default="utf-8", show_default=True, **one_of(_FORMS, "The encoding of the text."))
@click.option("--strict", is_flag=True, help="Exit status 1 if the text is ill-formed.")
def decode(
    file: str | None,
    digits: str | None,
    output: str,
    form: str | None,
    practice: str,
    name: str,
    strict: bool,
) -> None:
    """Decode FILE with the golden model: as text with U+FFFD, as JSON lines, or as a summary."""
    if file is not None and digits is not None:
        raise CommandError(f"give either FILE or --hex BYTES, not {file!r} and --hex {digits!r}")
    how = Practice(practice), _FORMS[name]
    if digits is not None and form is None:
        tally = _decode_hex(from_hex(digits), output, *how)
    else:
        tally = _decode(file or "-", digits, output, form or "text", *how)
    if strict and tally.ill_formed:
        text = file or digits or "-"
        raise CommandError(f"{text!r} is ill-formed: {tally.ill_formed} of {counted(tally.items, 'item')}", status=1)


def _decode_hex(units: bytes, output: str, practice: Practice, table: EncodingTable | Composition) -> Tally:
    """Write a table of the items of a short text."""
    items = decoder_of(practice, table).decode(units, final=True)
    tally = Tally()
    tally.add(items)
    with writing(output) as out:
        text = "".join(f"{line}\n" for line in [*item_table(items, units), *tally.lines()])
        out.write((text if is_standard_output(output) else click.unstyle(text)).encode())
    return tally


def _decode(
    file: str,
    digits: str | None,
    output: str,
    form: str,
    practice: Practice,
    table: EncodingTable | Composition,
) -> Tally:
    """Write a text in a form, while it is read."""
    size = None if digits is not None else file_size(file)
    is_typed = file == "-" and digits is None and sys.stdin.isatty()
    if is_typed:
        say("type or paste a text; Ctrl-D at the beginning of a line ends it")
    bar = nullcontext(lambda _: None) if is_typed else progress("decoding", size, rate=True)
    with writing(output) as out, bar as done:
        chunks = read_chunks(file) if digits is None else iter([from_hex(digits)])
        decoded = PlainOutput(form, practice, table)
        read = 0
        for chunk in chunks:
            out.writelines(decoded.pieces(chunk))
            read += len(chunk)
            done(read)
            if practice == Practice.FIRST_ERROR and decoded.tally.ill_formed:
                break
        out.writelines(decoded.pieces(b"", final=True))
        if form == "summary":
            out.write("".join(f"{line}\n" for line in decoded.tally.lines()).encode())
    return decoded.tally
