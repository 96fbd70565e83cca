# SPDX-License-Identifier: BSD-2-Clause
"""And-inverter graphs: arbitrary contents of registers, and their initial values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Elaboratable, Module, Mux, Signal
from amaranth.lib import memory

from utf8fpga.formal.abc import hold_each, hunt
from utf8fpga.formal.aiger import Aig, aig_of


class Registers(Elaboratable):
    """A counter that a reset clears, a register that it does not, and a memory.

    Args:
        kept: the initial value of the register that a reset does not clear.
    """

    def __init__(self, kept: int) -> None:
        self.clk, self.rst = Signal(name="clk"), Signal(name="rst")
        self.wrong = Signal(3, name="wrong")
        self.kept = kept

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain("sync")
        m.d.comb += [domain.clk.eq(self.clk), domain.rst.eq(self.rst)]
        m.submodules.dut = dut = Module()
        count, kept = Signal(4, init=9, name="count"), Signal(4, init=self.kept, name="kept", reset_less=True)
        dut.submodules.rows = rows = memory.Memory(shape=4, depth=2, init=[3, 12])
        port = rows.read_port(domain="comb")
        dut.d.sync += [count.eq(Mux(count == 9, 0, 9)), kept.eq(kept | 2)]
        write = rows.write_port()
        m.d.comb += [port.addr.eq(1), write.addr.eq(0), write.data.eq(count), write.en.eq(1)]
        m.d.comb += self.wrong.eq((count != 9) | ((kept != self.kept) << 1) | ((port.data != 12) << 2))
        return m


def graph(kept: int = 5) -> Aig:
    design = Registers(kept)
    text = rtlil.convert(design, name="top", ports=[design.clk, design.rst, design.wrong], emit_src=False)
    return aig_of(str(text), free=True)


def test_free_registers_take_any_value_in_the_first_cycle() -> None:
    aig = graph()
    assert [hunt(aig, bit, 1).proved for bit in aig.output_bits["wrong"]] == [False, False, False]


def test_given_their_initial_values_they_have_these() -> None:
    aig = graph()
    given = aig.given(aig.initial)
    assert [hold_each(given, {bit: 1})[0].proved for bit in aig.output_bits["wrong"]] == [True, True, True]
    # One initial value less, and the register that it belongs to takes any value.
    assert any(
        hold_each(aig.given(aig.initial[1:]), {bit: 1})[0].proved is not True for bit in aig.output_bits["wrong"]
    )


@pytest.mark.parametrize(("kept", "possible"), [(5, False), (6, True)])
def test_whether_a_cycle_leads_to_the_initial_values(kept: int, possible: bool) -> None:
    """In each cycle bit 1 of the register that is not cleared is set, so 6 is a value that it takes and 5 is not."""
    aig = graph(kept)
    reached = hunt(replace(aig, outputs=[1]).given(aig.becomes_initial), 0, 1).proved is False
    assert reached == possible
