# SPDX-License-Identifier: BSD-2-Clause
"""Decoders of one architecture, whatever the defaults are, and what they output."""

from __future__ import annotations

from collections.abc import Iterable

from utf8fpga.hdl import Word
from utf8fpga.model import TABLE_3_7, EncodingTable, decode


def words(text: Iterable[int], table: EncodingTable = TABLE_3_7) -> list[Word]:
    """The items of the model as the words of a decoder with causes."""
    return [Word(item.code_point, item.error) for item in decode(text, table)]
