# SPDX-License-Identifier: BSD-2-Clause
"""The transcoder: code units of one encoding in, code units of another one out, with U+FFFD for what is ill-formed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amaranth.hdl import Module, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout, is_effective, lanes_of
from utf8fpga.hdl.decoder.parameters import DecoderParameters
from utf8fpga.hdl.encoder.encoder import connect_units, in_byte_order
from utf8fpga.hdl.encoder.logic import WORD_BITS, EncoderLogic
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder, slots_for
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.payloads import item_layout, unit_layout
from utf8fpga.hdl.transcoder.byte_order_mark import MarkRemover, OrderDetector
from utf8fpga.hdl.transcoder.composed_decoder import ComposedDecoder, flagged_form
from utf8fpga.model.encoder import BYTE_ORDER_MARK, ByteOrderMark
from utf8fpga.model.encodings import Encoding
from utf8fpga.model.table import Composition, EncodingTable

if TYPE_CHECKING:
    from utf8fpga.hdl.transcoder.parameters import TranscoderParameters

__all__ = ["Transcoder", "source_table"]


def source_table(encoding: Encoding) -> EncodingTable:
    """The table of the code units at the input; of a composition the unit table."""
    return encoding.form.unit_table if isinstance(encoding.form, Composition) else encoding.form


class Transcoder(wiring.Component):
    """A decoder and an encoder, joined: one U+FFFD per maximal subpart (D93b), and for each code point without a
    sequence in the form of the output.

    An item whose sequence has several units in the input occupies as many lanes, of which all but the last are empty.
    So its units get the output lanes of its last lane and of the lane before that, and an output beat has as many lanes
    as the text may grow, per input unit: one from UTF-8 to UTF-16, three from UTF-8 to UTF-8.

    Throughput: a beat per cycle; with `narrow` as many units per cycle as lanes, which is a beat per cycle as long as
    the text does not grow. Latency: the sum of those of the components, see `latency`.

    Structure: a sparse decoder, of a composition a `ComposedDecoder`, and behind it a `UnitQueue` with one lane,
    otherwise a `ParallelEncoder`. UTF-32 needs no decoder.

    Args:
        source: the encoding of the input.
        target: the encoding of the output.
        lanes: input units per beat.
        packed: the units of an output beat are contiguous from lane 0.
        narrow: an output beat has as many lanes as an input beat. With one lane it always has.
        decoder: the parameters of the decoder of the source, of a composition those of its unit table; None for
            UTF-32, which needs none.
        mark: what becomes of a byte order mark.
        parameters: the parameters that it is built from.

    Attributes:
        decoder: the decoder; None for UTF-32.
        encoder: the encoder.
        slots: output units per input unit, at most.
        detector: determines the byte order by the mark; None if it is fixed.
        remover: removes the mark; None if it is kept.

    Ports:
        input: stream of `beat_layout`, code units whose bytes are in the order of the encoding.
        output: stream of `beat_layout` with symbols of `unit_layout`, whose bytes are in the order of the encoding.
    """

    def __init__(
        self,
        source: Encoding,
        target: Encoding,
        *,
        lanes: int = 1,
        packed: bool = True,
        narrow: bool = False,
        decoder: DecoderParameters | None = None,
        mark: ByteOrderMark = ByteOrderMark.KEEP,
        parameters: TranscoderParameters | None = None,
    ) -> None:
        self.source, self.target, self.lanes, self.parameters = source, target, lanes, parameters
        self.packed = packed or lanes == 1
        given = table = source_table(source)
        symbol: Any = WORD_BITS
        self.decoder: Any = None
        if decoder is not None:
            # With one lane it is smaller to replace ill-formed items in the encoder.
            if isinstance(source.form, Composition):
                # The units of an item are those of the second decoder.
                table = flagged_form(source.form)
                self.decoder = ComposedDecoder(source.form, decoder, replacement=lanes > 1)
            else:
                self.decoder = replace(decoder, replacement=lanes > 1).build()
            symbol = item_layout(table)
            logic = EncoderLogic.behind(table, target.table, marks=lanes == 1)
        else:
            logic = EncoderLogic.of_bits(target.table, table.unit_width)
        self.slots = slots = slots_for(logic, table if self.decoder else None)
        self.encoder: UnitQueue | ParallelEncoder
        if lanes == 1:
            self.encoder = UnitQueue(logic, symbol)
        else:
            output = "narrow" if narrow else "packed" if packed else "sparse"
            # With fewer lanes a beat may have no item, and is not output by the decoder.
            collides = lanes < table.longest
            self.encoder = ParallelEncoder(logic, lanes, symbol, slots, output=output, collides=collides)
        self.detector = OrderDetector(source, lanes) if mark is ByteOrderMark.DETECT else None
        self.remover = None
        if mark is not ByteOrderMark.KEEP:
            self.remover = MarkRemover(symbol, lanes, len(table.encode(BYTE_ORDER_MARK)))
        units = unit_layout(target.form.unit_width)
        super().__init__(
            {
                "input": In(stream.Signature(beat_layout(given.unit_width, lanes))),
                "output": Out(stream.Signature(beat_layout(units, lanes_of(self.encoder.output)))),
            }
        )

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that determines a unit, and fills or ends its beat, to the unit."""
        if self.decoder is None:
            return self.encoder.latency
        # Where an output beat has no room for the text, beats wait in the decoder.
        waits = self.slots > 1 and lanes_of(self.output) == self.lanes
        wait = self.encoder.growth * self.decoder.drain_cycles if waits else self.decoder.latency
        return int(self.encoder.latency + wait)

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `input.ready` is deasserted."""
        return int(self.decoder.reset_cycles) if self.decoder else self.encoder.reset_cycles

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits."""
        return self.encoder.stall_cycles + (self.decoder.stall_cycles if self.decoder else 0)

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined units have been transferred, while no beat waits."""
        if self.decoder is None:
            return self.encoder.drain_cycles
        # Each beat that waits in the decoder may become several at the output.
        return self.encoder.drain_cycles + self.encoder.growth * int(self.decoder.drain_cycles)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.encoder = encoder = self.encoder
        items = encoder.input
        if self.remover:
            m.submodules.remover = self.remover
            wiring.connect(m, self.remover.output, items)
            items = self.remover.input
        source = self.input
        payload = source.payload
        if self.decoder:
            m.submodules.decoder = decoder = self.decoder
            beat = decoder.input.payload
            wiring.connect(m, decoder.output, items)
            m.d.comb += [decoder.input.valid.eq(source.valid), source.ready.eq(decoder.input.ready)]
        else:
            beat = items.payload
            m.d.comb += [items.valid.eq(is_effective(source)), source.ready.eq(items.ready)]
        if self.detector:
            m.submodules.detector = detector = self.detector
            m.d.comb += [
                detector.input.eq(payload),
                detector.transfer.eq(is_effective(source) & source.ready),
                beat.eq(detector.output),
            ]
        else:
            m.d.comb += [beat.keep.eq(payload.keep), beat.last.eq(payload.last)]
            for lane in range(self.lanes):
                unit = Value.cast(payload.symbols[lane])
                m.d.comb += Value.cast(beat.symbols[lane]).eq(in_byte_order(unit, self.source))
        connect_units(m, encoder.output, self.output, self.target)
        return m
