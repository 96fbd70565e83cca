# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes texts in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import click

from utf8fpga.cli.core_command import core_command, dask_option
from utf8fpga.cli.options import FILE, SEED, from_hex, hex_option, json_option, one_of, reject_others
from utf8fpga.cli.output import (
    CommandError,
    beginning,
    check_different,
    coloured,
    file_size,
    is_standard_output,
    progress,
    read_chunks,
    say,
    writing,
)
from utf8fpga.cli.show import Tally, item_table, json_line
from utf8fpga.cli.soak import soak_core
from utf8fpga.hdl import CoreParameters, DecoderParameters, build, entry_of
from utf8fpga.model import Item
from utf8fpga.model.render import columns, counted
from utf8fpga.sim import HAS_GRAPH, NETLISTS, Simulation, compare
from utf8fpga.sim.beats import symbol_width, symbols_from


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"{option.opts[0]} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


_PAUSES: dict[str, Any] = {"default": "0", "callback": _pattern, "metavar": "PATTERN"}


@core_command("simulate --hex 'C3 A9 FF'", "simulate --lanes 4 --output-pauses 01 --vcd page.vcd page.html")
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
@hex_option
@click.option("--input-pauses", **_PAUSES, help="Cycles without input, such as 001; default: 0.")
@click.option("--output-pauses", **_PAUSES, help="Cycles without ready, such as 001; default: 0.")
@click.option("--netlist", **one_of(NETLISTS, "The core after synthesis; default: before."))
@click.option("--soak", metavar="LIMIT", help="Random packets and pauses, such as 10m or 5GB.")
@click.option("--seed", type=SEED, help="The first seed of --soak; default: 0.")
@dask_option
@click.option("--vcd", type=FILE, help="A waveform to write.")
@click.option("-o", "--output", type=FILE, help="The output as bytes to write.")
@json_option
def simulate(
    files: tuple[str, ...],
    digits: str | None,
    parameters: CoreParameters,
    netlist: str | None,
    soak: str | None,
    seed: int | None,
    dask: str | None,
    vcd: str | None,
    output: str | None,
    as_json: bool,
    **pauses: list[bool],
) -> None:
    """Send each FILE to a simulated core and compare its output with the model.

    A pattern of pauses has a digit for each cycle and is repeated; 1 is a pause. --soak takes a time in s, m or h, or
    an amount in kB, MB or GB.
    """
    if bool(files) + (digits is not None) + (soak is not None) != 1:
        raise CommandError("give either FILE, --hex BYTES or --soak LIMIT")
    if soak is not None:
        reject_others("--soak", *parameters.options(), "soak", "netlist", "seed", "dask", "as_json")
        soak_core(parameters, soak, netlist=netlist, seed=seed or 0, dask=dask, as_json=as_json)
        return
    for option, value in (("--seed", seed), ("--dask", dask)):
        if value is not None:
            raise CommandError(f"{option} {value} is for --soak: give --soak LIMIT, too")
    _check_files(files, vcd, output, netlist, as_json)
    core = replace(parameters, kind=True) if isinstance(parameters, DecoderParameters) else parameters
    with ExitStack() as stack:
        out = stack.enter_context(writing(output)) if output else None
        waveform = stack.enter_context(_recording(vcd)) if vcd else None
        shown = _Shown(core, out, as_json)
        width = _compare_texts(core, files, digits, shown, netlist, waveform, pauses)
    if not as_json and not is_standard_output(output):
        table = shown.table(from_hex(digits), width) if digits is not None else []
        verdict = f"the simulated {core.core} gave exactly the model's {shown.noun}s"
        print("\n".join([*table, *shown.lines(), coloured(verdict, "green")]))


def _compare_texts(
    core: CoreParameters,
    files: Sequence[str],
    digits: str | None,
    shown: _Shown,
    netlist: str | None,
    waveform: Path | None,
    pauses: Any,
) -> int:
    """Compare files, or bytes in hexadecimal; returns the bits of an input symbol."""
    texts = [iter([from_hex(digits)])] if digits is not None else map(read_chunks, files)
    sizes = [file_size(file) for file in files]
    total = sum(size or 0 for size in sizes) if files and None not in sizes else None
    with progress("simulating", total, rate=True) as done:
        for chunks in texts:
            simulation, chunks = _simulation(core, chunks, netlist, is_slow=waveform is not None)
            width = symbol_width(simulation.core)
            units = symbols_from(chunks, width)
            if mismatch := compare(simulation, units, vcd=waveform, on_item=shown.take, on_unit=done, **pauses):
                raise CommandError(str(mismatch), status=1)
    return width


