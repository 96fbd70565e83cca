# SPDX-License-Identifier: BSD-2-Clause
"""The second half of the proof of a parallel decoder: each beat that enters its buffer is transferred at
its output once, in order.

A buffer does not depend on the values that it holds, so beats of one bit per item stand for all. Its inputs are driven
with what the first half proves of the window, and otherwise with any values. One beat, any, is followed on its way by
ghost registers, which hold its items and the number of beats ahead of it. The invariant relates pointers and counts to
each other, and says where the items of that beat are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.helpers import how_many
from utf8fpga.formal.top import Top
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.hdl.decoder.parallel import buffer_of
from utf8fpga.hdl.memory_buffer import CAPACITY, LaneMemory, Level, MemoryBuffer, RowBuffer, step_pointer
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.hdl.sliced_buffer import SlicedBuffer


class Start(Enum):
    """The state in which a question starts."""

    HELD = "held"
    """Any state in which the invariant holds."""
    RESET = "reset"
    """Arbitrary flip-flop contents and a cycle of reset."""
    POWER_UP = "power-up"
    """The initial values of the flip-flops."""


_STATES = CAPACITY + 1
"""The rows of a memory."""


class _Bench(Elaboratable):
    """A buffer, what drives it, and ghost registers beside it.

    Attributes:
        offer: an input: `valid` at the input of the decoder.
        calm: an input: no beat from before a reset is in flight.
        remaining: beats that are determined and have not been transferred at the output of the buffer.
        invariant: the parts of what always holds, by name.
        never: what never happens while the invariant holds, by property.
    """

    parts: tuple[str, ...]
    """The names of the parts of the invariant."""

    buffer: Any
    """The buffer that is proved."""

    def __init__(self, decoder: ParallelDecoder, inputs: dict[str, int]) -> None:
        self.buffer = buffer_of(decoder.stages, _one_bit_items(decoder.lanes))
        self.offer, self.calm, self.ready = Signal(), Signal(), Signal()
        self.remaining = Signal(range(CAPACITY + 1))
        self.free = {name: Signal(width, name=f"any_{name}") for name, width in inputs.items()}
        self._held: dict[str, list[Value]] = {}
        self._wrong: dict[str, list[Value]] = {}
        self.never = {name: Signal(name=f"never_{name}") for name in ("order", "steady", "latency")}
        self.invariant = {name: Signal(name=f"inv_{name}") for name in self.parts}

    def hold(self, part: str, *conditions: Value) -> None:
        """Add conditions that always hold."""
        self._held.setdefault(part, []).extend(conditions)

    def forbid(self, wanted: str, *conditions: Value) -> None:
        """Add conditions that never hold."""
        self._wrong.setdefault(wanted, []).extend(conditions)

    def connect(self, m: Module) -> None:
        """Add what drives the buffer, the ghost registers and the conditions."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = self.buffer
        self.connect(m)
        for part, signal in self.invariant.items():
            m.d.comb += signal.eq(Cat(*self._held[part]).all())
        for wanted, signal in self.never.items():
            m.d.comb += signal.eq(Cat(*self._wrong.get(wanted, [Const(0, 1)])).any())
        return m


def _one_bit_items(lanes: int) -> data.StructLayout:
    return data.StructLayout({"slots": data.ArrayLayout(1, lanes), "last": 1})


