# SPDX-License-Identifier: BSD-2-Clause
"""The guard of `examples/ethernet-guard`: alone against CPython, and in its SoC on a network."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.benches import run_benches

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "ethernet-guard"))

from guard import COUNTERS, Guard, Policy

from utf8fpga.hdl import TranscoderParameters

QUIET = 200
"""Cycles without an output after which there will be none: a datagram of 256 bytes takes less."""


class Datagram(NamedTuple):
    text: bytes
    extra: int
    ill_formed: bool


class Outcome(NamedTuple):
    sent: list[Datagram]
    counts: dict[str, int]


def pass_through(
    guard: Any,
    texts: Iterable[bytes],
    *,
    damaged: Iterable[int] = (),
    pauses: tuple[float, float] = (0.0, 0.0),
    blocked: int = 0,
) -> Outcome:
    """What a guard outputs for datagrams, the n-th of which has the number n beside it.

    Args:
        guard: the guard.
        texts: the datagrams, back to back, unless there are pauses.
        damaged: the numbers of those that are damaged.
        pauses: the shares of cycles without input, and of those in which the output waits.
        blocked: cycles at the beginning in which the output waits.
    """
    texts, damaged, random_ = list(texts), set(damaged), random.Random(0)
    beats = [
        (text[at : at + 4], at + 4 >= len(text), number)
        for number, text in enumerate(texts)
        for at in range(0, max(len(text), 1), 4)
    ]
    quiet = 0
    sent: list[Datagram] = []
    counts: dict[str, int] = {}

    async def drive(context: Any) -> None:
        nonlocal quiet
        given = guard.input
        for bytes_, last, number in beats:
            while random_.random() < pauses[0]:
                await context.tick()
            context.set(given.valid, 1)
            for lane, byte in enumerate(bytes_):
                context.set(given.payload.symbols[lane], byte)
            context.set(given.payload.keep, (1 << len(bytes_)) - 1)
            context.set(given.payload.last, last)
            context.set(given.payload.extra, number)
            context.set(guard.damaged, number in damaged)
            assert context.get(given.ready), "the input never waits"
            await context.tick()
            context.set(given.valid, 0)
        quiet = 0
        while quiet < QUIET:
            await context.tick()
        counts.update({name: context.get(getattr(guard, f"count_{name}")) for name in COUNTERS})

    async def receive(context: Any) -> None:
        nonlocal quiet
        shown, text, cycle = guard.output, b"", 0
        while True:
            context.set(shown.ready, cycle >= blocked and random_.random() >= pauses[1])
            _, _, valid, ready, payload = await context.tick().sample(shown.valid, shown.ready, shown.payload)
            cycle, quiet = cycle + 1, 0 if valid else quiet + 1
            if valid and ready:
                assert payload.keep in (0, 1, 3, 7, 15)
                assert payload.keep == 15 or payload.last, "only the last beat is not full"
                text += bytes(payload.symbols[lane] for lane in range(4) if payload.keep >> lane & 1)
                if payload.last:
                    about = payload.extra.extra
                    assert payload.extra.length == len(text)
                    sent.append(Datagram(text, about.extra, bool(about.ill_formed)))
                    text = b""

    run_benches(guard, drive, background=[receive])
    assert text_is_accounted(guard.policy, counts)
    return Outcome(sent, counts)


def text_is_accounted(policy: Any, counts: dict[str, int]) -> bool:
    dropped = counts["ill_formed"] if policy is Policy.DROP else 0
    return counts["received"] == counts["sent"] + counts["damaged"] + counts["lost"] + dropped


PIECES = [
    b"<34>1 ",
    "café".encode(),
    "汉字".encode(),
    "😀".encode(),
    b"\xff",
    b"\x80\x80",
    b"\xe6\xb1",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
]
"""Well-formed and ill-formed parts of texts."""


def texts_of(count: int, most: int, seed: int) -> list[bytes]:
    """Texts of up to `most` parts, some of them empty; about half are ill-formed."""
    made = random.Random(seed)
    return [
        b"".join(made.choices(PIECES if made.random() < 0.5 else PIECES[:4], k=made.randrange(most)))
        for _ in range(count)
    ]


def is_ill_formed(text: bytes) -> bool:
    return "\ufffd" in text.decode("utf-8", "replace")


@pytest.mark.parametrize(
    "pauses",
    [
        pytest.param((0.0, 0.0), id="back-to-back", marks=pytest.mark.smoke),
        pytest.param((0.5, 0.5), id="slow"),
    ],
)
def test_repaired_text_is_that_of_cpython(pauses: tuple[float, float]) -> None:
    texts = [b"", b"a", b"\xff", *texts_of(20, 9, seed=1), b""]
    outcome = pass_through(Guard(words=1024), texts, pauses=pauses)
    assert outcome.sent == [
        Datagram(text.decode("utf-8", "replace").encode(), number, is_ill_formed(text))
        for number, text in enumerate(texts)
    ]
    ill_formed = sum(map(is_ill_formed, texts))
    assert outcome.counts == {
        "received": len(texts),
        "sent": len(texts),
        "ill_formed": ill_formed,
        "cut": 0,
        "damaged": 0,
        "lost": 0,
    }


def test_ill_formed_datagrams_are_dropped_or_marked() -> None:
    texts = [b"", b"\x80", *texts_of(10, 9, seed=2)]
    datagrams = [Datagram(text, number, is_ill_formed(text)) for number, text in enumerate(texts)]
    assert pass_through(Guard(Policy.MARK), texts).sent == datagrams
    # Damaged ones are discarded whatever they contain.
    damaged = {0, 1, 5}
    assert len({datagrams[number].ill_formed for number in damaged}) == 2
    dropped = pass_through(Guard(Policy.DROP), texts, damaged=damaged)
    kept = [each for each in datagrams if each.extra not in damaged]
    assert dropped.sent == [each for each in kept if not each.ill_formed]
    assert dropped.counts["ill_formed"] == sum(each.ill_formed for each in kept)
    assert dropped.counts["damaged"] == len(damaged)


def cut(text: str, limit: int) -> bytes:
    """The longest beginning of a text that has at most `limit` bytes and ends with a character."""
    return text.encode()[:limit].decode("utf-8", "ignore").encode()


def test_long_text_is_cut_after_a_character() -> None:
    ends = ["", "a", "é", "汉", "😀", "\xff"]
    texts = [b"a" * before + end.encode() + b"z" * after for before in range(4, 9) for end in ends for after in (0, 5)]
    texts += [b"\xff" * count for count in (2, 3, 30)]
    outcome = pass_through(Guard(limit=8, words=1024), texts)
    repaired = [text.decode("utf-8", "replace") for text in texts]
    assert [each.text for each in outcome.sent] == [cut(text, 8) for text in repaired]
    assert outcome.counts["cut"] == sum(len(text.encode()) > 8 for text in repaired)


def test_datagrams_without_room_are_lost_whole_and_counted() -> None:
    texts = [bytes([65 + number % 26]) * (number % 40) for number in range(60)]
    # Two memories of 256 bytes.
    outcome = pass_through(Guard(words=64, limit=64), texts, blocked=300)
    numbers = [each.extra for each in outcome.sent]
    assert 0 < outcome.counts["lost"] == len(texts) - len(numbers)
    assert numbers == sorted(numbers)
    assert all(each.text == texts[each.extra] for each in outcome.sent)


def test_datagram_that_is_longer_than_the_memory_is_lost() -> None:
    outcome = pass_through(Guard(words=64, limit=64), [b"a" * 257, b"b" * 252, b"c"], pauses=(0.7, 0))
    assert [each.text for each in outcome.sent] == [b"b" * 64, b"c"]
    assert outcome.counts["lost"] == outcome.counts["cut"] == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limit": 1471}, "limit 1471 is not a multiple of 4 in 4..16384"),
        ({"limit": 8972, "words": 2048}, "limit 8972 is not a multiple of 4 in 4..8192"),
        ({"words": 1000}, "words 1000 is not a power of two in 16..8192"),
        ({"core": TranscoderParameters(lanes=4)}, "core transcoder-4 has 4 lanes in and 12 out, not 4"),
    ],
)
def test_wrong_sizes_are_rejected(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Guard(**values)


def test_another_core_of_four_lanes_replaces_that_of_the_policy() -> None:
    texts = [b"\xef\xbb\xbf", b"\xef\xbb\xbfcaf\xe9", b"", *texts_of(8, 9, seed=5)]
    outcome = pass_through(Guard(core=TranscoderParameters(lanes=4, narrow=True, bom="remove")), texts)
    expected = [text.decode("utf-8", "replace").removeprefix("\ufeff").encode() for text in texts]
    assert [each.text for each in outcome.sent] == expected
