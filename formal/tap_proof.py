# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a tap: its verdicts are those of the DFA, each exactly as late as stated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value

from utf8fpga.formal.abc import Verdict, decide
from utf8fpga.formal.helpers import keep_of
from utf8fpga.formal.properties import Property
from utf8fpga.formal.reference_dfa import Reference
from utf8fpga.formal.top import Top
from utf8fpga.model import EncodingTable

TAP_PROPERTIES = (Property.EQUIVALENCE, Property.POWER_UP)
"""The properties of a tap, which has no handshake of its own."""


class TapHarness(Top):
    """A tap with the DFA beside it, and any transfers, pauses and resets.

    Attributes:
        bad: in the cycle before, a report was at the wrong time, missing, or wrong.
    """

    def __init__(self, tap: Any, table: EncodingTable, *, resets_first: bool) -> None:
        super().__init__()
        self._tap, self._table, self._resets_first = tap, table, resets_first
        self.valid, self.ready, self.reset = (Signal(name=n) for n in ("valid", "ready", "reset"))
        self.beat = Signal(len(Value.cast(tap.payload)), name="beat")
        self.bad = Signal(name="bad", reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = tap = self._tap
        started = Signal(reset_less=True)
        m.d.sync += started.eq(1)
        first = Const(self._resets_first, 1) & ~started
        self.clocked(m, self.reset | first)
        payload = Signal(tap.payload.shape())
        m.d.comb += [
            Value.cast(payload).eq(self.beat),
            tap.payload.eq(payload),
            tap.valid.eq(self.valid),
            tap.ready.eq(self.ready),
        ]
        keep = keep_of(payload)
        m.d.comb += Value.cast(tap.payload.keep).eq(keep)
        running = ~ResetSignal("sync")
        accepted = self.valid & self.ready & (keep[0] | payload.last) & running
        units = [(payload.symbols[lane], keep[lane]) for lane in range(tap.lanes)]
        reference = Reference(m, self._table, units, payload.last, accepted)
        failed = Signal()
        fails = failed | Cat(*(event.valid & event.word.error for event in reference.events)).any()
        with m.If(accepted):
            m.d.sync += failed.eq(fails & ~payload.last)
        report, verdict = accepted & payload.last, ~fails
        for number in range(tap.latency):
            later, its = Signal(name=f"expected_{number}"), Signal(name=f"verdict_{number}", reset_less=True)
            m.d.sync += [later.eq(report), its.eq(verdict)]
            report, verdict = later, its
        wrong = (tap.report_valid != report) | (report & (tap.report.well_formed != verdict))
        m.d.sync += self.bad.eq(Mux(running, wrong, 0))
        return m


def prove_tap(build: Callable[[], Any], table: EncodingTable, wanted: Property, *, seconds: int = 600) -> Verdict:
    """Prove that the verdicts of a tap are those of the DFA of a table.

    Args:
        wanted: one of `TAP_PROPERTIES`.
    """
    aig = TapHarness(build(), table, resets_first=wanted.resets_first).graph(free=wanted.any_start)
    return decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["proof"]
