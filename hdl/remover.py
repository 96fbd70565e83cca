# SPDX-License-Identifier: BSD-2-Clause
"""The null-word remover: a stream with gaps becomes one without."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike, Signal, Value

from utf8fpga.hdl.packer.packer import PackedCore, Sparse


class Remover(PackedCore):
    """Beats with any `keep` in, packed beats out: the same symbols of each packet in the same order.

    All output beats but the last one of a packet are full: symbols wait until their beat is full or the packet ends. A
    packet without a symbol is one beat with `last` and no symbol; the end of a packet is such a beat, too, if the beat
    before it was full before `last` arrived.

    Latency: `latency` cycles from the beat that closes an output beat.

    Structure: a `Packer`.

    Args:
        symbol: the shape of a symbol.
        lanes: symbols per beat, at least 2.

    Ports:
        input: stream of `beat_layout`, with any `keep`.
        output: stream of `beat_layout`, the symbols contiguous from lane 0.
    """

    waits_for_words = True

    def __init__(self, symbol: ShapeLike, lanes: int) -> None:
        super().__init__(symbol, symbol, lanes, lanes, 0)

    def offered(self) -> Value:
        # A null beat may enter: it has no word and closes no row.
        return self.input.valid

    def pipeline(self, m: Module, accepted: Signal) -> Sparse:
        beat = self.input.payload
        return Sparse([Value.cast(symbol) for symbol in beat.symbols], beat.keep, beat.last, accepted)
