# SPDX-License-Identifier: BSD-2-Clause
"""The tile through its pins, with a host that has another clock, compared with CPython."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

SEND, LAST, EMPTY, NEXT, SELECT = 1, 2, 4, 8, 0x30
DONE, VALID = 1 << 6, 1 << 7
ERROR, PRESENT, ENDS = 1, 1 << 4, 1 << 5

TEXTS = [
    b"",
    b"A",
    "\0\x7f\x80\u07ff\u0800\ufffd\uffff\U00010000\U0010ffff".encode(),
    b"\xe2\x82A",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80\xff\x80",
    bytes(random.Random(1).choices([0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xED, 0xF0, 0xF4], k=100)),
]


class Host:
    """A microcontroller, which sends and receives at once: it changes the pins at any time and reads them later."""

    def __init__(self, tile):
        self.tile, self.levels, self.random = tile, 0, random.Random(2)

    async def pins(self, mask, levels):
        self.levels = self.levels & ~mask | levels
        self.tile.uio_in.value = self.levels
        await Timer(self.random.randint(50, 150), "ns")

    async def until(self, pin, asserted):
        for _ in range(1000):
            if bool(self.tile.uio_out.value.to_unsigned() & pin) == asserted:
                return
            await Timer(17, "ns")
        raise AssertionError(f"no answer at {pin:#04x}")

    async def send(self, text):
        for place, byte in enumerate(text + b"\0"):
            self.tile.ui_in.value = byte
            await self.pins(LAST | EMPTY, LAST | EMPTY if place == len(text) else 0)
            await self.pins(SEND, SEND)
            await self.until(DONE, True)
            await self.pins(SEND, 0)
            await self.until(DONE, False)

    async def receive(self):
        """The text that the tile outputs."""
        output, flags = "", 0
        while not flags & ENDS:
            await self.until(VALID, True)
            found = []
            for select in range(4):
                await self.pins(SELECT, select << 4)
                found.append(self.tile.uo_out.value.to_unsigned())
            await self.pins(NEXT, NEXT)
            await self.until(VALID, False)
            await self.pins(NEXT, 0)
            code_point, flags = int.from_bytes(found[:3], "little"), found[3]
            if flags & PRESENT:
                assert not flags & ERROR or code_point == 0xFFFD
                assert bool(flags & ERROR) == bool(flags >> 1 & 7)
                output += chr(code_point)
        return output


@cocotb.test()
async def outputs_the_text_of_cpython(tile):
    """Well-formed and ill-formed texts, one after another, without a reset between them."""
    cocotb.start_soon(Clock(tile.clk, 20, "ns").start())
    tile.ena.value, tile.ui_in.value, tile.uio_in.value, tile.rst_n.value = 1, 0, 0, 0
    await Timer(100, "ns")
    tile.rst_n.value = 1
    await Timer(100, "ns")
    assert tile.uio_oe.value.to_unsigned() == DONE | VALID
    host = Host(tile)
    for text in TEXTS:
        sending = cocotb.start_soon(host.send(text))
        assert await host.receive() == text.decode("utf-8", "replace"), text
        await sending
