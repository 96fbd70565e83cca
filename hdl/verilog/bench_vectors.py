# SPDX-License-Identifier: BSD-2-Clause
"""Packets for the input ports of any core, and what its output ports must have for them, for test benches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import entry_of
from utf8fpga.hdl.parameters import ValidatorParameters
from utf8fpga.model import TABLE_3_7
from utf8fpga.model.validator import GoldenValidator
from utf8fpga.model.vectors import boundary_texts, entries, memory_file, vectors


class PortPacket(NamedTuple):
    """What the output ports of a core have for a packet.

    Attributes:
        symbols: for each symbol its bits of ``tdata`` without the error flag, above them with a remover those of
            ``tuser``; and its error flag. None of a tap.
        report: of a tap the fields of the report, the first one in the low bits; None of another core.
    """

    symbols: list[tuple[int, bool]]
    report: int | None


def report_fields(core: Core) -> Any:
    """The layout of the reports of a tap, whose fields are ports of it; None of another core."""
    return core.tap.report.shape() if hasattr(core, "tap") else None


def expected_at_ports(core: Core, units: Sequence[int]) -> PortPacket:
    """What the golden function of a core has for a packet.

    Args:
        units: the input symbols, as numbers of the bits of ``s_axis_tdata`` and, above them, of ``s_axis_tuser``.
    """
    parameters, report = core.parameters, None
    entry = entry_of(parameters)
    if isinstance(parameters, ValidatorParameters):
        (golden,) = GoldenValidator(parameters.table).process(units, final=True)
        values = {name: int(value or 0) for name, value in golden.value._asdict().items()}
        values["kind"] = values["error"]  # In hardware, an error is a flag.
        layout = report_fields(core)
        report = sum(values[str(name)] << field.offset for name, field in layout)
    symbols = [] if hasattr(core, "tap") else entry.golden().process(units, final=True)
    found = []
    for symbol in symbols:
        value = symbol.code_point if hasattr(symbol, "code_point") else symbol.value
        value = value if entry.target is None else entry.target.swapped(value)
        found.append((value, bool(getattr(symbol, "error", None))))
    return PortPacket(found, report)


def bench_vectors(core: Core) -> str:
    """The vectors for the test bench of a core, see `memory_file`."""
    texts = []
    for name, units in _texts(core):
        symbols, report = expected_at_ports(core, units)
        outputs = entries(symbols) if report is None else [(0xD, report)]
        texts.append((name, units, outputs))
    return memory_file(texts, data_bits(core) // 4)


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
