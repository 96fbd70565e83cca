# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the UART: what a receiver makes of the line of a sender within its tolerance, and what a transmitter
sends.

They are by induction over few cycles: an invariant says where in a frame the registers are. An engine would have to
find it for each cycle of a frame.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.cycles import Cycles, entailed
from utf8fpga.formal.properties import Property
from utf8fpga.formal.top import Top

UART_PROPERTIES = (Property.EQUIVALENCE, Property.POWER_UP)
"""The properties of a receiver and of a transmitter."""

_FRAME = 10
"""Bits of a frame: the start bit, eight data bits, the stop bit. As the number of a bit: the line is idle."""

_SYNCHRONISER = 2
"""Cycles from the line to what the receiver sees of it."""


def edges(divisor: int) -> list[tuple[int, int]]:
    """By the number of a bit, lower and upper bound on the cycles from the first cycle of a frame to the first one of
    the bit; also for the first bit after the frame.

    The bit time of the sender is from ``(9 * divisor + divisor // 2 + 1) / 10`` to ``(9 * divisor + divisor // 2) / 9``
    cycles. A frame begins at any time within the cycle before its first one.
    """
    middle = 9 * divisor + divisor // 2
    return [(bit * (middle + 1) // 10, -(-bit * middle // 9)) for bit in range(_FRAME + 1)]


class ReceiverProof(Top):
    """A receiver, and a sender each of whose edges is anywhere within the tolerance.

    A reset lasts `depth` cycles or more, since the synchroniser has none, and the line is idle meanwhile.

    Attributes:
        holds: there is a frame with the byte, half a bit, rounded down, and nine bits after the receiver sees its
            start, and none at another time; and it does not see the start of the next one before.
        consistent: the registers are where they should be; without a meaning of its own.
    """

    depth = _SYNCHRONISER + 1

    def __init__(self, receiver: Any) -> None:
        super().__init__()
        self._dut = receiver
        self.reset, self.begin, self.early = (Signal(name=name) for name in ("reset", "begin", "early"))
        self.byte = Signal(8, name="byte")
        self.holds, self.consistent = Signal(name="holds"), Signal(name="consistent")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = self._dut
        self.clocked(m, self.reset)
        bounds, due = edges(dut.divisor), 9 * dut.divisor + dut.divisor // 2
        # The sender: the number of the bit on the line, and the cycles since the start of its frame.
        sender = data.StructLayout({"bit": range(_FRAME + 1), "age": range(bounds[-1][1] + 1), "byte": 8})
        now = Signal(sender, init={"bit": _FRAME})
        ends = Signal()
        with m.If(now.bit != _FRAME):
            m.d.sync += now.age.eq(now.age + 1)
            with m.Switch(now.bit):
                for number, (least, most) in enumerate(bounds[1:]):
                    with m.Case(number), m.If((now.age + 1 >= least) & (self.early | (now.age + 1 >= most))):
                        m.d.sync += now.bit.eq(number + 1)
                        m.d.comb += ends.eq(number == _FRAME - 1)
        with m.If(self.begin & (ends | (now.bit == _FRAME))):
            m.d.sync += [now.bit.eq(0), now.age.eq(0), now.byte.eq(self.byte)]
        m.d.comb += dut.rx.eq(_level(now))

        # What the receiver sees.
        seen = now
        for cycle in range(_SYNCHRONISER):
            later = Signal(sender, name=f"seen_{cycle}", init={"bit": _FRAME})
            m.d.sync += later.eq(seen)
            seen = later
        # Cycles since power-up, and since that or a reset.
        young, calm = (Signal(range(self.depth + 1), reset_less=first) for first in (True, False))
        m.d.sync += [each.eq(Mux(each == self.depth, each, each + 1)) for each in (young, calm)]
        starts = (seen.bit == 0) & (seen.age == 0)
        since, byte = Signal(range(due + 2), init=due + 1), Signal(8)
        m.d.sync += since.eq(Mux(starts, 1, Mux(since > due, since, since + 1)))
        with m.If(starts):
            m.d.sync += byte.eq(seen.byte)
        frame = dut.frames.payload
        is_right = (frame.data == byte) & ~frame.broken & ~frame.damaged
        m.d.comb += self.holds.eq(
            (dut.frames.valid == (since == due)) & (~dut.frames.valid | is_right) & (~starts | (since > due))
        )

        in_frame = (seen.bit != _FRAME) & (seen.age != 0)
        inside = [
            (now.bit != bit) | ((now.age >= bounds[bit][0]) & (now.age < bounds[bit + 1][1])) for bit in range(_FRAME)
        ]
        received = [
            (dut.bit <= place + 1) | (Cat(dut.received, 0).bit_select((9 + place - dut.bit)[:4], 1) == byte[place])
            for place in range(8)
        ]
        claims = [
            *inside,
            now.bit <= _FRAME,
            dut.line == (_level(seen) & (young >= _SYNCHRONISER)),
            (calm != 0) | ((now.bit == _FRAME) & dut.waiting),
            ~dut.waiting | (calm < self.depth),
            dut.waiting | (young == self.depth),
            dut.receiving == (since <= due),
            dut.waiting + dut.idle + dut.receiving == 1,
            since != 0,
            ~in_frame | (since == Mux(seen.age > due, due + 1, seen.age)),
            ~in_frame | (byte == seen.byte),
            (since > due) | in_frame,
            ~dut.receiving | ((dut.bit < _FRAME) & (dut.timer < dut.divisor)),
            ~dut.receiving | (since + dut.timer == dut.divisor // 2 + dut.bit * dut.divisor),
            ~dut.receiving | Cat(*received).all(),
        ]
        m.d.comb += self.consistent.eq(Cat(*claims).all())
        return m


def _level(sender: Any) -> Value:
    """The level of the line."""
    return Array([Const(0, 1), *sender.byte, Const(1, 1), Const(1, 1)])[sender.bit]


class TransmitterProof(Top):
    """A transmitter with any bytes.

    Attributes:
        holds: `ready` and the line are what they must be: each bit of a byte that was transferred is on the line for a
            bit time, from the next cycle on; without one the line is high.
        consistent: see `ReceiverProof`.
    """

    depth = 1

    def __init__(self, transmitter: Any) -> None:
        super().__init__()
        self._dut = transmitter
        self.reset, self.valid = Signal(name="reset"), Signal(name="valid")
        self.byte = Signal(8, name="byte")
        self.holds, self.consistent = Signal(name="holds"), Signal(name="consistent")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = dut = self._dut
        self.clocked(m, self.reset)
        m.d.comb += [dut.data.valid.eq(self.valid), dut.data.payload.eq(self.byte)]
        # The number of the bit on the line, and its cycle.
        bit, cycle, byte = Signal(range(_FRAME + 1), init=_FRAME), Signal(range(dut.divisor)), Signal(8)
        idle, whole = bit == _FRAME, cycle == dut.divisor - 1
        free = idle | ((bit == _FRAME - 1) & whole)
        with m.If(~idle):
            m.d.sync += [cycle.eq(Mux(whole, 0, cycle + 1)), bit.eq(bit + whole)]
        with m.If(free & self.valid):
            m.d.sync += [cycle.eq(0), bit.eq(0), byte.eq(self.byte)]
        levels = [Const(0, 1), *byte, Const(1, 1), Const(1, 1)]
        m.d.comb += self.holds.eq((dut.data.ready == free) & (dut.tx == Array(levels)[bit]))
        rest = [
            (place >= dut.bits_left) | (dut.rest[place] == Array(levels)[(bit + place + 1)[:4]])
            for place in range(_FRAME - 1)
        ]
        claims = [
            bit <= _FRAME,
            cycle < dut.divisor,
            dut.timer == Mux(idle, 0, dut.divisor - 1 - cycle),
            dut.bits_left == Mux(idle, 0, _FRAME - 1 - bit),
            *rest,
        ]
        m.d.comb += self.consistent.eq(Cat(*claims).all())
        return m


def prove_uart(component: Any, wanted: Property, *, seconds: int = 600) -> tuple[bool | None, str]:
    """Prove that a receiver has a frame for each byte of a sender within its tolerance, or that a transmitter sends
    the bytes that it is given.

    Args:
        component: a receiver or a transmitter, with its divisor.
        wanted: one of `UART_PROPERTIES`.

    Returns:
        See `prove_drained`.
    """
    proof = TransmitterProof(component) if hasattr(component, "tx") else ReceiverProof(component)
    return _by_induction(proof.graph(), proof.depth, wanted, seconds)


def _by_induction(aig: Aig, depth: int, wanted: Property, seconds: int) -> tuple[bool | None, str]:
    """Whether `holds` and `consistent` are always 1, after a reset of any state, and for `Property.POWER_UP` from the
    initial state on: in the first `depth` cycles, and in a cycle if in as many before it."""
    starts = {"reset": True} | ({"power-up": False} if wanted is Property.POWER_UP else {})
    for way, resets in [*starts.items(), ("step", False)]:
        cycles = depth + {"power-up": 0, "reset": depth, "step": 1}[way]
        fixed = [{aig.input_bits["reset"][0]: int(resets and cycle < depth)} for cycle in range(cycles)]
        run = Cycles(aig, fixed, any_start=way != "power-up")
        names = {name: aig.output_bits[name][0] for name in ("holds", "consistent")}
        found = [{name: outputs[at] for name, at in names.items()} for outputs in run.outputs]
        given = [literal for each in found[:-1] for literal in each.values()] if way == "step" else []
        asked = found[-1:] if way == "step" else found[depth if resets else 0 :]
        claims = {f"{way} {n}: {name}": [bit] for n, each in enumerate(asked) for name, bit in each.items()}
        proved, failed = entailed(run.gates, given, claims, seconds=seconds)
        if not proved:
            return proved, failed
    return True, ""
