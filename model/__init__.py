# SPDX-License-Identifier: BSD-2-Clause
"""The golden model: table → minimal DFA → decoder. Needs the standard library alone.

>>> from utf8fpga.model import decode
>>> [hex(item.code_point) for item in decode("né".encode())]
['0x6e', '0xe9']
"""

from __future__ import annotations

from utf8fpga.model.decoder import (
    REPLACEMENT_CHARACTER,
    Decoder,
    Item,
    decode,
    encode,
    encode_units,
    is_well_formed,
)
from utf8fpga.model.dfa import DFA, REJECT, START, State, UnitClass
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.kinds import ErrorKind, cause
from utf8fpga.model.table import BitPattern, EncodingTable, Range, Row, TableError

__all__ = [
    "DFA",
    "REJECT",
    "REPLACEMENT_CHARACTER",
    "START",
    "TABLE_3_7",
    "BitPattern",
    "Decoder",
    "EncodingTable",
    "ErrorKind",
    "Item",
    "Range",
    "Row",
    "State",
    "TableError",
    "UnitClass",
    "cause",
    "decode",
    "encode",
    "encode_units",
    "is_well_formed",
]
