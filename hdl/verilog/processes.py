# SPDX-License-Identifier: BSD-2-Clause
"""The text of assignments and of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.circuit import memory_of
from utf8fpga.hdl.verilog.expressions import Text
from utf8fpga.hdl.verilog.rtlil import Assign, Cell, Slice, Statement, Switch, Value, slices_of
from utf8fpga.hdl.verilog.values import Values

_WIDE = 90
"""A concatenation with more characters is written part by part."""


class Processes:
    """Writes the assignments and the processes of a module."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def process(self, events: str, block: Sequence[Statement], operator: str) -> Iterator[str]:
        """A process that assigns when there are events, by ``<=`` or ``=``."""
        yield f"  always @{events} begin"
        yield from self._block(block, "    ", operator)
        yield "  end"

    def memory(self, cell: Cell) -> Iterator[str]:
        """A process that writes a row of a memory."""
        clock, place, value = (self._values.text(cell.ports[port]).text for port in ("CLK", "ADDR", "DATA"))
        enable = cell.ports["EN"][:1]
        condition = "" if enable == (("", 1),) else f"if ({self._values.text(enable).text}) "
        yield f"  always @(posedge {clock}) {condition}{self._values.named(memory_of(cell))}[{place}] <= {value};"

    def pieces(self, each: Assign) -> Iterator[tuple[Slice, Text]]:
        """The assignments to bits: one for adjacent ones, or for their parts if these are long."""
        names, at = self._values.enumeration(each.target), 0
        for bits in slices_of(each.target):
            value = each.value[at : at + bits.width]
            at, start = at + bits.width, bits.start
            text = self._values.text(value, names)
            parts: list[tuple[Slice, Text]] = []
            for part in slices_of(value):
                inside = value[start - bits.start : start - bits.start + part.width]
                parts.append((Slice(bits.wire, start, part.width), self._values.text(inside)))
                start += part.width
            is_long = len(parts) > 1 and len(text.text) > _WIDE and any(part.operator for _, part in parts)
            yield from parts if is_long else [(bits, text)]

    def _block(self, statements: Iterable[Statement], indent: str, operator: str) -> Iterator[str]:
        for each in statements:
            if isinstance(each, Assign):
                for target, text in self.pieces(each):
                    yield f"{indent}{self._values.bits(target)} {operator} {text.text};"
            else:
                yield from self._branches(each, indent, indent, operator)

    def _branches(self, switch: Switch, indent: str, start: str, operator: str) -> Iterator[str]:
        """The cases one after the other."""
        for patterns, body in switch.cases:
            if not patterns and len(body) == 1 and isinstance(body[0], Switch):
                yield from self._branches(body[0], indent, start, operator)
                return
            yield f"{start}if ({self._condition(switch.selector, patterns)}) begin" if patterns else f"{start}begin"
            yield from self._block(body, f"{indent}  ", operator)
            start = f"{indent}end else "
        yield f"{indent}end"

    def _condition(self, selector: Value, patterns: Sequence[str]) -> str:
        """Whether a selector has one of some patterns, of which only the bits that matter are compared."""
        tests: list[Text] = []
        for pattern in patterns:
            bits = tuple(bit for bit, digit in zip(selector, reversed(pattern), strict=True) if digit != "-")
            value, wanted = self._values.text(bits), int(pattern.replace("-", ""), 2)
            if len(bits) == 1:
                tests.append(value if wanted else expressions.unary("~", value))
            else:
                constant = self._values.constant(wanted, len(bits), self._values.enumeration(bits))
                tests.append(expressions.binary("==", value, constant))
        return reduce(partial(expressions.binary, "|"), tests).text
