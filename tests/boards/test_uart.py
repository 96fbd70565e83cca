# SPDX-License-Identifier: BSD-2-Clause
"""The UART and the decoder connected to it, in simulation.

A line is a list of levels, one per cycle, which the functions below encode and decode. Expected
words are computed by the golden model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from math import ceil
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Cat, Module, Signal
from support.benches import run_benches
from support.oracle import refusal

from utf8fpga.boards.forms import FORMS, WordFlag
from utf8fpga.boards.uart_core import UartCore, escaped
from utf8fpga.hdl import build
from utf8fpga.hdl.uart import UartReceiver, uart_divisor
from utf8fpga.model import Decoder

Segment = tuple[int, float]
"""A level of the line and its duration in bits."""

BREAK: list[Segment] = [(0, 11), (1, 2)]


def frame(byte: int, stop: int = 1) -> list[Segment]:
    return [(0, 1), *((byte >> k & 1, 1) for k in range(8)), (stop, 1)]


def frames(data: Iterable[int]) -> list[Segment]:
    return [segment for byte in data for segment in frame(byte)]


IDLE = 8
"""The number of cycles in which a line is high before the first frame."""


def line(segments: Iterable[Segment], divisor: int, rate: float = 1.0, phase: float = 0.0) -> list[int]:
    """The level in each cycle for a sender whose rate is `rate` times the nominal one, idle before and after."""
    end = IDLE + phase
    levels = [1] * ceil(end)
    for level, bits in segments:
        end += bits * divisor / rate
        levels += [level] * (ceil(end - 1e-6) - len(levels))
    return levels + [1] * 2 * divisor


def read_line(levels: Sequence[int], divisor: int) -> list[tuple[int, int]]:
    """The cycle of each start bit and the byte of each frame; checks that every bit lasts exactly `divisor` cycles."""
    found, clock = [], 0
    while clock < len(levels):
        if levels[clock]:
            clock += 1
            continue
        bits = [levels[clock + k * divisor : clock + (k + 1) * divisor] for k in range(10)]
        assert all(len(set(bit)) == 1 and len(bit) == divisor for bit in bits), f"ragged frame at clock {clock}"
        assert bits[9][0] == 1, f"no stop bit at clock {clock}"
        found.append((clock, sum(bit[0] << k for k, bit in enumerate(bits[1:9]))))
        clock += 10 * divisor
    return found


class Frame(NamedTuple):
    clock: int
    data: int
    broken: int
    damaged: int


def trace(dut: Any, levels: Sequence[int], watched: Sequence[Any]) -> list[tuple[int, ...]]:
    """The watched values in each cycle for a line with these levels; run time depends on the changes of values."""
    m = Module()
    m.submodules.dut = dut
    cycle = Signal(32)
    # A single register, which changes at most once in a cycle.
    before = Signal(sum(map(len, watched)))
    m.d.sync += [cycle.eq(cycle + 1), before.eq(Cat(watched))]
    changes: list[tuple[int, int]] = []

    async def drive(ctx: Any) -> None:
        for level, equal in groupby(levels):
            ctx.set(dut.rx, level)
            await ctx.delay(len(list(equal)) * 1e-6)

    async def watch(ctx: Any) -> None:
        while True:
            changes.append((ctx.get(cycle) - 1, ctx.get(before)))
            await ctx.changed(before)

    run_benches(m, drive, background=[watch])
    changes.append((len(levels), 0))
    samples: list[tuple[int, ...]] = []
    for (_, packed), (until, _) in pairwise(changes):
        values = []
        for value in watched:
            values.append(packed & (1 << len(value)) - 1)
            packed >>= len(value)
        samples += [tuple(values)] * (until - len(samples))
    return samples


def receive(levels: Sequence[int], divisor: int) -> list[Frame]:
    """The frames that a receiver outputs for a line."""
    dut = UartReceiver(divisor)
    frame = dut.frames.payload
    found = trace(dut, levels, [dut.frames.valid, frame.data, frame.broken, frame.damaged])
    return [Frame(cycle, *values) for cycle, (valid, *values) in enumerate(found) if valid]


def contents(found: Iterable[Frame]) -> list[tuple[int, int, int]]:
    return [(f.data, f.broken, f.damaged) for f in found]


# Receiver and transmitter


@pytest.mark.parametrize("divisor", [8, 12])
def test_noise_shorter_than_half_a_bit_is_ignored(divisor: int) -> None:
    spikes = [(0, width / divisor) for width in range(1, divisor // 2)]
    noise = [segment for spike in spikes for segment in (spike, (1, 1))]
    found = receive(line([*noise, *frame(0x5A), *noise, (1, 12), *frame(0xA5)], divisor), divisor)
    assert contents(found) == [(0x5A, 0, 0), (0xA5, 0, 0)]


@pytest.mark.parametrize("bits", [9.75, 10, 11, 19.5, 20, 200])
def test_break_of_any_length_is_one_frame(bits: float) -> None:
    found = receive(line([*frame(0x41), (0, bits), (1, 0.5), *frame(0x42), *frame(0)], 8), 8)
    assert contents(found) == [(0x41, 0, 0), (0, 1, 0), (0x42, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize("byte", [0x01, 0x80, 0xFF])
def test_a_low_stop_bit_is_a_damaged_frame(byte: int) -> None:
    found = receive(line([*frame(0x41), *frame(byte, stop=0), (0, 30), (1, 1), *frame(0x42)], 4), 4)
    assert contents(found) == [(0x41, 0, 0), (byte, 0, 1), (0x42, 0, 0)]


@pytest.mark.parametrize(
    ("clock_hz", "baud", "message"),
    [
        (12e6, 4e6, "4000000 is not in 1..3000000: a bit has at least 4 cycles of 12 MHz"),
        (12e6, 0, "0 is not in 1..3000000: a bit has at least 4 cycles of 12 MHz"),
        (12e6, float("nan"), "nan is not in 1..3000000: a bit has at least 4 cycles of 12 MHz"),
        (12e6, 1_843_200, "1843200 is 6.51 cycles of 12 MHz, more than 2% from an integer"),
        (10.21e6, 1e6, "1000000 is 10.21 cycles of 10.21 MHz, more than 2% from an integer"),
    ],
)
def test_baud_rate_that_the_clock_cannot_make_is_rejected(clock_hz: float, baud: float, message: str) -> None:
    assert refusal(ValueError, uart_divisor, clock_hz, baud) == f"baud rate {message}"


# The decoder with its UART

DIVISOR = 4
BAUD = 1000
CLOCK = DIVISOR * BAUD
WORD_CYCLES = 4 * 10 * DIVISOR
LOST, END = [int(WordFlag.LOST)], [int(WordFlag.END)]


class Run(NamedTuple):
    words: list[int]
    starts: list[int]
    """The cycle in which each word starts."""
    activity: list[int]
    error: list[int]
    overflow: list[int]


def run(segments: Iterable[Segment], *, idle: int = 8 * WORD_CYCLES, **parameters: Any) -> Run:
    """The output for a line that is then idle for `idle` cycles."""
    dut = UartCore(CLOCK, BAUD, **({"depth": 64} | parameters))
    levels = line(segments, DIVISOR) + [1] * idle
    samples = trace(dut, levels, [dut.tx, dut.activity, dut.error, dut.overflow])
    tx, *leds = (list(column) for column in zip(*samples, strict=True))
    sent = read_line(tx, DIVISOR)
    assert len(sent) % 4 == 0, "whole words"
    words = [int.from_bytes(bytes(byte for _, byte in sent[k : k + 4]), "little") for k in range(0, len(sent), 4)]
    return Run(words, [clock for clock, _ in sent[::4]], *leds)


def words_of(data: bytes, final: bool = True) -> list[int]:
    """The words of a text, computed by the golden model."""
    items = Decoder().decode(data, final=final)
    return [item.code_point | (WordFlag.ERROR if item.error else 0) for item in items]


def rises(levels: Sequence[int]) -> list[int]:
    return [clock for clock, (before, after) in enumerate(pairwise([0, *levels])) if after > before]


TEXTS = {
    "empty": b"",
    "ascii": b"Hi\n\0",
    "every_length": "Añ€😀\U0010ffff\ufffd".encode(),
    "every_cause": b"\x80 \xff \xc0\x80 \xed\xa0\x80 \xf5 \xe2\x82 \xf0\x9f\x98",
    "broken_by_a_lead": b"\xe1\x80\xe1\x80\x80\xf4\x8f\xbf\xf4\x8f\xbf\xbf",
}


@pytest.mark.smoke
def test_texts_are_decoded_as_in_the_model() -> None:
    segments = [segment for text in TEXTS.values() for segment in [*frames(escaped(text)), *BREAK]]
    expected = [word for text in TEXTS.values() for word in words_of(text) + END]
    assert run(segments, idle=60 * WORD_CYCLES).words == expected


def test_latency_from_the_last_byte_to_the_word() -> None:
    segments: list[Segment] = []
    middles = []  # The times of the middle of each last stop bit.
    for text in (b"A", "ñ".encode(), "€".encode(), "😀".encode(), b"\xff"):
        segments += frames(text)
        middles.append(IDLE + (sum(bits for _, bits in segments) - 0.5) * DIVISOR)
        segments.append((1, 50))
    starts = run(segments).starts
    latency = 7 + build(FORMS["words"].core).latency
    assert len(starts) == len(middles)
    assert all(0 < start - middle <= latency for start, middle in zip(starts, middles, strict=True))


def test_damaged_frame_ends_the_text_with_lost() -> None:
    found = run([*frames(b"A\xe2\x82"), *frame(0xFF, stop=0), (1, 1), *frames(b"\xac\xc3\xb1"), *BREAK])
    assert found.words == words_of(b"A\xe2\x82") + LOST + words_of(b"\xac\xc3\xb1") + END
    assert not any(found.overflow), "the buffer had room"


def pieces(words: Sequence[int]) -> list[list[int]]:
    """The words before each LOST, and after the last one."""
    found: list[list[int]] = [[]]
    for word in words:
        if word == WordFlag.LOST:
            found.append([])
        else:
            found[-1].append(word)
    return found


def test_lost_is_at_the_position_of_the_overflow() -> None:
    depth = 8
    text = bytes(range(0x21, 0x7F))
    segments = [*frames(text), (1, 40 * (depth + 6)), *frames(b" "), *BREAK]
    found = run(segments, depth=depth)
    [rise] = rises(found.overflow)
    first_lost = int((rise - IDLE - 9.5 * DIVISOR) // (10 * DIVISOR))
    assert depth < first_lost < 2 * depth
    gap = found.words.index(WordFlag.LOST)
    assert found.words[:gap] == words_of(text[:first_lost]), "the gap is where overflow rose"
    assert all(found.overflow[rise:]), "overflow stays asserted"
    assert found.words[-2:] == [0x20, *END]
    *whole, last = pieces(found.words[:-2])
    # Between two gaps nothing is missing. Half of the buffer is free after each, so at least that many items follow it.
    assert all(piece == list(range(piece[0], piece[0] + len(piece))) for piece in whole)
    assert [*whole, last] == sorted([*whole, last])
    assert len(whole) >= 3
    assert all(len(piece) >= depth // 2 - 1 for piece in whole)


@pytest.mark.parametrize("length", range(14, 44, 7))
def test_the_text_ends_also_if_its_end_is_lost(length: int) -> None:
    text, depth = range(0x30, 0x30 + length), 8
    found = run([*frames(text), *BREAK, (1, 40 * (depth + 6)), *frames(b"\xc5\xbf"), *BREAK], depth=depth)
    assert found.words[-3:] in ([*LOST, 0x17F, *END], [*END, 0x17F, *END])
    for piece in filter(None, pieces(found.words[:-3])):
        assert piece == [*range(piece[0], piece[0] + len(piece))]


def test_leds() -> None:
    text = [*frames(b"A\xff"), *BREAK, (1, 40)]
    found = run([*text, *frames(b"n"), (1, 20), *frame(0xFF, stop=0), (1, 40), *frames(b"n")])
    # The first change is in the middle of the stop bit, and then one for each of the five frames and a break.
    changes = [cycle for cycle, (before, after) in enumerate(pairwise([0, *found.activity])) if before != after]
    assert len(changes) == 6
    assert changes[0] == pytest.approx(IDLE + 9.5 * DIVISOR, abs=4)
    # After FF and the damaged frame, until the first byte of the next text.
    (first, second), (end, last) = rises(found.error), rises([1 - level for level in found.error][1:])[1:]
    assert changes[1] < first < changes[2]
    assert changes[3] < end < changes[4] < second < changes[5] < last
    assert not any(found.overflow)
