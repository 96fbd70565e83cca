# SPDX-License-Identifier: BSD-2-Clause
"""Chains: circuits joined by streams, and what the whole promises by what each stage promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from amaranth.hdl import Module, Value
from amaranth.lib import stream, wiring

from utf8fpga.hdl.beats import is_effective, lanes_of
from utf8fpga.hdl.core import Stage


class Join(NamedTuple):
    """A connection of two streams of `beat_layout`.

    Attributes:
        symbol: the assignments to a symbol of the target, from one of the source; None: both have the same layout.
        drops_null_beats: `valid` is not asserted for them at the target.
    """

    symbol: Callable[[Any, Any], list[Any]] | None = None
    drops_null_beats: bool = False

    def connect(self, m: Module, source: stream.Interface, target: stream.Interface) -> None:
        """Make the connection in a module."""
        if self == Join():
            wiring.connect(m, source, target)
            return
        given, beat = source.payload, target.payload
        valid = is_effective(source) if self.drops_null_beats else source.valid
        handshake = [target.valid.eq(valid), source.ready.eq(target.ready)]
        if self.symbol is None:
            m.d.comb += [Value.cast(beat).eq(Value.cast(given)), *handshake]
            return
        m.d.comb += [*handshake, beat.keep.eq(given.keep), beat.last.eq(given.last)]
        for lane in range(lanes_of(source)):
            m.d.comb += self.symbol(beat.symbols[lane], given.symbols[lane])


class Chain(wiring.Component):
    """Stages joined by streams, in the order in which a beat passes them.

    Latency: the sum of those of the stages. But in front of a stage that `is_narrow` beats wait, each for as long as
    the beats before it take there; so the cycles in which the stages before it drain count, as often as it has
    `beat_cycles`.

    Args:
        parameters: the parameters of the core, or of the part.
        ports: the streams `input` and `output`.
        joins: by the name of a stage how its input is connected, and for ``output`` how the output is; default for
            each: directly.
    """

    def __init__(
        self,
        parameters: Any,
        stages: Mapping[str, Stage],
        ports: Mapping[str, Any],
        joins: Mapping[str, Join] | None = None,
    ) -> None:
        self.parameters, self.stages, self.joins = parameters, dict(stages), dict(joins or {})
        super().__init__(dict(ports))

    is_elaborated_backwards = False
    """The order of the stages in the netlist, which the recorded figures of a design depend on, by chance."""

    @property
    def lanes(self) -> int:
        """Symbols per input beat."""
        return lanes_of(self.input)

    @property
    def accepts_gaps(self) -> bool:
        """See `CoreEntry.accepts_gaps`: what the first stage accepts."""
        return bool(getattr(next(iter(self.stages.values())), "accepts_gaps", False))

    @property
    def latency(self) -> int:
        """See `Core.latency`."""
        total, drained = 0, 0
        for stage in self.stages.values():
            waited = _beat_cycles(stage) * drained if getattr(stage, "is_narrow", False) else total
            total, drained = waited + stage.latency, drained + stage.drain_cycles
        return total

    @property
    def reset_cycles(self) -> int:
        """See `Core.reset_cycles`: those of the first stage with registers on the way."""
        return next(stage.reset_cycles for stage in self.stages.values() if stage.latency)

    @property
    def stall_cycles(self) -> int:
        """See `Core.stall_cycles`: the stalls of all stages may follow one another."""
        return sum(stage.stall_cycles for stage in self.stages.values())

    @property
    def drain_cycles(self) -> int:
        """See `Core.drain_cycles`: each beat that waits in a stage may take several cycles in those behind it.

        A stage that is not ready has beats at its output, whose transfer is part of its own drain.
        """
        total = 0
        for stage in self.stages.values():
            total = _beat_cycles(stage) * total + stage.drain_cycles
        return total

    def elaborate(self, platform: object) -> Module:
        m = Module()
        *inner, output = self.connections
        order = -1 if self.is_elaborated_backwards else 1
        for name, _, _ in inner[::order]:
            m.submodules[name] = self.stages[name]
        for name, source, target in (*inner[::order], output):
            self.joins.get(name, Join()).connect(m, source, target)
        return m

    @property
    def connections(self) -> list[tuple[str, stream.Interface, stream.Interface]]:
        """For each join its name, and the two streams, as they are seen from inside."""
        stages = self.stages.values()
        sources = [wiring.flipped(self.input), *(stage.output for stage in stages)]
        targets = [*(stage.input for stage in stages), wiring.flipped(self.output)]
        return list(zip([*self.stages, "output"], sources, targets, strict=True))


def _beat_cycles(stage: Stage) -> int:
    return int(getattr(stage, "beat_cycles", 1))
