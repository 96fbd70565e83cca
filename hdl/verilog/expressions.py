# SPDX-License-Identifier: BSD-2-Clause
"""Expressions in Verilog: made for each bit, then joined to operations on vectors.

All operands of an operator have the width of its result, or the operator's width does not depend on where it stands. So
an expression means the same wherever it is inserted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import groupby, pairwise, takewhile
from typing import TypeAlias

from utf8fpga.hdl.verilog.rtlil import Bit, Bits, WireBit

Reference: TypeAlias = Callable[[str, int, int], str]
"""The text of the bits of a wire from the first to the last index."""

BY_BIT = {"$and": "&", "$or": "|", "$xor": "^", "$xnor": "~^", "$not": "~", "$mux": "?"}
"""Operators of which each bit of the result depends on the same bit of the operands only."""

OPERATORS = {"$add": "+", "$sub": "-", "$eq": "==", "$ne": "!=", "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}
"""Other operators with two operands."""

REDUCTIONS = {"$reduce_and": "&/", "$reduce_or": "|/", "$reduce_bool": "|/", "$reduce_xor": "^/"}
"""Operators that make one bit of a vector."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An operator and its operands.

    Attributes:
        operator: as it is written; empty: the bits themselves; ``[]``: the bit `index` of the operand; ``{}``: the
            operands side by side, the lowest first; a backslash and the name of a memory: the row at the operand.
        index: the index of a bit of an operand that is no vector with a name.
        cell: the name of the cell whose result is a vector.
    """

    operator: str = ""
    operands: tuple[Expression, ...] = ()
    bits: Bits = ()
    index: int = 0
    width: int = 1
    cell: str = field(default="", compare=False)


def leaf(bits: Iterable[Bit]) -> Expression:
    """The bits themselves."""
    bits = tuple(bits)
    return Expression(bits=bits, width=len(bits))


def of_bit(operator: str, *operands: Expression) -> Expression:
    """An operation on single bits, without the operands that are constant."""
    shorter = _SHORTER[operator](*operands) if operator in _SHORTER else None
    return Expression(operator, operands) if shorter is None else shorter


def _inverse(operand: Expression) -> Expression | None:
    if operand in _CONSTANTS:
        return _CONSTANTS[operand == _CONSTANTS[0]]
    return operand.operands[0] if operand.operator == "~" else None


def _without_neutral(absorbing: Expression, neutral: Expression, *operands: Expression) -> Expression | None:
    """An AND or an OR with fewer than two operands that have an effect."""
    if absorbing in operands:
        return absorbing
    rest = [each for each in operands if each != neutral]
    return None if len(rest) > 1 else rest[0] if rest else neutral


def _without_constants(*operands: Expression) -> Expression | None:
    """An XOR with a constant."""
    rest = [each for each in operands if each not in _CONSTANTS]
    if len(rest) == len(operands):
        return None
    value = of_bit("^", *rest) if len(rest) > 1 else rest[0] if rest else _CONSTANTS[0]
    return of_bit("~", value) if operands.count(_CONSTANTS[1]) % 2 else value


def _decided(choice: Expression, otherwise: Expression, chosen: Expression) -> Expression | None:
    if choice not in _CONSTANTS:
        return None
    return chosen if choice == _CONSTANTS[1] else otherwise


_CONSTANTS = leaf("0"), leaf("1")

_SHORTER: dict[str, Callable[..., Expression | None]] = {
    "~": _inverse,
    "&": partial(_without_neutral, *_CONSTANTS),
    "|": partial(_without_neutral, *reversed(_CONSTANTS)),
    "^": _without_constants,
    "?": _decided,
}
"""By operator what an operation becomes of which operands are constant, or that is an inverse of one; None: itself."""


def joined(bits: Sequence[Expression]) -> Expression:
    """A vector of single bits, the lowest first, with operations on vectors where the bits are alike."""
    if not bits:
        return leaf(())
    whole = _unified(bits)
    if whole is not None and _breaks(whole) <= 2:
        return whole
    parts: list[Expression] = []
    start = 0
    while start < len(bits):
        end, best = _selected(bits, start)
        while end < len(bits) and (longer := _unified(bits[start : end + 1])) is not None and not _breaks(longer):
            end, best = end + 1, longer
        parts.append(best)
        start = end
    return parts[0] if len(parts) == 1 else Expression("{}", tuple(parts), width=len(bits))


def _unified(bits: Sequence[Expression]) -> Expression | None:
    """One operation for all bits, or None."""
    first = bits[0]
    if len(bits) == 1:
        return first
    if any(each.operator != first.operator or len(each.operands) != len(first.operands) for each in bits):
        return None
    if not first.operator:
        return leaf(bit for each in bits for bit in each.bits)
    if first.operator == "[]":
        places = [(each.operands, each.index) for each in bits]
        are_adjacent = places == [(first.operands, first.index + at) for at in range(len(bits))]
        return _sliced(first.operands[0], first.index, len(bits)) if are_adjacent else None
    columns = list(zip(*(each.operands for each in bits), strict=True))
    if first.operator == "?":
        if len(set(columns[0])) > 1:
            return None
        # The values need not be alike.
        return Expression("?", (first.operands[0], *map(joined, columns[1:])), width=len(bits))
    if first.operator not in BY_BIT.values():
        return None
    operands = [_unified(column) for column in columns]
    return None if None in operands else Expression(first.operator, tuple(filter(None, operands)), width=len(bits))


def _selected(bits: Sequence[Expression], start: int) -> tuple[int, Expression]:
    """The end of a run of bits that are each 0 or 1 unless they have a common condition, and their expression.

    This is the choice between a constant and a value, such as U+FFFD and a scalar value. Otherwise the run is one bit.
    """
    for choice in _conditions(bits[start]):
        found = list(takewhile(bool, (_without(each, choice) for each in bits[start:])))
        constant, value = zip(*(each for each in found if each), strict=True)
        if len(set(constant)) == 2:
            end = start + len(found)
            return end, Expression("?", (choice, leaf(constant), joined(value)), width=len(found))
    return start + 1, bits[start]


def _conditions(bit: Expression) -> list[Expression]:
    return [of_bit("~", each) if bit.operator == "|" else each for each in bit.operands if bit.operator in ("&", "|")]


def _without(bit: Expression, choice: Expression) -> tuple[Bit, Expression] | None:
    """The value of a bit unless a condition holds, and its expression where it does; None if there is none."""
    for constant, operator, term in (("0", "&", choice), ("1", "|", of_bit("~", choice))):
        if bit.operator == operator and term in bit.operands:
            return next(((constant, each) for each in bit.operands if each != term), None)
    return None


def _sliced(operand: Expression, low: int, width: int) -> Expression | None:
    """Adjacent bits of an operand without a name, or None if they have no expression."""
    if width == operand.width:
        return operand
    if not operand.operator:
        return leaf(operand.bits[low : low + width])
    if operand.operator == "{}":
        bits = [bit for part in operand.operands for bit in _single_bits(part)]
        return joined(bits[low : low + width])
    # The lower bits of a sum depend on those of its operands only.
    if operand.operator in BY_BIT.values() or (low == 0 and operand.operator in ("+", "-")):
        kept = operand.operands[:1] if operand.operator == "?" else ()
        parts = [_sliced(each, low, width) for each in operand.operands[len(kept) :]]
        if all(parts):
            return Expression(operand.operator, (*kept, *(part for part in parts if part)), width=width)
    return None


def _single_bits(operand: Expression) -> list[Expression]:
    if not operand.operator:
        return [leaf([bit]) for bit in operand.bits]
    return [
        _sliced(operand, index, 1) or Expression("[]", (operand,), index=index, cell=operand.cell)
        for index in range(operand.width)
    ]


def runs(bits: Bits) -> Iterator[Bits]:
    """Adjacent bits of one wire, equal bits, or constants, the lowest first.

    >>> a, b = (WireBit("v", 0), WireBit("v", 1)), (WireBit("w", 5),)
    >>> [len(run) for run in runs((*a, *b, *b, "0", "1"))]
    [2, 2, 2]
    """
    start = 0
    while start < len(bits):
        end = start + 1
        while end < len(bits) and _continues(bits[start:end], bits[end]):
            end += 1
        yield bits[start:end]
        start = end


def _continues(run: Bits, bit: Bit) -> bool:
    first, last = run[0], run[-1]
    if isinstance(first, str) or isinstance(bit, str) or isinstance(last, str):
        return isinstance(first, str) and isinstance(bit, str)
    if bit == first:
        return last == first
    return bit == (last.wire, last.offset + 1) and (len(run) == 1 or last != first)


def _breaks(expression: Expression) -> int:
    """The number of places where a vector in an expression consists of several ones."""
    if not expression.operator:
        return sum(1 for _ in runs(expression.bits)) - 1
    if expression.operator not in BY_BIT.values():
        return 0
    return sum(_breaks(each) for each in expression.operands)


def reduced(expression: Expression) -> Expression:
    """An expression in which operations on at least three adjacent bits one after the other are one reduction.

    >>> bits = [leaf([WireBit("v", index)]) for index in range(4)]
    >>> nested = of_bit("|", bits[2], of_bit("|", bits[1], of_bit("|", bits[0], leaf([WireBit("w", 0)]))))
    >>> text(reduced(nested), lambda wire, first, last: f"{wire}[{last}:{first}]")
    '|v[2:0] | w[0:0]'
    """
    if not expression.operator:
        return expression
    terms, operator = [expression], expression.operator
    while expression.width == 1 and operator in ("&", "|") and terms[-1].operator == operator:
        terms[-1:] = terms[-1].operands
    if len(terms) < 3:
        operands = tuple(reduced(each) for each in expression.operands)
        return of_bit("~", *operands) if operator == "~" else replace(expression, operands=operands)
    kept: list[Expression] = []
    for negated, group in groupby(terms, key=lambda term: term.operator == "~"):
        if negated:
            inner = _reductions("&|"[operator == "&"], [term.operands[0] for term in group])
            kept += [of_bit("~", reduced(each)) for each in inner]
        else:
            kept += map(reduced, _reductions(operator, [*group]))
    return reduce(lambda rest, term: Expression(operator, (term, rest)), reversed(kept))


def _reductions(operator: str, terms: Sequence[Expression]) -> Iterator[Expression]:
    """The operands of an operation, with reductions in place of at least three adjacent bits."""
    while terms:
        size = _adjacent(terms)
        part, terms = terms[:size], terms[size:]
        if size > 2:
            yield Expression(f"{operator}/", (leaf(sorted(bit for each in part for bit in each.bits)),))
        else:
            yield from part


def _adjacent(terms: Sequence[Expression]) -> int:
    """The number of terms, from the first one on, that are adjacent bits of one wire, upwards or downwards; or 1."""
    bits = [each.bits[0] if len(each.bits) == 1 else "" for each in terms]
    for step in (1, -1):
        size = 1
        for last, bit in pairwise(bits):
            if isinstance(last, str) or bit != (last.wire, last.offset + step):
                break
            size += 1
        if size > 1:
            return size
    return 1


def bits_of(expression: Expression) -> Iterator[Bit]:
    """The bits that an expression reads."""
    yield from expression.bits
    for each in expression.operands:
        yield from bits_of(each)


def divided_in(expression: Expression) -> Iterator[str]:
    """The cells with operations on vectors of which an expression reads single bits: Verilog needs a wire for each."""
    if expression.operator == "[]":
        yield expression.cell
    else:
        for each in expression.operands:
            yield from divided_in(each)


def wires_of(expression: Expression) -> Iterator[str]:
    """The wires that an expression reads."""
    yield from dict.fromkeys(bit.wire for bit in bits_of(expression) if isinstance(bit, WireBit))


_UNARY = ("~", "&/", "|/", "^/")
_LEVELS = (("?",), (), ("|",), ("^", "~^"), ("&",), ("==", "!="), ("<", "<=", ">", ">="), (">>",), ("+", "-"))
_PRECEDENCE = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
"""How tightly operators bind in Verilog (IEEE Std 1364-2005, table 5-4)."""


def text(expression: Expression, refer: Reference) -> str:
    """An expression in Verilog.

    Args:
        refer: the text of adjacent bits of a wire.
    """
    operator, operands = expression.operator, expression.operands
    if not operator:
        return _concatenated([_run_text(run, refer) for run in reversed(list(runs(expression.bits)))])
    if operator == "{}":
        return _concatenated([text(each, refer) for each in reversed(operands)])
    if operator in _UNARY:
        # Verilog has ``~|a`` as one operator, but no ``|~a``, and ``^~a`` is another function than ``^(~a)``.
        operand = _operand(operands[0], refer, 10)
        is_joined = operator != "~" and operands[0].operator in _UNARY
        return f"{operator[0]}({operand})" if is_joined else f"{operator[0]}{operand}"
    if operator.startswith("\\"):
        return f"{refer(operator[1:], 0, 0)}[{text(operands[0], refer)}]"
    if operator == "?":
        choice, otherwise, chosen = operands
        return f"{_operand(choice, refer, 1)} ? {_operand(chosen, refer, 1)} : {_operand(otherwise, refer, 0)}"
    if operator == "[]":
        # Not valid in Verilog: see `divided_in`.
        return f"{_operand(operands[0], refer, 10)}[{expression.index}]"
    level = _PRECEDENCE[operator]
    # The order of operations remains, since it has an influence on the area after synthesis. Different operators on
    # bits are in parentheses, whatever their precedence.
    parts = [
        text(each, refer)
        if each.operator == operator and number == 0
        else _operand(each, refer, 9 if level < 5 else level + 1)
        for number, each in enumerate(operands)
    ]
    return f" {operator} ".join(parts)


def _operand(expression: Expression, refer: Reference, level: int) -> str:
    inner = _PRECEDENCE.get(expression.operator, 10)
    if level == 9 and inner > 6:
        level = 0
    written = text(expression, refer)
    return f"({written})" if inner < level else written


def _concatenated(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"


def _run_text(run: Bits, refer: Reference) -> str:
    first, last = run[0], run[-1]
    if isinstance(first, str) or isinstance(last, str):
        value = int("".join(str(bit) for bit in reversed(run)).replace("x", "0"), 2)
        return f"1'b{value}" if len(run) == 1 else f"{len(run)}'h{value:0{(len(run) + 3) // 4}x}"
    if len(run) > 1 and first == last:
        return f"{{{len(run)}{{{_run_text(run[:1], refer)}}}}}"
    return refer(first.wire, first.offset, last.offset)
