# SPDX-License-Identifier: BSD-2-Clause
"""Options at the edges of the generated Verilog: fields and place of user bits, registers, reset, checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from support.command import utf8fpga
from support.icarus import beats_of, requires_icarus, run_icarus, run_lines
from support.lint import requires_linters, warnings_of
from support.tiers import tiered

from utf8fpga.hdl import (
    FLAGS,
    AxiStreamCore,
    DecoderParameters,
    PortOptions,
    RemoverParameters,
    axi_verilog,
    decoder_core,
)
from utf8fpga.model import InvalidArgumentError, Item, decode

TEXTS = [
    b"",
    b"a",
    "né汉😀".encode(),
    b"\xc3",
    b"\xf0\x9f\x98A\xff\xc0\x80",
    b"\xed\xa0\x80\xf4\x90\x80\x80\xe0\x80",
    b"0123456789" * 3,
]


class Shown(NamedTuple):
    """An item as it is output: without `kind` or `length` that field is 0."""

    code_point: int
    error: int
    kind: int
    length: int


def expected(item: Item, *, kind: bool, length: bool) -> Shown:
    code = item.error.value if kind and item.error else 0
    return Shown(item.code_point, int(item.error is not None), code, item.length if length else 0)


def shown(lines: list[str], lanes: int, flags: str, *, kind: bool, length: bool) -> Iterator[list[Shown]]:
    """The items of each packet, by the description of `PortOptions` and of the header of the Verilog."""
    size = 0 if flags == "word" else 1
    widths = [size, 3 * kind, 3 * length]
    each = sum(widths)
    packet: list[Shown] = []
    for line in lines:
        fields = line.split()
        assert len(fields) == 4, line
        data, keep, user, last = (int(field, 16) if set(field) <= set("0123456789abcdef") else -1 for field in fields)
        for lane in range(lanes):
            if not keep >> (4 * lane) & 1:
                continue
            word = data >> (32 * lane) & 0xFFFFFFFF
            parts = [lane] if flags != "byte" else [4 * lane + byte for byte in range(4)]
            values = {user >> (each * part) & ((1 << each) - 1) for part in parts} if each else {0}
            [value] = values  # With a field for each byte, all four are the same.
            numbers = []
            for width in widths:
                numbers.append(value & ((1 << width) - 1))
                value >>= width
            if flags == "word":
                numbers[0], word = word >> 31, word & 0x7FFFFFFF
            packet.append(Shown(word, *numbers))
        if last:
            yield packet
            packet = []
    assert not packet


FIELDS = {
    f"{lanes}-{'packed-' * packed}{'kind-' * kind}{'length-' * length}{flags}": (lanes, packed, kind, length, flags)
    for lanes, packed, kind, length in [
        (1, False, False, False),
        (1, False, True, True),
        (1, False, False, True),
        (3, True, True, True),
        (4, False, True, True),
    ]
    for flags in FLAGS
}


@requires_icarus
@pytest.mark.parametrize(
    ("lanes", "packed", "kind", "length", "flags"), tiered(FIELDS, [name for name in FIELDS if "4" not in name])
)
def test_fields_are_those_of_the_model(
    lanes: int, packed: bool, kind: bool, length: bool, flags: str, tmp_path: Path
) -> None:
    core = DecoderParameters(lanes=lanes, packed=packed, kind=kind, length=length).build()
    verilog = axi_verilog(core, options=PortOptions(flags=flags))
    user = ((flags != "word") + 3 * kind + 3 * length) * lanes * (4 if flags == "byte" else 1)
    lines = run_lines(verilog, beats_of(TEXTS, [False], lanes), tmp_path, busy_out=30, lanes=lanes, user=user)
    found = list(shown(lines, lanes, flags, kind=kind, length=length))
    assert found == [[expected(item, kind=kind, length=length) for item in decode(text)] for text in TEXTS]


@requires_icarus
@pytest.mark.parametrize("pipeline", [0, 1, 2])
def test_registers_at_the_output_leave_no_path_between_the_streams(pipeline: int, tmp_path: Path) -> None:
    core = DecoderParameters(pipeline=pipeline).build()
    verilog = axi_verilog(core, options=PortOptions(registered=True, reset_low=True))
    header = verilog[: verilog.index("module ")]
    assert f"Latency: at most {core.latency + 1} cycles" in header
    paths = re.findall(r"^//   (.*) -> (.*)$", header, re.MULTILINE)
    for inputs, outputs in paths:
        sides = {name.strip()[0] for name in f"{inputs}, {outputs}".split(",")}
        assert sides == {"s"}, "a path from one stream to the other"
    plain = axi_verilog(core)
    assert re.search(r"^//   .*m_axis_tready -> s_axis_tready$", plain[: plain.index("module ")], re.MULTILINE)
    lines = run_lines(verilog, beats_of(TEXTS, [True], 1), tmp_path, busy_in=20, busy_out=40)
    found = list(shown(lines, 1, "item", kind=False, length=False))
    assert found == [[expected(item, kind=False, length=False) for item in decode(text)] for text in TEXTS]


def violating_bench(lanes: int, beats: str) -> str:
    return f"""
    module bench; reg clk = 0, rst = 1; reg [{8 * lanes - 1}:0] data = 0; reg [{lanes - 1}:0] keep = 0;
    reg last = 0, valid = 0, ready_in = 1; wire ready;
    always #5 clk = ~clk;
    utf8_decoder dut(.clk(clk), .rst(rst), .s_axis_tdata(data), .s_axis_tkeep(keep), .s_axis_tlast(last),
      .s_axis_tvalid(valid), .s_axis_tready(ready), .m_axis_tdata(), .m_axis_tkeep(), .m_axis_tuser(), .m_axis_tlast(),
      .m_axis_tvalid(), .m_axis_tready(ready_in));
    initial begin repeat (2) @(posedge clk); #1 rst = 0; repeat (40) @(posedge clk); #1 ; {beats} $finish; end
    endmodule
    """


VIOLATIONS = {
    "hole": (4, "valid = 1; last = 1; data = 0; keep = 4'b1011;", "s_axis_tkeep is not contiguous from bit 0"),
    "partial": (4, "valid = 1; data = 0; keep = 4'b0011;", "a partial beat without s_axis_tlast"),
    "unknown keep": (4, "valid = 1; data = 0; keep = 4'b001x;", "s_axis_tkeep or s_axis_tlast is unknown"),
    "unknown data": (4, "valid = 1; data = 32'hxx; keep = 4'b1111;", "byte 0 of s_axis_tdata is unknown"),
    "unknown valid": (1, "valid = 1'bx;", "s_axis_tvalid x"),
    "unknown ready": (1, "ready_in = 1'bx;", "s_axis_tvalid 0, m_axis_tready x"),
    "data changed": (
        1,
        "ready_in = 0; keep = 1; valid = 1; while (ready) @(posedge clk); #1 ; @(posedge clk); #1 data = 5;",
        "the input changed while s_axis_tready was low",
    ),
    "withdrawn": (
        1,
        "ready_in = 0; keep = 1; valid = 1; while (ready) @(posedge clk); #1 ; @(posedge clk); #1 valid = 0;",
        "the input changed while s_axis_tready was low",
    ),
}


@requires_icarus
@pytest.mark.parametrize(("lanes", "beats", "message"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_each_violation_is_reported(lanes: int, beats: str, message: str, tmp_path: Path) -> None:
    verilog = axi_verilog(decoder_core(lanes=lanes), checks=True)
    (tmp_path / "dut.v").write_text(verilog + violating_bench(lanes, f"{beats} @(posedge clk); #1 ;"), encoding="utf-8")
    for define, wanted in (([], True), (["-DSYNTHESIS"], False)):
        printed = run_icarus(tmp_path, ["dut.v"], *define).stdout
        assert (f"bench.dut: {message}" in printed) == wanted, printed


@requires_icarus
@pytest.mark.parametrize("options", [{"lanes": 1}, {"lanes": 4}, {"lanes": 4, "compact_input": True}])
def test_the_contract_is_kept_without_a_report(options: dict[str, int], tmp_path: Path) -> None:
    lanes = options["lanes"]
    verilog = axi_verilog(DecoderParameters(**options).build(), checks=True)
    lines = run_lines(verilog, beats_of(TEXTS, [True, False], lanes), tmp_path, busy_in=30, busy_out=30, lanes=lanes)
    assert not [line for line in lines if "bench.dut" in line]
    assert len([line for line in lines if line.endswith(" 1")]) == len(TEXTS)


@requires_linters
@pytest.mark.parametrize(
    "options",
    [
        "--lanes 1 --registered --reset-low --checks --kind --length --flags byte",
        "--lanes 3 --checks --flags word --kind",
        "--lanes 4 --sparse --checks --flags byte --length --reset-low",
        "--lanes 1 --checks --tid 3 --tuser 2 --statistics axi-lite",
        "--lanes 2 --sparse --tdest 64 --statistics wishbone",
    ],
)
def test_no_warnings_with_options_at_the_edges(options: str, tmp_path: Path) -> None:
    made = utf8fpga("generate", *options.split())
    assert made.returncode == 0, made.stderr
    text = made.stdout.decode()
    assert f"// Command: utf8fpga generate {' '.join(options.split()[:2]).replace('--lanes 1', '')}".rstrip() in text
    assert warnings_of(text, tmp_path) == []
    command = re.search(r"^// Command: utf8fpga (.*)$", text, re.MULTILINE)
    assert command
    assert utf8fpga(*command[1].split()).stdout.decode() == text


def test_the_header_of_a_core_has_the_options_of_its_ports() -> None:
    text = axi_verilog(DecoderParameters(kind=True).build(), options=PortOptions(flags="byte", reset_low=True))
    assert "// Command: utf8fpga generate --kind --reset-low --flags byte\n" in text
    assert "//                 bits 3 to 1: the cause of the error: 1 UNEXPECTED_CONTINUATION" in text
    assert "// clk, rst_n      rising edge; synchronous, active low\n" in text


def test_wrong_options() -> None:
    with pytest.raises(InvalidArgumentError, match="flags 'bit' is not one of item, word, byte"):
        PortOptions(flags="bit")
    with pytest.raises(InvalidArgumentError, match="statistics 'apb' is not one of wishbone, axi-lite"):
        PortOptions(statistics="apb")
    with pytest.raises(InvalidArgumentError, match="registered 'no' is not True or False"):
        PortOptions(registered="no")  # type: ignore[arg-type] # of a wrong type
    with pytest.raises(InvalidArgumentError, match="flags word is for symbols with an error flag"):
        AxiStreamCore(RemoverParameters().build(), PortOptions(flags="word"))
