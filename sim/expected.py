# SPDX-License-Identifier: BSD-2-Clause
"""What each core is expected to output, as gates: the symbols that a beat determines, from the reference's items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.hdl import CoreEntry
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.parameters import (
    CoreParameters,
    EncoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
)
from utf8fpga.model import EncodingTable
from utf8fpga.model.encodings import Encoding
from utf8fpga.sim.encoder_reference import Encoded
from utf8fpga.sim.reference import Event, Reference, how_many


class Expected(NamedTuple):
    """A symbol, or the end of a text if `symbol` is 0, that is expected if `valid` is 1."""

    valid: Value
    symbol: Value


class Accepted(NamedTuple):
    """The beats at the input of a core.

    Attributes:
        beat: the payload.
        accepted: it is transferred in this cycle.
        shape: the shape of an output symbol.
    """

    m: Module
    entry: Any
    beat: Any
    accepted: Value
    shape: Any

    def symbol(self, **fields: Value | int) -> Value:
        """An output symbol; fields that it does not have are left out."""
        symbol: Any = Signal(self.shape)
        known = self.shape.members if isinstance(self.shape, data.StructLayout) else {}
        self.m.d.comb += [Value.cast(symbol[name]).eq(value) for name, value in fields.items() if name in known]
        return Value.cast(symbol)

    def items(self, table: EncodingTable, swapped: Callable[[Any], Any] = lambda unit: unit) -> list[Event]:
        """The items of a table, and the end of the text."""
        lanes = [(swapped(symbol), self.beat.keep[lane]) for lane, symbol in enumerate(self.beat.symbols)]
        return Reference(self.m, table, lanes, self.beat.last, self.accepted).events


def expected_symbols(m: Module, core: Any, entry: CoreEntry[Any], accepted: Value) -> list[Expected]:
    """The symbols that a core is to output for the beat at its input, in order, if it is accepted."""
    given = Accepted(m, entry, core.input.payload, accepted, symbol_shape(core.output))
    return list(_MAKERS.get(type(entry.parameters), _decoded)(given))


def _decoded(given: Accepted) -> Iterator[Expected]:
    for item in given.items(given.entry.input_table)[:-1]:
        fields = {name: item.word[name] for name in ("code_point", "error", "kind")}
        yield Expected(item.valid, given.symbol(**fields))


def _swapped(encoding: Encoding, unit: Value) -> Value:
    return Cat(unit[8:], unit[:8]) if encoding.is_swapped else unit


def _encoded(given: Accepted) -> Iterator[Expected]:
    for lane, word in enumerate(given.beat.symbols):
        encoded = Encoded(given.m, given.entry.target.table, word)
        yield from _units(given, given.beat.keep[lane], encoded, ~encoded.known)


def _units(given: Accepted, valid: Value, encoded: Encoded, error: Value) -> Iterator[Expected]:
    for place, unit in enumerate(encoded.units):
        symbol = given.symbol(unit=_swapped(given.entry.target, unit), error=error)
        yield Expected(valid & (place < encoded.number), symbol)


def _transcoded(given: Accepted) -> Iterator[Expected]:
    entry = given.entry
    for item in given.items(entry.source.table, lambda unit: _swapped(entry.source, unit))[:-1]:
        encoded = Encoded(given.m, entry.target.table, item.word.code_point)
        yield from _units(given, item.valid, encoded, item.word.error)


def _sanitized(given: Accepted) -> Iterator[Expected]:
    replacement = None if given.entry.parameters.replace_with != "question-mark" else ord("?")
    for item in given.items(given.entry.input_table)[:-1]:
        error = item.word.error
        for place, unit in enumerate(item.units):
            kept = unit if replacement is None else Mux(error, replacement, unit)
            yield Expected(item.valid & (place < item.length), given.symbol(unit=kept, error=error))


def _reported(given: Accepted) -> Iterator[Expected]:
    m, beat = given.m, given.beat
    *items, _ = given.items(given.entry.input_table)
    before: Any = Signal(given.shape, init={"well_formed": 1})
    after: Any = Signal(given.shape)
    m.d.comb += [
        after.eq(before),
        after.units.eq(before.units + how_many(beat.keep)),
        after.code_points.eq(before.code_points + how_many(item.valid for item in items)),
        after.errors.eq(before.errors + how_many(item.valid & item.word.error for item in items)),
    ]
    with m.If(before.well_formed):
        for item in reversed(items):
            with m.If(item.valid & item.word.error):
                start = before.units + item.stop - item.length
                m.d.comb += [after.well_formed.eq(0), after.offset.eq(start)]
                m.d.comb += Value.cast(after.kind).eq(item.word.kind)
    with m.If(given.accepted):
        m.d.sync += Value.cast(before).eq(Mux(beat.last, Value.cast(before).init, after))
    yield Expected(beat.last, Value.cast(after))


def _kept(given: Accepted) -> Iterator[Expected]:
    for lane, symbol in enumerate(given.beat.symbols):
        yield Expected(given.beat.keep[lane], Value.cast(symbol))


_MAKERS: Mapping[type[CoreParameters], Callable[[Accepted], Iterator[Expected]]] = {
    EncoderParameters: _encoded,
    TranscoderParameters: _transcoded,
    SanitizerParameters: _sanitized,
    ValidatorParameters: _reported,
    RemoverParameters: _kept,
}
"""For each kind of core what it outputs; default: the items of a decoder."""
