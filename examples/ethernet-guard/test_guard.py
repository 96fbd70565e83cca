# SPDX-License-Identifier: BSD-2-Clause
"""The guard in Amaranth's simulator: frames by the RFCs, texts by CPython."""

from __future__ import annotations

import codecs
import random
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.sim import Simulator
from guard import COUNTERS, Guard, write_verilog

COLLECTOR, OTHER = bytes([192, 168, 1, 100]), bytes([192, 168, 1, 101])


def datagram(text: bytes, *, surplus: bytes = b"", total: int = 0, length: int = -1, checksum: int = 0) -> bytes:
    """An Ethernet frame of at least 60 bytes with a UDP datagram to the collector.

    Args:
        text: the text of the datagram.
        surplus: bytes of the packet behind the datagram.
        total: in the header of IP; default: the length of the packet.
        length: in the header of UDP; default: that of the datagram.
    """
    total = total or 28 + len(text) + len(surplus)
    length = 8 + len(text) if length < 0 else length
    ip = struct.pack(">BBHHHBBH", 0x45, 0, total, 7, 0x4000, 64, 17, 0) + OTHER + COLLECTOR
    udp = struct.pack(">HHHH", 40_000, 514, length, checksum)
    return (bytes(range(12)) + b"\x08\x00" + ip + udp + text + surplus).ljust(60, b"\0")


def changed(place: int, *values: int) -> bytes:
    """The frame of a datagram with other bytes from a place on."""
    frame = datagram(b"text")
    return frame[:place] + bytes(values) + frame[place + len(values) :]


