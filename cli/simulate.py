# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes texts in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
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
from utf8fpga.sim import ENGINES, Simulation, compare
from utf8fpga.sim.engines import has_compiler

__all__ = ["simulate", "simulate_texts"]


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"--{(option.name or '').replace('_', '-')} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


@core_command()
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
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
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="python: Amaranth's simulator. compiled: machine code, built once for each core, which requires a C compiler."
    " Default: compiled for long inputs if there is a compiler, otherwise python.",
)
@click.option("--vcd", type=FILE, help="Write a waveform, with the engine python.")
@click.option(
    "-o", "--output", type=FILE, help="Write the output as bytes: of a decoder the decoded text, with U+FFFD."
)
@json_option
def simulate(
    files: tuple[str, ...],
    digits: str | None,
    parameters: CoreParameters,
    input_pauses: list[bool],
    output_pauses: list[bool],
    null_beats: list[bool],
    separate_end: bool,
    engine: str | None,
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Send each FILE to the simulated core and compare each output symbol with the golden model."""
    if (not files) == (digits is None):
        raise CommandError("give either FILE or --hex BYTES")
    if is_standard_output(vcd):
        raise CommandError(f"--vcd {vcd!r} is standard output, to which the result is written: name a file")
    if vcd and len(files) > 1:
        raise CommandError(f"--vcd {vcd!r} is the waveform of one text, not of {len(files)}: give one FILE")
    if vcd and engine == "compiled":
        raise CommandError(f"--engine compiled writes no waveform: leave it out, or --vcd {vcd!r}")
    if as_json and is_standard_output(output):
        raise CommandError(f"--json and -o {output} both write to standard output: leave out one of them")
    if output and vcd and os.path.realpath(output) == os.path.realpath(vcd) and not _is_special(vcd):
        raise CommandError(f"-o and --vcd are the same file {vcd!r}: specify two files")
    simulate_texts(
        files,
        digits,
        # With all optional fields, more is compared.
        parameters=parameters.observable(),
        stream_options={
            "input_pauses": input_pauses,
            "output_pauses": output_pauses,
            "null_beats": null_beats,
            "separate_end": separate_end,
        },
        engine=engine,
        vcd=vcd,
        output=output,
        as_json=as_json,
    )


def _is_special(path: str) -> bool:
    """Whether a path is a device or a pipe, to which two results may be written."""
    return os.path.exists(path) and not os.path.isfile(path)


def simulate_texts(
    files: Sequence[str],
    digits: str | None,
    *,
    parameters: CoreParameters,
    stream_options: Mapping[str, Any],
    engine: str | None,
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Send texts to a simulated core, one after another, compare with the golden function and print the result.

    Args:
        files: the input files, with ``-`` for standard input; empty where `digits` is specified.
        digits: the text's bytes in hexadecimal.
        parameters: those of the core.
        stream_options: the pauses and the other options of the streams, by name: see `compare`.
        engine: see `Simulation`; default: compiled for long inputs if there is a compiler, otherwise python.
        vcd: a file for the waveform.
        output: a file for the output symbols as bytes, or ``-``: of a decoder the decoded texts.
        as_json: print the symbols as JSON lines.

    Raises:
        CommandError: core and golden function differ, or a file cannot be read or written.
    """
    given = [iter([_from_hex(digits)])] if digits is not None else map(read_chunks, files)
    sizes = [file_size(file) for file in files]
    total = sum(size or 0 for size in sizes) if files and None not in sizes else None
    simulation = Simulation(parameters.build(), parameters)
    tally = SymbolTally()
    with ExitStack() as stack:
        text = stack.enter_context(writing(output)) if output else None
        waveform = stack.enter_context(_waveform(vcd)) if vcd else None
        done = stack.enter_context(progress("simulating", total, rate=True))

        def on_item(symbol: Any) -> None:
            tally.add(symbol)
            if text:
                text.write(parameters.as_bytes([symbol]))
            if as_json:
                print(symbol_json(symbol))

        sent = 0
        for chunks in given:
            name, units = _engine_for(parameters, chunks) if engine is None and waveform is None else (engine, chunks)
            mismatch = compare(
                simulation,
                (byte for chunk in units for byte in chunk),
                **stream_options,
                vcd=waveform,
                engine=name,
                on_item=on_item,
                on_unit=_in_steps(partial(_advance, done, sent)),
            )
            if mismatch:
                raise CommandError(str(mismatch), status=1)
            sent = tally.inputs
    if not as_json and output != "-":
        print("\n".join([*tally.lines(), f"the simulated {parameters.core} gave exactly the model's {tally.noun}s"]))


def _engine_for(parameters: CoreParameters, chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The engine that simulates a text in less time, including the time to build its model; and the text."""
    start: list[bytes] = []
    size = 0
    while size <= max(_LONG, _LONG_PER_LANE * getattr(parameters, "lanes", 1)):
        chunk = next(chunks, None)
        if chunk is None:
            return "python", iter(start)
        start.append(chunk)
        size += len(chunk)
    return "compiled" if has_compiler() else "python", chain(start, chunks)


_LONG, _LONG_PER_LANE = 1 << 14, 1 << 13
"""Bytes, of any core and for each lane, that the engine `python` simulates in about the time to build a model."""


def _advance(done: Callable[[int], None], before: int, number: int) -> None:
    done(before + number)


def _in_steps(call: Callable[[int], None]) -> Callable[[int], None]:
    """A function that passes on an increasing number not more often than necessary for a progress bar."""
    passed = 0

    def pass_on(number: int) -> None:
        nonlocal passed
        if number - passed >= _STEP:
            passed = number
            call(number)

    return pass_on


_STEP = 1 << 10


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
