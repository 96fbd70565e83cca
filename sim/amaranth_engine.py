# SPDX-License-Identifier: BSD-2-Clause
"""The engine `python`: Amaranth's simulator, which needs no other program and writes waveforms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from amaranth.hdl import Value
from amaranth.sim import Simulator

from utf8fpga.hdl import Core, CoreEntry
from utf8fpga.sim.beats import Beat, BeatEncoder, ContractError, StreamOptions, endless_output, is_null, patience_of
from utf8fpga.sim.engine import Events

_CLOCK_PERIOD = 10e-9
"""The period of the simulated clock in seconds, which is visible only in waveforms."""


class AmaranthEngine:
    """A core in Amaranth's simulator, elaborated once; see `Engine`."""

    def __init__(self, core: Core, entry: CoreEntry[Any]) -> None:
        self._core = core
        self._encode = BeatEncoder(core, entry)
        self._play: Callable[[Any], Any] | None = None

    @cached_property
    def _simulator(self) -> Simulator:
        # Created in the first run, since Python warns of a test bench that is never run.
        simulator = Simulator(self._core)
        simulator.add_clock(_CLOCK_PERIOD)
        simulator.add_testbench(self._testbench)
        return simulator

    async def _testbench(self, ctx: Any) -> None:
        assert self._play is not None
        await self._play(ctx)

    def run(self, beats: Iterator[Beat], events: Events, options: StreamOptions, *, vcd: Path | None = None) -> int:
        """See `Engine.run`."""
        bench = Bench(self._core, self._encode, beats, events)

        async def play(ctx: Any) -> None:
            await bench.play(ctx, options.input_pauses, options.output_pauses)

        if self._play is not None:
            self._simulator.reset()
        self._play = play
        with self._simulator.write_vcd(str(vcd)) if vcd else nullcontext():
            self._simulator.run()
        return bench.clock


@dataclass
class Bench:
    """The drivers of both streams of a core during one run, and the check of the stream contract.

    Attributes:
        encode: the function from its input beats to payloads.
        clock: the number of cycles so far.
    """

    core: Core
    encode: BeatEncoder
    beats: Iterator[Beat]
    events: Events

    clock: int = 0
    offered: bool = False
    idle: int = 0
    """Cycles since the last transfer in which the output was ready and the input was valid or finished."""
    alone: int = 0
    """The same since the last transfer of an input beat."""
    inside: bool = False
    """Whether the last input beat did not end its text."""
    ended: int = 0
    """The number of texts that have ended at the input and not yet at the output."""
    upcoming: Beat | None = None
    waiting: int | None = None
    valid_since: int = 0

    def __post_init__(self) -> None:
        self.patience = patience_of(self.core)
        self.given = Value.cast(self.core.input.payload)
        self.payload = Value.cast(self.core.output.payload)
        self.last = self.core.output.payload.shape()["last"].offset
        self.present()

    def present(self) -> None:
        """Read the next input beat."""
        self.upcoming, self.offered = next(self.beats, None), False
        if self.upcoming is not None:
            self.events.presented([self.upcoming])

    async def play(self, ctx: Any, input_pauses: Sequence[bool], output_pauses: Sequence[bool]) -> None:
        """Transfer all beats.

        Args:
            ctx: a context of Amaranth's simulator, or an object with its methods `get`, `set` and `tick`.

        Raises:
            ContractError: the core violated the stream contract.
        """
        source, output = self.core.input, self.core.output
        while self.upcoming is not None or self.ended or self.inside:
            if self.upcoming is not None and not self.offered and not input_pauses[self.clock % len(input_pauses)]:
                self.offered = True
            ready = not output_pauses[self.clock % len(output_pauses)]
            # The payload is there before `valid`, which shows whether a core uses it too early.
            ctx.set(self.given, 0 if self.upcoming is None else self.encode(self.upcoming))
            ctx.set(source.valid, self.offered)
            ctx.set(output.ready, ready)
            counts = ready and (self.offered or self.upcoming is None)
            self.idle += counts
            self.alone += counts
            self.watch_output(ctx, ready)
            if self.offered and ctx.get(source.ready):
                self.accept()
            if self.ended < 0:
                raise ContractError(f"cycle {self.clock}: last is set at the output before a text has ended")
            if self.idle > self.patience:
                raise ContractError(f"cycle {self.clock}: no beat was transferred for {self.patience} cycles")
            if self.alone > 2 * self.patience:
                raise ContractError(f"cycle {self.clock}: {endless_output(self.patience)}")
            await ctx.tick()
            self.clock += 1

    def watch_output(self, ctx: Any, ready: bool) -> None:
        if not ctx.get(self.core.output.valid):
            if self.waiting is not None:
                raise ContractError(
                    f"cycle {self.clock}: valid was deasserted before the transfer of payload {self.waiting:#x}"
                )
            return
        payload = ctx.get(self.payload)
        if self.waiting is None:
            self.valid_since = self.clock
        elif payload != self.waiting:
            raise ContractError(
                f"cycle {self.clock}: the payload changed from {self.waiting:#x} to {payload:#x} before its transfer"
            )
        self.waiting = payload
        if ready:
            self.events.received(payload, self.clock, self.valid_since)
            self.ended -= payload >> self.last & 1
            self.waiting, self.idle = None, 0

    def accept(self) -> None:
        assert self.upcoming is not None
        _, last = self.upcoming
        if not is_null(self.upcoming):
            self.events.accepted(self.clock)
            self.ended += last
            self.inside = not last
        self.idle = self.alone = 0
        self.present()
