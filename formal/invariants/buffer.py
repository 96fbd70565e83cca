# SPDX-License-Identifier: BSD-2-Clause
"""The second half of the proof of a parallel decoder: the beats put into its buffer come out, each once, in order.

A buffer does not look at what it holds. So what is before it gives way to what the first half proves of that, with
any words for items; and one beat, any, is followed on its way by ghost registers, which remember it and how many
beats are ahead of it. The invariant says how pointers and counts go together, and where that beat's words are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Mux, Signal, Value

from utf8fpga.formal.helpers import how_many
from utf8fpga.formal.invariants.window import DRAINED
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.hdl.buffers import CAPACITY, LaneMemory, Level, Reset, step_pointer
from utf8fpga.hdl.decoder.parallel import MemoryBuffer, Merged, Rows
from utf8fpga.hdl.decoder.window import CUTS, Beat

__all__ = ["STALLS", "BufferProof", "Start", "draining", "stalling"]

STALLS = {"registers": 1, "memory": 8}
"""Per buffer the clocks for which the consumer must have been ready, after which the input does not wait."""


def stalling(decoder: ParallelDecoder) -> int:
    """The same of one decoder, a reset in between included."""
    return max(STALLS[decoder.buffer], decoder.resetting + 2) if decoder.resetting else STALLS[decoder.buffer]


def draining(decoder: ParallelDecoder) -> int:
    """Clocks in which all beats come out that were determined before, if the consumer takes each at once."""
    return CAPACITY + decoder.latency + 2


class Start(Enum):
    """Where a question starts."""

    HELD = "held"
    """In any state in which the invariant holds."""
    RESET = "reset"
    """With any register contents and a clock of reset."""
    POWER_UP = "power-up"
    """With the initial register contents."""
    ANY = "any"
    """With any register contents and no reset, which a buffer in registers alone recovers from."""


_STATES = CAPACITY + 1
"""The rows of a memory."""


class _Opaque(ParallelDecoder):
    """A decoder whose items are any words, with ghosts beside it.

    Attributes:
        calm: an input: all that was there before a reset is gone.
        free: inputs that take any value.
        left_inside: beats that are determined and still inside.
        adopts: of one in registers: the ghosts say of what is shown that it is all there is.
        invariant: what always holds, by name.
        never: what never happens while it holds, by property.
    """

    def __init__(self, like: ParallelDecoder) -> None:
        super().__init__(like.table, lanes=like.lanes, pipeline=like.pipeline, buffer=like.buffer)
        self.calm, self.adopts = Signal(), Signal()
        self.left_inside = Signal(range(CAPACITY + 1))
        self.free = {name: Signal(width, name=f"any_{name}") for name, width in self._inputs.items()}
        self._said: dict[str, list[Value]] = {}
        self._wrong: dict[str, list[Value]] = {}
        names = ("order", "steady", "latency")
        self.never = {name: Signal(name=f"never_{name}") for name in names}
        self.invariant = {name: Signal(name=f"inv_{name}") for name in self._parts}

    @property
    def _inputs(self) -> dict[str, int]:
        raise NotImplementedError

    @property
    def _parts(self) -> tuple[str, ...]:
        raise NotImplementedError

    def say(self, part: str, *conditions: Value) -> None:
        """It always holds."""
        self._said.setdefault(part, []).extend(conditions)

    def forbid(self, wanted: str, *conditions: Value) -> None:
        """It never happens."""
        self._wrong.setdefault(wanted, []).extend(conditions)

    def ghosts(self, m: Module) -> None:
        """The circuit and what is said of it."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.ghosts(m)
        for part, signal in self.invariant.items():
            m.d.comb += signal.eq(Cat(*self._said[part]).all())
        for wanted, signal in self.never.items():
            m.d.comb += signal.eq(Cat(*self._wrong.get(wanted, [Const(0, 1)])).any())
        return m


