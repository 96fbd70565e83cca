# SPDX-License-Identifier: BSD-2-Clause
"""What every core promises: its output on any packets, its rate and its timing, after resets, and as Verilog."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import resources
from itertools import chain, product
from typing import Any

import pytest
from amaranth.hdl import ShapeLike, Signal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cores import (
    FULL,
    SMOKE,
    cores_under_test,
    expected,
    packets,
    packets_of,
    pieces_of,
    sequences_of,
    simulation_of,
    source_of,
)
from support.engines import ENGINE, requires_graph, soaked
from support.faults import (
    a_dropped_beat_keeps_its_credit,
    a_lead_allows_the_second_units_of_another_one,
    a_lead_that_ends_a_beat_is_complete,
    a_queue_accepts_without_room,
    a_report_counts_each_unit_as_a_code_point,
    a_sequence_of_the_sanitizer_is_never_open,
    delay_bounds,
    inject,
    lose_flags,
    the_end_of_a_packet_is_lost,
    the_row_of_the_packer_has_no_carry,
)
from support.player import Cycles, measured
from support.strategies import stream_patterns
from support.tiers import tiered

from utf8fpga.formal.netlist import equal_verilog
from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
    axi_rtlil,
    axi_verilog,
    build,
    fifo,
    module_name,
)
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.cores import CORES
from utf8fpga.hdl.packer.network import Network
from utf8fpga.sim import Run, Simulation

CASES = cores_under_test()
every_core = pytest.mark.parametrize("parameters", tiered(CASES, FULL.keys() | SMOKE.keys(), smoke=SMOKE.keys()))


def check(simulation: Simulation, given: Sequence[Sequence[int]], **patterns: Any) -> Run:
    """Compare the output for packets with what CPython says."""
    run = simulation.run(given, **patterns)
    parameters = simulation.entry.parameters
    for packet, symbols in zip(given, run.texts, strict=True):
        assert symbols == expected(parameters, packet), [f"{symbol:X}" for symbol in packet]
    return run


def check_products(simulation: Simulation) -> None:
    """All sequences of classes of symbols, in every lane."""
    given = packets_of(simulation.entry.parameters)
    if not simulation.entry.accepts_gaps:
        check(simulation, given)
        return
    for gaps in product([False, True], repeat=2 * simulation.core.lanes - 1):
        check(simulation, given, gaps=[*gaps, False])


def drawn_packets(parameters: Any, count: int) -> list[list[int]]:
    """Packets of one sequence, of a few and of many."""
    rng, pieces = random.Random(1), pieces_of(parameters)
    return [list(chain.from_iterable(rng.choices(pieces, k=rng.choice([1, 4, 40])))) for _ in range(count)]


def check_pauses(simulation: Simulation) -> None:
    """Packets with pauses that fill all buffers, with short ones, and with null beats."""
    given = drawn_packets(simulation.entry.parameters, 20 + 5 * simulation.core.lanes)
    check(simulation, given, output_pauses=[False, *[True] * 60, *[False] * 90])
    check(simulation, given, input_pauses=[True, False, True], separate_ends=[False, True], null_beats=[True, False])
    check(simulation, given, input_pauses=[False, False, True], output_pauses=[True, False, False, True])


def check_rate(simulation: Simulation) -> None:
    """A beat in each cycle on any input, and with a consumer that stalls at random as many as it accepts."""
    core, parameters, rng = simulation.core, simulation.entry.parameters, random.Random(2)
    short = sequences_of(parameters)[0]
    single, growth = [short * core.lanes] * 400, simulation.entry.growth(core)
    given = drawn_packets(parameters, 60) if growth == 1 else single
    for packets_in, ends in ((given, [False]), (single, [True]), ([[], short] * 20, [False])):
        accepted = check(simulation, packets_in, separate_ends=ends).accepted
        assert accepted == list(range(accepted[0], accepted[0] + len(accepted)))
    for share in (0.05, 0.2):
        stalls = [False, *(rng.random() < share for _ in range(99))]
        cycles = sorted(set(check(simulation, single, output_pauses=stalls).valid_since))
        open_cycles = sum(not stalls[cycle % len(stalls)] for cycle in range(cycles[0], cycles[-1]))
        assert open_cycles <= 1.02 * len(single)
    run = check(simulation, [short * core.lanes, []], null_beats=[*[True] * 300, False])
    assert run.accepted[1] - run.accepted[0] == 301, "null beats stall neither side"


def check_density(simulation: Simulation) -> None:
    """Packed beats are full up to the last one of a packet, as long as no pause closes one."""
    width, lanes = lanes_of(simulation.core.output), simulation.core.lanes
    for short in sequences_of(simulation.entry.parameters)[:2]:
        cycles = check(simulation, [short * (20 * lanes)]).valid_since
        counts = [cycles.count(cycle) for cycle in dict.fromkeys(cycles)]
        assert set(counts[:-1]) <= {width}


@every_core
def test_all_sequences_of_classes_at_every_lane(parameters: CoreParameters) -> None:
    check_products(simulation_of(parameters))


@every_core
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(data=st.data(), patterns=stream_patterns())
def test_any_packets_with_pauses_and_null_beats(
    parameters: CoreParameters, data: st.DataObject, patterns: dict[str, list[bool]]
) -> None:
    simulation = simulation_of(parameters)
    if simulation.entry.accepts_gaps:
        patterns["gaps"] = [*data.draw(st.lists(st.booleans(), max_size=9)), False]
    check(simulation, data.draw(packets(parameters)), **patterns)


@every_core
def test_long_packets_with_pauses_that_fill_all_buffers(parameters: CoreParameters) -> None:
    check_pauses(simulation_of(parameters))


@every_core
def test_a_beat_in_each_cycle_on_any_input_and_as_many_as_the_consumer_accepts(parameters: CoreParameters) -> None:
    simulation = simulation_of(parameters)
    check_rate(simulation)
    if simulation.core.packed:
        check_density(simulation)


@pytest.mark.parametrize(("optimize", "ahead"), [("area", 2), ("speed", 9)])
def test_utf_8_to_utf_8_with_one_lane_takes_a_byte_in_three_cycles_of_the_worst_input(
    optimize: str, ahead: int
) -> None:
    accepted = check(simulation_of(TranscoderParameters(optimize=optimize)), [b"\xff" * 100]).accepted
    assert 3 * (99 - ahead) <= accepted[-1] - accepted[0] <= 3 * 99


@pytest.mark.exhaustive
@pytest.mark.parametrize("to", ["utf-8", "utf-16-le"])
def test_every_scalar_value_is_encoded(to: str) -> None:
    check(simulation_of(EncoderParameters(to=to)), [list(range(0x110000))])


@pytest.mark.parametrize("name", tiered({name: name for name in SMOKE}, len(SMOKE), smoke=["decoder-4"]))
def test_real_texts(name: str) -> None:
    if source_of(SMOKE[name]) == "utf-8":
        folder = resources.files("utf8fpga").joinpath("texts")
        texts = [folder.joinpath(f"{text}.txt").read_bytes() for text in ("multilingual", "torture")]
        check(simulation_of(SMOKE[name]), texts)


SLACK = {
    **dict.fromkeys(("decoder-2", "decoder-4", "decoder-5", "remover-3"), Cycles(latency=1)),
    "transcoder-from-utf-16-le-area": Cycles(1, 2, 1),
}
"""Where less than the bounds is measured. The second of two rows that a beat closes, a cycle later, is rare."""

MEASURED: list[CoreParameters] = [
    *(DecoderParameters(optimize=optimize) for optimize in ("area", "speed")),
    *(DecoderParameters(lanes=4, packed=packed) for packed in (True, False)),
    DecoderParameters(lanes=2),
    *(EncoderParameters(lanes=lanes) for lanes in (1, 2)),
    TranscoderParameters(to="utf-16-le", optimize="area"),
    TranscoderParameters(to="utf-8", optimize="speed"),
    *(SanitizerParameters(lanes=lanes, optimize=optimize) for lanes in (1, 4) for optimize in ("area", "speed")),
    ValidatorParameters(),
    RemoverParameters(lanes=3),
    DecoderParameters(lanes=2, packed=False),
    DecoderParameters(lanes=5),
    TranscoderParameters(to="utf-16-le", lanes=2),
    TranscoderParameters(from_="utf-16-le", optimize="area"),
    TranscoderParameters(to="utf-16-le", optimize="speed"),
    ValidatorParameters(lanes=3),
]


@pytest.mark.parametrize(
    "parameters", tiered({each.name: each for each in MEASURED}, 15, smoke=["decoder-area", "decoder-4", "validator"])
)
def test_the_stated_cycles_are_those_measured_and_a_reset_discards_all(parameters: CoreParameters) -> None:
    core, player = measured(parameters)
    stated = Cycles(core.latency, core.stall_cycles, core.drain_cycles)
    differences = {name: most - getattr(player.most, name) for name, most in asdict(stated).items()}
    assert differences == asdict(SLACK.get(parameters.name, Cycles()))


def test_every_kind_of_core_is_checked() -> None:
    kinds = set(CORES.values())
    assert {type(each) for each in SMOKE.values()} == {type(each) for each in MEASURED} == kinds


@requires_graph
@pytest.mark.parametrize(
    ("name", "symbols"),
    tiered({"few": ("decoder-4-sparse-kind", 10**5)} | {each: (each, 10**7) for each in SMOKE}, ["few"]),
)
def test_many_random_packets_with_pauses_null_beats_and_resets(name: str, symbols: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    totals, mismatch = soaked(simulation_of(SMOKE[name]), symbols, seed)
    assert mismatch is None, f"seed {seed}: {mismatch}"
    assert totals.symbols >= symbols


WRITTEN: list[CoreParameters] = [
    DecoderParameters(optimize="area"),
    DecoderParameters(lanes=4, packed=False),
    RemoverParameters(lanes=2, width=20, user=3),
    DecoderParameters(optimize="speed"),
    DecoderParameters(lanes=3, packed=False),
    *(DecoderParameters(lanes=lanes) for lanes in (2, 4)),
    EncoderParameters(to="utf-16-le", lanes=2),
    *(TranscoderParameters(to="utf-16-le", optimize=optimize) for optimize in ("area", "speed")),
    TranscoderParameters(lanes=2),
    SanitizerParameters(lanes=3),
    RemoverParameters(lanes=3, width=3),
    ValidatorParameters(lanes=3),
]


@pytest.mark.parametrize("parameters", tiered({each.name: each for each in WRITTEN}, 3, smoke=["decoder-area"]))
def test_the_verilog_is_equal_to_the_circuit(parameters: CoreParameters) -> None:
    core = build(parameters)
    assert equal_verilog(axi_rtlil(core), axi_verilog(core), module_name(core)).proved is True


# Faults that someone could have made, each of which one of the checks must find.


def a_credit_too_many(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fifo, "UNCOUNTED", -1)


def two_lanes_of_a_switch_are_swapped(patch: pytest.MonkeyPatch) -> None:
    inject(patch, Network, lambda network: network.out_words[0].eq(network.words[1]))


def a_reset_leaves_what_waits(patch: pytest.MonkeyPatch) -> None:
    def duplicate(name: str, shape: ShapeLike = 1, *, init: int = 0) -> Signal:
        return Signal(shape, name=name, init=init, reset_less=True)

    patch.setattr(fifo, "duplicate", duplicate)


def check_timing(parameters: CoreParameters) -> None:
    """The timing of a core with resets, in which it must not output anything wrong either."""
    core, player = measured(parameters)
    most = player.most
    assert (most.latency, most.stall) <= (core.latency, core.stall_cycles)
    assert most.drain <= core.drain_cycles


def check_all(simulation: Simulation) -> None:
    """All of the above but for what is drawn."""
    check_pauses(simulation)
    check_products(simulation)
    check_rate(simulation)
    check_timing(simulation.entry.parameters)


SPARSE, PACKED = DecoderParameters(lanes=4, packed=False), DecoderParameters(lanes=4)

FAULTS: dict[str, tuple[CoreParameters, Callable[[pytest.MonkeyPatch], None]]] = {
    fault.__name__: (parameters, fault)
    for parameters, fault in (
        (PACKED, a_lead_that_ends_a_beat_is_complete),
        (SPARSE, a_credit_too_many),
        (PACKED, the_row_of_the_packer_has_no_carry),
        (PACKED, two_lanes_of_a_switch_are_swapped),
        (SPARSE, a_lead_allows_the_second_units_of_another_one),
        (SanitizerParameters(lanes=2), a_sequence_of_the_sanitizer_is_never_open),
        (DecoderParameters(lanes=2, packed=False), a_dropped_beat_keeps_its_credit),
        (RemoverParameters(lanes=3), the_end_of_a_packet_is_lost),
        (EncoderParameters(), a_queue_accepts_without_room),
        (TranscoderParameters(to="utf-16-le", lanes=2), delay_bounds),
        (EncoderParameters(to="utf-16-le"), lose_flags),
        (ValidatorParameters(lanes=2), a_report_counts_each_unit_as_a_code_point),
        (SPARSE, a_reset_leaves_what_waits),
    )
}


@pytest.mark.parametrize(("parameters", "fault"), tiered(FAULTS, len(FAULTS), smoke=list(FAULTS)[:4]))
def test_a_fault_is_found(
    parameters: CoreParameters, fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    simulation = Simulation(build(parameters), engine=ENGINE)
    with pytest.raises(AssertionError):
        check_all(simulation)
