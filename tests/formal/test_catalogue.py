# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the catalogue: they succeed, and each of them rejects a decoder with a fault."""

from __future__ import annotations

import json
import random
import runpy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from support.benches import run_benches
from support.command import utf8fpga
from support.faulty_cores import FaultyCore, PortFault, valid_is_deasserted_while_waiting
from support.tiers import tiered

from utf8fpga.formal import runner
from utf8fpga.formal.abc import decide
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.netlist import FAMILIES, equal_netlist, equal_verilog
from utf8fpga.formal.properties import JUDGES, Property, cover_targets
from utf8fpga.formal.reference_dfa import Reference
from utf8fpga.formal.runner import Question, harness_aig, prove
from utf8fpga.hdl import DecoderParameters, axi_rtlil, build, decoder_core
from utf8fpga.hdl.chain import Chain
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.minimise import Function
from utf8fpga.hdl.payloads import Kind
from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.model import TABLE_3_7, EncodingTable, ErrorKind, decode
from utf8fpga.model.forms import RFC_2279
from utf8fpga.sim.stimulus import boundary_sequences

SERIAL = [name for name in CONFIGURATIONS if name.startswith("serial")]

LONG = [
    name for name in SERIAL if name.startswith("serial-speed-kind-") and CONFIGURATIONS[name].right is not TABLE_3_7
]
LONGEST = [("serial-speed-kind", "power-up")]
"""The configurations and properties that take longest; CI proves the same with fewer registers."""


def mark_of(name: str, wanted: str) -> pytest.MarkDecorator:
    """One decoder is proved in every run; the rest have the marker `proof`."""
    if name == "serial-area" and wanted not in ("netlist-ice40", "cover"):
        return pytest.mark.smoke
    return pytest.mark.exhaustive if name in LONG or (name, wanted) in LONGEST else pytest.mark.proof


# What is proved.


@pytest.mark.parametrize(
    ("name", "wanted"), [pytest.param(*pair, marks=mark_of(*pair)) for pair in product(SERIAL, PROPERTIES)]
)
def test_proved(name: str, wanted: str) -> None:
    results = prove(CONFIGURATIONS[name], wanted)
    assert [result.verdict for result in results if not result.proved] == []
    assert results or name != "serial-area" or wanted.startswith("netlist-")


