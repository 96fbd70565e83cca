# SPDX-License-Identifier: BSD-2-Clause
"""The command `simulate`: processes texts in a simulated core and compares the result with its golden function."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import click

from utf8fpga.cli.core_command import core_command, dask_option
from utf8fpga.cli.options import FILE, SEED, from_hex, hex_option, json_option, one_of, reject, reject_others
from utf8fpga.cli.output import (
    CommandError,
    check_different,
    coloured,
    is_standard_output,
    progress,
    read_chunks,
    say,
    writing,
)
from utf8fpga.cli.show import Tally, item_table, json_line
from utf8fpga.cli.soak import soak_core
from utf8fpga.hdl import CoreParameters, build, entry_of
from utf8fpga.model import Item
from utf8fpga.model.render import columns, counted
from utf8fpga.sim import HAS_GRAPH, NETLISTS, Simulation, compare
from utf8fpga.sim.beats import symbol_width, symbols_from
from utf8fpga.sim.check import Mismatch


def _pattern(_context: click.Context, option: click.Parameter, value: str) -> list[bool]:
    if not value or set(value) - set("01") or "0" not in value:
        raise CommandError(f"{option.opts[0]} {value!r} must be 0s and 1s with at least one 0")
    return [bit == "1" for bit in value]


_PAUSES: dict[str, Any] = {"default": "0", "callback": _pattern, "metavar": "PATTERN"}

_LONG = 1 << 14
"""Bytes that Amaranth's simulator, with one lane, simulates in about the time that the graph needs to begin."""


@core_command("simulate --hex 'C3 A9 FF'", "simulate --lanes 4 --output-pauses 01 --vcd page.vcd page.html")
@click.argument("file", type=FILE, required=False)
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
    file: str | None,
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
    """Send FILE to a simulated core and compare its output with the model.

    A pattern of pauses has a digit for each cycle and is repeated; 1 is a pause. --soak takes a time in s, m or h, or
    an amount in kB, MB or GB.
    """
    if [file, digits, soak].count(None) != 2:
        raise CommandError("give either FILE, --hex BYTES or --soak LIMIT")
    if soak is not None:
        reject_others("--soak", *parameters.options(), "soak", "seed", "dask", "as_json")
        soak_core(parameters, soak, seed=seed or 0, dask=dask, as_json=as_json)
        return
    reject("without --soak", "seed", "dask")
    if is_standard_output(vcd):
        raise CommandError(f"--vcd {vcd} is standard output, to which the result is written: name a file")
    if vcd and netlist:
        raise CommandError(f"--netlist {netlist} has no waveform: leave out --vcd {vcd}")
    if as_json and is_standard_output(output):
        raise CommandError(f"--json and -o {output} both write to standard output: leave out one of them")
    check_different({"-o": output, "--vcd": vcd})
    with ExitStack() as stack, progress("simulating", rate=True) as done:
        out = stack.enter_context(writing(output)) if output else None
        shown = _Shown(parameters, out, as_json)
        data = from_hex(digits or "") if file is None else b"".join(read_chunks(file))
        simulation = _simulation(parameters, netlist, is_long=len(data) > _LONG and not vcd)
        units = symbols_from(iter([data]), symbol_width(simulation.core))
        if mismatch := _compared(simulation, units, vcd, on_item=shown.take, on_unit=done, **pauses):
            raise CommandError(str(mismatch), status=1)
    if not as_json and not is_standard_output(output):
        verdict = coloured(f"the simulated {parameters.core} gave exactly the model's {shown.noun}s", "green")
        print("\n".join([*shown.lines(digits), verdict]))


def _simulation(parameters: CoreParameters, netlist: str | None, *, is_long: bool) -> Simulation:
    """The core in the engine that needs less time, including that to begin."""
    if is_long and not HAS_GRAPH:
        say("utf8fpga: Numba makes long simulations twenty times faster: pip install 'utf8fpga[fast]'")
    engine = "graph" if netlist or (is_long and HAS_GRAPH) else "python"
    return Simulation(build(parameters), engine=engine, netlist=netlist)


def _compared(simulation: Simulation, units: Iterable[int], vcd: str | None, **how: Any) -> Mismatch | None:
    """The first difference; the waveform is also written if there is one."""
    if vcd is None:
        return compare(simulation, units, **how)
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder, writing(vcd) as target:
        waveform = Path(folder, "waveform.vcd")
        mismatch = compare(simulation, units, vcd=waveform, **how)
        with waveform.open("rb") as source:
            shutil.copyfileobj(source, target)
    return mismatch


class _Shown:
    """What is printed and written of the output symbols.

    Args:
        out: a file for the symbols as bytes.
        as_json: print the symbols as JSON lines.
    """

    def __init__(self, parameters: CoreParameters, out: BinaryIO | None, as_json: bool) -> None:
        self._core, self._out, self._as_json = entry_of(parameters), out, as_json
        self._width = symbol_width(build(parameters))
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
            print(json_line(symbol) if isinstance(symbol, Item) else _symbol_json(symbol), end="")

    def lines(self, digits: str | None) -> list[str]:
        """The counts as lines, and for bytes in hexadecimal the symbols before them as a table."""
        table = [] if digits is None else self._table(from_hex(digits))
        if self._symbols:
            return [*table, f"{counted(self._tally.units, 'symbol')} in, {counted(self._symbols, 'symbol')} out"]
        return [*table, *self._tally.lines()]

    def _table(self, data: bytes) -> list[str]:
        units = list(symbols_from(iter([data]), self._width))
        if not self._symbols:
            return item_table(self._first, units, self._width)
        rows, offset = [], 0
        for symbol in self._first:
            inputs = " ".join(map(self._core.input_label, units[offset : offset + symbol.length]))
            rows.append([str(offset), inputs, self._core.label(symbol)])
            offset += symbol.length
        return columns(rows, ["offset", f"{self._core.input_noun}s", "output"])


_MOST_ROWS = 1000
"""The most rows of a table; a command line can have no more bytes than some times this."""


def _symbol_json(symbol: Any) -> str:
    """A symbol that is no item as one line of JSON."""
    fields = symbol._asdict()
    if hasattr(value := fields.get("value"), "as_dict"):
        fields["value"] = value.as_dict()
    return f"{json.dumps(fields)}\n"
