# SPDX-License-Identifier: BSD-2-Clause
"""The text of modules: equal to the design, with its names and comments, and regular where the design is."""

from __future__ import annotations

import re
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.formal.netlist import equal_verilog
from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    ValidatorParameters,
    axi_verilog,
    build,
)
from utf8fpga.hdl.commented import named
from utf8fpga.hdl.verilog.rtlil import read_rtlil
from utf8fpga.hdl.verilog.text import Part, modules_text

Build = Callable[[Module, Signal, Signal], Signal]
"""Adds logic with two inputs of 8 bits to a module, and returns the output."""


def conditions(m: Module, a: Signal, b: Signal) -> Signal:
    state, chosen = Signal(4, name="state", init=3), Signal(4, name="chosen")
    with m.If(a[0]):
        m.d.sync += state.eq(b[:4])
    with m.Elif(a[1]):
        m.d.sync += state[1:3].eq(a[2:4])
        with m.If(b[0]):
            m.d.sync += state[3].eq(0)
    with m.Else():
        m.d.sync += state.eq(state + 1)
    with m.Switch(state):
        with m.Case(1, 2):
            m.d.comb += chosen.eq(a[4:])
        with m.Case("1--0"):
            m.d.comb += chosen.eq(b[4:])
        with m.Default():
            m.d.comb += chosen.eq(~state)
    return chosen


def arithmetic(m: Module, a: Signal, b: Signal) -> Signal:
    total, result = Signal(9, name="total"), Signal(16, name="result")
    m.d.comb += total.eq(a + b)
    low = (a[:4] + b[:3])[1:4]
    compared = Cat(a < b, a == b, a >= b, (a - b)[8], a.any(), b.all(), (a ^ b).xor())
    m.d.sync += result.eq(Cat(compared, Mux(total[8], low, (a >> b[:3])[:3]), total[:2]))
    return result


def rows(m: Module, a: Signal, b: Signal) -> Signal:
    m.submodules.rows = stored = memory.Memory(shape=8, depth=4, init=[])
    write, read = stored.write_port(), stored.read_port(domain="comb")
    m.d.comb += [write.en.eq(a[7]), write.addr.eq(a[:2]), write.data.eq(b), read.addr.eq(a[2:4])]
    return read.data


def lanes(m: Module, a: Signal, b: Signal) -> Signal:
    found = [Signal(2, name=f"found_{lane}") for lane in range(4)]
    for lane, each in enumerate(found):
        m.d.sync += each.eq(Mux(a[lane], a[2 * lane : 2 * lane + 2], b[2 * lane : 2 * lane + 2] & a[lane].replicate(2)))
    return named(m, "all_found", Cat(found))


def fields(m: Module, a: Signal, b: Signal) -> Signal:
    layout = data.ArrayLayout(data.StructLayout({"code": 3, "error": 1}), 2)
    beat = Signal(layout, name="beat")
    m.d.sync += [beat[0].code.eq(a), beat[0].error.eq(b[0]), beat[1].code.eq(b), beat[1].error.eq(a[7])]
    return named(m, "result", Cat(beat[1].code, beat[0].error, beat[1].error, beat[0].code))


def fields_with_the_same_name(m: Module, a: Signal, b: Signal) -> Signal:
    layout = data.StructLayout({"code": 3, "error": 1})
    given, made = Signal(layout, name="item__payload"), Signal(layout, name="item")
    m.d.comb += [given.code.eq(a), given.error.eq(b[0])]
    m.d.sync += made.eq(given)
    return named(m, "result", Cat(made.error, made.code, given.code))


def dependent_bits(m: Module, a: Signal, b: Signal) -> Signal:
    carries = [Signal(name=f"carry_{bit}") for bit in range(4)]
    for bit, each in enumerate(carries):
        m.d.comb += each.eq(a[bit] & (carries[bit - 1] | b[bit]) if bit else b[0])
    return named(m, "result", Cat(carries))


def replaced(m: Module, a: Signal, b: Signal) -> Signal:
    """Bits that have a common condition without which they are those of a constant; others in front and behind."""
    completed, constant = b[0], 0xD3
    value = Cat(a[bit] & completed if not constant >> bit & 1 else a[bit] | ~completed for bit in range(8))
    return named(m, "result", Cat(b[7], value, b[6] & b[5]))


def reductions(m: Module, a: Signal, b: Signal) -> Signal:
    ranges = Cat(
        a[6] | (a[5] | (a[4] | b[0])),
        ~a[1] & (~a[2] & (~a[3] & b[1])),
        a[0] & (a[1] & a[3]),
        ~(~b[7] | (~b[6] | ~b[5])),
        (b[0] | a[2]) | ((b[1] | a[1]) & (a[0] | (a[1] | (a[2] | a[3])))),
    )
    return named(m, "result", ranges)


