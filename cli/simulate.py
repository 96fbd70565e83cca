# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes a text in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, BinaryIO

import click

from utf8fpga.cli.core_command import core_command
from utf8fpga.cli.options import Number, from_hex, hex_option, json_option, one_of, reject, seed_option
from utf8fpga.cli.output import CommandError, coloured, progress, read_chunks, replacing, writing
from utf8fpga.cli.replay import with_replay
from utf8fpga.cli.show import Tally, item_table, json_line
from utf8fpga.cli.soak import soak_core
from utf8fpga.hdl import CoreParameters, build
from utf8fpga.model.render import columns, counted
from utf8fpga.sim import HAS_GRAPH, NETLISTS, Simulation, compare
from utf8fpga.sim.beats import symbol_width, symbols_from


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"{option.opts[0]} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


_PAUSES: dict[str, Any] = {"default": "0", "callback": _pattern, "metavar": "PATTERN"}

_LONG = 1 << 14
"""Bytes that Amaranth's simulator, with one lane, simulates in about the time that the graph needs to begin."""


@core_command("simulate --hex 'C3 A9 FF'", "simulate --lanes 4 --output-pauses 01 --vcd page.vcd page.html")
@click.argument("file", required=False)
@hex_option
@click.option("--input-pauses", **_PAUSES, help="1 is a cycle without input; repeated, such as 001.")
@click.option("--output-pauses", **_PAUSES, help="1 is a cycle without ready; repeated, such as 001.")
@click.option("--netlist", **one_of(NETLISTS, "Simulate the netlist for an FPGA, not the source."))
@click.option("--soak", type=Number(1), metavar="SECONDS", help="Random packets and pauses for SECONDS.")
@seed_option
@click.option("--vcd", metavar="FILE", help="A waveform to write, for GTKWave or Surfer.")
@click.option("-o", "--output", metavar="FILE", help="The output as bytes to write.")
@json_option
def simulate(
    file: str | None,
    digits: str | None,
    parameters: CoreParameters,
    netlist: str | None,
    soak: int | None,
    seed: int,
    vcd: str | None,
    output: str | None,
    as_json: bool,
    **pauses: list[bool],
) -> None:
    """Send FILE to a simulated core and compare its output with the model."""
    if [file, digits, soak].count(None) != 2:
        raise CommandError("give either FILE, --hex BYTES or --soak SECONDS")
    if soak is not None:
        reject("with --soak", "netlist", "vcd", "output", *pauses)
        soak_core(parameters, soak, seed, as_json=as_json)
        return
    reject("without --soak", "seed")
    data = b"".join(read_chunks(file)) if file is not None else from_hex(digits or "")
    is_graph = HAS_GRAPH and len(data) > _LONG and not vcd
    simulation = Simulation(build(parameters), engine="graph" if is_graph else "python", netlist=netlist)
    units = symbols_from(data, symbol_width(simulation.core))
    with progress("simulating", len(units)) as done, writing(output) if output else nullcontext() as bytes_out:
        shown = _Shown(simulation, bytes_out, as_json=as_json)
        with replacing(vcd) if vcd else nullcontext() as wave:
            mismatch = compare(simulation, units, vcd=wave, on_item=shown.take, on_unit=done, **pauses)
        if mismatch:
            raise CommandError(with_replay(mismatch), status=1)
    if not as_json:
        table = [] if digits is None else shown.table(units)
        click.echo("\n".join([*table, *shown.counts(len(units))]))


class _Shown:
    """What is printed and written of the output symbols.

    Args:
        file: a file for the symbols as bytes.
        as_json: print the symbols as lines of JSON.
    """

    def __init__(self, simulation: Simulation, file: BinaryIO | None, *, as_json: bool) -> None:
        self._entry, self._width = simulation.entry, symbol_width(simulation.core)
        self._is_decoder = simulation.entry.parameters.core == "decoder"
        self._file, self._as_json = file, as_json
        self._tally, self._symbols = Tally(), list[Any]()
        """The counts, and the first symbols."""

    def take(self, symbol: Any) -> None:
        """Count, print and write an output symbol."""
        if self._is_decoder:
            self._tally.add([symbol])
        else:
            self._tally.items += 1
        if len(self._symbols) < _MOST_ROWS:
            self._symbols.append(symbol)
        if self._as_json:
            click.echo(json_line(symbol) if self._is_decoder else _symbol_json(symbol), nl=False)
        if self._file:
            self._file.write(self._entry.as_bytes([symbol]))

    def counts(self, units: int) -> list[str]:
        """The counts and the verdict, as lines."""
        noun = "item" if self._is_decoder else "symbol"
        others = [f"{counted(units, 'symbol')} in, {counted(self._tally.items, 'symbol')} out"]
        verdict = f"the simulated {self._entry.parameters.core} gave exactly the model's {noun}s"
        return [*(self._tally.lines() if self._is_decoder else others), coloured(verdict, "green")]

    def table(self, units: Sequence[int]) -> list[str]:
        """The symbols with the input symbols that they stand for, as lines."""
        if self._is_decoder:
            return item_table(self._symbols, units, self._width)
        rows, offset = [], 0
        for symbol in self._symbols:
            inputs = " ".join(map(self._entry.input_label, units[offset : offset + symbol.length]))
            rows.append([str(offset), inputs, self._entry.label(symbol)])
            offset += symbol.length
        return columns(rows, ["offset", f"{self._entry.input_noun}s", "output"])


_MOST_ROWS = 1000
"""The most rows of a table."""


def _symbol_json(symbol: Any) -> str:
    """A symbol that is no item as one line of JSON."""
    fields = symbol._asdict()
    if hasattr(value := fields["value"], "as_dict"):
        fields["value"] = value.as_dict()
    return f"{json.dumps(fields)}\n"
