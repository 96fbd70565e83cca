# SPDX-License-Identifier: BSD-2-Clause
"""What the invariant of a packer says of the way from its memories to its output, see `hdl.packer.egress`."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.formal.helpers import delayed, how_many
from utf8fpga.formal.invariants.buffer import hold_memories, is_next_step, later_row, thermometer
from utf8fpga.formal.invariants.packer import PackerInvariant, coded
from utf8fpga.formal.packer_monitors import PackerMonitors
from utf8fpga.hdl.memory_buffer import CAPACITY, step_pointer
from utf8fpga.hdl.packer.egress import BufferedEgress, DirectEgress
from utf8fpga.hdl.packer.packer import Packer

_READ_LATE = 5
"""Upper bound on the rows that are reached while each row is read as soon as it is complete."""

_STATES = CAPACITY + 1
"""The rows of a memory of the buffer."""


def packer_invariant(m: Module, packer: Packer, monitors: PackerMonitors) -> PackerInvariant:
    """The invariant of a packer, see `PackerInvariant`."""
    kind = DirectInvariant if isinstance(packer.egress, DirectEgress) else BufferedInvariant
    return kind(m, packer, monitors)


class DirectInvariant(PackerInvariant):
    """That of a packer whose rows are at the output as soon as they are complete."""

    _egress: DirectEgress

    @property
    def last_cycle(self) -> int:
        return self._packer.words_written + 1

    def _claim_egress(self) -> None:
        bits, slots = self._egress.count.bits, self.slots
        complete = self._since(slots[self._packer.words_written].announced)
        self._claim("counts", *thermometer(bits), how_many(bits) == complete)
        # So the next row, which cycles without a beat write to, is none of those that wait.
        reached = self._since(slots[0].potential)
        self._claim("order of rows", *(self._since(slot.potential) <= reached for slot in slots))

    def _claim_room(self, used: Value, most: int) -> None:
        packer, egress = self._packer, self._egress
        # Of a transfer that is saved for the first beat after a pause, too.
        saved: Value = Const(0, 1)
        if egress.earned is not None:
            saved = egress.earned & ~packer.ready
            self._claim("ready", ~packer.ready | egress.earned)
            self._claim("stall", (self._monitors.willing == 0) | egress.earned)
        self._claim("room", sum(self._coming, used) + packer.ready + saved <= most)
        many = egress.count.bits[egress.threshold - packer.lends]
        self._claim("ready", packer.ready | many | (self._monitors.fresh != 0))
        # So the row after the one in which a beat begins is none of those that wait.
        written = self.slots[: packer.words_written + 1]
        self._claim("room of a beat", *(~slot.valid | (self._since(slot.potential) < most) for slot in written))

    def _claim_stall(self, waiting: Value) -> None:
        monitors, enough = self._monitors, self._egress.stall_cycles
        self._claim("stall", (monitors.willing < enough) | self._packer.ready | (monitors.fresh != 0))

    def _on_time(self) -> list[Value]:
        return [self._out == self.slots[self.last_cycle].announced]

    @property
    def _is_full(self) -> Value:
        return self._since(self.slots[0].potential) >= self._packer.capacity - 1 - self._packer.lends


class BufferedInvariant(PackerInvariant):
    """That of a packer with a buffer in front of its output."""

    _egress: BufferedEgress
    _free_rows = 1

    @property
    def last_cycle(self) -> int:
        # A row is read at the earliest four cycles after it was announced.
        return max(self._egress.complete + 4, self._packer.store.written, self._packer.store.marked)

    def _follow_rows(self) -> None:
        """Rows are also counted when they are read."""
        super()._follow_rows()
        m, egress = self._m, self._egress
        self._read_rows = Signal.like(self._out, name="ghost_rows_read")
        m.d.sync += self._read_rows.eq(self._read_rows + egress.buffer.accepted)
        self._here = delayed(m, "ghost_here", egress.buffer.accepted, len(egress.reads.tree))
        _, *entered = delayed(m, "ghost_entered", self._here[-1], egress.buffer.latency)
        # Whether a row was read that many cycles ago.
        self._was_read = [*self._here, *entered]
        more = egress.complete + 2 + len(self._was_read) - len(self._chain)
        later = [delayed(m, f"ghost_later_{n}", value, more) for n, value in enumerate(self._chain[-1])]
        self._chain += list(zip(*later, strict=True))[1:]

    def _claim_egress(self) -> None:
        m, packer, egress, slots, here = self._m, self._packer, self._egress, self.slots, self._here
        out, known = self._out, self._known
        reads, buffer = len(here) - 1, egress.buffer
        for copies, value in zip(egress.reads.tree, here[1:], strict=True):
            self._claim("reads", *(Value.cast(copy) == value for copy in copies))
        self._claim("reads", egress.was_read == here[1])
        self._in_buffer = hold_memories(
            m,
            buffer,
            lambda part, *claims: self._claim(f"buffer: {part}", *claims),
            leaves=here[reads],
            waiting=Const(0, 1),
            before=here[1:reads],
            unwritten=here[1:],
        )
        self._moved = self._name("moved", self._read_rows - how_many(here[1:reads]), len(out))
        self._entered = self._name("entered", self._moved - here[reads], len(out))
        complete = slots[egress.complete].announced

        # A step is made one cycle after its cause, and that of `count` two cycles with `left`.
        self._left = delayed(m, "ghost_went", self._in_buffer.went, 1 + (egress.left is not None))
        went, before = self._left[:2]
        leaves, counted_out = went, out
        if egress.left is not None:
            self._claim("counts", egress.left == went)
            leaves, counted_out = before, out - went
        ups = {"behind": egress.complete + 1, "count": self._decided + 1}
        downs = {"behind": (here[1], self._read_rows, complete), "count": (leaves, counted_out, known.announced)}
        for name, level in (("behind", egress.behind), ("count", egress.count)):
            up, (down, low, high) = slots[ups[name]].announces, downs[name]
            counted = self._name(f"counted_{name}", how_many(level.bits))
            exact = self._name(f"exact_{name}", high - low, len(out))
            self._claim("counts", *is_next_step(level, up, down), *thermometer(level.bits))
            self._claim("counts", exact == (counted + up - down)[: len(out)], counted <= len(level.bits))
        behind = self._name("behind_rows", complete - self._read_rows, len(out))
        self._claim("counts", self._in_buffer.pending == self._since(self._read_rows))

        waits, most = self._in_buffer.pending + went + before, packer.capacity
        self._claim("room in the buffer", buffer.ready | (waits >= CAPACITY - 3))
        self._claim("room for complete rows", behind <= max(most - (CAPACITY - 3), 3))
        # Not less room for the rows that are reached, complete or not, up to those that words are written to.
        for ago in range(max(packer.store.written, packer.store.marked) - egress.complete + 1):
            since = self._read_rows - how_many(self._was_read[1 : ago + 1])
            reached = self._name(f"reached_{ago}", slots[egress.complete + ago].potential - since, len(out))
            self._claim(f"room for rows {ago} cycles ago", reached <= max(most - (CAPACITY - 3), _READ_LATE))
        bits = (packer.depth - 1).bit_length()
        for code, next_row in zip(packer.store.codes, packer.store.next_rows, strict=False):
            self._claim("pointers", next_row == coded((self._moved + 1)[:bits], code.row, bits))

    def _claim_marks(self) -> None:
        """The rows on their way to the buffer, and in it, are the remembered ones, too."""
        super()._claim_marks()
        here, store = self._here, self._packer.store
        for bank, memory in zip(store.read_banks, store.mark_memories, strict=True):
            if len(memory.held) > 1:
                self._claim("banks", *((bank == number) | (held == 0) for number, held in enumerate(memory.held)))
        self._claim("marks on their way", ~here[-1] | (Cat(store.kept) == self._remembered(self._entered)))

        lanes, buffer = self._lanes, self._egress.buffer
        reading, held = self._in_buffer.reading, self._in_buffer.tails
        self._slot_rows = [Signal.like(self._out, name=f"ghost_slot_row_{n}") for n in range(_STATES)]
        self._slot_words: list[list[Value]] = []
        self._slot_held: list[Value] = []
        into = self._name("into", later_row(reading, held), 4)
        starts = [memory.write.init for memory in buffer.memories]
        for place, number in enumerate(self._slot_rows):
            with self._m.If(here[-1] & (into == place)):
                self._m.d.sync += number.eq(self._entered)
            distance = self._name(
                f"slot_distance_{place}", Mux(reading <= place, place - reading, place + _STATES - reading), 4
            )
            is_held = self._name(f"slot_held_{place}", distance < held)
            row = Cat(self._read(memory.rows, start) for memory, start in zip(buffer.memories, starts, strict=True))
            starts = [step_pointer(start) for start in starts]
            each = (len(row) - 1) // lanes
            parts = [row[lane * each : (lane + 1) * each] for lane in range(lanes)]
            marks = Cat(*(part[0] for part in parts), row[-1])
            self._slot_words.append([part[1:] for part in parts])
            self._slot_held.append(is_held)
            # Without a word there is no error.
            strays = Cat(part[-1] & ~part[0] for part in parts).any()
            self._claim(
                f"row {place} in the buffer",
                ~is_held | ((number == (self._out + distance)[: len(number)]) & ~strays),
                ~is_held | (marks == self._remembered(number)),
            )

    def _claim_watched(self) -> None:
        """Its word is in the row on the way to the buffer, or in the buffer."""
        super()._claim_watched()
        token, is_end = self._monitors.token, self._monitors.is_end
        on_its_way = self._name("on_its_way", self._is_written & self._here[-1] & (self._row == self._entered))
        for lane, read in enumerate(self._packer.store.stored):
            is_here = on_its_way & (self._lane == lane)
            self._claim("words in the memories", ~is_here | (read == token))
        for number, words, held in zip(self._slot_rows, self._slot_words, self._slot_held, strict=True):
            is_here = self._name("is_here", self._stored & ~is_end & held & (number == self._row))
            same = Cat((self._lane != lane) | (word == token) for lane, word in enumerate(words)).all()
            self._claim("words in the buffer", ~is_here | same)

    def _claim_flow(self) -> None:
        """How long rows wait: at least as long as they are on their way, and no longer if the buffer accepts them."""
        super()._claim_flow()
        buffer, was_read, chain = self._egress.buffer, self._was_read, self._chain
        counts, first = self._in_buffer, self._egress.complete + 2
        entered = was_read[len(self._here) :]
        # No row is read before it is written, nor delivered before it has passed the buffer.
        for n in range(len(was_read)):
            done = self._name(f"read_{n}_ago", self._read_rows - how_many(was_read[1 : n + 1]), len(self._out))
            self._claim("order of reading", self._since(done) <= self._since(chain[first + n][0]))
        self._claim("order of delivery", how_many(was_read[1:]) <= counts.pending)
        front, behind = counts.shown, counts.behind
        self._claim("front", counts.wrote == entered[0])
        soon = self._name("soon", behind + buffer.arrive)
        self._claim("front", buffer.arrive | (front >= 2) | (behind == how_many(entered[:2])))
        self._claim("front", (front != 0) | (soon == how_many(entered[:3])))
        self._claim("front", behind >= how_many(entered[:2]), soon >= how_many(entered[:3]))
        # After a cycle in which no row was read, none waits, or so many are in the buffer that the front has some.
        none = self._name("none_waits", self._read_rows == chain[first][0])
        for n in range(1, len(was_read)):
            rest = self._name(f"rest_{n}", counts.pending - how_many(was_read[1:n]), 5)
            self._claim("gaps", was_read[n] | none | (rest >= CAPACITY - 5 - n))

    def _claim_room(self, used: Value, most: int) -> None:
        packer = self._packer
        for n, was_ready in enumerate(self._monitors.was_ready):
            self._claim("room", ~was_ready | (used + (packer.ahead - n) <= most))
        paused = self._egress.count.bits[self._egress.threshold]
        self._claim("ready", ~(packer.ready & paused), packer.ready | paused | (self._monitors.fresh != 0))

    def _claim_stall(self, waiting: Value) -> None:
        packer, egress, willing = self._packer, self._egress, self._monitors.willing
        slower = egress.left is not None
        inside, paused = self._since(self._known.announced), egress.count.bits[egress.threshold]
        many = inside > egress.threshold
        late = self._decided + packer.ahead
        # So many rows are closed that one of them is at the output.
        went, before = self._left[:2]
        earlier = inside + went
        self._claim("stall", (willing == 0) | (earlier <= egress.threshold - slower) | went)
        earlier -= self.slots[self._decided + 1].announces - before
        self._claim("stall", (willing < 2) | (earlier <= egress.threshold - slower) | before)
        self._claim("stall", (willing == 0) | ~many | paused)
        self._claim("stall", (willing == 0) | ~(many | paused) | (waiting <= packer.capacity + 1))
        self._claim("stall", (willing < late + 4) | ~many)
        self._claim("stall", (willing < late + 5 + slower) | ~paused)

    def _on_time(self) -> list[Value]:
        chain, was_read, counts, buffer = self._chain, self._was_read, self._in_buffer, self._egress.buffer
        first, entered = self._egress.complete + 2, was_read[len(self._here) :]
        on_time: list[Any] = [self._read_rows == chain[first][0], buffer.ready]
        on_time.append(counts.pending == how_many(was_read[1:]))
        on_time.append(counts.behind == how_many(entered[:2]))
        on_time.append(buffer.arrive == entered[2])
        on_time.append(counts.shown == entered[3])
        for n in range(1, len(was_read)):
            on_time.append((chain[first + n][0] + was_read[n])[: len(self._out)] == chain[first + n - 1][0])
        return on_time

    @property
    def _is_full(self) -> Value:
        return self._in_buffer.pending == self._egress.buffer.capacity
