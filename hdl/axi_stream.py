# SPDX-License-Identifier: BSD-2-Clause
"""A core behind AXI4-Stream ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, DomainRenamer, Module, ResetSignal, Shape, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import lanes_of, symbol_shape
from utf8fpga.hdl.core import Core
from utf8fpga.model import InvalidArgumentError

_USER_FIELDS = ("error", "kind", "user")


@dataclass(frozen=True)
class SymbolPorts:
    """The assignment of a symbol to the ports of an AXI4-Stream interface.

    Attributes:
        field: the field of the symbol with its data; None if the symbol is not a structure.
        size: the number of bytes of ``tdata`` for the data, a power of two; unused upper bits are 0.
        users: the fields of the symbol that are its part of ``tuser``, the first in the low bits, with their widths.
    """

    field: str | None
    bits: int
    size: int
    users: tuple[tuple[str, int], ...]

    @staticmethod
    def of(stream: Any) -> SymbolPorts:
        """The assignment for the symbols of a stream of `beat_layout`.

        Raises:
            InvalidArgumentError: a symbol has fields other than its data and those of a decoder's item or a remover's
                symbol.
        """
        symbol = symbol_shape(stream)
        fields: list[tuple[str | None, Any]] = [(None, symbol)]
        if isinstance(symbol, data.StructLayout):
            fields = [(str(name), field.shape) for name, field in symbol]
        (name, first), *others = fields
        users = {str(other): Shape.cast(shape).width for other, shape in others}
        if extra := [other for other in users if other not in _USER_FIELDS]:
            raise InvalidArgumentError(
                f"AXI4-Stream ports have data and user bits for each symbol, but none for {' and '.join(extra)}"
            )
        bits, size = Shape.cast(first).width, 1
        while 8 * size < bits:
            size *= 2
        return SymbolPorts(name, bits, size, tuple(users.items()))

    @property
    def user_bits(self) -> int:
        """The width of a symbol's part of ``tuser``; 0 if there is none."""
        return sum(width for _, width in self.users)

    def data_of(self, symbol: Any) -> Value:
        """The data of a symbol, extended to its width in ``tdata``."""
        value = Value.cast(symbol if self.field is None else symbol[self.field])
        return Cat(value, Const(0, 8 * self.size - self.bits))

    def user_of(self, symbol: Any) -> Value:
        """The part of ``tuser`` of a symbol."""
        fields = [Value.cast(symbol[name]) for name, _ in self.users]
        return fields[0] if len(fields) == 1 else Cat(*fields)

    def take(self, symbol: Any, tdata: Value, tuser: Value) -> list[Any]:
        """The assignments to a symbol from its bits of ``tdata`` and ``tuser``."""
        if not self.users:
            return [(Value.cast(symbol) if self.field is None else symbol[self.field]).eq(tdata)]
        [(user, _)] = self.users
        return [symbol[self.field].eq(tdata), symbol[user].eq(tuser)]


def reset_name(reset_low: bool) -> str:
    """The name of the reset port."""
    return "rst_n" if reset_low else "rst"


def axi_signature(core: Core, *, reset_low: bool = False) -> wiring.Signature:
    """The ports of a core in Verilog, with widths that follow from its symbols and lanes.

    Args:
        reset_low: the reset port is ``rst_n``, active low.

    Raises:
        InvalidArgumentError: the symbols have fields for which AXI4-Stream has no ports, see `SymbolPorts.of`.
    """
    if hasattr(core, "tap"):
        return _tap_signature(core.tap, reset_low)
    given, made = SymbolPorts.of(core.input), SymbolPorts.of(core.output)
    lanes, outputs = lanes_of(core.input), lanes_of(core.output)
    ports = {
        "clk": In(1),
        reset_name(reset_low): In(1),
        "s_axis_tdata": In(8 * given.size * lanes),
        "s_axis_tkeep": In(given.size * lanes),
        "s_axis_tuser": In(given.user_bits * lanes),
        "s_axis_tlast": In(1),
        "s_axis_tvalid": In(1),
        "s_axis_tready": Out(1),
        "m_axis_tdata": Out(8 * made.size * outputs),
        "m_axis_tkeep": Out(made.size * outputs),
        "m_axis_tuser": Out(made.user_bits * outputs),
        "m_axis_tlast": Out(1),
        "m_axis_tvalid": Out(1),
        "m_axis_tready": In(1),
    }
    ports = {name: member for name, member in ports.items() if member.shape}
    return wiring.Signature(ports)


def _report_ports(report: Any) -> dict[str, Any]:
    """A port for each field of a report."""
    return {f"report_{name}": Out(field.width) for name, field in report.shape()}


