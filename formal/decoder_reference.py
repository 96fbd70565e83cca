# SPDX-License-Identifier: BSD-2-Clause
"""How a decoder is compared with the DFA of its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.formal.encoder_reference import EncoderReference
from utf8fpga.formal.helpers import named
from utf8fpga.formal.invariants.each_unit import is_consistent
from utf8fpga.formal.reference import CoreReference, Event, FiniteReference, Followed, PassReference
from utf8fpga.formal.reference_dfa import Reference, causes, event_layout
from utf8fpga.hdl import (
    Core,
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    TranscoderParameters,
    parameters_of,
)
from utf8fpga.model import DFA, EncodingTable, ErrorKind
from utf8fpga.model.practices import BLOCKS_BY_FIRST_BYTE, Practice


def reference_of(core: Any, table: EncodingTable | None = None) -> CoreReference:
    """The reference of a core.

    Args:
        table: of a decoder or encoder, the table that it is compared with; default: its own.
    """
    if hasattr(core, "reference"):
        found: CoreReference = core.reference(table)
        return found
    parameters = parameters_of(core)
    return _REFERENCES.get(type(parameters), _finite)(core, parameters, table)


def _finite(core: Core, parameters: CoreParameters, _table: EncodingTable | None) -> CoreReference:
    return FiniteReference(core, parameters)


class DecoderReference(CoreReference):
    """The reference of a decoder, see `reference_dfa.Reference`.

    Args:
        decoder: a decoder, whose optional fields are compared.
    """

    def __init__(self, decoder: Any, table: EncodingTable) -> None:
        self._parameters, self.table = decoder.parameters, table
        self.word = event_layout(table)
        states = [f"state {state.name}" for state in DFA.of(table).states[1:]]
        self.covers = [*(kind.name for kind in self._possible()), *states, "broken across beats"]

    def _possible(self) -> list[ErrorKind]:
        """The causes that are possible with the table."""
        known = causes(self.table)
        found = {kind for kinds in [known.stray, *known.broken.values()] for kind in kinds if kind}
        return sorted(ErrorKind(kind) for kind in found | {ErrorKind.INCOMPLETE})

    def follow(self, m: Module, symbols: Sequence[tuple[Value, Value]], last: Value, accepted: Value) -> Followed:
        """See `CoreReference.follow`; the fields of the events are those that this decoder has and defines."""
        reference = Reference(m, self.table, symbols, last, accepted)
        valid = self._valid(m, reference, accepted)
        events = [self._event(m, *each) for each in zip(reference.events, valid, strict=True)]
        return Followed(events, last | (reference.state_after == 0), self._conditions(reference, accepted))

    def _valid(self, m: Module, reference: Reference, accepted: Value) -> list[Value]:
        """Per event of the reference, whether the decoder has it."""
        return [event.valid for event in reference.events]

    def _event(self, m: Module, expected: Event, valid: Value) -> Event:
        parameters, event = self._parameters, Event(self.word)
        m.d.comb += event.valid.eq(valid)
        m.d.comb += [event.word[str(name)].eq(expected.word[str(name)]) for name, _ in expected.word.shape()]
        if not parameters.replacement:
            with m.If(expected.word.error):
                m.d.comb += event.word.code_point.eq(0)
        if not parameters.kind:
            m.d.comb += event.word.kind.eq(0)
        if not parameters.length:
            m.d.comb += event.word.length.eq(0)
        return event

    def _conditions(self, reference: Reference, accepted: Value) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for kind in self._possible():
            here = [event.valid & (event.word.kind == kind) for event in reference.events]
            found[kind.name] = accepted & Cat(*here).any()
        for number, state in enumerate(DFA.of(self.table).states[1:], 1):
            found[f"state {state.name}"] = reference.state == number
        found["broken across beats"] = accepted & (reference.state != 0) & reference.events[0].valid
        return found

    def observe(self, word: Any, symbol: Any) -> list[Any]:
        parameters = self._parameters
        undefined = Const(0, 1) if parameters.replacement else symbol.error
        fields = [word.error.eq(symbol.error), word.code_point.eq(Mux(undefined, 0, symbol.code_point))]
        if parameters.kind:
            fields.append(word.kind.eq(Value.cast(symbol.kind)))
        if parameters.length:
            fields.append(word.length.eq(symbol.length))
        return fields


class PracticeReference(DecoderReference):
    """The reference of a decoder with one lane under a practice that merges or drops marks.

    What is dropped follows from the words of `Practice`. A merged mark is in the place of its first maximal subpart.
    """

    def __init__(self, decoder: Any, table: EncodingTable) -> None:
        super().__init__(decoder, table)

    def _valid(self, m: Module, reference: Reference, accepted: Value) -> list[Value]:
        if self._parameters.practice is Practice.MALFORMED_SEQUENCE:
            return self._first_of_malformed(m, reference, accepted)
        is_first = self._parameters.practice is Practice.FIRST_ERROR
        marked = Signal(name="marked")
        now: Value = marked
        found = []
        for event in reference.events:
            word = event.word
            # No error precedes the event in its packet, or the packet ends; or it is no error, or the one before none.
            found.append(event.valid & ((word.end if is_first else ~word.error) | ~now))
            now = Mux(event.valid, ~word.end & (now | word.error) if is_first else word.error, now)
        with m.If(accepted):
            m.d.sync += marked.eq(now)
        return found

    @staticmethod
    def _first_of_malformed(m: Module, reference: Reference, accepted: Value) -> list[Value]:
        """The event is no error, or begins with a unit that the mark before it does not announce."""
        (trail,) = {each for blocks in BLOCKS_BY_FIRST_BYTE.values() for each in blocks[1:]}
        owed = Signal(range(max(map(len, BLOCKS_BY_FIRST_BYTE.values()))), name="owed")
        now: Value = owed
        found = []
        for number, (event, units) in enumerate(zip(reference.events, reference.units, strict=True)):
            first, length = units[0] if units else Const(0, 8), event.word.length
            goes_on = event.word.error & (now != 0) & (first >= trail.first) & (first <= trail.last)
            found.append(event.valid & ~goes_on)
            announced: Value = Const(1)
            for lead, blocks in BLOCKS_BY_FIRST_BYTE.items():
                announced = Mux(first == lead, len(blocks), announced)
            more = Mux(announced > length, (announced - length)[: len(owed)], 0)
            after = Mux(goes_on, now - 1, Mux(event.word.error, more, 0))
            now = named(m, f"owed_{number}", Mux(event.valid, after, now), len(owed))
        with m.If(accepted):
            m.d.sync += owed.eq(now)
        return found


class EachUnitReference(DecoderReference):
    """The reference of a decoder with one mark for each ill-formed unit, which is not U+FFFD.

    Args:
        table: the table that it is compared with; sequences of an escape's code points are ill-formed.
    """

    def __init__(self, decoder: Any, table: EncodingTable) -> None:
        super().__init__(decoder, decoder.parameters.replace_with.without_escapes(table))
        self.events_per_symbol = 2 * (table.longest - 1)
        self._stages = decoder.stages

    def is_consistent(self) -> Value:
        return is_consistent(self._stages["marker"], self._reference, self._stages["decoder"])

    def follow(self, m: Module, symbols: Sequence[tuple[Value, Value]], last: Value, accepted: Value) -> Followed:
        self._reference = reference = Reference(m, self.table, symbols, last, accepted)
        points = self._parameters.replace_with.code_points
        events = []
        for expected, units in zip(reference.events, reference.units, strict=True):
            word = expected.word
            # What completes a sequence is one item; what is ill-formed by itself is one unit.
            marked = units[:1] if len(units) == self.table.longest else units
            for valid, unit in each_unit(expected, marked) or [(expected.valid, Const(0, 8))]:
                event = Event(self.word)
                point = points.first + (unit & len(points) - 1)
                m.d.comb += [
                    event.valid.eq(valid),
                    event.word.end.eq(word.end),
                    event.word.error.eq(word.error),
                    event.word.code_point.eq(Mux(word.error, point, word.code_point)),
                ]
                events.append(event)
        return Followed(events, last | (reference.state_after == 0), self._conditions(reference, accepted))


def each_unit(event: Event, units: Sequence[Value]) -> list[tuple[Value, Value]]:
    """For each unit of an event of `Reference` whether there is one, and the unit."""
    return [(event.valid & (event.word.length > place), unit) for place, unit in enumerate(units)]


class InPlaceReference(EncoderReference):
    """The reference of a sanitizer in place: each unit is output, or what replaces it."""

    def __init__(self, core: Any, parameters: TranscoderParameters, table: EncodingTable | None) -> None:
        super().__init__(parameters.target, table)
        self._marker = core.stages["marker"]
        self._replacement = parameters.replace_with
        self.events_per_symbol = 3 * self._table.longest

    def is_consistent(self) -> Value:
        return is_consistent(self._marker, self._reference)

    def follow(self, m: Module, symbols: Sequence[tuple[Value, Value]], last: Value, accepted: Value) -> Followed:
        units = [(self.in_order(symbol), keep) for symbol, keep in symbols]
        self._reference = reference = Reference(m, self._table, units, last, accepted)
        (made,) = self._table.encode(self._replacement.code_points.first)
        events = []
        for expected, given in zip(reference.events, reference.units, strict=True):
            for valid, unit in each_unit(expected, given):
                events.append(Event(self.word))
                m.d.comb += [
                    events[-1].valid.eq(valid),
                    events[-1].word.unit.eq(Mux(expected.word.error, made, unit)),
                    events[-1].word.error.eq(expected.word.error),
                ]
        return Followed([*events, self.end(m, last)], Const(1, 1), {})


def _of_decoder(decoder: Any, table: EncodingTable) -> DecoderReference:
    if not decoder.parameters.has_plain_marks:
        return EachUnitReference(decoder, table)
    is_plain = decoder.parameters.practice in (Practice.MAXIMAL_SUBPARTS, Practice.EACH_UNIT)
    return (DecoderReference if is_plain else PracticeReference)(decoder, table)


_REFERENCES: dict[type[CoreParameters], Callable[[Any, Any, EncodingTable | None], CoreReference]] = {
    DecoderParameters: lambda core, parameters, table: _of_decoder(core, table or parameters.table),
    TranscoderParameters: lambda core, parameters, table: InPlaceReference(core, parameters, table),
    EncoderParameters: lambda core, parameters, table: EncoderReference(parameters.target, table, parameters.unescape),
    RemoverParameters: lambda core, parameters, table: PassReference(core),
}
"""The references of cores whose golden functions have many states, by the class of the parameters."""
