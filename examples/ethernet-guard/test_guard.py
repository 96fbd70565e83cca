# SPDX-License-Identifier: BSD-2-Clause
"""The guard alone in Amaranth's simulator, compared with CPython."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from amaranth.sim import Simulator
from guard import COUNTERS, MOST, Guard

QUIET = 200
"""Cycles without an output after which there will be none."""


def through(
    texts: Iterable[bytes],
    *,
    words: int = 1024,
    damaged: Iterable[int] = (),
    pauses: tuple[float, float] = (0.0, 0.0),
    blocked: int = 0,
) -> tuple[list[tuple[int, bytes]], dict[str, int]]:
    """What the guard outputs for datagrams, each with its number, and the counters that are not 0.

    Args:
        texts: the datagrams, back to back, unless there are pauses.
        words: of the memory.
        damaged: the numbers of those that are damaged.
        pauses: the shares of cycles without input, and of those in which the output waits.
        blocked: cycles at the beginning in which the output waits.
    """
    guard, random_, damaged = Guard(words), random.Random(0), set(damaged)
    beats = [
        (text[at : at + 4], at + 4 >= len(text), number)
        for number, text in enumerate(texts)
        for at in range(0, max(len(text), 1), 4)
    ]
    quiet, sent, counts = 0, [], {}

    async def drive(context: Any) -> None:
        nonlocal quiet
        given = guard.input
        await context.tick()
        for bytes_, last, number in beats:
            while random_.random() < pauses[0]:
                await context.tick()
            for lane, byte in enumerate(bytes_):
                context.set(given.payload.bytes[lane], byte)
            context.set(given.payload.keep, (1 << len(bytes_)) - 1)
            context.set(given.payload.last, last)
            context.set(given.payload.port, number)
            context.set(given.payload.damaged, number in damaged)
            context.set(given.valid, 1)
            assert context.get(given.ready), "the input never waits"
            await context.tick()
            context.set(given.valid, 0)
        quiet = 0
        while quiet < QUIET:
            await context.tick()
        counts.update({name: context.get(getattr(guard, f"count_{name}")) for name in COUNTERS})

    async def receive(context: Any) -> None:
        nonlocal quiet
        output, text, cycle = guard.output, b"", 0
        while True:
            context.set(output.ready, cycle >= blocked and random_.random() >= pauses[1])
            _, _, valid, ready, beat = await context.tick().sample(output.valid, output.ready, output.payload)
            cycle, quiet = cycle + 1, 0 if valid else quiet + 1
            if valid and ready:
                assert beat.keep == 15 or (beat.last and beat.keep in (0, 1, 3, 7)), "only the last beat is not full"
                text += bytes(beat.bytes[lane] for lane in range(4) if beat.keep >> lane & 1)
                if beat.last:
                    assert beat.length == len(text)
                    sent.append((beat.port, text))
                    text = b""

    simulator = Simulator(guard)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.add_testbench(receive, background=True)
    simulator.run()
    assert counts["received"] == counts["sent"] + counts["too_long"] + counts["damaged"] + counts["lost"]
    return sent, {name: count for name, count in counts.items() if count}


WELL_FORMED = [b"<34>1 ", "café".encode(), "汉字".encode(), "😀".encode()]
ILL_FORMED = [b"\xff", b"\x80\x80", b"\xe6\xb1", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf"]


def random_texts(count: int) -> list[bytes]:
    """Texts of up to eight parts, some of them empty; about half are ill-formed."""
    made = random.Random(1)
    pieces = (WELL_FORMED, WELL_FORMED + ILL_FORMED)
    return [b"".join(made.choices(made.choice(pieces), k=made.randrange(9))) for _ in range(count)]


def repaired(text: bytes) -> bytes:
    return text.decode("utf-8", "replace").encode()


@pytest.mark.parametrize(("pauses", "damaged"), [((0.0, 0.0), set()), ((0.5, 0.5), {0, 1, 5, 11, 66})])
def test_repaired_text_is_that_of_cpython(pauses: tuple[float, float], damaged: set[int]) -> None:
    texts = [b"", b"a", b"\xff", *random_texts(60), b"\xff" * 300, b"a" * 12, b"", b"", b"b" * 24]
    sent, counts = through(texts, pauses=pauses, damaged=damaged)
    intact = [(number, text) for number, text in enumerate(texts) if number not in damaged]
    assert sent == [(number, repaired(text)) for number, text in intact]
    ill_formed = sum(repaired(text) != text for _, text in intact)
    expected = {"received": len(texts), "sent": len(intact), "ill_formed": ill_formed, "damaged": len(damaged)}
    assert counts == {name: count for name, count in expected.items() if count}


def test_a_datagram_that_does_not_fit_in_a_frame_after_repair_is_discarded() -> None:
    texts = [b"a" * MOST, b"a" * (MOST + 1), b"\xff" + b"a" * (MOST - 3), b"\xff" + b"a" * (MOST - 2), b"z"]
    sent, counts = through(texts)
    assert sent == [(number, repaired(texts[number])) for number in (0, 2, 4)]
    assert counts == {"received": 5, "sent": 3, "ill_formed": 2, "too_long": 2}


def test_datagrams_without_room_are_lost_whole() -> None:
    texts = [bytes([65 + number % 26]) * (number % 40) for number in range(60)]
    sent, counts = through(texts, words=16, blocked=300)
    assert 0 < counts["lost"] == len(texts) - len(sent)
    assert [number for number, _ in sent] == sorted({number for number, _ in sent})
    assert all(text == texts[number] for number, text in sent)


def test_a_datagram_that_is_longer_than_the_memory_is_lost() -> None:
    sent, counts = through([b"a" * 257, b"b" * 240, b"c"], words=16, pauses=(0.7, 0))
    assert sent == [(1, b"b" * 240), (2, b"c")]
    assert counts["lost"] == 1