def _tap_signature(tap: Any, reset_low: bool) -> wiring.Signature:
    """The ports of a tap."""
    layout = tap.payload.shape()
    lanes, given = len(tap.payload.keep), Shape.cast(layout["symbols"].shape.elem_shape).width
    return wiring.Signature(
        {
            "clk": In(1),
            reset_name(reset_low): In(1),
            "s_axis_tdata": In(given * lanes),
            "s_axis_tkeep": In(lanes),
            "s_axis_tlast": In(1),
            "s_axis_tvalid": In(1),
            "s_axis_tready": In(1),
            **_report_ports(tap.report),
            "report_tvalid": Out(1),
        }
    )


def axi_component(core: Core, *, reset_low: bool = False) -> AxiStreamCore | AxiStreamTap:
    """A core behind AXI4-Stream names; of a core with the attribute `tap` only the tap."""
    if hasattr(core, "tap"):
        return AxiStreamTap(core.tap, reset_low=reset_low)
    return AxiStreamCore(core, reset_low=reset_low)


class AxiStreamTap(wiring.Component):
    """A component that watches a stream of code units, behind AXI4-Stream names. All ports of the stream are inputs.

    Args:
        tap: the component, with ports `payload`, `valid`, `ready`, `report` and `report_valid`.
        reset_low: see `axi_signature`.

    Ports: those of `axi_signature` for a core with this tap.
    """

    def __init__(self, tap: Any, *, reset_low: bool = False) -> None:
        self.tap, self.reset_low = tap, reset_low
        super().__init__(_tap_signature(tap, reset_low))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A local domain, which cannot conflict with the domains of the surrounding design.
        m.domains += ClockDomain("axi", local=True)
        tap = self.tap
        m.submodules.core = DomainRenamer("axi")(tap)
        m.d.comb += [
            ClockSignal("axi").eq(self.clk),
            ResetSignal("axi").eq(~self.rst_n if self.reset_low else self.rst),
            Value.cast(tap.payload.symbols).eq(self.s_axis_tdata),
            tap.payload.keep.eq(self.s_axis_tkeep),
            tap.payload.last.eq(self.s_axis_tlast),
            tap.valid.eq(self.s_axis_tvalid),
            tap.ready.eq(self.s_axis_tready),
            *_report_assignments(self, tap.report),
            self.report_tvalid.eq(tap.report_valid),
        ]
        return m


class AxiStreamCore(wiring.Component):
    """A core behind AXI4-Stream names.

    A symbol occupies the low bits of its bytes in ``tdata``; ``tkeep`` has one bit per byte, ``tuser`` the other fields
    of each symbol, if it has any: ``error`` and ``kind``, or ``user``. An input symbol
    is present if all bits of its bytes in ``s_axis_tkeep`` are set.

    Throughput: that of the core.

    Args:
        reset_low: see `axi_signature`.

    Raises:
        InvalidArgumentError: see `axi_signature`.

    Ports: those of `axi_signature`.
    """

    def __init__(self, core: Core, *, reset_low: bool = False) -> None:
        self.core, self.reset_low = core, reset_low
        super().__init__(axi_signature(core, reset_low=reset_low))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A local domain, which cannot conflict with the domains of the surrounding design.
        m.domains += ClockDomain("axi", local=True)
        core = self.core
        m.submodules.core = DomainRenamer("axi")(core)
        source, output = core.input, core.output
        given, made = SymbolPorts.of(source), SymbolPorts.of(output)
        lanes, keep = range(lanes_of(source)), Value.cast(output.payload.keep)
        symbols = [output.payload.symbols[lane] for lane in range(lanes_of(output))]
        m.d.comb += [
            ClockSignal("axi").eq(self.clk),
            ResetSignal("axi").eq(~self.rst_n if self.reset_low else self.rst),
            *(
                assignment
                for lane in lanes
                for assignment in given.take(
                    source.payload.symbols[lane],
                    self.s_axis_tdata.word_select(lane, 8 * given.size),
                    self.s_axis_tuser.word_select(lane, given.user_bits) if given.users else Const(0, 1),
                )
            ),
            source.payload.keep.eq(Cat(self.s_axis_tkeep.word_select(lane, given.size).all() for lane in lanes)),
            source.payload.last.eq(self.s_axis_tlast),
            source.valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(source.ready),
            self.m_axis_tdata.eq(Cat(made.data_of(symbol) for symbol in symbols)),
            self.m_axis_tkeep.eq(Cat(bit.replicate(made.size) for bit in keep)),
            self.m_axis_tlast.eq(output.payload.last),
            self.m_axis_tvalid.eq(output.valid),
            output.ready.eq(self.m_axis_tready),
        ]
        if made.users:
            m.d.comb += self.m_axis_tuser.eq(Cat(made.user_of(symbol) for symbol in symbols))
        return m


def _report_assignments(ports: Any, report: Any) -> list[Any]:
    return [getattr(ports, f"report_{name}").eq(Value.cast(report[name])) for name, _ in report.shape()]
