# SPDX-License-Identifier: BSD-2-Clause
"""The pieces of the buffers behind a wide pipeline: registers near what they drive, none deeper than a look-up table.

A net to thousands of flip-flops is as slow as it is long. So whatever many lanes need exists in
copies, and each copy keeps itself: a register that is a function of itself is no duplicate that
synthesis would merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import memory

__all__ = ["CAPACITY", "Front", "LaneMemory", "Level", "Pair", "Reset", "fan_out", "step_pointer"]

_STATES = 15
"""The states of a four-bit pointer that steps through all but 0."""

CAPACITY = _STATES - 1
"""Beats that a memory and the pair behind it hold; the row that is written next is always free."""

_POINTER_BITS = 4


class Reset:
    """Resets registers some clocks late, and for so long that what was under way has come to nothing.

    The late reset comes from a tree, so that no net goes from the port to all registers. Those of
    a pipeline or a tree need none, and no place near a copy of it.

    Args:
        rst: the reset.
        places: parts of the circuit that have a copy of their own; as many copies are for all else.
        passing: clocks until nothing comes any more from what was taken in before.

    Attributes:
        busy: the late reset is still to come or just done; until then nothing may enter or leave.
        under_way: values that are 0 unless a reset is; `busy` is one of them.
    """

    def __init__(self, m: Module, rst: Value, places: int, passing: int) -> None:
        self._m = m
        self._places = places
        self._given = 0
        stages, lasts = self._parts(places, passing)
        quiet = [Signal(name=f"quiet_{clocks}", init=1, reset_less=True) for clocks in range(lasts + stages)]
        m.d.sync += [new.eq(old & ~rst) for new, old in zip(quiet, [Const(1, 1), *quiet], strict=False)]
        late: list[list[Value]] = []
        self.late = fan_out(m, "reset", ~quiet[lasts - 1], stages, late)
        self.busy = ~quiet[-1]
        self.under_way = [*chain.from_iterable(late), *(~clock for clock in quiet)]

    @staticmethod
    def _parts(places: int, passing: int) -> tuple[int, int]:
        """Stages of the tree, and clocks for which the late reset lasts."""
        stages = 1 + (2 * places - 1).bit_length()
        # In the first clock a count may still say something.
        return stages, max(2, passing - stages)

    @classmethod
    def clocks(cls, places: int, passing: int) -> int:
        """Clocks from a reset to the first one that is not `busy`."""
        return sum(cls._parts(places, passing))

    def __call__(self, *registers: Signal, place: int | None = None) -> None:
        """Give registers their initial values in a late reset, from the copy of `place` or the next of the others."""
        if place is None:
            place = -1 - self._given % self._places
            self._given += 1
        with self._m.If(self.late[place]):
            self._m.d.sync += [register.eq(register.init) for register in registers]


def fan_out(m: Module, name: str, value: Value, stages: int, every: list[list[Value]] | None = None) -> list[Value]:
    """Copies of a one-bit value, `stages` clocks later, as a tree that doubles at each stage but the last.

    Of two registers that hold the same, one holds the complement; so no two are alike, and
    synthesis leaves the tree as it is. Those of the last stage are plain, fit to enable or reset.
    To `every`, if there is such a list, the copies of each stage are added.
    """
    copies = [value]
    for stage in range(stages):
        following: list[Value] = []
        for copy in copies:
            plain = Signal(name=f"{name}_{stage}_{len(following)}", reset_less=True)
            m.d.sync += plain.eq(copy)
            following.append(plain)
            if stage < stages - 1:
                inverted = Signal(name=f"{name}_{stage}_{len(following)}", init=1, reset_less=True)
                m.d.sync += inverted.eq(~copy)
                following.append(~inverted)
        copies = following
        if every is not None:
            every.append(copies)
    return copies


class Level:
    """A count of beats as a thermometer: bit k is set while there are more than k.

    Each step is made a clock late, so that all bits share an enable that is a register, and none
    is a function of more than three others, which fits a look-up table.

    Args:
        up: a beat more.
        down: a beat fewer, if there is one.

    Attributes:
        more_than: the bits.
        changes, grows: the step that is made at the end of this clock.
    """

    def __init__(self, m: Module, name: str, up: Value, down: Value, reset: Reset) -> None:
        self.more_than = Signal(CAPACITY, name=name, reset_less=True)
        self.changes, self.grows = (Signal(name=f"{name}_{part}", reset_less=True) for part in ("changes", "grows"))
        m.d.sync += [self.changes.eq(up ^ down), self.grows.eq(up)]
        bits = [Const(1, 1), *self.more_than, Const(0, 1)]
        with m.If(self.changes):
            for below, bit, above in zip(bits, bits[1:-1], bits[2:], strict=False):
                m.d.sync += bit.eq(Mux(self.grows, below, above))
        reset(self.more_than)


class Pair:
    """The control of two registers in turn at the output: what is shown stays while the other one is filled.

    Whatever the control holds, it is in order a clock after the consumer was ready, or was shown nothing.

    Args:
        comes: there is a beat to be filled in, which is taken unless `full`.
        wanted: the consumer is ready.

    Attributes:
        shown: a beat is shown.
        full: two are held.
        second: it is the second of the two that is shown, or would be; the other one is filled unless `full`.
        words: the two, from `hold` on.
    """

    def __init__(self, m: Module, name: str, comes: Value, wanted: Value) -> None:
        self.shown, self.full, self.second = self.registers = tuple(
            Signal(name=f"{name}_{part}", reset_less=True) for part in ("shown", "full", "second")
        )
        m.d.sync += [
            self.shown.eq(self.full | comes | (self.shown & ~wanted)),
            self.full.eq(~wanted & self.shown & (self.full | comes)),
            self.second.eq(self.second ^ (wanted | ~self.shown)),
        ]
        self.words: Sequence[Signal] = ()

    def hold(self, m: Module, word: Value) -> Value:
        """The output word, from the word that comes."""
        self.words = first, second = tuple(
            Signal(len(word), name=f"shown_{which}", reset_less=True) for which in ("first", "second")
        )
        for register, turn in ((first, self.second), (second, ~self.second)):
            # Written out: as a clock enable it would be one more look-up table away.
            wide = (turn & ~self.full).replicate(len(word))
            m.d.sync += register.eq((word & wide) | (register & ~wide))
        return Mux(self.second, second, first)


class Front:
    """How many of up to three beats at the front of a buffer wait to be shown.

    Args:
        arrives: a beat comes to the front; only where there was `room` in the clock before.
        wanted: the consumer is ready.
        copies: how many there shall be of `shown`.

    Attributes:
        shown: copies of "there is at least one"; each keeps itself.
        two, odd: the count.
    """

    def __init__(self, m: Module, name: str, arrives: Value, wanted: Value, copies: int) -> None:
        self.shown = [Signal(name=f"{name}_shown_{copy}") for copy in range(copies)]
        # The count in binary, so that each bit is a function of itself, the other and two inputs.
        self.two, self.odd = two, odd = Signal(name=f"{name}_two"), Signal(name=f"{name}_odd")
        leaves = wanted & (two | odd)
        m.d.sync += [
            *(shown.eq(arrives | two | (shown & ~wanted)) for shown in self.shown),
            odd.eq(odd ^ arrives ^ leaves),
            two.eq((two & (odd | arrives | ~leaves)) | (odd & arrives & ~leaves)),
        ]

    def room(self, arrives: Value) -> Value:
        """One more beat may be announced, in a clock in which one comes or none."""
        return ~self.two | (~self.odd & ~arrives)


class LaneMemory:
    """The words of a few neighbouring lanes, one row a beat, read without a register in between.

    Each clock writes a row; only an advance keeps it. So no write enable goes anywhere.

    Args:
        words: what is written.
        advance: keep the row.
        shown: a row is at the front.
        wanted: it is taken, if there is one.
        number: which group it is; those next to each other start elsewhere, so that their pointers are their own.
        place: where its reset comes from.

    Attributes:
        write, read: where; after as many steps as a pointer has states it is there again.
        rows: the memory.
        words: the row at the front.
    """

    def __init__(
        self,
        m: Module,
        name: str,
        words: Sequence[Value],
        advance: Value,
        shown: Value,
        wanted: Value,
        number: int,
        reset: Reset,
        place: int,
    ) -> None:
        start = 1
        for _ in range(number % _STATES):
            start = step_pointer(start)
        write, read = (
            Signal(_POINTER_BITS, name=f"{name}_{way}", init=start, reset_less=True) for way in ("write", "read")
        )
        with m.If(advance):
            m.d.sync += write.eq(_next(write))
        # What comes from the farthest is the enable, as it is: no look-up table lies on its way.
        with m.If(wanted):
            for bit, following in zip(read, _next(read), strict=True):
                m.d.sync += bit.eq((following & shown) | (bit & ~shown))
        reset(write, read, place=place)
        row = Cat(*words)
        self.write, self.read = write, read
        self.rows = rows = memory.Memory(shape=len(row), depth=1 << _POINTER_BITS, init=[])
        m.submodules[f"{name}_memory"] = rows
        into, out = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [into.en.eq(1), into.addr.eq(write), into.data.eq(row), out.addr.eq(read)]
        self.words: list[Value] = []
        at = 0
        for word in words:
            self.words.append(out.data[at : at + len(word)])
            at += len(word)


def step_pointer(pointer: int) -> int:
    """What a pointer is a step later; the same as a circuit is `_next`."""
    return pointer >> 1 | (pointer >> 3 ^ pointer) << 3 & 8


def _next(pointer: Value) -> Value:
    """A shift register with feedback: no carry, and each bit looks at itself and one other at most."""
    return Cat(pointer[1:], pointer[3] ^ pointer[0])
