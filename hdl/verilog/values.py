# SPDX-License-Identifier: BSD-2-Clause
"""The values of a module as expressions: what is used once stands where it is used, what is used again has a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.build import SHIFTS
from utf8fpga.hdl.verilog.circuit import Circuit, is_anonymous, memory_of
from utf8fpga.hdl.verilog.expressions import Text
from utf8fpga.hdl.verilog.identifiers import Names, plain_identifier
from utf8fpga.hdl.verilog.rtlil import Cell, Constant, Part, Slice, Value, extended, joined, sliced, width_of
from utf8fpga.model import REPLACEMENT_CHARACTER

_BITWISE = {"$and": "&", "$or": "|", "$xor": "^"}
"""Operators of which each bit of the result depends on the same bit of the operands only."""

_ARITHMETIC = {"$add": "+", "$sub": "-", "$mul": "*"}
"""Operators of which the low bits of the result depend on the low bits of the operands only."""

_COMPARISONS = {"$eq": "==", "$ne": "!=", "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}

_LIMITS = {"$gt": ("1", "0"), "$le": ("1", "1"), "$lt": ("0", "0"), "$ge": ("0", "1")}
"""By comparison the bit of the constants at its right with which the result is always the same, and this."""

_REDUCTIONS = {"$reduce_and": "&", "$reduce_or": "|", "$reduce_bool": "|", "$reduce_xor": "^"}

_WORDS = {"$add": "plus", "$sub": "minus", "$mul": "times", "$eq": "is", "$mux": "selected", "$reduce_bool": "any"}
"""The words for operators in the names of results; the others have their own."""

_SMALL = 4
"""The size of an expression that is written again in each place where it is used."""

_LARGE = 24
"""The size of an expression that has a name of its own, however often it is used."""


class Values:
    """The expressions of a module.

    Attributes:
        shared: the results of operators and memories that are wires, by the names that RTLIL gave them.
        constants: the named constants that were used, by name.
        read: the bits that were read, as a mask for each signal.
    """

    def __init__(self, circuit: Circuit, uses: Counter[str]) -> None:
        self.names = Names()
        self.shared: dict[str, None] = {}
        self.constants: dict[str, str] = {}
        self.read: dict[str, int] = {}
        self._circuit, self._uses = circuit, uses
        self._chosen: dict[str, str] = {}
        self._results: dict[Slice, Text] = {}

    def named(self, wire: str) -> str:
        """The name of a signal or a memory in Verilog."""
        if wire not in self._chosen:
            source = self._name_of_result(wire) if is_anonymous(wire) else wire
            short = re.sub(r"\$\d+$", "", source).replace("__payload", "")
            self._chosen[wire] = self.names.take(plain_identifier(short))
        return self._chosen[wire]

    def written(self, text: Text) -> str:
        """An expression with names, whose bits are read."""
        for bits in text.slices:
            self.note(bits)
        return text.filled(self.bits)

    def note(self, bits: Slice) -> None:
        """Note that bits are read."""
        self.read[bits.wire] = self.read.get(bits.wire, 0) | ((1 << bits.width) - 1) << bits.start

    def bits(self, bits: Slice) -> str:
        """The text of bits of a signal."""
        name = self.named(bits.wire)
        if bits.width == self._circuit.wires[bits.wire].width:
            return name
        return f"{name}[{bits.start}]" if bits.width == 1 else f"{name}[{bits.start + bits.width - 1}:{bits.start}]"

    def text(self, value: Value, constants: Mapping[str, str] | None = None) -> Text:
        """The expression of a value.

        Args:
            constants: the names of values that it may be.
        """
        if len(value) == 1:
            return self._part(value[0], constants or {})
        return expressions.concatenation([self._part(part, {}) for part in value])

    def definition(self, wire: str) -> Text:
        """The expression of the result of an operator or a memory."""
        if wire in self._circuit.reads:
            cell = self._circuit.reads[wire]
            return expressions.indexed(self.named(memory_of(cell)), self.text(cell.ports["ADDR"]))
        return self._operation(self._circuit.operators[wire], 0, self._circuit.wires[wire].width, {})

    def _part(self, part: Part, constants: Mapping[str, str]) -> Text:
        if isinstance(part, Constant):
            return self.constant(part.bits, constants)
        if is_anonymous(part.wire) and part.wire in self._circuit.connections:
            whole = joined(piece for _, value in self._circuit.connections[part.wire] for piece in value)
            return self.text(sliced(whole, part.start, part.width), constants)
        if part.wire not in self._circuit.operators and part.wire not in self._circuit.reads:
            return expressions.reference(part)
        if part.wire not in self.shared and (text := self._inserted(part, constants)):
            return text
        self.shared[part.wire] = None
        return expressions.reference(part)

    def constant(self, bits: str, names: Mapping[str, str]) -> Text:
        """A constant, by its name if it has one."""
        name = names.get(bits, "")
        is_wide = len(bits) >= REPLACEMENT_CHARACTER.bit_length() and "x" not in bits
        if is_wide and int(bits, 2) == REPLACEMENT_CHARACTER:
            name = "REPLACEMENT_CHARACTER"
        if not name or self.constants.setdefault(name, bits) != bits:
            return expressions.constant(bits)
        return Text(self.named(name), size=0)

    def _inserted(self, part: Slice, constants: Mapping[str, str]) -> Text | None:
        """The operation whose result bits are, unless it has to be a wire."""
        cell = self._circuit.operators.get(part.wire)
        if cell is None or not self._can_slice(cell, part):
            return None
        if part not in self._results or constants:
            self._results[part] = self._operation(cell, part.start, part.width, constants)
        text = self._results[part]
        is_small = text.size <= _SMALL or (self._uses[part.wire] < 2 and text.size <= _LARGE)
        return text if is_small else None

    def _can_slice(self, cell: Cell, part: Slice) -> bool:
        if part.width == self._circuit.wires[part.wire].width or cell.kind in (*_BITWISE, "$not", "$mux"):
            return True
        return part.start == 0 and cell.kind in (*_ARITHMETIC, "$neg")

    def _operation(self, cell: Cell, start: int, width: int, constants: Mapping[str, str]) -> Text:
        kind, ports = cell.kind, cell.ports

        def operand(port: str, names: Mapping[str, str] | None = None) -> Text:
            """The bits of an operand that the bits of the result depend on."""
            is_signed = cell.parameters.get(f"{port}_SIGNED") in ("1", "1'1")
            return self.text(sliced(extended(ports[port], start + width, signed=is_signed), start, width), names)

        if kind == "$mux":
            return expressions.conditional(self.text(ports["S"]), operand("B", constants), operand("A", constants))
        if kind in ("$not", "$neg"):
            return expressions.unary("~" if kind == "$not" else "-", operand("A"))
        if kind in _BITWISE or kind in _ARITHMETIC:
            return expressions.binary((_BITWISE | _ARITHMETIC)[kind], operand("A"), operand("B"))
        if kind in _REDUCTIONS:
            if not ports["A"]:
                return expressions.constant("1" if kind == "$reduce_and" else "0")
            text = self.text(ports["A"])
            return text if width_of(ports["A"]) == 1 else expressions.unary(_REDUCTIONS[kind], text)
        if kind in SHIFTS:
            return self._shift(cell, operand("A"))
        return self._comparison(cell)

    def _shift(self, cell: Cell, left: Text) -> Text:
        if not cell.ports["B"]:
            return left
        right = self.text(cell.ports["B"])
        if cell.kind == "$sshr":
            # In braces, since outside of them an operand without a sign would make this one without a sign, too.
            text = expressions.binary(">>>", expressions.signed(left), right)
            return Text(f"{{{text.template}}}", text.slices, "", text.size)
        return expressions.binary("<<" if cell.kind == "$shl" else ">>", left, right)

    def _comparison(self, cell: Cell) -> Text:
        is_signed = cell.parameters["A_SIGNED"] in ("1", "1'1")
        width = max(1, *(width_of(cell.ports[port]) for port in "AB"))
        bits, result = _LIMITS.get(cell.kind, ("", ""))
        if bits and not is_signed and cell.ports["B"] == (Constant(bits * width),):
            return expressions.constant(result)
        names = self._enumeration_of(cell.ports["A"])
        operands = [self.text(extended(cell.ports[port], width, signed=is_signed), names) for port in "AB"]
        if is_signed and cell.kind not in ("$eq", "$ne"):
            operands = [expressions.signed(each) for each in operands]
        return expressions.binary(_COMPARISONS[cell.kind], *operands)

    def _enumeration_of(self, value: Value) -> Mapping[str, str]:
        [part] = value if len(value) == 1 else [Constant("")]
        is_whole = isinstance(part, Slice) and part.width == self._circuit.wires[part.wire].width
        return self.enumeration(part.wire) if is_whole and isinstance(part, Slice) else {}

    def enumeration(self, wire: str) -> Mapping[str, str]:
        """The names of the values of a signal by their bits."""
        attributes = self._circuit.wires[wire].attributes
        base = attributes.get("enum_base_type", "")
        prefix = "enum_value_"
        return {
            name.removeprefix(prefix): f"{base}_{value}".upper()
            for name, value in attributes.items()
            if name.startswith(prefix)
        }

    def _name_of_result(self, wire: str) -> str:
        """A name for a result: those of its operands, and the operator between or behind them."""
        if wire in self._circuit.reads:
            return f"{memory_of(self._circuit.reads[wire])}_read"
        cell = self._circuit.operators.get(wire)
        if cell is None:
            return wire.replace("$signature__", "memory_") if "__" in wire else "choice"
        word = _WORDS.get(cell.kind, re.sub(r"^\$(reduce_)?", "", cell.kind))
        operands = [self._name_of(cell.ports[port]) for port in "AB" if port in cell.ports]
        operands = [name for name in dict.fromkeys(operands) if name]
        return f"_{word}_".join(operands) if len(operands) > 1 else "_".join([*operands, word])

    def _name_of(self, value: Value) -> str:
        slices = [part for part in value if isinstance(part, Slice)]
        while slices and is_anonymous(slices[0].wire):
            inner = self._circuit.values_of(slices[0].wire)
            slices = [part for value in inner for part in value if isinstance(part, Slice)]
        return self.named(slices[0].wire) if slices else ""
