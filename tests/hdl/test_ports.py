# SPDX-License-Identifier: BSD-2-Clause
"""The ports of the Verilog of each core, what its header says of it, and which circuit a decoder is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.oracle import refusal
from support.verilog_ports import declared_ports, header_of

from utf8fpga.hdl import (
    DecoderParameters,
    RemoverParameters,
    SanitizerParameters,
    ValidatorParameters,
    axi_verilog,
    build,
    decoder_core,
)
from utf8fpga.hdl.decoder.parallel import PackedDecoder, ParallelDecoder
from utf8fpga.hdl.decoder.serial import SerialAreaDecoder, SerialSpeedDecoder
from utf8fpga.model import EncodingTable, TableError


def test_decoder_picks_the_architecture() -> None:
    assert type(decoder_core()) is type(decoder_core(packed=True)) is SerialSpeedDecoder
    assert type(decoder_core(optimize="area")) is SerialAreaDecoder
    assert type(decoder_core(lanes=2)) is type(decoder_core(lanes=16)) is PackedDecoder
    assert type(decoder_core(lanes=2, packed=False)) is ParallelDecoder
    assert DecoderParameters(lanes=256).lanes == 256


@pytest.mark.parametrize("shape", [{"lanes": 1}, {"lanes": 4, "packed": False}, {"lanes": 3}], ids=str)
def test_ports_and_text_of_a_decoder(shape: dict[str, Any]) -> None:
    verilog, lanes = axi_verilog(decoder_core(**shape)), shape["lanes"]
    widths = {"s_axis_tdata": 8 * lanes, "s_axis_tkeep": lanes, "m_axis_tdata": 32 * lanes, "m_axis_tkeep": 4 * lanes}
    widths |= {"m_axis_tuser": lanes}
    names = ["clk", "rst", *(f"s_axis_t{n}" for n in ("data", "keep", "last", "valid", "ready"))]
    names += [f"m_axis_t{n}" for n in ("data", "keep", "user", "last", "valid", "ready")]
    ways = {name: "output" if name.startswith("m_axis") != name.endswith("ready") else "input" for name in names}
    assert declared_ports(verilog) == [(ways[name], name, widths.get(name, 1)) for name in names]
    assert set(re.findall(r"\(\*.*?\*\)", verilog)) <= {"(* keep *)"}
    assert "`" not in verilog
    # Words that are not present are 0, or those of an earlier row, but not unknown in simulation.
    for memory in re.findall(r"^  reg \[\d+:0\] (\w+) \[0:\d+\];$", verilog, re.MULTILINE):
        assert f"{memory}[row] = " in verilog


def test_ports_of_a_remover() -> None:
    verilog = axi_verilog(build(RemoverParameters(lanes=3, width=12, user=2)))
    widths = {"tdata": 3 * 16, "tkeep": 3 * 2, "tuser": 3 * 2, "tlast": 1, "tvalid": 1, "tready": 1}
    expected = {f"{port}_{name}": width for port in ("s_axis", "m_axis") for name, width in widths.items()}
    assert {name: width for _, name, width in declared_ports(verilog)} == {"clk": 1, "rst": 1, **expected}
    # A symbol is present if all of its bytes are.
    assert "&s_axis_tkeep[1:0]" in verilog
    assert "m_axis_tuser" not in axi_verilog(build(RemoverParameters(lanes=2)))


@pytest.mark.smoke
def test_ports_of_a_validator() -> None:
    verilog = axi_verilog(build(ValidatorParameters(lanes=2)))
    ports = {name: (way, width) for way, name, width in declared_ports(verilog)}
    some = {"s_axis_tready": ("input", 1), "s_axis_tdata": ("input", 16), "report_tvalid": ("output", 1)}
    assert {name: ports[name] for name in some} == some
    assert not any(name.startswith("m_axis") for name in ports)


HEADERS = [
    (SanitizerParameters(lanes=4), "UTF-8 sanitizer, 4 code units per cycle."),
    (SanitizerParameters(), "Each unit of an ill-formed subsequence becomes ? (U+003F) and has an error flag;"),
    (SanitizerParameters(replace_with="none"), "Each unit of an ill-formed subsequence remains as it is, and has an"),
    (ValidatorParameters(), "All ones in a number means this number or more."),
    (ValidatorParameters(), "Combinational paths from input ports to output ports: none."),
    (RemoverParameters(lanes=3, width=12, user=2), "Null-word remover, 3 symbols per cycle."),
    (RemoverParameters(lanes=3, width=12, user=2), "16 bits each, of which those above the low 12 are ignored"),
    (RemoverParameters(), "for each symbol that is present, in any lanes of any beat;"),
    (RemoverParameters(), "A beat is output when it is full or its packet ends."),
]


@pytest.mark.parametrize(("parameters", "sentence"), HEADERS)
def test_what_the_header_says(parameters: Any, sentence: str) -> None:
    assert sentence in header_of(axi_verilog(build(parameters)))


TABLES = {
    "all of one unit": ("00..7F 00..7F", 8),
    "units of 32 bits": ("0..FF 0..FF\n100..1FF 100 0..FF", 32),
    "units that start and continue": ("0..F 11 10..1F", 5),
    "a third unit constrained": ("0 0\n1..2 2 5..6\n5..6 4 5 5..6\nD..E 4 7 5..6", 3),
    "payload that carries": ("0..FF 0..FF\n10001..110000 D800..DBFF DC00..DFFF", 16),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_a_decoder_is_rejected(name: str) -> None:
    rows, width = TABLES[name]
    table = EncodingTable.parse(name, rows, source="made", unit_width=width, self_synchronising=False)
    message = f"{name}: decoders are for self-synchronising tables like that of UTF-8 or UTF-16"
    assert {refusal(TableError, decoder_core, table, lanes=lanes) for lanes in (1, 4)} == {message}
