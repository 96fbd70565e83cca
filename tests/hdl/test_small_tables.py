# SPDX-License-Identifier: BSD-2-Clause
"""Decoders of small tables, random or made for one case, with all sequences that a decoder can distinguish."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from support.oracle import refusal

from utf8fpga.hdl import decoder_core
from utf8fpga.hdl.parameters import OPTIMIZE
from utf8fpga.model import DFA, REJECT, START, BitPattern, EncodingTable, ErrorKind, Range, Row, TableError, cause
from utf8fpga.sim import Simulation
from utf8fpga.sim.reference import causes

FULL: dict[str, Any] = {"kind": True}

GAPS = EncodingTable.parse(
    "gaps after each second unit",
    """
    0..F    00..0F
    10..15  18  12  10..15
    18..1D  18  13  10..15
    20..25  18  14  10..15
    28..2D  18  15  10..15
    30..35  18  16  10..15
    38..3D  18  17  10..15
    """,
    source="made for this test",
    unit_width=5,
)


ASIDE = EncodingTable.parse(
    "a state aside",
    """
    5..7    6  1  1..3
    10..13  7  0  0..3
    8..A    6  2  0..2
    """,
    source="made for this test",
    unit_width=3,
)
"""After 6 comes 1 or 2, which lead to different states."""


def open_sequences(table: EncodingTable) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every open sequence of units, and the state after it."""
    dfa = DFA.of(table)
    reached: list[tuple[tuple[int, ...], int]] = [((), START)]
    while reached:
        units, state = reached.pop()
        for unit in range(1 << table.unit_width):
            after = dfa.step(state, unit)
            if after not in (REJECT, START):
                reached.append(((*units, unit), after))
                yield reached[-1]


def causes_by_state(table: EncodingTable) -> dict[tuple[int, int], set[ErrorKind]]:
    """By enumeration, per open state and unit that breaks the sequence, all causes."""
    found: dict[tuple[int, int], set[ErrorKind]] = {}
    for units, state in open_sequences(table):
        for unit in range(1 << table.unit_width):
            if DFA.of(table).step(state, unit) == REJECT:
                found.setdefault((state, unit), set()).add(cause(table, units, unit))
    return found


def is_told_by_state(table: EncodingTable) -> bool:
    return all(len(kinds) == 1 for kinds in causes_by_state(table).values())


def every_end(table: EncodingTable) -> list[tuple[int, ...]]:
    """Texts: each open sequence, and the empty one, followed by each unit."""
    units = range(1 << table.unit_width)
    return [(*sequence, unit) for sequence in [(), *(each for each, _ in open_sequences(table))] for unit in units]


def drawn_tails(rng: random.Random, trail: Range, count: int) -> Iterator[tuple[Range, ...]]:
    """The ranges after the first of some rows: at most one is narrowed, and those before it have one unit."""
    if not count:
        yield ()
    elif count == 1 or rng.random() < 0.4:
        low = rng.choice((trail.first, trail.first, trail.first + 1))
        yield Range(low, rng.randint(low, trail.last)), *[trail] * (count - 1)
    else:
        following = list(drawn_tails(rng, trail, count - 1))
        yield from ((Range(unit, unit), *tail) for unit in trail if rng.random() < 0.8 for tail in following)


def drawn_rows(rng: random.Random, width: int) -> list[Row]:
    """Rows of up to three units, in which the low bits of each unit are the bits of the code point."""
    trail_bits = rng.choice((1, 2))
    trail = Range((1 << width) - (1 << trail_bits), (1 << width) - 1)
    rows: list[Row] = []
    for length in (1, 2, 3):
        size = 1 << rng.randrange(width - 2)
        block = Range(*(bound + length * (1 << width - 2) - (1 << width - 2) for bound in (0, size - 1)))
        pattern = BitPattern((block, *[trail] * (length - 1)), 0)
        shared = list(drawn_tails(rng, trail, length - 1))
        for lead in block:
            tails = shared if rng.random() < 0.6 else list(drawn_tails(rng, trail, length - 1))
            for tail in tails if rng.random() < 0.9 else ():
                units = (Range(lead, lead), *tail)
                ends = [r.first for r in units], [r.last for r in units]
                points = Range(*(pattern.reachable(end).first for end in ends))
                if not any(points.overlaps(row.code_points) for row in rows):
                    rows.append(Row(points, units))
    return rows


def drawn_table(seed: int, width: int = 4) -> EncodingTable:
    """A table for which a serial decoder can be made, with any causes."""
    rng = random.Random(seed)
    while True:
        try:
            table = EncodingTable(f"drawn from seed {seed}", "made for this test", width, tuple(drawn_rows(rng, width)))
            decoder_core(table)
        except TableError:
            continue
        return table


