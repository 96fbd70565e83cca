# SPDX-License-Identifier: BSD-2-Clause
"""Other practices for ill-formed input in hardware: a filter that repeats, merges or drops marks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO

from utf8fpga.hdl.decoder.serial import SerialDecoder
from utf8fpga.hdl.payloads import LONGEST_ANNOUNCED, Kind
from utf8fpga.model.practices import Practice

if TYPE_CHECKING:
    from utf8fpga.hdl.decoder.parameters import DecoderParameters

MARK_PRACTICES = (
    Practice.MAXIMAL_SUBPARTS,
    Practice.EACH_UNIT,
    Practice.WHOLE_SUBSEQUENCE,
    Practice.MALFORMED_SEQUENCE,
    Practice.FIRST_ERROR,
)
"""The practices that a filter of the marks can implement, without the units themselves."""

MERGING_PRACTICES = (Practice.WHOLE_SUBSEQUENCE, Practice.MALFORMED_SEQUENCE)
"""The practices under which a mark is valid before its length is known, so that items have no field `length`."""


class PracticeDecoder(wiring.Component):
    """A `SerialDecoder` followed by a filter of its marks.

    A mark is an item that represents ill-formed units. The items are those of the model's `decode_with`. A mark that
    represents several maximal subparts is output in the place of the first one. Null beats have no effect, as in the
    decoder. If the last item of a packet is dropped, a beat without an item ends the packet.

    Throughput: one unit per cycle on any input. n ill-formed units cause at most n marks; under `Practice.EACH_UNIT` a
    FIFO holds the items that follow a repeated mark, so that repetitions stall the input only after back-pressure at
    the output, for at most `stall_cycles` cycles.

    Latency: that of the decoder; under `Practice.EACH_UNIT` one cycle more, and one for each pending repetition.

    Args:
        parameters: the parameters. Under the practices that merge marks there is no `length`, since a mark is valid at
            the output before its length is known.

    Ports: those of `SerialDecoder`.

    Raises:
        TableError: see `SerialDecoder`.
    """

    lanes = 1
    packed = True
    reset_cycles = SerialDecoder.reset_cycles

    def __init__(self, parameters: DecoderParameters) -> None:
        self.parameters = parameters
        self._longest, self._practice = parameters.table.longest, parameters.practice
        malformed = self._practice is Practice.MALFORMED_SEQUENCE
        inner = replace(
            parameters,
            practice=Practice.MAXIMAL_SUBPARTS,
            kind=parameters.kind or malformed,
            length=parameters.length or malformed or self._practice is Practice.EACH_UNIT,
        )
        self._decoder = SerialDecoder(inner, announced=malformed)
        repeats = self._longest - 1 if self._practice is Practice.EACH_UNIT else 0
        # The items of a broken sequence are output one after the other.
        self.latency = self._decoder.latency + repeats
        # A mark may be repeated in front of a full FIFO.
        self.stall_cycles = SerialDecoder.stall_cycles + repeats
        # Each item in the FIFO, and the one in front of it, may be a mark that is repeated.
        self.drain_cycles = self.latency + (self._longest + 1) * repeats
        super().__init__(parameters.ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder = decoder = self._decoder
        wiring.connect(m, wiring.flipped(self.input), decoder.input)
        self._show(m, decoder.output.payload)
        if self._practice is Practice.EACH_UNIT:
            self._repeat(m)
            return m
        source, output = decoder.output, self.output
        m.d.comb += [output.valid.eq(source.valid), source.ready.eq(output.ready)]
        beat = output.payload
        with m.If(source.payload.keep & self._dropped(m)):
            # A dropped item may still end the packet.
            m.d.comb += [
                beat.keep.eq(0),
                beat.symbols[0].error.eq(0),
                output.valid.eq(source.valid & source.payload.last),
                source.ready.eq(output.ready | ~source.payload.last),
            ]
        return m

    def _show(self, m: Module, beat: data.View[data.StructLayout]) -> None:
        """Connect a beat of the decoder to the output, without the fields that only this component uses."""
        shown = self.output.payload
        m.d.comb += [shown.keep.eq(beat.keep), shown.last.eq(beat.last)]
        for name, _ in shown.symbols[0].shape():
            m.d.comb += shown.symbols[0][name].eq(beat.symbols[0][name])

    def _repeat(self, m: Module) -> None:
        """Output a mark once for each of its units."""
        source, output = self._decoder.output, self.output
        # A mark of n units follows the item before it after n cycles or more, so at most n - 1 items wait.
        m.submodules.buffer = buffer = SyncFIFO(width=len(Value.cast(source.payload)), depth=self._longest)
        held = Signal(source.payload.shape())
        shown = Signal(range(self._longest))
        item = held.symbols[0]
        repeated = item.error & held.keep & (shown + 1 != item.length)
        m.d.comb += [
            buffer.w_data.eq(source.payload),
            buffer.w_en.eq(source.valid),
            source.ready.eq(buffer.w_rdy),
            held.eq(buffer.r_data),
            output.valid.eq(buffer.r_rdy),
            buffer.r_en.eq(output.ready & ~repeated),
        ]
        self._show(m, held)
        m.d.comb += output.payload.last.eq(held.last & ~repeated)
        if self.parameters.length:
            with m.If(item.error):
                m.d.comb += output.payload.symbols[0].length.eq(1)
        with m.If(output.valid & output.ready):
            m.d.sync += shown.eq(0)
            with m.If(repeated):
                m.d.sync += shown.eq(shown + 1)

    def _dropped(self, m: Module) -> Value:
        """Whether an item is merged into the mark before it, or follows the first error of its packet."""
        source = self._decoder.output
        item, taken = source.payload.symbols[0], source.valid & source.ready
        if self._practice is Practice.MALFORMED_SEQUENCE:
            owed = Signal(range(LONGEST_ANNOUNCED))
            """Continuation bytes that the first byte of the last mark still announces."""
            dropped = (owed != 0) & item.error & (item.kind == Kind.UNEXPECTED_CONTINUATION)
            after = Mux(dropped, owed - 1, Mux(item.error, item.announced - item.length, 0))
            with m.If(taken):
                m.d.sync += owed.eq(Mux(source.payload.last, 0, after))
            return dropped
        marked = Signal()
        """The preceding item was a mark; under `Practice.FIRST_ERROR` any item of the packet so far."""
        stays = Const(self._practice is Practice.FIRST_ERROR, 1)
        with m.If(taken):
            m.d.sync += marked.eq(~source.payload.last & (item.error | (marked & stays)))
        merges = Const(self._practice is Practice.WHOLE_SUBSEQUENCE, 1) & item.error
        return marked & (stays | merges)
