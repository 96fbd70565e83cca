# SPDX-License-Identifier: BSD-2-Clause
"""The header of the generated Verilog: its figures are those of the circuit."""

from __future__ import annotations

import re
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import ClockDomain
from support.benches import run_benches
from support.tiers import tiered
from support.verilog_ports import declared_ports, text_of

from utf8fpga.hdl import (
    Core,
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
    axi_verilog,
    build,
    decoder_core,
)
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.hdl.verilog.header import header as header_lines
from utf8fpga.hdl.verilog.interface import Interface
from utf8fpga.sim import Simulation

DECODERS = [
    DecoderParameters(),
    DecoderParameters(lanes=4),
    DecoderParameters(lanes=2, optimize="area", packed=False),
    DecoderParameters(lanes=5, packed=False),
    DecoderParameters(lanes=2),
]


@pytest.fixture(scope="module", params=DECODERS, ids=lambda parameters: parameters.name)
def decoder(request: pytest.FixtureRequest) -> Core:
    return build(request.param)


def header(core: Core, *, reset_low: bool = False) -> str:
    """The header without what is known only when the Verilog has been written."""
    return text_of(header_lines(core, Interface.of(core, "my_core", reset_low=reset_low), {}))


def test_the_cycles_are_those_of_the_core(decoder: Core) -> None:
    """They are measured in tests/test_cores.py."""
    stated, drain = header(decoder), str(decoder.drain_cycles)
    assert re.findall(r"Latency: at most (\d+) cycles? from the beat", stated) == [str(decoder.latency)]
    longer = re.findall(
        r"at most (\d+) cycles? after an output beat has waited, .*? in the first (\d+) cycles? after rst\.", stated
    )
    assert longer == ([(drain, drain)] if decoder.drain_cycles > decoder.latency else [])


def test_ready_is_high_in_a_reset(decoder: Core) -> None:
    assert "s_axis_tready may be high during rst; a beat that is transferred then is lost." in header(decoder)
    domain, found = ClockDomain("sync"), []

    async def bench(ctx: Any) -> None:
        ctx.set(decoder.output.ready, 1)
        for _ in range(30):
            await ctx.tick()
        ctx.set(domain.rst, 1)
        for _ in range(20):
            await ctx.tick()
            found.append(ctx.get(decoder.input.ready))

    run_benches(decoder, bench, domain=domain)
    assert set(found) == {1}


WORST = {
    "encoder": (EncoderParameters(), 0x10FFFF, 4),
    "encoder-utf-16": (EncoderParameters(to="utf-16-le"), 0x10FFFF, 2),
    "transcoder": (TranscoderParameters(), 0xFF, 3),
    "transcoder-from-utf-16": (TranscoderParameters(from_="utf-16-le"), 0xFFFF, 3),
}
"""A symbol that is output as the most code units, which The Unicode Standard, Tables 3-5 and 3-6, state."""


