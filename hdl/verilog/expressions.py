# SPDX-License-Identifier: BSD-2-Clause
"""Expressions in Verilog, as text with holes for the bits that they read.

All operands of an operator have the width of its result, or the operator's width does not depend on where it stands. So
an expression means the same wherever it is inserted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from utf8fpga.hdl.verilog.rtlil import Slice

HOLE = "\0"
"""In the place of each bit or vector that is read."""


class Text(NamedTuple):
    """An expression.

    Attributes:
        template: its text, with `HOLE` for each of the bits that it reads.
        slices: those bits, in their order.
        operator: the outermost operator, which parentheses may have to keep together; empty: there is none.
        size: how many operands it has that are not operations themselves.
    """

    template: str
    slices: tuple[Slice, ...] = ()
    operator: str = ""
    size: int = 1

    def filled(self, refer: Callable[[Slice], str]) -> str:
        """The text with the bits in their places."""
        first, *rest = self.template.split(HOLE)
        return first + "".join(refer(bits) + part for bits, part in zip(self.slices, rest, strict=True))


def reference(bits: Slice) -> Text:
    """Bits of a signal."""
    return Text(HOLE, (bits,))


def constant(bits: str) -> Text:
    """A constant: one bit in binary, several in hexadecimal digits; a bit that does not matter is 0."""
    value, width = int(bits.replace("x", "0") or "0", 2), len(bits)
    return Text(f"1'b{value}" if width == 1 else f"{width}'h{value:0{(width + 3) // 4}x}", size=0)


def _combined(template: str, operands: Sequence[Text], operator: str) -> Text:
    slices = tuple(bits for each in operands for bits in each.slices)
    return Text(template, slices, operator, sum(each.size for each in operands))


def _inner(operand: Text) -> str:
    """An operand of another operator."""
    return f"({operand.template})" if operand.operator not in ("", "~", "reduction") else operand.template


def unary(operator: str, operand: Text) -> Text:
    """``~``, ``-``, or the reduction ``&``, ``|`` or ``^``."""
    if operator == "~" and operand.template in ("1'b0", "1'b1"):
        return constant("10"[int(operand.template[-1])])
    kind = operator if operator in "~-" else "reduction"
    inner = operand.template if not operand.operator else f"({operand.template})"
    return _combined(operator + inner, [operand], kind)


def binary(operator: str, left: Text, right: Text) -> Text:
    """An operation with two operands, in the order of the source, which has an influence on the area."""
    for operand, other in (left, right), (right, left):
        if operand.template in _SHORTER.get(operator, ()):
            neutral, _ = _SHORTER[operator]
            return other if operand.template == neutral else operand
    first = left.template if left.operator == operator and operator in "&|^+" else _inner(left)
    return _combined(f"{first} {operator} {_inner(right)}", [left, right], operator)


_SHORTER = {"&": ("1'b1", "1'b0"), "|": ("1'b0", "1'b1")}
"""By operator the constant that has no effect, and the one that is the result whatever the other operand is."""


def conditional(condition: Text, chosen: Text, otherwise: Text) -> Text:
    """A choice; one behind the colon needs no parentheses."""
    first = f"({chosen.template})" if chosen.operator == "?" else chosen.template
    template = f"{_inner(condition)} ? {first} : {otherwise.template}"
    return _combined(template, [condition, chosen, otherwise], "?")


def signed(operand: Text) -> Text:
    """An operand as a number with a sign."""
    return _combined(f"$signed({operand.template})", [operand], "")


def indexed(memory: str, place: Text) -> Text:
    """A row of a memory."""
    return _combined(f"{memory}[{place.template}]", [place], "")


def concatenation(parts: Sequence[Text]) -> Text:
    """Parts side by side, the lowest first; equal ones are a repetition."""
    written, ordered = [], list[Text]()
    for part, group in groupby(reversed(parts)):
        number = len(list(group))
        written.append(part.template if number == 1 else f"{{{number}{{{part.template}}}}}")
        ordered.append(part)
    alone = len(ordered) == 1
    return _combined(
        written[0] if alone else f"{{{', '.join(written)}}}",
        ordered,
        ordered[0].operator if alone and len(parts) == 1 else "",
    )


class Loop(NamedTuple):
    """Assignments of one form: to the elements of a signal from one place on, which grows by a stride each time."""

    target: Slice
    value: Text
    number: int
    strides: tuple[int, ...]
    """By how much the places of the target and of the slices of the value grow."""


def in_loops(assignments: Sequence[tuple[Slice, Text]]) -> Iterator[Loop]:
    """Assignments to adjacent bits, in which at least three one after the other that have the same form are one."""
    at = 0
    while at < len(assignments):
        number, strides = 1, None
        while at + number < len(assignments):
            step = _strides(assignments[at + number - 1], assignments[at + number])
            if step is None or strides not in (None, step):
                break
            number, strides = number + 1, step
        if number < 3:
            number, strides = 1, None
        yield Loop(*assignments[at], number, strides or ())
        at += number


def _strides(first: tuple[Slice, Text], second: tuple[Slice, Text]) -> tuple[int, ...] | None:
    """The strides between two assignments, the second of which continues the first; None: it does not."""
    if first[1].template != second[1].template:
        return None
    found = []
    for before, after in zip((first[0], *first[1].slices), (second[0], *second[1].slices), strict=True):
        if (before.wire, before.width) != (after.wire, after.width):
            return None
        found.append(after.start - before.start)
    return tuple(found) if found[0] == first[0].width else None
