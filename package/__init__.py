# SPDX-License-Identifier: BSD-2-Clause
"""utf8fpga: a UTF-8 decoder in hardware, and the Python library that specifies its behaviour.

The names here are those of the model for decoding and encoding, where a table is named by a word such as ``"utf-16"``;
`utf8fpga.model` has all of them. They need the standard library alone; `utf8fpga.hdl` and the packages that use it need
the extra ``hdl``.

>>> import utf8fpga
>>> [str(item) for item in utf8fpga.decode(b"A\\xed\\xa0\\x80")][:2]
['0+1 U+0041', '1+1 U+FFFD SURROGATE']
"""

from __future__ import annotations

from utf8fpga.model import (
    REPLACEMENT_CHARACTER,
    TABLE_3_7,
    Decoder,
    ErrorKind,
    InvalidArgumentError,
    Item,
    Practice,
    Subsequence,
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
    "REPLACEMENT_CHARACTER",
    "TABLE_3_7",
    "Decoder",
    "ErrorKind",
    "InvalidArgumentError",
    "Item",
    "Practice",
    "Subsequence",
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
