# SPDX-License-Identifier: BSD-2-Clause
"""Two-level minimisation over digits: few boxes that contain the inputs for 1, and none of the inputs for 0.

`minimise` uses truth tables, which are too large for functions of whole sequences of code units. Here the input is
a word of digits of a few bits each, and a product has a set of values for each digit. So a range of code points, which
is a few products of ranges of units, remains a few products.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

Box = tuple[int, ...]
"""A product: for each digit a mask of its values, bit n for value n."""


@dataclass(frozen=True)
class Term:
    """A product of a cover.

    Attributes:
        least: the box of what it must contain.
        most: the box of what it may contain. Any box between the two is correct.
    """

    least: Box
    most: Box


def cover(on: Iterable[Box], off: Iterable[Box], full: Box) -> tuple[Term, ...]:
    """Products that contain all boxes of `on` and nothing of `off`; all other inputs are don't-cares.

    Each box is enlarged as far as possible, in two orders of the digits, of which the better one is used. Products
    that the others make redundant are left out.

    Args:
        on: boxes in which the result must be 1.
        off: boxes in which the result must be 0.

    Raises:
        AssertionError: a box is in both, a defect of the caller.

    >>> cover([(0b0010, 0b01), (0b0100, 0b01)], [(0b1001, 0b11), (0b0110, 0b10)], (0b1111, 0b11))
    (Term(least=(6, 1), most=(6, 1)),)
    """
    wanted, forbidden = _merged(on), _merged(off)
    for one in wanted:
        if clash := next((other for other in forbidden if _meet(one, other)), None):
            raise AssertionError(f"boxes {one} and {clash}, which overlap, must be both 0 and 1")
    places = range(len(full))
    found: list[Box] = []
    for box in wanted:
        if any(_within(box, other) for other in found):
            continue
        choices = [_enlarged(box, forbidden, full, order) for order in (places, places[::-1])]
        found.append(max(choices, key=lambda choice: _score(choice, wanted, full)))
    for box in list(found):
        others = [other for other in found if other is not box]
        if all(_covered(each, others) for each in wanted):
            found = others
    return tuple(Term(_hull(box, wanted), box) for box in found)


def _meet(one: Box, other: Box) -> bool:
    return all(map(and_, one, other))


def _within(inner: Box, outer: Box) -> bool:
    return not any(a & ~b for a, b in zip(inner, outer, strict=True))


def _merged(boxes: Iterable[Box]) -> list[Box]:
    """The same inputs in fewer boxes: those that differ in one digit only become one."""
    found = list(dict.fromkeys(boxes))
    before = 0
    while len(found) != before:
        before = len(found)
        for place in range(len(found[0]) if found else 0):
            groups: dict[Box, int] = {}
            for box in found:
                rest = (*box[:place], 0, *box[place + 1 :])
                groups[rest] = groups.get(rest, 0) | box[place]
            found = [(*rest[:place], mask, *rest[place + 1 :]) for rest, mask in groups.items()]
    return found


def _enlarged(box: Box, forbidden: Sequence[Box], full: Box, order: Iterable[int]) -> Box:
    """The box with as many values of each digit as possible, in an order of the digits."""
    masks = list(box)
    for place in order:
        taken = 0
        for other in forbidden:
            if all(n == place or mask & there for n, (mask, there) in enumerate(zip(masks, other, strict=True))):
                taken |= other[place]
        masks[place] = full[place] & ~taken
    return tuple(masks)


def _score(box: Box, wanted: Sequence[Box], full: Box) -> tuple[int, int]:
    """The boxes that it contains, and the digits that it does not depend on."""
    return sum(_within(each, box) for each in wanted), sum(map(int.__eq__, box, full))


def _covered(box: Box, others: Sequence[Box]) -> bool:
    """Whether the boxes together contain a box."""
    left = [box]
    for other in others:
        left = [part for each in left for part in _without(each, other)]
    return not left


def _without(box: Box, other: Box) -> list[Box]:
    """What is left of a box without another one."""
    if not _meet(box, other):
        return [box]
    parts: list[Box] = []
    inside = list(box)
    for place, mask in enumerate(other):
        if outside := inside[place] & ~mask:
            parts.append((*inside[:place], outside, *inside[place + 1 :]))
        inside[place] &= mask
    return parts


def _hull(box: Box, wanted: Sequence[Box]) -> Box:
    """The smallest box that contains all that the box has of the wanted ones."""
    parts = [tuple(map(and_, box, each)) for each in wanted if _meet(box, each)]
    return tuple(reduce(or_, masks) for masks in zip(*parts, strict=True))