class _RowBench(_Bench):
    """The common part of both kinds of memories."""

    def __init__(self, decoder: ParallelDecoder) -> None:
        flags = dict.fromkeys(("settled", "advance", "leaves", "watch"), 1)
        super().__init__(decoder, {**flags, "items": decoder.lanes - 1, "tail": 2})
        self._decoder = decoder
        self.remaining = Signal(range(decoder.item_buffer.capacity + 1))

    def _drive(self, m: Module) -> None:
        """What the first half proves of `RowWindow`: when rows and tails are valid. Their values are arbitrary."""
        stages, buffer, free = self._decoder.stages, self.buffer, self.free
        here = [buffer.accepted]
        for row in range(stages.row_cycles):
            here.append(Signal(name=f"here_{row}"))
            m.d.sync += here[-1].eq(here[-2])
        compared = here[stages.window_cycles]
        self.waiting, self.leaves = Signal(), Signal()
        m.d.sync += [
            self.waiting.eq(compared | (self.waiting & ~free["settled"])),
            self.leaves.eq(self.waiting & (compared | free["settled"])),
        ]
        self.before, self.unwritten = here[1 : stages.window_cycles + 1], here[1:]
        m.d.comb += [
            self.ready.eq(buffer.ready),
            buffer.accepted.eq(self.offer & buffer.ready),
            buffer.row.eq(free["items"]),
            buffer.row_valid.eq(Mux(self.calm, here[-1], free["advance"]).replicate(len(buffer.row_valid))),
            buffer.tail.eq(free["tail"]),
            buffer.tail_valid.eq(Mux(self.calm, self.leaves, free["leaves"])),
        ]
        if len(self.unwritten) > len(self.before):
            self.hold("counts", ~self.unwritten[-1] | self.waiting)

    def _watch(self, m: Module, pending: Value, reading: Value, rows: Value, tails: Value, taken: Value) -> None:
        """One beat is followed, any."""
        buffer, lanes = self.buffer, self._decoder.lanes
        watching, ahead = Signal(), Signal(range(CAPACITY + 1))
        items = Signal(lanes - 1, reset_less=True)
        tail = Signal(2, reset_less=True)
        with m.If(~watching):
            m.d.sync += [watching.eq(buffer.accepted & self.free["watch"]), ahead.eq(pending - taken)]
        with m.Elif(taken):
            m.d.sync += [watching.eq(ahead != 0), ahead.eq(ahead - 1)]
        writes = self.unwritten[-1] if self.unwritten else buffer.accepted
        with m.If(writes & (Mux(watching, ahead, pending) == rows)):
            m.d.sync += items.eq(self.free["items"])
        with m.If(self.leaves & (ahead == tails)):
            m.d.sync += tail.eq(self.free["tail"])
        self.hold("watched", ~watching | (ahead < pending))
        start = 0
        for number, memory in enumerate(buffer.memories):
            port = memory.rows.read_port(domain="comb")
            m.d.comb += port.addr.eq(_pointer(m, memory, later_row(reading, ahead)))
            is_tail = number == len(buffer.memories) - 1
            remembered = tail if is_tail else items[start : start + len(memory.row)]
            is_written = ahead < (tails if is_tail else rows)
            self.hold("watched", ~(watching & is_written) | (port.data == remembered))
            start += len(memory.row)
        shown = Value.cast(buffer.output.payload)
        first = buffer.output.valid & watching & (ahead == 0)
        self.forbid("order", first & (shown != Cat(items, tail)), buffer.output.valid & (pending == 0))
        waited, before = Signal(), Signal(len(shown), reset_less=True)
        m.d.sync += [waited.eq(first & ~taken), before.eq(shown)]
        self.hold("watched", ~waited | (watching & (ahead == 0) & (before == Cat(items, tail)) & buffer.output.valid))
        self.forbid("steady", waited & (~buffer.output.valid | (shown != before)))

    def _flow(self, m: Module, pending: Value) -> tuple[Value, Value]:
        """While no beat has waited since the buffer was empty, a complete beat is valid `latency` cycles later.

        Returned are whether none has waited, and how many cycles ago tails were entered, up to `latency`.
        """
        output = self.buffer.output
        smooth, later = Signal(), Signal(self.buffer.latency)
        m.d.sync += [
            smooth.eq((smooth | (pending == 0)) & ~(output.valid & ~output.ready)),
            later.eq(Mux(pending == 0, 0, Cat(self.leaves, later))),
        ]
        self.forbid("latency", smooth & (output.valid != later[-1]))
        return smooth, later


