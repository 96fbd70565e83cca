# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes texts in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import click

from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FILE, SEED, Word, from_hex, hex_option, json_option
from utf8fpga.cli.output import (
    CommandError,
    beginning,
    check_different,
    coloured,
    file_size,
    has_numpy,
    is_standard_output,
    progress,
    read_chunks,
    writing,
)
from utf8fpga.cli.scheduling import dask_option
from utf8fpga.cli.show import SymbolTally, item_table, symbol_json, symbol_table
from utf8fpga.cli.soak import soak_core, soak_limit
from utf8fpga.hdl import CoreParameters, DecoderParameters, build, entry_of
from utf8fpga.hdl.parameters import option_word
from utf8fpga.model.golden import BulkSymbols
from utf8fpga.sim import ENGINES, Mismatch, Netlist, Simulation, compare
from utf8fpga.sim.beats import StreamOptions, symbol_width, symbols_from
from utf8fpga.sim.engines import has_compiler
from utf8fpga.sim.engines.netlist import FAMILIES


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"{option.opts[0]} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


_PATTERNS = {
    "input_pauses": "One digit per cycle, repeated; 1: the next input beat is delayed.",
    "output_pauses": "One digit per cycle, repeated; 1: the output is not ready.",
    "null_beats": "One digit per input beat, repeated; 1: a null beat, with neither a byte nor last.",
    "gaps": "One digit per lane of the input beats, repeated; 1: no byte there. For remover.",
}


def _pattern_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, text in reversed(_PATTERNS.items()):
        word = option_word(name)
        command = click.option(word, default="0", callback=_pattern, metavar="PATTERN", help=text)(command)
    return command


@core_command()
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
@hex_option
@_pattern_options
@click.option("--separate-end", is_flag=True, help="Send last in a beat without bytes, if the beat before is full.")
@click.option(
    "--engine",
    type=Word(ENGINES),
    help="python: Amaranth's simulator. compiled: machine code, built once for each core, which requires a C compiler."
    " netlist: the same for the core after synthesis. Default: compiled for long inputs if there is a compiler,"
    " otherwise python.",
)
@click.option("--family", type=Word(FAMILIES), help=f"FPGA of --engine netlist; default: {FAMILIES[0]}.")
@click.option("--routed", is_flag=True, help="With --engine netlist: after placement and routing on an iCE40.")
@click.option(
    "--soak",
    metavar="LIMIT",
    help="Random packets and pauses instead of a file, for a time such as 10m (s, m, h) or up to an amount such as 5GB"
    " (kB, MB, GB).",
)
@click.option("--seed", type=SEED, help="The first seed of --soak; default: 0.")
@dask_option
@click.option("--vcd", type=FILE, help="Write a waveform.")
@click.option(
    "-o", "--output", type=FILE, help="Write the output as bytes: of a decoder the decoded text, with U+FFFD."
)
@json_option
def simulate(
    files: tuple[str, ...],
    digits: str | None,
    parameters: CoreParameters,
    engine: str | None,
    family: str | None,
    routed: bool,
    soak: str | None,
    seed: int | None,
    dask: str | None,
    vcd: str | None,
    output: str | None,
    as_json: bool,
    separate_end: bool,
    **streams: Any,
) -> None:
    """Send each FILE to the simulated core and compare each output symbol with the golden model."""
    if bool(files) + (digits is not None) + (soak is not None) != 1:
        raise CommandError("give either FILE, --hex BYTES or --soak LIMIT")
    netlist, options = _netlist(engine, family, routed), StreamOptions(**streams, separate_ends=(separate_end,))
    if soak is not None:
        _reject_with_soak(options, {"--vcd": vcd, "-o": output})
        seconds, symbols = soak_limit(soak)
        what: Any = {"engine": engine, "netlist": netlist, "seed": seed or 0, "dask": dask, "as_json": as_json}
        soak_core(parameters, seconds=seconds, symbols=symbols, **what)
        return
    _reject_without_soak(seed, dask)
    _check_waveform(len(files), engine, vcd)
    _check_gaps(options.gaps, parameters)
    if as_json and is_standard_output(output):
        raise CommandError(f"--json and -o {output} both write to standard output: leave out one of them")
    check_different({"-o": output, "--vcd": vcd})
    if isinstance(parameters, DecoderParameters):
        parameters = replace(parameters, kind=True)  # So the causes of errors are compared, too.
    simulation = Simulation(build(parameters), netlist=netlist)
    recording = _recording(vcd) if vcd else nullcontext()
    comparison = _Comparison(simulation, options, engine, as_json)
    with ExitStack() as stack:
        comparison.output = stack.enter_context(writing(output)) if output else None
        comparison.waveform = stack.enter_context(recording)
        comparison.run(files, digits)
    if not as_json and not is_standard_output(output):
        verdict = f"the simulated {parameters.core} gave exactly the model's {comparison.tally.noun}s"
        print("\n".join([*comparison.table(digits), *comparison.tally.lines(), coloured(verdict, "green")]))


def _netlist(engine: str | None, family: str | None, routed: bool) -> Netlist:
    for option, value in (("--family", family), ("--routed", routed)):
        if value and engine != "netlist":
            words = option if value is True else f"{option} {value}"
            raise CommandError(f"{words} is for netlists: give --engine netlist, too")
    return Netlist(family or FAMILIES[0], routed)


def _reject_with_soak(options: StreamOptions, paths: Mapping[str, str | None]) -> None:
    if used := [*options.arguments[:1], *(option for option, path in paths.items() if path)]:
        raise CommandError(f"--soak and {used[0]} cannot be combined: leave out one of them")


