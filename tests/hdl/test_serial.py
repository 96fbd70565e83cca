# SPDX-License-Identifier: BSD-2-Clause
"""The serial decoder: ends that wait, and tables that it rejects; `test_parallel.py` has what all decoders promise."""

from __future__ import annotations

import pytest
from support.engines import ENGINE

from utf8fpga.hdl import decoder_core
from utf8fpga.hdl.parameters import OPTIMIZE
from utf8fpga.model import EncodingTable, TableError
from utf8fpga.sim import Simulation


@pytest.mark.parametrize("optimize", OPTIMIZE)
def test_an_end_that_waits_does_not_depend_on_the_next_packet(optimize: str) -> None:
    full = Simulation(decoder_core(optimize=optimize, kind=True), engine=ENGINE)
    # Proofs rejected mutants that drawn texts did not detect: the lead that ends a text must stay
    # INCOMPLETE while it waits, for any unit at the input.
    texts = [bytes([lead]) for lead in b"\xc2\xe0\xed\xf0\xf4"]
    for follower in (b"\x7f", b"\x80", b"\x90", b"\xff"):
        pieces = [piece for text in texts for piece in (text, follower)]
        for held in ([True, True, False, False], [True, False], [True, True, True, False]):
            assert full.run(pieces, output_pauses=held).texts == [full.expected(piece) for piece in pieces]


def test_units_that_are_too_wide_are_rejected() -> None:
    utf_32 = EncodingTable.parse("UTF-32", "0..D7FF 0..D7FF\nE000..10FFFF E000..10FFFF", source="D90", unit_width=32)
    with pytest.raises(TableError, match=r"^UTF-32: a serial decoder accepts units of up to 17 bits, not 32$"):
        decoder_core(utf_32)


def test_a_table_of_single_units_is_rejected() -> None:
    ascii_ = EncodingTable.parse("ASCII", "00..7F 00..7F", source="X3.4")
    message = "ASCII: a serial decoder requires sequences of several units, but all have one"
    with pytest.raises(TableError, match=f"^{message}$"):
        decoder_core(ascii_)


def test_an_offset_within_the_last_unit_is_rejected() -> None:
    rows = "0..D7FF 0..D7FF\n10001..110000 D800..DBFF DC00..DFFF\nE000..FFFF E000..FFFF"
    utf_16 = EncodingTable.parse("UTF-16", rows, source="D91", unit_width=16)
    message = (
        "UTF-16: a serial decoder adds nothing to the payload bits after the first unit, but sequences of 2 units need"
        " 10001 added"
    )
    with pytest.raises(TableError, match=f"^{message}$"):
        decoder_core(utf_16)
