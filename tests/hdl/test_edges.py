# SPDX-License-Identifier: BSD-2-Clause
"""Options at the edges of the generated Verilog: fields and place of user bits, registers, reset."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.lint import requires_linters, warnings_of
from support.oracle import refusal

from utf8fpga.hdl import (
    AxiStreamCore,
    DecoderParameters,
    PortOptions,
    RemoverParameters,
    axi_verilog,
)
from utf8fpga.model import InvalidArgumentError


@requires_linters
@pytest.mark.parametrize(
    "options",
    [
        "--lanes 1 --reset-low --kind --length --flags byte",
        "--lanes 2 --sparse --kind --flags word",
        pytest.param("--lanes 3 --kind --flags word", marks=pytest.mark.slow),
        pytest.param("--lanes 4 --sparse --length --reset-low --flags byte", marks=pytest.mark.slow),
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
    text = axi_verilog(
        DecoderParameters(kind=True, length=True).build(), options=PortOptions(flags="byte", reset_low=True)
    )
    assert "// Command: utf8fpga generate --kind --length --reset-low --flags byte\n" in text
    assert "//                 bits 3 to 1: the cause of the error: 1 UNEXPECTED_CONTINUATION" in text
    assert "//                 bits 6 to 4: the number of code units of the item\n" in text
    assert "// clk, rst_n      rising edge; synchronous, active low\n" in text


def test_wrong_options() -> None:
    assert "flags 'bit' is not one of item, word, byte" in refusal(ValueError, PortOptions, flags="bit")
    with pytest.raises(InvalidArgumentError, match="flags word is for symbols with an error flag"):
        AxiStreamCore(RemoverParameters().build(), PortOptions(flags="word"))
