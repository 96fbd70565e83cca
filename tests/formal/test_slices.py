# SPDX-License-Identifier: BSD-2-Clause
"""The comparison of a wide circuit with a narrow one, on circuits of a few registers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Module, Mux, Signal, Value

from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.slices import Place, corresponds

Body = Callable[[Module, Signal, Signal], Value]
"""The output of a circuit, given a word and a bit that selects."""


def graph(width: int, body: Body) -> Aig:
    m, inner = Module(), Module()
    m.domains.sync = domain = ClockDomain("sync", reset_less=True)
    m.submodules.dut = inner
    word, select, out = Signal(width), Signal(), Signal(width)
    m.d.comb += out.eq(body(inner, word, select))
    ports = {
        name: (signal, None) for name, signal in {"clk": domain.clk, "word": word, "select": select, "out": out}.items()
    }
    return aig_of(str(rtlil.convert(m, name="top", ports=ports, emit_src=False)), free=True)


def delayed(m: Module, value: Value) -> Signal:
    register = Signal.like(value)
    m.d.sync += register.eq(value)
    return register


def moved(m: Module, word: Signal, select: Signal) -> Value:
    """A word that is delayed by one or two cycles."""
    once = delayed(m, word)
    return Mux(delayed(m, select), once, delayed(m, once))


def crossed(m: Module, word: Signal, select: Signal) -> Value:
    return moved(m, word, select)[::-1]


def gated(m: Module, word: Signal, select: Signal) -> Value:
    return moved(m, word, select & word[0])


def inverted(m: Module, word: Signal, select: Signal) -> Value:
    return moved(m, word, select) ^ 1


def held_once(m: Module, word: Signal, select: Signal) -> Value:
    return delayed(m, word)


def held_twice(m: Module, word: Signal, select: Signal) -> Value:
    """The same as one register, except in the first cycle."""
    return Cat(a & b for a, b in zip(delayed(m, word), delayed(m, word), strict=True))


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [(moved, moved, True), (crossed, moved, False), (gated, moved, False), (inverted, moved, False)],
)
def test_a_wide_circuit_corresponds_if_each_bit_is_treated_alike(wide: Body, narrow: Body, expected: bool) -> None:
    places: list[Place] = [(0, bit) for bit in range(3)]
    assert corresponds(graph(3, wide), graph(1, narrow), {"word": places, "out": places}) == expected


@pytest.mark.parametrize(("narrow", "expected"), [(held_twice, True), (held_once, False)])
def test_registers_that_differ_only_in_their_first_values_are_told_apart_by_name(narrow: Body, expected: bool) -> None:
    places: list[Place] = [(0, 0)]
    assert corresponds(graph(1, held_twice), graph(1, narrow), {"word": places, "out": places}) == expected