@pytest.mark.parametrize(("parameters", "symbol", "cycles"), WORST.values(), ids=WORST)
def test_the_rate_on_the_worst_input_is_the_measured_one(parameters: CoreParameters, symbol: int, cycles: int) -> None:
    core = build(parameters)
    assert f", one beat in {cycles} cycles on the worst input;" in header(core)
    accepted = Simulation(core).run([[symbol] * 80]).accepted
    # Once its buffers are full, the input waits after each burst of as many beats as they have room for.
    waits = [beat for beat, (one, other) in enumerate(pairwise(accepted)) if other - one > 1]
    since, until = waits[len(waits) // 2], waits[-1]
    assert (accepted[until] - accepted[since]) / (until - since) == cycles


def test_the_rate_of_all_others_is_a_beat_in_each_cycle() -> None:
    """It is measured in tests/test_cores.py."""
    others = [DecoderParameters(), ValidatorParameters(), RemoverParameters(), SanitizerParameters()]
    for parameters in (*others, TranscoderParameters(to="utf-16-le"), EncoderParameters(lanes=2)):
        assert "Throughput: one beat per cycle, whatever the input;" in header(build(parameters))


PAYLOAD = "s_axis_tdata, s_axis_tkeep, s_axis_tlast, s_axis_tvalid"
PATHS: list[tuple[CoreParameters, dict[str, str]]] = [
    (DecoderParameters(optimize="area"), {"s_axis_tready": f"{PAYLOAD}, m_axis_tready", "m_axis_tvalid": PAYLOAD}),
    (DecoderParameters(optimize="speed"), {"s_axis_tready": "m_axis_tready"}),
    (DecoderParameters(lanes=2), {}),
    (EncoderParameters(), {"s_axis_tready": "s_axis_tdata, s_axis_tkeep, m_axis_tready"}),
    (TranscoderParameters(optimize="area"), {"s_axis_tready": f"{PAYLOAD}, m_axis_tready"}),
    (TranscoderParameters(optimize="speed"), {"s_axis_tready": "m_axis_tready"}),
    (EncoderParameters(lanes=2), {}),
    (TranscoderParameters(lanes=2), {}),
]
"""The paths that docs/decoder.md states, per output."""


@pytest.mark.parametrize(("parameters", "paths"), tiered({case[0].name: case for case in PATHS}, 11))
def test_the_combinational_paths_are_the_documented_ones(parameters: CoreParameters, paths: dict[str, str]) -> None:
    verilog = axi_verilog(build(parameters))
    lines = re.findall(r"^//   (.+) -> (.+)$", verilog, re.MULTILINE)
    assert {output: inputs for inputs, outputs in lines for output in outputs.split(", ")} == paths
    assert ("// Combinational paths from input ports to output ports: none.\n" in verilog) == (not paths)


def test_the_instantiation_template_is_valid_with_all_ports(tmp_path: Path) -> None:
    verilog = axi_verilog(decoder_core(), "my_decoder")
    found = re.search(r"^// Instantiation template:\n((?://   .*\n)+)", verilog, re.MULTILINE)
    assert found
    template = found[1].replace("//   ", "")
    assert re.findall(r"^ +\.(\w+)\(\),? +// (input|output) (\d+) bits?$", template, re.MULTILINE) == [
        (name, direction, str(width)) for direction, name, width in declared_ports(verilog)
    ]
    (tmp_path / "both.v").write_text(f"{verilog}\nmodule around;\n{template}endmodule\n", encoding="utf-8")
    run_tool("yosys", ["-q", "-p", "read_verilog both.v; hierarchy -check -top around"], directory=tmp_path)


def test_partial_beats_within_a_packet_are_where_the_header_has_them() -> None:
    note = "fewer than all code points also without m_axis_tlast, as before a pause of the input"
    parameters = DecoderParameters(lanes=4)
    assert note in header(build(parameters))
    assert note not in header(build(DecoderParameters()))
    assert note not in header(build(DecoderParameters(lanes=4, packed=False)))
    # Three words of an open packet are output before its next beat is sent.
    run = Simulation(build(parameters)).run(["éABCD".encode()], input_pauses=[False, *[True] * 60])
    assert max(run.valid_since[:3]) < run.accepted[1]


COPYRIGHT = "Copyright (c) 2026, the utf8fpga authors"
SENTENCES: dict[str, tuple[CoreParameters, bool, list[str]]] = {
    # The bits of m_axis_tuser are those of docs/decoder.md.
    "decoder": (
        DecoderParameters(lanes=2, packed=False, kind=True),
        True,
        [
            "Command: utf8fpga generate --lanes 2 --sparse --kind --name my_core --reset-low Parameters: table ",
            " lanes 2, optimize speed, packed False, ",
            "Generated from: The Unicode Standard, section 3.9, D92 and Table 3-7.",
            f"Written by utf8fpga {version('utf8fpga')} {COPYRIGHT} SPDX-License-Identifier: BSD-2-Clause",
            "clk, rst_n rising edge; synchronous, active low ",
            "m_axis_tuser 4 bits per code point, the first in the low bits; of each: bit 0: 1 for an ill-formed item;",
            "bits 3 to 1: the cause of the error: 1 UNEXPECTED_CONTINUATION, ",
            "one beat per cycle, whatever the input; s_axis_tready is low for at most 3 cycles in a row while",
            "waits for m_axis_tready, and only after a beat has waited.",
        ],
    ),
    "serial": (
        DecoderParameters(),
        False,
        [
            "low only while an output beat waits for m_axis_tready.",
            "1 bit per code point, bit k for code point k: 1 for",
        ],
    ),
    "tap": (
        ValidatorParameters(lanes=2),
        False,
        [
            "clk, rst rising edge; synchronous, active high ",
            f"exactly {build(ValidatorParameters(lanes=2)).tap.latency} cycles after the last beat of a packet",
        ],
    ),
    "remover": (
        RemoverParameters(width=12, user=3),
        False,
        ["s_axis_tuser 3 bits per symbol ", "m_axis_tuser 3 bits per symbol, those of s_axis_tuser"],
    ),
}


@pytest.mark.parametrize(("parameters", "reset_low", "sentences"), SENTENCES.values(), ids=SENTENCES)
def test_the_header_states_origin_ports_and_timing(
    parameters: CoreParameters, reset_low: bool, sentences: list[str]
) -> None:
    text = " ".join(header(build(parameters), reset_low=reset_low).split())
    assert [each for each in sentences if each not in text] == [], text
    assert COPYRIGHT in (Path(__file__).parents[2] / "LICENSE").read_text()
