# SPDX-License-Identifier: BSD-2-Clause
"""The contract as assertions: it holds for each kind of core in Yosys and in simulators, and rejects faulty ports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import generate
from support.icarus import requires_icarus, run_icarus
from support.tiers import tiered

from utf8fpga.hdl.toolchain import ToolError, run_tool

PREPARE = (
    "read_verilog core.v; read_verilog -sv -formal core.sv; prep -flatten -top core_checked; memory_map; async2sync;"
    " dffunmap; chformal -lower; opt_clean; "
)

BOUNDED = "sat -verify -prove-asserts -set-assumes -tempinduct -tempinduct-baseonly -maxsteps {}"


def holds(command: str, directory: Path) -> bool:
    """Whether Yosys proves the assertions with this command."""
    try:
        run_tool("yosys", ["-q", "-p", PREPARE + command], directory=directory)
    except ToolError as error:
        if "proof did fail" not in str(error):
            raise
        return False
    return True


BOUNDS = {
    "decoder --optimize area": 10,
    "encoder": 9,
    "transcoder": 8,
    "remover --lanes 2 --reset-low": 10,
    "decoder --lanes 2 --sparse --optimize area --reset-low": 8,
    "transcoder --to utf-16-le": 9,
}


@pytest.mark.parametrize(
    ("options", "cycles"), tiered({options: (options, cycles) for options, cycles in BOUNDS.items()}, 6)
)
def test_the_contract_holds_in_the_first_cycles(options: str, cycles: int, tmp_path: Path) -> None:
    generate(options, tmp_path)
    assert holds(BOUNDED.format(cycles), tmp_path)


FAULTS = {
    "valid is withdrawn": ("m_axis_tvalid", "inner && (m_axis_tready || cycle[0])"),
    "payload changes": ("m_axis_tdata", "inner ^ cycle[0]"),
    "byte of a symbol is absent": ("m_axis_tkeep", "inner & ~2"),
    "null beat": ("m_axis_tkeep", "m_axis_tlast ? inner : 0"),
    "flag without a symbol": ("m_axis_tuser", "inner | !m_axis_tkeep[0]"),
    "packet without an end": ("m_axis_tlast", "1'b0"),
    "end that was not received": ("m_axis_tlast", "1'b1"),
    "input is stalled": ("s_axis_tready", "inner && !cycle[2]"),
    "output in reset": ("m_axis_tvalid", "inner || rst"),
    "output without input": ("m_axis_tvalid", "inner || cycle[2]"),
}
# The contract or, in the same cycle, the bench notices a wrong lane first.
LANES = "output_symbols_are_well_placed|^FAIL"
SIMULATED_FAULTS = {
    "gap between symbols": ("remover --lanes 2", "m_axis_tkeep", "m_axis_tlast && inner == 3 ? 2 : inner", LANES),
    "beat that is not full": ("remover --lanes 2", "m_axis_tkeep", "m_axis_tlast ? inner : 1", LANES),
    "unknown output": ("decoder", "m_axis_tdata", "inner ^ (m_axis_tready ? 1'b0 : 1'bx)", "output_is_known"),
}


def with_fault(port: str, expression: str, directory: Path) -> None:
    """Change a port of the core in the module with core and contract to an expression of its value, `inner`."""
    file = directory / "core.sv"
    text = file.read_text(encoding="utf-8")
    before, after = text.split("  core core (")
    width = re.search(rf"output wire (\[.*?\])? ?{port}", before)
    assert width
    extra = f"""  wire {width[1] or ""} inner;
  reg [2:0] cycle = 0;
  always @(posedge clk) cycle <= cycle + 1;
  assign {port} = {expression};
"""
    assert f".{port}({port})" in after
    after = after.replace(f".{port}({port})", f".{port}(inner)", 1)
    file.write_text(f"{before}{extra}  core core ({after}", encoding="utf-8")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_core_is_rejected(fault: str, tmp_path: Path) -> None:
    generate("decoder", tmp_path)
    with_fault(*FAULTS[fault], tmp_path)
    assert not holds(BOUNDED.format(12), tmp_path)


def test_a_lower_bound_is_rejected(tmp_path: Path) -> None:
    generate("encoder", tmp_path)
    text = (tmp_path / "core.sv").read_text(encoding="utf-8")
    assert "localparam DRAIN = 4;" in text
    (tmp_path / "core.sv").write_text(text.replace("DRAIN = 4", "DRAIN = 0"), encoding="utf-8")
    assert not holds(BOUNDED.format(8), tmp_path)


def simulated(directory: Path) -> str:
    """What the bench prints in Icarus with the contract beside the core."""
    bench = directory / "core_bench.v"
    text = bench.read_text(encoding="utf-8")
    bench.write_text(text.replace("  core dut (", "  core_checked dut ("), encoding="utf-8")
    return run_icarus(directory, ["core.v", "core.sv", "core_bench.v"], "-g2012", top="core_bench").stdout


@requires_icarus
@pytest.mark.parametrize("options", ["decoder --lanes 4", "validator", "remover --lanes 2 --width 3 --user 1"])
def test_the_contract_holds_with_the_test_bench(options: str, tmp_path: Path) -> None:
    generate(options, tmp_path)
    assert re.fullmatch(r"PASS: .*\n", simulated(tmp_path))


@requires_icarus
@pytest.mark.parametrize("fault", SIMULATED_FAULTS)
def test_a_faulty_core_is_rejected_in_simulation(fault: str, tmp_path: Path) -> None:
    options, port, expression, printed = SIMULATED_FAULTS[fault]
    generate(options, tmp_path)
    with_fault(port, expression, tmp_path)
    assert re.search(printed, simulated(tmp_path))
