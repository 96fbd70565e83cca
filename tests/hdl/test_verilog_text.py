# SPDX-License-Identifier: BSD-2-Clause
"""The Verilog of small random components does what Amaranth's own back end says, and reads as their source does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import (
    Array,
    Assert,
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    Instance,
    Module,
    Mux,
    Shape,
    Signal,
    Value,
    signed,
)
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from support.lint import requires_linters, warnings_of
from support.processes import run
from support.tiers import tiered

from utf8fpga.hdl.commented import commented, named
from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.hdl.verilog import values
from utf8fpga.hdl.verilog.modules import circuits_of
from utf8fpga.hdl.verilog.text import modules_text
from utf8fpga.hdl.verilog.writer import _WAIVER
from utf8fpga.model.exceptions import InvalidArgumentError

requires_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="requires Icarus Verilog (iverilog)")


def verilog_of(component: wiring.Component, name: str = "top") -> str:
    return modules_text(circuits_of(component, name), name)


class Mode(enum.Enum, shape=2):
    IDLE = 0
    BUSY = 2


OPERATORS: list[Callable[[Value, Value], Value]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a & b,
    lambda a, b: a | ~b,
    lambda a, b: a ^ b,
    lambda a, b: Cat(a == b, a != b, a < b, a <= b, a > b, a >= b),
    lambda a, b: a << b[:2],
    lambda a, b: a >> b[:2],
    lambda a, b: a >> Const(0, 0),
    lambda a, b: Cat(a, b[:0] & a[:0], (b[:1] & ~a[:1])[1:]),
    lambda a, b: Cat(a[1:], b).as_signed() >> b[:3],
    lambda a, b: -a,
    lambda a, b: Cat(a.any(), a.all(), b.xor(), a.bool(), ~a[0]),
    lambda a, b: Mux(a[0], a, b),
    lambda a, b: Mux(a > b, b.as_signed(), a.as_signed()),
    lambda a, b: Cat(b[0].replicate(3), a)[1:5],
    lambda a, b: Cat(a, b).bit_select(b[:3], 3),
    lambda a, b: Cat(a, b).word_select(a[:2], 2),
    lambda a, b: Array([a, b, ~a])[Cat(a[0], b[0])],
    lambda a, b: (a & 5) - Const(-2, signed(3)),
    lambda a, b: (a + b)[1:4],
]


class Inner(wiring.Component):
    """A part with a structure at its ports."""

    layout = data.StructLayout({"code": 3, "lanes": data.ArrayLayout(data.StructLayout({"low": 2, "high": 1}), 2)})

    def __init__(self) -> None:
        super().__init__({"given": In(self.layout), "made": Out(self.layout), "unused": Out(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.unused.eq(self.given.code)
        m.d.sync += self.made.code.eq(self.given.code + self.given.lanes[0].low)
        for lane in range(2):
            m.d.comb += self.made.lanes[lane].low.eq(self.given.lanes[1 - lane].low ^ lane)
            m.d.sync += self.made.lanes[lane].high.eq(~self.given.lanes[lane].high)
        return m


class Anything(wiring.Component):
    """Random statements about random expressions."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        super().__init__({"a": In(5), "b": In(signed(4)), "c": In(1), **{f"q{number}": Out(8) for number in range(8)}})

    def elaborate(self, platform: object) -> Module:
        m, random = Module(), self.random
        self.values: list[Value] = [self.a, self.b, self.c]
        registers = [
            Signal(random.choice([3, 8, signed(5)]), name=f"state_{name}", init=random.randrange(4), reset_less=less)
            for name, less in zip("uvwx", (False, True, False, True), strict=True)
        ]
        self.values += registers
        for name in "klmn":
            made = Signal(random.choice([Shape(4), Shape(7), signed(6)]), name=f"made_{name}", init=random.randrange(3))
            self.assign(m, m.d.comb, made, 2)
            self.values.append(made)
        self.values += [self.memory(m), self.part(m)]
        for register in registers:
            self.assign(m, m.d.sync, register, 3)
        for number in range(8):
            output = getattr(self, f"q{number}")
            (m.d.sync if number % 2 else m.d.comb).__iadd__(output.eq(self.expression(3)))
        return m

    def expression(self, depth: int) -> Value:
        if not depth or self.random.random() < 0.1:
            return self.random.choice(self.values)
        operands = [self.expression(depth - 1)[:6] for _ in range(2)]
        if self.random.random() < 0.3:
            operands = [each.as_signed() for each in operands]
        return self.random.choice(OPERATORS)(*operands)

    def assign(self, m: Module, domain: Any, target: Signal, depth: int) -> None:
        """Assignments behind and inside conditions, of which later ones override earlier ones."""
        for _ in range(self.random.randrange(1, 3)):
            kind = self.random.randrange(4) if depth else 0
            if kind == 0:
                low = self.random.randrange(len(target))
                part = target if self.random.random() < 0.5 else target[low : low + 3]
                domain += part.eq(self.expression(2))
            elif kind < 3:
                with m.If(Cat(self.c, self.expression(2)).any()):
                    self.assign(m, domain, target, depth - 1)
                if kind == 2:
                    with m.Elif(self.expression(1) > self.a):
                        self.assign(m, domain, target, depth - 1)
                    with m.Else():
                        self.assign(m, domain, target, depth - 1)
            else:
                with m.Switch((self.expression(1) ^ self.a)[:3]):
                    for patterns in self.random.choice([("000", "01-"), (1, 2), ("1--",), (3,)]), (4, 5), ():
                        with m.Case(*patterns) if patterns else m.Default():
                            self.assign(m, domain, target, depth - 1)

    def memory(self, m: Module) -> Value:
        m.submodules.rows = rows = memory.Memory(shape=4, depth=8, init=[self.random.randrange(16) for _ in range(5)])
        write, read = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [write.en.eq(self.c), write.addr.eq(self.a), write.data.eq(self.b + self.a)]
        m.d.comb += read.addr.eq(self.a[1:])
        return read.data

    def part(self, m: Module) -> Value:
        m.submodules.inner = inner = Inner()
        m.d.comb += Value.cast(inner.given).eq(Cat(self.a, self.b))
        return Value.cast(inner.made)


