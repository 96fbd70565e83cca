# SPDX-License-Identifier: BSD-2-Clause
"""The command `decode`: decodes a text with the golden model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from utf8fpga.cli.options import FILE, output_option, practice_option
from utf8fpga.cli.output import CommandError, file_size, progress, read_chunks, writing
from utf8fpga.cli.show import PlainOutput
from utf8fpga.model.practices import Practice

if TYPE_CHECKING:
    from utf8fpga.cli.bulk import ArrayOutput


@click.command()
@click.argument("file", type=FILE, default="-")
@output_option
@click.option("--json", "form", flag_value="json", help="Write one JSON object per line for each item.")
@click.option("--summary", "form", flag_value="summary", help="Write each ill-formed span with its cause, and counts.")
@practice_option
@click.option("--strict", is_flag=True, help="Exit status 1 if the text is ill-formed.")
def decode(file: str, output: str, form: str | None, practice: str, strict: bool) -> None:
    """Decode FILE with the golden model: as text with U+FFFD, as JSON lines, or as a summary."""
    decoded = output_for(file_size(file), form or "text", Practice(practice))
    with writing(output) as out, progress("decoding", file_size(file)) as done:
        read = 0
        for chunk in read_chunks(file):
            out.writelines(decoded.pieces(chunk))
            read += len(chunk)
            done(read)
            if practice == Practice.FIRST_ERROR and decoded.tally.ill_formed:
                break
        out.writelines(decoded.pieces(b"", final=True))
        if form == "summary":
            out.write("".join(f"{line}\n" for line in decoded.tally.lines()).encode())
    if strict and decoded.tally.ill_formed:
        raise CommandError(
            f"{file!r} is ill-formed: {decoded.tally.ill_formed} of {decoded.tally.items} items", status=1
        )


def output_for(size: int | None, form: str, practice: Practice) -> PlainOutput | ArrayOutput:
    """The array decoder if NumPy is installed and the text is long enough to outweigh the time to load it."""
    if size is None or size > _SHORT:
        try:
            from utf8fpga.cli.bulk import ArrayOutput
        except ModuleNotFoundError as missing:
            if missing.name != "numpy":
                raise
        else:
            return ArrayOutput(form, practice)
    return PlainOutput(form, practice)


_SHORT = 1 << 17
"""The number of bytes that the plain decoder decodes in about the time needed to load NumPy."""