class Inner(wiring.Component):
    """A component whose ports are parts of its members outside."""

    def __init__(self) -> None:
        super().__init__({"sums": In(data.ArrayLayout(4, 2)), "halves": Out(8), "ready": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.ready.eq(self.sums[0] == self.sums[1]),
            self.halves.eq(Cat(self.sums[1] ^ 5, self.sums[0] ^ 3)),
        ]
        return m


def members(m: Module, a: Signal, b: Signal) -> Signal:
    m.submodules.inner = inner = Inner()
    m.d.comb += [inner.sums[0].eq(a[:4] + b[:4]), inner.sums[1].eq(a[4:])]
    return named(m, "result", Cat(inner.halves[:4], inner.ready, inner.halves[4:]))


BUILDS = (
    *(conditions, arithmetic, rows, lanes, fields, fields_with_the_same_name, dependent_bits),
    *(replaced, reductions, members),
)


def written(*builds: Build) -> tuple[str, str]:
    """A module in RTLIL and in Verilog, with a register at each output."""
    m, a, b = Module(), Signal(8, name="a"), Signal(8, name="b")
    outputs = []
    for each in builds:
        result = each(m, a, b)
        outputs.append(Signal(len(result), name=f"q_{each.__name__}"))
        m.d.sync += outputs[-1].eq(result)
    design = rtlil.convert(m, name="top", ports=[a, b, *outputs], emit_src=False)
    modules = read_rtlil(design)
    ports = [name for name, signal in modules["top"].signals.items() if signal.direction]
    parts = {"top.inner": Part("Inner part.", {"sums": "input", "halves": "output", "ready": "output"})}
    return design, modules_text(modules, ports, parts)


def test_the_text_is_equal_to_the_design() -> None:
    design, verilog = written(*BUILDS)
    assert equal_verilog(design, verilog, "top").proved is True


def test_registers_of_lanes_are_assigned_in_one_loop() -> None:
    _, verilog = written(lanes)
    assert "reg [7:0] found;" in verilog
    assert "found[2*i +: 2] <= a[i] ? a[2*i +: 2] : b[2*i +: 2] & {2{a[i]}};" in verilog
    assert verilog.count("found[") == 1


def test_ports_are_the_members_of_the_component() -> None:
    _, verilog = written(members)
    ports = "\n".join(["input wire [7:0] sums,", "  output wire [7:0] halves,", "  output wire ready", ");"])
    assert f"// Inner part.\nmodule top_inner (\n  {ports}" in verilog
    assert "    .sums({a[7:4], a[3:0] + b[3:0]}),\n" in verilog


def test_values_of_an_enumeration_are_named_constants() -> None:
    verilog = axi_verilog(build(DecoderParameters(kind=True)))
    assert "  localparam [2:0] KIND_NONE = 3'h0;\n" in verilog
    assert "kind <= completes ? KIND_NONE : " in verilog


def test_comments_of_signals_and_modules_are_in_the_text() -> None:
    verilog = axi_verilog(build(DecoderParameters(optimize="area")))
    assert "// The unit starts a sequence of several units: C2..F4.\n  wire opens = " in verilog
    assert "// Code units in, items out, with one U+FFFD per maximal subpart (D93b): the smallest decoder.\n" in verilog


def test_the_docs_show_a_part_of_the_text() -> None:
    page = (Path(__file__).parents[2] / "docs" / "verilog-reference.md").read_text(encoding="utf-8")
    (shown,) = re.findall(
        r"For example, a part of the serial decoder with `--optimize area`:\n\n```text\n(.*?)```", page, re.DOTALL
    )
    assert shown in axi_verilog(build(DecoderParameters(optimize="area")))


@pytest.mark.parametrize(
    ("parameters", "lines"),
    [
        (DecoderParameters(), 200),
        (DecoderParameters(optimize="area"), 150),
        pytest.param(DecoderParameters(lanes=2), 1500, marks=pytest.mark.slow),
        (DecoderParameters(lanes=4, packed=False), 1200),
        (DecoderParameters(lanes=4), 1600),
        pytest.param(DecoderParameters(lanes=32, packed=False), 1600, marks=pytest.mark.slow),
        (EncoderParameters(), 300),
        pytest.param(ValidatorParameters(lanes=4), 2500, marks=pytest.mark.slow),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_each_wire_has_a_name_none_depends_on_itself_and_the_text_is_short_enough_for_a_review(
    parameters: CoreParameters, lines: int
) -> None:
    verilog = axi_verilog(build(parameters))
    assert not re.findall(r"\b_\d+_\b|\bsignal\w*\b|\bwires\w*\b|\$\d", verilog)
    check_circles(verilog)
    check_ports(verilog)
    assert len(verilog[verilog.index("\nmodule ") :].strip().splitlines()) <= lines


def check_circles(verilog: str) -> None:
    """Check that the wires of each module can be assigned one after the other, each as a whole.

    Raises:
        CycleError: they cannot.
    """
    for module in verilog.split("endmodule"):
        wires: dict[str, set[str]] = {}
        for target, value in re.findall(
            r"^ +(?:assign|wire(?: \[\d+:0\])?) (\w+)[^=;]* = ([^;]+);", module, re.MULTILINE
        ):
            wires.setdefault(target, set()).update(re.findall(r"[A-Za-z_]\w*", value))
        TopologicalSorter(wires).prepare()


def check_ports(verilog: str) -> None:
    """Check that no port has a number for want of a name, or the name of the instance."""
    for module, header in re.findall(r"^module (\w+) \((.*?)^\);", verilog, re.MULTILINE | re.DOTALL):
        ports = re.findall(r"^  (?:input|output) (?:wire|reg) (?:\[\d+:0\] )?(\w+)", header, re.MULTILINE)
        assert len(ports) > 1
        for port in ports:
            base = re.sub(r"_\d+$", "", port)
            assert base == port or (base not in ports and not base.endswith("port")), (module, port)
            assert port != module.rpartition("_")[2], (module, port)
