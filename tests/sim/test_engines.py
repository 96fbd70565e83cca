# SPDX-License-Identifier: BSD-2-Clause
"""The engine `graph` equals Amaranth's simulator in every cycle, also for netlists, and finds planted faults."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from support.engines import assert_equal_runs, requires_graph, soaked
from support.faulty_cores import VIOLATIONS, PortFault, faulty_core
from support.oracle import refusal
from support.tiers import tiered
from support.variants import variants

from utf8fpga.cli.replay import replay
from utf8fpga.hdl import CoreParameters, DecoderParameters, TranscoderParameters, build
from utf8fpga.hdl.cores import CORES
from utf8fpga.model import TABLE_3_7
from utf8fpga.sim import NETLISTS, Simulation, compare, simulate

pytestmark = requires_graph

DECODERS = [
    DecoderParameters(optimize="area", kind=True),
    DecoderParameters(lanes=2, packed=False, kind=True),
    DecoderParameters(lanes=4),
]
ALL = dict.fromkeys(each for kind in CORES.values() for each in variants(kind))


@functools.cache
def on_both(parameters: CoreParameters) -> tuple[Simulation, Simulation]:
    python = Simulation(build(parameters))
    return python, python.on("graph")


@pytest.mark.parametrize("parameters", DECODERS, ids=lambda each: each.name)
def test_runs_equal_those_of_amaranths_simulator_in_every_cycle(parameters: CoreParameters) -> None:
    assert_equal_runs(*on_both(parameters), 20)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", ALL, ids=lambda each: each.name)
def test_runs_are_equal_for_every_core_and_every_value_of_each_option(parameters: CoreParameters) -> None:
    assert_equal_runs(*on_both(parameters), 50, getattr(parameters, "table", TABLE_3_7))


def test_a_waveform_is_that_of_amaranths_simulator(tmp_path: Path) -> None:
    _, graph = on_both(DECODERS[0])
    assert graph.run([b"A\xff"], vcd=tmp_path / "wave.vcd") == graph.run([b"A\xff"])
    assert "$enddefinitions" in (tmp_path / "wave.vcd").read_text()


def test_the_engine_is_checked() -> None:
    assert simulate(b"A\xc3", engine="graph", lanes=2) == simulate(b"A\xc3", lanes=2)
    assert refusal(ValueError, lambda: Simulation(engine="fast")) == "engine 'fast' is not one of python, graph"


# Netlists.

SERIAL = DecoderParameters(kind=True)


@functools.cache
def netlist_of(parameters: CoreParameters, family: str) -> Simulation:
    return Simulation(build(parameters), engine="graph", netlist=family)


@pytest.mark.parametrize("family", NETLISTS)
def test_netlists_equal_the_circuit_in_every_cycle(family: str) -> None:
    assert_equal_runs(on_both(SERIAL)[1], netlist_of(SERIAL, family), 20)


@pytest.mark.slow
@pytest.mark.parametrize("family", NETLISTS)
@pytest.mark.parametrize(
    "parameters",
    [DecoderParameters(lanes=4, packed=False), DecoderParameters(lanes=4), TranscoderParameters(to="utf-16-le")],
    ids=lambda each: each.name,
)
def test_netlists_with_memories_equal_the_circuit(parameters: CoreParameters, family: str) -> None:
    assert_equal_runs(on_both(parameters)[1], netlist_of(parameters, family), 20)


def test_a_difference_of_a_netlist_has_the_command_that_reproduces_it() -> None:
    def bit_is_lost(m: Module, outer: Any, inner: Any) -> None:
        m.d.comb += outer.output.payload.symbols[0].code_point[3].eq(0)

    found = compare(Simulation(faulty_core(SERIAL, bit_is_lost), engine="graph", netlist="ice40"), b"ABCH")
    assert bytes(found.units) == b"H"
    assert replay(found) == ["utf8fpga", "simulate", "--hex", "48", "--kind", "--netlist", "ice40"]


# Long simulations with random texts.


def wrong_after_many_beats(m: Module, outer: Any, inner: Any) -> None:
    """A fault that no short run shows."""
    count = Signal(9)
    m.d.sync += count.eq(count + (inner.output.valid & outer.output.ready))
    with m.If(count == 300):
        m.d.comb += outer.output.payload.symbols[0].code_point.eq(0)


def last_is_lost(m: Module, outer: Any, inner: Any) -> None:
    """The end of a packet is lost where its last item is incomplete."""
    with m.If(inner.output.payload.symbols[0].error & inner.output.payload.last):
        m.d.comb += outer.output.payload.last.eq(0)


def leaks_through_a_reset(m: Module, outer: Any, inner: Any) -> None:
    """What a register without a reset remembers changes the first word after it."""
    busy, is_first = Signal(reset_less=True), Signal(init=1)
    m.d.sync += busy.eq(busy | inner.output.valid)
    with m.If(inner.output.valid & outer.output.ready):
        m.d.sync += is_first.eq(0)
    with m.If(is_first & busy):
        m.d.comb += outer.output.payload.symbols[0].code_point.eq(0x2603)


FAULTS: dict[str, Callable[[Module, Any, Any], None]] = {
    "after many beats": wrong_after_many_beats,
    "last is lost": last_is_lost,
    "through a reset": leaks_through_a_reset,
}


@pytest.mark.parametrize("fault", tiered(FAULTS, 2))
@pytest.mark.parametrize("parameters", [DecoderParameters(), DecoderParameters(lanes=2)], ids=["1", "2"])
def test_a_soak_finds_faults(fault: PortFault, parameters: DecoderParameters) -> None:
    _, found = soaked(Simulation(faulty_core(parameters, fault)), 10**6)
    assert found is not None
    if fault is last_is_lost:
        # A packet alone shows it: the shortest is found.
        assert len(found.units) == 1
        assert found.is_alone


@pytest.mark.parametrize("fault", tiered({name: fault for name, (fault, _) in VIOLATIONS.items()}, 2))
def test_the_monitors_of_a_soak_find_violations_of_the_contract_in_the_first_round(fault: PortFault) -> None:
    core = faulty_core(DecoderParameters(lanes=3, packed=False), fault)
    totals, found = soaked(Simulation(core), 10**6)
    assert (totals.rounds, found is None) == (1, False)


@pytest.mark.parametrize("kind", CORES.values(), ids=CORES)
def test_a_soak_of_a_correct_core_finds_nothing(kind: type[CoreParameters]) -> None:
    simulation = Simulation(build(kind()))
    totals, found = soaked(simulation, 1, seed=3)
    assert found is None
    assert totals.symbols > 10**4
    assert soaked(simulation, 1, seed=3) == (totals, None)
