# SPDX-License-Identifier: BSD-2-Clause
"""The Verilog of small random components does what Amaranth's own back end says."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Array, Cat, ClockDomain, ClockSignal, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from support.icarus import requires_icarus
from support.processes import run
from support.tiers import tiered

from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.hdl.verilog import values
from utf8fpga.hdl.verilog.live import Hierarchy
from utf8fpga.hdl.verilog.modules import circuits_of
from utf8fpga.hdl.verilog.text import modules_text
from utf8fpga.model.exceptions import InvalidArgumentError


def verilog_of(component: wiring.Component, name: str = "top") -> str:
    return modules_text(Hierarchy(circuits_of(component, name), name).live_circuits())


OPERATORS: list[Callable[[Value, Value], Value]] = [
    *(operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor),
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
    lambda a, b: (a + Const(0, 2)) ^ (Const(0, 3) | b),
    lambda a, b: (a & ~Const(0, 3)) - (Const(0, 1) - b),
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
            made = Signal(random.choice([4, 7, signed(6)]), name=f"made_{name}", init=random.randrange(3))
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
        m.submodules.rows = rows = memory.Memory(shape=4, depth=8, init=[])
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
  wire [63:0] gold_q, gate_q, yosys_q;
  {instances}
  integer cycle;
  initial begin
    for (cycle = 0; cycle < 400; cycle = cycle + 1) begin
      #1 {{a, b, c}} = $random;
      rst = cycle % 50 > 47;
      #1 if (gold_q !== gate_q || gold_q !== yosys_q) begin
        $display("cycle %0d: %h and %h, but %h is right", cycle, gate_q, yosys_q, gold_q);
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
    """In Icarus Verilog, and as Yosys reads the text."""
    # Yosys 0.70 writes an operand without a sign as one with it, where it is whole a wire that has one.
    given = {
        "gold.il": rtlil.convert(Anything(seed), name="gold", emit_src=False).replace(" signed \\", " \\"),
        "gate.v": verilog_of(Anything(seed), "gate"),
    }
    script = (
        "read_rtlil gold.il; proc; write_verilog -noattr gold.v; design -reset; read_verilog gate.v; "
        "hierarchy -top gate; proc; flatten; rename gate yosys; write_verilog -noattr yosys.v"
    )
    gold, yosys = run_yosys(script, given, "gold.v", "yosys.v")
    instances = [
        f"{each} {each}_i (.clk(clk), .rst(rst), .a(a), .b(b), .c(c), "
        + ", ".join(f".q{n}({each}_q[{8 * n} +: 8])" for n in range(8))
        for each in ("gold", "gate", "yosys")
    ]
    bench = BENCH.format(instances="\n  ".join(f"{each});" for each in instances))
    texts = {"bench.v": bench, "gold.v": gold.decode(), "gate.v": given["gate.v"], "yosys.v": yosys.decode()}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    run(["iverilog", "-g2005", "-o", "bench", "-s", "bench", *texts], cwd=tmp_path, check=True)
    done = run(["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "equal\n", done.stdout


@requires_icarus
def test_a_wrong_text_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(values._ARITHMETIC, "$sub", "+")
    with pytest.raises(AssertionError, match="is right"):
        test_random_components_behave_as_those_of_amaranths_back_end(0, tmp_path)


def divide(m: Module, top: Any) -> None:
    m.d.comb += top.q.eq(top.a // top.b)


def falling(m: Module, top: Any) -> None:
    m.domains.sync = ClockDomain(clk_edge="neg", local=True)
    m.d.comb += ClockSignal().eq(top.b[0])
    m.d.sync += top.q.eq(top.a)


def late(m: Module, top: Any) -> None:
    m.submodules.rows = rows = memory.Memory(shape=4, depth=8, init=[])
    m.d.comb += top.q.eq(rows.read_port().data)


def filled(m: Module, top: Any) -> None:
    m.submodules.rows = rows = memory.Memory(shape=4, depth=8, init=[1])
    m.d.comb += top.q.eq(rows.read_port(domain="comb").data)


class Hidden(wiring.Component):
    given = Signal(name="given")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.made.eq(self.given)
        return m


def hidden(m: Module, top: Any) -> None:
    m.submodules.hidden = inner = Hidden({"made": Out(1)})
    m.d.comb += [inner.given.eq(top.a[0]), top.q.eq(inner.made)]


CELL = "module top: the Verilog writer does not know the cell"
UNKNOWN = {
    divide: f"{CELL} [$]divfloor with ",
    late: f"{CELL} [$]memrd_v2 with .*CLK_ENABLE 1",
    filled: f"{CELL} [$]meminit_v2 with ",
    falling: f"{CELL} [$]dff with WIDTH 4, CLK_POLARITY 0$",
    hidden: "Hidden reads given, which is not at a port of it$",
}


@pytest.mark.parametrize("statement", UNKNOWN, ids=lambda statement: statement.__name__)
def test_what_the_writer_does_not_know_is_an_error_that_names_it(statement: Callable[[Module, Any], None]) -> None:
    class Unknown(wiring.Component):
        def elaborate(self, platform: object) -> Module:
            m = Module()
            statement(m, self)
            return m

    with pytest.raises(InvalidArgumentError, match=f"^{UNKNOWN[statement]}"):
        verilog_of(Unknown({"a": In(4), "b": In(4), "q": Out(4)}))
