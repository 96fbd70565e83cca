# SPDX-License-Identifier: BSD-2-Clause
"""How a decoder is compared with the DFA of its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value

from utf8fpga.formal.encoder_reference import EncoderReference
from utf8fpga.formal.reference import CoreReference, Event, FiniteReference, Followed, PassReference
from utf8fpga.formal.reference_dfa import Reference, causes, event_layout
from utf8fpga.hdl import (
    Core,
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    entry_of,
    parameters_of,
)
from utf8fpga.model import DFA, EncodingTable, ErrorKind
from utf8fpga.model.encodings import encoding_named


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
    return FiniteReference(core, entry_of(parameters))


class DecoderReference(CoreReference):
    """The reference of a decoder, see `reference_dfa.Reference`.

    Args:
        decoder: a decoder, whose optional fields are compared.
    """

    def __init__(self, decoder: Any, table: EncodingTable) -> None:
        self._parameters, self.table = decoder.parameters, table
        # That of a transcoder may leave the code points of ill-formed items undefined.
        self._replacement = getattr(decoder, "replacement", True)
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
        if not self._replacement:
            with m.If(expected.word.error):
                m.d.comb += event.word.code_point.eq(0)
        if not parameters.kind:
            m.d.comb += event.word.kind.eq(0)
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
        undefined = Const(0, 1) if self._replacement else symbol.error
        fields = [word.error.eq(symbol.error), word.code_point.eq(Mux(undefined, 0, symbol.code_point))]
        if parameters.kind:
            fields.append(word.kind.eq(Value.cast(symbol.kind)))
        return fields


_REFERENCES: dict[type[CoreParameters], Callable[[Any, Any, EncodingTable | None], CoreReference]] = {
    DecoderParameters: lambda core, parameters, table: DecoderReference(core, table or parameters.table),
    EncoderParameters: lambda core, parameters, table: EncoderReference(encoding_named(parameters.to), table),
    RemoverParameters: lambda core, parameters, table: PassReference(core),
}
"""The references of cores whose golden functions have many states, by the class of the parameters."""