class _MemoryBench(_RowBench):
    parts = ("reset", "steps", "inside", "counts", "fronts", "pointers", "watched", "smooth")
    buffer: MemoryBuffer

    def connect(self, m: Module) -> None:
        self._drive(m)
        buffer = self.buffer
        taken = buffer.output.valid & buffer.output.ready
        ghosts = hold_memories(
            m, buffer, self.hold, leaves=self.leaves, waiting=self.waiting, before=self.before, unwritten=self.unwritten
        )
        m.d.comb += self.remaining.eq(ghosts.pending - self.waiting)
        self._watch(m, ghosts.pending, ghosts.reading, ghosts.rows, ghosts.tails, taken)
        smooth, later = self._flow(m, ghosts.pending)
        on_time = (buffer.arrive == later[2]) & (ghosts.behind == later[0] + later[1]) & (ghosts.shown == later[3])
        self.hold("smooth", ~smooth | (on_time & (ghosts.wrote == later[0])))


class _SlicedBench(_RowBench):
    parts = ("reset", "steps", "inside", "counts", "slices", "pointers", "watched", "smooth")
    buffer: SlicedBuffer

    def connect(self, m: Module) -> None:
        self._drive(m)
        buffer = self.buffer
        port = buffer.port
        taken = buffer.output.valid & buffer.output.ready
        self.hold("reset", *(~value for value in buffer.reset.active))

        # Complete beats are announced to all slices in the same cycle.
        announced = [Signal(name=f"announced_{n}") for n in range(1 + len(buffer.tree.tree))]
        m.d.sync += [new.eq(old) for new, old in zip(announced, [self.leaves, *announced], strict=False)]
        for values, expected in zip(buffer.tree.tree, announced, strict=False):
            self.hold("slices", *(value == expected for value in values))
        for control in (port, *buffer.slices):
            self.hold(
                "slices",
                control.arrives == announced[-1],
                *(
                    one == other
                    for one, other in zip(
                        (control.rows, control.was_ready, control.was_valid, control.more, control.kept),
                        (port.rows, port.was_ready, port.was_valid, port.more, port.kept),
                        strict=True,
                    )
                ),
            )

        pending, went = _hold_inside(m, buffer, self.hold, taken, [*self.unwritten, self.waiting][0])
        front = Signal(range(CAPACITY + 1))
        m.d.comb += [self.remaining.eq(pending - self.waiting), front.eq(how_many(port.rows) - port.moved)]
        complete = Signal(range(CAPACITY + len(announced) + 1))
        m.d.comb += complete.eq(front + how_many(announced))
        self.hold(
            "counts",
            *thermometer(port.rows),
            port.moved == went,
            ~port.moved | port.rows[0],
            ~port.rows[1] | port.was_valid,
            port.valid == (front != 0),
            pending == self.waiting + self.leaves + complete + how_many(self.before),
        )
        reading, rows = _hold_pointers(m, buffer, self.hold, taken, pending, complete, self.unwritten)
        self._watch(m, pending, reading, rows, complete, taken)
        smooth, later = self._flow(m, pending)
        self.hold("smooth", ~smooth | ((Cat(*announced) == later[:-1]) & (front == later[-1])))


def loads_follow(buffer: RegisterBuffer) -> Value:
    """The registers that enable the words of a buffer are what follows from its others."""
    first, second = buffer.loads
    return (first == (buffer.second & ~buffer.full)) & (second == (~buffer.second & ~buffer.full & buffer.runs[0]))