def _reject_without_soak(seed: int | None, dask: str | None) -> None:
    if seed is not None:
        raise CommandError(f"--seed {seed} is that of --soak: give --soak LIMIT, too")
    if dask:
        raise CommandError(f"--dask {dask} is for --soak: give --soak LIMIT, too")


def _check_gaps(pattern: Sequence[bool], parameters: CoreParameters) -> None:
    if any(pattern) and not entry_of(parameters).accepts_gaps:
        gaps = "".join(str(int(is_gap)) for is_gap in pattern)
        if parameters.lanes == 1:
            raise CommandError(f"--gaps {gaps} is for several lanes: with one lane, use --null-beats")
        raise CommandError(f"--gaps {gaps} is for cores that accept gaps: leave it out")


def _check_waveform(texts: int, engine: str | None, vcd: str | None) -> None:
    if is_standard_output(vcd):
        raise CommandError(f"--vcd {vcd!r} is standard output, to which the result is written: name a file")
    if vcd and texts > 1:
        raise CommandError(f"--vcd {vcd!r} shows one text, not {texts}: give one FILE")
    if vcd and engine in ("compiled", "netlist"):
        raise CommandError(f"--engine {engine} writes no waveform: leave it out, or --vcd {vcd!r}")


@dataclass
class _Comparison:
    """The comparison of texts, one after another, with the golden function.

    Attributes:
        engine: see `Simulation`; None: compiled for long inputs if there is a compiler, otherwise python.
        as_json: print the symbols as JSON lines.
        output: a file for the output symbols as bytes.
        waveform: a file for the waveform.
    """

    simulation: Simulation
    options: StreamOptions
    engine: str | None
    as_json: bool
    output: BinaryIO | None = None
    waveform: Path | None = None
    _shown: list[Any] | None = None
    """The symbols for `table`, of a text in hexadecimal."""
    tally: SymbolTally = field(default_factory=SymbolTally)
    _before: int = 0
    """The input symbols of the texts before."""
    _reported: int = 0
    """The input symbols that the progress bar shows."""

    def run(self, files: Sequence[str], digits: str | None) -> None:
        """Compare the contents of files, or bytes in hexadecimal."""
        texts = [iter([from_hex(digits)])] if digits is not None else map(read_chunks, files)
        self._shown = None if digits is None else []
        sizes = [file_size(file) for file in files]
        total = sum(size or 0 for size in sizes) if files and None not in sizes else None
        with progress("simulating", total, rate=True) as self._done:
            for chunks in texts:
                if mismatch := self._compare(chunks):
                    raise CommandError(str(mismatch), status=1)

    def table(self, digits: str | None) -> list[str]:
        """The output symbols for bytes in hexadecimal as lines; none for files."""
        if digits is None or self._shown is None:
            return []
        core = self.simulation.core
        units = list(symbols_from(iter([from_hex(digits)]), symbol_width(core)))
        if self.tally.noun == "item":
            return item_table(self._shown, units, symbol_width(core))
        return symbol_table(self._shown, self.simulation.entry, units)

    def _compare(self, chunks: Iterator[bytes]) -> Mismatch | None:
        self._before, engine = self.tally.units, self.engine
        if engine is None and self.waveform is None:
            engine, chunks = _engine_for(self.simulation.entry.parameters, chunks)
        simulation = self.simulation.on(engine or ENGINES[0])
        is_plain = not (self.output or self.as_json or self._shown is not None or any(self.options.gaps))
        if simulation.engine != "python" and is_plain and (compare_bulk := _bulk(simulation)):
            return compare_bulk(simulation, chunks, on_part=self._on_part, **vars(self.options))
        return compare(
            simulation,
            symbols_from(chunks, symbol_width(simulation.core)),
            **vars(self.options),
            vcd=self.waveform,
            on_item=self._on_symbol,
            on_unit=self._on_unit,
        )

    def _on_part(self, sent: int, new: int, symbols: BulkSymbols) -> None:
        self.tally.add_columns(symbols, new)
        self._done(self._before + sent)

    def _on_symbol(self, symbol: Any) -> None:
        self.tally.add_symbol(symbol)
        if self._shown is not None:
            self._shown.append(symbol)
        if self.output:
            self.output.write(self.simulation.entry.as_bytes([symbol]))
        if self.as_json:
            print(symbol_json(symbol))

    def _on_unit(self, number: int) -> None:
        if self._before + number - self._reported >= _STEP:
            self._reported = self._before + number
            self._done(self._reported)


_STEP = 1 << 10
"""Input symbols after which a progress bar is updated."""


def _engine_for(parameters: CoreParameters, chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The engine that simulates a text in less time, including the time to build its model; and the text."""
    is_long, chunks = beginning(chunks, max(_LONG, _LONG_PER_LANE * parameters.lanes))
    return "compiled" if is_long and has_compiler() else "python", chunks


_LONG, _LONG_PER_LANE = 1 << 14, 1 << 13
"""Bytes, of any core and for each lane, that the engine `python` simulates in about the time to build a model."""


def _bulk(simulation: Simulation) -> Callable[..., Mismatch | None] | None:
    """The function `compare_bulk` if NumPy is installed and the core has a fast golden function."""
    if not has_numpy():
        return None
    from utf8fpga.sim.bulk import bulk_golden, compare_bulk

    return compare_bulk if bulk_golden(simulation) else None


@contextmanager
def _recording(vcd: str) -> Iterator[Path]:
    """A file for the waveform, which is copied to that of the option, also if core and model differ."""
    difference = None
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder, writing(vcd) as target:
        waveform = Path(folder, "waveform.vcd")
        try:
            yield waveform
        except CommandError as error:
            if not waveform.exists():
                raise
            difference = error
        with waveform.open("rb") as source:
            shutil.copyfileobj(source, target)
    if difference is not None:
        raise difference
