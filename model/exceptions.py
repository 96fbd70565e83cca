# SPDX-License-Identifier: BSD-2-Clause
"""Errors that are reported to the user of the library or the command; any other exception is a defect.

>>> from utf8fpga.model import EncodingTable, UserError
>>> try:
...     EncodingTable("empty", unit_width=8, rows=(), source="none")
... except UserError as error:
...     print(error.exit_status, error)
2 empty: a table needs at least one row
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """An error that one line explains: what was wrong, the value, what would be correct.

    Attributes:
        exit_status: the status with which the command ends: 2 for bad use, 1 for a check or a tool that failed.
    """

    exit_status: int = 2


class InvalidArgumentError(UserError, ValueError):
    """An invalid argument of a function. It is also a `ValueError`, as documented at the functions."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the known words that begin with it, or two like it, or nothing.

    >>> did_you_mean("utf_8", ["utf-8", "utf-16", "latin-1"])
    '; did you mean utf-8?'
    """
    words = list(known)
    longer = [each for each in words if word and each.startswith(word)]
    near = longer or get_close_matches(word.lower(), words, n=2, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""
