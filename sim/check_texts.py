# SPDX-License-Identifier: BSD-2-Clause
"""The texts of the check of a foreign core, and what is expected."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from utf8fpga.model import DFA, TABLE_3_7, Decoder, ErrorKind, Item, Practice, decode
from utf8fpga.model.vectors import vectors
from utf8fpga.sim.report import Cause, well_formed
from utf8fpga.sim.stimulus import boundary_sequences

_RANDOM_TEXTS = 4096

COMPLETE = 2
"""All texts of at most so many bytes are run."""


class Text(NamedTuple):
    """A text and what is expected.

    Attributes:
        cause: the cause of its first ill-formed item, or its name among well-formed texts.
        tail: the number of well-formed items after the last ill-formed one; 0 without one.
        is_open: whether its last sequence is incomplete.
    """

    cause: str
    text: bytes
    items: tuple[Item, ...]
    tail: int
    is_open: bool

    @property
    def is_ill_formed(self) -> bool:
        """Whether it has an ill-formed item."""
        return self.cause in ErrorKind.__members__


def of_golden(text: bytes, practice: Practice, final: bool) -> tuple[Item, ...]:
    return tuple(decode(text, practice=practice) if final else Decoder(practice=practice).decode(text))


def shortest_first(texts: Iterable[bytes]) -> list[bytes]:
    return sorted(set(texts), key=lambda text: (len(text), text))


@cache
def class_units() -> tuple[bytes, bytes]:
    """The first unit of each class of bytes, and the bounds of all ranges of the classes."""
    classes = DFA.of(TABLE_3_7).classes
    bounds = {unit for each in classes for allowed in each.ranges for unit in (allowed.first, allowed.last)}
    return bytes(each.ranges[0].first for each in classes), bytes(sorted(bounds))


@cache
def short_texts() -> list[bytes]:
    """The texts that are run one by one, the shortest first."""
    firsts, bounds = class_units()
    found = [bytes(units) for length in range(COMPLETE + 1) for units in product(range(256), repeat=length)]
    found += map(bytes, product(bounds, repeat=3))
    found += map(bytes, product(firsts, repeat=4))
    found += map(bytes, boundary_sequences())
    found += (vector.units for vector in vectors())
    draw = random.Random(1)
    found += (bytes(draw.choices(bounds, k=draw.randint(5, 12))) for _ in range(_RANDOM_TEXTS))
    return shortest_first(found)


@lru_cache(maxsize=4)
def expected_texts(practice: Practice, final: bool) -> list[Text]:
    return [described_text(text, practice, final) for text in short_texts()]


def described_text(text: bytes, practice: Practice, final: bool) -> Text:
    items = of_golden(text, practice, final)
    # Also without an end of the text, an incomplete sequence is a cause of its own.
    whole = items if final else of_golden(text, practice, True)
    marks = [number for number, item in enumerate(whole) if item.error is not None]
    if marks:
        error = whole[marks[0]].error
        assert error is not None
        is_open = whole[-1].error is ErrorKind.INCOMPLETE
        return Text(error.name, text, items, max(0, len(items) - 1 - marks[-1]), is_open)
    return Text(well_formed(max(item.length for item in items)) if items else Cause.EMPTY, text, items, 0, False)


def parts_of(text: bytes) -> Iterator[bytes]:
    """The parts of a text, the shortest first."""
    for length in range(1, len(text)):
        for end in range(length, len(text) + 1):
            yield text[end - length : end]
