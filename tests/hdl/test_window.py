# SPDX-License-Identifier: BSD-2-Clause
"""The window: what it says of each unit, against the automaton of the table."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from amaranth.hdl import ClockDomain
from support.benches import run_benches

from utf8fpga.hdl.window import STEPS, Window
from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable
from utf8fpga.model.dfa import DFA, REJECT, START

FORMS = ("UTF-8", "UTF-16", "UTF-8 of RFC 2279", "generalised UTF-8")


def roles(table: EncodingTable, units: Sequence[int]) -> Iterator[dict[str, int]]:
    """The outputs of the window that are defined for each unit of a packet."""
    dfa, state, number = DFA.of(table), START, 0
    for unit in units:
        following = dfa.step(state, unit)
        continued = state != START and following != REJECT
        number = number + 1 if continued else 1
        if not continued:
            following = dfa.step(START, unit)
        state = START if following == REJECT else following
        role = {"continued": continued, "completed": following == START, "is_open": state != START}
        if following == START:
            role |= {f"longer_{bound}": number > bound for bound in range(2, table.longest)}
        needed = dfa.states[state].remaining[0]
        role |= {f"needed_{count}": needed > count for count in range(table.longest - 1)}
        role |= {f"number_{count}": number == count for count in range(2, table.longest + 1)}
        yield role


def packets(table: EncodingTable, rng: random.Random) -> Iterator[list[int]]:
    """Units near the bounds of the rows: whole sequences, parts of them, and units in any order."""
    patterns = [row.units for row in table.rows]
    bounds = sorted({bound for units in patterns for each in units for bound in (each.first, each.last)})
    near = sorted({unit + by for unit in bounds for by in (-1, 0, 1) if 0 <= unit + by < 1 << table.unit_width})
    for _ in range(60):
        packet: list[int] = []
        for _ in range(rng.choice([0, 1, 3, 10])):
            sequence = [rng.choice([each.first, each.last]) for each in rng.choice(patterns)]
            packet += rng.choice([sequence, sequence, sequence[: rng.randrange(len(sequence) + 1)], [rng.choice(near)]])
        yield packet


def check_window(table: EncodingTable, lanes: int, cuts: Sequence[str]) -> None:
    """Packets with pauses, some of which a reset ends."""
    rng, window, width = random.Random(lanes), Window(table, lanes, cuts), table.unit_width
    domain = ClockDomain("sync")
    due = deque[Any]([None] * window.latency)

    def compare(ctx: Any) -> None:
        expected = due.popleft()
        assert ctx.get(window.valid) == (expected is not None)
        if expected:
            units, last, before = expected
            assert (ctx.get(window.keep), ctx.get(window.last)) == ((1 << len(units)) - 1, last)
            values = {name: ctx.get(getattr(window, name)) for name in units[0][1]} if units else {}
            values |= {name: ctx.get(getattr(window, name)) for _, role in units for name in role}
            for lane, (unit, role) in enumerate(units):
                assert ctx.get(window.units) >> lane * width & (1 << width) - 1 == unit
                assert {name: values[name] >> lane & 1 for name in role} == role
            seen = ctx.get(window.units_before)
            for place, unit in enumerate(reversed(before[-window.reach :])):
                assert seen >> (window.reach - 1 - place) * width & (1 << width) - 1 == unit

    async def bench(ctx: Any) -> None:
        for packet in packets(table, rng):
            known = list(zip(packet, roles(table, packet), strict=True))
            starts = range(0, max(1, len(packet)), lanes)
            is_reset = rng.random() < 0.1
            for start in starts[: rng.randrange(len(starts)) if is_reset else None]:
                beat = known[start : start + lanes]
                while rng.random() < 0.2:
                    ctx.set(window.in_valid, 0)
                    due.append(None)
                    compare(ctx)
                    await ctx.tick()
                noise = [rng.randrange(1 << width) for _ in range(lanes - len(beat))]
                units = [*(unit for unit, _ in beat), *noise]
                ctx.set(window.in_units, sum(unit << lane * width for lane, unit in enumerate(units)))
                ctx.set(window.in_keep, (1 << len(beat)) - 1)
                ctx.set(window.in_last, start == starts[-1])
                ctx.set(window.in_valid, 1)
                due.append((beat, start == starts[-1], packet[:start]))
                compare(ctx)
                await ctx.tick()
            if is_reset:
                ctx.set(window.in_valid, 0)
                ctx.set(domain.rst, 1)
                await ctx.tick()
                ctx.set(domain.rst, 0)
                due.clear()
                due.extend([None] * window.latency)
        ctx.set(window.in_valid, 0)

    run_benches(window, bench, domain=domain)


@pytest.mark.smoke
@pytest.mark.parametrize("lanes", [1, 4])
def test_the_roles_of_all_units_are_those_of_the_automaton(lanes: int) -> None:
    check_window(TABLE_3_7, lanes, STEPS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("cuts", [(), ("features", "pairs", "ends")], ids=["no-registers", "three-stages"])
def test_each_table_has_the_same_window(form: str, lanes: int, cuts: tuple[str, ...]) -> None:
    table = CATALOGUE[form]
    assert isinstance(table, EncodingTable)
    check_window(table, lanes, cuts)
