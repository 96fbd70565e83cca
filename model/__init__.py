# SPDX-License-Identifier: BSD-2-Clause
"""The golden model: table → minimal DFA → decoder. Needs the standard library alone.

>>> from utf8fpga.model import decode
>>> [hex(item.code_point) for item in decode("né".encode())]
['0x6e', '0xe9']
"""

from __future__ import annotations

from utf8fpga.model.composition import Composition
from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Item
from utf8fpga.model.dfa import DFA, REJECT, START, State, UnitClass
from utf8fpga.model.documents import Answer, BrownRule, Conversion, brown, hopwood, table_3_1b
from utf8fpga.model.encoder import encode, encode_units
from utf8fpga.model.errors import ErrorKind, cause
from utf8fpga.model.exceptions import InvalidArgumentError, UserError
from utf8fpga.model.forms import (
    CATALOGUE,
    CESU_8,
    CESU_8_CODE_UNITS,
    COMPOSITIONS,
    GENERALISED_UTF_8,
    MODIFIED_UTF_8,
    MODIFIED_UTF_8_CODE_UNITS,
    RFC_2279,
    TABLE_3_7,
    UTF_16,
    UTF_32,
)
from utf8fpga.model.partition import Subsequence, partition
from utf8fpga.model.practices import Decoder, Practice
from utf8fpga.model.ranges import Range, TableError
from utf8fpga.model.sanitizer import sanitize
from utf8fpga.model.table import BitPattern, EncodingTable, Row, spell
from utf8fpga.model.text import decode, errors, is_well_formed
from utf8fpga.model.validator import ValidatorReport, validate

__all__ = [
    "CATALOGUE",
    "CESU_8",
    "CESU_8_CODE_UNITS",
    "COMPOSITIONS",
    "DFA",
    "GENERALISED_UTF_8",
    "MODIFIED_UTF_8",
    "MODIFIED_UTF_8_CODE_UNITS",
    "REJECT",
    "REPLACEMENT_CHARACTER",
    "RFC_2279",
    "START",
    "TABLE_3_7",
    "UTF_16",
    "UTF_32",
    "Answer",
    "BitPattern",
    "BrownRule",
    "Composition",
    "Conversion",
    "Decoder",
    "EncodingTable",
    "ErrorKind",
    "InvalidArgumentError",
    "Item",
    "Practice",
    "Range",
    "Row",
    "State",
    "Subsequence",
    "TableError",
    "UnitClass",
    "UserError",
    "ValidatorReport",
    "brown",
    "cause",
    "decode",
    "encode",
    "encode_units",
    "errors",
    "hopwood",
    "is_well_formed",
    "partition",
    "sanitize",
    "spell",
    "table_3_1b",
    "validate",
]
