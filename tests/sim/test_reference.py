# SPDX-License-Identifier: BSD-2-Clause
"""The references, which the proofs trust, are compared with the golden model."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from support.benches import run_benches

from utf8fpga.model import DFA, START, TABLE_3_7, UTF_16, EncodingTable, decode
from utf8fpga.model.bounds import boundary_sequences
from utf8fpga.model.forms import GENERALISED_UTF_8, RFC_2279
from utf8fpga.sim.reference import Reference


class _Referee(wiring.Component):
    def __init__(self, table: EncodingTable) -> None:
        self.table = table
        super().__init__({})
        self.unit, self.keep, self.last = Signal(table.unit_width), Signal(), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.reference = Reference(m, self.table, [(self.unit, self.keep)], self.last, self.keep | self.last)
        return m


@pytest.mark.parametrize(
    ("table", "count"), [(TABLE_3_7, 300), (RFC_2279, 60)], ids=lambda given: getattr(given, "name", None)
)
def test_the_reference_equals_the_golden_model(table: EncodingTable, count: int) -> None:
    referee = _Referee(table)
    rng = random.Random(1)
    texts = [[], *(list(chain.from_iterable(rng.choices(boundary_sequences(table), k=3))) for _ in range(count))]

    async def bench(ctx: Any) -> None:
        for text in texts:
            given = []
            separate = not text or rng.random() < 0.5
            beats = [(unit, 1, 0) for unit in text] + [(0, 0, 1)] * separate
            if not separate:
                beats[-1] = (text[-1], 1, 1)
            for unit, keep, last in beats:
                ctx.set(referee.unit, unit)
                ctx.set(referee.keep, keep)
                ctx.set(referee.last, last)
                for item in referee.reference.items:
                    if ctx.get(item.valid):
                        word = ctx.get(item.word)
                        given.append((word.code_point, word.kind))
                await ctx.tick()
            expected = [(item.code_point, int(item.error or 0)) for item in decode(text, table)]
            assert given == expected, bytes(text).hex(" ")

    run_benches(referee, bench)


def test_the_state_depends_on_no_more_units_than_a_sequence_has() -> None:
    """The expected items of a lane rely on it: after that many units the state does not depend on the one before."""
    for table in (TABLE_3_7, RFC_2279, GENERALISED_UTF_8, UTF_16):
        dfa = DFA.of(table)
        for state in range(len(dfa.states)):
            _check_same_state(dfa, {state, START}, table.longest - 1)


def _check_same_state(dfa: DFA, states: set[int], units: int) -> None:
    """Check that after that many units, whichever they are, the state is the same from each of these states."""
    if len(states) == 1:
        return
    assert units, f"states {states} are still different"
    for unit_class in dfa.classes:
        unit = unit_class.ranges[0].first
        _check_same_state(dfa, {_after(dfa, state, unit) for state in states}, units - 1)


def _after(dfa: DFA, state: int, unit: int) -> int:
    after = dfa.step(state, unit)
    return max(after if after >= 0 else dfa.step(START, unit), START)
