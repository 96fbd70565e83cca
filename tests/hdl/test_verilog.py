# SPDX-License-Identifier: BSD-2-Clause
"""The generated Verilog: its text; `test_testbench.py` simulates it in Icarus."""

from __future__ import annotations

import os
import re
import sys

import pytest
from support.processes import run

from utf8fpga.hdl import DecoderParameters, axi_verilog, build, decoder_core
from utf8fpga.hdl.cores import CORES

CALLS = ["optimize='area'", "lanes=8"]


@pytest.mark.smoke
@pytest.mark.parametrize("call", CALLS)
def test_the_verilog_is_the_same_each_time(call: str) -> None:
    script = f"from utf8fpga.hdl import axi_verilog, decoder_core; print(axi_verilog(decoder_core({call})), end='')"
    settings = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "2")]
    texts = {run([sys.executable, "-c", script], env=each, capture_output=True, check=True).stdout for each in settings}
    assert len(texts) == 1
    assert b"\nmodule utf8_decoder (\n" in texts.pop()


NO_IDENTIFIER = "is not a Verilog identifier: use letters, digits and _, not a digit first"
KEYWORD = "is a keyword of Verilog or SystemVerilog: choose another module name"
NAMES = {
    **dict.fromkeys(("", "2nd", "a b", "a-b", "naïve", "a;b", "$x"), NO_IDENTIFIER),
    **dict.fromkeys(("module", "reg", "endmodule"), KEYWORD),
    "a__core": "has __, which the names of inner modules have: use single _",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_identifier_or_a_keyword_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'{name!r} {NAMES[name]}')}$"):
        axi_verilog(decoder_core(), name)


@pytest.mark.parametrize("kind", CORES)
def test_the_text_has_no_names_of_python_none_that_a_tool_made_and_no_idle_constants(kind: str) -> None:
    verilog = axi_verilog(build(CORES[kind]()))
    text = verilog[verilog.index("\nmodule ") :]
    comments = "\n".join(re.findall(r"^ *// (.*)$", text, re.MULTILINE))
    assert not re.findall(r"\b(?:[A-Z][a-z]+){2,}\b", comments)
    assert not re.findall(r"`|\b[a-z_]+\.[a-z_]+\b|\b_\w+", comments)
    assert not re.findall(r"[`\\$]|\bsignal\w*|\bresult(?:_\d+)?\b|/home|Yosys", text)
    assert not re.findall(r"[&|^+-] ~?1'b[01]", text)


PARTS = [
    "  localparam [20:0] REPLACEMENT_CHARACTER = 21'h00fffd;\n",
    "  // The unit continues the open sequence.\n"
    "  wire continues = remaining[0] & input_keep & is_trail & is_allowed;\n",
    "    if (rst) begin\n      occupied <= 1'b0;\n    end else begin\n      occupied <= arrives | ",
    "  utf8_decoder__serial_area_decoder core (\n    .clk(clk),\n    .rst(rst),\n    .input_symbols(s_axis_tdata),\n",
    "// There are combinational paths from output_ready, input_valid and its payload to output_valid and input_ready.\n"
    "module utf8_decoder__serial_area_decoder (\n",
]


def test_the_text_has_the_names_comments_and_conditions_of_its_source() -> None:
    text = axi_verilog(build(DecoderParameters(optimize="area")))
    assert [part for part in PARTS if part not in text] == []
