# SPDX-License-Identifier: BSD-2-Clause
"""A core behind AXI4-Stream ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, DomainRenamer, Module, ResetSignal, Shape, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.core import Core
from utf8fpga.model import InvalidArgumentError

__all__ = ["AxiStreamCore", "SymbolPorts", "axi_signature"]


@dataclass(frozen=True)
class SymbolPorts:
    """The assignment of a symbol to the ports of an AXI4-Stream interface.

    Attributes:
        field: the field of the symbol with its data; None if the symbol is not a structure.
        bits: the width of the data.
        size: the number of bytes of ``tdata`` for the data, a power of two; unused upper bits are 0.
        user: the field of the symbol that is its part of ``tuser``: `error` or `user`; None if it has neither.
        user_bits: the width of that field; 0 if there is none.
    """

    field: str | None
    bits: int
    size: int
    user: str | None
    user_bits: int

    @staticmethod
    def of(stream: Any) -> SymbolPorts:
        """The assignment for the symbols of a stream of `beat_layout`.

        Raises:
            InvalidArgumentError: a symbol has fields other than its data and one of `error` and `user`.
        """
        symbol = symbol_shape(stream)
        if not isinstance(symbol, data.StructLayout):
            return SymbolPorts._sized(None, symbol, {})
        (name, first), *others = symbol
        users = {str(other): field.width for other, field in others if other in ("error", "user")}
        extra = [str(other) for other, _ in others if other not in users]
        if extra:
            raise InvalidArgumentError(
                f"AXI4-Stream ports have data and an error flag for each symbol, but none for {' and '.join(extra)}"
            )
        return SymbolPorts._sized(str(name), first.shape, users)

    @staticmethod
    def _sized(field: str | None, shape: Any, users: Mapping[str, int]) -> SymbolPorts:
        bits = Shape.cast(shape).width
        size = 1
        while 8 * size < bits:
            size *= 2
        user, user_bits = next(iter(users.items()), (None, 0))
        return SymbolPorts(field, bits, size, user, user_bits)

    def data_of(self, symbol: Any) -> Value:
        """The data of a symbol, extended to its width in ``tdata``."""
        value = Value.cast(symbol if self.field is None else symbol[self.field])
        return Cat(value, Const(0, 8 * self.size - self.bits))

    def take(self, symbol: Any, tdata: Value, tuser: Value) -> list[Any]:
        """The assignments to a symbol from its bits of ``tdata`` and ``tuser``."""
        if self.user is None:
            return [(Value.cast(symbol) if self.field is None else symbol[self.field]).eq(tdata)]
        return [symbol[self.field].eq(tdata), symbol[self.user].eq(tuser)]


def axi_signature(core: Core) -> wiring.Signature:
    """The ports of a core in Verilog, with widths that follow from its symbols and lanes.

    Raises:
        InvalidArgumentError: a symbol has fields for which AXI4-Stream has no ports, see `SymbolPorts`.
    """
    lanes, given, made = core.lanes, SymbolPorts.of(core.input), SymbolPorts.of(core.output)
    ports = {
        "clk": In(1),
        "rst": In(1),
        "s_axis_tdata": In(8 * given.size * lanes),
        "s_axis_tkeep": In(given.size * lanes),
        "s_axis_tuser": In(given.user_bits * lanes),
        "s_axis_tlast": In(1),
        "s_axis_tvalid": In(1),
        "s_axis_tready": Out(1),
        "m_axis_tdata": Out(8 * made.size * lanes),
        "m_axis_tkeep": Out(made.size * lanes),
        "m_axis_tuser": Out(made.user_bits * lanes),
        "m_axis_tlast": Out(1),
        "m_axis_tvalid": Out(1),
        "m_axis_tready": In(1),
    }
    for name, has_user in (("s_axis_tuser", given.user), ("m_axis_tuser", made.user)):
        if not has_user:
            del ports[name]
    return wiring.Signature(ports)


class AxiStreamCore(wiring.Component):
    """A core behind AXI4-Stream names.

    A symbol occupies the low bits of its bytes in ``tdata``; ``tkeep`` has one bit per byte, ``tuser`` the field
    `error` or `user` of each symbol, if it has one. An input symbol is present if all bits of its bytes in
    ``s_axis_tkeep`` are set.

    Latency and throughput: those of the core.

    Args:
        core: the core.

    Raises:
        InvalidArgumentError: see `axi_signature`.

    Ports: those of `axi_signature`.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        super().__init__(axi_signature(core))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A local domain, which cannot conflict with the domains of the surrounding design.
        m.domains += ClockDomain("axi", local=True)
        core = self._core
        m.submodules.core = DomainRenamer("axi")(core)
        source, output = core.input, core.output
        given, made = SymbolPorts.of(source), SymbolPorts.of(output)
        lanes, keep = range(core.lanes), Value.cast(output.payload.keep)
        symbols = [output.payload.symbols[lane] for lane in lanes]
        m.d.comb += [
            ClockSignal("axi").eq(self.clk),
            ResetSignal("axi").eq(self.rst),
            *(
                assignment
                for lane in lanes
                for assignment in given.take(
                    source.payload.symbols[lane],
                    self.s_axis_tdata.word_select(lane, 8 * given.size),
                    self.s_axis_tuser.word_select(lane, given.user_bits) if given.user else Const(0, 1),
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
        if made.user:
            m.d.comb += self.m_axis_tuser.eq(Cat(symbol[made.user] for symbol in symbols))
        return m
