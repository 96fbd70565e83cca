# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of the UART."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

import pytest
from amaranth.hdl import Module
from support.faults import Fault, combinational, registered, with_fault, with_registers

from utf8fpga.formal import uart_proof
from utf8fpga.formal.properties import Property
from utf8fpga.formal.uart_proof import UART_PROPERTIES, edges, prove_uart
from utf8fpga.hdl.uart import UartReceiver, UartTransmitter


@pytest.mark.smoke
@pytest.mark.parametrize("component", [UartReceiver, UartTransmitter])
@pytest.mark.parametrize("divisor", [4, 104])
@pytest.mark.parametrize("wanted", UART_PROPERTIES)
def test_the_uart_is_proved(component: type[UartReceiver | UartTransmitter], divisor: int, wanted: Property) -> None:
    assert prove_uart(component(divisor), wanted) == (True, "")


@pytest.mark.parametrize("divisor", [4, 5, 12])
def test_the_edges_are_those_of_all_bit_times_within_the_tolerance(divisor: int) -> None:
    # From the docstring of `UartReceiver`.
    times = Fraction(9 * divisor + divisor // 2 + 1, 10), Fraction(9 * divisor + divisor // 2, 9)
    starts = [Fraction(-n, 1000) for n in range(1000)]
    for bit, (least, most) in enumerate(edges(divisor)):
        found = {ceil(start + bit * time) for start in starts for time in times}
        assert (least, most) == (min(found), max(found))


@pytest.mark.parametrize(
    "wider",
    [
        lambda bit, least, most: (least, most + (bit == 9)),
        lambda bit, least, most: (least - (bit == 10), most),
        lambda bit, least, most: (least, most + 2 * (bit == 1)),
    ],
    ids=["late stop bit", "early next frame", "late first bit"],
)
def test_a_sender_outside_the_tolerance_is_refuted(
    wider: Callable[[int, int, int], tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        uart_proof, "edges", lambda divisor: [wider(bit, *each) for bit, each in enumerate(edges(divisor))]
    )
    assert prove_uart(UartReceiver(4), Property.EQUIVALENCE)[0] is False


def _sampled_late(m: Module, receiver: UartReceiver) -> None:
    with m.If(receiver.idle):
        m.d.sync += receiver.timer.eq(receiver.divisor // 2)


@pytest.mark.parametrize(
    "fault",
    [
        _sampled_late,
        registered(lambda receiver: receiver.received.eq(receiver.received), when=lambda receiver: receiver.bit == 3),
        combinational(lambda receiver: receiver.frames.payload.damaged.eq(receiver.received == 0x80)),
        combinational(lambda receiver: receiver.frames.payload.broken.eq(receiver.received == 0)),
        combinational(lambda receiver: receiver.frames.valid.eq(receiver.receiving & (receiver.bit == 9))),
    ],
    ids=["sampled late", "a bit is lost", "one byte is damaged", "0 is a break", "several frames"],
)
def test_a_faulty_receiver_is_refuted(fault: Fault) -> None:
    assert prove_uart(with_fault(UartReceiver, fault)(5), Property.EQUIVALENCE)[0] is False


@pytest.mark.parametrize(
    "component",
    [
        with_fault(UartTransmitter, registered(lambda each: each.timer.eq(0), when=lambda each: each.bits_left == 9)),
        with_fault(UartTransmitter, registered(lambda each: each.rest[8].eq(0))),
        with_fault(UartTransmitter, combinational(lambda each: each.data.ready.eq(each.bits_left == 0))),
        with_registers(UartTransmitter, timer={"reset_less": True}),
    ],
    ids=["short start bit", "no stop bit", "ready early", "no reset"],
)
def test_a_faulty_transmitter_is_refuted(component: type[UartTransmitter]) -> None:
    assert prove_uart(component(5), Property.EQUIVALENCE)[0] is False