class _RegisterBench(_Bench):
    parts = ("counts", "words", "smooth")
    buffer: RegisterBuffer

    def __init__(self, decoder: ParallelDecoder) -> None:
        super().__init__(decoder, {"leaves": 1, "word": decoder.lanes + 1})

    def connect(self, m: Module) -> None:
        buffer = self.buffer
        runs, offered = buffer.run, Signal()
        # What the first half proves of `BeatWindow`: a valid beat does not change until all stages advance.
        word = Signal(len(self.free["word"]), reset_less=True)
        with m.If(runs[-1]):
            m.d.sync += [offered.eq(self.free["leaves"]), word.eq(self.free["word"])]
        m.d.comb += [
            self.ready.eq(runs[0]),
            buffer.entry.eq(word),
            buffer.entry_valid.eq(offered),
            self.remaining.eq(buffer.valid),
        ]
        valid, ready, shown = buffer.output.valid, buffer.output.ready, Value.cast(buffer.output.payload)
        taken = valid & ready
        enters = offered & runs[0]
        queue = [Signal(len(word), name=f"queue_{n}", reset_less=True) for n in range(2)]
        held = Signal(range(buffer.capacity + 1))
        m.d.sync += held.eq(held + enters - taken)
        after = held - taken
        with m.If(taken):
            m.d.sync += queue[0].eq(queue[1])
        with m.If(enters):
            with m.If(after == 0):
                m.d.sync += queue[0].eq(word)
            with m.Else():
                m.d.sync += queue[1].eq(word)
        first, second = buffer.words
        self.hold(
            "counts",
            held < 3,
            buffer.valid == (held != 0),
            buffer.full == (held == 2),
            loads_follow(buffer),
            *(run == (~buffer.full & self.calm) for run in runs),
            self.calm | (~offered & (held == 0)),
        )
        front, behind = Mux(buffer.second, second, first), Mux(buffer.second, first, second)
        self.hold("words", (held == 0) | (front == queue[0]), (held != 2) | (behind == queue[1]))
        self.forbid("order", valid & ((held == 0) | (shown != queue[0])), enters & (held == 2))
        waited, before = Signal(), Signal(len(shown), reset_less=True)
        m.d.sync += [waited.eq(valid & ~taken), before.eq(shown)]
        self.hold("words", ~waited | ((held != 0) & (before == queue[0])))
        self.forbid("steady", waited & (~valid | (shown != before)))
        smooth, came = Signal(), Signal()
        m.d.sync += [smooth.eq((smooth | (held == 0)) & ~(valid & ~taken)), came.eq(offered)]
        self.hold("smooth", ~smooth | ((held != 2) & (valid == came)))
        self.forbid("latency", smooth & (valid != came))


@dataclass(frozen=True)
class MemoryGhosts:
    """What an invariant knows of a memory buffer.

    Attributes:
        pending: the number of beats that were accepted and have not been transferred at the output.
        reading: the row at the front, numbered from where the pointers start.
        rows, tails: the numbers of rows and of tails that were entered, of those beats.
        wrote, went: a tail was entered, and a beat was transferred, in the preceding cycle.
        behind: the number of complete beats that have not been announced to the front.
        shown: the number of beats at the front.
    """

    pending: Value
    reading: Value
    rows: Value
    tails: Value
    wrote: Value
    went: Value
    behind: Value
    shown: Value


def hold_memories(
    m: Module,
    buffer: MemoryBuffer,
    hold: Callable[..., None],
    *,
    leaves: Value,
    waiting: Value,
    before: Sequence[Value],
    unwritten: Sequence[Value],
) -> MemoryGhosts:
    """Add what always holds of the counts and the pointers of a memory buffer.

    Args:
        hold: is called with the name of a part of the invariant and conditions.
        leaves: a tail is entered.
        waiting: the tail of a beat is complete and waits.
        before: per cycle after the one in which a beat was accepted, whether there is one whose tail is not complete.
        unwritten: the same for beats whose row has not been entered.
    """
    front, ready = buffer.front, buffer.output.ready
    taken = buffer.output.valid & ready
    hold("reset", *(~value for value in buffer.reset.active))

    pending, went = _hold_inside(m, buffer, hold, taken, [*unwritten, waiting][0])
    wrote, shown = Signal(), Cat(front.odd, front.two)
    m.d.sync += wrote.eq(leaves)
    hold("steps", *is_next_step(buffer.behind, wrote, buffer.near))
    # Complete beats that have not been announced to the front.
    behind = Signal(range(CAPACITY + 2))
    m.d.comb += behind.eq(_count(buffer.behind) + wrote - buffer.near)
    hold(
        "counts",
        *thermometer(buffer.behind.more_than),
        buffer.arrive == buffer.near,
        ~buffer.near | ((_count(buffer.behind) != 0) & (shown != 3)),
        pending == waiting + leaves + behind + buffer.arrive + shown + how_many(before),
    )
    hold("fronts", *(copy == (front.two | front.odd) for copy in front.valid))

    tails = Signal(range(CAPACITY + 1))
    m.d.comb += tails.eq(behind + buffer.arrive + shown)
    reading, rows = _hold_pointers(m, buffer, hold, taken, pending, tails, unwritten)
    return MemoryGhosts(pending, reading, rows, tails, wrote, went, behind, shown)


