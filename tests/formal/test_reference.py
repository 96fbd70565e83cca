# SPDX-License-Identifier: BSD-2-Clause
"""The reference that is made from a golden function with few states, compared with that function."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from support.benches import run_benches

from utf8fpga.formal.reference import FiniteReference
from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.core import CoreEntry
from utf8fpga.hdl.parameters import CoreParameters
from utf8fpga.model.golden import FiniteGolden, Symbol

LANES = 3
BITS = 2


class Escapes:
    """Symbol 3 escapes the symbol after it, which is inverted; an escape at the end of a packet is a symbol 0."""

    def __init__(self) -> None:
        self._escaped = False

    def process(self, symbols: Iterable[int], final: bool = False) -> list[Symbol]:
        found = []
        for symbol in symbols:
            if self._escaped:
                found.append(Symbol(2, symbol ^ 3))
            elif symbol != 3:
                found.append(Symbol(1, symbol))
            self._escaped = not self._escaped and symbol == 3
        if final:
            found += [Symbol(1, 0)] * self._escaped
            self._escaped = False
        return found

    def getstate(self) -> bool:
        return self._escaped

    def setstate(self, state: bool) -> None:
        self._escaped = state


@dataclass(frozen=True, kw_only=True)
class DummyParameters(CoreParameters):
    core: ClassVar[str] = "dummy"


class DummyEntry(CoreEntry[DummyParameters]):
    def golden(self) -> FiniteGolden:
        return Escapes()


class Dummy(wiring.Component):
    lanes = LANES

    def __init__(self) -> None:
        signature = stream.Signature(beat_layout(BITS, LANES))
        super().__init__({"input": In(signature), "output": Out(signature)})


def followed(beats: list[tuple[list[int], bool]]) -> list[int | None]:
    """The events of the reference: values, and None for the end of a packet."""
    reference, m = FiniteReference(Dummy(), DummyEntry(DummyParameters())), Module()
    symbols = [(Signal(BITS), Signal()) for _ in range(LANES)]
    last, found = Signal(), list[int | None]()
    events = reference.follow(m, symbols, last, Const(1, 1)).events

    async def bench(ctx: Any) -> None:
        for values, ends in beats:
            for lane, (symbol, keep) in enumerate(symbols):
                ctx.set(symbol, values[lane] if lane < len(values) else 1)
                ctx.set(keep, lane < len(values))
            ctx.set(last, ends)
            words = [ctx.get(event.word) for event in events if ctx.get(event.valid)]
            found.extend(None if word.end else word.value for word in words)
            await ctx.tick()

    run_benches(m, bench)
    return found


def test_the_reference_has_the_events_of_the_golden_function() -> None:
    rng = random.Random(1)
    beats = []
    for _ in range(400):
        ends = rng.random() < 0.3
        beats.append(([rng.randrange(4) for _ in range(rng.randrange(LANES + 1) if ends else LANES)], ends))
    golden, expected = Escapes(), list[int | None]()
    for values, ends in beats:
        expected += [symbol.value for symbol in golden.process(values, final=ends)]
        expected += [None] * ends
    assert len(set(expected)) == 5
    assert followed(beats) == expected
