# SPDX-License-Identifier: BSD-2-Clause
"""The minimiser: its result has the specified values, and the hardware expression is the same function."""

from __future__ import annotations

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from utf8fpga.hdl.minimise import LUT_INPUTS, Function, Network, decompose, minimise

WIDTH = 6
WORDS = st.sets(st.integers(0, (1 << WIDTH) - 1))


@given(on=WORDS, off=WORDS)
def test_the_function_is_1_on_one_set_and_0_on_the_other(on: set[int], off: set[int]) -> None:
    off -= on
    function = minimise(on, off, WIDTH)
    assert all(function.compute(word) == 1 for word in on)
    assert all(function.compute(word) == 0 for word in off)


@given(on=WORDS, off=WORDS)
def test_no_literal_can_be_left_out_of_a_single_product(on: set[int], off: set[int]) -> None:
    off -= on
    function = minimise(on, off, WIDTH)
    zeros = on if function.inverted else off
    if len(function.cubes) == 1:
        care, value = function.cubes[0]
        for bit in range(WIDTH):
            if care >> bit & 1:
                wider = care & ~(1 << bit)
                assert any(word & wider == value & wider for word in zeros)


@given(on=WORDS, off=WORDS)
def test_the_function_does_not_depend_on_the_order_of_the_input(on: set[int], off: set[int]) -> None:
    off -= on
    assert minimise(sorted(on), sorted(off), WIDTH) == minimise(sorted(on, reverse=True), off, WIDTH)


@settings(max_examples=20, deadline=None)
@given(on=WORDS, off=WORDS)
def test_the_hardware_computes_the_same(on: set[int], off: set[int]) -> None:
    function = minimise(on, off - on, WIDTH)
    word, result = Signal(WIDTH), Signal()
    m = Module()
    m.d.comb += result.eq(function(word))
    outcomes: dict[int, int] = {}

    async def bench(ctx) -> None:
        for value in range(1 << WIDTH):
            ctx.set(word, value)
            outcomes[value] = ctx.get(result)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    assert outcomes == {value: function.compute(value) for value in range(1 << WIDTH)}


def test_inputs_that_do_not_matter_are_left_out() -> None:
    continuation, lead = range(0b10_000000, 0b11_000000), range(0b11_000000, 0b11_111111)
    assert minimise(continuation, lead, 8) == Function(((0b01_000000, 0),))


def test_constants() -> None:
    assert minimise([], [1, 2], 2).is_zero
    assert minimise([1, 2], [], 2).compute(0) == 1
    assert minimise([], [], 2).support == 0


def test_a_contradiction_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^input 0b101 must be both 0 and 1$"):
        minimise([4, 5], [5, 6], 3)


def is_consistent(network: Network, last: int) -> bool:
    """Each gate has inputs that exist before it, and no more than a look-up table; the last one `last` at most."""
    return all(
        len(gate.inputs) == len(set(gate.inputs)) <= (LUT_INPUTS if number < len(network.inner) else last)
        and all(each < network.width + number for each in gate.inputs)
        for number, gate in enumerate((*network.inner, network.last))
    )


@given(on=WORDS, off=WORDS, last=st.integers(1, LUT_INPUTS))
@settings(deadline=None)
def test_a_network_is_1_on_one_set_and_0_on_the_other(on: set[int], off: set[int], last: int) -> None:
    off -= on
    network = decompose(on, off, WIDTH, last=last)
    assert {network.compute(word) for word in on} <= {1}
    assert {network.compute(word) for word in off} <= {0}
    assert is_consistent(network, last) or not network.inner
    # Without a limit on its inputs the last gate is the whole function.
    assert decompose(on, off, WIDTH, last=WIDTH).inner == ()


@given(st.permutations(range(8)), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
@settings(max_examples=30, deadline=None)
def test_a_function_that_is_two_tables_is_decomposed(order: list[int], first: int, second: int, third: int) -> None:
    inner, outer, shared = order[:4], order[4:7], [*order[4:6], order[0]]

    def bit(table: int, word: int, places: list[int], more: int) -> int:
        return table >> sum((word >> place & 1) << number for number, place in enumerate(places)) + 8 * more & 1

    for rest, table in ((outer, second), (shared, third)):
        value = {word: bit(table, word, rest, first >> (_part(word, inner)) & 1) for word in range(256)}
        on = {word for word in value if value[word]}
        network = decompose(on, value.keys() - on, 8)
        assert {word: network.compute(word) for word in value} == value
        assert len(network.inner) <= 1
        assert is_consistent(network, LUT_INPUTS)


def test_as_many_inner_gates_as_are_allowed() -> None:
    # A product of 13 bits needs three gates of four inputs in front of the last one.
    every = (1 << 13) - 1
    network = decompose([every], [every ^ 1 << bit for bit in range(13)], 13)
    assert len(network.inner) == 3
    assert is_consistent(network, LUT_INPUTS)


def _part(word: int, places: list[int]) -> int:
    return sum((word >> place & 1) << number for number, place in enumerate(places))


def test_a_function_without_a_small_network_is_one_gate() -> None:
    # The number of ones is a multiple of 3: no part of the bits has one bit of what the rest needs.
    on = {word for word in range(256) if word.bit_count() % 3 == 0}
    network = decompose(on, set(range(256)) - on, 8)
    assert network.inner == ()
    assert network.last.inputs == tuple(range(8))
    assert {word for word in range(256) if network.compute(word)} == on


def test_a_contradiction_is_not_decomposed() -> None:
    with pytest.raises(ValueError, match=r"^input 0b101 must be both 0 and 1$"):
        decompose([4, 5], [5, 6], 3)
