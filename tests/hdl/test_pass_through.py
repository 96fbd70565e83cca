# SPDX-License-Identifier: BSD-2-Clause
"""The validator through which a stream goes, against CPython's items and reports."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engines import ENGINE, requires_compiler
from support.oracle import REPRESENTATIVES, drawn, items_of, report_of
from support.tiers import tiered
from support.verilog_engine import symbols_of_verilog

from utf8fpga.hdl import AxiStreamCore, PortOptions, ValidatorParameters, axi_verilog
from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.validator import flags as flags_module
from utf8fpga.hdl.validator import pass_through as pass_through_module
from utf8fpga.hdl.validator.flags import UnitFlags
from utf8fpga.hdl.validator.logic import ValidatorControl
from utf8fpga.hdl.validator.pass_through import PassThrough
from utf8fpga.model import CATALOGUE, EncodingTable, decode
from utf8fpga.model.validator import GoldenPassThrough
from utf8fpga.sim import Simulation
from utf8fpga.sim.strategies import any_text, stream_patterns

CHOICES: dict[str, dict[str, Any]] = {
    "1": {},
    "2-cut-5": {"lanes": 2, "limit": 5},
    "3": {"lanes": 3},
    "4-cut-8": {"lanes": 4, "limit": 8},
    "1-cut-4": {"limit": 4},
    "2": {"lanes": 2},
    "3-cut-7": {"lanes": 3, "limit": 7, "report": "verdict"},
    "4": {"lanes": 4, "report": "offset"},
    "4-cut-9": {"lanes": 4, "limit": 9},
    "17-cut-4": {"lanes": 17, "limit": 4},
    "64": {"lanes": 64},
    "64-cut-130": {"lanes": 64, "limit": 130},
}
CHOICES |= {str(lanes): {"lanes": lanes} for lanes in range(5, 18)}
IN_EVERY_RUN = ("1", "2-cut-5", "3", "4-cut-8")


@cache
def simulation_of(name: str) -> Simulation:
    parameters = ValidatorParameters(pass_through=True, **CHOICES[name])
    return Simulation(parameters.build(), parameters, engine=ENGINE)


@pytest.fixture(scope="module", params=tiered({name: name for name in CHOICES}, IN_EVERY_RUN))
def simulation(request: pytest.FixtureRequest) -> Simulation:
    return simulation_of(request.param)


def expected_of(text: bytes, limit: int | None) -> list[tuple[int, bool]]:
    """The units of a text that are output, and whether each is in an item that CPython replaces."""
    found: list[tuple[int, bool]] = []
    for offset, length, _, cause in items_of(text):
        if limit is not None and offset + length > limit:
            break
        found += [(unit, cause is not None) for unit in text[offset : offset + length]]
    return found


def parameters_in(simulation: Simulation) -> ValidatorParameters:
    assert isinstance(simulation.parameters, ValidatorParameters)
    return simulation.parameters


def check(simulation: Simulation, texts: Sequence[bytes], **patterns: Sequence[bool]) -> None:
    limit = parameters_in(simulation).limit
    found = simulation.run(texts, **patterns).texts
    assert [[tuple(unit) for unit in text] for text in found] == [expected_of(text, limit) for text in texts]


def test_short_texts_at_every_place_of_a_beat(simulation: Simulation) -> None:
    lanes = simulation.core.lanes
    ends = [bytes(units) for length in range(3) for units in product(REPRESENTATIVES, repeat=length)]
    check(simulation, [b"a" * (place % (lanes + 1)) + end for place, end in enumerate(ends)])


def test_texts_of_every_length(simulation: Simulation) -> None:
    rng, lanes = random.Random(1), simulation.core.lanes
    texts = [drawn(rng, length) for length in range(3 * lanes + 10) for _ in range(3)]
    for separate_ends in ((False,), (True,), (False, True)):
        check(simulation, texts, separate_ends=separate_ends)


@pytest.mark.smoke
@given(texts=st.lists(any_text().map(bytes), max_size=8), patterns=stream_patterns())
@settings(max_examples=15, deadline=None)
def test_any_texts_with_pauses_and_null_beats(
    simulation: Simulation, texts: list[bytes], patterns: dict[str, list[bool]]
) -> None:
    check(simulation, texts, **patterns)


@pytest.mark.slow
def test_short_texts_exhaustively() -> None:
    texts = [bytes(units) for length in (3, 4) for units in product(REPRESENTATIVES, repeat=length)]
    for name in ("1", "2", "3", "4"):
        check(simulation_of(name), texts)
    for name in ("1-cut-4", "2-cut-5", "3-cut-7"):
        check(simulation_of(name), [b"a" * (place % 4) + text for place, text in enumerate(texts)])


@pytest.mark.smoke
def test_a_beat_is_accepted_in_every_cycle(simulation: Simulation) -> None:
    rng, lanes = random.Random(2), simulation.core.lanes
    for texts in (
        [drawn(rng, rng.randint(0, lanes)) for _ in range(80)],
        [drawn(rng, 80 * lanes)],
        [drawn(rng, rng.randint(0, 3 * lanes)) for _ in range(60)],
    ):
        accepted = simulation.run(texts).accepted
        assert accepted == list(range(accepted[0], accepted[0] + len(accepted)))


@pytest.mark.parametrize("name", tiered({name: name for name in ("1", "2", "3", "4", "17")}, ["1", "3"]))
def test_a_beat_is_output_as_soon_as_its_flags_are_certain(name: str) -> None:
    """The input pauses after each beat for so long that no beat can come through because of the next one."""
    simulation = simulation_of(name)
    lanes, latency = simulation.core.lanes, simulation.core.latency
    pauses, text_of_each = [True] * (3 * latency) + [False], "aé€😀".encode()
    for text in (text_of_each, b"\xe2\xe2\xf0\x9fa\xf0\x9f\x98\xff\xc3", text_of_each + b"\xed\xa0" * 9 + text_of_each):
        result = simulation.run([text], input_pauses=pauses)
        for first in range(0, len(text), lanes):
            last = min(first + lanes, len(text)) - 1
            certain = next(end for end in range(last, len(text)) if end + 1 == len(text) or is_certain(text, last, end))
            waited = result.valid_since[last] - result.accepted[certain // lanes]
            assert 0 < waited <= latency, (text, first)


def is_certain(text: bytes, place: int, known: int) -> bool:
    """Whether the units up to one, which no end of the packet follows, determine the flags of those up to a place."""
    following = [text[: known + 1] + tail for tail in (b"a", b"\x80", b"\x90", b"\xbf", b"\xa0\x80", b"\x90\x80\x80")]
    return len({tuple(expected_of(each, None)[: place + 1]) for each in following}) == 1


def test_beats_that_wait_pause_the_input_and_none_is_lost(simulation: Simulation) -> None:
    rng, waits = random.Random(3), 3 * simulation.core.drain_cycles
    texts = [drawn(rng, rng.randint(0, 2 * simulation.core.lanes)) for _ in range(2 * waits)]
    pauses = [True] * waits + [False] * simulation.core.drain_cycles
    check(simulation, texts, output_pauses=pauses)


class Reports(wiring.Component):
    """The reports of a pass-through as an output stream, in place of its units."""

    packed = True
    reset_cycles = 0

    def __init__(self, core: PassThrough) -> None:
        self._core, self.lanes = core, core.lanes
        self.latency, self.drain_cycles, self.stall_cycles = core.latency, core.drain_cycles, core.stall_cycles
        super().__init__(
            {
                "input": In(stream.Signature(core.input.payload.shape())),
                "output": Out(stream.Signature(beat_layout(core.report.shape(), 1))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        ends = Signal()
        m.d.comb += [
            core.input.payload.eq(self.input.payload),
            core.input.valid.eq(self.input.valid),
            self.input.ready.eq(core.input.ready),
            ends.eq(core.output.payload.last),
            self.output.valid.eq(core.output.valid & ends),
            core.output.ready.eq(self.output.ready | ~ends),
            Value.cast(self.output.payload.symbols[0]).eq(core.report),
            self.output.payload.keep.eq(1),
            self.output.payload.last.eq(1),
        ]
        return m


@pytest.mark.parametrize("name", tiered({name: name for name in CHOICES}, ["1", "4-cut-8"]))
def test_the_report_is_on_the_whole_packet_and_at_its_last_beat(name: str) -> None:
    given = ValidatorParameters(pass_through=True, **CHOICES[name])
    core = given.build()
    assert isinstance(core, PassThrough)
    watching = ValidatorParameters(lanes=given.lanes, report=given.report, counters=given.counters)
    simulation = Simulation(Reports(core), watching, engine=ENGINE)
    rng = random.Random(4)
    texts = [drawn(rng, rng.randint(0, 4 * given.lanes + 12)) for _ in range(120)]
    for pauses in ([False], [True, False, True]):
        found = simulation.run(texts, output_pauses=pauses).texts
        for text, (report,) in zip(texts, found, strict=True):
            wanted = report_of(text)
            assert report.well_formed == wanted.well_formed
            if given.report != "verdict":
                assert report.offset == wanted.offset
            if given.report == "full":
                assert report == wanted


def test_golden_functions_in_parts() -> None:
    rng = random.Random(5)
    for limit in (None, 4, 7, 20):
        for _ in range(100):
            text, golden = drawn(rng, rng.randint(0, 30)), GoldenPassThrough(limit=limit)
            at = rng.randint(0, len(text))
            units = [*golden.process(text[:at]), *golden.process(text[at:], final=True)]
            assert [(unit.value, unit.error) for unit in units] == expected_of(text, limit)
            assert [unit.value for unit in golden.process(b"ok", final=True)] == [*b"ok"]


def test_what_is_cut_is_the_start_of_the_text_and_as_long_as_possible() -> None:
    """By CPython's codec for texts that are well-formed: the longest start within the limit that it decodes."""
    rng = random.Random(6)
    for _ in range(200):
        text = "".join(rng.choice("aé€😀") for _ in range(9)).encode()
        limit = rng.randint(4, 20)
        found = bytes(unit.value for unit in GoldenPassThrough(limit=limit).process(text, final=True))
        assert found == text[:limit].decode("utf-8", "ignore").encode()


