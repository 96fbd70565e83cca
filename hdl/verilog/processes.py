# SPDX-License-Identifier: BSD-2-Clause
"""The text of assignments and of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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

    def clocked(self, clock: Value, block: Sequence[Statement]) -> Iterator[str]:
        """A process of registers."""
        yield f"  always @(posedge {self._values.text(clock).text}) begin"
        yield from self._block(block, "    ", "<=")
        yield "  end"

    def unclocked(self, block: Sequence[Statement]) -> Iterator[str]:
        """A process of signals that have several values by conditions."""
        yield "  always @* begin"
        yield from self._block(block, "    ", "=")
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
            elif _is_choice(each):
                yield from self._choice(each, indent, operator)
            else:
                yield from self._branches(each, indent, indent, operator)

    def _choice(self, switch: Switch, indent: str, operator: str) -> Iterator[str]:
        names = self._values.enumeration(switch.selector)
        has_any = any("-" in each for patterns, _ in switch.cases for each in patterns)
        yield f"{indent}case{'z' * has_any} ({self._values.text(switch.selector).text})"
        for patterns, body in switch.cases:
            labels = [
                f"{len(each)}'b{each.replace('-', '?')}"
                if has_any
                else self._values.constant(int(each, 2), len(each), names).text
                for each in patterns
            ]
            yield f"{indent}  {', '.join(labels) or 'default'}: begin"
            yield from self._block(body, f"{indent}    ", operator)
            yield f"{indent}  end"
        if switch.cases[-1][0]:
            yield f"{indent}  default: begin end"
        yield f"{indent}endcase"

    def _branches(self, switch: Switch, indent: str, start: str, operator: str) -> Iterator[str]:
        """The cases one after the other, each of which depends on one bit."""
        for patterns, body in switch.cases:
            if not patterns and len(body) == 1 and isinstance(body[0], Switch) and not _is_choice(body[0]):
                yield from self._branches(body[0], indent, start, operator)
                return
            condition = self._condition(switch.selector, patterns[0]) if patterns else ""
            yield f"{start}{condition}begin"
            yield from self._block(body, f"{indent}  ", operator)
            start = f"{indent}end else "
        yield f"{indent}end"

    def _condition(self, selector: Value, pattern: str) -> str:
        """Whether a selector has the only bit of a pattern that matters."""
        at = len(pattern.rstrip("-")) - 1
        bit = self._values.text((selector[-1 - at],))
        return f"if ({(bit if pattern[at] == '1' else expressions.unary('~', bit)).text}) "


def _is_choice(switch: Switch) -> bool:
    """Whether a switch is written as a choice: a case has several patterns, or one with several bits that matter."""
    return any([len(each.replace("-", "")) for each in patterns] not in ([], [1]) for patterns, _ in switch.cases)
