# SPDX-License-Identifier: BSD-2-Clause
"""The generated Verilog: its text; `test_testbench.py` simulates it in Icarus."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from support.processes import run

from utf8fpga.hdl import DecoderParameters, axi_verilog, build, decoder_core
from utf8fpga.hdl.cores import CORES
from utf8fpga.hdl.parameters import OPTIMIZE
from utf8fpga.hdl.verilog.identifiers import check_module_name


@pytest.fixture(scope="module", params=OPTIMIZE)
def verilog(request: pytest.FixtureRequest) -> str:
    return axi_verilog(decoder_core(optimize=request.param))


def test_plain_identifiers_without_attributes_and_directives(verilog: str) -> None:
    modules = re.findall(r"^module (\w+) \($", verilog, re.MULTILINE)
    assert modules[0] == "utf8_decoder"
    assert len(modules) == len(set(modules)) == verilog.count("\nendmodule\n")
    assert all(name.startswith("utf8_decoder__") for name in modules[1:])
    for character in ("(*", "`", "\\", "$"):
        assert character not in verilog


@pytest.mark.smoke
def test_the_verilog_is_deterministic(verilog: str, request: pytest.FixtureRequest) -> None:
    optimize = request.node.callspec.params["verilog"]
    call = f"axi_verilog(decoder_core(optimize={optimize!r}))"
    script = f"from utf8fpga.hdl import axi_verilog, decoder_core; print({call}, end='')"
    for number in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": number}
        again = run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        assert again.stdout == verilog


def test_no_path_or_date_of_the_machine_that_wrote_it(verilog: str) -> None:
    assert "/home" not in verilog
    assert "Yosys" not in verilog
    assert str(Path.cwd()) not in verilog


def test_the_header_says_what_a_null_beat_does() -> None:
    for choice in ({}, {"lanes": 2, "packed": True}):
        assert "a beat with neither a code unit nor s_axis_tlast has no effect" in axi_verilog(decoder_core(**choice))


NO_IDENTIFIER, KEYWORD = (
    "Verilog identifier: use letters, digits and _, not a digit first",
    "choose another module name",
)
NAMES = {
    **dict.fromkeys(("", "2nd", "a b", "a-b", "naïve", "a;b", "$x"), f"is not a {NO_IDENTIFIER}"),
    "a__core": "has __, which the names of inner modules have: use single _",
    **dict.fromkeys(("module", "reg", "endmodule"), f"is a keyword of Verilog or SystemVerilog: {KEYWORD}"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_identifier_or_a_keyword_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'{name!r} {NAMES[name]}')}$"):
        axi_verilog(decoder_core(), name)


def test_the_longest_name_is_the_longest_that_verilator_finds() -> None:
    # https://github.com/verilator/verilator, V3Options.cpp: file names of more than 127 characters are not tried.
    check_module_name("a" * 127)
    with pytest.raises(ValueError, match=r"has 128 characters, but Verilator finds names of at most 127$"):
        check_module_name("a" * 128)


def test_cores_with_different_names_have_no_module_in_common() -> None:
    core = DecoderParameters(lanes=4)
    one, other = (
        set(re.findall(r"^module (\w+)", axi_verilog(build(core), name), re.MULTILINE)) for name in ("a", "a_packer")
    )
    assert one.isdisjoint(other)


@pytest.mark.parametrize("kind", CORES)
def test_comments_name_no_classes_and_nothing_is_left_of_the_notation_of_python(kind: str) -> None:
    verilog = axi_verilog(build(CORES[kind]()))
    comments = "\n".join(re.findall(r"^ *// (.*)$", verilog[verilog.index("\nmodule ") :], re.MULTILINE))
    assert not re.findall(r"\b(?:[A-Z][a-z]+){2,}\b", comments)
    assert not re.findall(r"`|\b[a-z_]+\.[a-z_]+\b|\b_\w+", comments)