@pytest.mark.slow
def test_all_tables_of_bytes_that_have_a_window() -> None:
    rng = random.Random(7)
    for table in CATALOGUE.values():
        if not isinstance(table, EncodingTable) or table.unit_width != 8:
            continue
        units = sorted({bound for row in table.rows for each in row.units for bound in (each.first, each.last)})
        texts = [bytes(rng.choice(units) for _ in range(rng.randint(0, 9))) for _ in range(60)]
        for lanes in (1, 3):
            parameters = ValidatorParameters(table=table, report="offset", lanes=lanes, pass_through=True)
            found = Simulation(parameters.build(), parameters).run(texts).texts
            for text, flagged in zip(texts, found, strict=True):
                wanted = [item.error is not None for item in decode(text, table) for _ in range(item.length)]
                assert [unit.error for unit in flagged] == wanted, (table.name, text)


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "a lead is not open": (ValidatorControl, "is_lead", property(lambda self: lambda unit: Const(0, 1))),
    "the second unit is not flagged": (flags_module, "_or_of_product", lambda *bits: bits[0]),
    "a beat waits for no other": (PassThrough, "_ages", 1),
    "no sequence goes on": (flags_module, "_goes_on", lambda longer, member, lead: Const(0, 1)),
    "units beyond the limit are not counted": (
        pass_through_module._Limit,
        "dropped",
        lambda self, flags, reach: Const(0, self._lanes + reach),
    ),
}


