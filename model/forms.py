# SPDX-License-Identifier: BSD-2-Clause
"""The encoding forms, as data with their sources; nothing is computed here."""

from __future__ import annotations

from utf8fpga.model.table import EncodingTable

__all__ = ["TABLE_3_7"]

TABLE_3_7 = EncodingTable.parse(
    "UTF-8",
    """
    0000..007F      00..7F
    0080..07FF      C2..DF  80..BF
    0800..0FFF      E0      A0..BF  80..BF
    1000..CFFF      E1..EC  80..BF  80..BF
    D000..D7FF      ED      80..9F  80..BF
    E000..FFFF      EE..EF  80..BF  80..BF
    10000..3FFFF    F0      90..BF  80..BF  80..BF
    40000..FFFFF    F1..F3  80..BF  80..BF  80..BF
    100000..10FFFF  F4      80..8F  80..BF  80..BF
    """,
    source="The Unicode Standard, section 3.9, D92 and Table 3-7",
)
"""UTF-8 (D92): the well-formed byte sequences of Table 3-7."""
