# SPDX-License-Identifier: BSD-2-Clause
"""Expressions in Verilog without unnamed wires where an operator on one bit suffices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

__all__ = ["Statement", "insert", "is_unnamed"]

_UNNAMED = re.compile(r"\b_\d+_\b")
"""A wire to which Yosys gave a number."""

_OPERAND = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?")

_UNARY = re.compile(r"~?\w+(\[\d+\])?")

_WIDTH = 100
"""Upper bound on the characters of an expression into which others are inserted."""

_CONCATENATION = 2000
"""The same for a concatenation, which is a list."""


@dataclass
class Statement:
    """A statement of a process: an assignment, or a condition with the statements of both cases."""

    text: str
    then: list[Statement] = field(default_factory=list)
    otherwise: list[Statement] = field(default_factory=list)

    def all(self) -> Iterator[Statement]:
        """This statement and those in it."""
        yield self
        for each in (*self.then, *self.otherwise):
            yield from each.all()


def is_unnamed(wire: str) -> bool:
    """Whether Yosys gave a number to the wire."""
    return _UNNAMED.fullmatch(wire) is not None


def insert(assignments: dict[str, str], processes: Iterable[Statement], instances: str, single: set[str]) -> set[str]:
    """Insert the expressions of unnamed wires of one bit that have one use, or negate a wire with a name.

    The meaning remains the same: operands of the expression and of the one that contains it have one bit, so that no
    operator is extended, or the wire is an element of a concatenation or a condition, whose width no other one changes.

    Args:
        assignments: the expression of each assigned wire; changed, and without the wires that are not needed.
        processes: the statements of processes; changed.
        instances: the text of the instances.
        single: the wires of one bit.

    Returns:
        The wires that are not needed.
    """
    statements = [each for process in processes for each in process.all()]

    def used() -> Counter[str]:
        texts = (*assignments.values(), *(each.text for each in statements), instances)
        return Counter(name for text in texts for name in _UNNAMED.findall(text))

    inserter = _Inserter(assignments, used(), single)
    for each in statements:
        target, arrow, value = each.text.partition(" <= ")
        if arrow:
            each.text = f"{target} <= {inserter.expression(target, value[:-1])};"
        else:
            each.text = f"({inserter.inserted(each.text[1:-1])})"
    for target in assignments:
        if target not in inserter.candidates:
            assignments[target] = inserter.expression(target, assignments[target])
    for target in inserter.candidates:
        assignments[target] = inserter.inserted(assignments[target])
    removed: set[str] = set()
    while unused := inserter.candidates - used().keys() - removed:
        removed |= unused
        for name in unused:
            del assignments[name]
    return removed


class _Inserter:
    """See `insert`.

    Attributes:
        candidates: the wires whose expressions may be inserted.
    """

    def __init__(self, assignments: dict[str, str], uses: Counter[str], single: set[str]) -> None:
        self._assignments, self._single = assignments, single
        self._done: set[str] = set()
        self.candidates = {
            name
            for name, value in assignments.items()
            if name in single
            and is_unnamed(name)
            and self._is_boolean(value)
            and (uses[name] == 1 or (re.fullmatch(r"~[\w\[\]]+", value) and not _UNNAMED.search(value)))
        }

    def expression(self, target: str, value: str) -> str:
        """The expression that is assigned to a wire."""
        is_single = self._is_single(target)
        return self.inserted(value) if is_single or not self._is_boolean(value) else value

    def inserted(self, value: str) -> str:
        """An expression with others inserted; if it is a boolean one, it must not be extended to more bits."""
        is_boolean = self._is_boolean(value)
        for name in dict.fromkeys(_UNNAMED.findall(value)):
            if name in self.candidates:
                expression = self._of(name)
                whole = (_with_operand if is_boolean else _with_element)(value, name, expression)
                if len(whole) <= (_WIDTH if is_boolean else _CONCATENATION) or value == name:
                    value = whole
        return value

    def _of(self, name: str) -> str:
        if name not in self._done:
            self._done.add(name)
            self._assignments[name] = self.inserted(self._assignments[name])
        return self._assignments[name]

    def _is_single(self, name: str) -> bool:
        return name in self._single or re.fullmatch(r"\w+\[\d+\]", name) is not None

    def _is_boolean(self, value: str) -> bool:
        """Whether an expression has only operands of one bit and operators on bits."""
        rest = re.sub(r"\b1'h[01]\b", "", value)
        return re.fullmatch(r"[ ~!&|^?:()]*", _OPERAND.sub("", rest)) is not None and all(
            self._is_single(operand) for operand in _OPERAND.findall(rest)
        )


def _with_operand(value: str, name: str, expression: str) -> str:
    """A boolean expression with another one in the place of an operand.

    Parentheses are kept where they are redundant, too: the order of operations influences the area after synthesis.
    """
    is_negated = f"~{name}" in value or f"!{name}" in value
    alone = value == name or (_UNARY.fullmatch(expression) is not None and not (is_negated and expression[0] == "~"))
    new = expression if alone else f"({expression})"
    return re.sub(rf"\b{name}\b", lambda _: new, value)


def _with_element(value: str, name: str, expression: str) -> str:
    """An expression with another one in the place of an element of a concatenation, or of a condition."""
    value = re.sub(rf"(?<=[{{,] ){name}(?=,| }})", lambda _: expression, value)
    return re.sub(rf"\b{name}\b(?= \?)", lambda _: f"({expression})", value)
