# SPDX-License-Identifier: BSD-2-Clause
"""Attributes of ports: each port is a signal of the interface that its name says, and nothing else changes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.command import utf8fpga
from support.lint import requires_linters, warnings_of
from support.tiers import tiered

from utf8fpga.hdl.toolchain import run_tool

CORES = {
    "serial": ["--lanes", "1", "--reset-low"],
    "sparse": ["--lanes", "2", "--sparse"],
    "memory": ["--lanes", "4", "--sparse", "--device", "xilinx"],
    "packed": ["--lanes", "4"],
    "remover": ["remover", "--lanes", "2", "--user", "3"],
    "additions": ["--tid", "3", "--statistics", "axi-lite"],
}


def generated(words: list[str]) -> str:
    done = utf8fpga("generate", *words)
    assert done.returncode == 0
    return done.stdout.decode()


@pytest.mark.parametrize("name", tiered({name: name for name in CORES}, ["serial", "remover", "additions"]))
def test_vivado_finds_two_streams_a_clock_and_a_reset(name: str, tmp_path: Path) -> None:
    text = generated([*CORES[name], "--attributes", "vivado"])
    (tmp_path / "top.v").write_text(text, encoding="utf-8")
    top = "utf8_remover" if name == "remover" else "utf8_decoder"
    script = f"read_verilog top.v; hierarchy -top {top}; proc; write_json top.json"
    run_tool("yosys", ["-q", "-p", script], directory=tmp_path)
    module: dict[str, Any] = json.loads((tmp_path / "top.json").read_text(encoding="utf-8"))["modules"][top]
    buses = "S_AXIS:M_AXIS:S_AXIL" if name == "additions" else "S_AXIS:M_AXIS"
    # UG994, "Inferring Control Signals in a RTL Module" and "HDL Parameters for Interface Inference".
    reset, polarity = ("rst_n", "ACTIVE_LOW") if "--reset-low" in CORES[name] else ("rst", "ACTIVE_HIGH")
    expected = {
        "clk": {
            "X_INTERFACE_INFO": "xilinx.com:signal:clock:1.0 clk CLK",
            "X_INTERFACE_PARAMETER": f"ASSOCIATED_BUSIF {buses}, ASSOCIATED_RESET {reset}",
        },
        reset: {
            "X_INTERFACE_INFO": f"xilinx.com:signal:reset:1.0 {reset} RST",
            "X_INTERFACE_PARAMETER": f"POLARITY {polarity}",
        },
    }
    for port in module["ports"]:
        if found := re.fullmatch("([sm]_axis)_(tdata|tkeep|tuser|tid|tlast|tvalid|tready)", port):
            stream, signal = (word.upper() for word in found.groups())
            expected[port] = {"X_INTERFACE_INFO": f"xilinx.com:interface:axis:1.0 {stream} {signal}"}
        if found := re.fullmatch("s_axil_((aw|ar|w|r|b)(addr|data|strb|resp|valid|ready))", port):
            expected[port] = {"X_INTERFACE_INFO": f"xilinx.com:interface:aximm:1.0 S_AXIL {found[1].upper()}"}
        if port == "irq":
            expected[port] = {
                "X_INTERFACE_INFO": "xilinx.com:signal:interrupt:1.0 irq INTERRUPT",
                "X_INTERFACE_PARAMETER": "SENSITIVITY LEVEL_HIGH",
            }
    assert set(expected) == set(module["ports"])
    given = {port: module["netnames"][port]["attributes"] for port in module["ports"]}
    assert {
        port: {key: value for key, value in values.items() if key != "src"} for port, values in given.items()
    } == expected

    lines = [line for line in text.splitlines() if "(* X_INTERFACE" not in line]
    plain = generated(CORES[name]).splitlines()
    assert [line.replace(" --attributes vivado", "") for line in lines] == plain


@requires_linters
@pytest.mark.parametrize("name", tiered({name: name for name in CORES}, ["serial"]))
def test_attributes_give_no_warnings(name: str, tmp_path: Path) -> None:
    assert warnings_of(generated([*CORES[name], "--attributes", "vivado"]), tmp_path) == []