def _hold_inside(
    m: Module, buffer: RowBuffer, hold: Callable[..., None], taken: Value, follows: Value
) -> tuple[Value, Value]:
    """The count of the beats that were accepted and are in flight is exact.

    Args:
        m, buffer, hold: see `hold_memories`.
        taken: a beat is transferred at the output.
        follows: there is a beat where one is in the cycle after it was accepted.

    Returns:
        The number of beats in flight, and whether one was transferred in the preceding cycle.
    """
    pending, came, counted, went = Signal(range(CAPACITY + 1)), Signal(), Signal(), Signal()
    m.d.sync += [
        pending.eq(pending + buffer.accepted - taken),
        came.eq(buffer.accepted),
        counted.eq(came),
        went.eq(taken),
    ]
    hold("steps", *is_next_step(buffer.inside, counted, went))
    hold(
        "inside",
        *thermometer(buffer.inside.more_than),
        buffer.counted == came,
        _count(buffer.inside) + came + counted == pending + went,
        ~came | follows,
        pending <= Mux(buffer.ready, CAPACITY - 1, CAPACITY),
    )
    return pending, went


def _hold_pointers(
    m: Module,
    buffer: RowBuffer,
    hold: Callable[..., None],
    taken: Value,
    pending: Value,
    tails: Value,
    unwritten: Sequence[Value],
) -> tuple[Value, Value]:
    """Each pointer is a number of steps ahead of that of the beat at the front.

    Args:
        m, buffer, hold, unwritten: see `hold_memories`.
        taken: a beat is transferred at the output.
        pending: the number of beats in flight.
        tails: the number of those whose tail has been entered.

    Returns:
        The row at the front, and the number of rows that were entered.
    """
    reading = Signal(range(_STATES))
    with m.If(taken):
        m.d.sync += reading.eq(later_row(reading, Const(1)))
    hold("pointers", reading < _STATES)
    rows = Signal(range(CAPACITY + 1))
    m.d.comb += rows.eq(pending - how_many(unwritten))
    for number, lanes in enumerate(buffer.memories):
        written = tails if number == len(buffer.memories) - 1 else rows
        hold("pointers", lanes.read == _pointer(m, lanes, reading))
        hold("pointers", lanes.write == _pointer(m, lanes, later_row(reading, written)))
    return reading, rows


def _count(level: Level) -> Value:
    return how_many(level.more_than)


def is_next_step(level: Level, up: Value, down: Value) -> tuple[Value, Value]:
    """The step that a count is about to make is that of the cycle before."""
    return level.changes == up ^ down, level.grows == up


def thermometer(bits: Signal) -> Iterable[Value]:
    """Bit n of a count is 1 only if all lower bits are."""
    return [bits[n] | ~bits[n + 1] for n in range(len(bits) - 1)]


def later_row(row: Value, steps: Value) -> Value:
    """The row that many steps later, in the circle."""
    there = row + steps
    return Mux(there >= _STATES, there - _STATES, there)


def _pointer(m: Module, lanes: LaneMemory, row: Value) -> Signal:
    """The value of a memory's pointer at a row, numbered from where the pointers start."""
    found = Signal.like(lanes.read, name="pointer")
    at = lanes.read.init
    with m.Switch(row):
        for number in range(_STATES):
            with m.Case(number):
                m.d.comb += found.eq(at)
            at = step_pointer(at)
    return found


