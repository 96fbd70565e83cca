# SPDX-License-Identifier: BSD-2-Clause
"""The partition of a code unit sequence into well-formed and ill-formed subsequences (D84a, D85a, D86).

It was proposed in L2/07-351. That draft refers to any well-formed subsequence, section 3.9 of the
standard to minimal ones; this module implements section 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from utf8fpga.model.composition import Composition
from utf8fpga.model.decoder import Item, whole
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.named import AnyForm, checked_form
from utf8fpga.model.table import EncodingTable
from utf8fpga.model.text import decode


class Subsequence(NamedTuple):
    """One part of a text: a minimal well-formed code unit subsequence, or an ill-formed one.

    Attributes:
        offset: its start, in code units from the start of the text.
        units: its code units, one or more.
        items: for a well-formed part its one item; for an ill-formed part its maximal subparts
            (D93b), in order, each of which is replaced by one U+FFFD.
    """

    offset: int
    units: tuple[int, ...]
    items: tuple[Item, ...]

    @property
    def is_well_formed(self) -> bool:
        """Whether it is a minimal well-formed subsequence (D85a)."""
        return self.items[0].error is None

    @property
    def code_point(self) -> int | None:
        """The code point of a well-formed part; None for an ill-formed one."""
        return self.items[0].code_point if self.is_well_formed else None


def partition(units: Iterable[int], table: AnyForm = TABLE_3_7) -> Iterator[Subsequence]:
    """The parts of a whole text, in order; their concatenation is the text.

    A well-formed part is minimal: it maps to a single code point. An ill-formed part is maximal: it
    consists of all units between two minimal well-formed subsequences, so no two ill-formed parts
    are adjacent (D84a does not specify how to divide them). The partition is therefore unique and
    independent of error handling. The text is well-formed if and only if no part is ill-formed.

    Args:
        units: the code units of one text; for UTF-8 any bytes-like object.
        table: the encoding form or composition, or its name; default: UTF-8.

    Raises:
        TypeError: `units` is a string or not iterable.
        ValueError: a code unit is outside the table's width; or the table is not declared
            self-synchronising, so that two minimal well-formed subsequences may overlap.

    >>> for part in partition(b"\\x41\\xc2\\xc3\\xb1\\x42"):
    ...     print("well-formed" if part.is_well_formed else "ill-formed", bytes(part.units).hex(" "))
    well-formed 41
    ill-formed c2
    well-formed c3 b1
    well-formed 42
    """
    form = checked_form(table)
    if isinstance(form, EncodingTable) and not form.self_synchronising:
        raise InvalidArgumentError(
            f"{form.name} is not declared self-synchronising: "
            f"its minimal well-formed subsequences may overlap, so a partition need not exist"
        )
    text = whole(units, form.unit_table if isinstance(form, Composition) else form)
    return _parts(text, decode(text, form))


def _parts(text: Sequence[int], items: Iterable[Item]) -> Iterator[Subsequence]:
    for is_well_formed, run in groupby(items, key=lambda item: item.error is None):
        for part in ([item] for item in run) if is_well_formed else [list(run)]:
            start, end = part[0].offset, part[-1].offset + part[-1].length
            yield Subsequence(start, tuple(text[start:end]), tuple(part))
