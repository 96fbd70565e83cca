# SPDX-License-Identifier: BSD-2-Clause
"""A buffer of beats in small memories for many lanes, whose control is divided into slices.

In a wide circuit a register reaches the whole of it in one cycle only if it has few loads. So no register but the one
behind `output.ready` has loads in more than one slice: each slice counts its rows, which are announced to it by a tree
of registers, and has its own copy of all decisions.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.fan_out import FanOut, LateReset
from utf8fpga.hdl.memory_buffer import CAPACITY, GROUP, RowBuffer

__all__ = ["SliceControl", "SlicedBuffer"]

_SLICE = 8
"""Lanes of a slice of a wide circuit."""

_SPREAD = 2
"""Stages of the tree that announces complete beats to the slices; each slice has one more stage of its own."""


class SliceControl(wiring.Component):
    """The control of a slice: the number of complete rows in its memories, and which row it outputs.

    The front row of the memories moves to the *next* row, which is a register. The slice outputs either that row, in
    cycles in which `step` is asserted, or what it output in the cycle before.

    Attributes:
        arrives: a row is complete.
        rows: the count of complete rows in the memories as a thermometer: bit k is set while there are more than k.
        steps, fills: the registers of `step` and `fill`.
        idle: no row is output.

    Ports:
        announced: a row is complete. It is counted two cycles later.
        ready: the consumer is ready.
        reset: the count becomes 0.
        step: the slice outputs the next row, if there is one, since what it output before has been transferred.
        fill: the next row is replaced by the front row of the memories, if there is one.
        stored: there is a row in the memories.
        valid: a row is output.
    """

    def __init__(self) -> None:
        outputs = dict.fromkeys(("step", "fill", "stored", "valid"), Out(1))
        super().__init__({"announced": In(1), "ready": In(1), "reset": In(1), **outputs})
        self.arrives = Signal(name="arrives", reset_less=True)
        self.rows = Signal(CAPACITY, name="more_than", reset_less=True)
        self.steps, self.fills, self.idle = (
            Signal(name=name, init=1, reset_less=True) for name in ("steps", "fills", "idle")
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arrives, rows, fills, idle = self.arrives, self.rows, self.fills, self.idle
        moves = self.ready | idle
        empty = fills & ~rows[0]
        # The reset is part of the logic, so that registers of different slices are different functions.
        m.d.sync += arrives.eq(self.announced & ~self.reset)
        # While the memories are empty, each bit but the first is 0 whether a row is removed or not.
        m.d.sync += rows[0].eq(arrives | rows[1] | (rows[0] & ~fills))
        every = [*rows, Const(0, 1)]
        for below, bit, above in zip(every, every[1:-1], every[2:], strict=False):
            m.d.sync += bit.eq(Mux(arrives ^ fills, Mux(arrives, below, above), bit))
        m.d.sync += [self.steps.eq(moves), idle.eq(moves & empty), fills.eq(moves | empty)]
        with m.If(self.reset):
            m.d.sync += [rows.eq(0), *(register.eq(1) for register in (self.steps, fills, idle))]
        m.d.comb += [self.step.eq(self.steps), self.fill.eq(fills), self.stored.eq(rows[0]), self.valid.eq(~idle)]
        return m


class SlicedBuffer(RowBuffer):
    """A `RowBuffer` for many lanes.

    Args:
        layout, row_cycles, row_copies: see `RowBuffer`.
    """

    latency = 3 + _SPREAD

    capacity = CAPACITY + 2

    drained = 2 + _SPREAD

    def __init__(
        self, layout: data.StructLayout, *, row_cycles: int, row_copies: int = 1
    ) -> None:
        super().__init__(layout, row_cycles=row_cycles, row_copies=row_copies)
        # A narrow circuit has slices of a group, so that there are two or more from 5 lanes on.
        self.slice_lanes = _SLICE if self.lanes >= 2 * _SLICE else GROUP
        slices = -(-self.lanes // self.slice_lanes)
        self.reset = LateReset(max(2, slices + 1), row_cycles + 4 + _SPREAD)
        self.tree = FanOut(_SPREAD, doubles=True)
        self.slices = [SliceControl() for _ in range(slices)]
        self.port = SliceControl()
        self.next_rows, self.shown = (
            [Signal(len(each.row), name=f"{name}_{n}", reset_less=True) for n, each in enumerate(self.memories)]
            for name in ("next", "shown")
        )

    def slice_of(self, number: int) -> int:
        """The slice of a memory."""
        return min(number * GROUP, self.lanes - 1) // self.slice_lanes

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
        self._accept(m, port.fill & port.stored)
        shown: list[Value] = []
        inputs: list[tuple[Value, Value, Value]] = []
        for number, (memory, following, before) in enumerate(
            zip(self.memories, self.next_rows, self.shown, strict=True)
        ):
            which = self.slice_of(number)
            control = self.slices[which]
            with m.If(control.fill):
                m.d.sync += following.eq(memory.row)
            shown.append(Mux(control.step, following, before))
            m.d.sync += before.eq(shown[-1])
            inputs.append((control.stored, control.fill, reset.copies[1 + which]))
        self._divide(m, inputs)
        beat = self.output.payload
        m.d.comb += Cat(Value.cast(beat.slots), beat.last).eq(Cat(*shown))
        return m
