# SPDX-License-Identifier: BSD-2-Clause
"""The command `decode`: decodes a text with the golden model."""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from utf8fpga.cli.command import command
from utf8fpga.cli.options import FILE, from_hex, hex_option, json_option, one_of, output_option, practice_option
from utf8fpga.cli.output import CommandError, file_size, is_standard_output, progress, read_chunks, say, writing
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
    how = Practice(practice), _FORMS[name]
    if digits is not None and not as_json and not summary:
        tally = _decode_hex(from_hex(digits), output, *how)
    else:
        tally = _decode(file or "-", digits, output, PlainOutput(*how, as_json=as_json, summary=summary))
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


def _decode(file: str, digits: str | None, output: str, decoded: PlainOutput) -> Tally:
    """Write a text in a form, while it is read."""
    size = None if digits is not None else file_size(file)
    is_typed = file == "-" and digits is None and sys.stdin.isatty()
    if is_typed:
        say("type or paste a text; Ctrl-D at the beginning of a line ends it")
    bar = nullcontext(lambda _: None) if is_typed else progress("decoding", size, rate=True)
    with writing(output) as out, bar as done:
        chunks = read_chunks(file) if digits is None else iter([from_hex(digits)])
        read = 0
        for chunk in chunks:
            out.writelines(decoded.pieces(chunk))
            read += len(chunk)
            done(read)
            if decoded.has_ended:
                break
        out.writelines(decoded.pieces(b"", final=True))
        out.write(decoded.end())
    return decoded.tally
