# SPDX-License-Identifier: BSD-2-Clause
"""The expressions of a module, and the names in them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.build import SHIFTS
from utf8fpga.hdl.verilog.circuit import Circuit, is_anonymous, is_read, memory_of, unknown_cell
from utf8fpga.hdl.verilog.expressions import Text
from utf8fpga.hdl.verilog.identifiers import Names, plain_identifier
from utf8fpga.hdl.verilog.rtlil import Cell, Slice, Value, bits_of, extended, slices_of
from utf8fpga.hdl.verilog.statements import only_wire
from utf8fpga.model import REPLACEMENT_CHARACTER

_BITWISE = {"$and": "&", "$or": "|", "$xor": "^"}
"""Operators of which each bit of the result depends on the same bit of the operands only."""

_ARITHMETIC = {"$add": "+", "$sub": "-", "$mul": "*"}
"""Operators of which the low bits of the result depend on the low bits of the operands only."""

_COMPARISONS = {"$eq": "==", "$ne": "!=", "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}

_REDUCTIONS = {"$reduce_and": "&", "$reduce_or": "|", "$reduce_bool": "|", "$reduce_xor": "^"}


class Values:
    """The expressions of a module. A result that has no name in the source is written wherever it is used.

    Attributes:
        parts: the results without a name of which Verilog can only read a part if they are wires.
        constants: the named constants that were used, by name.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.names = Names()
        self.parts: dict[str, None] = {}
        self.constants: dict[str, Value] = {}
        self._circuit = circuit
        self._chosen: dict[str, str] = {}

    def named(self, wire: str) -> str:
        """The name of a signal or a memory in Verilog."""
        if wire not in self._chosen:
            cell = self._circuit.results.get(wire)
            unnamed = f"{memory_of(cell)}_read" if cell and is_read(cell) else "result"
            source = unnamed if is_anonymous(wire) else wire
            source = re.sub(r"\$\d+(?=\.|$)", "", source).replace("__payload.", ".").replace(".symbols.", ".")
            short = plain_identifier(source)
            # A wire with the name of a register, such as at an output, is its next value.
            is_next = short in self.names and wire not in self._circuit.clocks
            self._chosen[wire] = self.names.take(f"{short}_next" if is_next else short)
        return self._chosen[wire]

    def bits(self, bits: Slice) -> str:
        """The text of bits of a signal."""
        name = self.named(bits.wire)
        if bits.width == self._circuit.wires[bits.wire].width:
            return name
        return f"{name}[{bits.start}]" if bits.width == 1 else f"{name}[{bits.start + bits.width - 1}:{bits.start}]"

    def text(self, value: Value, names: Mapping[int, str] | None = None) -> Text:
        """The expression of a value.

        Args:
            names: the names of values that it may be.
        """
        return expressions.concatenation([self.part(part, names or {}) for part in slices_of(value)])

    def definition(self, wire: str) -> Text:
        """The expression of the result of an operator or a memory."""
        whole = Slice(wire, 0, self._circuit.wires[wire].width)
        return self._operation(self._circuit.results[wire], whole, self.enumeration(bits_of(wire, whole.width)))

    def constant(self, value: int, width: int, names: Mapping[int, str]) -> Text:
        """A constant, by its name if it has one."""
        name = "REPLACEMENT_CHARACTER" if value == REPLACEMENT_CHARACTER else names.get(value, "")
        bits = tuple(("", value >> at & 1) for at in range(width))
        if not name or self.constants.setdefault(name, bits) != bits:
            return expressions.constant(value, width)
        return Text(self.named(name))

    def part(self, part: Slice, names: Mapping[int, str]) -> Text:
        """The expression of adjacent bits."""
        if not part.wire:
            return self.constant(part.start, part.width, names)
        if is_anonymous(part.wire) and part.wire in self._circuit.results:
            if self._can_insert(part):
                return self._operation(self._circuit.results[part.wire], part, names)
            self.parts[part.wire] = None
        return Text(self.bits(part))

    def _can_insert(self, part: Slice) -> bool:
        """Whether an operation can be done for the bits of a result alone."""
        kind = self._circuit.results[part.wire].kind
        if kind in (*_BITWISE, "$not", "$mux"):
            return True
        is_whole = part.width == self._circuit.wires[part.wire].width
        return kind != "$memrd_v2" and (is_whole or (part.start == 0 and kind in (*_ARITHMETIC, "$neg")))

    def _operation(self, cell: Cell, part: Slice, names: Mapping[int, str]) -> Text:
        """The operation whose result has these bits."""
        kind, ports = cell.kind, cell.ports

        def operand(port: str) -> Text:
            """The bits of an operand that the bits of the result depend on."""
            is_signed = bool(cell.number(f"{port}_SIGNED"))
            value = extended(ports[port], part.start + part.width, signed=is_signed)
            return self.text(value[part.start :], names if kind == "$mux" else {})

        if kind == "$memrd_v2":
            return Text(f"{self.named(memory_of(cell))}[{self.text(ports['ADDR']).text}]")
        if kind == "$mux":
            return expressions.conditional(self.text(ports["S"]), operand("B"), operand("A"))
        if kind in ("$not", "$neg"):
            return expressions.unary("~" if kind == "$not" else "-", operand("A"))
        if kind in _BITWISE or kind in _ARITHMETIC:
            return expressions.binary((_BITWISE | _ARITHMETIC)[kind], operand("A"), operand("B"))
        if kind in _REDUCTIONS:
            return expressions.unary(_REDUCTIONS[kind], self.text(ports["A"]))
        if kind in _COMPARISONS:
            return self._comparison(cell)
        if kind in SHIFTS:
            return self._shift(cell, operand("A"))
        raise unknown_cell(self._circuit.name, cell)

    def _shift(self, cell: Cell, left: Text) -> Text:
        right = self.text(cell.ports["B"] or (("", 0),))
        if cell.kind == "$sshr":
            # In braces, since outside of them an operand without a sign would make this one without a sign, too.
            return Text(f"{{$signed({left.text}) >>> {right.inner}}}")
        return expressions.binary("<<" if cell.kind == "$shl" else ">>", left, right)

    def _comparison(self, cell: Cell) -> Text:
        is_signed = bool(cell.number("A_SIGNED"))
        width = max(1, *(len(cell.ports[port]) for port in "AB"))
        names = self.enumeration(cell.ports["A"])
        operands = [self.text(extended(cell.ports[port], width, signed=is_signed), names) for port in "AB"]
        if is_signed and cell.kind not in ("$eq", "$ne"):
            operands = [Text(f"$signed({each.text})") for each in operands]
        return expressions.binary(_COMPARISONS[cell.kind], *operands)

    def enumeration(self, value: Value) -> Mapping[int, str]:
        """The names of the values of a signal; of part of one there are none."""
        wire = only_wire(value)
        if not wire or len(value) != self._circuit.wires[wire].width:
            return {}
        attributes, prefix = self._circuit.wires[wire].attributes, "enum_value_"
        return {
            int(name.removeprefix(prefix), 2): f"{attributes['enum_base_type']}_{value}".upper()
            for name, value in attributes.items()
            if name.startswith(prefix)
        }