class _InMemory(_Opaque):
    @property
    def _inputs(self) -> dict[str, int]:
        wild = dict.fromkeys(("settled", "advance", "leaves", "watch"), 1)
        return {**wild, "items": self.lanes - 1, "tail": 2}

    @property
    def _parts(self) -> tuple[str, ...]:
        return ("reset", "steps", "inside", "counts", "fronts", "pointers", "watched", "smooth")

    def write(self, m: Module, arrives: Value, reset: Reset) -> Rows:
        """What the first half proves of `ParallelDecoder.write`: when rows are written. What is in them, it knows."""
        looked_at = len(CUTS[self.pipeline] - {"words"})
        here = [arrives]
        for row in range(len(CUTS[self.pipeline])):
            here.append(Signal(name=f"here_{row}"))
            m.d.sync += here[-1].eq(here[-2])
        self.waiting, self.leaves = Signal(), Signal()
        leaves = self.waiting & (here[looked_at] | self.free["settled"])
        m.d.sync += [
            self.waiting.eq(here[looked_at] | (self.waiting & ~self.free["settled"])),
            self.leaves.eq(leaves),
        ]
        self.arrives, self.before, self.unwritten = arrives, here[1 : looked_at + 1], here[1:]
        advance = Mux(self.calm, here[-1], self.free["advance"])
        beat = Beat(m, self.lanes, arrives, {}, Const(0))
        tail_leaves = Mux(self.calm, self.leaves, self.free["leaves"])
        return Rows(beat, {}, self.waiting, list(self.free["items"]), [advance], [], self.free["tail"], tail_leaves)

    def ghosts(self, m: Module) -> None:
        buffer = self.buffer_in_memory(m)
        front, wanted = buffer.front, self.items.ready
        taken = front.shown[0] & wanted
        self.say("reset", *(~value for value in buffer.reset.under_way))

        # Beats that were taken in and have not left, and where they are.
        pending = Signal(range(CAPACITY + 1))
        m.d.comb += self.left_inside.eq(pending - self.waiting)
        m.d.sync += pending.eq(pending + self.arrives - taken)
        came, went, wrote = Signal(), Signal(), Signal()
        m.d.sync += [came.eq(self.arrives), went.eq(taken), wrote.eq(self.leaves)]
        self.say("steps", *_step(buffer.inside, came, went), *_step(buffer.behind, wrote, buffer.near))
        inside, shown = _count(buffer.inside), Cat(front.odd, front.two)
        self.say(
            "inside",
            *_thermometer(buffer.inside),
            inside + came == pending + went,
            ~came | (self.unwritten[0] if self.unwritten else self.waiting),
            pending <= Mux(self.units.ready, CAPACITY - 1, CAPACITY),
        )
        # Those written that have not been announced to the front.
        behind = Signal(range(CAPACITY + 2))
        m.d.comb += behind.eq(_count(buffer.behind) + wrote - buffer.near)
        self.say(
            "counts",
            *_thermometer(buffer.behind),
            buffer.arrive == buffer.near,
            ~buffer.near | ((_count(buffer.behind) != 0) & (shown != 3)),
            pending == self.waiting + self.leaves + behind + buffer.arrive + shown + how_many(self.before),
        )
        if len(self.unwritten) > len(self.before):
            self.say("counts", ~self.unwritten[-1] | self.waiting)
        self.say("fronts", *(copy == (front.two | front.odd) for copy in front.shown))
        self.say("fronts", *(own == (front.two | front.odd) for own, _ in buffer.groups))

        # Every pointer is so many steps behind that of the beat at the front.
        reading = Signal(range(_STATES))
        with m.If(taken):
            m.d.sync += reading.eq(_later(reading, Const(1)))
        self.say("pointers", reading < _STATES)
        rows, tails = Signal(range(CAPACITY + 1)), Signal(range(CAPACITY + 1))
        m.d.comb += [rows.eq(pending - how_many(self.unwritten)), tails.eq(behind + buffer.arrive + shown)]
        for number, (_, lane_memory) in enumerate(buffer.groups):
            written = tails if number == len(buffer.groups) - 1 else rows
            self.say("pointers", lane_memory.read == _pointer(m, lane_memory, reading))
            self.say("pointers", lane_memory.write == _pointer(m, lane_memory, _later(reading, written)))
        self._watch(m, buffer, pending, reading, rows, tails, taken)
        self._flow(m, buffer, pending, wrote, behind, shown)

    def _watch(
        self,
        m: Module,
        buffer: MemoryBuffer,
        pending: Value,
        reading: Value,
        rows: Value,
        tails: Value,
        taken: Value,
    ) -> None:
        """One beat is followed, any."""
        watching, ahead = Signal(), Signal(range(CAPACITY + 1))
        items = Signal(self.lanes - 1, reset_less=True)
        tail = Signal(2, reset_less=True)
        with m.If(~watching):
            m.d.sync += [watching.eq(self.arrives & self.free["watch"]), ahead.eq(pending - taken)]
        with m.Elif(taken):
            m.d.sync += [watching.eq(ahead != 0), ahead.eq(ahead - 1)]
        writes = self.unwritten[-1] if self.unwritten else self.arrives
        with m.If(writes & (Mux(watching, ahead, pending) == rows)):
            m.d.sync += items.eq(self.free["items"])
        with m.If(self.leaves & (ahead == tails)):
            m.d.sync += tail.eq(self.free["tail"])
        self.say("watched", ~watching | (ahead < pending))
        for number, (_, lane_memory) in enumerate(buffer.groups):
            port = lane_memory.rows.read_port(domain="comb")
            m.d.comb += port.addr.eq(_pointer(m, lane_memory, _later(reading, ahead)))
            start = sum(len(memory.words) for _, memory in buffer.groups[:number])
            is_tail = number == len(buffer.groups) - 1
            remembered = tail if is_tail else items[start : start + len(lane_memory.words)]
            is_written = ahead < (tails if is_tail else rows)
            self.say("watched", ~(watching & is_written) | (port.data == remembered))
        given = [Value.cast(self.items.payload.items[lane])[0] for lane in range(self.lanes)]
        shown = Cat(*given, self.items.payload.last)
        first = buffer.front.shown[0] & watching & (ahead == 0)
        self.forbid("order", first & (shown != Cat(items, tail)), buffer.front.shown[0] & (pending == 0))
        waited, before = Signal(), Signal(len(shown), reset_less=True)
        m.d.sync += [waited.eq(first & ~taken), before.eq(shown)]
        self.say("watched", ~waited | (watching & (ahead == 0) & (before == Cat(items, tail)) & buffer.front.shown[0]))
        self.forbid("steady", waited & (~buffer.front.shown[0] | (shown != before)))

    def _flow(self, m: Module, buffer: MemoryBuffer, pending: Value, wrote: Value, behind: Value, shown: Value) -> None:
        """While none has to wait since there was none, what is written is shown four clocks later."""
        smooth, later = Signal(), Signal(4)
        waits = buffer.front.shown[0] & ~self.items.ready
        m.d.sync += [
            smooth.eq((smooth | (pending == 0)) & ~waits),
            later.eq(Mux(pending == 0, 0, Cat(self.leaves, later))),
        ]
        on_time = (buffer.arrive == later[2]) & (behind == later[0] + later[1]) & (shown == later[3])
        self.say("smooth", ~smooth | (on_time & (wrote == later[0])))
        self.forbid("latency", smooth & (buffer.front.shown[0] != later[3]))


