# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes texts in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

import click

from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FILE, SEED, json_option
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
from utf8fpga.hdl import CoreParameters, command_words
from utf8fpga.model.golden import BulkSymbols
from utf8fpga.sim import ENGINES, Mismatch, Simulation, compare
from utf8fpga.sim.engines import has_compiler

__all__ = ["simulate", "simulate_texts", "soak_core"]


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
@click.option(
    "--soak",
    metavar="LIMIT",
    help="Random packets and pauses instead of a file, for a time such as 10m (s, m, h) or up to an amount such as 5GB"
    " (kB, MB, GB).",
)
@click.option("--seed", type=SEED, help="The first seed of --soak; default: 0.")
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
    soak: str | None,
    seed: int | None,
    vcd: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Send each FILE to the simulated core and compare each output symbol with the golden model."""
    if bool(files) + (digits is not None) + (soak is not None) != 1:
        raise CommandError("give either FILE, --hex BYTES or --soak LIMIT")
    if seed is not None and soak is None:
        raise CommandError(f"--seed {seed} is that of --soak: give --soak LIMIT, too")
    if soak is not None:
        given = {
            "--input-pauses": any(input_pauses),
            "--output-pauses": any(output_pauses),
            "--null-beats": any(null_beats),
            "--separate-end": separate_end,
            "--vcd": vcd,
            "-o": output,
        }
        if other := next((name for name, value in given.items() if value), None):
            raise CommandError(f"--soak and {other} cannot be combined: leave out one of them")
        seconds, symbols = _limit(soak)
        soak_core(parameters, engine=engine, seed=seed or 0, seconds=seconds, symbols=symbols, as_json=as_json)
        return
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

        is_plain = not (text or as_json)
        sent = 0
        for chunks in given:
            name, parts = _engine_for(parameters, chunks) if engine is None and waveform is None else (engine, chunks)
            shown = partial(_advance, done, sent)
            if name == "compiled" and is_plain and (compare_bulk := _bulk(simulation.on(name))):
                mismatch = compare_bulk(simulation, parts, **stream_options, on_part=partial(_count, tally, shown))
            else:
                mismatch = compare(
                    simulation,
                    (byte for part in parts for byte in part),
                    **stream_options,
                    vcd=waveform,
                    engine=name,
                    on_item=on_item,
                    on_unit=_in_steps(shown),
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


def _bulk(simulation: Simulation) -> Callable[..., Mismatch | None] | None:
    """The function `compare_bulk` if NumPy is installed and the core has a fast golden function."""
    try:
        from utf8fpga.sim.bulk import bulk_golden, compare_bulk
    except ModuleNotFoundError as missing:
        if missing.name != "numpy":
            raise
        return None
    return compare_bulk if bulk_golden(simulation) else None


def _count(tally: SymbolTally, shown: Callable[[int], None], sent: int, new: int, symbols: BulkSymbols) -> None:
    tally.count(symbols, new)
    shown(sent)


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


_TIMES = {"s": 1, "m": 60, "h": 3600}
_AMOUNTS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


def _limit(text: str) -> tuple[float | None, int | None]:
    """The seconds or the number of bytes that a value of ``--soak`` denotes."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([a-zA-Z]{1,2})", text)
    if found and found[2] in _TIMES:
        return float(found[1]) * _TIMES[found[2]], None
    if found and found[2] in _AMOUNTS:
        return None, round(float(found[1]) * _AMOUNTS[found[2]])
    raise CommandError(f"--soak {text!r} is neither a time such as 10m nor an amount such as 5GB")


def soak_core(
    parameters: CoreParameters,
    *,
    engine: str | None,
    seed: int,
    seconds: float | None,
    symbols: int | None,
    as_json: bool,
) -> None:
    """Simulate a core with random packets and pauses, compare with the golden function and print the totals.

    Args:
        parameters: those of the core.
        engine: see `Simulation`; default: compiled if there is a compiler, otherwise python.
        seed: the seed of the first round.
        seconds: see `sim.soak.soak`.
        symbols: see `sim.soak.soak`.
        as_json: print JSON.

    Raises:
        CommandError: core and golden function differ, or NumPy is not installed.
    """
    try:
        from utf8fpga.sim.soak import Totals, soak
    except ModuleNotFoundError as missing:
        if missing.name != "numpy":
            raise
        raise CommandError("--soak requires NumPy: pip install 'utf8fpga[arrays]'", status=1) from None

    name = engine or ("compiled" if has_compiler() else "python")
    simulation = Simulation(parameters.build(), parameters, engine=name)
    corpus = b"".join(resources.files("utf8fpga").joinpath("texts", each).read_bytes() for each in _TEXTS)
    with progress("simulating", symbols, rate=True) as done:

        def on_round(totals: Totals) -> None:
            done(totals.symbols)

        totals, mismatch = soak(
            simulation, seed=seed, seconds=seconds, symbols=symbols, corpus=corpus, on_round=on_round
        )
    if as_json:
        print(json.dumps({"core": parameters.name, "engine": name, "seed": seed, **asdict(totals)}))
    else:
        rate = totals.symbols / max(totals.seconds, 1e-9)
        print(
            f"{totals.symbols} {parameters.input_noun}s in {totals.packets} packets, {totals.cycles} cycles,"
            f" {totals.rounds} rounds with seeds from {seed}, {totals.seconds:.1f} s, {_rate(rate)} per second"
        )
    if mismatch:
        last = str(seed + totals.rounds - 1)
        again = shlex.join(["utf8fpga", "simulate", *command_words(parameters), "--soak", "1s", "--seed", last])
        raise CommandError(f"{mismatch}\n  its round: {again}", status=1)
    if not as_json:
        print(f"the simulated {parameters.core} gave exactly the model's {parameters.output_noun}s")


_TEXTS = ("multilingual.txt", "torture.txt")


def _rate(number: float) -> str:
    """A number with a unit, such as ``12.3 million``."""
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number:.0f}"


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
