# SPDX-License-Identifier: BSD-2-Clause
"""The text of assignments and of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.circuit import Circuit, assigned, memory_of, selectors_of
from utf8fpga.hdl.verilog.expressions import Loop, Text, in_loops
from utf8fpga.hdl.verilog.rtlil import Assign, Cell, Slice, Statement, Switch, Value, sliced
from utf8fpga.hdl.verilog.values import Values
from utf8fpga.model.exceptions import InvalidArgumentError

_WIDE = 90
"""A concatenation with more characters is written part by part."""


class Processes:
    """Writes the assignments and the processes of a module.

    Attributes:
        variables: the kind of each variable that counts in a loop.
    """

    def __init__(self, circuit: Circuit, values: Values) -> None:
        self._circuit, self._values = circuit, values
        self.variables: dict[str, str] = {}
        self._index = ""

    def clocked(
        self, clock: Value, reset: Value, first: Sequence[Statement], block: Sequence[Statement]
    ) -> Iterator[str]:
        """A process of registers.

        Args:
            reset: the condition of `first`, empty without one; else the statements are those of the block.
        """
        self._index = ""
        yield f"  always @(posedge {self._values.written(self._values.text(clock))}) begin"
        if not reset:
            yield from self._block(block, "    ", "<=")
        else:
            yield f"    if ({self._values.written(self._values.text(reset))}) begin"
            yield from self._block(first, "      ", "<=")
            if len(block) == 1 and isinstance(block[0], Switch) and not _is_choice(block[0]):
                yield from self._branches(block[0], "    ", "    end else ", "<=")
            else:
                yield "    end else begin"
                yield from self._block(block, "      ", "<=")
                yield "    end"
        yield "  end"

    def memory(self, cell: Cell) -> Iterator[str]:
        """A process that writes a row of a memory."""
        values = self._values
        clock, enable = (values.text(sliced(cell.ports[port], 0, 1)) for port in ("CLK", "EN"))
        place, value = (values.written(values.text(cell.ports[port])) for port in ("ADDR", "DATA"))
        target = f"{values.named(memory_of(cell))}[{place}]"
        condition = "" if enable.template == "1'b1" else f"if ({values.written(enable)}) "
        yield f"  always @(posedge {values.written(clock)}) {condition}{target} <= {value};"

    def unclocked(self, block: Sequence[Statement]) -> Iterator[str]:
        """A process of signals that have several values by conditions."""
        self._index = ""
        if not any(self._values.text(selector).slices for selector in selectors_of(block)):
            name = self._values.named(next(iter(assigned(block))))
            raise InvalidArgumentError(f"module {self._circuit.name}: the conditions of {name} are constants")
        yield "  always @* begin"
        yield from self._block(block, "    ", "=")
        yield "  end"

    def wire(self, declared: str, name: str, parts: Sequence[tuple[int, Value]]) -> Iterator[str]:
        """The declaration of a wire, if it has one, and its assignments; without parts it is a result."""
        width = self._circuit.wires[name].width
        if parts:
            value = tuple(part for _, value in parts for part in value)
            target = Slice(name, parts[0][0], sum(part.width for part in value))
            loops = list(self._pieces(target, value, self._values.enumeration(name)))
        else:
            loops = [Loop(Slice(name, 0, width), self._values.definition(name), 1, ())]
        if declared and len(loops) == 1 and loops[0].number == 1 and loops[0].target.width == width:
            yield f"  {declared} = {self._values.written(loops[0].value)};"
            return
        if declared:
            yield f"  {declared};"
        self._index = ""
        for loop in loops:
            if loop.number == 1:
                yield f"  assign {self._values.bits(loop.target)} = {self._values.written(loop.value)};"
            else:
                index = self._variable("lane", "genvar")
                label = self._values.names.take(f"each_{self._values.named(name)}")
                yield f"  {_for(index, loop)} begin : {label}"
                yield f"    assign {self._in_loop(loop, index, '=')}"
                yield "  end"

    def _variable(self, name: str, kind: str) -> str:
        """The variable of the loops of a process: for Yosys one of two processes has two drivers."""
        if not self._index:
            self._index = self._values.names.take(name)
            self.variables[self._index] = kind
        return self._index

    def _block(self, statements: Iterable[Statement], indent: str, operator: str) -> Iterator[str]:
        for each in statements:
            if isinstance(each, Assign):
                yield from self._assignment(each, indent, operator)
            elif _is_choice(each):
                yield from self._choice(each, indent, operator)
            else:
                yield from self._branches(each, indent, indent, operator)

    def _assignment(self, statement: Assign, indent: str, operator: str) -> Iterator[str]:
        [target] = statement.target
        assert isinstance(target, Slice)
        for loop in self._pieces(target, statement.value, self._values.enumeration(target.wire)):
            if loop.number == 1:
                yield f"{indent}{self._values.bits(loop.target)} {operator} {self._values.written(loop.value)};"
            else:
                index = self._variable("i", "integer")
                yield f"{indent}{_for(index, loop)}"
                yield f"{indent}  {self._in_loop(loop, index, operator)}"

    def _pieces(self, target: Slice, value: Value, names: Mapping[str, str]) -> Iterator[Loop]:
        """The assignments to adjacent bits: one, or for their parts if these are long or alike."""
        whole = self._values.text(value, names)
        parts: list[tuple[Slice, Text]] = []
        start = target.start
        for part in value:
            parts.append((Slice(target.wire, start, part.width), self._values.text((part,))))
            start += part.width
        loops = list(in_loops(parts)) if len(parts) > 2 else []
        has_operators = any(text.operator for _, text in parts)
        is_wide = has_operators and len(whole.template) > _WIDE
        if len(parts) > 1 and (is_wide or any(loop.number > 1 and loop.value.operator for loop in loops)):
            yield from loops or in_loops(parts)
        else:
            yield Loop(target, whole, 1, ())

    def _in_loop(self, loop: Loop, index: str, operator: str) -> str:
        """An assignment to the element with an index."""
        strides = iter(loop.strides)
        first = loop.target.start // loop.target.width

        def bits(each: Slice) -> str:
            stride = next(strides)
            if not stride:
                return self._values.bits(each)
            place = index if stride == 1 else f"{stride}*{index}"
            if offset := each.start - stride * first:
                place = f"{place} {'+-'[offset < 0]} {abs(offset)}"
            return f"{self._values.named(each.wire)}[{place}{f' +: {each.width}' if each.width > 1 else ''}]"

        for number in range(loop.number):
            for each, stride in zip(loop.value.slices, loop.strides[1:], strict=True):
                self._values.note(Slice(each.wire, each.start + number * stride, each.width))
        return f"{bits(loop.target)} {operator} {loop.value.filled(bits)};"

    def _choice(self, switch: Switch, indent: str, operator: str) -> Iterator[str]:
        [selector] = switch.selector
        assert isinstance(selector, Slice)
        is_whole = selector.width == self._circuit.wires[selector.wire].width
        names = self._values.enumeration(selector.wire) if is_whole else {}
        yield f"{indent}case ({self._values.written(self._values.text(switch.selector))})"
        for patterns, body in switch.cases:
            labels = [self._values.constant(pattern, names).template for pattern in patterns]
            yield f"{indent}  {', '.join(labels) or 'default'}: begin"
            yield from self._block(body, f"{indent}    ", operator)
            yield f"{indent}  end"
        if switch.cases[-1][0]:
            yield f"{indent}  default: begin end"
        yield f"{indent}endcase"

    def _branches(self, switch: Switch, indent: str, start: str, operator: str) -> Iterator[str]:
        """The cases one after the other; the condition of one behind cases without statements excludes those."""
        cases = list(switch.cases)
        while cases and not cases[-1][1]:
            cases.pop()
        if not cases:
            return
        excluded: Text | None = None
        for number, (patterns, body) in enumerate(cases):
            condition = self._condition(switch.selector, patterns) if patterns else None
            if condition and not body and number == len(cases) - 2:
                excluded = expressions.unary("~", condition)
                continue
            if excluded:
                condition = expressions.binary("&", excluded, condition) if condition else excluded
            yield f"{start}{f'if ({self._values.written(condition)}) ' if condition else ''}begin"
            yield from self._block(body, f"{indent}  ", operator)
            start = f"{indent}end else "
        yield f"{indent}end"

    def _condition(self, selector: Value, patterns: Sequence[str]) -> Text:
        """Whether a selector has one of some patterns, in which a dash is any value."""
        found: Text | None = None
        for pattern in patterns:
            matches: Text | None = None
            for start, bits in _runs(pattern):
                part = self._values.text(sliced(selector, start, len(bits)))
                if len(bits) > 1:
                    part = expressions.binary("==", part, expressions.constant(bits))
                elif bits == "0":
                    part = expressions.unary("~", part)
                matches = expressions.binary("&", matches, part) if matches else part
            if matches:
                found = expressions.binary("|", found, matches) if found else matches
        return found or expressions.constant("1")


def _runs(pattern: str) -> Iterator[tuple[int, str]]:
    """The bits of a pattern that are not any value, in runs, with the number of their lowest bit."""
    at = 0
    for run in reversed(pattern.replace("-", " - ").split()):
        if run != "-":
            yield at, run
        at += len(run)


def _is_choice(switch: Switch) -> bool:
    """Whether a switch is written as a choice between constants."""
    patterns = [pattern for each, _ in switch.cases for pattern in each]
    is_signal = len(switch.selector) == 1 and isinstance(switch.selector[0], Slice)
    return len(patterns) > 1 and len(patterns[0]) > 1 and is_signal and not any("-" in each for each in patterns)


def _for(index: str, loop: Loop) -> str:
    first = loop.target.start // loop.target.width
    return f"for ({index} = {first}; {index} < {first + loop.number}; {index} = {index} + 1)"
