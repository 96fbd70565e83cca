# SPDX-License-Identifier: BSD-2-Clause
"""How a packer numbers its rows."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal
from support.benches import run_benches

from utf8fpga.hdl.packer.rows import RowCode


@pytest.mark.parametrize("inverted", [False, True], ids=["plain", "inverted"])
@pytest.mark.parametrize("start", [0, 5])
@pytest.mark.parametrize("size", [4, 5, 6])
def test_a_row_is_followed_by_the_next_one_until_all_were_there(size: int, start: int, *, inverted: bool) -> None:
    code, rows = RowCode(size, start, inverted), 1 << size
    m, row = Module(), Signal(size, init=code.row(0))
    m.d.sync += row.eq(Cat(row[1:], code.next_bit(row)))
    found = []

    async def bench(ctx: Any) -> None:
        for _ in range(rows + 1):
            found.append(ctx.get(row))
            await ctx.tick()

    run_benches(m, bench)
    assert sorted(found[:-1]) == list(range(rows))
    assert found[-1] == found[0]
    assert found == [code.row(number) for number in range(rows + 1)]
    pairs = [code.pair(number) for number in range(rows)]
    assert [pair & (rows - 1) for pair in pairs] == found[:-1]
    assert [pair >> 1 for pair in pairs] == found[1:]
