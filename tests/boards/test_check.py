# SPDX-License-Identifier: BSD-2-Clause
"""The check of a bitstream: the routed design, and the netlist in the bitstream, send what the model gives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.builds import needs_tools
from support.engines import requires_compiler

from utf8fpga.boards.build import build_board
from utf8fpga.boards.check import check_design
from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.sim.engines.netlist import LineCircuit

PORTS = ("clk12_0__io", "uart_0__rx__io", "uart_0__tx__io")


def with_a_wrong_bit(netlist: str) -> str:
    """A routed design with one bit inverted in the LUT of the last flip-flop before the TX pin."""
    design = json.loads(netlist)
    module = design["modules"]["top"]
    cells = module["cells"].values()
    pin = module["ports"]["uart_0__tx__io"]["bits"]
    (pad,) = (cell for cell in cells if cell["connections"].get("PACKAGE_PIN") == pin)
    (logic,) = (cell for cell in cells if cell["connections"].get("O") == pad["connections"]["D_OUT_0"])
    inverted = int(logic["parameters"]["LUT_INIT"], 2) ^ 1
    logic["parameters"]["LUT_INIT"] = f"{inverted:016b}"
    return json.dumps(design)


@pytest.mark.build
@requires_compiler
def test_a_checked_build_and_one_wrong_bit_of_a_lut(tmp_path: Path) -> None:
    needs_tools("icebreaker")
    said: list[str] = []
    build_board("icebreaker", tmp_path, say=said.append, check=True)
    assert "icebreaker: the routed design sends the model's 978 items and markers" in said
    if shutil.which("icebox_vlog"):
        assert "icebreaker: the bitstream sends the model's 978 items and markers" in said
    else:
        assert "icebreaker: icebox_vlog is not installed, so the bitstream itself is not simulated" in said
    routed = (tmp_path / "icebreaker" / "top.routed.json").read_text(encoding="utf-8")
    wrong = LineCircuit(with_a_wrong_bit(routed), False, *PORTS)
    with pytest.raises(ToolError, match=r"^the routed design differs from the model"):
        check_design(wrong, UartCore(12e6, 1e6), "the routed design")


@pytest.mark.build
@requires_compiler
def test_a_checked_build_of_repaired_text(tmp_path: Path) -> None:
    needs_tools("icebreaker")
    said: list[str] = []
    build_board("icebreaker", tmp_path, core=FORMS["utf-8"].core, say=said.append, check=True)
    assert "icebreaker: the routed design sends the model's 978 items and markers" in said
