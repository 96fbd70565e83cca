# SPDX-License-Identifier: BSD-2-Clause
"""Inductions, and the graphs that they ask about."""

from __future__ import annotations

import pytest
from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import memory

from utf8fpga.formal.abc import hunt, resets_to_power_up
from utf8fpga.formal.gates import any_start, graph_of
from utf8fpga.formal.induction import unproved
from utf8fpga.sim.harness import Top


class Counter(Top):
    """A counter to 9 in ``dut``, claimed to be the same as another one, and that it is at most 9.

    Args:
        init: the initial value of the counter, and after a reset.
        reset_less: a reset does not change it.
        most: what is claimed of the other one.
        contrary: the counter is claimed to be its own inverse instead.
    """

    def __init__(self, init: int = 0, *, reset_less: bool = False, most: int = 9, contrary: bool = False) -> None:
        super().__init__()
        self.reset = Signal(name="reset")
        self.registers, self.values, self.conditions = (
            Signal(4, name=name) for name in ("registers", "values", "conditions")
        )
        self.claims = Signal(1, name="claims")
        self._init, self._reset_less, self._most, self._contrary = init, reset_less, most, contrary

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.clocked(m, self.reset)
        m.submodules.dut = dut = Module()
        count, other = Signal(4, init=self._init, reset_less=self._reset_less), Signal(4)
        dut.d.sync += count.eq(Mux(count == 9, 0, count + 1))
        m.d.sync += other.eq(Mux(other == 9, 0, other + 1))
        m.d.comb += [
            self.registers.eq(count),
            self.values.eq(~count if self._contrary else other),
            self.conditions.eq(~Const(0, 4)),
            self.claims.eq(other <= self._most),
        ]
        return m


BITS = [f"count[{bit}]" for bit in range(4)]


def test_what_holds_is_proved() -> None:
    assert unproved(graph_of(Counter()), ["most"], BITS) == []


@pytest.mark.parametrize(
    ("counter", "failed"),
    [
        # A step may be a cycle with a reset.
        (Counter(1), ["step: count[0]", "reset: count[0]", "power-up: count[0]"]),
        (Counter(reset_less=True), [f"{kind}: {bit}" for kind in ("step", "reset") for bit in BITS]),
        (Counter(most=8), ["step: most"]),
        # From 10 on it is not inductive: nothing excludes 15.
        (Counter(most=10), ["step: most"]),
        (Counter(contrary=True), [f"{kind}: {bit}" for kind in ("step", "reset", "power-up") for bit in BITS]),
    ],
)
def test_what_does_not_follow_is_named(counter: Counter, failed: list[str]) -> None:
    assert unproved(graph_of(counter), ["most"], BITS) == failed


class Registers(Top):
    """Registers in ``dut``: a counter that a reset clears, a register that it does not, and a memory.

    Args:
        kept: the initial value of the register that a reset does not clear.
    """

    def __init__(self, kept: int = 5) -> None:
        super().__init__()
        self.reset = Signal(name="reset")
        self.wrong = Signal(3, name="wrong")
        self._kept = kept

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.clocked(m, self.reset)
        m.submodules.dut = dut = Module()
        count, kept = Signal(4, init=9, name="count"), Signal(4, init=self._kept, name="kept", reset_less=True)
        dut.submodules.rows = rows = memory.Memory(shape=4, depth=2, init=[3, 12])
        port, write = rows.read_port(domain="comb"), rows.write_port()
        dut.d.sync += [count.eq(Mux(count == 9, 0, 9)), kept.eq(kept | 2)]
        m.d.comb += [port.addr.eq(1), write.addr.eq(0), write.data.eq(count), write.en.eq(1)]
        m.d.comb += self.wrong.eq((count != 9) | ((kept != self._kept) << 1) | ((port.data != 12) << 2))
        return m


def test_registers_and_memories_have_any_contents_before_a_reset() -> None:
    aig = graph_of(Registers())
    free = any_start(aig)
    assert [hunt(free, bit, 1).proved for bit in aig.output_bits["wrong"]] == [False, False, False]
    assert [hunt(aig, bit, 1).proved for bit in aig.output_bits["wrong"]] == [None, None, None]


@pytest.mark.parametrize(("kept", "possible"), [(5, False), (6, True)])
def test_whether_a_reset_leads_to_power_up(kept: int, possible: bool) -> None:
    """In each cycle bit 1 of the register that is not cleared is set, so 6 is a value that it takes and 5 is not."""
    assert resets_to_power_up(graph_of(Registers(kept))) == possible
