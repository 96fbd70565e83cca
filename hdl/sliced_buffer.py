# SPDX-License-Identifier: BSD-2-Clause
"""A buffer of beats in small memories for many lanes, whose control is divided into slices.

In a wide circuit a register reaches the whole of it in one cycle only if it has few loads. So no register but the one
behind `output.ready` has loads in more than one slice: each slice counts its rows, which are announced to it by a tree
of registers, and has its own copy of all decisions.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.fan_out import FanOut, LateReset
from utf8fpga.hdl.memory_buffer import CAPACITY, GROUP, RowBuffer

_SLICE = 16
"""Lanes of a slice of a wide circuit."""

_SPREAD = 2
"""Stages of the tree that announces complete beats to the slices; each slice has one more stage of its own."""


class SliceControl(wiring.Component):
    """The control of a slice: whether there is a row at the front of its memories.

    `ready` has the longest net, so its only loads are registers without a look-up table in front: the input of one and
    the reset of another. Therefore a row that is removed is counted one cycle later.

    Attributes:
        rows: the count of complete rows, those included that were removed in the preceding cycle, as a thermometer: bit
            k is set while there are more than k.
        more, kept: in the preceding cycle there was a row besides the one at the front, or a row arrived; there was one
            that was not removed.

    Ports:
        announced: a row is complete. It is at the front two cycles later, if there is no other.
        ready: the row at the front is removed, if there is one.
        reset: the count becomes 0, if it is asserted for two cycles.
        valid: there is a row at the front, the disjunction of two registers.
    """

    def __init__(self) -> None:
        super().__init__({"announced": In(1), "ready": In(1), "reset": In(1), "valid": Out(1)})
        self.arrives, self.was_ready, self.was_valid, self.more, self.kept = (
            commented(Signal(name=name, reset_less=True), comment)
            for name, comment in (
                ("arrives", "A row is complete."),
                ("was_ready", "ready in the preceding cycle."),
                ("was_valid", "valid in the preceding cycle."),
                ("more", "In the preceding cycle a row arrived, or there was one besides that at the front."),
                ("kept", "In the preceding cycle there was a row that was not removed."),
            )
        )
        self.moved = commented(Signal(name="moved"), "A row was removed in the preceding cycle.")
        self.rows = commented(
            Signal(CAPACITY, name="more_than", reset_less=True),
            "Bit k: there are more than k complete rows, with the one removed in the preceding cycle.",
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arrives, moved, rows = self.arrives, self.moved, self.rows
        m.d.comb += [self.valid.eq(self.more | self.kept), moved.eq(self.was_valid & self.was_ready)]
        # Resets make registers of different slices different functions, so that synthesis does not merge them.
        m.d.sync += [
            arrives.eq(self.announced & ~self.reset),
            self.was_ready.eq(self.ready),
            self.was_valid.eq(self.valid),
            # While there are two rows, one of them was valid in the preceding cycle.
            self.more.eq(arrives | rows[2] | (rows[1] & ~self.was_ready)),
            self.kept.eq(self.valid & ~self.reset),
        ]
        with m.If(self.ready):
            m.d.sync += self.kept.eq(0)
        every = [Const(1, 1), *rows, Const(0, 1)]
        for below, bit, above in zip(every, every[1:-1], every[2:], strict=False):
            m.d.sync += bit.eq(Mux(arrives ^ moved, Mux(arrives, below, above), bit))
        with m.If(self.reset):
            m.d.sync += [register.eq(0) for register in (rows, self.was_ready, self.was_valid, self.more)]
        return m


class SlicedBuffer(RowBuffer):
    """A `RowBuffer` for many lanes: its memories belong to slices of neighbouring lanes, each with its own control.

    Slices do not communicate. They are in the same state in each cycle, since they start in the same state, and since
    complete beats are announced to all in the same cycle.

    Attributes:
        tree: the first stages of the tree that announces complete beats.
        port: the control of `output.valid` and of `inside`.
    """

    latency = 2 + _SPREAD

    drained = 1 + _SPREAD

    def __init__(self, layout: data.StructLayout, *, row_cycles: int, group: int = GROUP) -> None:
        super().__init__(layout, row_cycles=row_cycles, group=group)
        # A narrow circuit has slices of a group, so that there are two or more from 5 lanes on.
        self.slice_lanes = _SLICE if self.lanes >= 2 * _SLICE else group
        slices = -(-self.lanes // self.slice_lanes)
        # A beat may set `arrives` at the end of cycle `row_cycles` + 2 + `_SPREAD` after it was accepted. So two cycles
        # are to spare.
        self.reset = LateReset(max(2, slices + 1), row_cycles + 4 + _SPREAD)
        self.tree = FanOut(_SPREAD, doubles=True)
        self.slices = [SliceControl() for _ in range(slices)]
        self.port = SliceControl()

    def slice_of(self, number: int) -> int:
        """The slice of a memory."""
        return min(number * self.group, self.lanes - 1) // self.slice_lanes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reset = reset = self.reset
        m.submodules.inside, m.submodules.tree, m.submodules.port = self.inside, self.tree, self.port
        resets = reset.copies[len(self.slices) :]
        m.d.comb += self.tree.value.eq(self.tail_valid)
        copies = self.tree.copies
        controls = [self.port, *self.slices]
        for number, control in enumerate(controls):
            if number:
                m.submodules[f"slice_{number - 1}"] = control
            m.d.comb += [
                control.announced.eq(copies[number * len(copies) // len(controls)]),
                control.ready.eq(self.output.ready),
                control.reset.eq(reset.copies[number]),
            ]
        port = self.port
        m.d.comb += [
            self.ready.eq(self._ready),
            self.output.valid.eq(port.valid & ~reset.busy),
            self.late_reset.eq(Cat(resets[1], resets[2])),
            self.inside.reset.eq(resets[3 % len(resets)]),
        ]
        self._accept(m, port.valid & self.output.ready)
        places = [self.slice_of(number) for number in range(len(self.memories))]
        self._divide(m, [(self.slices[place].valid, self.output.ready, reset.copies[1 + place]) for place in places])
        return m