@pytest.mark.parametrize("verdicts", [(None, True), (False, True), (True, None)])
def test_a_chain_is_proved_only_if_each_of_its_stages_is(
    verdicts: tuple[bool | None, bool | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    of_stages, of_chain = iter(verdicts), runner._prove.dispatch(Chain)
    core = build(DecoderParameters(lanes=2))
    monkeypatch.setattr(runner, "_prove", lambda _, question: [question.result("induction", next(of_stages))])
    (result,) = of_chain(core, Question(Configuration.of(core.parameters), Property.STEADY, 1))
    assert not result.proved


def test_covers_are_every_cause_and_every_state() -> None:
    targets = cover_targets(decoder_core())
    assert {kind.name for kind in ErrorKind} <= set(targets)
    assert sum(target.startswith("state ") for target in targets) == 7


def test_a_cover_has_a_trace_and_a_waveform(tmp_path: Path) -> None:
    results = prove(CONFIGURATIONS["serial-area-kind"], "cover")
    by_name = {result.note: result.counterexample for result in results}
    surrogate = by_name["SURROGATE"]
    assert surrogate is not None
    assert surrogate.given == surrogate.expected
    assert any(item.error is ErrorKind.SURROGATE for items in surrogate.given for item in items)
    assert surrogate.reproduced == ""
    (waveform,) = surrogate.write(tmp_path, "surrogate")
    assert waveform.name == "serial_area_kind_cover_surrogate.vcd"
    assert "$var wire 1 " in waveform.read_text()


# The reference, which the proofs trust, is compared with the golden model.


class _Referee(wiring.Component):
    def __init__(self, table: EncodingTable) -> None:
        self.table = table
        super().__init__({})
        self.unit, self.keep, self.last = Signal(table.unit_width), Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.reference = Reference(m, self.table, [(self.unit, self.keep)], self.last, self.keep | self.last)
        return m


@pytest.mark.parametrize(
    ("table", "count"), [(TABLE_3_7, 300), (RFC_2279, 60)], ids=lambda given: getattr(given, "name", None)
)
def test_the_reference_equals_the_golden_model(table: EncodingTable, count: int) -> None:
    referee = _Referee(table)
    rng = random.Random(1)
    texts = [[], *(list(chain.from_iterable(rng.choices(boundary_sequences(table), k=3))) for _ in range(count))]

    async def bench(ctx: Any) -> None:
        for text in texts:
            given, ends = [], 0
            separate = not text or rng.random() < 0.5
            beats = [(unit, 1, 0) for unit in text] + [(0, 0, 1)] * separate
            if not separate:
                beats[-1] = (text[-1], 1, 1)
            for unit, keep, last in beats:
                ctx.set(referee.unit, unit)
                ctx.set(referee.keep, keep)
                ctx.set(referee.last, last)
                for event in referee.reference.events:
                    if ctx.get(event.valid):
                        word = ctx.get(event.word)
                        ends += word.end
                        if not word.end:
                            given.append((word.code_point, word.kind))
                await ctx.tick()
            expected = [(item.code_point, int(item.error or 0)) for item in decode(text, table)]
            assert (given, ends) == (expected, 1), bytes(text).hex(" ")

    run_benches(referee, bench)


# Decoders that must be rejected.


def doubling(m: Module, outer: Any, inner: Any) -> None:
    """Two consecutive ends of texts appear as three at the output."""
    again = Signal()
    ended = Signal()
    item = outer.output
    with m.If(item.valid & item.ready):
        m.d.sync += [ended.eq(item.payload.last), again.eq(ended & item.payload.last & ~again)]
    with m.If(again):
        m.d.comb += [item.valid.eq(1), item.payload.keep.eq(0), item.payload.last.eq(1), inner.output.ready.eq(0)]
        m.d.comb += item.payload.symbols[0].error.eq(0)


def leaking(m: Module, outer: Any, inner: Any) -> None:
    """The first item after a text that ended in an error is wrong."""
    marked, first = Signal(), Signal(init=1)
    item = outer.output
    with m.If(item.valid & item.ready):
        m.d.sync += [first.eq(item.payload.last), marked.eq(item.payload.last & item.payload.symbols[0].error)]
    with m.If(first & marked & item.payload.keep):
        m.d.comb += item.payload.symbols[0].code_point.eq(inner.output.payload.symbols[0].code_point ^ 1)


def misnaming(m: Module, outer: Any, inner: Any) -> None:
    """A surrogate is called overlong."""
    kind = inner.output.payload.symbols[0].kind
    m.d.comb += outer.output.payload.symbols[0].kind.eq(Mux(kind == Kind.SURROGATE, Kind.OVERLONG, kind))


CALL = "decoder_core(TABLE_3_7, optimize='area')"


def broken(damage: PortFault, **options: Any) -> Configuration:
    return Configuration("broken", TABLE_3_7, partial(broken_from, damage=damage, **options), CALL)


def broken_from(table: EncodingTable, damage: PortFault, **options: Any) -> FaultyCore:
    assert table == TABLE_3_7
    return FaultyCore(DecoderParameters(**options), damage)


@pytest.mark.parametrize(
    ("damage", "wanted", "options"),
    tiered(
        {
            "doubling": (doubling, "equivalence", {}),
            "leaking": (leaking, "equivalence", {}),
            "leaking from power-up": (leaking, "power-up", {}),
            "misnaming": (misnaming, "equivalence", {"kind": True}),
        },
        1,
        tier=pytest.mark.proof,
    ),
)
def test_a_decoder_with_a_fault_is_rejected(damage: Callable[..., None], wanted: str, options: dict[str, Any]) -> None:
    (result,) = prove(broken(damage, **options), wanted)
    assert result.proved is False
    assert result.verdict == "FAILED"
    assert result.counterexample is not None
    assert result.counterexample.lines()[0].startswith(f"broken: {wanted} fails in ")


def test_one_wrong_comparison_gives_a_counterexample_and_a_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    SerialControl.of.cache_clear()
    monkeypatch.setattr(SerialControl, "allows", Function(((0, 0),)))  # Any trailing unit.
    (result,) = prove(CONFIGURATIONS["serial-area"], "equivalence")
    found = result.counterexample
    assert found is not None
    assert found.given != found.expected
    lines = "\n".join(found.lines())
    assert "in simulation: the items differ" in lines
    assert found.texts[0][0] in bytes.fromhex(lines.split("text 1")[1].split("\n")[0])
    _, test = found.write(tmp_path)
    # The regression test fails while the comparison is wrong, and passes once it is corrected.
    regression = runpy.run_path(str(test))["test_serial_area_equivalence"]
    with pytest.raises(AssertionError):
        regression()
    monkeypatch.undo()
    SerialControl.of.cache_clear()
    regression()


def test_one_wrong_row_gives_a_counterexample() -> None:
    rows = [str(row).replace("U+", "").replace(" as ", " ") for row in TABLE_3_7.rows]
    rows[4] = "D000..D7BF ED 80..9E 80..BF"
    table = EncodingTable.parse("wrong", "\n".join(rows), source="a test")
    right = CONFIGURATIONS["serial-area"]
    (result,) = prove(replace(right, name="wrong-row", table=table, right=TABLE_3_7), "equivalence")
    assert result.counterexample is not None
    assert result.counterexample.given != result.counterexample.expected


@pytest.mark.parametrize("family", tiered({name: name for name in FAMILIES}, ["ecp5"], tier=pytest.mark.proof))
def test_one_changed_cell_of_a_netlist_is_detected(family: str) -> None:
    design = axi_rtlil(decoder_core())
    change = "cd gate; mutate -list 1 -seed 2 -mode inv -o change.ys; script change.ys; cd ..;"
    assert equal_netlist(design, family, change=change).proved is False


@pytest.mark.proof
@pytest.mark.parametrize("family", FAMILIES)
def test_an_unconnected_bit_of_a_netlist_is_arbitrary(family: str) -> None:
    """The bit is 0 in the design, and an unconnected one would often be 0 as well."""
    design = axi_rtlil(decoder_core())
    change = "cd gate; connect -set m_axis_tdata[31] 1'x; cd ..;"
    assert equal_netlist(design, family, change=change).proved is False


@pytest.mark.parametrize("family", tiered({name: name for name in FAMILIES}, ["ice40"], tier=pytest.mark.proof))
@pytest.mark.parametrize("change", ["setparam -set CLK_POLARITY 0 t:$dff", r"connect -port \F3 \CLK \s_axis_tvalid"])
def test_another_clock_in_a_netlist_is_detected(family: str, change: str) -> None:
    """The engine has only one clock."""
    change = f"cd gate; rename -enumerate -pattern F% t:$dff; {change}; cd ..;"
    assert equal_netlist(axi_rtlil(decoder_core()), family, change=change).proved is False


MEMORY = """module top(input clk, input place, input given, output reg kept);
  reg rows [0:1];
  initial begin kept = 0; rows[0] = 0; rows[1] = 0; end
  always @(posedge clk) rows[place] <= given;
  always @(posedge clk) kept <= rows[place];
endmodule
"""


@pytest.mark.parametrize(
    ("clock", "is_equal"), [("posedge clk", True), ("negedge clk", False), ("posedge given", False)]
)
def test_another_clock_of_a_memory_in_verilog_is_detected(clock: str, is_equal: bool) -> None:
    script = "read_verilog top.v; hierarchy -top top; proc; write_rtlil top.il"
    (design,) = run_yosys(script, {"top.v": MEMORY}, "top.il")
    assert (
        equal_verilog(design.decode(), MEMORY.replace("posedge clk) rows", f"{clock}) rows"), "top").proved is is_equal
    )


# Decoders with a buffer have stricter rules.


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(each, marks=pytest.mark.exhaustive if each is Property.LATENCY else pytest.mark.proof)
        for each in JUDGES
    ],
)
def test_the_smallest_parallel_decoder_is_proved_without_halves(wanted: Property) -> None:
    aig = harness_aig(CONFIGURATIONS["parallel-2-area"], wanted)
    assert decide({"whole": (aig, aig.output_bits["bad"][0])})["whole"].proved


