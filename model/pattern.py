# SPDX-License-Identifier: BSD-2-Clause
"""The rows of a table of bytes as regular expressions, with which `re` divides a text at the speed of C.

>>> from utf8fpga.model.forms import TABLE_3_7
>>> Pattern.of(TABLE_3_7).items.findall(b"A\\xe1\\x80\\xc3\\xa9")
[b'A', b'\\xe1\\x80', b'\\xc3\\xa9']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from utf8fpga.model.ranges import Range
from utf8fpga.model.table import EncodingTable


@dataclass(frozen=True)
class Pattern:
    """The regular expressions of a table with code units of 8 bits.

    No sequence of a table is a prefix of another, so at any place at most one row matches.

    Attributes:
        items: a minimal well-formed subsequence; else a maximal subpart (D93b). It matches at every place.
        parts: a well-formed part, as long as possible, and after it a maximal subpart as group 1, or the end of the
            text. It matches at every place.
        others: the bytes that start no sequence.
    """

    items: re.Pattern[bytes]
    parts: re.Pattern[bytes]
    others: bytes

    @staticmethod
    @lru_cache(maxsize=32)
    def of(table: EncodingTable) -> Pattern:
        """The expressions of a table (the same object for an equal table)."""
        rows = [row.units for row in table.rows]
        # The longest prefix first; every byte that is not a well-formed subsequence is a maximal subpart, too.
        lengths = range(table.longest - 1, 1, -1)
        prefixes = (_one_of(units[:length] for units in rows if len(units) > length) for length in lengths)
        subpart = "|".join([*filter(None, prefixes), r"[\0-\xff]"])
        # Possessive, since the text can be divided in one way only. Each row begins with its first byte, not with a
        # repetition: where that byte differs, `re` skips the row at once.
        well_formed = "|".join(f"{one}(?:{one})*+" for one in map(_sequence, rows))
        return Pattern(
            re.compile(f"{_one_of(rows)}|{subpart}".encode()),
            re.compile(rf"(?:{well_formed})*+(?:({subpart})|\Z)".encode()),
            bytes(byte for byte in range(1 << table.unit_width) if not any(byte in units[0] for units in rows)),
        )


def _one_of(sequences: Iterable[Sequence[Range]]) -> str:
    return "|".join(dict.fromkeys(map(_sequence, sequences)))


def _sequence(units: Sequence[Range]) -> str:
    return "".join(rf"[\x{allowed.first:02x}-\x{allowed.last:02x}]" for allowed in units)
