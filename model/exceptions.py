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


class UserError(Exception):
    """An error that one line explains: what was wrong, the value, what would be correct.

    Attributes:
        exit_status: the status with which the command ends: 2 for bad use, 1 for a check or a tool that failed.
    """

    exit_status: int = 2


class InvalidArgumentError(UserError, ValueError):
    """An invalid argument of a function. It is also a `ValueError`, as documented at the functions."""
