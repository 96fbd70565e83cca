# SPDX-License-Identifier: BSD-2-Clause
"""The registers that count around a core: their values are those of CPython, over both buses, with any delays."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import ClockSignal, Module, Signal
from amaranth.sim import SimulatorContext
from support.benches import run_benches
from support.codecs_oracle import pieces

from utf8fpga.hdl import (
    AxiStreamCore,
    CoreParameters,
    DecoderParameters,
    PortOptions,
    TranscoderParameters,
    ValidatorParameters,
)
from utf8fpga.hdl.statistics import BUSES, REGISTERS, Statistics

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

    async def _cycle(self, ctx: SimulatorContext, address: int, data: int, select: int, write: bool) -> int:
        ports = self._ports
        while self._choose.random() < 0.5:
            await ctx.tick()
        ctx.set(ports.wb_adr, address // 4)
        ctx.set(ports.wb_dat_w, data)
        ctx.set(ports.wb_sel, select)
        ctx.set(ports.wb_we, write)
        ctx.set(ports.wb_cyc, 1)
        ctx.set(ports.wb_stb, 1)
        [value] = await until(ctx, ports.wb_ack, ports.wb_dat_r)
        ctx.set(ports.wb_stb, 0)
        # In a block of cycles wb_cyc stays asserted.
        ctx.set(ports.wb_cyc, self._choose.random() < 0.5)
        return value

    async def read(self, ctx: SimulatorContext, address: int) -> int:
        return await self._cycle(ctx, address, self._choose.getrandbits(32), 15, False)

    async def write(self, ctx: SimulatorContext, address: int, data: int, strobe: int = 15) -> None:
        await self._cycle(ctx, address, data, strobe, True)


class AxiLite:
    """A master of single accesses with random delays before them.

    Args: see `Wishbone`.
    """

    def __init__(self, ports: Any, choose: random.Random) -> None:
        self._ports, self._choose = ports, choose

    async def _access(self, ctx: SimulatorContext, values: dict[str, int], request: str, answer: str) -> int:
        ports = self._ports
        while self._choose.random() < 0.5:
            await ctx.tick()
        for name, value in values.items():
            ctx.set(getattr(ports, f"s_axil_{name}"), value)
        await until(ctx, getattr(ports, f"s_axil_{request}ready"))
        for name in ("awvalid", "wvalid", "arvalid"):
            ctx.set(getattr(ports, f"s_axil_{name}"), 0)
        ctx.set(getattr(ports, f"s_axil_{answer}ready"), 1)
        [value] = await until(ctx, getattr(ports, f"s_axil_{answer}valid"), ports.s_axil_rdata)
        ctx.set(getattr(ports, f"s_axil_{answer}ready"), 0)
        return value

    async def read(self, ctx: SimulatorContext, address: int) -> int:
        return await self._access(ctx, {"araddr": address, "arvalid": 1}, "ar", "r")

    async def write(self, ctx: SimulatorContext, address: int, data: int, strobe: int = 15) -> None:
        sent = {"awaddr": address, "awvalid": 1, "wdata": data, "wstrb": strobe, "wvalid": 1}
        await self._access(ctx, sent, "aw", "b")


MASTERS: dict[str, Callable[[Any, random.Random], Any]] = {"wishbone": Wishbone, "axi-lite": AxiLite}


def damaged(choose: random.Random) -> bytes:
    """A text without U+FFFD, often ill-formed."""
    text = bytearray("".join(choose.choices("aé€😀", k=choose.randrange(9))).encode())
    if text and choose.random() < 0.6:
        text[choose.randrange(len(text))] = choose.choice([0x41, 0x80, 0xC3, 0xE2, 0xFF])
    return bytes(text)


def words(text: bytes) -> list[bool]:
    return [error for *_, error in pieces(text, "utf-8")]


def flagged_bytes(text: bytes) -> list[bool]:
    return [error for _, start, end, error in pieces(text, "utf-8") for _ in range(start, end)]


def utf16_units(text: bytes) -> list[bool]:
    return [error for each, *_, error in pieces(text, "utf-8") for _ in range(len(each.encode("utf-16-le")) // 2)]


CORES: dict[str, tuple[CoreParameters, dict[str, Any], str, Callable[[bytes], list[bool]]]] = {
    "serial": (DecoderParameters(), {}, "wishbone", words),
    "packed": (DecoderParameters(lanes=4), {"flags": "word"}, "axi-lite", words),
    "sparse": (DecoderParameters(lanes=3, packed=False), {"registered": True}, "axi-lite", words),
    "pass-through": (ValidatorParameters(lanes=2, pass_through=True), {"tid": 2}, "wishbone", flagged_bytes),
    "transcoder": (TranscoderParameters(to="utf-16-le", lanes=2), {"reset_low": True}, "axi-lite", utf16_units),
}


@pytest.mark.parametrize("name", CORES)
def test_counts_are_those_of_cpython(name: str) -> None:
    parameters, options, bus, oracle = CORES[name]
    core, choose = parameters.build(), random.Random(name)
    ports = AxiStreamCore(core, PortOptions(statistics=bus, **options))
    module = Module()
    module.submodules += ports
    module.d.comb += ports.clk.eq(ClockSignal())
    is_low = options.get("reset_low", False)
    reset = Signal(init=is_low)
    module.d.comb += (ports.rst_n if is_low else ports.rst).eq(reset)
    master, texts, lanes = MASTERS[bus](ports, random.Random(name)), [damaged(choose) for _ in range(60)], core.lanes
    symbols = [oracle(text) for text in texts]
    ended = Signal(range(len(texts) + 1))
    module.d.sync += ended.eq(ended + (ports.m_axis_tvalid & ports.m_axis_tready & ports.m_axis_tlast))

    async def send(ctx: SimulatorContext) -> None:
        for text in texts:
            for at in range(0, max(len(text), 1), lanes):
                units = text[at : at + lanes]
                while choose.random() < 0.3:
                    await ctx.tick()
                ctx.set(ports.s_axis_tdata, int.from_bytes(units, "little"))
                ctx.set(ports.s_axis_tkeep, (1 << len(units)) - 1)
                ctx.set(ports.s_axis_tlast, at + lanes >= len(text))
                ctx.set(ports.s_axis_tvalid, 1)
                await ctx.tick().until(ports.s_axis_tready)
                ctx.set(ports.s_axis_tvalid, 0)

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


@pytest.mark.parametrize("bus", BUSES)
def test_registers_and_interrupt(bus: str) -> None:
    circuit = Statistics(bus, 4)
    master = MASTERS[bus](circuit, random.Random(bus))

    async def beat(ctx: SimulatorContext, keep: int, error: int, last: int = 0, leaves: int = 1) -> None:
        for port, value in (("keep", keep), ("error", error), ("last", last), ("leaves", leaves)):
            ctx.set(getattr(circuit, port), value)
        await ctx.tick()
        ctx.set(circuit.leaves, 0)

    async def bench(ctx: SimulatorContext) -> None:
        async def values() -> list[int]:
            return [await master.read(ctx, 4 * number) for number in range(8)]

        await beat(ctx, 15, 15, 1, leaves=0)
        await beat(ctx, 0b1011, 0)
        await beat(ctx, 0b1111, 0b1010)
        await beat(ctx, 0, 0, 1)
        await beat(ctx, 0b0001, 0, 1)
        await ctx.tick().repeat(circuit.latency)
        assert await values() == [2, 1, 8, 2, 1, 0, 0, 0]
        assert not ctx.get(circuit.irq), "it is not enabled"
        for address in (PACKETS, SYMBOLS, 24, 28):
            await master.write(ctx, address, 0xFFFFFFFF)
        await master.write(ctx, CONTROL, 0xFFFFFFFF, 0b1110)
        assert await values() == [2, 1, 8, 2, 1, 0, 0, 0]
        await master.write(ctx, CONTROL, 1)
        assert ctx.get(circuit.irq)
        await master.write(ctx, STATUS, 0xFFFFFFFE)
        assert ctx.get(circuit.irq), "bit 0 is not written"
        await master.write(ctx, STATUS, 1)
        assert not ctx.get(circuit.irq)
        assert await values() == [2, 1, 8, 2, 0, 1, 0, 0]
        await master.write(ctx, CONTROL, 2)
        assert await values() == [0, 0, 0, 0, 0, 0, 0, 0]
        await beat(ctx, 1, 1)
        await ctx.tick().repeat(circuit.latency)
        assert await values() == [0, 0, 1, 1, 1, 0, 0, 0]

    run_benches(circuit, bench)


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


async def send_all(
    ctx: SimulatorContext, circuit: Statistics, channel: str, payloads: list[dict[str, int]], choose: random.Random
) -> None:
    """Send on a channel with random pauses."""
    for payload in payloads:
        for name, value in payload.items():
            ctx.set(getattr(circuit, f"s_axil_{name}"), value)
        ctx.set(getattr(circuit, f"s_axil_{channel}valid"), 1)
        await until(ctx, getattr(circuit, f"s_axil_{channel}ready"))
        ctx.set(getattr(circuit, f"s_axil_{channel}valid"), 0)
        while choose.random() < 0.3:
            await ctx.tick()


def test_axi_lite_answers_each_request_of_a_master_that_does_not_wait_for_responses() -> None:
    circuit = Statistics("axi-lite", 1)
    choose, values = random.Random(1), [0, 1] * 6
    answers: dict[str, list[int]] = {"b": [], "r": []}

    async def addresses(ctx: SimulatorContext) -> None:
        await send_all(ctx, circuit, "aw", [{"awaddr": CONTROL}] * len(values), choose)

    async def data(ctx: SimulatorContext) -> None:
        await send_all(ctx, circuit, "w", [{"wdata": value, "wstrb": 1} for value in values], choose)

    async def reads(ctx: SimulatorContext) -> None:
        await send_all(ctx, circuit, "ar", [{"araddr": CONTROL}, {"araddr": PACKETS}] * 6, choose)

    async def responses(ctx: SimulatorContext) -> None:
        waiting: int | None = None
        for _ in range(200):
            for channel in answers:
                ctx.set(getattr(circuit, f"s_axil_{channel}ready"), choose.random() < 0.2)
            _, _, is_written, is_read, is_valid, value, response = await ctx.tick().sample(
                circuit.s_axil_bvalid & circuit.s_axil_bready,
                circuit.s_axil_rvalid & circuit.s_axil_rready,
                *(circuit.s_axil_rvalid, circuit.s_axil_rdata, circuit.s_axil_bresp),
            )
            assert waiting is None or (is_valid, value) == (1, waiting)
            waiting = value if is_valid and not is_read else None
            answers["b"] += [response] * is_written
            answers["r"] += [value] * is_read

    run_benches(circuit, addresses, data, reads, responses)
    assert answers["b"] == [0] * len(values)
    assert len(answers["r"]) == 12
    assert answers["r"][1::2] == [0] * 6
    assert set(answers["r"][::2]) == {0, 1}


def test_the_table_of_the_documentation_is_that_of_the_circuit() -> None:
    page = (Path(__file__).parents[2] / "docs" / "verilog-reference.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([0-9A-F]{2})` \| `(\w+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    assert rows == [(f"{4 * number:02X}", *register) for number, register in enumerate(REGISTERS)]
