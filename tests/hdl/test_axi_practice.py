# SPDX-License-Identifier: BSD-2-Clause
"""What docs/verilog.md says of the decoders between other AXI4-Stream components."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import ClockSignal, Module, Signal
from amaranth.sim import SimulatorContext
from support.benches import run_benches, send_packets

from utf8fpga.hdl import (
    AxiStreamCore,
    CoreParameters,
    DecoderParameters,
    RemoverParameters,
    build,
)


class Beat(NamedTuple):
    """An output beat: the words that are present with their flags, the lanes that have one, and `last`."""

    words: list[tuple[int, int]]
    lanes: list[int]
    last: int


class Chain:
    """Modules one behind the other.

    Args:
        cores: the parameters of each core; the first one is a decoder.
    """

    def __init__(self, *cores: CoreParameters) -> None:
        self.rst = Signal()
        self._module = m = Module()
        modules = [AxiStreamCore(build(each)) for each in cores]
        self.first, self.last = modules[0], modules[-1]
        for module in modules:
            m.submodules += module
            m.d.comb += [module.clk.eq(ClockSignal()), module.rst.eq(self.rst)]
        for one, other in pairwise(modules):
            for name in ("tdata", "tkeep", "tuser", "tlast", "tvalid"):
                m.d.comb += getattr(other, f"s_axis_{name}").eq(getattr(one, f"m_axis_{name}"))
            m.d.comb += one.m_axis_tready.eq(other.s_axis_tready)

    def simulate(self, *benches: Any) -> None:
        """Run test benches until they end."""
        run_benches(self._module, *benches)

    def run(self, packets: Sequence[bytes], seed: int) -> list[list[Beat]]:
        """The output beats of each packet; each beat of the input has bytes, and both sides pause at random."""
        lanes = len(self.first.s_axis_tkeep)
        choose, found = random.Random(seed), [[]]

        async def send(ctx: SimulatorContext) -> None:
            await send_packets(ctx, self.first, packets, choose)

        async def receive(ctx: SimulatorContext) -> None:
            out = self.last
            while len(found) <= len(packets):
                ctx.set(out.m_axis_tready, choose.random() < 0.7)
                _, _, valid, ready, data, keep, user, last = await ctx.tick().sample(
                    *(out.m_axis_tvalid, out.m_axis_tready, out.m_axis_tdata, out.m_axis_tkeep),
                    *(out.m_axis_tuser, out.m_axis_tlast),
                )
                if not (valid and ready):
                    continue
                present = [lane for lane in range(lanes) if keep >> 4 * lane & 15 == 15]
                assert keep == sum(15 << 4 * lane for lane in present)
                words = [(data >> 32 * lane & 0xFFFFFFFF, user >> lane & 1) for lane in present]
                found[-1].append(Beat(words, present, last))
                if last:
                    found.append([])

        self.simulate(send, receive)
        return found[:-1]


def damaged(seed: int) -> list[bytes]:
    """Packets of at least one byte, well-formed and damaged."""
    choose = random.Random(seed)
    packets = ["né".encode(), b"\xe2\x82", b"\xf0\x9f", b"A", b"\xff", "€uro 😀😀".encode()]
    for _ in range(40):
        text = bytearray("".join(choose.choices("aé€😀", k=choose.randrange(1, 12))).encode())
        text[choose.randrange(len(text))] = choose.randrange(256)
        packets.append(bytes(text))
    return packets


CORES = {
    "serial": DecoderParameters(optimize="speed"),
    "sparse": DecoderParameters(lanes=3, packed=False),
    "packed": DecoderParameters(lanes=3),
}


@pytest.mark.parametrize("name", CORES)
def test_last_beat_has_a_word_if_the_last_beat_of_the_input_has_a_byte(name: str) -> None:
    packets = damaged(1)
    beats = Chain(CORES[name]).run(packets, seed=2)
    assert all(each[-1].words for each in beats)
    texts = ["".join(chr(word) for beat in each for word, _ in beat.words) for each in beats]
    assert texts == [packet.decode("utf-8", "replace") for packet in packets]


@pytest.mark.parametrize("packed", [True, False])
def test_all_beats_but_the_last_are_full_behind_a_remover(packed: bool) -> None:
    packets, lanes = damaged(3), 3
    decoder = DecoderParameters(lanes=lanes, packed=packed)
    remover = RemoverParameters(lanes=lanes, width=32, user=1)
    partial = False
    for chain in (Chain(decoder), Chain(decoder, remover)):
        beats = chain.run(packets, seed=4)
        partial = any(len(beat.words) < lanes for each in beats for beat in each[:-1])
        texts = ["".join(chr(word) for beat in each for word, _ in beat.words) for each in beats]
        assert texts == [packet.decode("utf-8", "replace") for packet in packets]
        # The replacement character is not in any of the texts, so each one is an ill-formed item.
        flags = [[flag for beat in each for _, flag in beat.words] for each in beats]
        assert flags == [[int(character == "\ufffd") for character in text] for text in texts]
        assert partial == (chain.first is chain.last), "without the remover there are such beats"
    assert not partial
    assert all(beat.lanes == list(range(len(beat.lanes))) for each in beats for beat in each)
