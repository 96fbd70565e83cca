# SPDX-License-Identifier: BSD-2-Clause
"""Cores of others as designs to be measured: their ports, and the wrappers around them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.oracle import refusal
from support.tiers import tiered

from utf8fpga.bench.design import CoreError, foreign_core
from utf8fpga.bench.measure import DEVICES, Figure, Point, measure
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.sim.foreign_module import read_description, read_script

FOREIGN = """
module helper(input clk, input d, output reg q);
  always @(posedge clk) q <= d;
endmodule
module foreign(input clk, input rst_ni, input [7:0] data, input en, output reg [20:0] code, output spare);
  helper h(.clk(clk), .d(data[0]), .q(spare));
  always @(posedge clk)
    if (!rst_ni) code <= 0;
    else if (en) code <= {code[12:0], data};
endmodule
"""


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "foreign.v"
    path.write_text(FOREIGN, encoding="utf-8")
    return path


def described(tmp_path: Path, text: str) -> Any:
    (tmp_path / "ports.toml").write_text(text, encoding="utf-8")
    return read_description(tmp_path / "ports.toml")


def test_ports_are_read_from_the_verilog(foreign: Path) -> None:
    core = foreign_core([foreign])
    assert (core.top, core.title, core.clock, core.reset) == (*["foreign"] * 2, "clk", None)
    assert core.inputs == (("rst_ni", 1), ("data", 8), ("en", 1))
    assert core.outputs == (("code", 21), ("spare", 1))
    assert core.bare() == (core.sources, "foreign")
    assert foreign_core([foreign], "helper").inputs == (("d", 1),)


def test_description_of_ports(foreign: Path, tmp_path: Path) -> None:
    text = 'title = "theirs"\nbytes_per_clock = 0.25\nlanes = 1\nlatency = 2\nreset = "!rst_ni"\n'
    core = foreign_core([foreign], "foreign", described(tmp_path, f"{text}constants = {{ en = 1 }}\n"))
    assert (core.title, core.bytes_per_clock, core.lanes, core.latency) == ("theirs", 0.25, 1, 2)
    assert core.constants == (("en", 1, 1),)
    assert (core.inputs, core.outputs) == ((("data", 8),), (("code", 21), ("spare", 1)))
    for sources, _ in (core.between_registers(), core.bare()):
        assert ".en(1'd1)" in sources[-1][1]
    assert ".rst_ni(reset)" in core.between_registers()[0][-1][1]
    assert "reset <= ~rst;" in core.between_registers()[0][-1][1]


def proved(sources: tuple[tuple[str, str], ...], top: str, tmp_path: Path, script: str) -> str:
    """The output of Yosys for a module."""
    for name, text in sources:
        (tmp_path / name).write_text(text, encoding="utf-8")

    script = f"{read_script(sources)}hierarchy -check -top {top}; proc; flatten; opt; {script}"
    return run_tool("yosys", ["-p", script], directory=tmp_path)


@pytest.mark.parametrize("active", tiered({name: name for name in ("low", "high")}, ["low"]))
def test_wrapper_drives_the_reset_with_its_polarity(active: str, foreign: Path, tmp_path: Path) -> None:
    description = 'reset = "!rst_ni"' if active == "low" else 'reset = "rst_ni"'
    core = foreign_core([foreign], "foreign", described(tmp_path, description))
    sources, top = core.between_registers()
    # After two cycles of reset the core's register is 0 for any initial contents; without reset it may differ.
    script = "sat -seq 4 -set rst {} -set-init-undef -prove-skip 3 -prove core.code 0 -ignore_unknown_cells; "
    held, free = (proved(sources, top, tmp_path, script.format(level)) for level in (1, 0))
    always, sometimes = (held, free) if active == "low" else (free, held)
    assert "SAT proof finished - no model found: SUCCESS" in always
    assert "model found: FAIL" in sometimes


INVALID_CORES = {
    "input a, output b": "m has no input 'clk' of one bit: name the clock and the reset with --ports",
    "input clk, input [1:0] rst, output b": "m has no input 'rst' of one bit: name the clock and the reset with"
    " --ports",
    "input clk, output b": "m has no inputs beside clock and reset",
}
"""By ports of a module: the error."""


@pytest.mark.parametrize(("ports", "message"), INVALID_CORES.items(), ids=INVALID_CORES)
def test_unsupported_core_is_rejected(ports: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.v"
    path.write_text(f"module m({ports}); assign b = 0; endmodule")
    assert refusal(CoreError, foreign_core, [path], "m") == f"{path}: {message}"


@pytest.mark.build
def test_foreign_core_with_the_real_tools(foreign: Path, tmp_path: Path) -> None:
    core = foreign_core([foreign], None, described(tmp_path, 'reset = "!rst_ni"\nconstants = { en = 1 }'))
    with ThreadPoolExecutor(2) as threads:
        for figure in measure([Point(core, DEVICES[name], 1) for name in ("hx8k", "ecp5-85k")], threads):
            assert isinstance(figure, Figure)
            assert figure.flip_flops == 22, "of the code and of the helper"
            assert 250 < figure.fabric_mhz < 700
