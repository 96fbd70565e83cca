# SPDX-License-Identifier: BSD-2-Clause
"""What the proofs of cores with beats have in common: their expected items, FIFO, credits and monitors."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value

from utf8fpga.formal.accepted import Accepted, Slot
from utf8fpga.formal.claims import Claims
from utf8fpga.formal.insides import rows_in
from utf8fpga.hdl.beats import is_effective
from utf8fpga.hdl.fifo import CreditFifo
from utf8fpga.model import EncodingTable
from utf8fpga.sim.reference import how_many

_SETTLED = 3
"""Cycles without a beat that waits, after which the input is ready."""


class BeatClaims(Claims):
    """A core with a window beside the beats that it has accepted. One beat of its output, any, is watched.

    Args:
        table: the table that it is compared with.
        row: the layout of the attribute; default: that of the output.

    Attributes:
        pick: an input, which is arbitrary in a proof: whether a beat is watched.
        accepted: a beat is accepted in this cycle.
        row: the expected beat behind the window, 0 in lanes without a symbol.
        leaves: there is such a beat.
        rows: `row` and `leaves`, then both of one cycle before, and so on; the words come with the last of them.
        held: the last beat that passed the window.
        coming: for each place up to `row`, whether there is a beat with the end of a packet.
        in_flight: for each place of a beat that needs a credit, in front of the FIFO, whether there is one.
    """

    def __init__(self, core: Any, table: EncodingTable, row: ShapeLike | None = None) -> None:
        super().__init__(core)
        self.table, self.pick = table, Signal()
        self.row: Any = Signal(row or core.output.payload.shape(), name="row", reset_less=True)
        self.accepted, self.leaves = Signal(name="accepted"), Signal(name="leaves")
        self.rows: list[tuple[Any, Signal]] = [(self.row, self.leaves)]
        self.coming: list[Value] = []
        self.in_flight: list[Value] = []

    def follow_window(self, m: Module, window: Any, path: str) -> Accepted:
        """Follow the beats through the window of the core, whose path is given."""
        source, payload = self.core.input, self.core.input.payload
        m.d.comb += self.accepted.eq(is_effective(source) & source.ready)
        accepted = Accepted(self, m, self.table, window, path)
        accepted.follow(Value.cast(payload.symbols), payload.keep, payload.last, self.accepted)
        return accepted

    def follow_items(self, m: Module, items: Any) -> list[Slot]:
        """Follow the beats through `Items`, and claim what its registers hold; the items in `row` by the DFA."""
        (path,) = (name.removesuffix("is_leaving") for name in self.inside if name.endswith("items.is_leaving"))
        accepted = self.follow_window(m, items.window, path)
        accepted.claim_held(items.late)
        self.held = held = accepted.held
        newest, slots, waiting = accepted.beats[-1], accepted.slots(), (*accepted.beats[1:], held)
        self.coming = [*(beat.valid & beat.last for beat in waiting), self.leaves & self.row.last]
        settled = held.last | ~slots[-1].open
        m.d.sync += [
            held.valid.eq(newest.valid | (held.valid & ~settled)),
            self.leaves.eq(held.valid & (newest.valid | settled)),
            self.row.eq(self._expected(m, slots, held.last)),
        ]
        self.holds("waiting", self.inside[path + "waiting"], held.valid)
        self.holds("is_leaving", self.inside[path + "is_leaving"], self.leaves)
        self.in_flight = [*(beat.valid for beat in waiting), self.leaves]
        for cycle in range(1, items.late + 1):
            self._follow_words(m, items, path, cycle)
        self._claim_made(path)
        return slots

    def _follow_words(self, m: Module, items: Any, path: str, cycle: int) -> None:
        """Claim which symbols the units make that have waited for some cycles, and add a cycle to `rows`.

        What has waited in `Items` for one cycle is of the beat in `row`.
        """
        row, leaves = self.rows[-1]
        known = {name: self.inside[f"{path}late_{name}_after_{cycle}"] for name in items.waiting_names}
        known["completed"] = ~known["errors"]
        for lane, keep in enumerate(row.keep):
            symbol, error = row.symbols[lane], known["errors"][lane]
            kind = known["kinds"].word_select(lane, len(known["kinds"]) // len(row.keep))
            made = Cat(items.word(known, lane), error, kind & error.replicate(len(kind)))[: symbol.shape().size]
            self.claim(f"late word {lane} after {cycle}", ~(leaves & keep) | (made == Value.cast(symbol)))
            self.holds(f"late error {lane} after {cycle}", error, symbol.error & keep, leaves)
        next_row, next_leaves = Signal.like(row, name=f"row_{cycle}", reset_less=True), Signal(name=f"leaves_{cycle}")
        m.d.sync += [next_row.eq(row), next_leaves.eq(leaves)]
        self.rows.append((next_row, next_leaves))

    def _claim_made(self, path: str) -> None:
        """What the registers at the output of `Items` hold, without the words of absent symbols."""
        made = {name: self.inside[f"{path}out_{name}"] for name in ("ends", "items", "errors", "words", "kinds")}
        self.holds("ends", made["ends"], self.row.last, self.leaves)
        self.holds("items", made["items"], self.row.keep, self.leaves)
        row, leaves = self.rows[-1]
        for lane, keep in enumerate(row.keep):
            symbol, bits = row.symbols[lane], len(row.symbols[lane].code_point)
            self.holds("errors", made["errors"][lane], symbol.error & keep, leaves)
            self.holds("words", made["words"].word_select(lane, bits), symbol.code_point, leaves & keep)
            if "kind" in symbol.shape().members:
                kind = Value.cast(symbol.kind)
                self.holds("kinds", made["kinds"].word_select(lane, len(kind)), kind, leaves & keep & symbol.error)

    def _expected(self, m: Module, slots: list[Slot], last: Value) -> Any:
        """The beat of the items, with 0 in lanes without an item."""
        beat: Any = Signal.like(self.row, name="expected")
        m.d.comb += beat.last.eq(last)
        for lane, slot in enumerate(slots):
            symbol, word = beat.symbols[lane], slot.word
            m.d.comb += beat.keep[lane].eq(slot.valid)
            with m.If(slot.valid):
                m.d.comb += [symbol.error.eq(word.error), symbol.code_point.eq(word.code_point)]
                if "kind" in symbol.shape().members:
                    m.d.comb += Value.cast(symbol.kind).eq(word.kind)
        return beat

    def compare(self, name: str, condition: Value, beat: tuple[list[Any], Value, Value], row: Any) -> None:
        """Claim that a beat is the expected one, while a condition is 1; undefined symbols only have no error."""
        symbols, keep, last = beat
        self.claim(f"{name} last", ~condition | (last == row.last))
        for lane, symbol in enumerate(symbols):
            no_error = ~symbol.error if "error" in symbol.shape().members else Const(1, 1)
            same = Mux(row.keep[lane], Value.cast(symbol) == Value.cast(row.symbols[lane]), no_error)
            self.claim(f"{name} lane {lane}", ~condition | ((keep[lane] == row.keep[lane]) & same))

    def claim_fifo(self, m: Module, fifo: CreditFifo, row: Any, stored: Value, dropped: Value) -> None:
        """The FIFO of expected beats, its credits, and the output.

        Args:
            row: an expected beat of the output.
            stored: it is stored.
            dropped: a beat is not stored, and returns its credit.
        """
        output = self.core.output
        out = Signal()
        m.d.comb += out.eq(output.valid & output.ready)
        self.claim("stored", fifo.stored == stored)
        self.claim("dropped", fifo.dropped == dropped)
        value, known = self._entry(row)
        self.claim("entry", ~stored | ((fifo.entry ^ value) & known == 0))
        if fifo.latency > 1:
            stored, row = self._near_slices(m, fifo, row, stored)
        read, pending = Signal(range(fifo.depth)), Signal(range(fifo.depth))
        total, has_left = Signal(8), Signal()
        m.d.sync += [read.eq(read + out), pending.eq(pending + stored - out), has_left.eq(out)]
        m.d.comb += total.eq(pending + how_many(self.in_flight))
        self.claim_credits(m, "fifo.credits", fifo.depth, total)
        held = pending + has_left
        values = {"write": read + pending, "read": read, "held": held, "holds_two": held == 2, "holds_three": held == 3}
        values |= {"has_left": has_left, "is_valid": pending != 0, "only_one": pending == 1}
        for path, register in self.inside.items():
            name = path.rpartition(".")[2].rstrip("_0123456789")
            if path.startswith("fifo.") and name in values:
                self.holds(path, register, values[name])
        # One entry is watched.
        watching, place, ahead = Signal(), Signal.like(read, reset_less=True), Signal.like(pending, reset_less=True)
        watched: Any = Signal.like(row, name="watched", reset_less=True)
        with m.If(~watching & stored & self.pick):
            m.d.sync += [watching.eq(1), place.eq(read + pending), ahead.eq(pending - out), watched.eq(row)]
        with m.Elif(watching & out):
            m.d.sync += [ahead.eq(ahead - 1), watching.eq(ahead != 0)]
        is_there = (ahead < pending) & (place == (read + ahead)[: len(place)])
        self.holds("a watched entry is in its row", watching, 0, ~is_there)
        value, known = self._entry(watched)
        for rows, bits in zip(rows_in(self.circuit), fifo.slices, strict=True):
            for number, each in enumerate(rows):
                is_here = (watching & (place == number)).replicate(len(each))
                self.holds(f"row {number} from bit {bits.start}", each, value[bits], is_here & known[bits])
        self.claim_output(m, pending, total, watching & (ahead == 0), watched)

    def _near_slices(self, m: Module, fifo: CreditFifo, row: Any, stored: Value) -> tuple[Signal, Any]:
        """Whether there is an entry in the registers in front of the slices, and the expected beat for it."""
        near, row_near = Signal(name="near"), Signal.like(row, name="row_near", reset_less=True)
        m.d.sync += [near.eq(stored), row_near.eq(row)]
        self.in_flight.append(near)
        value, known = self._entry(row_near)
        for number, bits in enumerate(fifo.slices):
            self.holds(f"stored_{number}", self.inside[f"fifo.stored_{number}"], near)
            matters = near.replicate(len(value[bits])) & known[bits]
            self.holds(f"entry_{number}", self.inside[f"fifo.entry_{number}"], value[bits], matters)
        return near, row_near

    def _entry(self, row: Any) -> tuple[Value, Value]:
        """The entry of an expected beat, and which of its bits are known: of an absent symbol, that it has no error."""
        shape, value, known = row.symbols.shape().elem_shape, list[Value](), list[Value]()
        for lane, keep in enumerate(row.keep):
            value += [Value.cast(row.symbols[lane]) & keep.replicate(shape.size), keep]
            known += [Const(1, 1) if name == "error" else keep.replicate(field.width) for name, field in shape]
            known.append(Const(1, 1))
        return Cat(*value, row.last), Cat(*known, Const(1, 1))

    def claim_output(self, m: Module, pending: Value, total: Value, is_first: Value, watched: Any) -> None:
        """The monitors of the output.

        Args:
            pending: the rows that are stored and not yet output.
            total: these, and what may still become one.
            is_first: the row that is watched is the first of these.
        """
        output = self.core.output
        payload, out = output.payload, output.valid & output.ready
        symbols = [payload.symbols[lane] for lane in range(len(payload.keep))]
        self.claim("equivalence: nothing is invented", ~out | (total != 0))
        self.claim("nothing is output before it is determined", ~out | (pending != 0))
        self.compare("equivalence:", out & is_first, (symbols, payload.keep, payload.last), watched)
        self.claim_steady(m)
        # No beat has waited since there was none: each is transferred one cycle after it is stored.
        smooth = Signal()
        m.d.sync += smooth.eq((smooth | (pending == 0)) & ~self.waits())
        is_due = ~smooth | (pending <= 1)
        self.claim("one beat is due", is_due)
        self.claim("latency: a beat is transferred when it is due", is_due)

    def claim_credits(self, m: Module, path: str, depth: int, total: Value) -> None:
        """The credits, and the monitor of stalls.

        Args:
            path: that of the `Credits`.
            total: the beats and rows that have a credit.
        """
        was, earlier = Signal.like(total), Signal.like(total)
        m.d.sync += [was.eq(total), earlier.eq(was)]
        self.holds("count", self.inside[f"{path}.count"], 2 * depth - 3 - was)
        self.holds("change", self.inside[f"{path}.change"], was - total)
        self.claim("room", (total < depth) & (was < depth))
        self.claim("credits", (total <= was + 1) & (was <= earlier + 1) & (was <= total + 2))
        # Each row that leaves is a credit.
        room, smooth = depth - 3, self.cycles_without(m, self.waits(), _SETTLED)
        falls = (total < was) | ((total == was) & (earlier <= room)) | (total < room)
        self.claim("room after a cycle", (smooth == 0) | falls)
        self.claim("room after two cycles", (smooth < 2) | (was <= room) | ((was == room + 1) & (total <= room)))
        self.claim("stall: ready", (smooth < _SETTLED) | self.core.input.ready)
