# SPDX-License-Identifier: BSD-2-Clause
"""What each core is expected to output, as gates: the symbols that a beat determines, from the reference's items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.hdl import CoreEntry
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.model import EncodingTable
from utf8fpga.model.encodings import Encoding
from utf8fpga.sim.reference import Encoded, Item, Reference, how_many


class Expected(NamedTuple):
    """A symbol, or the end of a text if `symbol` is 0, that is expected if `valid` is 1."""

    valid: Value
    symbol: Value


class Accepted:
    """The beats at the input of a core, and what it is to output for them.

    Args:
        accepted: a beat is transferred in this cycle.
    """

    def __init__(self, m: Module, core: Any, entry: CoreEntry[Any], accepted: Value) -> None:
        self._m, self._accepted = m, accepted
        self._entry: Any = entry
        self._beat, self._shape = core.input.payload, symbol_shape(core.output)

    def symbols(self) -> list[Expected]:
        """The symbols for the beat at the input, in order, if it is accepted."""
        makers: dict[str, Callable[[], Iterator[Expected]]] = {
            "decoder": self._decoded,
            "encoder": self._encoded,
            "transcoder": self._transcoded,
            "sanitizer": self._sanitized,
            "validator": self._reported,
            "remover": self._kept,
        }
        return list(makers[self._entry.parameters.core]())

    def _symbol(self, **fields: Value | int) -> Value:
        """An output symbol; fields that it does not have are left out."""
        symbol: Any = Signal(self._shape)
        known = self._shape.members if isinstance(self._shape, data.StructLayout) else {}
        self._m.d.comb += [Value.cast(symbol[name]).eq(value) for name, value in fields.items() if name in known]
        return Value.cast(symbol)

    def _items(self, table: EncodingTable, encoding: Encoding | None = None) -> list[Item]:
        """The items of a table."""
        lanes = [(_swapped(encoding, unit), self._beat.keep[lane]) for lane, unit in enumerate(self._beat.symbols)]
        return Reference(self._m, table, lanes, self._beat.last, self._accepted).items

    def _decoded(self) -> Iterator[Expected]:
        for item in self._items(self._entry.input_table):
            word = item.word
            yield Expected(item.valid, self._symbol(code_point=word.code_point, error=word.error, kind=word.kind))

    def _units(self, valid: Value, encoded: Encoded, error: Value) -> Iterator[Expected]:
        for place, unit in enumerate(encoded.units):
            symbol = self._symbol(unit=_swapped(self._entry.target, unit), error=error)
            yield Expected(valid & (place < encoded.number), symbol)

    def _encoded(self) -> Iterator[Expected]:
        for lane, word in enumerate(self._beat.symbols):
            encoded = Encoded(self._m, self._entry.target.table, word)
            yield from self._units(self._beat.keep[lane], encoded, ~encoded.known)

    def _transcoded(self) -> Iterator[Expected]:
        source = self._entry.source
        for item in self._items(source.table, source):
            encoded = Encoded(self._m, self._entry.target.table, item.word.code_point)
            yield from self._units(item.valid, encoded, item.word.error)

    def _sanitized(self) -> Iterator[Expected]:
        replaces = self._entry.parameters.replace_with == "question-mark"
        for item in self._items(self._entry.input_table):
            error = item.word.error
            for place, unit in enumerate(item.units):
                symbol = self._symbol(unit=Mux(error & replaces, ord("?"), unit), error=error)
                yield Expected(item.valid & (len(item.units) - place <= item.length), symbol)

    def _reported(self) -> Iterator[Expected]:
        m, beat, items = self._m, self._beat, self._items(self._entry.input_table)
        before: Any = Signal(self._shape, init={"well_formed": 1})
        after: Any = Signal(self._shape)
        m.d.comb += [
            after.eq(before),
            after.units.eq(before.units + how_many(beat.keep)),
            after.code_points.eq(before.code_points + how_many(item.valid for item in items)),
            after.errors.eq(before.errors + how_many(item.valid & item.word.error for item in items)),
        ]
        for item in reversed(items):
            with m.If(before.well_formed & item.valid & item.word.error):
                start = before.units + item.stop - item.length
                m.d.comb += [after.well_formed.eq(0), after.offset.eq(start)]
                m.d.comb += Value.cast(after.kind).eq(item.word.kind)
        with m.If(self._accepted):
            m.d.sync += Value.cast(before).eq(Mux(beat.last, Value.cast(before).init, after))
        yield Expected(beat.last, Value.cast(after))

    def _kept(self) -> Iterator[Expected]:
        for lane, symbol in enumerate(self._beat.symbols):
            yield Expected(self._beat.keep[lane], Value.cast(symbol))


def _swapped(encoding: Encoding | None, unit: Any) -> Any:
    return Cat(unit[8:], unit[:8]) if encoding and encoding.is_swapped else unit
