# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a queue of code units: that of a serial encoder, and that of a serial transcoder behind any items."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from utf8fpga.formal.claims import Claims
from utf8fpga.formal.helpers import selected
from utf8fpga.hdl.beats import is_effective
from utf8fpga.hdl.encoder.logic import in_byte_order
from utf8fpga.hdl.transcoder.transcoder import SerialTranscoder
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable
from utf8fpga.sim.reference import Encoded


class ItemQueue(wiring.Component):
    """The queue of a serial transcoder, behind any items that its decoder may output.

    The decoder is proved by itself. It outputs no code point that is in no row of its table; here that becomes an
    ill-formed item. That the transcoder connects both is tested in simulation.

    Ports:
        input: stream of `beat_layout`, items.
        output: that of the transcoder.
    """

    lanes = 1

    def __init__(self, transcoder: SerialTranscoder) -> None:
        self.queue, self.source, self.target = transcoder.encoder, transcoder.source, transcoder.target
        self.latency = self.queue.latency
        given, made = self.queue.signature.members["input"], transcoder.signature.members["output"]
        super().__init__({"input": given, "output": made})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = self.queue
        given, item = queue.input.payload, self.input.payload.symbols[0]
        is_error = self.is_ill_formed(item)
        m.d.comb += [
            given.keep.eq(self.input.payload.keep),
            given.last.eq(self.input.payload.last),
            given.symbols[0].error.eq(is_error),
            given.symbols[0].code_point.eq(Mux(is_error, REPLACEMENT_CHARACTER, item.code_point)),
            queue.input.valid.eq(is_effective(self.input)),
            self.input.ready.eq(queue.input.ready),
        ]
        wiring.connect(m, queue.output, wiring.flipped(self.output))
        return m

    def is_ill_formed(self, item: Any) -> Value:
        """Whether it has an error, or its code point is in no row of the source."""
        point, rows = item.code_point, self.source.table.rows
        return item.error | ~Cat((point >= r.code_points.first) & (point <= r.code_points.last) for r in rows).any()


class QueueProof(Claims):
    """A core with a queue of code units, beside the rows of a table. One of the units, any, is watched.

    Args:
        core: a `SerialEncoder`, or an `ItemQueue`.
        table: the table that it is compared with; default: that of its output.

    Attributes:
        pick: an input, which is arbitrary in a proof: which unit of a code point is watched, if any.
    """

    def __init__(self, core: Any, table: EncodingTable | None = None) -> None:
        super().__init__(core)
        self._table = table or core.target.table
        self._beat = data.StructLayout({"unit": self._table.unit_width, "error": 1, "keep": 1, "last": 1})
        self.pick = Signal(range(self._table.longest + 1))
        self.latency = self._table.longest

    def _expected(self, m: Module) -> tuple[Value, list[Any]]:
        """How many output beats the beat at the input causes, and these."""
        beat = self.core.input.payload
        symbol, is_error = beat.symbols[0], None
        point = Value.cast(symbol)
        if isinstance(self.core, ItemQueue):
            is_error = self.core.is_ill_formed(symbol)
            point = Mux(is_error, REPLACEMENT_CHARACTER, symbol.code_point)
        encoded = Encoded(m, self._table, point)
        error = ~encoded.known if is_error is None else is_error | ~encoded.known
        number = Mux(beat.keep[0], encoded.number, 1)
        beats: list[Any] = [Signal(self._beat, name=f"expected_{place}") for place in range(self._table.longest)]
        for place, each in enumerate(beats):
            is_last = beat.last & (number == place + 1)
            m.d.comb += each.last.eq(is_last)
            with m.If(beat.keep[0]):
                unit = in_byte_order(encoded.units[place], self.core.target)
                m.d.comb += [each.unit.eq(unit), each.error.eq(error), each.keep.eq(1)]
        return number, beats

    def specify(self, m: Module) -> None:
        core, room = self.core, self._table.longest
        path = "queue." if isinstance(core, ItemQueue) else ""
        accepted, out = Signal(), Signal()
        m.d.comb += [
            accepted.eq(is_effective(core.input) & core.input.ready),
            out.eq(core.output.valid & core.output.ready),
        ]
        number, beats = self._expected(m)
        pending = Signal(range(2 * room))
        after = (pending - out)[: len(pending)]
        m.d.sync += pending.eq(after + Mux(accepted, number, 0))
        self.claim("there is room", pending <= room)
        self.holds("valid", self.inside[f"{path}valid"], Cat(pending > place for place in range(room)))
        # One beat is watched.
        watching, ahead, age = Signal(), Signal.like(pending, reset_less=True), Signal.like(pending, reset_less=True)
        watched: Any = Signal(self._beat, name="watched", reset_less=True)
        with m.If(~watching & accepted & (self.pick < number)):
            m.d.sync += [watching.eq(1), ahead.eq(after + self.pick), age.eq(0)]
            m.d.sync += Value.cast(watched).eq(selected([Value.cast(beat) for beat in beats], self.pick))
        with m.Elif(watching & core.output.ready):
            m.d.sync += [ahead.eq(ahead - 1), watching.eq(ahead != 0), age.eq(age + 1)]
        self.claim("a watched beat is in the queue", ~watching | ((ahead < pending) & (ahead + age < room)))
        for place in range(room):
            entry = self.inside[f"{path}entry_{place}"]
            is_here = watching & (ahead == place)
            width = self._table.unit_width
            self.holds(f"unit {place}", entry[:width], watched.unit, is_here & watched.keep)
            self.holds(f"flags {place}", entry[width:], Value.cast(watched)[width:], is_here)
        self._monitor(m, out, pending, watching & (ahead == 0), watched)
        self.claim("latency: a unit is transferred when it is due", ~watching | (age < self.latency))

    def _monitor(self, m: Module, out: Value, pending: Value, is_first: Value, watched: Any) -> None:
        """The monitors of equivalence, and of waiting beats."""
        payload = self.core.output.payload
        symbol = payload.symbols[0]
        same = Cat(payload.keep[0], payload.last, symbol.error) == Cat(watched.keep, watched.last, watched.error)
        self.claim("equivalence: nothing is invented", ~out | (pending != 0))
        self.claim("equivalence: the flags", ~(out & is_first) | same)
        self.claim("equivalence: the unit", ~(out & is_first & watched.keep) | (symbol.unit == watched.unit))
        self.claim_steady(m)
