# SPDX-License-Identifier: BSD-2-Clause
"""Simulates the SoC with the guard.

``python examples/ethernet-guard/simulate.py FOLDER [N]`` sends log entries, and prints what arrives at the
collector. Then it sends N datagrams at line rate, 2000 by default, and compares each that comes back with CPython.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from itertools import islice, repeat
from pathlib import Path

from guard import COUNTERS
from network import Datagram, Network, arp_answer, padded, read_registers, values_of
from soc import REGISTERS_PORT, SYSLOG_PORT

STEP, DRAIN = 2000, 100_000
"""Byte times of a step of the simulation, and after which all datagrams have arrived."""
BATCH = 99
OVERHEAD = 24
"""Byte times of a frame for preamble, check sequence and gap."""
TEXTS = [
    "<13>1 - web1 app - - - café".encode(),
    b"<13>1 - web1 app - - - caf\xe9",
    b"<13>1 - web1 app - - - \xed\xa0\xbd\xed\xb8\x80",
    b"",
    "<13>1 - web1 app - - - 😀".encode()[:-1],
    b"\xff" * 1000,
]
"""Log entries: in UTF-8, Latin-1, CESU-8, empty, cut by a program that counted bytes, and no text at all."""

SHORT = [b"text", "汉字😀".encode(), b"caf\xe9", b"\xff\xfe\x80", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xc0\xaf", b""]
"""Texts that, with a number of eight bytes, are in the shortest frames before and after repair."""

LONG = [b"ab\xf0\x9f\x98" * count for count in (1, 40, 292)]
"""Texts that repair does not lengthen."""


def connected(folder: Path) -> Network:
    """A simulation of the SoC that has the address of the collector."""
    network = Network(folder)
    questions = network.run([Datagram(SYSLOG_PORT, b"").frame()], wait=STEP)
    network.run([answer for frame in questions if (answer := arp_answer(frame))], wait=STEP)
    return network


def registers(network: Network) -> dict[str, int]:
    """The counters of the guard, read by UDP."""
    question = read_registers([network.registers[f"guard_{name}"] for name in COUNTERS])
    [frame] = network.run([Datagram(REGISTERS_PORT, question).frame()], wait=STEP)
    answer = Datagram.of(frame)
    assert answer is not None
    return dict(zip(COUNTERS, values_of(answer.text), strict=True))


def repaired(text: bytes) -> bytes:
    """What the guard sends for a text."""
    return text.decode("utf-8", "replace").encode()


def numbered() -> Iterator[bytes]:
    """Texts with numbers, most of them in the shortest frames, without an end."""
    number = 0
    while True:
        for at in range(100):
            text = LONG[at // 4 % 3] if at in (33, 66, 99) else SHORT[at % len(SHORT)]
            yield b"%08d" % number + text
            number += 1


def at_line_rate(network: Network, count: int) -> str:
    """Send numbered datagrams without a pause, and check what comes back; returns what was sent.

    Raises:
        ValueError: a datagram is missing, or is not what CPython and the order demand.
    """
    texts, due = islice(numbered(), count), map(repaired, islice(numbered(), count))
    answers: list[bytes] = []
    times = arrived = 0
    began = time.monotonic()
    for wait in (*repeat(0, -(-count // BATCH)), DRAIN):
        frames = [*answers, *(Datagram(SYSLOG_PORT, text).frame() for text in islice(texts, BATCH))]
        answers = []
        times += sum(len(padded(frame)) + OVERHEAD for frame in frames)
        for frame in network.run(frames, wait=wait):
            if answer := arp_answer(frame):
                answers.append(answer)
            elif datagram := Datagram.of(frame):
                arrived += 1
                if datagram.text != (wanted := next(due, None)):
                    raise ValueError(f"datagram {arrived} is {datagram.text!r}, expected {wanted!r}")
    if wanted := next(due, None):
        raise ValueError(f"{arrived} datagrams arrived, but not {wanted!r}")
    return (
        f"{count} datagrams in {times * 8e-9:.3f} s at 1 Gbit/s: {arrived} arrived, all as expected and in order;"
        f" simulated in {time.monotonic() - began:.0f} s"
    )


def main(folder: Path, count: int) -> None:
    network = connected(folder)
    for text in TEXTS:
        print(f"sent     {text!r:.70}")
        for frame in network.run([Datagram(SYSLOG_PORT, text).frame()], wait=40 * STEP):
            if datagram := Datagram.of(frame):
                print(f"arrived  {datagram.text.decode()!r}")
    print(at_line_rate(network, count))
    print(", ".join(f"{name} {value}" for name, value in registers(network).items()))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(f"usage: python {sys.argv[0]} FOLDER [N]")
    logging.disable(logging.INFO)
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 2000)
    except (RuntimeError, ValueError) as error:
        sys.exit(str(error))
