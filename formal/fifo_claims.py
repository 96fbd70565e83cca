# SPDX-License-Identifier: BSD-2-Clause
"""Claims about a `CreditFifo`, and the monitors of the beats at its output."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.claims import Claims
from utf8fpga.formal.insides import rows_in

_SETTLED = 3
"""Cycles without a beat that waits, after which the input is ready."""


class FifoClaims:
    """A core whose entries are beats, behind a pipeline that never pauses.

    What the pipeline stores, the specification knows; one entry, any, is watched until it is transferred.

    Args:
        harness: the core in its environment; its attribute `pick`, an input, chooses the entry that is watched.
        row: what is expected of the entry that is stored: a beat of the output, 0 in lanes without a symbol.
        stored, dropped: whether there is one, or it is dropped.
        in_flight: the number of beats in the pipeline.
    """

    def __init__(
        self, harness: Claims, m: Module, fifo: Any, row: Any, stored: Value, dropped: Value, in_flight: Value
    ) -> None:
        self._harness, self._m, self._fifo, self._row, self._stored = harness, m, fifo, row, stored
        output = harness.core.output
        self._output, self._out = output, Signal()
        m.d.comb += self._out.eq(output.valid & output.ready)
        self._read, self._pending, self._total = Signal(range(fifo.depth)), Signal(8), Signal(8)
        m.d.sync += [self._read.eq(self._read + self._out), self._pending.eq(self._pending + stored - self._out)]
        m.d.comb += self._total.eq(self._pending + in_flight)
        harness.claim("stored as expected", (fifo.stored == stored) & (fifo.dropped == dropped))
        self.compare("entry", stored, beat_of_entry(output.payload, fifo.entry), row)
        self._count()
        self._watch()
        self._claim_contract()

    def _count(self) -> None:
        """The pointers and the credits."""
        m, harness, depth, total = self._m, self._harness, self._fifo.depth, self._total
        was, earlier = Signal.like(total), Signal.like(total)
        m.d.sync += [was.eq(total), earlier.eq(was)]
        values = {
            "write": self._read + self._pending,
            "read": self._read,
            "following": self._read + 1,
            "is_valid": self._pending != 0,
            "count": 2 * depth - 3 - was,
            "change": was - total,
        }
        for path, register in harness.inside.items():
            name = path.rpartition(".")[2].rstrip("_0123456789")
            if path.startswith("fifo.") and name in values:
                harness.holds(path, register, values[name])
        room = depth - 3
        harness.claim("room", (self._pending <= total) & (total < depth) & (was < depth))
        harness.claim("credits", (total <= was + 1) & (was <= earlier + 1) & (was <= total + 2))
        # After so many cycles in which no beat waited; each entry that leaves is a credit.
        smooth = harness.cycles_without(m, harness.waits(), _SETTLED)
        falls = (total < was) | ((total == was) & (earlier <= room)) | (total < room)
        harness.claim("room after a cycle", (smooth == 0) | falls)
        harness.claim("room after two cycles", (smooth < 2) | (was <= room) | ((was == room + 1) & (total <= room)))
        harness.claim("stall: ready", (smooth < _SETTLED) | harness.core.input.ready)

    def _watch(self) -> None:
        """One entry, and the monitor that it is transferred in its place."""
        m, harness, fifo, out = self._m, self._harness, self._fifo, self._out
        watching, place, ahead = Signal(), Signal(range(fifo.depth), reset_less=True), Signal(8, reset_less=True)
        watched = Signal.like(self._row, name="watched", reset_less=True)
        entry = Signal(fifo.width, name="watched_entry", reset_less=True)
        with m.If(~watching & self._stored & harness.pick):
            m.d.sync += [watching.eq(1), place.eq(self._read + self._pending), ahead.eq(self._pending - out)]
            m.d.sync += [watched.eq(self._row), entry.eq(fifo.entry)]
        with m.Elif(watching & out):
            m.d.sync += [ahead.eq(ahead - 1), watching.eq(ahead != 0)]
        is_there = (ahead < self._pending) & (place == (self._read + ahead)[: len(place)])
        harness.claim("a watched entry is in its row", ~watching | is_there)
        payload = self._output.payload
        self.compare("watched", watching, beat_of_entry(payload, entry), watched)
        start = 0
        for rows in rows_in(harness.circuit):
            part = entry[start : start + len(rows[0])]
            for number, row in enumerate(rows):
                harness.holds(f"row {number} from bit {start}", row, part, watching & (place == number))
            start += len(part)
        found = [payload.symbols[lane] for lane in range(len(payload.keep))], payload.keep, payload.last
        harness.claim("equivalence: nothing is invented", ~out | (self._pending != 0))
        self.compare("equivalence:", out & watching & (ahead == 0), found, watched)

    def _claim_contract(self) -> None:
        """The monitors of waiting beats, and of the latency."""
        m, harness = self._m, self._harness
        harness.claim("steady: a waiting beat does not change", harness.is_steady(m))
        # No beat has waited since there was none: each is transferred one cycle after it is stored.
        smooth = Signal()
        m.d.sync += smooth.eq((smooth | (self._pending == 0)) & ~harness.waits())
        harness.claim("latency: a beat is transferred when it is due", ~smooth | (self._pending <= 1))

    def compare(self, name: str, condition: Value, beat: tuple[list[Any], Value, Value], row: Any) -> None:
        """Claim that a beat is the expected one, while a condition is 1; undefined symbols only have no error."""
        symbols, keep, last = beat
        self._harness.claim(f"{name} last", ~condition | (last == row.last))
        for lane, symbol in enumerate(symbols):
            same = Mux(row.keep[lane], Value.cast(symbol) == Value.cast(row.symbols[lane]), ~symbol.error)
            self._harness.claim(f"{name} lane {lane}", ~condition | ((keep[lane] == row.keep[lane]) & same))


def beat_of_entry(payload: Any, entry: Value) -> tuple[list[Any], Value, Value]:
    """The symbols, `keep` and `last` of an entry, which has the bits of a symbol and its `keep` for each lane."""
    shape = payload.symbols.shape().elem_shape
    lanes = [entry.word_select(lane, shape.size + 1) for lane in range(len(payload.keep))]
    return [data.View(shape, lane[:-1]) for lane in lanes], Cat(lane[-1] for lane in lanes), entry[-1]