class _InRegisters(_Opaque):
    @property
    def _inputs(self) -> dict[str, int]:
        return {"leaves": 1, "word": self.lanes + 1}

    @property
    def _parts(self) -> tuple[str, ...]:
        return ("counts", "words", "smooth")

    def merge(self, m: Module, accepts: Value, run: Callable[[], Value], offered: Signal) -> Merged:
        """What the first half proves of `ParallelDecoder.merge`: beats are offered and stay until all moves on."""
        self.runs = [accepts, run(), run()]
        self.offered, self.word = offered, Signal(self.lanes + 1, reset_less=True)
        with m.If(self.runs[1]):
            m.d.sync += [offered.eq(self.free["leaves"]), self.word.eq(self.free["word"])]
        return Merged(Beat(m, self.lanes, accepts, {}, Const(0)), {}, offered, 1, self.word)

    def ghosts(self, m: Module) -> None:
        pair = self.buffer_in_registers(m)
        taken = pair.shown & self.items.ready
        m.d.comb += self.left_inside.eq(pair.shown)
        comes = self.offered & self.runs[0]
        queue = [Signal(self.lanes + 1, name=f"queue_{n}", reset_less=True) for n in range(2)]
        held = Signal(range(3))
        m.d.sync += held.eq(held + comes - taken)
        after = held - taken
        with m.If(taken):
            m.d.sync += queue[0].eq(queue[1])
        with m.If(comes):
            with m.If(after == 0):
                m.d.sync += queue[0].eq(self.word)
            with m.Else():
                m.d.sync += queue[1].eq(self.word)
        first, second = pair.words
        started = self.calm
        self.say(
            "counts",
            held < 3,
            pair.shown == (held != 0),
            pair.full == (held == 2),
            *(run == (~pair.full & started) for run in self.runs),
            started | (~self.offered & (held == 0)),
        )
        front, behind = Mux(pair.second, second, first), Mux(pair.second, first, second)
        self.say("words", (held == 0) | (front == queue[0]), (held != 2) | (behind == queue[1]))
        given = [Value.cast(self.items.payload.items[lane])[0] for lane in range(self.lanes)]
        shown = Cat(*given, self.items.payload.last)
        self.forbid("order", pair.shown & ((held == 0) | (shown != queue[0])), comes & (held == 2))
        waited, before = Signal(), Signal(len(shown), reset_less=True)
        m.d.sync += [waited.eq(pair.shown & ~taken), before.eq(shown)]
        self.say("words", ~waited | ((held != 0) & (before == queue[0])))
        self.forbid("steady", waited & (~pair.shown | (shown != before)))
        smooth, came = Signal(), Signal()
        adopted = (held == pair.shown) & (~pair.shown | (queue[0] == front)) & ~waited & ~smooth
        m.d.comb += self.adopts.eq(adopted)
        m.d.sync += [
            smooth.eq((smooth | (held == 0)) & ~(pair.shown & ~taken)),
            came.eq(Mux(self.offered, 1, 0)),
        ]
        self.say("smooth", ~smooth | ((held != 2) & (pair.shown == came)))
        self.forbid("latency", smooth & (pair.shown != came))


