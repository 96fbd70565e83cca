# SPDX-License-Identifier: BSD-2-Clause
"""The generated Verilog: its contract, and equality with CPython in an independent simulator."""

from __future__ import annotations

import os
import random
import re
import sys
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from support.icarus import requires_icarus, run_abandoned, run_verilog, split_texts
from support.processes import run
from support.tiers import tiered
from support.verilog_ports import declared_ports

from utf8fpga.hdl import PIPELINES, AxiStreamCore, axi_verilog, decoder_core
from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.sim.boundaries import boundary_units

PORTS = {
    "clk": ("input", 1),
    "rst": ("input", 1),
    "s_axis_tdata": ("input", 8),
    "s_axis_tkeep": ("input", 1),
    "s_axis_tlast": ("input", 1),
    "s_axis_tvalid": ("input", 1),
    "s_axis_tready": ("output", 1),
    "m_axis_tdata": ("output", 32),
    "m_axis_tkeep": ("output", 4),
    "m_axis_tuser": ("output", 1),
    "m_axis_tlast": ("output", 1),
    "m_axis_tvalid": ("output", 1),
    "m_axis_tready": ("input", 1),
}


@cache
def verilog_of(pipeline: int) -> str:
    return axi_verilog(decoder_core(pipeline=pipeline))


@pytest.fixture(scope="module", params=PIPELINES, ids=lambda pipeline: f"pipeline{pipeline}")
def verilog(request: pytest.FixtureRequest) -> str:
    return verilog_of(request.param)


@pytest.mark.smoke
def test_exactly_the_ports_of_the_contract_in_its_order(verilog: str) -> None:
    declared = declared_ports(verilog)
    assert {name: (direction, width) for direction, name, width in declared} == PORTS
    assert [name for _, name, _ in declared] == list(PORTS)


def test_plain_identifiers_without_attributes_and_directives(verilog: str) -> None:
    modules = re.findall(r"^module (\w+) \($", verilog, re.MULTILINE)
    assert modules[0] == "utf8_decoder"
    assert len(modules) == len(set(modules)) == verilog.count("\nendmodule\n")
    assert all(name.startswith("utf8_decoder_") for name in modules[1:])
    for character in ("(*", "`", "\\", "$"):
        assert character not in verilog


@pytest.mark.smoke
def test_the_verilog_is_deterministic(verilog: str, request: pytest.FixtureRequest) -> None:
    pipeline = request.node.callspec.params["verilog"]
    call = f"axi_verilog(decoder_core(pipeline={pipeline}))"
    script = f"from utf8fpga.hdl import axi_verilog, decoder_core; print({call}, end='')"
    for number in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": number}
        again = run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        assert again.stdout == verilog


def test_no_path_or_date_of_the_machine_that_wrote_it(verilog: str) -> None:
    assert "/home" not in verilog
    assert "Yosys" not in verilog
    assert str(Path.cwd()) not in verilog


def test_the_name_of_the_module() -> None:
    assert "module my_decoder2 (" in axi_verilog(decoder_core(), "my_decoder2")


@pytest.mark.parametrize("name", ["", "2nd", "a b", "a-b", "naïve", "a;b", "$x"])
def test_a_name_that_is_no_identifier_is_rejected(name: str) -> None:
    message = f"{name!r} is not a Verilog identifier: use letters, digits and _, not a digit first"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        axi_verilog(decoder_core(), name)


@pytest.mark.parametrize("name", ["module", "reg", "endmodule"])
def test_a_name_that_is_a_keyword_is_rejected(name: str) -> None:
    message = f"{name!r} is a keyword of Verilog or SystemVerilog: choose another module name"
    with pytest.raises(ValueError, match=f"^{message}$"):
        axi_verilog(decoder_core(), name)


def test_yosys_reads_it_as_verilog_2005(verilog: str, tmp_path: Path) -> None:
    (tmp_path / "core.v").write_text(verilog)
    run_tool("yosys", ["-q", "-p", "read_verilog core.v; hierarchy -check -top utf8_decoder"], directory=tmp_path)


def check_against_cpython(verilog: str, pieces: list[bytes], directory: Path, **how: object) -> None:
    found = split_texts(run_verilog(verilog, pieces, directory, **how))
    assert len(found) == len(pieces)
    for piece, beats in zip(pieces, found, strict=True):
        text = piece.decode("utf-8", "replace")
        assert "".join(chr(beat.tdata) for beat in beats) == text, piece.hex(" ")
        marks = [beat.tuser for beat in beats]
        # A handler that writes another character distinguishes marks from a well-formed U+FFFD in CPython.
        assert marks == [int(c == "\x00") for c in piece.replace(b"\x00", b"A").decode("utf-8", "mark")], piece.hex(" ")


