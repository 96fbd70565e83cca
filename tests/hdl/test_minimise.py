# SPDX-License-Identifier: BSD-2-Clause
"""The minimiser: its result has the specified values, and the hardware expression is the same function."""

from __future__ import annotations

import doctest

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from utf8fpga.hdl import minimise as logic
from utf8fpga.hdl.minimise import Function, minimise

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


def test_doctests() -> None:
    assert doctest.testmod(logic) == (0, 1)
