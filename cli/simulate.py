# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: a text through the simulated hardware, compared with the golden model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import click

from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FILE, json_option
from utf8fpga.cli.output import (
    CommandError,
    file_size,
    is_standard_output,
    new_file,
    progress,
    read_chunks,
    write_error,
    writing,
)
from utf8fpga.cli.show import Tally, json_line
from utf8fpga.hdl import MERGING_PRACTICES, AnyDecoder, DecoderParameters
from utf8fpga.model import Item, encode
from utf8fpga.sim import Simulation, compare

__all__ = ["simulate", "simulate_file"]


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"--{(option.name or '').replace('_', '-')} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


@core_command()
@click.argument("file", type=FILE, required=False)
@click.option("--hex", "digits", metavar="BYTES", help="Bytes in hexadecimal in place of a file, such as 'C2 41'.")
@click.option(
    "--input-pauses", default="0", callback=_pattern, metavar="PATTERN", help="Per cycle 1: no input; repeated."
)
@click.option(
    "--output-pauses", default="0", callback=_pattern, metavar="PATTERN", help="Per cycle 1: not ready; repeated."
)
@click.option(
    "--null-beats",
    default="0",
    callback=_pattern,
    metavar="PATTERN",
    help="Per input beat 1: one with neither a byte nor the end of the text; repeated.",
)
@click.option("--separate-end", is_flag=True, help="The text ends with a beat of its own, also after a full one.")
@click.option("--vcd", type=FILE, help="Write a waveform.")
@click.option("-o", "--output", type=FILE, help="Write the decoded text, with U+FFFD.")
@json_option
def simulate(
    file: str | None,
    digits: str | None,
    parameters: DecoderParameters,
    input_pauses: list[bool],
    output_pauses: list[bool],
    null_beats: list[bool],
    separate_end: bool,
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Decode FILE through the simulated hardware and compare each item with the golden model."""
    if (file is None) == (digits is None):
        raise CommandError("give either FILE or --hex BYTES")
    if is_standard_output(vcd):
        raise CommandError(f"--vcd {vcd!r} is standard output, where the result goes: name a file")
    if as_json and is_standard_output(output):
        raise CommandError(f"--json and -o {output} both write to standard output: leave out one of them")
    if output and vcd and os.path.realpath(output) == os.path.realpath(vcd) and not _is_special(vcd):
        raise CommandError(f"-o and --vcd are the same file {vcd!r}: name two")
    # The more an item says, the more is compared.
    complete = replace(parameters, kind=True, length=parameters.practice not in MERGING_PRACTICES)
    simulate_file(
        file,
        digits,
        decoder=complete.build(),
        input_pauses=input_pauses,
        output_pauses=output_pauses,
        null_beats=null_beats,
        separate_end=separate_end,
        vcd=vcd,
        output=output,
        as_json=as_json,
    )


def _is_special(path: str) -> bool:
    """It is a device or a pipe, which may well be written twice."""
    return os.path.exists(path) and not os.path.isfile(path)


def simulate_file(
    file: str | None,
    digits: str | None,
    *,
    decoder: AnyDecoder,
    input_pauses: Sequence[bool],
    output_pauses: Sequence[bool],
    separate_end: bool,
    null_beats: Sequence[bool],
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Decode a text through the simulated decoder, compare with the model and print the result.

    Args:
        file: what is read, or ``-``; None where `digits` are given.
        digits: the text's bytes in hexadecimal.
        decoder: what is simulated.
        input_pauses: see `Simulation.run`.
        output_pauses: see `Simulation.run`.
        separate_end: see `compare`.
        null_beats: see `Simulation.run`.
        vcd: a file for the waveform.
        output: a file for the decoded text, or ``-``.
        as_json: print the items as JSON lines.

    Raises:
        CommandError: decoder and model differ, or a file cannot be read or written.
    """
    if digits is not None:
        chunks: Iterable[bytes] = [_from_hex(digits)]
    else:
        assert file is not None
        chunks = read_chunks(file)
    tally = Tally()
    simulation = Simulation(decoder)
    with ExitStack() as stack:
        text = stack.enter_context(writing(output)) if output else None
        waveform = stack.enter_context(_waveform(vcd)) if vcd else None
        done = stack.enter_context(progress("simulating", file_size(file) if file else None))

        def on_item(item: Item) -> None:
            tally.add([item])
            if text:
                text.write(encode([item.code_point]))
            if as_json:
                print(json_line(item))

        mismatch = compare(
            simulation,
            (byte for chunk in chunks for byte in chunk),
            input_pauses=input_pauses,
            output_pauses=output_pauses,
            separate_end=separate_end,
            null_beats=null_beats,
            vcd=waveform,
            on_item=on_item,
            on_unit=done,
        )
        if mismatch:
            raise CommandError(str(mismatch), status=1)
    if not as_json and output != "-":
        print("\n".join([*tally.lines(), "the simulated decoder gave exactly the model's items"]))


def _from_hex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise CommandError(f"--hex {digits!r} is not bytes in hexadecimal: write them as 'C2 41'") from None


@contextmanager
def _waveform(path: str) -> Iterator[Path]:
    """A name to write a waveform to; it gets its own name in the end, also where decoder and model differ."""
    mismatch = None
    try:
        with new_file(path) as name:
            try:
                yield name
            except CommandError as error:
                # A waveform of a decoder that is wrong is what it was asked for.
                mismatch = error
    except OSError as error:
        raise write_error(repr(path), error) from None
    if mismatch is not None:
        raise mismatch