@pytest.fixture(scope="module", autouse=True)
def _mark_handler() -> None:
    import codecs

    def mark(error: UnicodeError) -> tuple[str, int]:
        return "\x00", error.end

    codecs.register_error("mark", mark)


@pytest.mark.smoke
@requires_icarus
@pytest.mark.parametrize(
    ("verilog", "busy_in", "busy_out"),
    tiered(
        {
            f"pipeline{pipeline}-{busy_in}-{busy_out}": (pipeline, busy_in, busy_out)
            for pipeline in PIPELINES
            for busy_in, busy_out in ((0, 0), (10, 80), (40, 0), (0, 40), (50, 50))
        },
        ["pipeline0-10-80", "pipeline2-10-80"],
    ),
    indirect=["verilog"],
)
def test_boundary_sequences_with_pauses(verilog: str, busy_in: int, busy_out: int, tmp_path: Path) -> None:
    rng = random.Random(busy_in + busy_out)
    bounds = boundary_units()
    pieces = [bytes(pair) for pair in product(bounds, repeat=2)]
    pieces += [bytes(rng.choices(bounds, k=rng.randrange(0, 9))) for _ in range(2500)]
    rng.shuffle(pieces)
    ends = [rng.random() < 0.4 for _ in range(17)]
    check_against_cpython(verilog, pieces, tmp_path, separate_ends=ends, busy_in=busy_in, busy_out=busy_out)


@requires_icarus
@pytest.mark.slow
def test_all_pairs_of_bytes(verilog: str, tmp_path: Path) -> None:
    check_against_cpython(verilog, [bytes(pair) for pair in product(range(256), repeat=2)], tmp_path)


@requires_icarus
@pytest.mark.parametrize(("first", "second"), [(0x41, 0x41), (0xF0, 0x90), (0xC2, 0x41), (0xFF, 0xE0)])
def test_one_cycle_of_reset_within_a_packet(verilog: str, first: int, second: int, tmp_path: Path) -> None:
    assert run_abandoned(verilog, 1, first, second, 6, False, tmp_path) == "0000fffd f 1 1\n"


def test_the_module_has_its_own_clock_domain_within_a_larger_design() -> None:
    m = Module()
    count, other = Signal(8), Signal()
    m.d.sync += count.eq(count + 1)
    m.submodules.decoder = decoder = AxiStreamCore(decoder_core())
    m.d.comb += decoder.clk.eq(other)
    clocks: dict[str, set[str]] = {}
    for line in rtlil.convert(m, ports=[count, other], emit_src=False).splitlines():
        if line.startswith("module "):
            module = line.split()[1]
        elif "connect \\CLK" in line:
            clocks.setdefault(module, set()).add(line.split()[2])
    assert clocks == {r"\top": {r"\clk"}, r"\top.decoder.core": {r"\axi_clk"}}


def test_a_symbol_may_have_no_other_fields_than_those_of_the_ports() -> None:
    layout = beat_layout(data.StructLayout({"code_point": 21, "error": 1, "announced": 3}), 1)
    core = SimpleNamespace(lanes=1, input=decoder_core().input, output=stream.Interface(stream.Signature(layout)))
    with pytest.raises(ValueError, match=r"^AXI4-Stream ports have .* for each symbol, but none for announced$"):
        AxiStreamCore(core)


@requires_icarus
@pytest.mark.slow
def test_all_scalar_values(verilog: str, tmp_path: Path) -> None:
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    beats = run_verilog(verilog, [text.encode()], tmp_path)
    assert len(beats) == len(text) == 1_112_064
    assert [beat.tdata for beat in beats] == list(map(ord, text))
    assert not any(beat.tuser for beat in beats)
    assert all(beat.tkeep == 0xF for beat in beats)
    assert [beat.tlast for beat in beats] == [0] * (len(text) - 1) + [1]


@requires_icarus
@pytest.mark.slow
def test_all_triples_of_boundary_bytes(verilog: str, tmp_path: Path) -> None:
    pieces = [bytes(triple) for triple in product(boundary_units(), repeat=3)]
    check_against_cpython(verilog, pieces, tmp_path, busy_out=20, separate_ends=[False, True, False])