@pytest.mark.smoke
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_detected(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, value = FAULTS[fault]
    monkeypatch.setattr(where, name, value)
    parameters = ValidatorParameters(lanes=2, counters=8, pass_through=True, limit=6)
    simulation = Simulation(parameters.build(), parameters, engine="python")
    rng = random.Random(8)
    with pytest.raises(AssertionError):
        check(simulation, [drawn(rng, rng.randint(0, 12)) for _ in range(40)])


def test_the_flags_are_those_of_the_stage_that_is_stated() -> None:
    core = ValidatorParameters(lanes=3, pass_through=True).build()
    assert isinstance(core, PassThrough)
    assert isinstance(core._tap.state.flags, UnitFlags)
    assert core._tap.flags_latency == core._tap.state.flags.stage


@pytest.mark.slow
@pytest.mark.parametrize("registered", [False, True])
def test_the_verilog_has_stream_and_report(registered: bool) -> None:
    core = ValidatorParameters(lanes=2, counters=40, pass_through=True).build()
    options = PortOptions(registered=registered)
    text = axi_verilog(core, options=options)
    ports = text[text.index("module utf8_validator (") :].partition(");\n")[0]
    assert "output wire s_axis_tready," in ports
    assert "output wire [15:0] m_axis_tdata," in ports
    assert "output wire [1:0] m_axis_tuser," in ports
    assert "output wire [39:0] report_utf16_units" in ports
    assert "report_tvalid" not in ports
    assert "Combinational paths from input ports to output ports: none." in text
    assert re.search(r"^// The report is valid with this beat:$", text, re.MULTILINE)
    assert isinstance(AxiStreamCore(core, options), wiring.Component)


@requires_compiler
def test_the_verilog_equals_the_model() -> None:
    core = ValidatorParameters(lanes=2, counters=8, pass_through=True, limit=7).build()
    rng = random.Random(9)
    for text in (drawn(rng, 6), drawn(rng, 11), drawn(rng, 12)):
        assert [tuple(unit) for unit in symbols_of_verilog(core, text)] == expected_of(text, 7)
