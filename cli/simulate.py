# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes a text in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

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
from utf8fpga.cli.show import SymbolTally, symbol_json
from utf8fpga.hdl import CoreParameters
from utf8fpga.sim import Simulation, compare

__all__ = ["simulate", "simulate_file"]


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"--{(option.name or '').replace('_', '-')} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


@core_command()
@click.argument("file", type=FILE, required=False)
@click.option("--hex", "digits", metavar="BYTES", help="Bytes in hexadecimal instead of a file, such as 'C2 41'.")
@click.option(
    "--input-pauses",
    default="0",
    callback=_pattern,
    metavar="PATTERN",
    help="One digit per cycle, repeated; 1: the next input beat is delayed.",
)
@click.option(
    "--output-pauses",
    default="0",
    callback=_pattern,
    metavar="PATTERN",
    help="One digit per cycle, repeated; 1: the output is not ready.",
)
@click.option(
    "--null-beats",
    default="0",
    callback=_pattern,
    metavar="PATTERN",
    help="One digit per input beat, repeated; 1: a null beat, with neither a byte nor last.",
)
@click.option("--separate-end", is_flag=True, help="Send last in a beat without bytes, if the beat before is full.")
@click.option("--vcd", type=FILE, help="Write a waveform.")
@click.option(
    "-o", "--output", type=FILE, help="Write the output as bytes: of a decoder the decoded text, with U+FFFD."
)
@json_option
def simulate(
    file: str | None,
    digits: str | None,
    parameters: CoreParameters,
    input_pauses: list[bool],
    output_pauses: list[bool],
    null_beats: list[bool],
    separate_end: bool,
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Send FILE to the simulated core and compare each output symbol with the golden model."""
    if (file is None) == (digits is None):
        raise CommandError("give either FILE or --hex BYTES")
    if is_standard_output(vcd):
        raise CommandError(f"--vcd {vcd!r} is standard output, to which the result is written: name a file")
    if as_json and is_standard_output(output):
        raise CommandError(f"--json and -o {output} both write to standard output: leave out one of them")
    if output and vcd and os.path.realpath(output) == os.path.realpath(vcd) and not _is_special(vcd):
        raise CommandError(f"-o and --vcd are the same file {vcd!r}: specify two files")
    simulate_file(
        file,
        digits,
        # With all optional fields, more is compared.
        parameters=parameters.observable(),
        input_pauses=input_pauses,
        output_pauses=output_pauses,
        null_beats=null_beats,
        separate_end=separate_end,
        vcd=vcd,
        output=output,
        as_json=as_json,
    )


def _is_special(path: str) -> bool:
    """Whether a path is a device or a pipe, to which two results may be written."""
    return os.path.exists(path) and not os.path.isfile(path)


def simulate_file(
    file: str | None,
    digits: str | None,
    *,
    parameters: CoreParameters,
    input_pauses: Sequence[bool],
    output_pauses: Sequence[bool],
    separate_end: bool,
    null_beats: Sequence[bool],
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Send a text to a simulated core, compare with the golden function and print the result.

    Args:
        file: the input file, or ``-`` for standard input; None where `digits` is specified.
        digits: the text's bytes in hexadecimal.
        parameters: those of the core.
        input_pauses: see `Simulation.run`.
        output_pauses: see `Simulation.run`.
        separate_end: see `compare`.
        null_beats: see `Simulation.run`.
        vcd: a file for the waveform.
        output: a file for the output symbols as bytes, or ``-``: of a decoder the decoded text.
        as_json: print the symbols as JSON lines.

    Raises:
        CommandError: core and golden function differ, or a file cannot be read or written.
    """
    if digits is not None:
        chunks: Iterable[bytes] = [_from_hex(digits)]
    else:
        assert file is not None
        chunks = read_chunks(file)
    tally = SymbolTally()
    simulation = Simulation(parameters.build(), parameters)
    with ExitStack() as stack:
        text = stack.enter_context(writing(output)) if output else None
        waveform = stack.enter_context(_waveform(vcd)) if vcd else None
        done = stack.enter_context(progress("simulating", file_size(file) if file else None))

        def on_item(symbol: Any) -> None:
            tally.add(symbol)
            if text:
                text.write(parameters.as_bytes([symbol]))
            if as_json:
                print(symbol_json(symbol))

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
        print("\n".join([*tally.lines(), f"the simulated {parameters.core} gave exactly the model's {tally.noun}s"]))


def _from_hex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise CommandError(f"--hex {digits!r} is not bytes in hexadecimal: write them as 'C2 41'") from None


@contextmanager
def _waveform(path: str) -> Iterator[Path]:
    """A temporary name for a waveform; it is renamed to `path` at the end, also where core and model differ."""
    mismatch = None
    try:
        with new_file(path) as name:
            try:
                yield name
            except CommandError as error:
                # The waveform of a difference is kept.
                mismatch = error
    except OSError as error:
        raise write_error(repr(path), error) from None
    if mismatch is not None:
        raise mismatch
