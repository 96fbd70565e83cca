# SPDX-License-Identifier: BSD-2-Clause
"""What accompanies a packet around a core: its `tid`, `tdest` and `tuser` are at the output with each of its beats."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ClockSignal, Module
from amaranth.sim import SimulatorContext
from support.benches import run_benches
from support.command import utf8fpga
from support.oracle import refusal

from utf8fpga.hdl import (
    AxiStreamCore,
    CoreParameters,
    DecoderParameters,
    PortOptions,
    RemoverParameters,
    axi_testbench,
)
from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.model import InvalidArgumentError

FIELDS = {"tid": 8, "tdest": 4, "tuser": 5}

CORES: dict[str, tuple[CoreParameters, dict[str, Any]]] = {
    "serial-registered": (DecoderParameters(pipeline=2), {"registered": True, "reset_low": True}),
    "sparse": (DecoderParameters(lanes=4, packed=False, kind=True), {"flags": "byte"}),
    "packed": (DecoderParameters(lanes=4), {"flags": "word"}),
    "remover": (RemoverParameters(lanes=2, user=3), {}),
}

UNITS = [0x41, 0xC3, 0xA9, 0xE2, 0x82, 0xFF, 0xEF, 0xFEFF, 0xFFFE]


class Beat:
    """An input beat with random symbols and random values beside it."""

    def __init__(self, choose: random.Random, lanes: int, present: list[int], last: bool, size: int) -> None:
        self.data = sum(choose.choice(UNITS) % (1 << 8 * size) << 8 * size * lane for lane in range(lanes))
        self.keep = sum(((1 << size) - 1) << size * lane for lane in present)
        self.last = last
        self.values = {name: choose.randrange(1 << bits) for name, bits in FIELDS.items()}


def packets_of(parameters: CoreParameters, size: int, choose: random.Random) -> list[list[Beat]]:
    """Packets of which most are short, with null beats also before the first beat."""
    lanes = getattr(parameters, "lanes", 1)
    packets = []
    for _ in range(110):
        units = choose.choice([0, 1, 1, 1, 1, lanes, 2 * lanes, 5 * lanes + 1])
        packet = []
        for at in range(0, max(units, 1), lanes):
            packet += [Beat(choose, lanes, [], False, size)] * (choose.random() < 0.1)
            count = min(lanes, units - at)
            present = (
                choose.sample(range(lanes), choose.randint(1, count))
                if parameters.accepts_gaps and count
                else list(range(count))
            )
            packet.append(Beat(choose, lanes, present, at + lanes >= units, size))
        packets.append(packet)
    return packets


class Setup:
    """A core with `FIELDS`, in a module with its clock."""

    def __init__(self, parameters: CoreParameters, **options: Any) -> None:
        self.ports = AxiStreamCore(parameters.build(), PortOptions(**FIELDS, **options))
        self.module = m = Module()
        m.submodules += self.ports
        m.d.comb += self.ports.clk.eq(ClockSignal())
        if options.get("reset_low"):
            m.d.comb += self.ports.rst_n.eq(1)
        self.shift = {side: len(getattr(self.ports, f"{side}_axis_tuser")) - FIELDS["tuser"] for side in "sm"}

    async def send(self, ctx: SimulatorContext, beat: Beat) -> None:
        ports = self.ports
        ctx.set(ports.s_axis_tdata, beat.data)
        ctx.set(ports.s_axis_tkeep, beat.keep)
        ctx.set(ports.s_axis_tlast, beat.last)
        ctx.set(ports.s_axis_tid, beat.values["tid"])
        ctx.set(ports.s_axis_tdest, beat.values["tdest"])
        ctx.set(ports.s_axis_tuser, beat.values["tuser"] << self.shift["s"])
        ctx.set(ports.s_axis_tvalid, 1)
        await ctx.tick().until(ports.s_axis_tready)
        ctx.set(ports.s_axis_tvalid, 0)

    def payload(self) -> list[Any]:
        ports = self.ports
        user = ports.m_axis_tuser[self.shift["m"] :]
        return [ports.m_axis_tid, ports.m_axis_tdest, user, ports.m_axis_tlast, ports.m_axis_tkeep]


@pytest.mark.parametrize("name", CORES)
def test_the_values_of_the_first_beat_accompany_each_beat_of_a_packet(name: str) -> None:
    parameters, options = CORES[name]
    setup, choose = Setup(parameters, **options), random.Random(name)
    ports, stalls = setup.ports, random.Random(name)
    packets = packets_of(parameters, SymbolPorts.of(parameters.build().input).size, choose)
    expected = [list(next(beat for beat in packet if beat.keep or beat.last).values.values()) for packet in packets]
    found: list[list[list[int]]] = [[]]

    async def send(ctx: SimulatorContext) -> None:
        for number, packet in enumerate(packets):
            for beat in packet:
                # The second half without a pause, so that the core fills up while the output is not ready.
                while number < 50 and choose.random() < 0.3:
                    await ctx.tick()
                await setup.send(ctx, beat)

    async def receive(ctx: SimulatorContext) -> None:
        waiting: tuple[int, ...] | None = None
        paused = 0
        while len(found) <= len(packets):
            if not paused and stalls.random() < 0.02:
                paused = stalls.randrange(150)
            paused = max(0, paused - 1)
            ctx.set(ports.m_axis_tready, not paused and stalls.random() < 0.8)
            _, _, valid, ready, *beat = await ctx.tick().sample(
                ports.m_axis_tvalid, ports.m_axis_tready, *setup.payload()
            )
            assert waiting is None or (valid, *beat) == (1, *waiting)
            waiting = tuple(beat) if valid and not ready else None
            if valid and ready:
                found[-1].append(beat[:3])
                if beat[3]:
                    found.append([])

    run_benches(setup.module, send, receive)
    assert [each[0] for each in found[:-1]] == expected
    assert all(beat == packet[0] for packet in found for beat in packet)


def test_wrong_widths_and_a_test_bench() -> None:
    assert "tid 65 is not in 0..64" in refusal(ValueError, PortOptions, tid=65)
    assert "tdest -1 is not in 0..64" in refusal(ValueError, PortOptions, tdest=-1)
    with pytest.raises(InvalidArgumentError, match="a test bench does not drive tuser: leave out tuser"):
        axi_testbench(DecoderParameters().build(), options=PortOptions(tuser=1))


def test_the_header_has_the_figures_of_the_core_only_without_additions() -> None:
    assert b"\n// Measured " in utf8fpga("generate", "--lanes", "1", "--name", "other").stdout
    for option in ("--tid 1", "--statistics wishbone", "--registered", "--flags word"):
        assert b"\n// Measured " not in utf8fpga("generate", "--lanes", "1", *option.split()).stdout, option
