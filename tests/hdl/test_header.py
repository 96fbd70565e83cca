# SPDX-License-Identifier: BSD-2-Clause
"""The header of the generated Verilog: its figures are those of the circuit."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator
from support.verilog_ports import header_of

from utf8fpga.hdl import AnyDecoder, Decoder, axi_verilog
from utf8fpga.model.practices import Practice
from utf8fpga.sim import Simulation

DECODERS: dict[str, dict[str, Any]] = {
    "serial": {},
    "each-unit": {"practice": Practice.EACH_UNIT, "pipeline": 1},
    "whole-subsequence": {"practice": Practice.WHOLE_SUBSEQUENCE},
    "parallel-1": {"architecture": "parallel"},
    "parallel-2-pipeline-0": {"lanes": 2, "pipeline": 0, "packed": False},
    "parallel-5-pipeline-3": {"lanes": 5, "pipeline": 3, "packed": False},
    "parallel-4-registers": {"lanes": 4, "buffer": "registers", "packed": False},
    "packed-2": {"lanes": 2},
    "packed-4": {"lanes": 4},
    "refresh": {"lanes": 4, "refresh": 1000, "packed": False},
}


_LONGER = ("whole-subsequence", "parallel-2-pipeline-0", "parallel-5-pipeline-3", "packed-2", "parallel-4-registers")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(parameters, id=name, marks=[pytest.mark.slow] * (name in _LONGER))
        for name, parameters in DECODERS.items()
    ],
)
def decoder(request: pytest.FixtureRequest) -> AnyDecoder:
    return Decoder(**request.param)


@lru_cache(maxsize=1)
def header(decoder: AnyDecoder) -> str:
    return header_of(axi_verilog(decoder))


def promised(decoder: AnyDecoder, pattern: str) -> int:
    """The only number in a sentence of the header."""
    (number,) = re.findall(pattern, header(decoder))
    return int(number)


def test_the_latency_is_the_measured_one(decoder: AnyDecoder) -> None:
    latency = promised(decoder, r"Latency: at most (\d+) cycles? from the beat that determines a symbol")
    simulation, lanes = Simulation(decoder), decoder.lanes
    measured = []
    # The last beat of a text determines its own items.
    texts = [b"A" * lanes, b"\x80", (b"\xf0\x90\x80" * lanes)[:lanes], b"A"]
    # The second beat of this one fills a packed beat and ends the next.
    texts += ["é".encode() + b"A" * (2 * lanes - 2)]
    for text in texts:
        run = simulation.run([text])
        assert run.texts == [simulation.expected(text)]
        measured.append(max(run.valid_since) - run.accepted[-1])
    assert max(measured) == latency


def test_ready_is_low_after_a_reset_for_as_long_as_specified(decoder: AnyDecoder) -> None:
    text = header(decoder)
    if "s_axis_tready is high at once" in text:
        low = 0
    else:
        low = promised(decoder, r"After rst, s_axis_tready is low for (\d+) cycles?\.")
    m, domain = Module(), ClockDomain("sync")
    m.domains += domain
    m.submodules.decoder = decoder
    found = []

    async def bench(ctx: Any) -> None:
        ctx.set(decoder.output.ready, 1)
        for resetting in (1, 3):
            ctx.set(domain.rst, 1)
            for _ in range(resetting):
                await ctx.tick()
            ctx.set(domain.rst, 0)
            cycles = 0
            while not ctx.get(decoder.input.ready):
                await ctx.tick()
                cycles += 1
            found.append(cycles)
            for _ in range(20):
                assert ctx.get(decoder.input.ready)
                await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert found == [low] * 2
