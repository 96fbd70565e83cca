# SPDX-License-Identifier: BSD-2-Clause
"""The engine `python`: Amaranth's simulator, which needs no other program and writes waveforms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Value
from amaranth.sim import Simulator

from utf8fpga.hdl import Core
from utf8fpga.sim.beats import Beat, BeatEncoder, StreamOptions, is_null
from utf8fpga.sim.contract import FIELDS, LAST, NONE, NULL, ContractError, fault_text, patience_of, watch

_CLOCK_PERIOD = 10e-9
"""The period of the simulated clock in seconds, which is visible only in waveforms."""


class AmaranthEngine:
    """A core in Amaranth's simulator, elaborated once for any number of runs, one at a time."""

    def __init__(self, core: Core, encode: BeatEncoder) -> None:
        self._core, self._encode = core, encode
        self._simulator = Simulator(core)
        self._simulator.add_clock(_CLOCK_PERIOD)
        self._simulator.add_testbench(self._play)
        self._run: Any = None

    def run(
        self,
        beats: Iterator[Beat],
        options: StreamOptions,
        received: Callable[[int, int, int], None],
        accepted: Callable[[int], None],
        *,
        vcd: Path | None = None,
    ) -> int:
        """Send beats to the core, from its initial state until all texts have ended at the output.

        Args:
            beats: the input beats, read on demand.
            options: the pauses; the other options have no effect on beats.
            received: called with each output beat that is transferred: its payload, the cycle of the transfer, and the
                first cycle in which `valid` was asserted for it.
            accepted: called with the cycle of each transfer at the input, except for null beats.
            vcd: a file for the waveform.

        Returns:
            The length of the run in cycles.

        Raises:
            ContractError: the core violated the stream contract.
        """
        if self._run:
            self._simulator.reset()
        self._run = beats, options, received, accepted
        with self._simulator.write_vcd(str(vcd)) if vcd else nullcontext():
            self._simulator.run()
        return self._cycle

    async def _play(self, ctx: Any) -> None:
        """Transfer all beats."""
        beats, options, received, accepted = self._run
        source, output = self._core.input, self._core.output
        given, payload = Value.cast(source.payload), Value.cast(output.payload)
        last, patience = output.payload.shape()["last"].offset, patience_of(self._core)
        run, cycle, before = SimpleNamespace(**dict.fromkeys(FIELDS, 0)), 0, 0
        beat = next(beats, None)
        while beat is not None or run.open or run.inside:
            run.offered |= beat is not None and not options.input_pauses[cycle % len(options.input_pauses)]
            is_ready = not options.output_pauses[cycle % len(options.output_pauses)]
            # The payload is there before `valid`, which shows whether a core uses it too early.
            ctx.set(given, 0 if beat is None else self._encode(beat))
            ctx.set(source.valid, run.offered)
            ctx.set(output.ready, is_ready)
            is_accepted = bool(run.offered and ctx.get(source.ready))
            is_valid, word = bool(ctx.get(output.valid)), ctx.get(payload)
            kind = NONE if beat is None else NULL if is_null(beat) else LAST * beat[1]
            is_last = bool(word >> last & 1)
            watch(run, cycle, patience, kind, (is_accepted, is_valid, is_ready, word != before, is_last))
            if run.fault:
                raise ContractError(fault_text(run.fault, cycle, patience))
            if is_accepted and beat is not None:
                if kind != NULL:
                    accepted(cycle)
                beat = next(beats, None)
            if is_valid and is_ready:
                received(word, cycle, run.since)
            await ctx.tick()
            before, cycle = word, cycle + 1
        self._cycle = cycle
