# SPDX-License-Identifier: BSD-2-Clause
"""Whole texts: their items, and whether they are well-formed.

A text of bytes is divided by the regular expressions of its table, any other text by the DFA; the items are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from typing import TypeGuard

from utf8fpga.model.composition import Composition
from utf8fpga.model.decoder import (
    REPLACEMENT_CHARACTER,
    ComposedSubparts,
    Item,
    causes_of,
    code_units,
    new_item,
    results_of,
)
from utf8fpga.model.dfa import DFA, START
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.named import AnyForm, checked_form
from utf8fpga.model.pattern import Pattern
from utf8fpga.model.practices import Practice, items_of
from utf8fpga.model.table import EncodingTable

WINDOW = 1 << 9
"""Bytes that are divided at once: few, so that their items fit in the cache of the processor."""


def decode(
    data: Iterable[int], table: AnyForm = TABLE_3_7, *, practice: Practice | str = Practice.MAXIMAL_SUBPARTS
) -> Iterator[Item]:
    """Decode a whole text.

    Each item is yielded as soon as the units read determine it, so the text may be a stream.

    In a composition an ill-formed item of the unit table is kept unchanged and breaks an open
    sequence of the form, like a unit that does not continue it. The cause is determined by the
    table that detects the error: in CESU-8 the bytes of a high surrogate without a low surrogate
    after it are TRUNCATED (or INCOMPLETE at the end of the text), those of a low surrogate alone
    are UNEXPECTED_CONTINUATION.

    Args:
        data: the code units of one text; for UTF-8 any bytes-like object.
        table: the encoding form or composition, or its name such as ``utf-16``; default: UTF-8.
        practice: the replacement practice, or its name such as ``each-unit``; default: one ill-formed item for each
            maximal subpart (D93b). The others do not support compositions.

    Returns:
        The items, in order.

    Raises:
        TypeError: `data` is a string or not iterable, or the practice does not support a composition.
        ValueError: `table` or `practice` is unknown, or the practice does not support the table; or a code unit is
            outside the table's width.

    >>> for item in decode(b"\\xe1\\x80A"):
    ...     print(item)
    0+2 U+FFFD TRUNCATED
    2+1 U+0041
    >>> for practice in Practice:
    ...     items = decode(b"\\xf0\\x80\\x80A\\xe1\\x80", practice=practice)
    ...     print(" ".join(f"{item.code_point:04X}" for item in items))
    FFFD FFFD FFFD 0041 FFFD
    FFFD FFFD FFFD 0041 FFFD
    FFFD FFFD FFFD 0041 FFFD FFFD
    FFFD 0041 FFFD
    FFFD 0041 FFFD
    FFFD
    """
    form, chosen = checked_form(table), Practice(practice)
    items = items_of(form, chosen)
    units = code_units(data, items.table, 0)
    if chosen is not Practice.MAXIMAL_SUBPARTS or not are_bytes(units, items.table):
        return items.items(units, final=True)
    found = chain.from_iterable(_windows(units, items.table))
    return items.composed(found, final=True) if isinstance(items, ComposedSubparts) else found


def are_bytes(units: Iterable[int], table: EncodingTable) -> TypeGuard[bytes]:
    """Whether code units that `code_units` returned are divided by the regular expressions of their table."""
    return isinstance(units, bytes | bytearray | memoryview) and table.unit_width == 8


def _windows(data: bytes, table: EncodingTable) -> Iterator[Iterable[Item]]:
    """The items of the text, some at a time."""
    pattern, result, causes = Pattern.of(table).items, results_of(table), causes_of(table)
    offset = 0
    while offset < len(data):
        end = offset + WINDOW + table.longest + 1  # So there are at least two.
        subparts = pattern.findall(data, offset, end)
        # The last one may go on after the window.
        rest = subparts.pop() if end < len(data) else b""
        lengths, results = list(map(len, subparts)), list(map(result, subparts))
        for number in [number for number, known in enumerate(results) if known is None] if None in results else ():
            following = subparts[number + 1] if number + 1 < len(subparts) else rest
            kind = causes(subparts[number], following[0] if following else None)
            results[number] = REPLACEMENT_CHARACTER, kind
        points, kinds = zip(*results, strict=True)
        yield map(new_item, zip(accumulate(lengths, initial=offset), lengths, points, kinds, strict=False))
        offset += sum(lengths)


def errors(data: Iterable[int], table: AnyForm = TABLE_3_7) -> Iterator[Item]:
    """What is wrong with a text: the ill-formed items of `decode` alone, in order.

    Args:
        data: the code units of one text; for UTF-8 any bytes-like object.
        table: the encoding form or composition, or its name; default: UTF-8.

    Raises:
        TypeError: `data` is a string or not iterable.
        ValueError: a code unit is outside the table's width.

    >>> for item in errors(b"na\\xefve \\xc3"):
    ...     print(item.offset, item.error.name)
    2 TRUNCATED
    6 INCOMPLETE
    """
    form = checked_form(table)
    if not isinstance(form, Composition):
        units = code_units(data, form, 0)
        if are_bytes(units, form):
            return _ill_formed(units, form)
    return (item for item in decode(data, form) if item.error is not None)


def _ill_formed(data: bytes, table: EncodingTable) -> Iterator[Item]:
    pattern, causes = Pattern.of(table), causes_of(table)
    for match in pattern.parts.finditer(data):
        if subpart := match[1]:
            offset, end = match.span(1)
            following = None if subpart in pattern.others or end == len(data) else data[end]
            yield new_item((offset, end - offset, REPLACEMENT_CHARACTER, causes(subpart, following)))


def is_well_formed(data: Iterable[int], table: AnyForm = TABLE_3_7) -> bool:
    """Whether the code units are well-formed (D85): only minimal well-formed subsequences (D85a).

    Args:
        data: the code units of one text; for UTF-8 any bytes-like object.
        table: the encoding form or composition, or its name; default: UTF-8.

    Raises:
        TypeError: `data` is a string or not iterable.
        ValueError: a code unit is outside the table's width.

    >>> is_well_formed(b"\\x41\\xc3\\xb1\\x42"), is_well_formed(b"\\x41\\xc2\\xc3\\xb1\\x42")
    (True, False)
    """
    form = checked_form(table)
    if isinstance(form, Composition) or form.unit_width == 8:
        return next(errors(data, form), None) is None
    return DFA.of(form).after(code_units(data, form, 0)) == START
