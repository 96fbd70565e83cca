# SPDX-License-Identifier: BSD-2-Clause
"""TMDS of DVI 1.0: pixels to symbols of 10 bits, and these to two bits in a cycle of a clock five times as fast."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.terminal.video import PIXEL

_CONTROL = (0b1101010100, 0b0010101011, 0b0101010100, 0b1010101011)
"""The symbols of the control bits C1 and C0."""


def minimised(byte: int) -> int:
    """The nine bits with at most five transitions in place of a byte, q_m of section 3.2.2."""
    ones = byte.bit_count()
    is_xnor = ones > 4 or (ones == 4 and not byte & 1)
    bits = [byte & 1]
    for place in range(1, 8):
        bits.append(bits[-1] ^ byte >> place & 1 ^ is_xnor)
    return sum(bit << place for place, bit in enumerate([*bits, not is_xnor]))


class TmdsEncoder(wiring.Component):
    """Encodes a channel. Its symbol is one cycle behind its input.

    Ports:
        colour: 4 bits, each of which stands for two of the byte, so that 15 is 255.
        control: C0 and C1, which are sent while `enable` is 0.
        enable: whether the colour is sent.
        symbol: the symbol, whose lowest bit is the first one.
    """

    def __init__(self) -> None:
        super().__init__({"colour": In(4), "control": In(2), "enable": In(1), "symbol": Out(10, init=_CONTROL[0])})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = [minimised(17 * colour) for colour in range(16)]
        word = Array(Const(each, 9) for each in words)[self.colour]
        excess = Array(Const((each & 0xFF).bit_count() - 4, signed(4)) for each in words)[self.colour]
        disparity = Signal(signed(5))
        """Half of the ones sent more than zeros."""
        is_inverted, is_xor = Signal(), word[8]
        with m.If((disparity == 0) | (excess == 0)):
            m.d.comb += is_inverted.eq(~is_xor)
        with m.Else():
            m.d.comb += is_inverted.eq((disparity > 0) == (excess > 0))
        with m.If(self.enable):
            change = Mux(is_inverted, is_xor - excess, excess - ~is_xor)
            balanced = Mux(is_inverted, -excess, excess)
            m.d.sync += [
                self.symbol.eq(Cat(word[:8] ^ is_inverted.replicate(8), is_xor, is_inverted)),
                disparity.eq(disparity + Mux((disparity == 0) | (excess == 0), balanced, change)),
            ]
        with m.Else():
            m.d.sync += [self.symbol.eq(Array(_CONTROL)[self.control]), disparity.eq(0)]
        return m


class TmdsTransmitter(wiring.Component):
    """Encodes pixels and serialises the symbols.

    Ports:
        pixel: a `PIXEL` in each cycle of the domain ``sync``.
        pairs: in each cycle of the domain ``shift``, which is five times as fast, two bits of blue, green, red and of
            the clock, the first one in the low bits. Its edges must not be close to those of ``sync``.
    """

    def __init__(self) -> None:
        super().__init__({"pixel": In(PIXEL), "pairs": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pixel, symbols = self.pixel, []
        for name in ("blue", "green", "red"):
            m.submodules[name] = encoder = TmdsEncoder()
            m.d.comb += [encoder.colour.eq(pixel[name]), encoder.enable.eq(pixel.enable)]
            if name == "blue":
                m.d.comb += encoder.control.eq(Cat(pixel.hsync, pixel.vsync))
            symbols.append(encoder.symbol)
        # The symbols are loaded three cycles after a change, when they are stable.
        phase, seen, before = Signal(), Signal(), Signal()
        m.d.sync += phase.eq(~phase)
        m.submodules.phase = FFSynchronizer(phase, seen, o_domain="shift")
        m.d.shift += before.eq(seen)
        for number, symbol in enumerate([*symbols, Const(0b0000011111, 10)]):
            bits = Signal(10, name=f"bits_{number}")
            m.d.shift += bits.eq(Mux(seen != before, symbol, bits >> 2))
            m.d.comb += self.pairs[2 * number : 2 * number + 2].eq(bits)
        return m
