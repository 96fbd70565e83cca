# SPDX-License-Identifier: BSD-2-Clause
"""utf8fpga: a UTF-8 decoder in hardware, and the Python library that specifies its behaviour.

The names here are those of the model for decoding, encoding and tables; `utf8fpga.model` has all of them. They need the
standard library alone; `utf8fpga.hdl` and the packages that use it need the extra ``hdl``.

>>> import utf8fpga
>>> [str(item) for item in utf8fpga.decode(b"A\\xed\\xa0\\x80")][:2]
['0+1 U+0041', '1+1 U+FFFD SURROGATE']
"""

from __future__ import annotations

from utf8fpga.model import (
    CATALOGUE,
    CESU_8,
    COMPOSITIONS,
    DFA,
    GENERALISED_UTF_8,
    MODIFIED_UTF_8,
    REPLACEMENT_CHARACTER,
    RFC_2279,
    TABLE_3_7,
    UTF_16,
    UTF_32,
    Composition,
    Decoder,
    EncodingTable,
    ErrorKind,
    InvalidArgumentError,
    Item,
    Practice,
    Range,
    Row,
    Subsequence,
    TableError,
    UserError,
    ValidatorReport,
    decode,
    encode,
    encode_units,
    errors,
    is_well_formed,
    partition,
    sanitize,
    validate,
)

__version__ = "0.2.0"

__all__ = [
    "CATALOGUE",
    "CESU_8",
    "COMPOSITIONS",
    "DFA",
    "GENERALISED_UTF_8",
    "MODIFIED_UTF_8",
    "REPLACEMENT_CHARACTER",
    "RFC_2279",
    "TABLE_3_7",
    "UTF_16",
    "UTF_32",
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
    "__version__",
    "decode",
    "encode",
    "encode_units",
    "errors",
    "is_well_formed",
    "partition",
    "sanitize",
    "validate",
]
