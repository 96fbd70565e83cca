# SPDX-License-Identifier: BSD-2-Clause
"""Comparison in bulk and soak: traffic of every kind, differences that are found, reduced and replayed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from support.engines import requires_compiler
from support.faulty_cores import FaultyCore, PortFault
from support.tiers import tiered

from utf8fpga.hdl import DecoderParameters, build
from utf8fpga.model import RFC_2279, TABLE_3_7
from utf8fpga.sim import Simulation, compare
from utf8fpga.sim.boundaries import boundary_sequences, boundary_units
from utf8fpga.sim.bulk import bulk_golden, compare_bulk
from utf8fpga.sim.check import DEPENDS_ON_EARLIER
from utf8fpga.sim.soak import Totals, soak
from utf8fpga.sim.traffic import Traffic, traffic

pytestmark = requires_compiler

CORPUS = (Path(__file__).parents[2] / "package" / "texts" / "multilingual.txt").read_bytes()
TEXT = CORPUS + b"\xed\xa0\x80\xff" + CORPUS[:-1]


# The traffic.


def packets(given: Traffic) -> list[bytes]:
    return [given.symbols[a:b].astype(np.uint8).tobytes() for a, b in pairwise([0, *given.ends.tolist()])]


def test_traffic_depends_on_the_seed_only() -> None:
    def of(seed: int) -> list[Any]:
        given = traffic(seed, 10_000, corpus=CORPUS, table=TABLE_3_7, lanes=4)
        return [each.tolist() if isinstance(each, np.ndarray) else each for each in vars(given).values()]

    found = [of(seed) for seed in range(40)]
    assert found == [of(seed) for seed in range(40)]
    assert all(one != other for one, other in pairwise(found))


@pytest.mark.parametrize("lanes", [1, 3, 16])
def test_every_boundary_sequence_has_every_alignment(lanes: int) -> None:
    found: set[bytes] = set()
    for seed in range(3, 80, 4):
        found.update(packets(traffic(seed, 1 << 21, table=TABLE_3_7, lanes=lanes)))
    expected = {
        b"\x7f" * alignment + bytes(sequence) + after
        for alignment in range(lanes)
        for sequence in boundary_sequences()
        for after in (b"", b"\x7f")
    }
    assert found == expected


def test_boundary_sequences_are_those_of_the_rows_and_their_prefixes() -> None:
    found = set(boundary_sequences())
    # Row 5, ED 80..9F 80..BF: bounds and the units next to them, as in Table 3-7.
    firsts, seconds = {0xEC, 0xED, 0xEE}, {0x7F, 0x80, 0x81, 0x9E, 0x9F, 0xA0}
    assert {(a, b, c) for a in firsts for b in seconds for c in (0x7F, 0x80, 0xBF, 0xC0)} < found
    assert {(0xED,), (0xED, 0xA0), (0xF4, 0x90, 0x80, 0x80), (0xF4, 0x8F, 0xBF, 0xBF)} < found
    assert {unit for sequence in found for unit in sequence} | {0, 1, 0xFF} == set(boundary_units())


# Correct cores.

CORRECT = {
    "serial": DecoderParameters(optimize="area"),
    "serial, all fields": DecoderParameters(kind=True),
    "packed": DecoderParameters(lanes=4, packed=True),
    "packed, many lanes": DecoderParameters(lanes=17),
    "another table": DecoderParameters(table=RFC_2279),
}


@functools.cache
def simulation_of(parameters: DecoderParameters) -> Simulation:
    return Simulation(build(parameters), engine="compiled")


@pytest.mark.parametrize("parameters", tiered(CORRECT, 2))
def test_soak_of_correct_cores_finds_no_difference(parameters: DecoderParameters) -> None:
    simulation = simulation_of(parameters)
    fast = bulk_golden(simulation) is not None
    assert fast
    seen: list[int] = []
    totals, mismatch = soak(
        simulation,
        symbols=10_000_000 if fast else 40_000,
        corpus=CORPUS,
        on_round=lambda totals: seen.append(totals.symbols),
    )
    assert mismatch is None
    assert (len(seen), seen[-1]) == (totals.rounds, totals.symbols)
    assert totals.cycles > totals.symbols // parameters.lanes > 0


def test_soak_ends_with_the_time() -> None:
    totals, mismatch = soak(simulation_of(DecoderParameters()), seconds=0.2)
    assert mismatch is None
    assert totals.seconds >= 0.2
    assert soak(simulation_of(DecoderParameters()), seconds=0) == (Totals(), None)


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_text_in_any_parts_is_equal(lanes: int) -> None:
    simulation = simulation_of(DecoderParameters(lanes=lanes, kind=True))
    numbers: list[int] = []
    kinds = 0

    def on_part(sent: int, new: int, symbols: Any) -> None:
        nonlocal kinds
        numbers.append(sent)
        kinds += np.count_nonzero(symbols.columns["kind"])

    parts = [TEXT[:1], b"", TEXT[1:100], TEXT[100:]]
    assert compare_bulk(simulation, parts, output_pauses=[True, False], separate_ends=[True], on_part=on_part) is None
    assert numbers[-1] == len(TEXT)
    # ED, A0, 80 and FF, and the end of the last character.
    assert kinds == TEXT.decode("utf-8", "replace").count("\ufffd") - CORPUS.decode().count("\ufffd") * 2 > 0


# Cores with faults.


def with_port_fault(fault: PortFault, **options: Any) -> Simulation:
    parameters = DecoderParameters(**options)
    return Simulation(FaultyCore(parameters, fault), engine="compiled")


def first_code_point(inner: Any) -> Any:
    return inner.output.payload.symbols[0].code_point


def wrong_character(m: Module, outer: Any, inner: Any) -> None:
    with m.If(first_code_point(inner) == ord("\u20ac")):
        m.d.comb += outer.output.payload.symbols[0].code_point.eq(ord("\u20ad"))


def wrong_after_many(m: Module, outer: Any, inner: Any) -> None:
    """The code point is wrong once, after 100,000 beats."""
    count = Signal(20)
    with m.If(outer.output.valid & outer.output.ready):
        m.d.sync += count.eq(count + 1)
    with m.If(count == 100_000):
        m.d.comb += outer.output.payload.symbols[0].code_point[0].eq(1)


def wrong_while_waiting(m: Module, outer: Any, inner: Any) -> None:
    """An error flag is lost where the output was not ready in the cycle before."""
    waited = Signal()
    m.d.sync += waited.eq(~outer.output.ready)
    with m.If(waited):
        m.d.comb += outer.output.payload.symbols[0].error.eq(0)


def wrong_after_another_packet(m: Module, outer: Any, inner: Any) -> None:
    """The first item is wrong if a packet has ended before."""
    ended = Signal()
    with m.If(outer.output.valid & outer.output.ready):
        m.d.sync += ended.eq(outer.output.payload.last)
    with m.If(ended):
        m.d.comb += outer.output.payload.symbols[0].code_point[1].eq(0)


def test_a_wrong_character_is_found_in_a_long_text_and_reduced() -> None:
    simulation = with_port_fault(wrong_character)
    text = b"A" * 300_000 + "\u20ac".encode() + b"B" * 100_000
    found = compare_bulk(simulation, [text])
    assert bytes(found.units) == b"\xe2\x82\xac"
    assert found == compare(simulation, text[299_000:])
    assert compare_bulk(simulation, [text.replace(b"\xac", b"\xab")]) is None


@pytest.mark.parametrize("seed", tiered({f"{seed}": seed for seed in range(4)}, 2))
def test_soak_finds_a_wrong_character(seed: int) -> None:
    simulation, corpus = with_port_fault(wrong_character), CORPUS + "\u20ac".encode()
    totals, found = soak(simulation, seed=seed, symbols=20_000_000, corpus=corpus)
    assert bytes(found.units) == b"\xe2\x82\xac"
    assert found.replay == ("utf8fpga", "simulate", "--hex", "E2 82 AC")
    # The last round can be repeated without those before it.
    last, again = soak(simulation, seed=seed + totals.rounds - 1, symbols=1, corpus=corpus)
    assert (last.rounds, again) == (1, found)


def test_a_difference_after_many_beats_has_no_replay() -> None:
    found = compare_bulk(with_port_fault(wrong_after_many), [b"@" * 200_000])
    assert (found.replay, found.no_replay) == ((), DEPENDS_ON_EARLIER)
    assert str(found).splitlines()[1:3] == [
        "  model:     U+0040",
        "  simulated: U+0041",
    ]


def test_a_difference_that_needs_pauses_is_reduced_with_them() -> None:
    _, found = soak(with_port_fault(wrong_while_waiting), symbols=20_000_000, corpus=CORPUS)
    assert len(found.units) == 1
    assert "--output-pauses" in found.replay


def test_a_difference_that_depends_on_another_packet_has_no_replay() -> None:
    simulation = with_port_fault(wrong_after_another_packet)
    _, found = soak(simulation, symbols=10_000_000, corpus=CORPUS)
    assert (found.replay, found.no_replay) == ((), DEPENDS_ON_EARLIER)


def word_is_lost(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += outer.output.payload.keep[1].eq(0)
    m.d.comb += outer.output.payload.symbols[1].error.eq(0)


def stuck(m: Module, outer: Any, inner: Any) -> None:
    with m.If(first_code_point(inner) == ord("B")):
        m.d.comb += [outer.output.valid.eq(0), inner.output.ready.eq(0)]


def ends_everywhere(m: Module, outer: Any, inner: Any) -> None:
    with m.If(first_code_point(inner) == ord("B")):
        m.d.comb += outer.output.payload.last.eq(1)


def never_ends(m: Module, outer: Any, inner: Any) -> None:
    with m.If(first_code_point(inner) == ord("B")):
        m.d.comb += outer.output.payload.last.eq(0)


FAULTS: dict[str, tuple[PortFault, Callable[[bytes], bool], str]] = {
    "symbols lost": (word_is_lost, lambda text: len(text) == 2, ""),
    "stuck": (stuck, lambda text: text[-1:] == b"B" and len(text) <= 3, "no beat was transferred for"),
    "ends everywhere": (ends_everywhere, lambda text: text[:1] == b"B" and len(text) == 3, ""),
    "never ends": (never_ends, lambda text: text == b"B", "no beat was transferred for"),
}


@pytest.mark.parametrize(("fault", "is_shortest", "reason"), tiered(FAULTS, 2))
def test_faults_of_the_streams_are_found(fault: PortFault, is_shortest: Callable[[bytes], bool], reason: str) -> None:
    simulation = with_port_fault(fault, lanes=2, packed=False)
    _, found = soak(simulation, symbols=10_000_000, corpus=CORPUS)
    assert is_shortest(bytes(found.units)), found
    assert reason in found.reason
    assert found.replay


def test_an_end_that_is_lost_at_the_end_of_a_file_is_reduced() -> None:
    found = compare_bulk(with_port_fault(never_ends), [b"A" * 1000, b"B"])
    assert bytes(found.units) == b"B"
    assert found.replay == ("utf8fpga", "simulate", "--hex", "42")
