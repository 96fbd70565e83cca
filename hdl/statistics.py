# SPDX-License-Identifier: BSD-2-Clause
"""Counters of what a core outputs, as registers on a bus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Register(NamedTuple):
    """A register of 32 bits.

    Attributes:
        access: ``read`` or ``read, write``.
    """

    name: str
    access: str
    meaning: str


REGISTERS = (
    Register("PACKETS", "read", "packets that have ended"),
    Register("ILL_FORMED", "read", "packets that have ended and had a symbol with the error flag"),
    Register("SYMBOLS", "read", "symbols"),
    Register("ERRORS", "read", "symbols with the error flag"),
    Register("STATUS", "read, write", "bit 0: there was a symbol with the error flag; writing 1 to it clears it"),
    Register("CONTROL", "read, write", "bit 0: enable of irq; writing 1 to bit 1, which is read as 0, clears counters"),
)
"""The registers, each 4 bytes after the one before it."""

_STATUS, _CONTROL = 4, 5

BUSES: Mapping[str, Mapping[str, wiring.Member]] = MappingProxyType(
    {
        "wishbone": {
            "wb_cyc": In(1),
            "wb_stb": In(1),
            "wb_we": In(1),
            "wb_adr": In(3),
            "wb_sel": In(4),
            "wb_dat_w": In(32),
            "wb_dat_r": Out(32),
            "wb_ack": Out(1),
        },
        "axi-lite": {
            "s_axil_awaddr": In(5),
            "s_axil_awvalid": In(1),
            "s_axil_awready": Out(1),
            "s_axil_wdata": In(32),
            "s_axil_wstrb": In(4),
            "s_axil_wvalid": In(1),
            "s_axil_wready": Out(1),
            "s_axil_bresp": Out(2),
            "s_axil_bvalid": Out(1),
            "s_axil_bready": In(1),
            "s_axil_araddr": In(5),
            "s_axil_arvalid": In(1),
            "s_axil_arready": Out(1),
            "s_axil_rdata": Out(32),
            "s_axil_rresp": Out(2),
            "s_axil_rvalid": Out(1),
            "s_axil_rready": In(1),
        },
    }
)
"""The ports of each bus, which is Wishbone B4 in classic cycles, or AXI4-Lite."""


def statistics_ports(bus: str) -> dict[str, wiring.Member]:
    """The ports of `Statistics` that are ports of the Verilog."""
    return {**BUSES[bus], "irq": Out(1)}


class Statistics(wiring.Component):
    """Counters of output symbols, as registers of 32 bits on a bus, and an interrupt.

    Counters wrap around. They include a beat *latency* cycles after its transfer; the interrupt likewise. One read and
    one write at a time is in progress, each of which takes two cycles at least. Only the low byte of a register can be
    written, if its byte enable is set. Other addresses are read as 0.

    Args:
        bus: one of `BUSES`.

    Ports: those of the bus, and
        keep, error: for each lane, whether a symbol is present, and its error flag, which is 0 if none is.
        last: the beat ends its packet.
        leaves: the beat is transferred in this cycle.
        irq: bit 0 of STATUS is set, and bit 0 of CONTROL.
    """

    def __init__(self, bus: str, lanes: int) -> None:
        self._bus = bus
        self.latency = 3 + (lanes - 1).bit_length()
        beat = {"keep": In(lanes), "error": In(lanes), "last": In(1), "leaves": In(1)}
        super().__init__({**statistics_ports(bus), **beat})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        access = _Access()
        (self._wishbone if self._bus == "wishbone" else self._axi_lite)(m, access)
        amounts = self._amounts(m)
        counters = [Signal(32, name=each.name.lower()) for each in REGISTERS[: len(amounts)]]
        status = Signal()
        enable = Signal()
        clear = Signal()
        m.d.comb += self.irq.eq(status & enable)
        with m.Switch(access.read_address):
            for number, value in enumerate([*counters, status, enable]):
                with m.Case(number):
                    m.d.comb += access.value.eq(value)

        m.d.sync += [
            *(counter.eq(counter + amount) for counter, amount in zip(counters, amounts, strict=True)),
            clear.eq(access.write & (access.write_address == _CONTROL) & access.data[1]),
        ]
        with m.If(clear):
            m.d.sync += [counter.eq(0) for counter in counters]
        with m.If(access.write & (access.write_address == _CONTROL)):
            m.d.sync += enable.eq(access.data[0])
        # A symbol that is counted in the cycle of the write is not lost.
        with m.If(amounts[-1].any()):
            m.d.sync += status.eq(1)
        with m.Elif(access.write & (access.write_address == _STATUS) & access.data[0]):
            m.d.sync += status.eq(0)
        return m

    def _amounts(self, m: Module) -> list[Signal]:
        """For each counter a register with what it increases by."""
        lanes = len(self.keep)
        # Registers near the output; what was not transferred is masked behind them.
        keep, error, last, left = (
            Signal(len(port), name=f"output_{name}")
            for name, port in (("keep", self.keep), ("error", self.error), ("last", self.last), ("leaves", self.leaves))
        )
        m.d.sync += [keep.eq(self.keep), error.eq(self.error), last.eq(self.last), left.eq(self.leaves)]
        kept = _number(m, "kept", [bit & left for bit in keep])
        wrong = _number(m, "wrong", [bit & left for bit in error])
        ends: Value = last & left
        for step in range((lanes - 1).bit_length()):
            register = Signal(name=f"ends_{step + 1}")
            m.d.sync += register.eq(ends)
            ends = register
        failed = Signal()
        fails = failed | wrong.any()
        amounts = {"packets": ends, "ill_formed": fails & ends, "symbols": kept, "errors": wrong}
        new = {name: Signal(len(value), name=f"new_{name}") for name, value in amounts.items()}
        m.d.sync += [failed.eq(fails & ~ends), *(new[name].eq(value) for name, value in amounts.items())]
        return list(new.values())

    def _wishbone(self, m: Module, access: _Access) -> None:
        begins = self.wb_cyc & self.wb_stb & ~self.wb_ack
        m.d.comb += [
            access.write.eq(begins & self.wb_we & self.wb_sel[0]),
            access.write_address.eq(self.wb_adr),
            access.read_address.eq(self.wb_adr),
            access.data.eq(self.wb_dat_w),
        ]
        m.d.sync += [self.wb_ack.eq(begins), self.wb_dat_r.eq(access.value)]

    def _axi_lite(self, m: Module, access: _Access) -> None:
        # Address and data of a write are accepted in the same cycle, when both wait and the response is free.
        accepts = Signal()
        both = self.s_axil_awvalid & self.s_axil_wvalid
        m.d.comb += [
            self.s_axil_awready.eq(accepts),
            self.s_axil_wready.eq(accepts),
            self.s_axil_arready.eq(~self.s_axil_rvalid),
            access.write.eq(accepts & self.s_axil_wstrb[0]),
            access.write_address.eq(self.s_axil_awaddr[2:]),
            access.read_address.eq(self.s_axil_araddr[2:]),
            access.data.eq(self.s_axil_wdata),
        ]
        m.d.sync += [
            accepts.eq(both & ~accepts & ~self.s_axil_bvalid),
            self.s_axil_bvalid.eq(accepts | (self.s_axil_bvalid & ~self.s_axil_bready)),
        ]
        with m.If(~self.s_axil_rvalid):
            m.d.sync += [self.s_axil_rvalid.eq(self.s_axil_arvalid), self.s_axil_rdata.eq(access.value)]
        with m.Elif(self.s_axil_rready):
            m.d.sync += self.s_axil_rvalid.eq(0)


class _Access:
    """An access to the registers: the address of each is its number."""

    def __init__(self) -> None:
        self.write = Signal()
        self.write_address = Signal(3)
        self.read_address = Signal(3)
        self.data = Signal(2)
        self.value = Signal(32)


def _number(m: Module, name: str, bits: Sequence[Value]) -> Value:
    """The number of ones, by a tree of adders with registers behind each."""
    parts, step = list(bits), 0
    while len(parts) > 1:
        step += 1
        sums: list[Value] = [
            Signal(step + 1, name=f"{name}_{step}_{number}") for number in range((len(parts) + 1) // 2)
        ]
        m.d.sync += [each.eq(sum(parts[2 * number : 2 * number + 2])) for number, each in enumerate(sums)]
        parts = sums
    return parts[0]
