# SPDX-License-Identifier: BSD-2-Clause
"""A buffer of beats in small memories, behind a pipeline that never pauses.

For a high clock frequency each register is near its loads, with at most one look-up table in front of it. Therefore
each group of neighbouring lanes has a memory with separate pointers.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.delay import access
from utf8fpga.hdl.fan_out import MANY, FanOut, LateReset

_STATES = 15
"""States of a four-bit pointer, which steps through all values but 0."""

CAPACITY = _STATES - 1
"""Beats that a memory buffer holds, in-flight beats included; the row that is written next is always free."""

_POINTER_BITS = 4

GROUP = 4
"""Lanes that share pointers by default. More lanes make the nets from a pointer longer, fewer those to the pointers."""

_REGION = 8
"""Lanes that share the enable of their pointers; twice as many do if there are more than twice `MANY`. More lanes make
the nets from it longer, fewer lanes those to it."""

UNCOUNTED = 4
"""Upper bound on the number of beats that are accepted before the count of beats includes them."""


def in_logic(condition: Value, then: Value, otherwise: Value) -> Value:
    """A multiplexer of which synthesis does not make an enable."""
    pairs = zip(then, otherwise, strict=True)
    return Cat((one & condition) | (other & ~condition) for one, other in pairs)


class Level(wiring.Component):
    """A count of beats as a thermometer: bit k is set while there are more than k.

    A step is made one cycle after its cause. So all bits share an enable that is a register, and each is a function of
    three other registers, which fits a look-up table.

    Args:
        registered: so it is; otherwise a step is made at once, and the enable has a look-up table.

    Attributes:
        changes, grows: whether a step is made at the end of this cycle, and whether it is up.
        bits: the registers of `more_than`.

    Ports:
        up: one beat more; not asserted while there are `CAPACITY`.
        down: one beat fewer; not asserted while there is none.
        reset: the count becomes 0.
        more_than: the bits, `CAPACITY` of them.
    """

    def __init__(self, capacity: int = CAPACITY, *, registered: bool = True) -> None:
        super().__init__({"up": In(1), "down": In(1), "reset": In(1), "more_than": Out(capacity)})
        self._registered = registered
        self.changes, self.grows = (
            commented(Signal(name=name, reset_less=registered), comment)
            for name, comment in (
                ("changes", "The count changes at the end of this cycle."),
                ("grows", "If it changes, it is one more."),
            )
        )
        self.bits = Signal(capacity, name="_bits", reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        up, down, level = self.up, self.down, self.bits
        m.d.comb += self.more_than.eq(level)
        m.d["sync" if self._registered else "comb"] += [self.changes.eq(up ^ down), self.grows.eq(up)]
        bits = [Const(1, 1), *level, Const(0, 1)]
        with m.If(self.changes):
            for below, bit, above in zip(bits, bits[1:-1], bits[2:], strict=False):
                m.d.sync += bit.eq(Mux(self.grows, below, above))
        with m.If(self.reset):
            m.d.sync += level.eq(0)
            if self._registered:
                # So that synthesis does not merge it with other registers that `up` drives.
                m.d.sync += self.grows.eq(0)
        return m


class Front(wiring.Component):
    """The number of beats at the front of a buffer, up to three.

    Args:
        copies: bits of `valid`.

    Ports:
        two, odd: the count in binary.
        arrives: a beat reaches the front; only where there was `room` in the cycle before.
        ready: the consumer is ready.
        reset: duplicates of a reset, one for each bit of `valid`; the count becomes 0.
        valid: duplicates of "there is at least one" (kept apart so that synthesis does not merge them).
    """

    def __init__(self, copies: int) -> None:
        super().__init__(
            {"arrives": In(1), "ready": In(1), "reset": In(copies), "valid": Out(copies), "two": Out(1), "odd": Out(1)}
        )
        # In binary each bit is a function of itself, the other one and two inputs.
        self._two = commented(Signal(name="is_two", reset_less=True), "There are two beats at the front, or three.")
        self._odd = commented(Signal(name="is_odd", reset_less=True), "There is one beat at the front, or three.")
        self._valid = [Signal(name=f"valid_{copy}", reset_less=True) for copy in range(copies)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        two, odd, arrives, ready = self._two, self._odd, self.arrives, self.ready
        leaves = ready & (two | odd)
        m.d.comb += [self.valid.eq(Cat(*self._valid)), self.two.eq(two), self.odd.eq(odd)]
        m.d.sync += [
            *(valid.eq(arrives | two | (valid & ~ready)) for valid in self._valid),
            odd.eq(odd ^ arrives ^ leaves),
            two.eq((two & (odd | arrives | ~leaves)) | (odd & arrives & ~leaves)),
        ]
        for reset, valid in zip(self.reset, self._valid, strict=True):
            with m.If(reset):
                m.d.sync += valid.eq(0)
        with m.If(self.reset[0]):
            m.d.sync += [two.eq(0), odd.eq(0)]
        return m

    def room(self, arrives: Value) -> Value:
        """Whether one more beat may arrive in the next cycle, given whether one arrives in this one."""
        return ~self.two | (~self.odd & ~arrives)


class LaneMemory(wiring.Component):
    """The items of a few neighbouring lanes, one row for each beat, read without a register in between.

    A row is written in each cycle; unless `advance` is asserted, the next write overwrites it. So the memory needs no
    write enable.

    Args:
        number: the index of the group of lanes. Neighbouring groups start at different rows, so that synthesis does not
            merge their pointers.

    Attributes:
        write, read: the pointers; each returns to a row after `_STATES` steps.

    Ports:
        entry: the row to write.
        advance: the row that is written in this cycle is kept; the next one is written behind it.
        valid: there is a row at the front.
        ready: the row at the front is removed, if there is one.
        reset: the pointers return to their initial values.
        row: the row at the front.
    """

    def __init__(self, width: int, number: int) -> None:
        flags = dict.fromkeys(("advance", "valid", "ready", "reset"), In(1))
        super().__init__({"entry": In(width), **flags, "row": Out(width)})
        start = 1
        for _ in range(number % _STATES):
            start = step_pointer(start)
        self.write, self.read = (
            commented(
                Signal(_POINTER_BITS, name=name, init=start, reset_less=True),
                f"The row to {name}; a linear feedback shift register, which steps through {_STATES} rows.",
            )
            for name in ("write", "read")
        )
        self.rows = memory.Memory(shape=width, depth=1 << _POINTER_BITS, init=[])
        self._ports = self.rows.write_port(), self.rows.read_port(domain="comb")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = self.rows
        write, read = self.write, self.read
        with m.If(self.advance):
            m.d.sync += write.eq(_next(write))
        # `ready` has the longest nets, so it is the clock enable itself, without a look-up table in front.
        with m.If(self.ready):
            m.d.sync += read.eq(in_logic(self.valid, _next(read), read))
        with m.If(self.reset):
            m.d.sync += [write.eq(write.init), read.eq(read.init)]
        m.d.comb += [*access(self._ports, write, self.entry, read), self.row.eq(self._ports[1].data)]
        return m


def step_pointer(pointer: int) -> int:
    """The value of a pointer one step later, as `_next` computes it in the circuit."""
    return pointer >> 1 | (pointer >> 3 ^ pointer) << 3 & 8


def _next(pointer: Value) -> Value:
    """A shift register with feedback, which needs no carry: each bit is a function of at most two others."""
    return Cat(pointer[1:], pointer[3] ^ pointer[0])


class RowBuffer(wiring.Component):
    """Small memories between a pipeline that never pauses and an output stream: the common part of both kinds.

    A beat is accepted at the start of the pipeline while there is room for it and for all that are in flight. Its
    items reach the buffer in two parts: first those of all lanes but the last, the *row*, and at the same time or
    later that of the last lane, the *tail*. The tail completes the beat. No path leads from `output.ready` to
    `ready`, nor from the pipeline to `output.valid`.

    Throughput: a beat per cycle. Latency: a beat is valid at `output` `latency` cycles after its tail was entered,
    while no earlier beat waits. `ready` is deasserted for `reset_cycles` cycles after a reset; after that it is
    asserted once no beat has waited for `stall_cycles` cycles.

    Pointers and counts that are desynchronised, by a flipped bit, remain so until a reset.

    Args:
        layout: the payload of a beat: an array `slots` of at least two lanes, and `last`, such as `slots_layout`.
        row_cycles: cycles from `accepted` to `row_valid`.

    Attributes:
        reset: the reset of all registers with feedback.
        counted: a beat was accepted in the preceding cycle. `inside` counts it one cycle late, since `accepted` is a
            function of several inputs.
        inside: the count of beats that were accepted and have not left the memories.
        memories: the memories of the groups of lanes, the last one for the tail.
        leaves: the beat at the front is removed. Unlike the transfer at `output` it does not depend on the reset.

    Ports:
        ready: a beat may be accepted.
        accepted: a beat is accepted; not while `ready` is deasserted.
        row, row_valid: the items of all lanes but the last, `row_cycles` after their beat was accepted; duplicates of
            "these are a beat's".
        tail, tail_valid: the item of the last lane, and whether the packet ends; "these are a beat's". For each
            accepted beat once, in order, not before its row and at least two cycles after `accepted`.
        late_reset: two duplicates of the late reset, for registers of the pipeline. In the last
            `drained` cycles up to the one after it, and from then on, rows and tails must not be valid until a beat was
            accepted.
        output: stream of `layout`, the beats that were accepted, in their order.
    """

    latency: int
    stall_cycles = 8
    capacity = CAPACITY
    drained = 2
    """Cycles in which neither a row nor a tail may be valid: the one after a late reset, and the last ones of it."""
    reset: LateReset

    def __init__(self, layout: data.StructLayout, *, row_cycles: int, group: int = GROUP) -> None:
        self.group = group
        array = layout["slots"].shape
        item, self.lanes = array.elem_shape, int(array.length)
        super().__init__(
            {
                "ready": Out(1),
                "accepted": In(1),
                "row": In(data.ArrayLayout(item, self.lanes - 1)),
                "row_valid": In(FanOut.copies_after(row_cycles)),
                "tail": In(data.StructLayout({"item": item, "last": 1})),
                "tail_valid": In(1),
                "late_reset": Out(2),
                "output": Out(stream.Signature(layout)),
            }
        )
        self.inside = Level()
        self.counted = commented(Signal(name="counted", reset_less=True), "A beat was accepted in the preceding cycle.")
        width = len(Value.cast(self.row)) // (self.lanes - 1)
        starts = range(0, self.lanes - 1, group)
        widths = [*(width * min(group, self.lanes - 1 - start) for start in starts), width + 1]
        self.memories = [LaneMemory(width, number) for number, width in enumerate(widths)]
        self._ready = commented(
            Signal(name="is_ready"),
            f"At most {CAPACITY - UNCOUNTED} beats are counted, so there is room for {UNCOUNTED} more, which may be"
            f" accepted before they are counted: {CAPACITY} in all.",
        )
        self.leaves = commented(Signal(name="leaves"), "The beat at the front is removed.")

    @property
    def reset_cycles(self) -> int:
        return 1 + self.reset.cycles

    def _accept(self, m: Module, leaves: Value) -> None:
        """Accept beats while there are free rows for all in-flight beats."""
        inside = self.inside
        m.d.sync += self.counted.eq(self.accepted)
        m.d.comb += [self.leaves.eq(leaves), inside.up.eq(self.counted), inside.down.eq(self.leaves)]
        m.d.sync += self._ready.eq(~inside.more_than[CAPACITY - UNCOUNTED] & ~self.reset.busy)

    def _divide(self, m: Module, controls: Sequence[tuple[Value, Value, Value]]) -> None:
        """Divide a row and its tail among the memories, each with its inputs `valid`, `ready` and `reset`, and join the
        rows at the output."""
        groups, copies = len(self.memories) - 1, len(self.row_valid)
        row, at = Value.cast(self.row), 0
        for number, (lanes, (valid, ready, reset)) in enumerate(zip(self.memories, controls, strict=True)):
            is_tail = number == groups
            m.submodules["last_lane" if is_tail else f"lanes_{number * self.group}"] = lanes
            end = at + len(lanes.entry)
            m.d.comb += [
                lanes.entry.eq(self.tail if is_tail else row[at:end]),
                lanes.advance.eq(self.tail_valid if is_tail else self.row_valid[number * copies // groups]),
                lanes.valid.eq(valid),
                lanes.ready.eq(ready),
                lanes.reset.eq(reset),
            ]
            at = end
        beat = self.output.payload
        m.d.comb += Cat(Value.cast(beat.slots), beat.last).eq(Cat(*(lanes.row for lanes in self.memories)))


class MemoryBuffer(RowBuffer):
    """A `RowBuffer` whose counts are in one place.

    Attributes:
        behind: the count of complete beats that have not reached the front.
        arrive, near: a beat reaches the front (duplicate registers, kept apart so that synthesis does not merge them).
    """

    latency = 4

    def __init__(self, layout: data.StructLayout, *, row_cycles: int, group: int = GROUP) -> None:
        super().__init__(layout, row_cycles=row_cycles, group=group)
        self._regions = -(-self.lanes // (_REGION << (self.lanes > 2 * MANY)))
        self._places = max(2, self._regions)
        # Cycles from an accepted beat to the steps of pointers and counts.
        self.reset = LateReset(self._places, row_cycles + 3)
        self.behind = Level()
        self.front = Front(1 + self._regions)
        self.arrive, self.near = (
            commented(Signal(name=name, reset_less=True), f"A beat reaches the front; a register for {loads}.")
            for name, loads in (("arrive", "its count there"), ("near", "the count of those behind it"))
        )

    def place(self, number: int) -> int:
        """The index of the duplicates of `front.valid` and of the late reset that a group of lanes uses."""
        groups = len(self.memories) - 1
        # The last lane is near the group before it.
        return min(number, groups - 1) * self._regions // groups

    def elaborate(self, platform: object) -> Module:
        m = Module()
        reset, front, inside, behind = self.reset, self.front, self.inside, self.behind
        m.submodules.reset, m.submodules.front = reset, front
        m.submodules.inside, m.submodules.behind = inside, behind
        ready, valid = self.output.ready, front.valid[0]
        # The first duplicates are for the groups of lanes; the counts and the pipeline use the others.
        resets = [reset.copies[-1 - number % self._places] for number in range(4)]
        m.d.comb += [
            self.ready.eq(self._ready),
            # After a reset the counts are not 0 until the late reset.
            self.output.valid.eq(valid & ~reset.busy),
            self.late_reset.eq(Cat(*resets[:2])),
            front.reset.eq(Cat(resets[2], *reset.copies[: self._regions])),
            behind.reset.eq(resets[2]),
            inside.reset.eq(resets[3]),
        ]

        # Complete beats go to the front, of which each region of lanes has a duplicate. `arrive` drives these and
        # `near` the counts: it is part of their feedback, and must not be placed between them and the regions.
        arrive, near = self.arrive, self.near
        announced = commented(Signal(name="announced"), "A complete beat goes to the front, which has room for it.")

        def announces(arrives: Value) -> Value:
            return front.room(arrives) & Mux(arrives, behind.more_than[1], behind.more_than[0])

        m.d.comb += [
            announced.eq(announces(near)),
            behind.up.eq(self.tail_valid),
            behind.down.eq(announced),
            front.arrives.eq(arrive),
            front.ready.eq(ready),
        ]
        m.d.sync += [arrive.eq(announces(arrive)), near.eq(announced)]
        places = [self.place(number) for number in range(len(self.memories))]
        self._divide(m, [(front.valid[1 + place], ready, reset.copies[place]) for place in places])

        self._accept(m, valid & ready)
        return m