# The command.


def test_the_command_prints_a_table() -> None:
    done = utf8fpga("prove", "serial-area", "--property", "steady", "--property", "stall", "--jobs", "1")
    assert done.returncode == 0
    out = done.stdout.decode().splitlines()
    assert out[0].split() == ["configuration", "property", "method", "depth", "seconds", "result"]
    assert [line.split()[1] for line in out[1:3]] == ["steady", "stall"]
    assert out[-1] == "2 of 2 hold, on inputs of any length; none is bounded."


def test_each_result_is_printed_when_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next configuration cannot be built."""
    impossible = Configuration("impossible", TABLE_3_7, partial(decoder_core, optimize="x"), CALL)
    monkeypatch.setitem(CONFIGURATIONS, "impossible", impossible)
    done = utf8fpga("prove", "serial-area", "impossible", "--property", "stall", "--jobs", "1")
    assert [line.split()[:2] for line in done.stdout.decode().splitlines()[1:]] == [["serial-area", "stall"]]
    assert (done.returncode, done.stderr.startswith(b"utf8fpga: optimize")) == (2, True)


def test_the_command_gives_json() -> None:
    done = utf8fpga("prove", "serial-area", "--property", "stall", "--json")
    (result,) = json.loads(done.stdout)
    assert done.returncode == 0
    assert (result["configuration"], result["property"], result["proved"]) == ("serial-area", "stall", True)


def test_a_failure_is_reported_and_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(CONFIGURATIONS, "broken", broken(valid_is_deasserted_while_waiting))
    command = ("prove", "broken", "--property", "steady", "--directory")
    done = utf8fpga(*command, tmp_path)
    assert done.returncode == 1
    err = done.stderr.decode().splitlines()
    assert err[0].startswith("broken: steady fails in ")
    assert err[-1] == "utf8fpga: 1 of 1 not proved, the first: broken steady"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken_steady.vcd", "test_broken_steady.py"]
    file = tmp_path / "broken_steady.vcd"
    done = utf8fpga(*command, file / "folder")
    message = f"utf8fpga: cannot write '{file / 'folder'}': Not a directory\n"
    assert (done.returncode, done.stderr.decode()) == (2, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serial-9"], "unknown configuration 'serial-9'; did you mean serial-"),
        (["--property", "truth"], "Invalid value for '--property': 'truth' is not one of 'equivalence', "),
        (["encoder", "--property", "cover"], "nothing to prove: encoder has no property cover"),
    ],
)
def test_unknown_names_are_rejected(arguments: list[str], message: str) -> None:
    done = utf8fpga("prove", *arguments)
    assert (done.returncode, done.stderr.decode().startswith(f"utf8fpga: {message}")) == (2, True)


def test_the_list_has_every_name() -> None:
    done = utf8fpga("prove", "--list")
    assert done.returncode == 0
    out = done.stdout.decode()
    assert out.replace(" (on request)", "").split() == ["configurations", *CONFIGURATIONS, "properties", *PROPERTIES]
    assert "  parallel-8 (on request)\n" in out
    assert "  serial-area\n" in out


def test_a_pattern_selects_configurations_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = list[str]()
    monkeypatch.setattr("utf8fpga.cli.prove.run_proofs", lambda given, *_, **__: chosen.extend(c.name for c in given))
    names = ["serial-area", "serial-[as]????", "serial-speed"]
    assert utf8fpga("prove", *names, "--property", "independence").returncode == 0
    assert chosen == ["serial-area", "serial-speed"]
