# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the catalogue: they succeed, and each of them rejects a decoder with a fault."""

from __future__ import annotations

import json
import random
import runpy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator
from support.decoders import sparse_decoder
from support.faults import wrap
from support.tiers import tiered

from utf8fpga.cli.main import main
from utf8fpga.cli.prove import MUTATED
from utf8fpga.formal.abc import decide
from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.counterexample import Counterexample
from utf8fpga.formal.mutation.judge import judge_netlists, judge_tables, refuting, table_mutants
from utf8fpga.formal.mutation.workload import Workload, drawn_texts
from utf8fpga.formal.netlist import FAMILIES, equal_netlist
from utf8fpga.formal.properties import JUDGES, Property, cover_targets
from utf8fpga.formal.reference_dfa import Reference
from utf8fpga.formal.runner import harness_aig, harness_rtlil, prove
from utf8fpga.hdl import Decoder, DecoderParameters, ParallelDecoder, SerialDecoder, axi_rtlil
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.jobs import job_executor
from utf8fpga.model import TABLE_3_7, EncodingTable, ErrorKind, decode
from utf8fpga.model.forms import RFC_2279
from utf8fpga.model.properties import CharacterProperty
from utf8fpga.sim import Simulation

QUICK = [("serial-0", wanted) for wanted in PROPERTIES if wanted not in ("netlist-ice40", "cover")]
"""Proved in every run; the rest with the marker `proof`, of which CI runs a sample."""

SERIAL = [name for name in CONFIGURATIONS if name.startswith("serial") and not name.endswith("refresh")]

LONG = [name for name in SERIAL if name.startswith("serial-2-full-") and CONFIGURATIONS[name].right is not TABLE_3_7]
LONGEST = [("serial-2-full", "power-up")]
"""The configurations and properties that take longest; CI proves the same with fewer registers."""


# What is proved.


@pytest.mark.smoke
@pytest.mark.parametrize(("name", "wanted"), QUICK)
def test_proved(name: str, wanted: str) -> None:
    results = prove(CONFIGURATIONS[name], wanted)
    assert [result.verdict for result in results if not result.proved] == []
    assert results or wanted.startswith("netlist-")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        pytest.param(*pair, marks=pytest.mark.exhaustive if pair[0] in LONG or pair in LONGEST else pytest.mark.proof)
        for pair in product(SERIAL, PROPERTIES)
        if pair not in QUICK
    ],
)
def test_proved_with_the_marker_proof(name: str, wanted: str) -> None:
    assert [result.verdict for result in prove(CONFIGURATIONS[name], wanted) if not result.proved] == []


def test_covers_are_every_cause_and_every_state() -> None:
    targets = cover_targets(Decoder())
    assert {kind.name for kind in ErrorKind} <= set(targets)
    assert sum(target.startswith("state ") for target in targets) == 7


def test_a_cover_has_a_trace_and_a_waveform(tmp_path: Path) -> None:
    results = prove(CONFIGURATIONS["serial-0-full"], "cover")
    by_name = {result.note: result.counterexample for result in results}
    surrogate = by_name["SURROGATE"]
    assert surrogate is not None
    assert surrogate.given == surrogate.expected
    assert any(item.error is ErrorKind.SURROGATE for items in surrogate.given for item in items)
    assert surrogate.reproduced == ""
    (waveform,) = surrogate.write(tmp_path, "surrogate")
    assert waveform.name == "serial_0_full_cover_surrogate.vcd"
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


@pytest.mark.parametrize("table", [TABLE_3_7, RFC_2279], ids=lambda table: table.name)
def test_the_reference_equals_the_golden_model(table: EncodingTable) -> None:
    referee = _Referee(table)
    rng = random.Random(1)
    texts = list(islice(drawn_texts(rng, table), 300))

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
                            given.append((word.length, word.code_point, word.kind))
                await ctx.tick()
            expected = [(item.length, item.code_point, int(item.error or 0)) for item in decode(text, table)]
            assert (given, ends) == (expected, 1), bytes(text).hex(" ")

    simulator = Simulator(referee)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


# Decoders that must be rejected.


class Broken(SerialDecoder):
    """A correct decoder with a fault between it and its ports."""

    def __init__(self, damage: Callable[[Module, SerialDecoder, SerialDecoder], None], **options: Any) -> None:
        super().__init__(DecoderParameters(**options))
        self._damage, self._inner = damage, Decoder(**options)

    def elaborate(self, platform: object) -> Module:
        inner = self._inner
        m = wrap(inner, self)
        self._damage(m, self, inner)
        return m


