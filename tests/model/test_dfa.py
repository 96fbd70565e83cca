# SPDX-License-Identifier: BSD-2-Clause
"""The DFA: its classes and states, that it is minimal, and the DFAs of other forms."""

from __future__ import annotations

from itertools import combinations

import pytest
from support import oracle
from support.oracle import REPRESENTATIVES

from utf8fpga.model import DFA, REJECT, START, EncodingTable, decode, is_well_formed
from utf8fpga.model.forms import RFC_2279, TABLE_3_7, UTF_16, UTF_32

pytestmark = pytest.mark.smoke

UTF_8 = DFA.of(TABLE_3_7)


def test_classes_are_in_the_order_of_their_first_unit() -> None:
    firsts = [unit_class.ranges[0].first for unit_class in UTF_8.classes]
    assert firsts == sorted(firsts)
    names = "00..7F, 80..8F, 90..9F, A0..BF, C0..C1 F5..FF, C2..DF, E0, E1..EC EE..EF, ED, F0, F1..F3, F4"
    assert ", ".join(map(str, UTF_8.classes)) == names
    for unit in range(0x100):
        assert [unit in unit_class for unit_class in UTF_8.classes].count(True) == 1
        assert unit in UTF_8.classes[UTF_8.classify(unit)]


FORMS = {
    "UTF-8": (TABLE_3_7, REPRESENTATIVES),
    "UTF-16": (UTF_16, (0x41, 0xD800, 0xDC00, 0xE000)),
    "UTF-32": (UTF_32, (0x41, 0xD800, 0xE000, 0x110000)),
    "RFC_2279": (RFC_2279, bytes.fromhex("41 80 84 88 90 A0 C2 E0 E1 F0 F1 F8 F9 FC FD FE")),
}
by_form = pytest.mark.parametrize(("table", "alphabet"), FORMS.values(), ids=FORMS)


@by_form
def test_dfa_is_minimal(table: EncodingTable, alphabet: tuple[int, ...]) -> None:
    """Each state is reachable, and any two are distinguished by a word that completes a sequence in only one."""
    dfa = DFA.of(table)
    reached = {START}
    for _ in dfa.states:
        reached |= {dfa.step(state, unit) for state in reached for unit in alphabet} - {REJECT}
    assert reached == set(range(len(dfa.states)))

    completing: list[set[tuple[int, ...]]] = [set() for _ in dfa.states]
    for number, words in enumerate(completing):
        open_words = {(): number}
        for _ in range(table.longest):
            after = {(*word, u): dfa.step(state, u) for word, state in open_words.items() for u in alphabet}
            words |= {word for word, state in after.items() if state == START}
            open_words = {word: state for word, state in after.items() if state not in (START, REJECT)}
    assert all(a != b for a, b in combinations(completing, 2))


# Other forms, from rows of their own.


def test_one_first_unit_may_start_sequences_of_different_lengths() -> None:
    table = EncodingTable.parse(
        "mixed", "0000..0001  E0  80..81\n0002..0007  E0  82..83  90..92\n0008  E0  84  90  90", source="made up"
    )
    sequences = {row.encode(point): point for row in table.rows for point in row.code_points}
    assert len(sequences) == 9
    for units, point in sequences.items():
        assert [tuple(item) for item in decode(units, table)] == [(0, len(units), point, None)]
        assert not is_well_formed(units[:-1], table)
    open_state = DFA.of(table).states[DFA.of(table).step(START, 0xE0)]
    assert open_state.remaining == (1, 3)
    assert open_state.name == "80..81 | 82..83 90..92 | 84 90 90"
    assert oracle.plain(decode(b"\xe0\x84\x90\xe0\x81", table)) == [(0, 3, 0xFFFD, "TRUNCATED"), (3, 2, 1, None)]


# Subdivided rows.
