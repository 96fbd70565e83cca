# SPDX-License-Identifier: BSD-2-Clause
"""The sanitizer: the same units in the same places, with `?` for each unit of an ill-formed subsequence."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from utf8fpga.hdl.beats import fed
from utf8fpga.hdl.fifo_core import FifoCore
from utf8fpga.hdl.packer.packer import Sparse
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.registers import delayed
from utf8fpga.hdl.window import Window, any_of, window_cuts
from utf8fpga.model import EncodingTable


class Sanitizer(FifoCore):
    """Code units in, the same units out in the same lanes of the same beats, with a flag for each ill-formed one.

    A unit is ill-formed unless it belongs to a well-formed sequence of its packet. The length never changes, so there
    is no packer, and the core never stalls by itself.

    Latency: `latency` cycles. A beat with units of a sequence that needs more waits for the next beats, until the
    sequence is complete or ill-formed.

    Structure: a `Window`; the beats whose last units later ones may still complete; a `CreditFifo`.

    Args:
        optimize: ``speed``, or ``area``, a window without registers.
        replacement: the unit in place of each ill-formed one; None: it remains as it is.

    Ports:
        input: stream of `beat_layout`, with code units.
        output: stream of `beat_layout`, with `unit_layout`.

    Raises:
        TableError: the window does not support the table.
    """

    def __init__(self, table: EncodingTable, lanes: int, optimize: str, replacement: int | None) -> None:
        self.replacement, self.width = replacement, table.unit_width
        self.window = Window(table, lanes, window_cuts(lanes, optimize))
        self.waiting_beats = -(-self.window.reach // lanes)
        cycles = self.window.latency + self.waiting_beats + 1
        super().__init__(self.width, unit_layout(self.width), lanes, lanes, cycles)

    def pipeline(self, m: Module, accepted: Value) -> Sparse:
        m.submodules.window = window = self.window
        beat = self.input.payload
        m.d.comb += fed(window, Value.cast(beat.symbols), beat, accepted, prefix="in_")
        return self._mark(m, *self._wait(m))

    def _ends(self) -> list[Value]:
        """By number, the units that complete a sequence of more than so many units."""
        window = self.window
        longer = [getattr(window, f"longer_{bound}") for bound in window.bounds]
        return [window.completed, *(window.completed & more for more in longer)]

    def _wait(self, m: Module) -> tuple[dict[str, Value], Value]:
        """The beats whose units may be part of a sequence that later units complete.

        Returns:
            The values of the oldest beat, and whether it leaves in this cycle.
        """
        window, lanes = self.window, self.lanes
        ends = self._ends()
        well_formed = any_of(end[number:] for number, end in enumerate(ends[:lanes]))
        beat = {"units": window.units, "keep": window.keep, "last": window.last, "well_formed": well_formed}
        valid, moves = window.valid, window.valid
        for beats in range(self.waiting_beats):
            suffix = f"_{beats + 1}_before" if beats else "_before"
            old = {name: Signal(len(value), name=name + suffix, reset_less=True) for name, value in beat.items()}
            old_valid = Signal(name="valid" + suffix)
            old_moves = window.valid | ~self._is_open(m, beats, suffix)
            with m.If(moves):
                m.d.sync += [old_valid.eq(valid), *(old[name].eq(value) for name, value in beat.items())]
            with m.Elif(old_moves):
                m.d.sync += old_valid.eq(0)
            # The newest beat completes sequences whose units are at these distances from it.
            distances = range(beats * lanes + lanes, beats * lanes, -1)
            reaching = [ends[distance : distance + lanes] for distance in distances]
            completed = Cat(any_of(end[lane] for lane, end in enumerate(each)) for each in reaching)
            late = completed & window.valid.replicate(lanes)
            beat = {**old, "well_formed": old["well_formed"] | late}
            valid, moves = old_valid, old_moves
        return beat, valid & moves

    def _is_open(self, m: Module, beats: int, suffix: str) -> Value:
        """Whether a waiting beat, with so many newer ones, has units of a sequence that needs more: so it waits on."""
        window = self.window
        is_open = Signal(name="is_open" + suffix, reset_less=True)
        opens = window.is_open[-1] & ~window.last
        if beats:
            numbers = range(beats * self.lanes + 1, window.reach + 1)
            opens &= any_of(getattr(window, f"number_{number}")[-1] for number in numbers)
        with m.If(window.valid):
            m.d.sync += is_open.eq(opens)
        return is_open

    def _mark(self, m: Module, beat: dict[str, Value], leaves: Value) -> Sparse:
        """The flags of a beat, and a register in front of the FIFO."""
        stored = delayed(m, leaves, "stored", reset_less=False)
        values = {**beat, "error": beat["keep"] & ~beat["well_formed"]}
        entry = {name: delayed(m, values[name], f"entry_{name}") for name in ("units", "error", "keep", "last")}
        # Behind the register, since the error of the last lanes has several look-up tables in front of it.
        words = []
        for lane in range(self.lanes):
            unit, is_error = entry["units"].word_select(lane, self.width), entry["error"][lane]
            if self.replacement is not None:
                unit = Mux(is_error, self.replacement, unit)
            words.append(Cat(unit, is_error))
        return Sparse(words, entry["keep"], entry["last"], stored)