def _count(level: Level) -> Value:
    return how_many(level.more_than)


def _step(level: Level, up: Value, down: Value) -> tuple[Value, Value]:
    """The step that a count has yet to make is that of the clock before."""
    return level.changes == up ^ down, level.grows == up


def _thermometer(level: Level) -> Iterable[Value]:
    bits = level.more_than
    return [bits[n] | ~bits[n + 1] for n in range(len(bits) - 1)]


def _later(row: Value, steps: Value) -> Value:
    """So many rows on, in the circle."""
    there = row + steps
    return Mux(there >= _STATES, there - _STATES, there)


def _pointer(m: Module, lane_memory: LaneMemory, row: Value) -> Signal:
    """What a memory's pointer is at a row: numbered from where the pointers start."""
    found = Signal.like(lane_memory.read, name="pointer")
    at = lane_memory.read.init
    with m.Switch(row):
        for number in range(_STATES):
            with m.Case(number):
                m.d.comb += found.eq(at)
            at = step_pointer(at)
    return found


class BufferProof(Elaboratable):
    """The questions whose answers are the proof, each a bit that must stay 0.

    Args:
        like: the decoder.
        start: where it starts.

    Attributes:
        never: the properties that are looked at.
        questions: `never`, and the parts of the invariant, which fail a clock after all held, or when the reset is
            over.
        frames: per question the clocks to look at.
        asked: the bits, in the order of `questions`.
    """

    def __init__(self, like: ParallelDecoder, start: Start) -> None:
        self._opaque = opaque = (_InMemory if like.buffer == "memory" else _InRegisters)(like)
        self._start = start
        self._after = like.resetting + 1 if start is Start.RESET else 0
        if opaque.buffer == "registers":
            # The first clock after a reset is as the first of all.
            self._after += 1
        self.never = {Start.HELD: [*opaque.never, "stall", "drains"], Start.ANY: ["heals"]}.get(start, ["quiet"])
        self.questions = [*([] if start is Start.ANY else opaque.invariant), *self.never]
        clocks = 2 if start in (Start.HELD, Start.ANY) else self._after + 1
        self.frames = dict.fromkeys(self.questions, clocks)
        if start is Start.HELD:
            self.frames["stall"] = STALLS[opaque.buffer] + 1
            self.frames["drains"] = draining(like) + 1
        self.clk = Signal(name="clk")
        self.offer, self.ready = Signal(name="offer"), Signal(name="ready")
        self.free = {name: Signal.like(signal, name=f"free_{name}") for name, signal in opaque.free.items()}
        self.asked = Signal(len(self.questions), name="asked")

    @property
    def ports(self) -> list[Signal]:
        """The ports of the top module."""
        return [self.clk, self.offer, self.ready, *self.free.values(), self.asked]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain("sync")
        m.submodules.dut = opaque = self._opaque
        frame = Signal(range(max(self.frames.values()) + 1), reset_less=True)
        m.d.sync += frame.eq(Mux(frame == max(self.frames.values()), frame, frame + 1))
        m.d.comb += [
            domain.clk.eq(self.clk),
            domain.rst.eq((frame == 0) & Const(self._start is Start.RESET, 1)),
            # No null beats, which are to a buffer as if none was offered.
            opaque.units.valid.eq(self.offer),
            Value.cast(opaque.units.payload.keep).eq(1),
            opaque.items.ready.eq(self.ready),
            *(signal.eq(self.free[name]) for name, signal in opaque.free.items()),
        ]
        fails = [~holds for holds in opaque.invariant.values()]
        if self._start is Start.HELD:
            held = Signal(reset_less=True)
            with m.If(frame == 0):
                m.d.sync += held.eq(~Cat(*fails).any())
            now = (frame == 0) & ~Cat(*fails).any()
            willing = Signal(reset_less=True)
            m.d.sync += willing.eq(Mux(frame == 0, 1, willing) & self.ready)
            stalls = (frame == STALLS[opaque.buffer]) & held & willing & ~opaque.units.ready
            asked = [*((frame == 1) & held & fail for fail in fails), *(now & bad for bad in opaque.never.values())]
            # Nothing comes in; and what the window still holds goes to the buffer soon, or waits for more.
            alone, last = Signal(reset_less=True), self.free["settled" if opaque.buffer == "memory" else "leaves"]
            comes = (opaque.units.valid & opaque.units.ready) | (last & (frame > opaque.latency))
            m.d.sync += alone.eq(Mux(frame == 0, 1, alone) & (self.ready | ~opaque.items.valid) & ~comes)
            drains = (frame == draining(opaque)) & held & alone & (opaque.left_inside != 0)
            asked += [stalls, drains]
            m.d.comb += opaque.calm.eq(1)
        elif self._start is Start.ANY:
            was_free = Signal(reset_less=True)
            m.d.sync += was_free.eq(opaque.items.ready | ~opaque.items.valid)
            asked = [(frame == 1) & was_free & opaque.adopts & Cat(*fails).any()]
            m.d.comb += opaque.calm.eq(1)
        else:
            first = int(self._start is Start.RESET)
            if opaque.buffer == "registers":
                m.d.comb += opaque.calm.eq(frame == self._after)
            else:
                m.d.comb += opaque.calm.eq((frame > self._after - DRAINED) | Const(self._after == 0, 1))
            early = (frame >= first) & (frame < self._after) & (opaque.units.ready | opaque.items.valid)
            asked = [*((frame == self._after) & fail for fail in fails), early]
        m.d.comb += self.asked.eq(Cat(*asked))
        return m
