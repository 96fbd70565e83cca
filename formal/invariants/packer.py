# SPDX-License-Identifier: BSD-2-Clause
"""The invariant of a packer, for a proof by induction over one cycle.

A packer has memories, and no proof engine finds an invariant of their contents by itself. So the invariant is written
down here, in terms of the packer's public attributes and of *ghosts*: registers that only the proof has. It need not be
trusted. An incorrect invariant or incorrect ghost registers only make a proof fail.

Each cycle of the packer's pipeline is paired with a *slot*, a `GhostBeat` that holds the beat of that cycle as it was
accepted. Closed rows are numbered; of each one the number of its first event and of its words is remembered. The
invariant consists of these claims:

- each slot begins where the slot of the beat before it ends;
- the registers with feedback are those of the slot of their cycle. All other registers of the pipeline are functions of
  their slots; those claims are made from the circuit itself, see `Registers`;
- after each step of the network, the watched word is in the lane that its destination requires;
- the rows in the memories, and those on the way to the output, are the remembered ones, without a gap;
- the watched event is in one place, and that place holds its word;
- the counts of rows are exact, and bounded.

All fields of a word are compared. Rows leave the memories directly, as they do with few lanes, see `hdl.packer.egress`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.formal.helpers import delayed, how_many, named
from utf8fpga.formal.invariants.buffer import thermometer
from utf8fpga.formal.packer_monitors import GhostBeat, PackerMonitors
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.packer.store import BANK_BITS, RowMemory

PACKER_COVERS = (
    "full, and a word is watched",
    "full, and an end is watched",
    "a watched word waits in an open row",
    "two rows closed at once",
    "a second row is announced late",
    "a row closed without a beat",
    "an end alone",
    "a full beat with an end",
    "the input waits",
)
"""What must be reachable, so that the invariant does not rule it out."""

FLUSHED_COVERS = ("a row closed without a beat",)
"""Those that only a packer that `flushes` reaches."""

_LATER = ("pending", "later_start", "later_rest", "later_full", "later_last")
"""Ghosts of each slot besides `GhostBeat.FIELDS`: whether a row that an earlier beat closed has not been announced, and
that row: the number of its first event, its words modulo the lanes, whether it is full, and whether the packet ends."""


class _Slot(GhostBeat):
    """A beat in a cycle of the pipeline."""

    FIELDS = (*GhostBeat.FIELDS, *_LATER)

    pending: Signal
    later_start: Signal
    later_rest: Signal
    later_full: Signal
    later_last: Signal

    def __init__(self, name: str, lanes: int, row_bits: int, number_bits: int) -> None:
        super().__init__(name, lanes, row_bits, number_bits)
        self.later_start = Signal(number_bits, name=f"{name}_later_start")
        self.later_rest = Signal(len(self.base), name=f"{name}_later_rest")

    def derive(self, m: Module) -> None:
        """Compute what follows from the state.

        This sets, besides those of `GhostBeat`, the attributes:
            announces: a row is announced with this beat.
            announced: the number of that row, or of the next one.
            filled: its words modulo the lanes, whether it is full, and whether the packet ends with it.
            row_start, row_words: the number of its first event, and of its words.
            potential: the number of the first row that is not reached.
        """
        super().derive(m)
        name = partial(self._name, m)
        two, ends = self.closes == 2, self.valid & self.last
        self.announces = name("announces", (self.closes != 0) | self.pending, 1)
        self.announced = name("announced", self.row - self.pending, len(self.row))
        own = Cat(self.rest[: len(self.base)], self.full, ends & ~two)
        later = Cat(self.later_rest, self.later_full, self.later_last)
        self.filled = name("filled", Mux(self.pending, later, own), len(own))
        self.row_start = name("row_start", Mux(self.pending, self.later_start, self.start), len(self.start))
        rest, full, _ = self.filled[: len(self.base)], self.filled[-2], self.filled[-1]
        self.row_words = name("row_words", Mux(full, self.lanes, rest), self.lanes.bit_length())
        self.potential = name("potential", self.row + (self.base != 0), len(self.row))
        self.next_pending = name("next_pending", two | (self.pending & (self.closes != 0)), 1)
        second = self.start + self.lanes
        self.next_later_start = name("next_later_start", Mux(two, second, self.start), len(self.start))
        self.next_later_rest = name("next_later_rest", self.rest, len(self.base))
        self.next_later_full = name("next_later_full", self.full & ~two, 1)
        self.next_later_last = name("next_later_last", ends, 1)
        self.at = [name(f"at_{n}", self.base + rank, len(rank) + 1) for n, rank in enumerate(self.ranks)]
        self.wraps = [name(f"wraps_{n}", place >= self.lanes, 1) for n, place in enumerate(self.at)]
        self.targets = [
            name(f"target_{n}", Mux(wraps, place - self.lanes, place), len(self.base))
            for n, (wraps, place) in enumerate(zip(self.wraps, self.at, strict=True))
        ]


class PackerInvariant:
    """The invariant of a packer with a `DirectEgress`, added to a module that has the packer as a submodule.

    Args:
        packer: the packer. It has not been elaborated, since its memories are given more read ports.
        monitors: of the packer, in the same module.

    Attributes:
        parts: the invariant in parts, by name: one bit each, of registers and memories alone.
        covers: by name of `PACKER_COVERS`, whether it is so in this cycle.
        slots: per cycle of the pipeline its slot; that of cycle 0 is the input.
        states: the registers with feedback of the pipeline, bit by bit.
        expected: per slot the bits that `states` would have if they belonged to it.
    """

    def __init__(self, m: Module, packer: Packer, monitors: PackerMonitors) -> None:
        self._m, self._packer, self._monitors = m, packer, monitors
        self._size, self._lanes = monitors.number_bits, packer.lanes
        self._decided = packer.closed.decided + 1
        self.parts: dict[str, Value] = {}
        self._follow_beats()
        self._follow_rows()
        self._follow_watched()
        self._claim("steady", ~monitors.restless)
        self._claim_states()
        self._claim_slots()
        self._claim_network()
        self._claim_waiting()
        self._claim_counts()
        self._claim_marks()
        self._claim_numbers()
        self._claim_watched()
        self._claim_flow()
        self._claim_rates()
        self.covers = self._cover()

    def _name(self, name: str, value: Any, size: int | None = None) -> Signal:
        return named(self._m, f"ghost_{name}", value, size)

    def _claim(self, part: str, *values: Any) -> None:
        """Add claims to a part of the invariant. The claims of a part are proved by one question to the engine."""
        before = [self.parts[part]] if part in self.parts else []
        self.parts[part] = self._name("claim", Cat(*before, *(Value.cast(value).bool() for value in values)).all())

    def _read(self, memory: Any, address: Value | int) -> Value:
        """The row of a memory at an address, by a read port of the proof's own."""
        port = memory.read_port(domain="comb")
        self._m.d.comb += port.addr.eq(address)
        found: Value = port.data
        return found

    def _read_row(self, memory: RowMemory, address: Value | int) -> Value:
        """The row of a memory of the store at an address."""
        if isinstance(address, int):
            return self._read(memory.banks[address >> BANK_BITS], address % (1 << BANK_BITS))
        rows = [self._read(bank, address[:BANK_BITS]) for bank in memory.banks]
        return memory.choose(rows, address[BANK_BITS:])

    # Ghosts.

    def _follow_beats(self) -> None:
        """Beats pass the cycles of the pipeline."""
        m, packer, monitors = self._m, self._packer, self._monitors
        entry = monitors.entry
        self.slots: list[_Slot] = []
        for n in range(self.last_cycle + 1):
            slot = _Slot(f"ghost_{n}", self._lanes, len(entry.row), len(entry.number))
            slot.derive(m)
            self.slots.append(slot)
        first = self.slots[0]
        m.d.comb += [getattr(first, field).eq(getattr(entry, field)) for field in GhostBeat.FIELDS]
        m.d.sync += [getattr(first, field).eq(getattr(first, f"next_{field}")) for field in _LATER]
        for before, slot in pairwise(self.slots):
            m.d.sync += [getattr(slot, field).eq(getattr(before, field)) for field in _Slot.FIELDS]
        # Of the slots from this one on the rows are known; in the other one the words are written.
        self._known, self._written = self.slots[self._decided], self.slots[packer.store.written]
        self._marked = self.slots[packer.store.marked]

    @property
    def last_cycle(self) -> int:
        """The last cycle after the input of which it is remembered which beat was there."""
        return self._packer.words_written + 1

    def _follow_rows(self) -> None:
        """Rows are counted when they are delivered, and remembered from their announcement on."""
        m, known = self._m, self._known
        self._out = Signal.like(known.row, name="ghost_rows_out")
        m.d.sync += self._out.eq(self._out + self._monitors.delivered)
        depth = 1 << (len(known.row) - 1)
        self._index = len(known.row) - 1
        self._starts = [Signal(self._size, name=f"ghost_start_{n}") for n in range(depth)]
        self._words = [Signal.like(known.row_words, name=f"ghost_words_{n}") for n in range(depth)]
        self._lasts = [Signal(name=f"ghost_last_{n}") for n in range(depth)]
        for n in range(depth):
            with m.If(known.announces & (known.announced[: self._index] == n)):
                m.d.sync += [
                    self._starts[n].eq(known.row_start),
                    self._words[n].eq(known.row_words),
                    self._lasts[n].eq(known.filled[-1]),
                ]
        # Per cycle after the input the row that is announced next, and its first event.
        self._chain: list[tuple[Value, Value]] = [(slot.announced, slot.row_start) for slot in self.slots]

    def _follow_watched(self) -> None:
        """The row and the lane of the watched event are remembered, from the cycle on in which its row is known."""
        m, known = self._m, self._known
        self._stored = Signal(name="ghost_stored")
        self._row = Signal.like(known.row, name="ghost_row")
        self._lane = Signal(range(self._lanes), name="ghost_lane")
        with m.If(self._monitors.delivered & (self._row == self._out)):
            m.d.sync += self._stored.eq(0)
        for place in range(self._lanes + 1):
            with m.If(known.watched[place]):
                m.d.sync += self._stored.eq(1)
                if place == self._lanes:
                    m.d.sync += self._row.eq(known.row + (known.closes == 2))
                else:
                    m.d.sync += [
                        self._row.eq(known.row + known.wraps[place]),
                        self._lane.eq(known.targets[place]),
                    ]

    # The pipeline.

    def _claim_states(self) -> None:
        """The registers with feedback are those of the slots of their cycles."""
        packer = self._packer
        bits = (packer.depth - 1).bit_length()
        states: list[tuple[Value, int]] = [(bit.value, bit.stage) for bit in packer.begin.base]
        for pair in packer.store.numbers:
            states += [(bit.value, bit.stage) for bit in pair]
        states.append((packer.closed.pending, packer.closed.decided))
        states += [(bit, packer.closed.decided) for bit in packer.closed.later]
        self.states, self.cycles = Cat(*(bit for bit, _ in states)), [cycle for _, cycle in states]
        self.expected: list[Signal] = []
        for n, slot in enumerate(self.slots):
            # That of two groups is the code of the first one.
            rows = [coded(slot.row[:bits], code.pair, bits + 1) for code in packer.store.codes[::2]]
            later = Cat(slot.later_rest, slot.later_full, slot.later_last)
            self.expected.append(self._name(f"expected_{n}", Cat(slot.base, *rows, slot.pending, later)))
        for at, cycle in enumerate(self.cycles):
            self._claim("states", self.states[at] == self.expected[cycle][at])

    def _claim_slots(self) -> None:
        """Each slot begins where the one before it ends."""
        lanes, entry = self._lanes, self.slots[0]
        self._claim("slot 0", entry.base < lanes)
        for n, (following, slot) in enumerate(pairwise(self.slots)):
            part = f"slot {n + 1}" if n < 2 else "slots"
            for field in ("base", "row", "number", *_LATER):
                self._claim(part, getattr(following, field) == getattr(slot, f"next_{field}"))
            self._claim(part, slot.base < lanes)
            self._claim(part, ~(slot.valid & slot.idle))
            self._claim(part, ~slot.pending | ((slot.base == 0) & (slot.later_full | slot.later_last)))
            ahead = self._name(f"potential_ahead_{n}", entry.potential - slot.potential, len(slot.row))
            self._claim("distances", ahead <= n + 1)
            behind = self._name(f"behind_{n}", entry.number - slot.number, self._size)
            self._claim("distances", behind <= (lanes + 1) * (n + 1))
            if n < self._decided:
                self._claim_number(f"number in slot {n + 1}", slot)

    def _claim_number(self, part: str, slot: _Slot) -> None:
        """The watched event has its number, and `idled` is set if a cycle without a beat follows it."""
        lanes, monitors, size = self._lanes, self._monitors, self._size
        now = self._monitors.now
        events = Cat(slot.keep, slot.last)
        numbers = [*slot.ranks, slot.words]
        for place in range(lanes + 1):
            is_it = slot.valid & events[place] & (now == (slot.number + numbers[place])[:size])
            is_it = is_it & (monitors.is_end == (place == lanes))
            if place == lanes:
                is_it = is_it & (monitors.wordless == (slot.words == 0))
            self._claim(part, ~slot.watched[place] | is_it)
        just_before = monitors.watching & ((now + 1)[:size] == slot.number)
        self._claim(part, ~(slot.idle & just_before) | monitors.idled)

    def _claim_network(self) -> None:
        """After each step a word is in the lane of its own block that has the low bits of its destination."""
        packer, network, lanes = self._packer, self._packer.network, self._lanes
        steps = (lanes - 1).bit_length()

        @cache
        def places(step: int, cycle: int) -> list[Value]:
            slot, low = self.slots[cycle], (1 << min(step, steps)) - 1
            at = [(place & low) + (n & ~low & ((1 << steps) - 1)) for n, place in enumerate(slot.at)]
            values = slot.targets if step > steps else at
            return [self._name(f"place_{step}_{cycle}_{n}", value, steps) for n, value in enumerate(values)]

        for step, words in enumerate(network.words):
            for lane, word in enumerate(words):
                for held in packer.pipeline.delayed(word):
                    slot, at = self.slots[held.stage], places(step, held.stage)
                    here = Cat(slot.watched[n] & (at[n] == lane) for n in range(lanes)).any()
                    self._claim(f"words in cycle {held.stage}", ~here | (held.value == self._monitors.token))
            for lane, bit in enumerate(network.present[step] if step < len(network.present) else []):
                for held in packer.pipeline.delayed(bit):
                    slot, at = self.slots[held.stage], places(step, held.stage)
                    here = Cat(slot.keep[n] & (at[n] == lane) for n in range(lanes)).any()
                    self._claim(f"present in cycle {held.stage}", ~slot.valid | (held.value == here))

    def _claim_waiting(self) -> None:
        """A watched word that waits for the network in a memory is in the row that its cycle says."""
        start, width, first = 0, len(self._monitors.token), self._packer.network.given[0].stage
        for lane, word in enumerate(self._packer.network.given if first else []):
            watched = self.slots[first].watched[lane]
            self._claim(f"words in cycle {first}", ~watched | (word.value == self._monitors.token))
        for n, (line, entry) in enumerate(self._packer.pipeline.memories):
            lanes, pointer = range(start, start + len(entry) // width), line.pointer
            start = lanes[-1] + 1
            self._claim("pointers of waiting words", pointer < line.depth)
            for cycle in range(1, line.depth + 1):
                at = self._name(
                    f"waits_{n}_{cycle}",
                    Mux(pointer >= cycle, pointer - cycle, pointer + line.depth - cycle),
                    len(pointer),
                )
                row = self._read(line.rows, at)
                for lane in lanes:
                    word = row[(lane - lanes[0]) * width : (lane - lanes[0] + 1) * width]
                    watched = self.slots[first + cycle].watched[lane]
                    self._claim(f"words in cycle {first + cycle}", ~watched | (word == self._monitors.token))

    # The rows.

    @property
    def _is_full(self) -> Value:
        """As many rows wait as may."""
        return self._since(self.slots[0].potential) >= self._packer.capacity - 1

    def _since(self, row: Value) -> Value:
        """The number of rows from the one at the output to another one."""
        return (row - self._out)[: len(self._out)]

    def _claim_counts(self) -> None:
        """The counts are exact, pointers are where they should be, and so many rows are reserved at most."""
        packer, slots = self._packer, self.slots
        self._claim("reset", *(~value for value in packer.reset.active))
        egress = packer.egress
        complete = self._since(slots[packer.words_written].announced)
        self._claim("counts", *thermometer(egress.count.bits), how_many(egress.count.bits) == complete)
        # So the next row, which cycles without a beat write to, is none of those that wait.
        reached = self._since(slots[0].potential)
        self._claim("order of rows", *(self._since(slot.potential) <= reached for slot in slots))

        for n, slot in enumerate(slots):
            rows = [self._since(each) for each in (slot.announced, slot.row, slot.potential)]
            self._claim("order of rows" if n else "order of new rows", rows[0] <= rows[1], rows[1] <= rows[2])

        # Beats are accepted only if there was room for all that may be in the pipeline.
        most = packer.capacity
        self._claim("room", reached <= most, reached + packer.ready <= most)
        many = egress.count.bits[egress.threshold]
        self._claim("ready", packer.ready | many | (self._monitors.fresh != 0))
        # So the row after the one in which a beat begins is none of those that wait.
        written = slots[: packer.words_written + 1]
        self._claim("room of a beat", *(~slot.valid | (self._since(slot.potential) < most) for slot in written))
        self._claim("ready", packer.paused == ~packer.ready)
        self._claim("room inside", self._since(self._known.announced) <= most)
        bits = (packer.depth - 1).bit_length()
        for code, mark_row, read_row in zip(
            packer.store.codes, packer.store.mark_rows, packer.store.read_rows, strict=True
        ):
            self._claim("pointers", mark_row == coded(self._marked.announced[:bits], code.row, bits))
            self._claim("pointers", read_row == coded(self._out[:bits], code.row, bits))

    def _remembered(self, row: Value) -> Value:
        """The marks of a row as it is remembered."""
        at = row[: self._index]
        return self._marks(select(self._words, at), select(self._lasts, at))

    def _marks(self, words: Value, last: Value) -> Value:
        """Per lane whether there is a word, and whether the packet ends."""
        return Cat(*(lane < words for lane in range(self._lanes)), last)

    def _claim_marks(self) -> None:
        """The rows in the memories are the remembered ones."""
        packer, depth, marked = self._packer, self._packer.depth, self._marked.announced
        waiting = self._name("marked_rows", marked - self._out, len(marked))
        for row in range(depth):
            marks = Cat(
                self._read_row(memory, code.row(row))
                for code, memory in zip(packer.store.codes, packer.store.mark_memories, strict=True)
            )
            distance = self._name(f"distance_{row}", (row - self._out)[: (depth - 1).bit_length()])
            number = self._name(f"row_number_{row}", self._out + distance, len(self._out))
            bit = number[(depth - 1).bit_length() : self._index]
            words, last = (select(each[row::depth], bit) for each in (self._words, self._lasts))
            self._claim("marks", (distance >= waiting) | (marks == self._marks(words, last)))
        self._claim("marked rows", waiting <= depth)
        for n in range(self._decided + 1, packer.store.marked + 1):
            slot = self.slots[n]
            at = slot.announced[: self._index]
            same = (select(self._words, at) == slot.row_words) & (select(self._lasts, at) == slot.filled[-1])
            self._claim("rows that are marked", ~slot.announces | same)

    def _claim_numbers(self) -> None:
        """The remembered rows have all events that were accepted, without a gap."""
        monitors, known, size, lanes = self._monitors, self._known, self._size, self._lanes
        count = self._since(known.announced)
        newest = known.row_start
        first = select(self._starts, self._out[: self._index])
        self._claim("numbers", self._monitors.number_out == Mux(count == 0, newest, first))
        later = self._name("later_events", Mux(known.later_full, lanes, known.later_rest) + known.later_last)
        complete = (known.later_start + later)[:size] == known.start
        self._claim("numbers", ~known.pending | (complete & (later != 0)))
        self._claim("numbers", (newest - self._monitors.number_out)[:size] <= (lanes + 1) * self._packer.capacity)
        # What is at the output.
        output = self._packer.packed
        payload = output.payload
        marks = Cat(monitors.keep_out, payload.last)
        self._claim("the output", ~output.valid | (marks == self._remembered(self._out)))
        depth = len(self._starts)
        self._live: list[Value] = []
        self._before: list[Value] = []
        self._events: list[Value] = []
        for row, start in enumerate(self._starts):
            distance = self._name(f"since_{row}", (row - self._out)[: self._index])
            age = self._name(f"age_{row}", (known.announced - row)[: self._index])
            live = self._name(f"live_{row}", (age != 0) & (age <= count))
            following = Mux(age == 1, newest, self._starts[(row + 1) % depth])
            events = self._name(f"events_{row}", self._words[row] + self._lasts[row])
            behind = self._name(f"row_behind_{row}", (newest - start)[:size])
            correct = ((start + events)[:size] == following) & (self._words[row] <= lanes) & (events != 0)
            part = f"remembered row {row}"
            self._claim(part, ~live | correct, ~live | ((behind >= events) & (behind <= (lanes + 1) * age)))
            self._live.append(live)
            self._before.append(distance)
            self._events.append(events)

    def _claim_watched(self) -> None:
        """The watched event is in one place; once its row is known, that row has its word and its number."""
        packer, monitors, known, written = self._packer, self._monitors, self._known, self._written
        lanes, size, slots = self._lanes, self._size, self.slots
        held = [self._name(f"watched_{n}", slot.watched.any()) for n, slot in enumerate(slots)]
        early = held[1 : self._decided + 1]
        moving = Cat(held[self._decided + 1 : packer.store.written + 1])
        self._claim("places", _at_most_one([*early, self._stored]), _at_most_one([*early, *moving]))
        for slot in slots[1 : packer.store.written + 1]:
            self._claim("places in a beat", _at_most_one(list(slot.watched)))
        self._claim("places", monitors.watching == Cat(*early, self._stored).any())
        self._claim("the number of the watched event", ~monitors.watching | (monitors.ahead < monitors.pending))
        for slot in slots[self._decided + 1 : packer.store.written + 1]:
            for place in range(lanes + 1):
                if place == lanes:
                    its_row = (slot.row + (slot.closes == 2))[: len(slot.row)]
                    is_it = monitors.is_end & (self._row == its_row)
                else:
                    its_row = (slot.row + slot.wraps[place])[: len(slot.row)]
                    is_it = ~monitors.is_end & (self._row == its_row) & (self._lane == slot.targets[place])
                    is_it = is_it & slot.keep[place] & slot.valid
                self._claim("moving", ~slot.watched[place] | (self._stored & is_it))

        now = self._monitors.now
        distance, count = self._since(self._row), self._since(known.announced)
        is_known = self._name("is_known", distance < count)
        at = self._row[: self._index]
        start, words_in, last = (select(each, at) for each in (self._starts, self._words, self._lasts))
        its_start = self._name("its_start", Mux(is_known, start, Mux(distance == count, known.row_start, known.start)))
        waits = Mux(known.pending & (distance == count), known.row_words, known.base)
        its_words = self._name("its_words", Mux(is_known, words_in, waits), len(known.row_words))
        its_last = self._name("its_last", Mux(is_known, last, known.pending & (distance == count) & known.later_last))
        stored_word = self._stored & ~monitors.is_end
        part = "the watched event"
        self._claim(part, ~self._stored | (distance <= self._since(known.row)))
        self._claim(part, ~self._stored | (now == (its_start + Mux(monitors.is_end, its_words, self._lane))[:size]))
        self._claim(part, ~stored_word | (self._lane < its_words))
        self._claim(part, ~(self._stored & monitors.is_end) | its_last)
        self._claim(part, ~(self._stored & monitors.is_end & (its_words == 0)) | monitors.wordless)
        closed = self._stored & (distance != self._since(known.row))
        is_final = closed & ~monitors.is_end & (self._lane + 1 == its_words)
        self._claim(part, ~(is_final & ~its_last & (its_words < lanes)) | monitors.idled)
        for row, (live, before) in enumerate(zip(self._live, self._before, strict=True)):
            after = self._name(f"now_after_{row}", (now - self._starts[row])[:size])
            earlier = self._stored & live & (before < distance)
            correct = (after >= self._events[row]) & (after <= monitors.most)
            self._claim(f"row {row} before the watched event", ~earlier | correct)

        output = packer.packed
        words_out = [Value.cast(output.payload.symbols[lane]) for lane in range(lanes)]
        same = Cat((self._lane != lane) | (word == monitors.token) for lane, word in enumerate(words_out)).all()
        self._claim("the word at the output", ~(stored_word & output.valid & (distance == 0)) | same)
        # Where its word is.
        is_moving, row_bits = moving.any(), (packer.depth - 1).bit_length()
        self._is_written = is_written = self._name("is_written", stored_word & ~is_moving)
        open_row = (self._row == written.row) & (self._lane >= written.base)
        self._claim("place of the word", ~is_written | ~open_row)
        self._claim("row of the word", ~is_written | (distance <= self._since(written.row)))
        in_memory = self._name("in_memory", is_written & (distance >= self._since(self._out)))
        for lane, memory in enumerate(packer.store.word_memories):
            code = packer.store.codes[lane // packer.store.group]
            word = self._read_row(memory, coded(self._row[:row_bits], code.row, row_bits))
            is_here = in_memory & (self._lane == lane)
            self._claim("words in the memories", ~is_here | (word == monitors.token))
        # It is in a memory until the row is moved from there.
        self._claim("row of a moving word", ~is_moving | (distance >= self._since(self._out)))

    def _claim_flow(self) -> None:
        """Rows are on their way in the order in which they were announced."""
        self._claim("order", *(self._since(a) >= self._since(b) for (a, _), (b, _) in pairwise(self._chain)))

    def _claim_rates(self) -> None:
        """Upper bounds on the rows and events that wait, while the output is not stalled."""
        monitors, slots, chain = self._monitors, self.slots, self._chain
        lanes, size = self._lanes, self._size
        enough = self._packer.stall_cycles
        self._claim("stall", (monitors.willing < enough) | self._packer.ready | (monitors.fresh != 0))
        # In time. A packer that states too low a latency has fewer.
        more = max(0, len(chain) - len(monitors.due))
        due = [*monitors.due, *delayed(self._m, "ghost_later_due", monitors.due[-1], more)[1:]]
        for n, (row, start) in enumerate(chain):
            known = self._known.announced
            at = select(self._starts, row[: self._index])
            if n > self._decided:
                self._claim(f"start {n}", start == Mux(row == known, self._known.row_start, at))
            if n:
                ahead = self._name(f"due_{n}", chain[n - 1][1] - due[n], size)
                self._claim("due", ahead <= 2 * (lanes + 1))
                behind = self._name(f"due_behind_{n}", slots[0].number - due[n], size)
                self._claim("due", behind <= (lanes + 1) * (n + 2))
            if n < len(slots):
                self._claim("due", due[n] == slots[n].start)
        self._claim("in time", ~monitors.prompt | (self._out == slots[self.last_cycle].announced))

    def _cover(self) -> dict[str, Value]:
        packer, monitors, known = self._packer, self._monitors, self._known
        full = self._name("is_full", ~packer.ready & self._is_full)
        stored_word, stored_end = self._stored & ~monitors.is_end, self._stored & monitors.is_end
        return {
            "full, and a word is watched": full & stored_word,
            "full, and an end is watched": full & stored_end,
            "a watched word waits in an open row": stored_word & (self._row == known.row),
            "two rows closed at once": known.closes == 2,
            "a second row is announced late": known.pending & (known.closes != 0),
            "a row closed without a beat": known.idle & (known.base != 0),
            "an end alone": monitors.stalled & ~monitors.keep_out.any(),
            "a full beat with an end": monitors.stalled & monitors.keep_out.all() & packer.packed.payload.last,
            "the input waits": ~packer.sparse.ready & (monitors.fresh == 0),
        }


def _at_most_one(bits: Sequence[Value]) -> Value:
    return ~Cat(bit & Cat(*bits[:n]).any() for n, bit in enumerate(bits) if n).any()


def coded(number: Value, code: Callable[[int], int], size: int) -> Value:
    """The code of a row, of so many bits, given its number modulo the rows."""
    return select([Const(code(row), size) for row in range(1 << len(number))], number)


def select(values: Sequence[Value], index: Value) -> Value:
    """One of as many values as the index has."""
    if len(values) == 1:
        return values[0]
    for bit in index:
        values = [Mux(bit, odd, even) for even, odd in zip(values[::2], values[1::2], strict=True)]
    return values[0]
