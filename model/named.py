# SPDX-License-Identifier: BSD-2-Clause
"""Tables as arguments: a table itself, or its name as a word."""

from __future__ import annotations

import re
from typing import TypeAlias

from utf8fpga.model.composition import Composition
from utf8fpga.model.exceptions import InvalidArgumentError, did_you_mean
from utf8fpga.model.forms import CATALOGUE, COMPOSITIONS
from utf8fpga.model.table import EncodingTable

AnyTable: TypeAlias = EncodingTable | str
"""A table, or its name as a word such as ``utf-16``."""
AnyForm: TypeAlias = EncodingTable | Composition | str
"""A table or a composition, or its name as a word such as ``cesu-8``."""


def encoding_word(name: str) -> str:
    """The name of an encoding or of a table as one word.

    >>> encoding_word("UTF-8 of RFC 2279")
    'utf-8-of-rfc-2279'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


_ALL: dict[str, EncodingTable | Composition] = {**CATALOGUE, **COMPOSITIONS}
_FORMS = {encoding_word(name): form for name, form in _ALL.items()}


def checked_form(form: object) -> EncodingTable | Composition:
    """The table or composition of a word, or the argument itself.

    Raises:
        InvalidArgumentError: there is none of this name.
        TypeError: the argument is none of these.

    >>> checked_form("utf-16") == checked_form("UTF16")
    True
    """
    if isinstance(form, EncodingTable | Composition):
        return form
    if not isinstance(form, str):
        raise TypeError(f"an EncodingTable or its name is required, not {type(form).__name__}")
    word = encoding_word(form)
    for known, found in _FORMS.items():
        if known.replace("-", "") == word.replace("-", ""):
            return found
    raise InvalidArgumentError(f"table {form!r} is not one of {', '.join(_FORMS)}{did_you_mean(word, _FORMS)}")


def checked_table(table: object) -> EncodingTable:
    """The table of a word, or the argument itself; a TypeError for a composition names its tables."""
    form = checked_form(table)
    if isinstance(form, Composition):
        parts = f"{form.form.name} and {form.unit_table.name}"
        raise TypeError(f"one EncodingTable is required, but {form.name} is defined by two, {parts}")
    return form