def _check_files(files: Sequence[str], vcd: str | None, output: str | None, netlist: str | None, as_json: bool) -> None:
    if is_standard_output(vcd):
        raise CommandError(f"--vcd {vcd} is standard output, to which the result is written: name a file")
    if vcd and len(files) > 1:
        raise CommandError(f"--vcd {vcd} shows one text, not {len(files)}: give one FILE")
    if vcd and netlist:
        raise CommandError(f"--netlist {netlist} has no waveform: leave out --vcd {vcd}")
    if as_json and is_standard_output(output):
        raise CommandError(f"--json and -o {output} both write to standard output: leave out one of them")
    check_different({"-o": output, "--vcd": vcd})


def _simulation(
    core: CoreParameters, chunks: Iterator[bytes], netlist: str | None, *, is_slow: bool
) -> tuple[Simulation, Iterator[bytes]]:
    """The core in the engine that needs less time, including that to begin; and the text."""
    if netlist:
        return Simulation(build(core), engine="graph", netlist=netlist), chunks
    is_long, chunks = beginning(chunks, _LONG)
    if is_long and not is_slow and not HAS_GRAPH:
        say("utf8fpga: Numba makes long simulations twenty times faster: pip install 'utf8fpga[fast]'")
    return Simulation(build(core), engine="graph" if is_long and not is_slow and HAS_GRAPH else "python"), chunks


_LONG = 1 << 14
"""Bytes that Amaranth's simulator, with one lane, simulates in about the time that the graph needs to begin."""


class _Shown:
    """What is printed and written of the output symbols.

    Args:
        out: a file for the symbols as bytes.
        as_json: print the symbols as JSON lines.
    """

    def __init__(self, core: CoreParameters, out: BinaryIO | None, as_json: bool) -> None:
        self._core, self._out, self._as_json = entry_of(core), out, as_json
        self._tally, self._symbols = Tally(), 0
        self._first: list[Any] = []

    @property
    def noun(self) -> str:
        """What the symbols are called."""
        return "symbol" if self._symbols else "item"

    def take(self, symbol: Any) -> None:
        """Show an output symbol."""
        if isinstance(symbol, Item):
            self._tally.add([symbol])
        else:
            self._tally.units += symbol.length
            self._symbols += 1
        if len(self._first) < _MOST_ROWS:
            self._first.append(symbol)
        if self._out:
            self._out.write(self._core.as_bytes([symbol]))
        if self._as_json:
            print(json_line(symbol) if isinstance(symbol, Item) else _symbol_json(symbol))

    def table(self, data: bytes, width: int) -> list[str]:
        """The symbols for a short text as lines of a table, with input symbols of so many bits."""
        units = list(symbols_from(iter([data]), width))
        if not self._symbols:
            return item_table(self._first, units, width)
        rows, offset = [], 0
        for symbol in self._first:
            inputs = " ".join(map(self._core.input_label, units[offset : offset + symbol.length]))
            rows.append([str(offset), inputs, self._core.label(symbol)])
            offset += symbol.length
        return columns(rows, ["offset", f"{self._core.input_noun}s", "output"])

    def lines(self) -> list[str]:
        """The counts as lines."""
        if self._symbols:
            return [f"{counted(self._tally.units, 'symbol')} in, {counted(self._symbols, 'symbol')} out"]
        return self._tally.lines()


_MOST_ROWS = 1000
"""The most rows of a table; a command line can have no more bytes than some times this."""


def _symbol_json(symbol: Any) -> str:
    """A symbol that is no item as one line of JSON."""
    fields = symbol._asdict()
    if hasattr(value := fields.get("value"), "_asdict"):
        fields["value"] = value._asdict()
    return json.dumps(fields)


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
