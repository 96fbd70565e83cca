# SPDX-License-Identifier: BSD-2-Clause
"""Options at the edges of the generated Verilog: fields of user bits, reset."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.lint import requires_linters, warnings_of

from utf8fpga.hdl import (
    DecoderParameters,
    axi_verilog,
)


@requires_linters
@pytest.mark.parametrize(
    "options",
    [
        "--lanes 1 --reset-low --kind",
        "--lanes 2 --sparse --kind",
        pytest.param("--lanes 3 --kind", marks=pytest.mark.slow),
        pytest.param("--lanes 4 --sparse --kind --reset-low", marks=pytest.mark.slow),
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
    text = axi_verilog(DecoderParameters(kind=True).build(), reset_low=True)
    assert "// Command: utf8fpga generate --kind --reset-low\n" in text
    assert "//                 bits 3 to 1: the cause of the error: 1 UNEXPECTED_CONTINUATION" in text
    assert "// clk, rst_n      rising edge; synchronous, active low\n" in text
