# SPDX-License-Identifier: BSD-2-Clause
"""What the golden function of a core says, as logic that the monitors compare with the core.

For a golden function with few states the logic is a table of what it returns in each state for each input symbol, made
by asking it. A decoder has far too many of these (any code point); its reference is `DecoderReference`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.hdl import Core, CoreEntry
from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.golden import FiniteGolden

_MOST_STATES = 64
_MOST_BITS = 8


class Event:
    """An event that a beat causes, or does not."""

    def __init__(self, word: data.StructLayout) -> None:
        self.valid = Signal()
        self.word = Signal(word)


class Followed(NamedTuple):
    """A reference that follows the input of a core.

    Attributes:
        events: in their order, what the beat at the input causes if it is accepted; not all are `valid`.
        determined: with that beat all events are determined: no sequence is open after it.
        conditions: by name what can be true of the state or of the beat, for covers.
    """

    events: list[Event]
    determined: Value
    conditions: dict[str, Value]


class CoreReference:
    """How a core is compared with its golden function.

    Attributes:
        word: the layout of an event; its field `end` says that the packet ends, the others are 0 then.
        covers: the names in `Followed.conditions`.
        events_per_symbol: upper bound on the events that an input symbol causes.
    """

    word: data.StructLayout
    covers: Sequence[str] = ()
    events_per_symbol: int = 2

    def follow(self, m: Module, symbols: Sequence[tuple[Value, Value]], last: Value, accepted: Value) -> Followed:
        """The reference, as a part of a module.

        Args:
            symbols: of the beat at the input, per lane the symbol and whether it is present, from the first lane on.
            last: the packet ends after the beat.
            accepted: the beat is transferred in this cycle.
        """
        raise NotImplementedError

    def observe(self, word: Any, symbol: Any) -> list[Any]:
        """The assignments to an event of what is defined of an output symbol."""
        raise NotImplementedError

    def is_consistent(self) -> Value:
        """Whether the registers of the core are in a state that can occur: what a drain does not show of them."""
        return Const(1, 1)

    def end(self, m: Module, last: Value) -> Event:
        """The event of the end of a packet."""
        event = Event(self.word)
        m.d.comb += [event.valid.eq(last), event.word.end.eq(1)]
        return event


class PassReference(CoreReference):
    """The reference of a core whose output symbols are its input symbols, such as a remover."""

    def __init__(self, core: Core) -> None:
        self.word = data.StructLayout({"end": 1, "value": len(Value.cast(core.input.payload.symbols[0]))})

    def follow(self, m: Module, symbols: Sequence[tuple[Value, Value]], last: Value, accepted: Value) -> Followed:
        events = []
        for symbol, keep in symbols:
            events.append(Event(self.word))
            m.d.comb += [events[-1].valid.eq(keep), events[-1].word.value.eq(Value.cast(symbol))]
        return Followed([*events, self.end(m, last)], Const(1, 1), {})

    def observe(self, word: Any, symbol: Any) -> list[Any]:
        return [word.value.eq(Value.cast(symbol))]


class FiniteReference(CoreReference):
    """The reference of a core whose golden function has few states.

    Raises:
        InvalidArgumentError: the golden function is no `FiniteGolden`, has more than 64 states, or symbols are wider
            than 8 bits.
    """

    def __init__(self, core: Core, entry: CoreEntry[Any]) -> None:
        golden = entry.golden()
        given, made = (Value.cast(stream.payload.symbols[0]) for stream in (core.input, core.output))
        message = f"the proofs have no reference for {entry.parameters.core}: its states are too many"
        if not isinstance(golden, FiniteGolden) or len(given) > _MOST_BITS:
            raise InvalidArgumentError(message)
        self.word = data.StructLayout({"end": 1, "value": len(made)})
        self._bits = len(given)
        self._states: list[Hashable] = [golden.getstate()]
        self._steps: list[list[tuple[tuple[int, ...], int]]] = []
        """By the number of a state and by symbol: the values of the output symbols, and the next state's number."""
        self._ends: list[tuple[int, ...]] = []
        """By the number of a state: the values of the output symbols at the end of the packet."""
        while len(self._steps) < len(self._states):
            if len(self._states) > _MOST_STATES:
                raise InvalidArgumentError(message)
            state = self._states[len(self._steps)]
            self._steps.append([self._step(golden, state, symbol) for symbol in range(1 << self._bits)])
            golden.setstate(state)
            self._ends.append(tuple(symbol.value for symbol in golden.process((), final=True)))

    def _step(self, golden: FiniteGolden, state: Hashable, symbol: int) -> tuple[tuple[int, ...], int]:
        golden.setstate(state)
        values = tuple(each.value for each in golden.process((symbol,)))
        after = golden.getstate()
        if after not in self._states:
            self._states.append(after)
        return values, self._states.index(after)

    def follow(self, m: Module, symbols: Sequence[tuple[Value, Value]], last: Value, accepted: Value) -> Followed:
        state = Signal(range(len(self._states)), name="ref_state")
        now: Value = state
        events: list[Event] = []
        most = max(len(values) for steps in self._steps for values, _ in steps)
        for symbol, keep in symbols:
            made = [self._event(events) for _ in range(most)]
            after = Signal.like(state, name="ref_after")
            m.d.comb += after.eq(now)
            with m.If(keep), m.Switch(now):
                for number, steps in enumerate(self._steps):
                    with m.Case(number), m.Switch(symbol):
                        for value, (values, to) in enumerate(steps):
                            with m.Case(value):
                                m.d.comb += [after.eq(to), *self._given(made, values)]
            now = after
        ends = [self._event(events) for _ in range(max(map(len, self._ends)))]
        with m.If(last), m.Switch(now):
            for number, values in enumerate(self._ends):
                with m.Case(number):
                    m.d.comb += self._given(ends, values)
        with m.If(accepted):
            m.d.sync += state.eq(Mux(last, 0, now))
        return Followed([*events, self.end(m, last)], Const(1, 1), {})

    def _event(self, events: list[Event]) -> Event:
        events.append(Event(self.word))
        return events[-1]

    def _given(self, events: Sequence[Event], values: Sequence[int]) -> list[Any]:
        pairs = zip(events, values, strict=False)
        return [assignment for event, value in pairs for assignment in (event.valid.eq(1), event.word.value.eq(value))]

    def observe(self, word: Any, symbol: Any) -> list[Any]:
        return [word.value.eq(symbol)]