def refuses(call: Callable[[], object], reason: str) -> bool:
    """Whether a call rejects a table, which it does for this reason only."""
    try:
        call()
    except TableError as error:
        return bool(re.search(reason, str(error))) or pytest.fail(str(error))
    return False


def refuses_kinds(table: EncodingTable) -> bool:
    reason = r" is [A-Z_]+, but another sequence in the same state is [A-Z_]+: leave out "
    return refuses(lambda: decoder_core(table, kind=True), reason)


def refuses_reference(table: EncodingTable) -> bool:
    return refuses(lambda: causes(table), r"a cause depends on more than the state '.*'$")


def test_kinds_are_rejected_exactly_if_they_do_not_follow_from_the_state() -> None:
    counts = {False: 0, True: 0}
    for seed in range(80):
        table = drawn_table(seed, width=3 + seed % 3)
        wanted = not is_told_by_state(table)
        assert refuses_kinds(table) == refuses_reference(table) == wanted, f"seed {seed}:\n{table}"
        counts[wanted] += 1
    assert min(counts.values()) > 3


TABLES = {(3, 4): FULL, (65, 5): FULL, (57, 4): FULL, (69, 4): FULL, (7, 5): {}, (135, 4): {}}
"""By seed and width of a random table of four rows or more, its options."""

SERIAL_ALONE = [(3, 4), (65, 5), (69, 4)]
"""Those in which the cause of an error after a lead depends on the trailing unit that follows it."""


@pytest.mark.parametrize("which", TABLES, ids=str)
def test_every_end_of_every_sequence_of_a_drawn_table(which: tuple[int, int]) -> None:
    seed, width = which
    table = drawn_table(seed, width)
    options = TABLES[which]
    assert len(table.rows) >= 4
    assert is_told_by_state(table) == bool(options)
    decoders = [decoder_core(table, optimize=OPTIMIZE[seed % 2], **options)]
    wide = partial(decoder_core, table, lanes=2 + seed % 4, packed=False, optimize=OPTIMIZE[seed // 2 % 2], **options)
    if which in SERIAL_ALONE:
        assert "depends on the trailing unit" in refusal(TableError, wide)
    else:
        decoders.append(wide())
    texts = every_end(table)
    for decoder in decoders:
        simulation = Simulation(decoder)
        assert simulation.run(texts).texts == [simulation.expected(text) for text in texts]


def test_units_that_start_and_continue_sequences_are_rejected() -> None:
    table = EncodingTable.parse("both", "0..F 11 10..1F", source="made", unit_width=5, self_synchronising=False)
    message = (
        "both: a serial decoder is for self-synchronising tables, but 11 starts one sequence and continues another"
    )
    assert refusal(TableError, decoder_core, table) == message
    assert refusal(TableError, decoder_core, table, lanes=2, packed=False) == message


# The parallel decoder gave U+0007 for 4 5 7: a lead and a second unit lead to the same state.
ONE_STATE = EncodingTable.parse(
    "one state for both", "0 0\n1..2 2 5..6\n5..6 4 5 5..6\nD..E 4 7 5..6", source="made", unit_width=3
)


@pytest.mark.parametrize(
    ("table", "state"), [(GAPS, "10..15"), (ASIDE, "00..02"), (ONE_STATE, "05..06")], ids=lambda each: str(each)
)
def test_tables_that_constrain_the_third_unit_are_rejected(table: EncodingTable, state: str) -> None:
    message = (
        f"{table.name}: a decoder requires constraints on the second unit of a sequence only, "
        f"but in state '{state}' the next unit is, too"
    )
    assert refusal(TableError, decoder_core, table) == refusal(TableError, decoder_core, table, lanes=4) == message


ASCII = EncodingTable.parse("ASCII", "00..7F 00..7F", source="X3.4")
UTF_32 = EncodingTable.parse("UTF-32", "0..D7FF 0..D7FF\nE000..10FFFF E000..10FFFF", source="D90", unit_width=32)
ODD_UTF_16 = EncodingTable.parse(
    "UTF-16",
    "0..D7FF 0..D7FF\n10001..110000 D800..DBFF DC00..DFFF\nE000..FFFF E000..FFFF",
    source="D91",
    unit_width=16,
)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (UTF_32, "accepts units of up to 17 bits, not 32"),
        (ASCII, "requires sequences of several units, but all have one"),
        (
            ODD_UTF_16,
            "adds nothing to the payload bits after the first unit, but sequences of 2 units need 10001 added",
        ),
    ],
    ids=lambda each: str(each)[:6],
)
def test_tables_without_a_serial_decoder_are_rejected(table: EncodingTable, message: str) -> None:
    assert refusal(TableError, decoder_core, table) == f"{table.name}: a serial decoder {message}"
