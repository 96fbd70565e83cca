# SPDX-License-Identifier: BSD-2-Clause
"""Expressions in Verilog.

All operands of an operator have the width of its result, or the operator's width does not depend on where it stands. So
an expression means the same wherever it is inserted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple


class Text(NamedTuple):
    """An expression.

    Attributes:
        operator: the outermost operator, which parentheses may have to keep together; empty: there is none.
    """

    text: str
    operator: str = ""

    @property
    def inner(self) -> str:
        """It as an operand of another operator."""
        return self.text if self.operator in ("", "~", "reduction") else f"({self.text})"


def constant(value: int, width: int) -> Text:
    """A constant: one bit in binary, several in hexadecimal digits."""
    return Text(f"1'b{value}" if width == 1 else f"{width}'h{value:0{(width + 3) // 4}x}")


def unary(operator: str, operand: Text) -> Text:
    """``~``, ``-``, or the reduction ``&``, ``|`` or ``^``."""
    inner = f"({operand.text})" if operand.operator else operand.text
    return Text(operator + inner, operator if operator in "~-" else "reduction")


def binary(operator: str, left: Text, right: Text) -> Text:
    """An operation with two operands, in the order of the source, which has an influence on the area."""
    first = left.text if left.operator == operator and operator in "&|^+" else left.inner
    return Text(f"{first} {operator} {right.inner}", operator)


def conditional(condition: Text, chosen: Text, otherwise: Text) -> Text:
    """A choice; one behind the colon needs no parentheses."""
    first = f"({chosen.text})" if chosen.operator == "?" else chosen.text
    return Text(f"{condition.inner} ? {first} : {otherwise.text}", "?")


def concatenation(parts: Sequence[Text]) -> Text:
    """Parts side by side, the lowest first; equal ones are a repetition."""
    if len(parts) == 1:
        return parts[0]
    groups = [(part.text, len(list(group))) for part, group in groupby(reversed(parts))]
    texts = [text if number == 1 else f"{{{number}{{{text}}}}}" for text, number in groups]
    return Text(texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}")
