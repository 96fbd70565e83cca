# SPDX-License-Identifier: BSD-2-Clause
"""The encoder: UTF-32 words or a decoder's items in, code units of any encoding out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout, is_effective, lanes_of
from utf8fpga.hdl.encoder.logic import WORD_BITS, EncoderLogic
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder, slots_for
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.model.encodings import Encoding

if TYPE_CHECKING:
    from utf8fpga.hdl.encoder.parameters import EncoderParameters

__all__ = ["Encoder", "connect_units", "in_byte_order", "swapped_bytes"]


def in_byte_order(unit: Value, encoding: Encoding) -> Value:
    """A code unit with its bytes in the order of an encoding, the first one in the low bits, or the other way round."""
    return swapped_bytes(unit) if encoding.is_swapped else unit


def swapped_bytes(unit: Value) -> Value:
    """The bytes of a code unit in the reverse order."""
    return Cat(unit.word_select(byte, 8) for byte in reversed(range(len(unit) // 8)))


class Encoder(wiring.Component):
    """Words in, code units out (D79); what is no code point of the form becomes U+FFFD, with a flag.

    Throughput: a beat per cycle; with `narrow` a unit per cycle with one lane, and as many as lanes with more.

    Latency: the units of a word are at the output at most `latency` cycles after the beat that determines them, and
    fills or ends its output beat, while no beat waits.

    Structure: `ParallelEncoder`; with one lane and `narrow` a `UnitQueue`.

    Args:
        encoding: the encoding of the output.
        lanes: words per beat.
        packed: the units of a beat are contiguous from lane 0. With one lane they always are.
        narrow: an output beat has as many lanes as an input beat, rather than room for all units of its words.
        items: words have a flag `error`, as the items of a decoder, which is passed on.
        parameters: the parameters that it is built from.

    Attributes:
        encoder: the component.
        slots: output units per word, at most.

    Ports:
        input: stream of `beat_layout`: words of 32 bits; with `items` structures of `code_point`, a word, and `error`.
        output: stream of `beat_layout` with symbols of `unit_layout`.
    """

    def __init__(
        self,
        encoding: Encoding,
        *,
        lanes: int = 1,
        packed: bool = True,
        narrow: bool = False,
        items: bool = False,
        parameters: EncoderParameters | None = None,
    ) -> None:
        self.encoding, self.lanes, self.parameters = encoding, lanes, parameters
        # As wide as the words that a decoder has at its ports, which may be changed on their way.
        symbol: Any = data.StructLayout({"code_point": WORD_BITS, "error": 1}) if items else WORD_BITS
        logic = EncoderLogic.of_bits(encoding.table, WORD_BITS)
        self.slots = slots_for(logic)
        self.encoder: UnitQueue | ParallelEncoder
        if narrow and lanes == 1:
            self.encoder = UnitQueue(logic, symbol)
        else:
            output = "narrow" if narrow else "first" if lanes == 1 else "packed" if packed else "sparse"
            self.encoder = ParallelEncoder(logic, lanes, symbol, self.slots, output=output)
        self.packed = packed or lanes == 1
        super().__init__(
            {
                "input": In(stream.Signature(beat_layout(symbol, lanes))),
                "output": Out(
                    stream.Signature(beat_layout(unit_layout(encoding.form.unit_width), lanes_of(self.encoder.output)))
                ),
            }
        )

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that determines a unit, and fills or ends its beat, to the unit."""
        return self.encoder.latency

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `input.ready` is deasserted."""
        return self.encoder.reset_cycles

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits."""
        return self.encoder.stall_cycles

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined units have been transferred, while no beat waits."""
        return self.encoder.drain_cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.encoder = encoder = self.encoder
        source, output = self.input, self.output
        m.d.comb += [
            Value.cast(encoder.input.payload).eq(Value.cast(source.payload)),
            encoder.input.valid.eq(is_effective(source)),
            source.ready.eq(encoder.input.ready),
        ]
        connect_units(m, encoder.output, output, self.encoding)
        return m


def connect_units(m: Module, source: Any, output: Any, encoding: Encoding) -> None:
    """Connect streams of code units; at the output their bytes are in the order of an encoding."""
    beat, shown = source.payload, output.payload
    m.d.comb += [
        output.valid.eq(source.valid),
        source.ready.eq(output.ready),
        shown.keep.eq(beat.keep),
        shown.last.eq(beat.last),
    ]
    for lane in range(lanes_of(source)):
        symbol = beat.symbols[lane]
        m.d.comb += [
            shown.symbols[lane].unit.eq(in_byte_order(symbol.unit, encoding)),
            shown.symbols[lane].error.eq(symbol.error),
        ]
