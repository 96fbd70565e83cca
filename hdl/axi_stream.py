# SPDX-License-Identifier: BSD-2-Clause
"""A core behind AXI4-Stream ports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, DomainRenamer, Module, ResetSignal, Shape, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from utf8fpga.hdl.beats import lanes_of, symbol_shape
from utf8fpga.hdl.core import Core


@dataclass(frozen=True)
class SymbolPorts:
    """The assignment of a symbol to the ports of an AXI4-Stream interface.

    Attributes:
        bits: the bits of its data, which are the low ones: all of a symbol that is not a structure, or its first field.
        size: the number of bytes of ``tdata`` for the data, a power of two; unused upper bits are 0.
        users: the other fields, its part of ``tuser``, the first in the low bits, with their widths.
    """

    bits: int
    size: int
    users: tuple[tuple[str, int], ...]

    @staticmethod
    def of(stream: Any) -> SymbolPorts:
        """The assignment for the symbols of a stream of `beat_layout`."""
        symbol = symbol_shape(stream)
        fields = [("", Shape.cast(symbol).width)]
        if isinstance(symbol, data.StructLayout):
            fields = [(str(name), field.width) for name, field in symbol]
        (_, bits), *users = fields
        return SymbolPorts(bits, 1 << (-(-bits // 8) - 1).bit_length(), tuple(users))

    @property
    def user_bits(self) -> int:
        """The width of a symbol's part of ``tuser``; 0 if there is none."""
        return sum(width for _, width in self.users)


def reset_name(reset_low: bool) -> str:
    """The name of the reset port."""
    return "rst_n" if reset_low else "rst"


def axi_signature(core: Core, *, reset_low: bool = False) -> wiring.Signature:
    """The ports of a core in Verilog, with widths that follow from its symbols and lanes.

    Args:
        reset_low: the reset port is ``rst_n``, active low.
    """
    ports = {"clk": In(1), reset_name(reset_low): In(1)}
    if tap := getattr(core, "tap", None):
        report = {f"report_{name}": Out(field.width) for name, field in tap.report.shape()}
        return wiring.Signature(ports | _stream_ports("s_axis", tap, In, In) | report | {"report_tvalid": Out(1)})
    ports |= _stream_ports("s_axis", core.input, In, Out) | _stream_ports("m_axis", core.output, Out, In)
    return wiring.Signature(ports)


def _stream_ports(
    name: str, stream: Any, flow: Callable[[int], Member], back: Callable[[int], Member]
) -> dict[str, Member]:
    """The ports of a stream of `beat_layout`: the flow of all ports but ``tready``, and that of this."""
    symbol, lanes = SymbolPorts.of(stream), lanes_of(stream)
    widths = {"tdata": 8 * symbol.size * lanes, "tkeep": symbol.size * lanes, "tuser": symbol.user_bits * lanes}
    widths = {port: width for port, width in widths.items() if width} | {"tlast": 1, "tvalid": 1}
    return {**{f"{name}_{port}": flow(width) for port, width in widths.items()}, f"{name}_tready": back(1)}


class AxiStreamCore(wiring.Component):
    """A core behind AXI4-Stream names.

    A tap, such as a validator, only watches its stream.

    A symbol occupies the low bits of its bytes in ``tdata``; ``tkeep`` has one bit per byte, ``tuser`` the other fields
    of each symbol, if it has any: ``error`` and ``kind``, or ``user``. An input symbol
    is present if all bits of its bytes in ``s_axis_tkeep`` are set.

    Throughput: that of the core.

    Args:
        reset_low: see `axi_signature`.

    Ports: those of `axi_signature`.
    """

    def __init__(self, core: Core, *, reset_low: bool = False) -> None:
        self.core, self.reset_low = core, reset_low
        super().__init__(axi_signature(core, reset_low=reset_low))

    def elaborate(self, platform: object) -> Module:
        m, core, tap = Module(), self.core, getattr(self.core, "tap", None)
        # A local domain cannot conflict with the domains of the surrounding design. In Amaranth 0.6 each one is local.
        m.domains += (domain := ClockDomain("axi"))
        domain.local = True
        m.submodules.core = DomainRenamer("axi")(tap or core)
        reset = ~self.rst_n if self.reset_low else self.rst
        m.d.comb += [ClockSignal("axi").eq(self.clk), ResetSignal("axi").eq(reset)]
        if tap:
            self._connect_tap(m, tap)
        else:
            self._connect_streams(m, core.input, core.output)
        return m

    def _connect_tap(self, m: Module, tap: Any) -> None:
        m.d.comb += [
            Value.cast(tap.payload.symbols).eq(self.s_axis_tdata),
            tap.payload.keep.eq(self.s_axis_tkeep),
            tap.payload.last.eq(self.s_axis_tlast),
            tap.valid.eq(self.s_axis_tvalid),
            tap.ready.eq(self.s_axis_tready),
            *(getattr(self, f"report_{name}").eq(Value.cast(tap.report[name])) for name, _ in tap.report.shape()),
            self.report_tvalid.eq(tap.report_valid),
        ]

    def _connect_streams(self, m: Module, source: Any, output: Any) -> None:
        given, made = SymbolPorts.of(source), SymbolPorts.of(output)
        for lane, symbol in enumerate(source.payload.symbols):
            m.d.comb += Value.cast(symbol)[: given.bits].eq(self.s_axis_tdata.word_select(lane, 8 * given.size))
            if given.users:
                m.d.comb += Value.cast(symbol)[given.bits :].eq(self.s_axis_tuser.word_select(lane, given.user_bits))
        present = (self.s_axis_tkeep.word_select(lane, given.size).all() for lane in range(lanes_of(source)))
        symbols = [Value.cast(symbol) for symbol in output.payload.symbols]
        m.d.comb += [
            source.payload.keep.eq(Cat(present)),
            source.payload.last.eq(self.s_axis_tlast),
            source.valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(source.ready),
            self.m_axis_tdata.eq(Cat((symbol[: made.bits], Const(0, 8 * made.size - made.bits)) for symbol in symbols)),
            self.m_axis_tkeep.eq(Cat(bit.replicate(made.size) for bit in output.payload.keep)),
            self.m_axis_tlast.eq(output.payload.last),
            self.m_axis_tvalid.eq(output.valid),
            output.ready.eq(self.m_axis_tready),
        ]
        if made.users:
            m.d.comb += self.m_axis_tuser.eq(Cat(symbol[made.bits :] for symbol in symbols))
