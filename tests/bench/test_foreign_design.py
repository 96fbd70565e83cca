# SPDX-License-Identifier: BSD-2-Clause
"""Cores of others as designs to be measured: their ports, and the wrappers around them."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.oracle import refusal
from support.tiers import tiered

from utf8fpga.bench.design import CoreError, foreign_core
from utf8fpga.bench.measure import DEVICES, Figure, Point, measure
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.sim.foreign_module import read_script
from utf8fpga.sim.foreign_ports import read_description

FOREIGN = """
module helper(input clk, input d, output reg q);
  always @(posedge clk) q <= d;
endmodule
module foreign(input clk_i, input rst_ni, input [7:0] data, input en, output reg [20:0] code, output spare);
  helper h(.clk(clk_i), .d(data[0]), .q(spare));
  always @(posedge clk_i)
    if (!rst_ni) code <= 0;
    else if (en) code <= {code[12:0], data};
endmodule
"""


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "foreign.v"
    path.write_text(FOREIGN, encoding="utf-8")
    return path


def described(tmp_path: Path, text: str, name: str = "ports.toml") -> Any:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return read_description(tmp_path / name)


def test_ports_are_read_from_the_verilog(foreign: Path) -> None:
    core = foreign_core([foreign])
    assert (core.top, core.title, core.clock, core.reset, core.reset_low) == (*["foreign"] * 2, "clk_i", "rst_ni", True)
    assert core.inputs == (("data", 8), ("en", 1))
    assert core.outputs == (("code", 21), ("spare", 1))
    assert core.bare() == (core.sources, "foreign")
    assert foreign_core([foreign], "helper").inputs == (("d", 1),)


def test_description_of_ports(foreign: Path, tmp_path: Path) -> None:
    values = {"title": "theirs", "bytes_per_clock": 0.25, "lanes": 1, "latency": 2}
    values |= {"reset": "rst_ni", "reset_active": "high", "constants": {"en": 1}}
    core = foreign_core([foreign], "foreign", described(tmp_path, json.dumps(values), "ports.json"))
    toml = 'title = "theirs"\nbytes_per_clock = 0.25\nlanes = 1\nlatency = 2\nreset = "rst_ni"\nreset_active = "high"\n'
    toml += "constants = { en = 1 }\n"
    assert core == foreign_core([foreign], None, described(tmp_path, toml))
    assert (core.title, core.bytes_per_clock, core.lanes, core.latency) == ("theirs", 0.25, 1, 2)
    assert core.constants == (("en", 1, 1),)
    assert (core.inputs, core.outputs) == ((("data", 8),), (("code", 21), ("spare", 1)))
    for sources, _ in (core.between_registers(), core.bare()):
        assert ".en(1'd1)" in sources[-1][1]
    assert ".rst_ni(reset)" in core.between_registers()[0][-1][1]
    assert "reset <= rst;" in core.between_registers()[0][-1][1]


def proved(sources: tuple[tuple[str, str], ...], top: str, tmp_path: Path, script: str) -> str:
    """The output of Yosys for a module."""
    for name, text in sources:
        (tmp_path / name).write_text(text, encoding="utf-8")

    script = f"{read_script(sources)}hierarchy -check -top {top}; proc; flatten; opt; {script}"
    return run_tool("yosys", ["-p", script], directory=tmp_path)


@pytest.mark.parametrize("active", tiered({name: name for name in ("low", "high")}, ["low"]))
def test_wrapper_drives_the_reset_with_its_polarity(active: str, foreign: Path, tmp_path: Path) -> None:
    core = foreign_core([foreign], "foreign", described(tmp_path, f'reset_active = "{active}"'))
    sources, top = core.between_registers()
    # After two cycles of reset the core's register is 0 for any initial contents; without reset it may differ.
    script = "sat -seq 4 -set rst {} -set-init-undef -prove-skip 3 -prove core.code 0 -ignore_unknown_cells; "
    held, free = (proved(sources, top, tmp_path, script.format(level)) for level in (1, 0))
    always, sometimes = (held, free) if active == "low" else (free, held)
    assert "SAT proof finished - no model found: SUCCESS" in always
    assert "model found: FAIL" in sometimes


INVALID_PORTS = {
    "unknown key": ("clocks = 1", "unknown key 'clocks' (known: clock, reset, "),
    "clock is a number": ("clock = 1", "clock = 1 is not a string"),
    "no lanes": ("lanes = 0", "lanes = 0 is not above 0"),
    "value is a string": ("constants = { a = '8' }", "constants = {'a': '8'} is not a table of names and numbers"),
    "reset level": ("reset_active = 'up'", "reset_active = 'up' is neither 'high' nor 'low'"),
    "unknown clock": ("clock = 'ck'", "foreign has no input 'ck' for its clock (inputs: clk_i, rst_ni, data, en)"),
    "unknown reset": ("reset = 'rst'", "foreign has no input 'rst' for its reset (inputs: rst_ni, data, en)"),
    "unknown constant": ("constants = { e = 1 }", "foreign has no input 'e' to tie off (inputs: data, en)"),
    "large constant": ("constants = { en = 2 }", "2 does not fit into the 1 bits of the input 'en'"),
}


@pytest.mark.parametrize(("text", "message"), INVALID_PORTS.values(), ids=INVALID_PORTS)
def test_invalid_description_is_rejected(text: str, message: str, foreign: Path, tmp_path: Path) -> None:
    said = refusal(CoreError, lambda: foreign_core([foreign], None, described(tmp_path, text)))
    assert message in said
    assert re.match(rf"{tmp_path}/(ports.toml|foreign.v)(:| is not)", said)


INVALID_CORES = {
    "input a, output b": "no input of m has the name of a clock (inputs: a): specify it with --ports",
    "input clk, input aclk, output b": "m may have the clock clk or aclk: specify it with --ports",
    "input clk, input rst, input aresetn, input a, output b": "m may have the reset rst or aresetn: "
    "specify it with --ports",
    "input clk, inout a, output b": "m has the port 'a' that is input and output, which is not supported",
    "input clk input": ":1: ERROR: syntax error",
}
"""By ports of a module: the error."""


@pytest.mark.parametrize(("ports", "message"), INVALID_CORES.items(), ids=INVALID_CORES)
def test_unsupported_core_is_rejected(ports: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.v"
    path.write_text(f"module m({ports}); endmodule")
    expected = f"{path}{message}" if message.startswith(":") else f"{path}: {message}"
    assert refusal(CoreError, foreign_core, [path], "m").startswith(expected)


@pytest.mark.build
def test_foreign_core_with_the_real_tools(foreign: Path, tmp_path: Path) -> None:
    core = foreign_core([foreign], None, described(tmp_path, "constants = { en = 1 }"))
    with ThreadPoolExecutor(2) as threads:
        for figure in measure([Point(core, DEVICES[name], 1) for name in ("hx8k", "ecp5-85k")], threads):
            assert isinstance(figure, Figure)
            assert figure.flip_flops == 22, "of the code and of the helper"
            assert 250 < figure.fabric_mhz < 700