BENCH = """
module bench;
  reg clk = 0, rst = 0, c = 0;
  reg [4:0] a = 0;
  reg [3:0] b = 0;
  wire [63:0] gold_q, gate_q;
  gold gold_i (.clk(clk), .rst(rst), .a(a), .b(b), .c(c), {gold});
  gate gate_i (.clk(clk), .rst(rst), .a(a), .b(b), .c(c), {gate});
  integer cycle;
  initial begin
    for (cycle = 0; cycle < 400; cycle = cycle + 1) begin
      #1 {{a, b, c}} = $random;
      rst = cycle % 50 > 47;
      #1 if (gold_q !== gate_q) begin
        $display("cycle %0d: %h, but %h is right", cycle, gate_q, gold_q);
        $finish;
      end
      clk = 1;
      #1 clk = 0;
    end
    $display("equal");
    $finish;
  end
endmodule
"""


@requires_icarus
@pytest.mark.parametrize("seed", tiered({str(seed): seed for seed in range(40)}, ["0", "1", "2"]))
def test_random_components_behave_as_those_of_amaranths_back_end(seed: int, tmp_path: Path) -> None:
    # Yosys 0.70 writes an operand without a sign as one with it, where it is whole a wire that has one.
    design = rtlil.convert(Anything(seed), name="gold", emit_src=False).replace(" signed \\", " \\")
    (gold,) = run_yosys("read_rtlil gold.il; proc; write_verilog -noattr gold.v", {"gold.il": design}, "gold.v")
    outputs = {each: ", ".join(f".q{n}({each}_q[{8 * n} +: 8])" for n in range(8)) for each in ("gold", "gate")}
    (tmp_path / "bench.v").write_text(BENCH.format(**outputs), encoding="utf-8")
    (tmp_path / "gold.v").write_bytes(gold)
    (tmp_path / "gate.v").write_text(verilog_of(Anything(seed), "gate"), encoding="utf-8")
    files = ["bench.v", "gold.v", "gate.v"]
    run(["iverilog", "-g2005", "-o", "bench", "-s", "bench", *files], cwd=tmp_path, check=True)
    done = run(["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "equal\n", done.stdout


@requires_icarus
def test_a_wrong_text_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(values._ARITHMETIC, "$sub", "+")
    with pytest.raises(AssertionError, match="is right"):
        test_random_components_behave_as_those_of_amaranths_back_end(0, tmp_path)


class Reader(wiring.Component):
    """Statements as engineers write them.

    Latency: `latency` cycles. Nothing waits for `stream.ready`.

    Args:
        none: this is not in the text.
    """

    latency = 3

    def __init__(self) -> None:
        layout = data.StructLayout({"code": 3, "mode": Mode})
        ports = {"stream": In(stream.Signature(layout)), "lanes": In(16), "enables": In(8), "word": Out(21)}
        super().__init__(ports | {"mode": Out(Mode), "high": Out(8), "reg": Out(1), "count": Out(4), "low": Out(4)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        item, payload = commented(Signal(4, name="item", reset_less=True), "The item."), self.stream.payload
        takes = named(m, "takes", self.stream.valid & self.enables[0] & self.enables[1], "A beat arrives.")
        m.submodules.slice_0, m.submodules.slice_1 = slices = [Half(), Half()]
        with m.If(takes):
            m.d.sync += [item.eq(payload.code), self.reg.eq(payload.mode == Mode.BUSY)]
            with m.Switch(payload.code):
                with m.Case(1):
                    m.d.sync += self.count.eq(self.count + 1)
                with m.Case(2, 3):
                    m.d.sync += self.count.eq(0)
        m.d.comb += [slices[0].given.eq(item), slices[1].given.eq(~item)]
        m.d.comb += self.stream.ready.eq(takes | self.enables[3])
        m.d.comb += self.mode.eq(Mux(self.enables[0], Mode.IDLE, payload.mode))
        m.d.comb += self.word.eq(Mux(self.enables[2], Const(0xFFFD, 21), self.lanes))
        m.d.comb += self.high.eq(Cat(self.lanes[2 * n] & self.enables[n] for n in range(8)))
        m.d.comb += self.low.eq(slices[1].half)
        return m


class Half(wiring.Component):
    """Half of it."""

    def __init__(self) -> None:
        super().__init__({"given": In(4), "half": Out(4), "other": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.half.eq(self.given >> 1), self.other.eq(self.given[0])]
        return m


@pytest.fixture(scope="module")
def text() -> str:
    return verilog_of(Reader(), "top")


def lines_of(text: str, pattern: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if re.search(pattern, line)]


def test_modules_are_the_components_and_ports_the_members_of_their_signatures(text: str) -> None:
    assert re.findall(r"^module (\w+)", text, re.MULTILINE) == ["top", "top__half"]
    header = text[text.index("module top ") : text.index(");")]
    ports = re.findall(r"(input|output) (?:wire|reg) (?:\[\d+:0\] )?(\w+)", header)
    assert [name for way, name in ports if way == "input"] == [
        *("clk", "rst", "stream_code", "stream_mode", "stream_valid", "lanes", "enables")
    ]
    assert [name for way, name in ports if way == "output"] == [
        "stream_ready",
        "word",
        "mode",
        "high",
        "reg_",
        "count",
        "low",
    ]


def test_outputs_that_nothing_reads_are_left_out(text: str) -> None:
    # Of the first half nothing is read, of the second one `other` is not.
    assert lines_of(text, "top__half|other|slice_0") == ["top__half slice_1 (", "module top__half ("]


def test_comments_are_those_of_the_source_with_values_in_the_place_of_names(text: str) -> None:
    assert text.startswith(
        "// Statements as engineers write them.\n// Latency: 3 cycles. Nothing waits for stream_ready.\nmodule top (\n"
    )
    assert "  // The item.\n  reg [3:0] item;\n" in text
    assert "  // A beat arrives.\n  wire takes = stream_valid & enables[0] & enables[1];\n" in text


def test_registers_with_the_same_condition_are_in_one_process_with_the_switches_of_the_source(text: str) -> None:
    assert "case (stream_code)\n        3'h1: begin\n" in text
    assert "        3'h2, 3'h3: begin\n          count <= 4'h0;\n" in text
    assert lines_of(text, "always") == ["always @(posedge clk) begin"] * 2  # `item` has no reset.


def test_constants_with_a_meaning_have_names(text: str) -> None:
    assert "  localparam [1:0] MODE_IDLE = 2'h0;\n" in text
    assert "assign mode = enables[0] ? MODE_IDLE : stream_mode;" in text
    assert "reg_ <= stream_mode == MODE_BUSY;" in text
    assert "assign word = enables[2] ? REPLACEMENT_CHARACTER : {5'h00, lanes};" in text


@requires_linters
def test_linters_have_no_warnings(text: str, tmp_path: Path) -> None:
    assert warnings_of(_WAIVER + text, tmp_path) == []


class Unknown(wiring.Component):
    """What the writer does not know."""

    def __init__(self, statement: Callable[[Module, Any], None]) -> None:
        self.statement = statement
        super().__init__({"a": In(4), "b": In(4), "q": Out(4)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.statement(m, self)
        return m


def divide(m: Module, top: Any) -> None:
    m.d.comb += top.q.eq(top.a // top.b)


def falling(m: Module, top: Any) -> None:
    m.domains.late = ClockDomain(clk_edge="neg", local=True)
    m.d.comb += ClockSignal("late").eq(top.b[0])
    m.d.late += top.q.eq(top.a)


def foreign(m: Module, top: Any) -> None:
    m.submodules.foreign = Instance("foreign", ("i", "a", top.a), ("o", "q", top.q))


def check(m: Module, top: Any) -> None:
    m.d.comb += [Assert(top.a != top.b), top.q.eq(top.a)]


def plain(m: Module, top: Any) -> None:
    m.submodules.plain = inner = Module()
    inner.d.comb += top.q.eq(top.a)


UNKNOWN = {
    divide: "module top: the Verilog writer does not know the cell $divfloor",
    falling: "module top: the Verilog writer does not know the cell $dff with a falling edge",
    check: "module top: the Verilog writer does not know the cell $check",
    foreign: "the Verilog writer does not know foreign, which is not a component",
    plain: "the Verilog writer does not know plain, which is not a component",
}


@pytest.mark.parametrize("statement", UNKNOWN, ids=lambda statement: statement.__name__)
def test_what_the_writer_does_not_know_is_an_error_that_names_it(statement: Callable[[Module, Any], None]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{re.escape(UNKNOWN[statement])}$"):
        verilog_of(Unknown(statement))
