# SPDX-License-Identifier: BSD-2-Clause
"""What a board sends, symbols of its core and markers, and the circuit that sends each as a word.

The circuit that sends text is `TextForm`.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.protocol import BYTES_PER_WORD, COUNTERS, WordFlag

COUNTERS_LAYOUT = data.ArrayLayout(32, COUNTERS)
"""The values of the counters, in their order."""


class Record(enum.Enum, shape=2):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """What a board sends: a symbol of its core, or a marker."""

    SYMBOL = 0
    END = 1
    """The end of a text."""
    LOST = 2
    """The end of a text at which received bytes were lost."""
    COUNTERS = 3
    """The answer to a request for the counters."""


def record_layout(symbol: Any) -> data.StructLayout:
    """The payload of a form's input, with a symbol of this shape, which is undefined in a marker."""
    return data.StructLayout({"record": Record, "symbol": symbol})


def has_field(symbol: Any, name: str) -> bool:
    """Whether a symbol, of which this is the shape or a value, is a structure with a field of this name."""
    shape = symbol.shape() if isinstance(symbol, Value | data.View) else symbol
    return isinstance(shape, data.StructLayout) and name in shape.members


def is_error(symbol: Any) -> Value:
    """Whether a symbol is ill-formed: its field `error`, or the complement of `well_formed`; 0 if it has neither."""
    if has_field(symbol, "well_formed"):
        return ~symbol.well_formed
    found: Value = symbol.error if has_field(symbol, "error") else Const(0)
    return found


class RecordForm(wiring.Component):
    """A circuit that turns records into bytes.

    Args:
        symbol: the shape of the core's output symbols.

    Ports:
        records: stream of `record_layout`.
        units: stream of the bytes that the core has received, in order. A form that does not use them does not
            transfer them.
        counters: the counters, which are steady while `records` has Record.COUNTERS.
        data: stream of bytes to send.

    Attributes:
        uses_units: whether each symbol transfers its units.
    """

    uses_units = False

    def __init__(self, symbol: Any) -> None:
        super().__init__(
            {
                "records": In(stream.Signature(record_layout(symbol))),
                "units": In(stream.Signature(8)),
                "counters": In(COUNTERS_LAYOUT),
                "data": Out(stream.Signature(8)),
            }
        )


class WordForm(RecordForm):
    """Each record as a word of 4 bytes, see `WordFlag`; the counters are three more words.

    Latency: `data.valid` is asserted in the cycle after the transfer of a record.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Signal(8 * BYTES_PER_WORD)
        bytes_left = Signal(range(BYTES_PER_WORD + 1))
        words_left = Signal(range(COUNTERS + 1))
        """The number of counters to send after the word."""
        item = self.records.payload.symbol
        item_word = Cat(item.code_point, Const(0, 31 - len(item.code_point)), item.error)
        flags = {Record.END: WordFlag.END, Record.LOST: WordFlag.LOST, Record.COUNTERS: WordFlag.COUNTERS}
        idle = bytes_left == 0
        m.d.comb += [
            self.records.ready.eq(idle & (words_left == 0)),
            self.data.valid.eq(~idle),
            self.data.payload.eq(word[:8]),
        ]
        with m.If(self.records.valid & self.records.ready):
            m.d.sync += bytes_left.eq(BYTES_PER_WORD)
            with m.Switch(self.records.payload.record):
                with m.Case(Record.SYMBOL):
                    m.d.sync += word.eq(item_word)
                for record, flag in flags.items():
                    with m.Case(record):
                        m.d.sync += word.eq(int(flag))
                        if record is Record.COUNTERS:
                            m.d.sync += words_left.eq(COUNTERS)
        with m.Elif(idle & (words_left != 0)):
            # `words_left` counts down, but the first counter is sent first.
            counter = Array([self.counters[n] for n in reversed(range(COUNTERS))])[words_left - 1]
            m.d.sync += [word.eq(counter), bytes_left.eq(BYTES_PER_WORD), words_left.eq(words_left - 1)]
        with m.Elif(self.data.valid & self.data.ready):
            m.d.sync += [word.eq(word >> 8), bytes_left.eq(bytes_left - 1)]
        return m
