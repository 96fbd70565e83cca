# SPDX-License-Identifier: BSD-2-Clause
"""A circuit that sends records as characters, which a program for each kind of record determines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.protocol import MARKS
from utf8fpga.boards.record import RecordForm, has_field, is_error
from utf8fpga.boards.wording import Number, Program, Step, Wording
from utf8fpga.hdl.encoder.encoder import in_byte_order
from utf8fpga.model.errors import ErrorKind

_STEP_BITS = 4
"""An entry of the program memory is a character, or bit 8, a step, and in the bits above it the index of a number."""


class TextForm(RecordForm):
    """Each record as characters, which its program determines.

    Throughput: a byte in two cycles if `data` is ready.

    Args:
        symbol: the shape of the core's output symbols; for the steps with units, an item with `length`.

    Attributes:
        steps: the steps that the programs have.
        numbers: the names of the numbers that they send.
        entries: the place of each program in the memory.
    """

    def __init__(self, symbol: Any, wording: Wording) -> None:
        super().__init__(symbol)
        self.wording = wording
        programs = wording.programs()
        used = [step for program in programs.values() for step in program]
        self.numbers = list(dict.fromkeys(step.name for step in used if isinstance(step, Number)))
        self.steps = sorted({Step.DONE, Step.NUMBER, *(step for step in used if isinstance(step, Step))})
        self.uses_units = not {Step.DROP, Step.COPY, Step.UNITS}.isdisjoint(self.steps)
        self.entries: dict[str, int] = {}
        self._code: list[int] = []
        for name, program in programs.items():
            self.entries[name] = len(self._code)
            self._code += self._assembled(program)

    def _assembled(self, program: Program) -> Iterator[int]:
        """The entries of the memory for a program, with bit 8 set in a step."""
        for step in (*program, Step.DONE):
            if isinstance(step, bytes):
                yield from step
            elif isinstance(step, Number):
                yield 1 << 8 | self.numbers.index(step.name) << _STEP_BITS | Step.NUMBER
            else:
                yield 1 << 8 | step

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.code = code = Memory(shape=9, depth=len(self._code), init=self._code)
        machine = _Machine(self, m, code.read_port())
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += machine.place.eq(self.entry())
                if self.uses_units:
                    m.d.sync += machine.units_left.eq(self.records.payload.symbol.length)
                with m.If(self.records.valid):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.next = "STEP"
            with m.State("STEP"):
                with m.If(~machine.is_step), machine.send(self.character(machine.code)):
                    machine.proceed()
                with m.Elif(machine.is_step), m.Switch(machine.step):
                    for step in self.steps:
                        with m.Case(step):
                            getattr(machine, step.name.lower())()
            with m.State("DIGITS"):
                machine.send_digit()
            with m.State("SPACE"), machine.send(self.character(Const(ord(" "), 8))):
                m.next = "STEP"
        return m

    def characters(self, m: Module) -> Any:
        """A stream of code units, whose bytes are sent."""
        encoding = self.wording.encoding
        if encoding is None or encoding.unit_bytes == 1:
            return self.data
        m.submodules.bytes = units = _Bytes(encoding.unit_bytes)
        wiring.connect(m, units.data, wiring.flipped(self.data))
        return units.units

    def character(self, code: Value) -> Value:
        """The code unit of a character of ASCII."""
        encoding = self.wording.encoding
        if encoding is None:
            return code
        return in_byte_order(Cat(code, Const(0, encoding.form.unit_width - len(code))), encoding)

    def number(self, name: str) -> Value:
        """A number, with a multiple of 4 bits."""
        counters = list(self.wording.counters)
        value = self.counters[counters.index(name)] if name in counters else self.records.payload.symbol[name]
        return Cat(value, Const(0, -len(value) % 4))

    def entry(self) -> Value:
        """The place of the program of the record."""
        record = self.records.payload
        of_symbol = Mux(is_error(record.symbol), self.entries["ill-formed"], self.entries["well-formed"])
        places = [of_symbol, *(self.entries[name] for name in _MARKERS)]
        chosen: Value = Array(places)[Value.cast(record.record)]
        return chosen


_MARKERS = ("END", "LOST", "COUNTERS")
"""The names of the markers, in the order of `Record`."""


class _Machine:
    """The registers of a `TextForm`, and what it does in each step.

    Attributes:
        place: the place in the program.
        code, is_step, step: the entry at this place: a character, whether it is a step instead, and which.
        units_left: the units of the item that have not been transferred.
    """

    def __init__(self, form: TextForm, m: Module, port: Any) -> None:
        self._m, self._form, self._symbol = m, form, form.records.payload.symbol
        self.place = Signal(len(port.addr))
        m.d.comb += port.addr.eq(self.place)
        self.code, self.is_step = port.data[:8], port.data[8]
        self.step, self._operand = port.data[:_STEP_BITS], port.data[_STEP_BITS:8]
        self._characters = form.characters(m)
        self.units_left = Signal(self._symbol.length.shape() if form.uses_units else 0)
        self._numbers = [form.number(name) for name in form.numbers]
        self._digits = Signal(max(map(len, self._numbers)))
        """The digits to send, the next one in the most significant position."""
        self._digits_left = Signal(range(len(self._digits) // 4 + 1))

    def proceed(self) -> None:
        """Go to the next entry."""
        self._m.d.sync += self.place.eq(self.place + 1)
        self._m.next = "FETCH"

    def send(self, unit: Value) -> Any:
        """Send a code unit; returns a context for what happens when it is transferred."""
        self._m.d.comb += [self._characters.valid.eq(1), self._characters.payload.eq(unit)]
        return self._m.If(self._characters.ready)

    def _load(self, value: Value, count: int | Value) -> None:
        """Send the digits of a value that are in the most significant positions."""
        self._m.d.sync += [self._digits.eq(value), self._digits_left.eq(count)]
        self._m.next = "DIGITS"

    def _left(self, value: Value, count: int) -> Value:
        """A value with the last digits in the most significant positions."""
        return Cat(Const(0, len(self._digits) - 4 * count), Value.cast(value)[: 4 * count])

    def send_digit(self) -> None:
        """Send a digit, and after the two of a unit a space if there is another unit."""
        m, nibble = self._m, self._digits[-4:]
        with self.send(self._form.character(Mux(nibble < 10, ord("0") + nibble, ord("A") - 10 + nibble))):
            m.d.sync += [self._digits.eq(self._digits << 4), self._digits_left.eq(self._digits_left - 1)]
            with m.If(self._digits_left == 1):
                with m.If((self.step == Step.UNITS) & (self.units_left != 0)):
                    m.next = "SPACE"
                with m.Else():
                    self.proceed()

    # The steps, by their names.

    def done(self) -> None:
        self._m.d.comb += self._form.records.ready.eq(1)
        self._m.next = "IDLE"

    def _transfer_unit(self) -> None:
        self._m.d.sync += self.units_left.eq(self.units_left - 1)
        with self._m.If(self.units_left == 1):
            self.proceed()

    def drop(self) -> None:
        units = self._form.units
        self._m.d.comb += units.ready.eq(1)
        with self._m.If(units.valid):
            self._transfer_unit()

    def copy(self) -> None:
        units = self._form.units
        with self._m.If(units.valid), self.send(units.payload):
            self._m.d.comb += units.ready.eq(1)
            self._transfer_unit()

    def units(self) -> None:
        units = self._form.units
        self._m.d.comb += units.ready.eq(1)
        with self._m.If(units.valid):
            self._m.d.sync += self.units_left.eq(self.units_left - 1)
            self._load(self._left(units.payload, 2), 2)

    def code_point(self) -> None:
        value = self._symbol.code_point
        self._load(self._left(value, 4), 4)
        for count in (5, 6):
            if len(value) > 4 * (count - 1):
                with self._m.If(value[4 * (count - 1) :].any()):
                    self._load(self._left(value, count), count)

    def cause(self) -> None:
        places = [0, *(self._form.entries[kind.name] for kind in sorted(ErrorKind))]
        self._m.d.sync += self.place.eq(Array(places)[Value.cast(self._symbol.kind)])
        self._m.next = "FETCH"

    def unit(self) -> None:
        with self.send(self._symbol.unit if has_field(self._symbol, "unit") else self._symbol):
            self.proceed()

    def mark(self) -> None:
        encoding = self._form.wording.encoding
        assert encoding is not None
        width = encoding.form.unit_width
        with self.send(in_byte_order(Const(MARKS[width], width), encoding)):
            self.proceed()

    def number(self) -> None:
        counts = [len(value) // 4 for value in self._numbers]
        shown = [self._left(value, count) for value, count in zip(self._numbers, counts, strict=True)]
        self._load(Array(shown)[self._operand], Array(counts)[self._operand])


class _Bytes(wiring.Component):
    """Code units in, their bytes out, the low one first.

    Throughput: a byte per cycle.

    Args:
        size: the bytes of a code unit.
    """

    def __init__(self, size: int) -> None:
        super().__init__({"units": In(stream.Signature(8 * size)), "data": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = len(self.units.payload) // 8
        place = Signal(range(size))
        is_last = place == size - 1
        m.d.comb += [
            self.data.valid.eq(self.units.valid),
            self.data.payload.eq(self.units.payload.word_select(place, 8)),
            self.units.ready.eq(self.data.ready & is_last),
        ]
        with m.If(self.data.valid & self.data.ready):
            m.d.sync += place.eq(Mux(is_last, 0, place + 1))
        return m
