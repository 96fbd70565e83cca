# SPDX-License-Identifier: BSD-2-Clause
"""Expressions of ports in the description of a foreign core, such as ``!busy & status[1:0] == 2``, as in Verilog."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Value

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]{1,4}'[hdb]|0x)[0-9a-f_]+|[0-9]+)|(?P<name>[a-z_][\w.$]*)|(?P<sign>[!=]=|[!~&|(){},[\]:]))",
    re.IGNORECASE,
)
_PIN = re.compile(r"([!~]?)(.+?)(?:\[([0-9]{1,6})(?::([0-9]{1,6}))?\])?")
_BASES = {"h": 16, "d": 10, "b": 2}


class ExpressionError(ValueError):
    """An expression is invalid; the message continues a sentence that begins with the expression."""


class Pin(NamedTuple):
    """Bits of an input port, perhaps active low; `high` is None for the whole port.

    Attributes:
        inverted: whether the port is the complement.
    """

    inverted: bool
    port: str
    low: int = 0
    high: int | None = None

    @property
    def part(self) -> slice:
        """The bits as a slice; `high` must be known."""
        assert self.high is not None
        return slice(self.low, self.high + 1)

    @property
    def bits(self) -> set[int]:
        """The numbers of the bits."""
        return {*range(self.part.start, self.part.stop)}

    @property
    def mask(self) -> int:
        """All bits if the port is the complement."""
        return ((1 << len(self.bits)) - 1) * self.inverted

    @classmethod
    def of(cls, text: str) -> Pin:
        """A pin such as ``!cs_n`` or ``ui_in[3:0]``."""
        found = _PIN.fullmatch(text)
        if found is None:
            return cls(False, text)
        high = None if found[3] is None else int(found[3])
        return cls(bool(found[1]), found[2], int(found[4] or found[3] or 0), high)


def parse(text: str, port: Callable[[str], Value]) -> Value:
    """The value of an expression.

    From the lowest precedence to the highest there are ``|``, ``&``, a comparison with a number by ``==`` or ``!=``,
    and ``~`` or ``!``, which is whether all bits are 0. An operand is a port, its bits ``p[7:0]`` or ``p[3]``, a
    number such as ``2`` or ``8'hFF``, a concatenation ``{high, low}``, or an expression in parentheses.

    Args:
        port: the value of a port, by its name.

    Raises:
        ExpressionError: it is invalid.
    """
    return _Parser(text, port).whole()


class _Parser:
    def __init__(self, text: str, port: Callable[[str], Value]) -> None:
        self._text, self._port, self._position = text.rstrip(), port, 0

    def whole(self) -> Value:
        found = self._or()
        if self._position < len(self._text):
            raise self._unexpected("an operator or the end")
        return found

    def _unexpected(self, expected: str) -> ExpressionError:
        rest = self._text[self._position :].strip()
        return ExpressionError(f"has {repr(rest) if rest else 'an end'} where {expected} is expected")

    def _next(self, kind: str, *signs: str) -> str:
        """The next token if it is of this kind and one of the signs, else nothing."""
        found = _TOKEN.match(self._text, self._position)
        if found is None or found[kind] is None or (signs and found[kind] not in signs):
            return ""
        self._position = found.end()
        return str(found[kind])

    def _expect(self, kind: str, *signs: str) -> str:
        if not (found := self._next(kind, *signs)):
            raise self._unexpected(f"a {kind}" if not signs else " or ".join(map(repr, signs)))
        return found

    def _or(self) -> Value:
        found = self._and()
        while self._next("sign", "|"):
            found = found | self._and()
        return found

    def _and(self) -> Value:
        found = self._comparison()
        while self._next("sign", "&"):
            found = found & self._comparison()
        return found

    def _comparison(self) -> Value:
        left = self._operand()
        if not (sign := self._next("sign", "==", "!=")):
            return left
        right = self._number(self._expect("number"))
        if right.value >= 1 << len(left):
            raise ExpressionError(f"compares {len(left)} bits with {right.value}")
        return left == right if sign == "==" else left != right

    def _operand(self) -> Value:
        if sign := self._next("sign", "!", "~", "(", "{"):
            if sign in "!~":
                operand = self._operand()
                return ~operand if sign == "~" else ~operand.any()
            parts = [self._or()]
            while sign == "{" and self._next("sign", ","):
                parts.append(self._or())
            self._expect("sign", ")" if sign == "(" else "}")
            return Cat(reversed(parts))
        if number := self._next("number"):
            return self._number(number)
        if not (name := self._next("name")):
            raise self._unexpected("a port")
        found = self._port(name)
        if not self._next("sign", "["):
            return found
        low = high = self._number(self._expect("number")).value
        if self._next("sign", ":"):
            low = self._number(self._expect("number")).value
        self._expect("sign", "]")
        if not low <= high < len(found):
            raise ExpressionError(f"is not a part of the {len(found)} bits of {name!r}")
        return found[low : high + 1]

    def _number(self, text: str) -> Const:
        width, sign, digits = text.partition("'")
        try:
            value = int(digits[1:], _BASES[digits[0].lower()]) if sign else int(text, 0)
        except ValueError:
            raise ExpressionError(f"has {text!r}, which is not a number") from None
        if sign and value >= 1 << int(width):
            raise ExpressionError(f"has {text!r}, which has more than {width} bits")
        return Const(value, int(width) if sign else max(1, value.bit_length()))
