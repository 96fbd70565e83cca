# SPDX-License-Identifier: BSD-2-Clause
"""The registers that count around a core: their values are those of CPython, with any delays."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import ClockSignal, Module, Signal
from amaranth.sim import SimulatorContext
from support.benches import run_benches, send_packets
from support.codecs_oracle import pieces

from utf8fpga.hdl import (
    AxiStreamCore,
    CoreParameters,
    DecoderParameters,
    PortOptions,
    TranscoderParameters,
)
from utf8fpga.hdl.statistics import REGISTERS, Statistics

PACKETS, ILL_FORMED, SYMBOLS, ERRORS, STATUS, CONTROL = range(0, 24, 4)


async def until(ctx: SimulatorContext, condition: Any, *sampled: Any) -> list[int]:
    """The values in the next cycle in which the condition is met."""
    for _ in range(200):
        _, _, is_met, *values = await ctx.tick().sample(condition, *sampled)
        if is_met:
            return list(values)
    raise AssertionError(f"{condition.name} is not asserted in 200 cycles")


class Wishbone:
    """A master of single classic cycles with random delays.

    Args:
        ports: the ports.
        choose: the delays.
    """

    def __init__(self, ports: Any, choose: random.Random) -> None:
        self._ports, self._choose = ports, choose

    async def _cycle(self, ctx: SimulatorContext, address: int, data: int, write: bool) -> int:
        ports = self._ports
        while self._choose.random() < 0.5:
            await ctx.tick()
        ctx.set(ports.wb_adr, address // 4)
        ctx.set(ports.wb_dat_w, data)
        ctx.set(ports.wb_sel, 15)
        ctx.set(ports.wb_we, write)
        ctx.set(ports.wb_cyc, 1)
        ctx.set(ports.wb_stb, 1)
        [value] = await until(ctx, ports.wb_ack, ports.wb_dat_r)
        ctx.set(ports.wb_stb, 0)
        # In a block of cycles wb_cyc stays asserted.
        ctx.set(ports.wb_cyc, self._choose.random() < 0.5)
        return value

    async def read(self, ctx: SimulatorContext, address: int) -> int:
        return await self._cycle(ctx, address, self._choose.getrandbits(32), False)

    async def write(self, ctx: SimulatorContext, address: int, data: int) -> None:
        await self._cycle(ctx, address, data, True)


def damaged(choose: random.Random) -> bytes:
    """A text without U+FFFD, often ill-formed."""
    text = bytearray("".join(choose.choices("aé€😀", k=choose.randrange(9))).encode())
    if text and choose.random() < 0.6:
        text[choose.randrange(len(text))] = choose.choice([0x41, 0x80, 0xC3, 0xE2, 0xFF])
    return bytes(text)


def words(text: bytes) -> list[bool]:
    return [error for *_, error in pieces(text, "utf-8")]


def utf16_units(text: bytes) -> list[bool]:
    return [error for each, *_, error in pieces(text, "utf-8") for _ in range(len(each.encode("utf-16-le")) // 2)]


CORES: dict[str, tuple[CoreParameters, dict[str, Any], Callable[[bytes], list[bool]]]] = {
    "sparse": (DecoderParameters(lanes=3, packed=False), {"registered": True}, words),
    "transcoder": (TranscoderParameters(to="utf-16-le", lanes=2), {"reset_low": True}, utf16_units),
}


@pytest.mark.parametrize("name", CORES)
def test_counts_are_those_of_cpython(name: str) -> None:
    parameters, options, oracle = CORES[name]
    choose = random.Random(name)
    ports = AxiStreamCore(parameters.build(), PortOptions(statistics="wishbone", **options))
    module = Module()
    module.submodules += ports
    module.d.comb += ports.clk.eq(ClockSignal())
    is_low = options.get("reset_low", False)
    reset = Signal(init=is_low)
    module.d.comb += (ports.rst_n if is_low else ports.rst).eq(reset)
    master, texts = Wishbone(ports, random.Random(name)), [damaged(choose) for _ in range(60)]
    symbols = [oracle(text) for text in texts]
    ended = Signal(range(len(texts) + 1))
    module.d.sync += ended.eq(ended + (ports.m_axis_tvalid & ports.m_axis_tready & ports.m_axis_tlast))

    async def send(ctx: SimulatorContext) -> None:
        await send_packets(ctx, ports, texts, choose)

    async def receive(ctx: SimulatorContext) -> None:
        ready = random.Random(name)
        while ctx.get(ended) < len(texts):
            ctx.set(ports.m_axis_tready, ready.random() < 0.7)
            await ctx.tick()

    async def watch(ctx: SimulatorContext) -> None:
        await master.write(ctx, CONTROL, 1)
        before = 0
        while ctx.get(ended) < len(texts):
            packets = await master.read(ctx, PACKETS)
            assert before <= packets <= ctx.get(ended)
            before = packets
        await ctx.tick().repeat(3 + (len(ports.m_axis_tkeep) - 1).bit_length())
        found = [await master.read(ctx, address) for address in (PACKETS, ILL_FORMED, SYMBOLS, ERRORS, STATUS)]
        errors = [sum(each) for each in symbols]
        expected = [len(texts), sum(map(bool, errors)), sum(map(len, symbols)), sum(errors), 1]
        assert found == expected
        assert ctx.get(ports.irq)
        ctx.set(reset, not is_low)
        await ctx.tick()
        ctx.set(reset, is_low)
        assert [await master.read(ctx, address) for address in range(0, 24, 4)] == [0] * 6

    run_benches(module, send, receive, watch)


def test_the_interrupt_follows_an_error_after_the_latency_even_if_it_is_cleared_then() -> None:
    circuit = Statistics("wishbone", 4)
    master = Wishbone(circuit, random.Random(1))

    async def bench(ctx: SimulatorContext) -> None:
        await master.write(ctx, CONTROL, 1)
        await ctx.tick()
        for port in (circuit.keep, circuit.error, circuit.leaves):
            ctx.set(port, 1)
        await ctx.tick()
        ctx.set(circuit.leaves, 0)
        await ctx.tick().repeat(circuit.latency - 2)
        assert not ctx.get(circuit.irq)
        for port, value in ((circuit.wb_adr, STATUS // 4), (circuit.wb_cyc, 1), (circuit.wb_stb, 1)):
            ctx.set(port, value)
        await ctx.tick()
        assert ctx.get(circuit.irq)

    run_benches(circuit, bench)


def test_the_table_of_the_documentation_is_that_of_the_circuit() -> None:
    page = (Path(__file__).parents[2] / "docs" / "verilog-reference.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([0-9A-F]{2})` \| `(\w+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    assert rows == [(f"{4 * number:02X}", *register) for number, register in enumerate(REGISTERS)]
