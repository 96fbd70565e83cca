# SPDX-License-Identifier: BSD-2-Clause
"""The validator, as a tap and as what a stream goes through, against CPython's reports and items."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from hypothesis import given, settings
from hypothesis import strategies as st
from support.benches import run_benches
from support.engines import ENGINE
from support.oracle import REPRESENTATIVES, drawn, items_of, report_of
from support.pipelines import outcomes_of
from support.tiers import tiered

from utf8fpga.hdl import AxiStreamCore, PortOptions, ValidatorParameters, axi_verilog
from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.pipeline import Pipeline, Staged
from utf8fpga.hdl.validator import report_buffer as buffer_module
from utf8fpga.hdl.validator.flags import UnitFlags
from utf8fpga.hdl.validator.logic import ValidatorControl
from utf8fpga.hdl.validator.pass_through import PassThrough
from utf8fpga.hdl.validator.pipeline import Leaf, any_before, first_of
from utf8fpga.hdl.validator.report import REPORTS
from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable, ValidatorReport, decode, validate
from utf8fpga.model.validator import GoldenPassThrough
from utf8fpga.sim import Simulation
from utf8fpga.sim.beats import ContractError, text_beats
from utf8fpga.sim.strategies import any_text, stream_patterns

TAPS: dict[str, dict[str, Any]] = {
    "1-verdict": {"report": "verdict"},
    "1": {},
    "2": {"lanes": 2},
    "3": {"lanes": 3},
    "4-verdict": {"lanes": 4, "report": "verdict"},
    "5": {"lanes": 5},
    "6-offset": {"lanes": 6, "report": "offset"},
    "8-small": {"lanes": 8, "counters": 4},
}
TAPS |= {str(lanes): {"lanes": lanes} for lanes in (4, *range(6, 18), 32, 64)}
TAPS |= {
    "2-small": {"lanes": 2, "counters": 5},
    "16-wide": {"lanes": 16, "counters": 64},
    "17-offset": {"lanes": 17, "report": "offset", "counters": 9},
    "64-offset": {"lanes": 64, "report": "offset"},
    "64-verdict": {"lanes": 64, "report": "verdict"},
}
TAPS_IN_EVERY_RUN = ("1-verdict", "1", "3")

_SHAPES: dict[str, dict[str, Any]] = {
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
_SHAPES |= {str(lanes): {"lanes": lanes} for lanes in range(5, 18)}
PASS_THROUGHS = {f"through-{name}": {"pass_through": True, **shape} for name, shape in _SHAPES.items()}
PASS_THROUGHS_IN_EVERY_RUN = tuple(f"through-{name}" for name in ("1", "2-cut-5", "3", "4-cut-8"))

BYTE_TABLES = [table for table in CATALOGUE.values() if isinstance(table, EncodingTable) and table.unit_width == 8]


def parameters_of_shape(name: str) -> ValidatorParameters:
    return ValidatorParameters(**(TAPS | PASS_THROUGHS)[name])


@cache
def simulation_of(name: str) -> Simulation:
    return Simulation(parameters_of_shape(name).build(), engine=ENGINE)


def flagged_units(text: bytes, limit: int | None) -> list[tuple[int, bool]]:
    """The units of a text that are output, and whether each is in an item that CPython replaces."""
    found: list[tuple[int, bool]] = []
    for offset, length, _, cause in items_of(text):
        if limit is not None and offset + length > limit:
            break
        found += [(unit, cause is not None) for unit in text[offset : offset + length]]
    return found


def expected_of(parameters: ValidatorParameters, text: bytes) -> Sequence[Any]:
    """The output of a validator with these parameters: flagged units or one report."""
    if parameters.pass_through:
        return flagged_units(text, parameters.limit)
    report = report_of(text).saturated(parameters.counters)
    if parameters.report == "verdict":
        return [ValidatorReport(report.well_formed, None, None, 0, 0, 0, 0)]
    if parameters.report == "offset":
        return [ValidatorReport(report.well_formed, report.offset, None, 0, 0, 0, 0)]
    return [report]


def check(simulation: Simulation, texts: Sequence[bytes], **patterns: Sequence[bool]) -> Sequence[int]:
    """Compare the output; the cycles in which the input beats are accepted."""
    found = simulation.run(texts, **patterns)
    assert found.texts == [expected_of(simulation.parameters, text) for text in texts]
    return found.accepted


TEXT = "aé€😀".encode()


SHAPES = {name: name for name in TAPS | PASS_THROUGHS}


@pytest.fixture(scope="module", params=tiered(SHAPES, TAPS_IN_EVERY_RUN + PASS_THROUGHS_IN_EVERY_RUN))
def simulation(request: pytest.FixtureRequest) -> Simulation:
    return simulation_of(request.param)


def test_short_texts_at_every_place_of_a_beat(simulation: Simulation) -> None:
    lanes = simulation.core.lanes
    ends = [bytes(units) for length in range(3) for units in product(REPRESENTATIVES, repeat=length)]
    texts = [b"a" * (place % (lanes + 1)) + end for place, end in enumerate(ends)]
    check(simulation, texts)


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


def test_the_only_error_is_in_any_place(simulation: Simulation) -> None:
    lanes = simulation.core.lanes
    long = (TEXT * (3 * lanes // len(TEXT) + 2))[: 3 * lanes + 4]
    check(simulation, [long[:place] + b"\xff" + long[place:] for place in range(len(long) + 1)])


@pytest.mark.smoke
def test_a_beat_is_accepted_in_every_cycle(simulation: Simulation) -> None:
    rng, lanes = random.Random(2), simulation.core.lanes
    for texts in (
        [drawn(rng, rng.randint(0, lanes)) for _ in range(80)],
        [drawn(rng, 80 * lanes)],
        [drawn(rng, rng.randint(0, 3 * lanes)) for _ in range(60)],
    ):
        accepted = check(simulation, texts)
        assert accepted == list(range(accepted[0], accepted[0] + len(accepted)))


def test_beats_that_wait_pause_the_input_and_none_is_lost(simulation: Simulation) -> None:
    rng, waits = random.Random(3), 3 * simulation.core.drain_cycles
    texts = [drawn(rng, rng.randint(0, 2 * simulation.core.lanes)) for _ in range(2 * waits)]
    pauses = [True] * waits + [False] * simulation.core.drain_cycles
    accepted = check(simulation, texts, output_pauses=pauses)
    assert accepted[-1] - accepted[0] > len(accepted), "the input was never paused"


@pytest.mark.slow
def test_short_texts_exhaustively() -> None:
    texts = [bytes(units) for length in (3, 4) for units in product(REPRESENTATIVES, repeat=length)]
    for name in ("1-verdict", "1", "3", "4", *(f"through-{lanes}" for lanes in range(1, 5))):
        check(simulation_of(name), texts)
    for name in ("through-1-cut-4", "through-2-cut-5", "through-3-cut-7"):
        check(simulation_of(name), [b"a" * (place % 4) + text for place, text in enumerate(texts)])


# Taps.


@pytest.mark.parametrize("name", tiered({name: name for name in ("8-small", "2-small", "17-offset")}, ["8-small"]))
def test_numbers_saturate_and_the_next_packet_begins_at_zero(name: str) -> None:
    simulation = simulation_of(name)
    long = [b"a" * 1100, b"\xff" * 700, b"\xf0\x9f\x98\x80" * 40, b"a" * 600 + b"\x80"]
    # The first error is before the limit, and is known only in a beat after it.
    long += [b"a" * length + error for error in (b"\x80", b"\xf0\x9f\x98a") for length in range(8, 40)]
    texts = [text for pair in zip(long, ["é".encode() + b"\xff"] * len(long), strict=True) for text in pair]
    check(simulation, texts)


@pytest.mark.slow
def test_numbers_above_the_first_groups_are_exact() -> None:
    check(simulation_of("8-small"), [b"a" * (1 << 17) + b"\xff"])
    check(simulation_of("1"), ["😀".encode() * (1 << 16) + b"\xff\xff", b"\xff" * 1000, b"b"])


def watched(tap: Any, cycles: Sequence[tuple[bytes, bool, bool, bool, bool]]) -> list[tuple[int, int]]:
    """The cycles in which a tap reports, and whether the packet is well-formed.

    Args:
        tap: the tap.
        cycles: for each cycle the units, and `last`, `valid`, `ready` and the reset.
    """
    found = []

    async def bench(ctx: Any) -> None:
        for cycle in range(len(cycles) + tap.latency + 1):
            units, last, valid, ready, reset = (
                cycles[cycle] if cycle < len(cycles) else (b"", False, False, False, False)
            )
            for lane in range(tap.lanes):
                ctx.set(tap.payload.symbols[lane], units[lane] if lane < len(units) else 0x80)
            ctx.set(tap.payload.keep, (1 << len(units)) - 1)
            ctx.set(tap.payload.last, last)
            ctx.set(tap.valid, valid)
            ctx.set(tap.ready, ready)
            ctx.set(resets.rst, reset)
            if ctx.get(tap.report_valid):
                found.append((cycle, ctx.get(tap.report.well_formed)))
            await ctx.tick()

    resets = ClockDomain("sync")
    run_benches(tap, bench, domain=resets)
    return found


SMALL_TAPS: dict[str, Callable[[], Any]] = {
    "verdict": lambda: ValidatorParameters(report="verdict").tap(),
    "one": lambda: ValidatorParameters(lanes=1, report="offset", counters=8).tap(),
    "three": lambda: ValidatorParameters(lanes=3, counters=8).tap(),
}


@pytest.mark.parametrize("name", SMALL_TAPS)
def test_only_transfers_count_and_reports_are_exactly_as_late_as_stated(name: str) -> None:
    tap = SMALL_TAPS[name]()
    rng = random.Random(4)
    cycles: list[tuple[bytes, bool, bool, bool, bool]] = []
    expected = []
    for _ in range(40):
        text = drawn(rng, rng.randint(0, 7))
        for slots, last in text_beats(text, tap.lanes, separate_end=rng.random() < 0.5):
            while rng.random() < 0.5:
                valid = rng.random() < 0.5
                cycles.append((b"\xff", rng.random() < 0.5, valid, not valid and rng.random() < 0.5, False))
            cycles.append((bytes(slot for slot in slots if slot is not None), last, True, True, False))
        expected.append((len(cycles) - 1 + tap.latency, int(report_of(text).well_formed)))
    assert watched(tap, cycles) == expected


@pytest.mark.parametrize("name", SMALL_TAPS)
def test_a_reset_discards_the_packet_and_reports_in_flight(name: str) -> None:
    tap = SMALL_TAPS[name]()
    cycles: list[tuple[bytes, bool, bool, bool, bool]] = []
    expected = []
    for place in range(tap.latency + 3):
        # Ill-formed packets before the reset, and an open sequence at the reset.
        begin = len(cycles)
        cycles += [(b"\xff", number % 3 == 0, True, True, False) for number in range(place)]
        reset = len(cycles)
        expected += [(n + tap.latency, 0) for n in range(begin, reset, 3) if n + tap.latency <= reset]
        cycles += [(b"\xc3", False, True, True, True), (b"a", True, True, True, False), (b"b", True, True, True, False)]
        expected += [(reset + 1 + tap.latency, 1), (reset + 2 + tap.latency, 1)]
        cycles += [(b"", False, False, True, False)] * tap.latency
    assert watched(tap, cycles) == expected


OF_TABLES: dict[str, dict[str, Any]] = {report: {"report": report} for report in ("verdict", "offset")}
OF_TABLES |= {f"through-{lanes}": {"lanes": lanes, "pass_through": True} for lanes in (1, 3)}


@pytest.mark.parametrize("shape", tiered(OF_TABLES, ["verdict"]))
def test_all_tables_of_bytes_that_have_a_window(shape: dict[str, Any]) -> None:
    rng = random.Random(5)
    for table in BYTE_TABLES:
        units = sorted({bound for row in table.rows for each in row.units for bound in (each.first, each.last)})
        texts = [bytes(rng.choice(units) for _ in range(rng.randint(0, 9))) for _ in range(60)]
        parameters = ValidatorParameters(table=table, **shape)
        for text, found in zip(texts, Simulation(parameters.build()).run(texts).texts, strict=True):
            report = validate(text, table)
            wanted = {
                "verdict": [(report.well_formed, None)],
                "offset": [(report.well_formed, report.offset)],
                "full": [item.error is not None for item in decode(text, table) for _ in range(item.length)],
            }[parameters.report]
            assert [each.error if parameters.pass_through else each[:2] for each in found] == wanted, (table.name, text)


def test_the_networks_of_table_3_7_have_few_look_up_tables() -> None:
    """As the area of a tap assumes, with room for other inputs in the last ones."""
    control = ValidatorControl.of(TABLE_3_7)
    networks = (control.lead_network, control.restricts, control.fits)
    assert [len(network.inner) for network in networks] == [2, 1, 1]
    assert [len(network.last.inputs) for network in networks] == [2, 3, 1]


@pytest.mark.parametrize(("negative", "others"), [(3, 1), (3, 2), (1, 5), (5, 16), (3, 30)])
def test_the_first_of_leaves(negative: int, others: int) -> None:
    leaves = negative + others
    rng = random.Random(7)
    # A leaf counts, and two bits of its payload.
    words = [0, *(1 << place for place in range(3 * leaves))]
    words += [
        sum(1 << place for place in range(3 * leaves) if rng.random() < rng.choice((0.1, 0.6))) for _ in range(99)
    ]

    def build(pipeline: Pipeline, bits: list[Staged]) -> list[Staged]:
        given = [Leaf(bits[at], at - negative, (bits[leaves + at], bits[2 * leaves + at])) for at in range(leaves)]
        first = first_of(pipeline, "first", given)
        return [first.found, *first.payload, *first.number]

    for word, (found, *rest) in zip(words, outcomes_of(build, words, 3 * leaves), strict=True):
        first = next((at for at in range(leaves) if word >> at & 1), None)
        payload, number = rest[:2], rest[2:]
        signed = sum(bit << place for place, bit in enumerate(number)) - (number[-1] << len(number))
        if first is None:
            assert [found, *rest] == [0] * (3 + len(number))
        else:
            expected = [word >> (times * leaves + first) & 1 for times in (1, 2)]
            assert (found, signed, payload) == (1, first - negative, expected)


@pytest.mark.parametrize("size", [1, 4, 5, 17, 21])
def test_whether_any_value_before_is_1(size: int) -> None:
    rng = random.Random(8)
    words = [0, *(1 << place for place in range(size)), *(rng.getrandbits(size) for _ in range(20))]
    results = outcomes_of(lambda pipeline, bits: any_before(pipeline, "before", bits), words, size)
    for word, result in zip(words, results, strict=True):
        assert result == [int(word & ((1 << place) - 1) != 0) for place in range(size + 1)]


@pytest.mark.smoke
def test_the_verilog_of_a_tap_watches_and_reports() -> None:
    text = axi_verilog(ValidatorParameters(lanes=2, counters=40).build())
    ports = text[text.index("module utf8_validator (") :].partition(");\n")[0]
    assert "input wire s_axis_tready," in ports
    assert "input wire [15:0] s_axis_tdata," in ports
    assert "output wire [39:0] report_utf16_units," in ports
    assert "output wire report_tvalid" in ports
    assert "m_axis" not in text
    assert "All ones in a number means this number or more." in text
    assert "Combinational paths from input ports to output ports: none." in text


def test_the_header_of_a_tap_without_numbers_does_not_mention_them() -> None:
    text = axi_verilog(ValidatorParameters(report="verdict").build())
    assert "report_well_formed      1 if the packet is well-formed\n" in text
    assert "All ones" not in text


# Pass-throughs.


@pytest.mark.parametrize("lanes", tiered({f"{lanes}": lanes for lanes in (1, 2, 3, 4, 17)}, ["1", "3"]))
def test_a_beat_is_output_as_soon_as_its_flags_are_certain(lanes: int) -> None:
    """The input pauses after each beat for so long that no beat can come through because of the next one."""
    simulation = simulation_of(f"through-{lanes}")
    latency = simulation.core.latency
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
    return len({tuple(flagged_units(each, None)[: place + 1]) for each in following}) == 1


class Reports(wiring.Component):
    """The reports of a pass-through as an output stream, in place of its units."""

    packed = True

    def __init__(self, core: PassThrough) -> None:
        self._core, self.lanes = core, core.lanes
        self.latency, self.drain_cycles, self.stall_cycles = core.latency, core.drain_cycles, core.stall_cycles
        self.reset_cycles = core.reset_cycles
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


@pytest.mark.parametrize("name", tiered({name: name for name in PASS_THROUGHS}, ["through-1", "through-4-cut-8"]))
def test_the_report_is_on_the_whole_packet_and_at_its_last_beat(name: str) -> None:
    parameters = parameters_of_shape(name)
    simulation = simulation_of_reports(parameters, ENGINE)
    rng = random.Random(4)
    texts = [drawn(rng, rng.randint(0, 4 * parameters.lanes + 12)) for _ in range(120)]
    for pauses in ([False], [True, False, True]):
        check_reports(simulation, parameters, texts, pauses)


def simulation_of_reports(parameters: ValidatorParameters, engine: str) -> Simulation:
    watching = ValidatorParameters(lanes=parameters.lanes, report=parameters.report, counters=parameters.counters)
    return Simulation(Reports(parameters.build()), watching, engine=engine)


def check_reports(
    simulation: Simulation, parameters: ValidatorParameters, texts: Sequence[bytes], pauses: Sequence[bool]
) -> None:
    found = simulation.run(texts, output_pauses=pauses).texts
    for text, (report,) in zip(texts, found, strict=True):
        wanted = report_of(text)
        assert report.well_formed == wanted.well_formed
        if parameters.report != "verdict":
            assert report.offset == wanted.offset
        if parameters.report == "full":
            assert report == wanted


REPORTS_OF_EACH: dict[str, dict[str, Any]] = {
    f"{report}-{lanes}{f'-cut-{limit}' if limit else ''}": {"report": report, "lanes": lanes, "limit": limit}
    for report in REPORTS
    for lanes in (1, 2, 3, 5, 16)
    for limit in (None, 4, 11)
}


@pytest.mark.parametrize("name", tiered({name: name for name in REPORTS_OF_EACH}, ["offset-3", "verdict-1-cut-4"]))
def test_no_report_is_lost_or_early_when_the_buffer_fills_and_empties(name: str) -> None:
    parameters = ValidatorParameters(pass_through=True, **REPORTS_OF_EACH[name])
    check_when_it_fills(parameters, simulation_of_reports(parameters, ENGINE))


def check_when_it_fills(parameters: ValidatorParameters, simulation: Simulation) -> None:
    """Packets of one beat and longer ones, while the output stops for so long that all rows are occupied."""
    rng, lanes, whole = random.Random(8), parameters.lanes, simulation.core.drain_cycles + simulation.core.latency
    for length in (lanes, 3 * lanes):
        texts = [drawn(rng, rng.randint(0, length)) for _ in range(6 * whole)]
        for stop in (whole, 2 * whole):
            check_reports(simulation, parameters, texts, [True] * stop + [False] * stop)
        check_reports(simulation, parameters, texts, [rng.random() < 0.4 for _ in range(997)])


def test_golden_functions_in_parts() -> None:
    rng = random.Random(5)
    for limit in (None, 4, 7, 20):
        for _ in range(100):
            text, golden = drawn(rng, rng.randint(0, 30)), GoldenPassThrough(limit=limit)
            at = rng.randint(0, len(text))
            units = [*golden.process(text[:at]), *golden.process(text[at:], final=True)]
            assert [(unit.value, unit.error) for unit in units] == flagged_units(text, limit)
            assert [unit.value for unit in golden.process(b"ok", final=True)] == [*b"ok"]


def test_the_flags_are_those_of_the_stage_that_is_stated() -> None:
    core = ValidatorParameters(lanes=3, pass_through=True).build()
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


@pytest.mark.parametrize("name", tiered({name: name for name in PASS_THROUGHS}, ["through-2-cut-5"]))
def test_a_reset_of_a_pass_through_discards_all_beats_and_reports(name: str) -> None:
    """Packets before resets at random times, with an output that stops; after each reset whole packets."""
    core = parameters_of_shape(name).build()
    rng, lanes = random.Random(9), core.lanes
    found: list[bytes] = []
    expected: list[bytes] = []

    async def bench(ctx: Any) -> None:
        for _ in range(6):
            before = [drawn(rng, rng.randint(0, 9)) for _ in range(200)]
            await play(ctx, before, rng.randint(1, 200), ready=rng.random() < 0.5)
            ctx.set(resets.rst, 1)
            await ctx.tick()
            ctx.set(resets.rst, 0)
            texts = [bytes(rng.choice(b"abc") for _ in range(rng.randint(1, 3))) for _ in range(3)]
            expected.append(b"".join(texts))
            found.append(await play(ctx, texts, 4 * core.latency, ready=True))

    async def play(ctx: Any, texts: Sequence[bytes], cycles: int, *, ready: bool) -> bytes:
        """The units that are output in so many cycles, and 00 for each report on an ill-formed packet."""
        beats, units = [beat for text in texts for beat in text_beats(text, lanes)], b""
        for _ in range(cycles):
            ctx.set(core.output.ready, ready)
            ctx.set(core.input.valid, bool(beats))
            if beats:
                slots, last = beats[0]
                for lane, slot in enumerate(slots):
                    ctx.set(core.input.payload.symbols[lane], slot or 0)
                ctx.set(core.input.payload.keep, sum(1 << lane for lane, slot in enumerate(slots) if slot is not None))
                ctx.set(core.input.payload.last, last)
                if ctx.get(core.input.ready):
                    del beats[0]
            payload = core.output.payload
            if ready and ctx.get(core.output.valid):
                units += bytes(
                    ctx.get(payload.symbols[lane].unit) for lane in range(lanes) if ctx.get(payload.keep[lane])
                )
                if ctx.get(payload.last) and not ctx.get(core.report.well_formed):
                    units += b"\0"
            await ctx.tick()
        return units

    resets = ClockDomain("sync")
    run_benches(core, bench, domain=resets)
    assert found == expected


BUFFER_FAULTS: dict[str, tuple[Any, str, Any]] = {
    "two beats fewer are in flight": (buffer_module, "_COUNTED", 1),
    "reports are read one cycle early": (buffer_module, "_READING", 5),
    "the output has more room": (buffer_module, "UNCOUNTED", 1),
    "what is not read is not cleared": (buffer_module, "or_", lambda first, second: second),
}


@pytest.mark.smoke
@pytest.mark.parametrize("fault", BUFFER_FAULTS.values(), ids=[*BUFFER_FAULTS])
def test_faults_of_the_buffer_are_detected(fault: tuple[Any, str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = ValidatorParameters(report="offset", counters=8, pass_through=True)
    monkeypatch.setattr(*fault)
    simulation = simulation_of_reports(parameters, "python")
    with pytest.raises((AssertionError, ContractError)):
        check_when_it_fills(parameters, simulation)
