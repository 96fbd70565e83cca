# SPDX-License-Identifier: BSD-2-Clause
"""The golden model: table → minimal DFA → decoder. Needs the standard library alone.

>>> from utf8fpga.model import decode
>>> [hex(item.code_point) for item in decode("né".encode())]
['0x6e', '0xe9']
"""

from __future__ import annotations

from utf8fpga.model.composition import Composition
from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Item
from utf8fpga.model.dfa import DFA, REJECT, START
from utf8fpga.model.encoder import encode, encode_units
from utf8fpga.model.errors import ErrorKind, cause
from utf8fpga.model.exceptions import InvalidArgumentError, UserError
from utf8fpga.model.forms import (
    CATALOGUE,
    CESU_8,
    GENERALISED_UTF_8,
    MODIFIED_UTF_8,
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
    "DFA",
    "GENERALISED_UTF_8",
    "MODIFIED_UTF_8",
    "REJECT",
    "REPLACEMENT_CHARACTER",
    "RFC_2279",
    "START",
    "TABLE_3_7",
    "UTF_16",
    "UTF_32",
    "BitPattern",
    "Composition",
    "Decoder",
    "EncodingTable",
    "ErrorKind",
    "InvalidArgumentError",
    "Item",
    "Practice",
    "Range",
    "Row",
    "Subsequence",
    "TableError",
    "UserError",
    "ValidatorReport",
    "cause",
    "decode",
    "encode",
    "encode_units",
    "errors",
    "is_well_formed",
    "partition",
    "sanitize",
    "spell",
    "validate",
]
