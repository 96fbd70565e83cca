# SPDX-License-Identifier: BSD-2-Clause
"""The text of assignments and of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.circuit import Circuit, assigned, memory_of, wires_of
from utf8fpga.hdl.verilog.expressions import Text
from utf8fpga.hdl.verilog.rtlil import Assign, Cell, Slice, Statement, Switch, Value, slices_of
from utf8fpga.hdl.verilog.statements import Reset, grouped
from utf8fpga.hdl.verilog.values import Values
from utf8fpga.model.exceptions import InvalidArgumentError

_WIDE = 90
"""A concatenation with more characters is written part by part."""


class Processes:
    """Writes the assignments and the processes of a module."""

    def __init__(self, circuit: Circuit, values: Values) -> None:
        self._circuit, self._values = circuit, values

    def clocked(self, clock: Value, registers: Sequence[Reset]) -> Iterator[str]:
        """A process of registers with the same clock, reset and conditions."""
        [block] = grouped(each.others for each in registers)
        yield f"  always @(posedge {self._values.text(clock).text}) begin"
        if not registers[0].condition:
            yield from self._block(block, "    ", "<=")
        else:
            yield f"    if ({self._values.text(registers[0].condition).text}) begin"
            yield from self._block([each for one in registers for each in one.first], "      ", "<=")
            if len(block) == 1 and isinstance(block[0], Switch) and not _is_choice(block[0]):
                yield from self._branches(block[0], "    ", "    end else ", "<=")
            else:
                yield "    end else begin"
                yield from self._block(block, "      ", "<=")
                yield "    end"
        yield "  end"

    def memory(self, cell: Cell) -> Iterator[str]:
        """A process that writes a row of a memory."""
        clock, place, value = (self._values.text(cell.ports[port]).text for port in ("CLK", "ADDR", "DATA"))
        enable = cell.ports["EN"][:1]
        condition = "" if enable == (("", 1),) else f"if ({self._values.text(enable).text}) "
        yield f"  always @(posedge {clock}) {condition}{self._values.named(memory_of(cell))}[{place}] <= {value};"

    def unclocked(self, block: Sequence[Statement]) -> Iterator[str]:
        """A process of signals that have several values by conditions."""
        if not any(wires_of(each.selector for each in block if isinstance(each, Switch))):
            name = self._values.named(assigned(block)[0])
            raise InvalidArgumentError(f"module {self._circuit.name}: the conditions of {name} are constants")
        yield "  always @* begin"
        yield from self._block(block, "    ", "=")
        yield "  end"

    def wire(self, declared: str, name: str) -> Iterator[str]:
        """The declaration of a wire, if it has one, and its assignments."""
        whole = Slice(name, 0, self._circuit.wires[name].width)
        if name in self._circuit.results:
            pieces = [(whole, self._values.definition(name))]
        else:
            bits = self._circuit.connections[name]
            pieces = list(self._pieces(tuple((name, at) for at in bits), tuple(bits.values())))
        if declared and pieces[0][0] == whole:
            yield f"  {declared} = {pieces[0][1].text};"
            return
        if declared:
            yield f"  {declared};"
        for target, text in pieces:
            yield f"  assign {self._values.bits(target)} = {text.text};"

    def _pieces(self, target: Value, value: Value) -> Iterator[tuple[Slice, Text]]:
        """The assignments to bits: one for adjacent ones, or for their parts if these are long."""
        names, at = self._values.enumeration(target), 0
        for bits in slices_of(target):
            text = self._values.text(value[at : at + bits.width], names)
            parts: list[tuple[Slice, Text]] = []
            start = bits.start
            for each in slices_of(value[at : at + bits.width]):
                inside = value[at : at + each.width]
                parts.append((Slice(bits.wire, start, each.width), self._values.text(inside)))
                at, start = at + each.width, start + each.width
            if len(parts) > 1 and len(text.text) > _WIDE and any(part.operator for _, part in parts):
                yield from parts
            else:
                yield bits, text

    def _block(self, statements: Iterable[Statement], indent: str, operator: str) -> Iterator[str]:
        for each in statements:
            if isinstance(each, Assign):
                for target, text in self._pieces(each.target, each.value):
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
        cases = [(patterns[0] if patterns else "", body) for patterns, body in switch.cases]
        while cases and not cases[-1][1]:
            cases.pop()
        if [(pattern, bool(body)) for pattern, body in cases] == [("1", False), ("", True)]:
            cases = [("0", cases[1][1])]
        for pattern, body in cases:
            condition = self._condition(switch.selector, pattern)
            yield f"{start}{condition}begin"
            yield from self._block(body, f"{indent}  ", operator)
            start = f"{indent}end else "
        if cases:
            yield f"{indent}end"

    def _condition(self, selector: Value, pattern: str) -> str:
        """Whether a selector has the only bit of a pattern that matters."""
        if not pattern:
            return ""
        at = len(pattern.rstrip("-")) - 1
        bit = self._values.text((selector[-1 - at],))
        return f"if ({(bit if pattern[at] == '1' else expressions.unary('~', bit)).text}) "


def _is_choice(switch: Switch) -> bool:
    """Whether a switch is written as a choice: a case has several patterns, or one with several bits that matter."""
    return any([len(each.replace("-", "")) for each in patterns] not in ([], [1]) for patterns, _ in switch.cases)
