# SPDX-License-Identifier: BSD-2-Clause
"""The minimiser: its result has the specified values, and the hardware expression is the same function."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from utf8fpga.hdl.minimise import minimise

WIDTH = 6
WORDS = st.sets(st.integers(0, (1 << WIDTH) - 1))


@given(on=WORDS, off=WORDS)
def test_the_function_is_1_on_one_set_and_0_on_the_other(on: set[int], off: set[int]) -> None:
    off -= on
    function = minimise(on, off, WIDTH)
    assert all(function.compute(word) == 1 for word in on)
    assert all(function.compute(word) == 0 for word in off)


@given(on=WORDS, off=WORDS)
def test_the_function_does_not_depend_on_the_order_of_the_input(on: set[int], off: set[int]) -> None:
    off -= on
    assert minimise(sorted(on), sorted(off), WIDTH) == minimise(sorted(on, reverse=True), off, WIDTH)
