# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes a text in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FILE, json_option
from utf8fpga.cli.output import (
    CommandError,
    file_size,
    is_standard_output,
    progress,
    read_chunks,
    say,
    write_error,
    writing,
)
from utf8fpga.cli.show import SymbolTally, symbol_json
from utf8fpga.hdl import CoreParameters
from utf8fpga.sim import DiagramError, Simulation, compare, write_diagram, write_save_file
from utf8fpga.sim.diagram import DIAGRAM_CYCLES, renderer

__all__ = ["simulate", "simulate_file"]


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"--{(option.name or '').replace('_', '-')} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


def _cycles(_context: click.Context, _option: click.Parameter, value: str | None) -> range | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", value)
    if not found or int(found[1]) > int(found[2]):
        raise CommandError(f"--wave-cycles {value!r} must be FIRST..LAST, such as 0..23")
    return range(int(found[1]), int(found[2]) + 1)


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
@click.option("--vcd", type=FILE, help="Write a waveform, and beside it a save file for GTKWave.")
@click.option("--wave", type=FILE, help="Draw a timing diagram of both streams as SVG.")
@click.option(
    "--wave-cycles",
    callback=_cycles,
    metavar="FIRST..LAST",
    help=f"Cycles of the timing diagram. Default: 0..{DIAGRAM_CYCLES[-1]}.",
)
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
    wave: str | None,
    wave_cycles: range | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Send FILE to the simulated core and compare each output symbol with the golden model."""
    if (file is None) == (digits is None):
        raise CommandError("give either FILE or --hex BYTES")
    for option, path in (("--vcd", vcd), ("--wave", wave)):
        if is_standard_output(path):
            raise CommandError(f"{option} {path!r} is standard output, to which the result is written: name a file")
    if wave_cycles and not wave:
        raise CommandError("--wave-cycles has no effect without --wave: name its file")
    if as_json and is_standard_output(output):
        raise CommandError(f"--json and -o {output} both write to standard output: leave out one of them")
    named = [(option, path) for option, path in (("-o", output), ("--vcd", vcd), ("--wave", wave)) if path]
    for (one, first), (other, second) in combinations(named, 2):
        if os.path.realpath(first) == os.path.realpath(second) and not _is_special(second):
            raise CommandError(f"{one} and {other} are the same file {second!r}: specify two files")
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
        wave=wave,
        wave_cycles=wave_cycles or DIAGRAM_CYCLES,
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
    wave: str | None,
    wave_cycles: range,
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
        vcd: a file for the waveform; a save file for GTKWave is written beside it.
        wave: a file for the timing diagram.
        wave_cycles: the cycles of the timing diagram.
        output: a file for the output symbols as bytes, or ``-``: of a decoder the decoded text.
        as_json: print the symbols as JSON lines.

    Raises:
        CommandError: core and golden function differ, or a file cannot be read or written.
        DiagramError: see `write_diagram`.
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
        recording = _recording(simulation, vcd, wave, wave_cycles)
        waveform = stack.enter_context(recording) if vcd or wave else None
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
def _recording(simulation: Simulation, vcd: str | None, wave: str | None, cycles: range) -> Iterator[Path]:
    """A file for the waveform, from which the files of the options are made, also if core and model differ."""
    if wave:
        # Before a simulation that may take long.
        renderer()
    difference = None
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder, ExitStack() as files:
        waveform, diagram = Path(folder, "waveform.vcd"), Path(folder, "diagram.svg")
        targets = {path: files.enter_context(writing(path)) for path in (vcd, wave) if path}
        try:
            yield waveform
        except CommandError as error:
            if not waveform.exists():
                raise
            difference = error
        if vcd:
            with waveform.open("rb") as source:
                shutil.copyfileobj(source, targets[vcd])
            if not _is_special(vcd):
                _write_save_file(waveform, vcd)
        if wave:
            with nullcontext() if difference is None else suppress(DiagramError):
                write_diagram(waveform, diagram, simulation.core, simulation.parameters, cycles)
                targets[wave].write(diagram.read_bytes())
    if difference is not None:
        raise difference


def _write_save_file(waveform: Path, vcd: str) -> None:
    """Write the save file of GTKWave that belongs to a waveform."""
    save = Path(vcd).with_suffix(".gtkw") if vcd.endswith(".vcd") else Path(f"{vcd}.gtkw")
    try:
        is_new = write_save_file(waveform, save, dump=vcd)
    except OSError as error:
        raise write_error(repr(str(save)), error) from None
    if not is_new:
        say(f"{save} has been saved by another program and is kept: delete it to get a new one")
