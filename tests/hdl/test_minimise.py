# SPDX-License-Identifier: BSD-2-Clause
"""The minimiser: its result has the specified values, and the hardware expression is the same function."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utf8fpga.hdl.minimise import LUT_INPUTS, Network, decompose, minimise

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


@pytest.mark.parametrize("call", [minimise, decompose])
def test_a_contradiction_is_rejected(call: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match=r"^input 0b101 must be both 0 and 1$"):
        call([4, 5], [5, 6], 3)
