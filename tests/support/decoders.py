# SPDX-License-Identifier: BSD-2-Clause
"""Decoders of one architecture, whatever the defaults are."""

from __future__ import annotations

from typing import Any

from utf8fpga.hdl import DecoderParameters, ParallelDecoder
from utf8fpga.model import TABLE_3_7, EncodingTable

SMALL = EncodingTable.parse(
    "small",
    """
    0..1    00..01
    2..3    10      18..19
    """,
    source="made for this test",
    unit_width=5,
)
"""Sequences of one and of two units."""


def sparse_decoder(table: EncodingTable = TABLE_3_7, **parameters: Any) -> ParallelDecoder:
    """The parallel decoder, without a packer."""
    return ParallelDecoder(DecoderParameters(table=table, packed=False, **parameters))