def restless(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """A payload changes after it has waited for three cycles."""
    waited = Signal(2)
    with m.If(outer.output.valid & ~outer.output.ready & (waited != 3)):
        m.d.sync += waited.eq(waited + 1)
    with m.If(outer.output.valid & outer.output.ready):
        m.d.sync += waited.eq(0)
    m.d.comb += (
        outer.output.payload.symbols[0].code_point[0].eq(inner.output.payload.symbols[0].code_point[0] ^ (waited == 3))
    )


def lazy(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """In every eighth cycle the input is not ready."""
    clock = Signal(3)
    m.d.sync += clock.eq(clock + 1)
    with m.If(clock == 7):
        m.d.comb += [outer.input.ready.eq(0), inner.input.valid.eq(0)]


def late(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """In the cycle after an error the output is not valid."""
    rest = Signal()
    m.d.sync += rest.eq(outer.output.valid & outer.output.ready & outer.output.payload.symbols[0].error)
    with m.If(rest):
        m.d.comb += [outer.output.valid.eq(0), inner.output.ready.eq(0), outer.input.ready.eq(inner.input.ready)]


def curious(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """`valid` depends on `ready`."""
    m.d.comb += outer.output.valid.eq(inner.output.valid & outer.output.ready)


def forgetful(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """A register that is never cleared corrupts every item while it is set; from a reset on it is never set."""
    spoilt = Signal()
    m.d.sync += spoilt.eq(spoilt)
    m.d.comb += outer.output.payload.symbols[0].code_point[3].eq(inner.output.payload.symbols[0].code_point[3] ^ spoilt)


def doubling(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """Two consecutive ends of texts appear as three at the output."""
    again = Signal()
    ended = Signal()
    item = outer.output
    with m.If(item.valid & item.ready):
        m.d.sync += [ended.eq(item.payload.last), again.eq(ended & item.payload.last & ~again)]
    with m.If(again):
        m.d.comb += [
            item.valid.eq(1),
            item.payload.keep.eq(0),
            item.payload.last.eq(1),
            inner.output.ready.eq(0),
        ]
        m.d.comb += item.payload.symbols[0].error.eq(0)


def leaking(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """The first item after a text that ended in an error is wrong."""
    marked, first = Signal(), Signal(init=1)
    item = outer.output
    with m.If(item.valid & item.ready):
        m.d.sync += [first.eq(item.payload.last), marked.eq(item.payload.last & item.payload.symbols[0].error)]
    with m.If(first & marked & item.payload.keep):
        m.d.comb += item.payload.symbols[0].code_point.eq(inner.output.payload.symbols[0].code_point ^ 1)


def miscounting(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """An item of three units has the length two."""
    length = inner.output.payload.symbols[0].length
    m.d.comb += outer.output.payload.symbols[0].length.eq(Mux(length == 3, 2, length))


def unflagged(m: Module, outer: SerialDecoder, inner: SerialDecoder) -> None:
    """The last line break of all has no flag."""
    symbol = inner.output.payload.symbols[0]
    m.d.comb += outer.output.payload.symbols[0].line_break.eq(symbol.line_break & (symbol.code_point != 0x2029))


CALL = "Decoder(TABLE_3_7, pipeline=0)"


def broken(damage: Callable[[Module, SerialDecoder, SerialDecoder], None], **options: Any) -> Configuration:
    return Configuration("broken", TABLE_3_7, partial(broken_from, damage=damage, **options), CALL)


def broken_from(table: EncodingTable, **options: Any) -> Broken:
    assert table == TABLE_3_7
    return Broken(**options)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("damage", "wanted"),
    [
        (restless, "steady"),
        (lazy, "stall"),
        (late, "latency"),
        (curious, "independence"),
        (forgetful, "recovery"),
        pytest.param(doubling, "equivalence", marks=pytest.mark.proof),
        pytest.param(leaking, "equivalence", marks=pytest.mark.proof),
        pytest.param(leaking, "power-up", marks=pytest.mark.proof),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_decoder_with_a_fault_is_rejected(damage: Callable[..., None], wanted: str) -> None:
    (result,) = prove(broken(damage), wanted)
    assert result.proved is False
    assert result.verdict == "FAILED"
    if wanted != "independence":
        assert result.counterexample is not None
        assert result.counterexample.lines()[0].startswith(f"broken: {wanted} fails in ")


@pytest.mark.proof
def test_a_wrong_length_is_rejected() -> None:
    (result,) = prove(broken(miscounting, kind=True, length=True), "equivalence")
    assert result.proved is False


@pytest.mark.proof
def test_a_missing_flag_is_rejected() -> None:
    (result,) = prove(broken(unflagged, properties=(CharacterProperty.LINE_BREAK,)), "equivalence")
    assert result.proved is False
    assert result.counterexample is not None


@pytest.mark.proof
def test_a_register_that_only_a_flipped_bit_sets_violates_recovery_alone() -> None:
    (result,) = prove(broken(forgetful), "power-up")
    assert result.proved


def test_one_wrong_comparison_gives_a_counterexample_and_a_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def any_trail(self: SerialControl, context: Any) -> Any:
        return self._is_trail(context[: self.table.unit_width])

    monkeypatch.setattr(SerialControl, "continues", any_trail)
    (result,) = prove(CONFIGURATIONS["serial-0"], "equivalence")
    found = result.counterexample
    assert found is not None
    assert found.given != found.expected
    lines = "\n".join(found.lines())
    assert "in simulation: the items differ" in lines
    assert found.texts[0][0] in bytes.fromhex(lines.split("text 1")[1].split("\n")[0])
    _, test = found.write(tmp_path)
    # The regression test fails while the comparison is wrong, and passes once it is corrected.
    regression = runpy.run_path(str(test))["test_serial_0_equivalence"]
    with pytest.raises(AssertionError):
        regression()
    monkeypatch.undo()
    SerialControl.of.cache_clear()
    regression()


def test_one_wrong_row_gives_a_counterexample() -> None:
    name = "row 5 (U+D000..U+D7FF as ED 80..9F 80..BF): unit 2 to 9E"
    table = dict(table_mutants(TABLE_3_7))[name]
    assert isinstance(table, EncodingTable)
    right = CONFIGURATIONS["serial-0"]
    (result,) = prove(replace(right, name="wrong-row", table=table, right=TABLE_3_7), "equivalence")
    assert result.counterexample is not None
    assert result.counterexample.given != result.counterexample.expected


@pytest.mark.parametrize("family", tiered({name: name for name in FAMILIES}, ["ecp5"], tier=pytest.mark.proof))
def test_one_changed_cell_of_a_netlist_is_detected(family: str) -> None:
    design = axi_rtlil(Decoder())
    change = "cd gate; mutate -list 1 -seed 1 -mode inv -o change.ys; script change.ys; cd ..;"
    assert equal_netlist(design, family, change=change).proved is False


@pytest.mark.proof
@pytest.mark.parametrize("family", FAMILIES)
def test_an_unconnected_bit_of_a_netlist_is_arbitrary(family: str) -> None:
    """The bit is 0 in the design, and an unconnected one would often be 0 as well."""
    design = axi_rtlil(Decoder())
    change = "cd gate; connect -set m_axis_tdata[31] 1'x; cd ..;"
    assert equal_netlist(design, family, change=change).proved is False


@pytest.mark.parametrize("family", tiered({name: name for name in FAMILIES}, ["ice40"], tier=pytest.mark.proof))
@pytest.mark.parametrize("change", ["setparam -set CLK_POLARITY 0 t:$dff", r"connect -port \F3 \CLK \s_axis_tvalid"])
def test_another_clock_in_a_netlist_is_detected(family: str, change: str) -> None:
    """The engine has only one clock."""
    change = f"cd gate; rename -enumerate -pattern F% t:$dff; {change}; cd ..;"
    assert equal_netlist(axi_rtlil(Decoder()), family, change=change).proved is False


# Decoders with a buffer have stricter rules.


class BrokenParallel(ParallelDecoder):
    """A correct parallel decoder; in some cycles its input is not ready, or its output is not valid."""

    def __init__(self, *, shut: str, lanes: int) -> None:
        self._shut, self._inner = shut, sparse_decoder(lanes=lanes, pipeline=0)
        super().__init__(self._inner.parameters)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        clock = Signal(4)
        m.d.sync += clock.eq(clock + 1)
        gates = {name: (clock != 15) | (self._shut != name) for name in ("input", "output")}
        m.d.comb += [
            inner.input.payload.eq(self.input.payload),
            inner.input.valid.eq(self.input.valid & gates["input"]),
            self.input.ready.eq(inner.input.ready & gates["input"]),
            self.output.payload.eq(inner.output.payload),
            self.output.valid.eq(inner.output.valid & gates["output"]),
            inner.output.ready.eq(self.output.ready & gates["output"]),
        ]
        return m


def _seen(configuration: Configuration) -> set[Property]:
    """The properties of `JUDGES` that some run of the workload violates."""
    aig = aig_of(harness_rtlil(configuration, Property.TOGETHER), free=True)
    workload = Workload.draw(aig, configuration.build(), runs=8, cycles=80)
    found = (refuting(aig, workload.inputs_of(run)) for run in range(workload.runs))
    return {each[0] for each in found if each}


@pytest.mark.proof
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize(("shut", "wanted"), [("input", Property.STALL), ("output", Property.LATENCY)])
def test_a_parallel_decoder_that_pauses_without_a_stall_is_rejected(shut: str, lanes: int, wanted: Property) -> None:
    build = partial(BrokenParallel, shut=shut, lanes=lanes)
    assert wanted in _seen(Configuration("broken", TABLE_3_7, lambda table: build(), ""))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.proof)
        for name in ("parallel-1-pipeline-0", "parallel-1", "parallel-3-full", "parallel-4")
    ],
)
def test_no_monitor_rejects_a_correct_parallel_decoder_in_any_run(name: str) -> None:
    assert _seen(CONFIGURATIONS[name]) == set()


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(each, marks=pytest.mark.exhaustive if each is Property.LATENCY else pytest.mark.proof)
        for each in JUDGES
    ],
)
def test_the_smallest_parallel_decoder_is_proved_without_halves(wanted: Property) -> None:
    aig = harness_aig(CONFIGURATIONS["parallel-1-pipeline-0"], wanted)
    assert decide({"whole": (aig, aig.output_bits["bad"][0])})["whole"].proved


def test_a_null_beat_after_the_last_text_of_a_trace_begins_none() -> None:
    configuration = CONFIGURATIONS["serial-0"]
    shape = configuration.build().input.payload.shape()
    idle = {f"see_{name}": 0 for name in ("reset", "out_valid", "out_ready", "out_payload")}
    cycles = [
        idle | {"see_in_valid": 1, "see_in_ready": 1, "see_in_payload": shape.const(beat).as_bits()}
        for beat in ({"symbols": [0x41], "keep": 1, "last": 1}, {"symbols": [0x42], "keep": 0, "last": 0})
    ]
    # The cycle after the trace, in which a monitor raises its bit, is left out.
    found = Counterexample.of(configuration, Property.RECOVERY, [*cycles, cycles[0]])
    assert (found.texts, found.null_beats) == ([(0x41,)], [False, True])


# Mutants.


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("serial-2-full", 64),
        *(
            pytest.param(name, 1024, marks=pytest.mark.proof)
            for name in (
                *("serial-0-full", "serial-1", "serial-2-full"),
                *("parallel-1-pipeline-0", "parallel-1", "parallel-3-full", "parallel-4", "parallel-8"),
            )
        ),
    ],
)
def test_all_runs_equal_the_golden_model(name: str, runs: int) -> None:
    """The workload by which mutants are judged accepts the decoder itself."""
    configuration = CONFIGURATIONS[name]
    aig = harness_aig(configuration, Property.STEADY)
    workload = Workload.draw(aig, configuration.build(), runs=runs)
    seen = workload.play(aig)
    assert workload.differing(seen) == []
    assert [reason for run in range(workload.runs) if (reason := workload.wrong(seen, run))] == []


def few(aig: Aig, decoder: Any) -> Workload:
    return Workload.draw(aig, decoder, runs=64)


@pytest.mark.proof
def test_a_few_mutants_of_the_netlist_are_detected() -> None:
    with job_executor(1) as executor:
        score = judge_netlists(CONFIGURATIONS["serial-0"], 6, executor, draw=few)
    assert 0 < len(score.mutants) <= 6
    assert score.survivors == score.false_alarms == []
    assert score.by_proof == score.by_simulation == len(score.counted) > 0


@pytest.mark.parametrize(
    ("name", "count"),
    [
        pytest.param("serial-0", 20, marks=pytest.mark.proof),
        pytest.param("parallel-1-pipeline-0", 8, marks=pytest.mark.proof),
        pytest.param("parallel-1", 20, marks=pytest.mark.proof),
        pytest.param("parallel-4", 40, marks=pytest.mark.exhaustive),
    ],
)
def test_mutants_of_a_netlist_are_detected(name: str, count: int) -> None:
    with job_executor(2) as executor:
        score = judge_netlists(CONFIGURATIONS[name], count, executor)
    assert score.survivors == score.false_alarms == []
    assert score.by_proof == score.by_simulation == len(score.counted) > count // 2


def short(aig: Aig, decoder: Any) -> Workload:
    return Workload.draw(aig, decoder, runs=2, cycles=3)


@pytest.mark.proof
def test_a_mutant_that_no_run_detects_is_rejected_by_a_difference_from_the_decoder() -> None:
    """A workload of a few cycles detects nothing, so the proofs must."""
    with job_executor(1) as executor:
        score = judge_netlists(CONFIGURATIONS["parallel-1-pipeline-0"], 3, executor, draw=short)
    unseen = [mutant for mutant in score.counted if not mutant.simulation]
    assert unseen
    assert score.by_proof == len(score.counted)
    assert all("fails in" in mutant.apart[0] for mutant in unseen)


def test_mutants_are_made_of_known_decoders() -> None:
    assert set(MUTATED) <= set(CONFIGURATIONS)


@pytest.mark.proof
def test_more_mutants_than_cells_are_rejected() -> None:
    message = r"^9999 mutants of serial-0, which has \d+ cells: specify at most \d+$"
    with pytest.raises(ValueError, match=message), job_executor(1) as executor:
        judge_netlists(CONFIGURATIONS["serial-0"], 9999, executor)


def test_table_mutants_are_moved_bounds_and_missing_rows() -> None:
    mutants = list(table_mutants(TABLE_3_7))
    made = [name for name, table in mutants if isinstance(table, EncodingTable)]
    # 9 rows, 27 positions: each bound down or up by one.
    assert len(mutants) == 9 + 27 * 4
    assert len(made) == 61
    assert sum(name.startswith("without") for name in made) == 9


@pytest.mark.proof
def test_every_table_mutant_is_detected() -> None:
    with job_executor(2) as executor:
        score = judge_tables(CONFIGURATIONS["serial-0"], executor)
    assert score.survivors == score.false_alarms == []
    assert len(score.counted) + sum(mutant.is_invalid for mutant in score.mutants) == len(score.mutants)


# The command.


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["prove", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_command_prints_a_table(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("serial-0", "--property", "steady", "--property", "stall", "--jobs", "1") == 0
    out = capfd.readouterr().out.splitlines()
    assert out[0].split() == ["configuration", "property", "method", "depth", "seconds", "result"]
    assert [line.split()[1] for line in out[1:3]] == ["steady", "stall"]
    assert out[-1] == "2 of 2 hold, on inputs of any length; none is bounded."


def test_each_result_is_printed_when_it_is_known(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The next configuration cannot be built."""
    impossible = Configuration("impossible", TABLE_3_7, partial(Decoder, pipeline=9), CALL)
    monkeypatch.setitem(CONFIGURATIONS, "impossible", impossible)
    assert run("serial-0", "impossible", "--property", "stall", "--jobs", "1") == 2
    captured = capfd.readouterr()
    assert [line.split()[:2] for line in captured.out.splitlines()[1:]] == [["serial-0", "stall"]]
    assert captured.err.startswith("utf8fpga: pipeline")


def test_a_folder_that_cannot_be_written_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(CONFIGURATIONS, "broken", broken(restless))
    (tmp_path / "file").touch()
    where = str(tmp_path / "file" / "folder")
    assert run("broken", "--property", "steady", "--directory", where) == 2
    assert capfd.readouterr().err == f"utf8fpga: cannot write {where!r}: Not a directory\n"


def test_the_command_gives_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("serial-0", "--property", "stall", "--json") == 0
    (result,) = json.loads(capfd.readouterr().out)
    assert (result["configuration"], result["property"], result["proved"]) == ("serial-0", "stall", True)


def test_a_failure_is_reported_and_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(CONFIGURATIONS, "broken", broken(restless))
    assert run("broken", "--property", "steady", "--directory", str(tmp_path)) == 1
    err = capfd.readouterr().err.splitlines()
    assert err[0].startswith("broken: steady fails in ")
    assert err[-1] == "utf8fpga: 1 of 1 not proved, the first: broken steady"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken_steady.vcd", "test_broken_steady.py"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serial-9"], "unknown configuration 'serial-9' (known: serial-0, "),
        (["--property", "truth"], "unknown property 'truth' (known: equivalence, "),
        (["refresh", "--property", "steady"], "nothing to prove: refresh has no property steady"),
        (["packed-2", "--mutate", "1"], "mutants are made of serial and parallel decoders, not of 'packed-2'"),
    ],
)
def test_unknown_names_are_rejected(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert capfd.readouterr().err.startswith(f"utf8fpga: {message}")


def test_no_decoder_is_proved_twice() -> None:
    calls = [configuration.call for configuration in CONFIGURATIONS.values()]
    assert len(calls) == len(set(calls))


def test_the_list_has_every_name(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("--list") == 0
    assert capfd.readouterr().out.split() == ["configurations", *CONFIGURATIONS, "properties", *PROPERTIES]


def test_a_simulation_is_the_same_decoder() -> None:
    assert Simulation(CONFIGURATIONS["serial-1-full"].build()).run([b"\xc2A"]).texts == [list(decode(b"\xc2A"))]
