# SPDX-License-Identifier: BSD-2-Clause
"""Packets for the input ports of any core, and what its output ports must have for them, for test benches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import entry_of
from utf8fpga.model import TABLE_3_7
from utf8fpga.model.vectors import boundary_texts, entries, memory_file, vectors


def report_fields(core: Core) -> Any:
    """The layout of the reports of a tap, whose fields are ports of it; None of another core."""
    return core.tap.report.shape() if hasattr(core, "tap") else None


def bench_vectors(core: Core) -> str:
    """The vectors for the test bench of a core, see `memory_file`."""
    outputs = _symbols if report_fields(core) is None else _report
    return memory_file([(name, units, outputs(core, units)) for name, units in _texts(core)], data_bits(core) // 4)


def _symbols(core: Core, units: Sequence[int]) -> list[tuple[int, int]]:
    """The tags and data of the output for a packet, which with a remover has the bits of ``tuser`` above the data."""
    entry = entry_of(core.parameters)
    found = []
    for symbol in entry.golden().process(units, final=True):
        value = symbol.code_point if hasattr(symbol, "code_point") else symbol.value
        value = value if entry.target is None else entry.target.swapped(value)
        found.append((value, bool(getattr(symbol, "error", None))))
    return entries(found)


def _report(core: Core, units: Sequence[int]) -> list[tuple[int, int]]:
    """The tag and the data of the report of a tap on a packet: its fields, the first one in the low bits."""
    [golden] = entry_of(core.parameters).golden().process(units, final=True)
    values = {name: int(value or 0) for name, value in golden.value._asdict().items()}
    values["kind"] = values["error"]  # In hardware, an error is a flag.
    return [(0xD, sum(values[str(name)] << field.offset for name, field in report_fields(core)))]


def data_bits(core: Core) -> int:
    """The bits of the data in the vectors for a core, at least 32 and a multiple of 4."""
    report, given = report_fields(core), SymbolPorts.of(core.input)
    return -(-max(32, given.bits + given.user_bits, 0 if report is None else report.size) // 4) * 4


def _texts(core: Core) -> Iterator[tuple[str, Sequence[int]]]:
    """The texts by name."""
    entry, given = entry_of(core.parameters), SymbolPorts.of(core.input)
    table = entry.input_table if entry.source is None else entry.source.table
    if table is None:
        yield from _any_symbols(lanes_of(core.input), given.bits + given.user_bits)
        return
    if table is TABLE_3_7:
        yield from ((each.name, each.units) for each in vectors())
        return
    swapped = entry.source.swapped if entry.source else int
    texts = [(name, [swapped(unit) for unit in units]) for name, units in boundary_texts(table)]
    yield from (("empty", []), *texts, ("all", [unit for _, units in texts for unit in units]))


def _any_symbols(lanes: int, bits: int) -> Iterator[tuple[str, Sequence[int]]]:
    """Packets of arbitrary symbols, the first without one."""
    random = Random(0)
    for number in range(40):
        count = random.randrange(4 * lanes) if number else 0
        yield f"packet_{number}", [random.getrandbits(bits) for _ in range(count)]
