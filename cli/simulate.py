# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes texts in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FILE, SEED, json_option
from utf8fpga.cli.output import (
    CommandError,
    check_different,
    file_size,
    is_special,
    is_standard_output,
    progress,
    read_chunks,
    say,
    write_error,
    writing,
)
from utf8fpga.cli.scheduling import dask_option
from utf8fpga.cli.show import SymbolTally, symbol_json
from utf8fpga.cli.soak import soak_core, soak_limit
from utf8fpga.hdl import CoreParameters
from utf8fpga.model.golden import BulkSymbols
from utf8fpga.sim import ENGINES, DiagramError, Mismatch, Netlist, Simulation, compare, write_diagram, write_save_file
from utf8fpga.sim.beats import symbol_width, symbols_from
from utf8fpga.sim.diagram import DIAGRAM_CYCLES, renderer
from utf8fpga.sim.engines import has_compiler
from utf8fpga.sim.engines.netlist import FAMILIES

__all__ = ["simulate", "simulate_texts"]

_NETLIST = Netlist()


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
@click.option(
    "--gaps",
    default="0",
    callback=_pattern,
    metavar="PATTERN",
    help="One digit per lane of the input beats, repeated; 1: no byte there. For remover and --compact-input.",
)
@click.option("--separate-end", is_flag=True, help="Send last in a beat without bytes, if the beat before is full.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="python: Amaranth's simulator. compiled: machine code, built once for each core, which requires a C compiler."
    " netlist: the same for the core after synthesis. Default: compiled for long inputs if there is a compiler,"
    " otherwise python.",
)
@click.option("--family", type=click.Choice(FAMILIES), help=f"FPGA of --engine netlist; default: {FAMILIES[0]}.")
@click.option("--routed", is_flag=True, help="With --engine netlist: after placement and routing on an iCE40.")
@click.option(
    "--soak",
    metavar="LIMIT",
    help="Random packets and pauses instead of a file, for a time such as 10m (s, m, h) or up to an amount such as 5GB"
    " (kB, MB, GB).",
)
@click.option("--seed", type=SEED, help="The first seed of --soak; default: 0.")
@dask_option
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
    files: tuple[str, ...],
    digits: str | None,
    parameters: CoreParameters,
    input_pauses: list[bool],
    output_pauses: list[bool],
    null_beats: list[bool],
    gaps: list[bool],
    separate_end: bool,
    engine: str | None,
    family: str | None,
    routed: bool,
    soak: str | None,
    seed: int | None,
    dask: str | None,
    vcd: str | None,
    wave: str | None,
    wave_cycles: range | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Send each FILE to the simulated core and compare each output symbol with the golden model."""
    if bool(files) + (digits is not None) + (soak is not None) != 1:
        raise CommandError("give either FILE, --hex BYTES or --soak LIMIT")
    netlist = _netlist(engine, family, routed)
    if soak is not None:
        _reject_with_soak(
            {
                "--input-pauses": any(input_pauses),
                "--output-pauses": any(output_pauses),
                "--null-beats": any(null_beats),
                "--gaps": any(gaps),
                "--separate-end": separate_end,
                "--vcd": vcd,
                "--wave": wave,
                "-o": output,
            }
        )
        seconds, symbols = soak_limit(soak)
        soak_core(
            parameters,
            engine=engine,
            netlist=netlist,
            seed=seed or 0,
            seconds=seconds,
            symbols=symbols,
            dask=dask,
            as_json=as_json,
        )
        return
    if seed is not None:
        raise CommandError(f"--seed {seed} is that of --soak: give --soak LIMIT, too")
    if dask:
        raise CommandError(f"--dask {dask} is for --soak: give --soak LIMIT, too")
    _check_waveforms(len(files), engine, {"--vcd": vcd, "--wave": wave})
    if wave_cycles and not wave:
        raise CommandError("--wave-cycles has no effect without --wave: name its file")
    if any(gaps) and not parameters.accepts_gaps:
        raise CommandError(
            f"--gaps {_digits(gaps)} is for cores that accept gaps: leave it out, or use --compact-input"
        )
    if as_json and is_standard_output(output):
        raise CommandError(f"--json and -o {output} both write to standard output: leave out one of them")
    check_different({"-o": output, "--vcd": vcd, "--wave": wave})
    simulate_texts(
        files,
        digits,
        # With all optional fields, more is compared.
        parameters=parameters.observable(),
        stream_options={
            "input_pauses": input_pauses,
            "output_pauses": output_pauses,
            "null_beats": null_beats,
            "gaps": gaps,
            "separate_end": separate_end,
        },
        engine=engine,
        netlist=netlist,
        vcd=vcd,
        wave=wave,
        wave_cycles=wave_cycles or DIAGRAM_CYCLES,
        output=output,
        as_json=as_json,
    )


def _digits(pattern: Sequence[bool]) -> str:
    return "".join(str(int(is_set)) for is_set in pattern)


def _netlist(engine: str | None, family: str | None, routed: bool) -> Netlist:
    for option, value in (("--family", family), ("--routed", routed)):
        if value and engine != "netlist":
            words = option if value is True else f"{option} {value}"
            raise CommandError(f"{words} is for netlists: give --engine netlist, too")
    return Netlist(family or FAMILIES[0], routed)


def _reject_with_soak(values: Mapping[str, object]) -> None:
    if other := next((name for name, value in values.items() if value), None):
        raise CommandError(f"--soak and {other} cannot be combined: leave out one of them")


def _check_waveforms(texts: int, engine: str | None, paths: Mapping[str, str | None]) -> None:
    for option, path in paths.items():
        if is_standard_output(path):
            raise CommandError(f"{option} {path!r} is standard output, to which the result is written: name a file")
        if path and texts > 1:
            raise CommandError(f"{option} {path!r} shows one text, not {texts}: give one FILE")
        if path and engine in ("compiled", "netlist"):
            raise CommandError(f"--engine {engine} writes no waveform: leave it out, or {option} {path!r}")


def simulate_texts(
    files: Sequence[str],
    digits: str | None,
    *,
    parameters: CoreParameters,
    stream_options: Mapping[str, Any],
    engine: str | None,
    netlist: Netlist = _NETLIST,
    vcd: str | None,
    wave: str | None,
    wave_cycles: range,
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
        netlist: see `Simulation`.
        vcd: a file for the waveform; a save file for GTKWave is written beside it.
        wave: a file for the timing diagram.
        wave_cycles: the cycles of the timing diagram.
        output: a file for the output symbols as bytes, or ``-``: of a decoder the decoded texts.
        as_json: print the symbols as JSON lines.

    Raises:
        CommandError: core and golden function differ, or a file cannot be read or written.
        DiagramError: see `write_diagram`.
    """
    given = [iter([_from_hex(digits)])] if digits is not None else map(read_chunks, files)
    sizes = [file_size(file) for file in files]
    total = sum(size or 0 for size in sizes) if files and None not in sizes else None
    simulation = Simulation(parameters.build(), parameters, netlist=netlist)
    tally = SymbolTally()
    with ExitStack() as stack:
        text = stack.enter_context(writing(output)) if output else None
        recording = _recording(simulation, vcd, wave, wave_cycles)
        waveform = stack.enter_context(recording) if vcd or wave else None
        done = stack.enter_context(progress("simulating", total, rate=True))

        def on_item(symbol: Any) -> None:
            tally.add(symbol)
            if text:
                text.write(parameters.as_bytes([symbol]))
            if as_json:
                print(symbol_json(symbol))

        is_plain = not (text or as_json)
        has_gaps = any(stream_options.get("gaps", ()))
        without_gaps = {name: value for name, value in stream_options.items() if name != "gaps"}
        sent = 0
        for chunks in given:
            name, parts = _engine_for(parameters, chunks) if engine is None and waveform is None else (engine, chunks)
            shown = partial(_advance, done, sent)
            fast = simulation.on(name or ENGINES[0])
            if fast.engine != "python" and is_plain and not has_gaps and (compare_bulk := _bulk(fast)):
                mismatch = compare_bulk(fast, parts, **without_gaps, on_part=partial(_count, tally, shown))
            else:
                mismatch = compare(
                    simulation,
                    symbols_from(parts, symbol_width(simulation.core)),
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
            if not is_special(vcd):
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