_BENCHES = {"registers": _RegisterBench, "memory": _MemoryBench, "slices": _SlicedBench}
"""By buffer what drives it."""


class BufferProof(Top):
    """The questions whose answers are the proof, each a bit that must stay 0.

    Attributes:
        never: the properties to be proved.
        questions: `never`, and the parts of the invariant, which fail one cycle after all held, or at the end of the
            reset.
        cycles: the latency that is proved, from a beat at the output of the window.
    """

    def __init__(self, decoder: ParallelDecoder, start: Start) -> None:
        super().__init__()
        self._decoder = decoder
        self._bench = bench = _BENCHES[decoder.stages.buffer](decoder)
        self._start = start
        self._after = decoder.reset_cycles if start is Start.RESET else 0
        if decoder.stages.buffer == "registers":
            # The first cycle of all is as the one after a reset.
            self._after += 1
        self.never = [*bench.never, "stall", "drains"] if start is Start.HELD else ["quiet"]
        self.questions = [*bench.invariant, *self.never]
        clocks = 2 if start is Start.HELD else self._after + 1
        self.frames = dict.fromkeys(self.questions, clocks)
        self.cycles = bench.buffer.latency
        if start is Start.HELD:
            # In the first cycle it is not known yet whether the invariant holds.
            assert bench.buffer.stall_cycles >= 1
            self.frames["stall"] = bench.buffer.stall_cycles + 1
            self.frames["drains"] = decoder.drain_cycles + 1
        self.offer, self.ready = Signal(name="offer"), Signal(name="ready")
        self.free = {name: Signal.like(signal, name=f"free_{name}") for name, signal in bench.free.items()}
        self.asked = Signal(len(self.questions), name="asked")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = bench = self._bench
        decoder, output = self._decoder, bench.buffer.output
        frame = Signal(range(max(self.frames.values()) + 1), reset_less=True)
        self.clocked(m, (frame == 0) & Const(self._start is Start.RESET, 1))
        m.d.sync += frame.eq(Mux(frame == max(self.frames.values()), frame, frame + 1))
        m.d.comb += [
            # No null beats: for a buffer they are equal to a cycle without `valid`.
            bench.offer.eq(self.offer),
            output.ready.eq(self.ready),
            *(signal.eq(self.free[name]) for name, signal in bench.free.items()),
        ]
        fails = [~holds for holds in bench.invariant.values()]
        if self._start is Start.HELD:
            held = Signal(reset_less=True)
            with m.If(frame == 0):
                m.d.sync += held.eq(~Cat(*fails).any())
            now = (frame == 0) & ~Cat(*fails).any()
            willing = Signal(reset_less=True)
            m.d.sync += willing.eq(Mux(frame == 0, 1, willing) & self.ready)
            stalls = (frame == bench.buffer.stall_cycles) & held & willing & ~bench.ready
            asked = [*((frame == 1) & held & fail for fail in fails), *(now & bad for bad in bench.never.values())]
            # No beat is accepted; and what is still in the window soon enters the buffer, or waits for more.
            in_registers = decoder.stages.buffer == "registers"
            alone, last = Signal(reset_less=True), self.free["leaves" if in_registers else "settled"]
            comes = (bench.offer & bench.ready) | (last & (frame > decoder.latency))
            m.d.sync += alone.eq(Mux(frame == 0, 1, alone) & (self.ready | ~output.valid) & ~comes)
            drains = (frame == decoder.drain_cycles) & held & alone & (bench.remaining != 0)
            asked += [stalls, drains]
            m.d.comb += bench.calm.eq(1)
        else:
            first = int(self._start is Start.RESET)
            if decoder.stages.buffer == "registers":
                m.d.comb += bench.calm.eq(frame == self._after)
            else:
                m.d.comb += bench.calm.eq((frame > self._after - bench.buffer.drained) | Const(self._after == 0, 1))
            early = (frame >= first) & (frame < self._after) & (bench.ready | output.valid)
            asked = [*((frame == self._after) & fail for fail in fails), early]
        m.d.comb += self.asked.eq(Cat(*asked))
        return m
