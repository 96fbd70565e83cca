# SPDX-License-Identifier: BSD-2-Clause
"""What a board sends, symbols of its core and markers, and the circuits that send each as bytes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.protocol import BYTES_PER_WORD, MARK, WordFlag


class Record(enum.Enum, shape=2):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """What a board sends: a symbol of its core, or a marker."""

    SYMBOL = 0
    END = 1
    """The end of a text."""
    LOST = 2
    """The end of a text at which received bytes were lost."""
    ANSWER = 3
    """The answer to a request."""


def record_layout(symbol: Any) -> data.StructLayout:
    """The payload of a form's input, with a symbol of this shape, which is undefined in a marker."""
    return data.StructLayout({"record": Record, "symbol": symbol})


class RecordForm(wiring.Component):
    """A circuit that turns records into bytes: a symbol as its subclass says, a marker as a word, see `WordFlag`.

    Latency: `data.valid` is asserted in the cycle after the transfer of a record.

    Args:
        symbol: the shape of the core's output symbols.

    Ports:
        records: stream of `record_layout`.
        data: stream of bytes to send.

    Attributes:
        prefix: the bytes in front of a marker.
    """

    prefix = b""

    def __init__(self, symbol: Any) -> None:
        super().__init__(
            {
                "records": In(stream.Signature(record_layout(symbol))),
                "data": Out(stream.Signature(8)),
            }
        )

    def symbol_bytes(self, symbol: Any) -> Value:
        """The bytes of a symbol, the first in the least significant bits."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, marker_bytes = int.from_bytes(self.prefix, "little"), len(self.prefix) + BYTES_PER_WORD
        item_word = self.symbol_bytes(self.records.payload.symbol)
        word = Signal(8 * marker_bytes)
        bytes_left = Signal(range(marker_bytes + 1))
        flags = {Record.END: WordFlag.END, Record.LOST: WordFlag.LOST, Record.ANSWER: WordFlag.ANSWER}
        idle = bytes_left == 0
        m.d.comb += [
            self.records.ready.eq(idle),
            self.data.valid.eq(~idle),
            self.data.payload.eq(word[:8]),
        ]
        with m.If(self.records.valid & self.records.ready):
            m.d.sync += bytes_left.eq(marker_bytes)
            with m.Switch(self.records.payload.record):
                with m.Case(Record.SYMBOL):
                    m.d.sync += [word.eq(item_word), bytes_left.eq(len(item_word) // 8)]
                for record, flag in flags.items():
                    with m.Case(record):
                        m.d.sync += word.eq(int(flag) << 8 * len(self.prefix) | first)
        with m.Elif(self.data.valid & self.data.ready):
            m.d.sync += [word.eq(word >> 8), bytes_left.eq(bytes_left - 1)]
        return m


class WordForm(RecordForm):
    """Each item of a decoder as a word, see `WordFlag`."""

    def symbol_bytes(self, symbol: Any) -> Value:
        return Cat(symbol.code_point, Const(0, 31 - len(symbol.code_point)), symbol.error)


class TextForm(RecordForm):
    """Each code unit of a transcoder to UTF-8 as it is, and MARK in front of a marker."""

    prefix = bytes([MARK])

    def symbol_bytes(self, symbol: Any) -> Value:
        unit: Value = symbol.unit
        return unit
