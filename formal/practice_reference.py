# SPDX-License-Identifier: BSD-2-Clause
"""How a decoder with another practice is compared: some marks of the DFA are dropped.

What is dropped follows from the words of `Practice`. A merged mark is in the place of its first maximal subpart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value

from utf8fpga.formal.decoder_reference import DecoderReference
from utf8fpga.formal.helpers import named
from utf8fpga.formal.reference import Event, Followed
from utf8fpga.formal.reference_dfa import Reference, flag_of
from utf8fpga.model import EncodingTable
from utf8fpga.model.practices import BLOCKS_BY_FIRST_BYTE, Practice


class PracticeReference(DecoderReference):
    """The reference of a decoder under a practice that merges or drops marks.

    Args:
        decoder: the decoder, with one lane.
    """

    def __init__(self, decoder: Any, table: EncodingTable | None = None) -> None:
        super().__init__(decoder, table or decoder.parameters.table)
        self.forgets, self._practice = None, decoder.parameters.practice

    def follow(self, m: Module, symbols: Sequence[tuple[Value, Value]], last: Value, accepted: Value) -> Followed:
        reference = Reference(m, self.table, symbols, last, accepted)
        keeps = {
            Practice.FIRST_ERROR: self._before_first_error,
            Practice.WHOLE_SUBSEQUENCE: self._first_of_subsequence,
            Practice.MALFORMED_SEQUENCE: self._first_of_malformed,
        }
        kept = keeps[self._practice](m, reference, accepted)
        events = [self._event(m, *each) for each in zip(reference.events, kept, strict=True)]
        return Followed(events, last | (reference.state_after == 0), self._conditions(reference, accepted))

    def _event(self, m: Module, expected: Event, is_kept: Value) -> Event:
        """An event of the reference unless it is dropped, with the fields that the decoder has."""
        event, parameters, word = Event(self.word), self._parameters, expected.word
        m.d.comb += [
            event.valid.eq(expected.valid & is_kept),
            event.word.end.eq(word.end),
            event.word.error.eq(word.error),
            event.word.code_point.eq(Mux(word.error & (not parameters.replacement), 0, word.code_point)),
            event.word.kind.eq(word.kind if parameters.kind else 0),
            event.word.length.eq(word.length if parameters.length else 0),
            *(event.word[each.field].eq(flag_of(each, word)) for each in parameters.properties),
        ]
        return event

    @staticmethod
    def _before_first_error(m: Module, reference: Reference, accepted: Value) -> list[Value]:
        """No error precedes the event in its packet, or the packet ends."""
        failed = Signal(name="failed")
        now: Value = failed
        kept = []
        for event in reference.events:
            kept.append(event.word.end | ~now)
            now = Mux(event.valid, ~event.word.end & (now | event.word.error), now)
        with m.If(accepted):
            m.d.sync += failed.eq(now)
        return kept

    @staticmethod
    def _first_of_subsequence(m: Module, reference: Reference, accepted: Value) -> list[Value]:
        """The event is no error, or the one before it is none."""
        marked = Signal(name="marked")
        now: Value = marked
        kept = []
        for event in reference.events:
            kept.append(~event.word.error | ~now)
            now = Mux(event.valid, event.word.error, now)
        with m.If(accepted):
            m.d.sync += marked.eq(now)
        return kept

    @staticmethod
    def _first_of_malformed(m: Module, reference: Reference, accepted: Value) -> list[Value]:
        """The event is no error, or begins with a unit that the mark before it does not announce."""
        (trail,) = {each for blocks in BLOCKS_BY_FIRST_BYTE.values() for each in blocks[1:]}
        owed = Signal(range(max(map(len, BLOCKS_BY_FIRST_BYTE.values()))), name="owed")
        now: Value = owed
        kept = []
        for number, (event, units) in enumerate(zip(reference.events, reference.units, strict=True)):
            first, length = units[0] if units else Const(0, 8), event.word.length
            goes_on = event.word.error & (now != 0) & (first >= trail.first) & (first <= trail.last)
            kept.append(~goes_on)
            announced: Value = Const(1)
            for lead, blocks in BLOCKS_BY_FIRST_BYTE.items():
                announced = Mux(first == lead, len(blocks), announced)
            more = Mux(announced > length, (announced - length)[: len(owed)], 0)
            after = Mux(goes_on, now - 1, Mux(event.word.error, more, 0))
            now = named(m, f"owed_{number}", Mux(event.valid, after, now), len(owed))
        with m.If(accepted):
            m.d.sync += owed.eq(now)
        return kept


@dataclass(frozen=True)
class Practised:
    """Makes a decoder with this reference."""

    build_from: Callable[[Any], Any]

    def __call__(self, table: Any) -> Any:
        decoder = self.build_from(table)
        decoder.reference = partial(PracticeReference, decoder)
        return decoder
