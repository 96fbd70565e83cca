# SPDX-License-Identifier: BSD-2-Clause
"""The decoder of arrays for packets gives what the golden decoder gives, in any parts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("numpy", reason="requires the extra 'fast'")

from utf8fpga.model import CATALOGUE, TABLE_3_7, EncodingTable, IncrementalDecoder, Item, Practice, TableError
from utf8fpga.model.forms import UTF_16
from utf8fpga.model.packets import PacketDecoder


def supports(table: object) -> bool:
    try:
        PacketDecoder(table)
    except (TableError, TypeError):
        return False
    return True


TABLES = [table for table in CATALOGUE.values() if supports(table)]

PIECES = [b"\0", b"A", b"\xef\xbf\xbd", b"\xef\xbf\xbf", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xe2", b"\xed\xa0"]
PIECES += [b"\xf0\x9f\x98", b"\x80", b"\xc0", b"\xf4\x90", b"\xff", b"\xe0", b"\xf8"]

texts = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=12).map(b"".join)


def golden(table: EncodingTable, packets: list[bytes]) -> list[list[Item]]:
    decoder = IncrementalDecoder(Practice.MAXIMAL_SUBPARTS, table)
    return [list(decoder.process(packet, final=True)) for packet in packets]


def in_parts(decoder: PacketDecoder, packets: list[bytes], cuts: list[int]) -> list[list[tuple[int, ...]]]:
    """The columns of each packet, as rows, where all packets are sent in parts that begin at the cuts."""
    data, ends = b"".join(packets), [0]
    for packet in packets:
        ends.append(ends[-1] + len(packet))
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    found: list[list[tuple[int, ...]]] = [[]]
    waiting = ends[1:]
    for first, after in pairwise(places):
        last = after == len(data)
        here = [end for end in waiting if end < after or last]
        waiting = waiting[len(here) :]
        symbols = decoder.process(data[first:after], [end - first for end in here])
        rows = list(zip(*(column.tolist() for column in symbols.columns.values()), strict=True))
        for begin, end in pairwise([0, *symbols.ends.tolist(), len(rows)]):
            found[-1] += rows[begin:end]
            found.append([])
        found.pop()
        assert len(symbols.ends) == len(here)
        if last:
            break
    assert found.pop() == []
    return found


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@given(packets=st.lists(texts, max_size=8), cuts=st.lists(st.integers(0, 60), max_size=4))
@example(packets=[b"\xe2\x82", b"", b"\xac\0", b"\0"], cuts=[1])
@example(packets=[b"\xef\xbf\xbd\xef\xbf\xbf"], cuts=[])
@example(packets=[b"\xed\xa0", b"\x80"], cuts=[2])
def test_packets_in_any_parts_are_golden(table: EncodingTable, packets: list[bytes], cuts: list[int]) -> None:
    expected = golden(table, packets)
    causes = [[(i.code_point, i.error is not None, i.error or 0) for i in items] for items in expected]
    assert in_parts(PacketDecoder(table, causes=True), packets, cuts) == causes
    plain = [[row[:2] for row in rows] for rows in causes]
    assert in_parts(PacketDecoder(table), packets, cuts) == plain


def test_tables_outside_the_limits_are_rejected() -> None:
    assert TABLE_3_7 in TABLES
    with pytest.raises(TableError, match=r"^UTF-16: packets require units of 8 bits, one of which is a sequence"):
        PacketDecoder(UTF_16)
