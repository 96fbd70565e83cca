# SPDX-License-Identifier: BSD-2-Clause
"""cocotb tests of a generated decoder: texts, ill-formed bytes, empty packets, pauses on both sides."""

import random

import cocotb

from utf8fpga.sim.cocotb import DecoderBench, pauses

TEXTS = ["", "a", "né", "汉字", "😀😀", "The quick brown fox"]
DAMAGED = ["C0 80", "ED A0 80", "F4 90 80 80", "E2 82", "80", "61 F0 9F 98", "FF FE"]


@cocotb.test()
async def texts(dut):
    bench = DecoderBench(dut)
    await bench.reset()
    await bench.send(*(text.encode() for text in TEXTS))
    assert await bench.check() == sum(map(len, TEXTS))
    await bench.send(*map(bytes.fromhex, DAMAGED))
    await bench.check()


@cocotb.test()
async def pauses_on_both_sides(dut):
    bench = DecoderBench(dut)
    bench.source.set_pause_generator(pauses(1, 0.3))
    bench.sink.set_pause_generator(pauses(2, 0.5))
    await bench.reset()
    generator = random.Random(3)
    for _ in range(200):
        text = bytearray("".join(generator.choices("aé汉😀", k=generator.randrange(12))).encode())
        if text and generator.random() < 0.5:
            text[generator.randrange(len(text))] = generator.randrange(256)
        await bench.send(bytes(text))
    await bench.check()
