# SPDX-License-Identifier: BSD-2-Clause
"""The encoding forms, as data with their sources; nothing is computed here.

The three Unicode encoding forms (D79) and related encodings. An encoding that no single
self-synchronising table describes is a composition of two tables.

| form | code points | differences from UTF-8 |
| --- | --- | --- |
| UTF-8, UTF-16, UTF-32 | the scalar values (D76) | |
| UTF-8 of RFC 2279 | 0 to 7FFFFFFF, surrogates too | sequences of up to six bytes |
| generalised UTF-8 | 0 to 10FFFF, surrogates too | a superset of UTF-8 and of WTF-8 |
| CESU-8 | the scalar values | two times three bytes from U+10000 on |
| Modified UTF-8 | the scalar values | as CESU-8, and C0 80 for U+0000 |

The causes (`ErrorKind`) of ill-formed subsequences follow from the rows like those of UTF-8:

- UTF-16: a low surrogate while no sequence is open is an UNEXPECTED_CONTINUATION; a high one is
  TRUNCATED by the unit after it or INCOMPLETE at the end. Any other unit is well-formed.
- UTF-32: SURROGATE, and OUT_OF_RANGE for every unit above 10FFFF.
- UTF-8 of RFC 2279: as UTF-8, with OVERLONG also for F8 before 80..87 and FC before 80..83;
  INVALID_BYTE is FE and FF alone; no SURROGATE and no OUT_OF_RANGE, since all 31 bits are used.
- generalised UTF-8: as UTF-8 without SURROGATE.
- the code units of CESU-8 and of Modified UTF-8: no row has four bytes, so F0..FF are
  INVALID_BYTE and nothing is OUT_OF_RANGE. In Modified UTF-8 the byte 00 is an INVALID_BYTE,
  and C0 is OVERLONG before 81..BF. In the composition surrogates have the causes of UTF-16.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from utf8fpga.model.composition import Composition
from utf8fpga.model.table import EncodingTable

__all__ = [
    "CATALOGUE",
    "CESU_8",
    "CESU_8_CODE_UNITS",
    "COMPOSITIONS",
    "GENERALISED_UTF_8",
    "MODIFIED_UTF_8",
    "MODIFIED_UTF_8_CODE_UNITS",
    "RFC_2279",
    "TABLE_3_7",
    "UTF_16",
    "UTF_32",
]

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

UTF_16 = EncodingTable.parse(
    "UTF-16",
    """
    0000..D7FF      0000..D7FF
    E000..FFFF      E000..FFFF
    10000..10FFFF   D800..DBFF  DC00..DFFF
    """,
    source="The Unicode Standard, section 3.9, D91 and Table 3-5",
    unit_width=16,
)
"""UTF-16 (D91): one code unit of 16 bits, or a surrogate pair."""

UTF_32 = EncodingTable.parse(
    "UTF-32",
    """
    0000..D7FF      0000..D7FF
    E000..10FFFF    E000..10FFFF
    """,
    source="The Unicode Standard, section 3.9, D90",
    unit_width=32,
)
"""UTF-32 (D90): one code unit of 32 bits with the value of the code point."""

RFC_2279 = EncodingTable.parse(
    "UTF-8 of RFC 2279",
    """
    0000..007F          00..7F
    0080..07FF          C2..DF  80..BF
    0800..0FFF          E0      A0..BF  80..BF
    1000..FFFF          E1..EF  80..BF  80..BF
    10000..3FFFF        F0      90..BF  80..BF  80..BF
    40000..1FFFFF       F1..F7  80..BF  80..BF  80..BF
    200000..FFFFFF      F8      88..BF  80..BF  80..BF  80..BF
    1000000..3FFFFFF    F9..FB  80..BF  80..BF  80..BF  80..BF
    4000000..3FFFFFFF   FC      84..BF  80..BF  80..BF  80..BF  80..BF
    40000000..7FFFFFFF  FD      80..BF  80..BF  80..BF  80..BF  80..BF
    """,
    source="RFC 2279, section 2, after ISO/IEC 10646-1:1993, Amendment 2, Annex R; shortest forms alone",
)
"""UTF-8 before 2003: up to six bytes, 31 bits. Surrogates have sequences in the bit distribution;
the RFC's requirements for surrogates concern converters from UTF-16, not the table."""

GENERALISED_UTF_8 = EncodingTable.parse(
    "generalised UTF-8",
    """
    0000..007F      00..7F
    0080..07FF      C2..DF  80..BF
    0800..0FFF      E0      A0..BF  80..BF
    1000..FFFF      E1..EF  80..BF  80..BF
    10000..3FFFF    F0      90..BF  80..BF  80..BF
    40000..FFFFF    F1..F3  80..BF  80..BF  80..BF
    100000..10FFFF  F4      80..8F  80..BF  80..BF
    """,
    source="The WTF-8 encoding (Sapin), generalized UTF-8",
)
"""UTF-8 for all code points, including surrogates. WTF-8 is the same without the six-byte sequences
of surrogate pairs. It is not an encoding form by D79, since surrogates are not scalar values."""

CESU_8_CODE_UNITS = EncodingTable.parse(
    "CESU-8 code units",
    """
    0000..007F      00..7F
    0080..07FF      C2..DF  80..BF
    0800..0FFF      E0      A0..BF  80..BF
    1000..FFFF      E1..EF  80..BF  80..BF
    """,
    source="UTR #26; the rows of generalised UTF-8 up to three bytes",
)
"""The sequences of CESU-8 for single code units of UTF-16; a surrogate is encoded like any code point."""

CESU_8 = Composition("CESU-8", "UTR #26", UTF_16, CESU_8_CODE_UNITS)
"""UTF-16 with each code unit in one to three bytes: six for a supplementary code point."""

MODIFIED_UTF_8_CODE_UNITS = EncodingTable.parse(
    "Modified UTF-8 code units",
    """
    0001..007F      01..7F
    0000            C0      80
    0080..07FF      C2..DF  80..BF
    0800..0FFF      E0      A0..BF  80..BF
    1000..FFFF      E1..EF  80..BF  80..BF
    """,
    source="Java SE, java.io.DataInput, Modified UTF-8",
)
"""The sequences of Java for a single `char`, including unpaired surrogates, which a Java string may contain."""

MODIFIED_UTF_8 = Composition("Modified UTF-8", "Java SE, java.io.DataInput", UTF_16, MODIFIED_UTF_8_CODE_UNITS)
"""A Java string that is well-formed UTF-16, as `DataOutput.writeUTF` writes it after the length.

It is stricter than `DataInput.readUTF`, which also accepts the byte 00, unpaired surrogates, and overlong sequences
such as C1 81.
"""

_TABLES = (TABLE_3_7, UTF_16, UTF_32, RFC_2279, GENERALISED_UTF_8, CESU_8_CODE_UNITS, MODIFIED_UTF_8_CODE_UNITS)
CATALOGUE: Mapping[str, EncodingTable] = MappingProxyType({table.name: table for table in _TABLES})
"""Every table by its name, the Unicode encoding forms first."""

COMPOSITIONS: Mapping[str, Composition] = MappingProxyType({form.name: form for form in (CESU_8, MODIFIED_UTF_8)})
"""Every composition by its name."""
