# SPDX-License-Identifier: BSD-2-Clause
"""The ports of foreign cores: expressions, protocols, buses, encoders, VHDL, and the proposal of a description."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator
from support.engines import requires_compiler
from support.foreign_cores import CORES, FOLDER
from support.oracle import refusal
from support.tiers import tiered

from utf8fpga.hdl import axi_verilog
from utf8fpga.hdl.encoder.parameters import EncoderParameters
from utf8fpga.hdl.foreign import CoreError
from utf8fpga.hdl.foreign_core import ForeignCore
from utf8fpga.hdl.foreign_ports import CheckedPorts, read_checked_ports
from utf8fpga.hdl.foreign_proposal import propose_ports
from utf8fpga.hdl.port_expressions import ExpressionError, parse
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import Practice
from utf8fpga.sim.causes import check_foreign_core
from utf8fpga.sim.foreign import ForeignSimulation
from utf8fpga.sim.foreign_encoder import check_foreign_encoder

PORTS = {"p": 0b1010, "busy": 1, "q": 0b01}
EXPRESSIONS = {
    "p": 0b1010,
    "!busy": 0,
    "~p": 0b0101,
    "!p": 0,
    "p[3]": 1,
    "p[2:1]": 0b01,
    "p == 10": 1,
    "p != 4'b1010": 0,
    "p[3:2] == 0x2 & busy": 1,
    "q == 2 | p[0] | busy": 1,
    "(busy | p[0]) & p[0]": 0,
    "{q, p[1:0]}": 0b0110,
    "1": 1,
}
"""Expressions and their values by the rules of Verilog."""


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS.items(), ids=EXPRESSIONS)
def test_expression_has_the_value_of_verilog(text: str, expected: int) -> None:
    signals = {name: Signal({"p": 4, "busy": 1, "q": 2}[name], init=value) for name, value in PORTS.items()}
    simulator = Simulator(Module())

    async def bench(context: Any) -> None:
        assert context.get(parse(text, signals.__getitem__)) == expected

    simulator.add_testbench(bench)
    simulator.run()


INVALID = {
    "p = 2": "has '= 2' where an operator or the end is expected",
    "p &": "has an end where a port is expected",
    "p == busy": "has 'busy' where a number is expected",
    "p == 16": "compares 4 bits with 16",
    "p[4]": "is not a part of the 4 bits of 'p'",
    "(p": "has an end where ')' is expected",
    "1'b2": 'has "1\'b2", which is not a number',
    "2'd4": 'has "2\'d4", which has more than 2 bits',
}


@pytest.mark.parametrize(("text", "message"), INVALID.items(), ids=INVALID)
def test_invalid_expression_is_rejected(text: str, message: str) -> None:
    assert refusal(ExpressionError, parse, text, lambda name: Signal(4 if name == "p" else 1)) == message


DECODERS = {
    "level": ("level.v", "resend.v", Practice.MAXIMAL_SUBPARTS),
    "request": ("request.v", "strobe.v", Practice.MAXIMAL_SUBPARTS),
    "four_phase": ("request.v", "strobe.v", Practice.MAXIMAL_SUBPARTS),
    "sticky": ("sticky.v", "resend.v", Practice.FIRST_ERROR),
    "bus": ("bus.v", "resend.v", Practice.MAXIMAL_SUBPARTS),
}
"""By name of a core its files, and its practice; all are correct."""

pytestmark = requires_compiler


def core_of(name: str, **changes: Any) -> ForeignCore:
    *files, practice = DECODERS[name]
    ports = replace(read_checked_ports(FOLDER / f"{name}.toml"), **changes)
    return ForeignCore([FOLDER / file for file in files], name, ports, practice)


TEXTS = [b"A", b"\xc3\xa9\x80", b"\xe2\x82A\xff", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80Z", b"\xc2\xc2\xa2"]


@pytest.mark.parametrize("name", [name for name in DECODERS if name != "sticky"])
def test_protocol_gives_what_cpython_decodes(name: str) -> None:
    core = core_of(name)
    for text, outcome in zip(TEXTS, ForeignSimulation(core).run([[text] for text in TEXTS]), strict=True):
        assert outcome.reason == ""
        expected = [ord(point) for point in text.decode("utf-8", "replace")]
        assert [word & 0xFFFFFFFF for word in outcome.words] == expected


def test_sticky_error_is_one_mark() -> None:
    outcomes = [*ForeignSimulation(core_of("sticky")).run([[b"A\xffB\xff"]])]
    assert [(word >> 32, word & 0xFFFFFFFF) for word in outcomes[0].words] == [(0, 0x41), (1, 0xFFFD)]
    (endless,) = ForeignSimulation(core_of("sticky", sticky=False)).run([[b"A\xffB\xff"]])
    assert endless.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
def test_correct_core_passes(name: str) -> None:
    assert check_foreign_core(core_of(name), DECODERS[name][2]).failed == ()


def encoder(folder: Path, old: str, new: str) -> ForeignCore:
    text = (FOLDER / "encoder.v").read_text()
    assert old in text
    (folder / "encoder.v").write_text(text.replace(old, new))
    return ForeignCore([folder / "encoder.v"], None, read_checked_ports(FOLDER / "encoder.toml"))


ENCODER_FAULTS = {
    "surrogates": ("|| point[31:11] == 21'h1B", "", ["SURROGATE", "resynchronisation"], "D800"),
    "beyond": ("point > 32'h10FFFF", "point > 32'h110000", ["OUT_OF_RANGE"], "110000"),
    "two bytes": ("code < 'h800 ? 2", "code < 'h800 && code != 'h123 ? 2", ["well-formed, 2 bytes"], "0123"),
}


@pytest.mark.parametrize(("old", "new", "causes", "shortest"), tiered(ENCODER_FAULTS, ["surrogates", "two bytes"]))
def test_fault_of_an_encoder_is_found_for_its_cause(
    old: str, new: str, causes: list[str], shortest: str, tmp_path: Path
) -> None:
    report = check_foreign_encoder(encoder(tmp_path, old, new))
    assert [row.cause for row in report.failed][:1] == causes[:1]
    assert report.failed[0].shortest is not None
    assert report.failed[0].shortest.input == shortest


def test_own_encoder_needs_its_kind_only(tmp_path: Path) -> None:
    (tmp_path / "encoder.v").write_text(axi_verilog(EncoderParameters(lanes=2).build()))
    core = ForeignCore([tmp_path / "encoder.v"], None, CheckedPorts(kind="encoder"))
    assert check_foreign_encoder(core).failed == ()


needs_ghdl = pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is not installed")


@needs_ghdl
def test_core_in_vhdl() -> None:
    core = ForeignCore([FOLDER / "vhdl.vhd"], None, read_checked_ports(FOLDER / "vhdl.toml"))
    outcomes = ForeignSimulation(core).run([[text] for text in (b"A", b"\xed\xa0\x80", b"\xf4\x8f\xbf\xbf")])
    assert [[word >> 32 for word in outcome.words] for outcome in outcomes] == [[0], [1], [0]]


@needs_ghdl
def test_error_in_vhdl_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.vhd").write_text("entity m iz\nend;\n")
    assert refusal(CoreError, ForeignCore, [tmp_path / "bad.vhd"]).startswith(f"{tmp_path}/bad.vhd:1:10: 'is' is exp")
    assert refusal(CoreError, ForeignCore, [FOLDER / "vhdl.vhd", FOLDER / "bus.v"]) == (
        f"{FOLDER}/bus.v: files in VHDL and in other languages cannot be mixed"
    )


def test_missing_ghdl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GHDL", "no-such-program")
    assert refusal(ToolError, ForeignCore, [FOLDER / "vhdl.vhd"]) == (
        "GHDL names 'no-such-program', which is not a program"
    )


PROPOSED = {**{name: CORES[name] for name in ("leaky", "strobe", "resend")}, "encoder": "encoder.toml"}


@pytest.mark.parametrize("name", PROPOSED)
def test_proposal_is_the_description(name: str, tmp_path: Path) -> None:
    (tmp_path / "ports.toml").write_text(propose_ports([FOLDER / f"{name}.v"]))
    assert read_checked_ports(tmp_path / "ports.toml") == read_checked_ports(FOLDER / PROPOSED[name])


def test_proposal_states_what_is_unknown() -> None:
    lines = propose_ports([FOLDER / "bus.v", FOLDER / "resend.v"], "bus").splitlines()
    assert "# output.error was not found" in lines
    assert 'constants = { "select_n" = 0, "address" = 0 } # unknown' in lines


WRONG = {
    "sticky": ({"sticky": True, "output": {"code_point": "q", "valid": "w"}}, "sticky = true requires output.error"),
    "level": ({"level": True, "protocol": "axi-stream"}, "level = true is that of a protocol other than 'axi-stream'"),
    "request": ({"protocol": "request"}, "protocol = 'request' requires input.ready: name the port"),
    "bus": ({"protocol": "bus", "input": {}}, "bus.write is missing"),
    "table": ({"bus": {"write": {}}}, "the table bus is that of protocol = 'bus', not 'strobe'"),
    "encoder": ({"kind": "encoder"}, "input.byte is that of a decoder: leave it out for kind = 'encoder'"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_contradictory_description_has_a_fault(changes: dict[str, Any], message: str) -> None:
    base = CheckedPorts(
        protocol="strobe", input={"byte": "d", "valid": "v"}, output={"code_point": "q", "valid": "w", "error": "e"}
    )
    if changes.get("protocol") == "axi-stream":
        changes = {**changes, "input": {**base.input, "ready": "r"}}
    assert (replace(base, **changes).fault() or "").startswith(message)