def question_marks(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "?" * (error.end - error.start), error.end


codecs.register_error("question-marks", question_marks)


def repaired(text: bytes) -> bytes:
    """A text by CPython's decoder, with `?` for each byte that it rejects."""
    return text.decode(errors="question-marks").encode()


def through(
    frames: Sequence[bytes], *, pauses: tuple[float, float] = (0.0, 0.0), blocked: int = 0, size: int = 4096
) -> tuple[list[bytes], dict[str, int]]:
    """What the guard outputs for frames, and the counters that are not 0.

    Args:
        frames: the frames, with 20 cycles between two, as in Gigabit Ethernet; one of `ODD` has a wrong check sequence.
        pauses: the shares of cycles without input, and of those in which the output waits.
        blocked: cycles at the beginning in which the output waits.
        size: of the memory.
    """
    guard, chance = Guard("192.168.1.100", size), random.Random(0)
    beats: list[dict[str, Any] | None] = []
    for frame in frames:
        is_damaged = frame == ODD["damaged"]
        beats += [{"data": byte, "damaged": is_damaged, "last": 0} for byte in frame[:-1]]
        beats += [{"data": frame[-1], "damaged": is_damaged, "last": 1}, *[None] * 20]
    sent = [b""]
    counts: dict[str, int] = {}

    async def bench(context: Any) -> None:
        output, left, cycle, quiet = guard.output, iter(beats), 0, 0
        while quiet < 100:  # Cycles without a byte on either side; then there will be none.
            beat = None if chance.random() < pauses[0] else next(left, None)
            context.set(guard.input.valid, beat is not None)
            context.set(guard.input.payload, beat or {})
            context.set(output.ready, cycle >= blocked and chance.random() >= pauses[1])
            _, _, valid, ready, result = await context.tick().sample(output.valid, output.ready, output.payload)
            cycle, quiet = cycle + 1, 0 if valid or beat else quiet + 1
            if valid and ready:
                sent[-1] += bytes([result.data])
                sent.extend([b""] * result.last)
        counts.update({name: context.get(getattr(guard, f"count_{name}")) for name in COUNTERS})

    simulator = Simulator(guard)
    simulator.add_clock(8e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert counts["received"] == counts["sent"] + counts["dropped"] + counts["lost"]
    assert sent.pop() == b"", "the last frame is whole"
    return sent, {name: count for name, count in counts.items() if count}


ODD = {
    "length_0": datagram(b"text", length=0),
    "length_7": datagram(b"text", length=7),
    "length_beyond_the_packet": datagram(b"text", length=13),
    "length_beyond_the_frame": datagram(b"text", length=65535),
    "packet_and_length_beyond_the_frame": datagram(b"text", total=47, length=27),
    "packet_without_a_header_of_udp": datagram(b"", total=27, length=7),
    "packet_shorter_than_its_header": datagram(b"text", total=19),
    "first_fragment": changed(20, 0x20, 0x00),
    "last_fragment_that_looks_like_udp": changed(20, 0x00, 0xB9),
    "another_address": changed(30, *OTHER),
    "broadcast": changed(30, 255, 255, 255, 255),
    "another_port": changed(37, 3),
    "tcp": changed(23, 6),
    "packet_with_options": changed(14, 0x46),
    "ipv6": changed(12, 0x86, 0xDD),
    "one_byte": b"\x01",
    "cut_before_the_text": datagram(b"text")[:41],
    "cut_before_the_checksum": datagram(b"", total=26)[:40],
    "damaged": datagram(b"damaged"),
}
"""Frames without a whole datagram for the collector: RFC 768 (length), 791 (fragments, lengths) and 1122 (address)."""


def test_odd_frames_are_dropped_and_counted_and_leave_no_trace() -> None:
    frames, whole = [], []
    for name, frame in ODD.items():
        whole.append(datagram(f"after {name}".encode()))
        frames += [frame, whole[-1]]
    sent, counts = through(frames)
    assert sent == whole
    assert counts == {"received": 2 * len(ODD), "sent": len(ODD), "dropped": len(ODD)}


def test_what_surrounds_a_text_is_not_changed() -> None:
    arp = bytes(12) + bytes.fromhex("0806") + bytes(range(200, 246))
    # RFC 768: a checksum of 0 means that there is none. A datagram may be shorter than its packet.
    frames = [arp, datagram(b"\x89\xff", checksum=0xE6B1), datagram(b"a\xe6", surplus=b"\xb1\x89"), datagram(b"")]
    expected = [arp, datagram(b"??"), datagram(b"a?", surplus=b"\xb1\x89"), datagram(b"")]
    assert through(frames) == (expected, {"received": 4, "sent": 4, "repaired": 2})


ILL_FORMED = "FF 8080 E6B1 F09F98 EDA080 C0AF"
PIECES = [b"<34>1 ", "café 汉字 😀".encode(), *map(bytes.fromhex, ILL_FORMED.split())]


@pytest.mark.parametrize("pauses", [(0.0, 0.0), (0.3, 0.5)])
def test_texts_are_repaired_as_by_cpython(pauses: tuple[float, float]) -> None:
    chance = random.Random(1)
    texts = [b"".join(chance.choices(PIECES, k=chance.randrange(12))) for _ in range(30)]
    sent, counts = through([datagram(text) for text in texts], pauses=pauses, size=16384)
    assert sent == [datagram(repaired(text)) for text in texts]
    assert counts == {"received": 30, "sent": 30, "repaired": sum(text != repaired(text) for text in texts)}


def test_frames_without_room_are_lost_whole() -> None:
    frames = [datagram(b"%03d" % number + bytes(number * 7 % 100)) for number in range(40)]
    frames.insert(5, datagram(b"longer than the memory" * 30))
    sent, counts = through(frames, size=512, blocked=3000)
    assert 0 < counts["lost"] == len(frames) - len(sent)
    assert sent == [frame for frame in frames if frame in sent]


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
def test_the_verilog_compiles(tmp_path: Path) -> None:
    write_verilog("192.168.1.100", tmp_path / "guard.v")
    done = subprocess.run(["iverilog", "-g2005", "-Wall", "-s", "guard", "-o", "out", "guard.v"], cwd=tmp_path)
    assert done.returncode == 0
