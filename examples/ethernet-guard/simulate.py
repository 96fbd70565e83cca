# SPDX-License-Identifier: BSD-2-Clause
"""Simulates the SoC with the guard, with Linux as its peer, or with datagrams at line rate.

``python examples/ethernet-guard/simulate.py`` sends datagrams over a TAP device in a network namespace of its own.
With ``--datagrams N`` the peer is a function, which sends N datagrams back to back and checks each that comes back.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, repeat

from guard import COUNTERS, Policy
from network import Datagram, Network, arp_answer, padded, read_registers, values_of
from soc import ADDRESS, COLLECTOR, MARKED_PORT, REGISTERS_PORT, SYSLOG_PORT, parsed

from utf8fpga.hdl.toolchain import ToolError

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 2, 0x1000
PORTS = (SYSLOG_PORT, MARKED_PORT)
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
    b"<13>1 - web1 app - - - " + b"\xff" * 1000,
]
"""Log entries: in UTF-8, Latin-1, CESU-8, empty, cut by a program that counted bytes, and no text at all."""


class Tap:
    """A TAP device that joins Linux, with the address of the collector, and the simulation."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self._device, TUNSETIFF, struct.pack("16sH22x", b"tap0", IFF_TAP | IFF_NO_PI))
        for words in (f"address add {COLLECTOR}/24 dev tap0", "link set tap0 mtu 9000 up"):
            subprocess.run(["ip", *words.split()], check=True)

    def pump(self, steps: int) -> None:
        """Simulate, with the frames of Linux, and pass on those of the SoC."""
        for _ in range(steps):
            frames = []
            while True:
                try:
                    frames.append(os.read(self._device, 65_536))
                except BlockingIOError:
                    break
            for frame in self._network.run(frames, wait=STEP):
                os.write(self._device, frame)


def with_linux(network: Network) -> None:
    """Send log entries through the guard by sockets, and print what arrives, and the registers."""
    tap, sender = Tap(network), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # LiteEth's Etherbone sends its answers to its own port.
    receivers = {port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port in (*PORTS, REGISTERS_PORT)}
    for port, receiver in receivers.items():
        receiver.bind((COLLECTOR, port))
        receiver.settimeout(0)
    for text in TEXTS:
        sender.sendto(text, (ADDRESS, SYSLOG_PORT))
        print(f"sent           {shown(text)}")
        tap.pump(20)
        for port in PORTS:
            with suppress(BlockingIOError):
                print(f"at port {port}    {shown(receivers[port].recv(65_536))}")
    question = read_registers([network.registers[f"guard_{name}"] for name in COUNTERS])
    sender.sendto(question, (ADDRESS, REGISTERS_PORT))
    tap.pump(10)
    values = values_of(receivers[REGISTERS_PORT].recv(2000))
    print(", ".join(f"{name} {value}" for name, value in zip(COUNTERS, values, strict=True)))


def shown(text: bytes) -> str:
    """A text in at most 60 characters."""
    try:
        written = repr(text.decode())
    except UnicodeDecodeError:
        written = repr(text)
    return written if len(written) <= 60 else f"{written[:36]}... ({len(text)} bytes)"


SHORT = [
    b"plain text",
    "汉字😀".encode(),
    b"caf\xe9",
    b"\xff\xfe\x80",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    b"\xc0\xaf",
    b"",
]
"""Texts that, with a number of eight bytes, are in the shortest frames before and after repair."""

LONG = [b"ab\xf0\x9f\x98" * count for count in (1, 40, 292)]
"""Texts that repair does not lengthen."""


def numbered() -> Iterator[bytes]:
    """Texts with numbers, most of them in the shortest frames, without an end."""
    number = 0
    while True:
        for at in range(100):
            text = LONG[at // 4 % 3] if at in (33, 66, 99) else SHORT[at % len(SHORT)]
            yield b"%08d" % number + text
            number += 1


def expected(policy: Policy, text: bytes) -> tuple[int, bytes] | None:
    """The port and the text of what the guard sends for a text within its limit."""
    repaired = text.decode("utf-8", "replace").encode()
    if repaired == text or policy is Policy.REPAIR:
        return SYSLOG_PORT, repaired
    return (MARKED_PORT, text) if policy is Policy.MARK else None


def at_line_rate(network: Network, policy: Policy, count: int) -> str:
    """Send numbered datagrams without a pause, and check what comes back; returns what was sent.

    Raises:
        ValueError: a datagram is missing, or is not what the model and the order demand.
    """
    # The first one waits for the address of the collector.
    questions = network.run([Datagram(SYSLOG_PORT, b"").frame()], wait=STEP)
    network.run([answer for frame in questions if (answer := arp_answer(frame))], wait=STEP)
    texts = islice(numbered(), count)
    due = (each for text in islice(numbered(), count) if (each := expected(policy, text)))
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
                if (datagram.port, datagram.text) != (wanted := next(due, None)):
                    raise ValueError(f"datagram {arrived} is {datagram}, expected {wanted}")
    if wanted := next(due, None):
        raise ValueError(f"{arrived} datagrams arrived, but not {wanted}")
    return (
        f"{count} datagrams in {times * 8e-9:.3f} s at 1 Gbit/s: {arrived} arrived, all as expected and in order;"
        f" simulated in {time.monotonic() - began:.0f} s"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulates the SoC with the guard.")
    parser.add_argument("--datagrams", type=int, metavar="N", help="send N datagrams at line rate, without Linux")
    parser.add_argument("--inside", action="store_true", help="use this network namespace; default: a new one")
    options, guard = parsed(parser)
    if options.datagrams is None and not options.inside:
        missing = [name for name in ("unshare", "ip") if not shutil.which(name)]
        if missing or not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            parser.exit(2, f"{' and '.join(missing) or '/dev/net/tun'} cannot be used: give --datagrams N\n")
        return subprocess.run(["unshare", "-rn", sys.executable, *sys.argv, "--inside"]).returncode
    try:
        network = Network(guard, options.folder)
        if options.datagrams is None:
            with_linux(network)
        else:
            print(at_line_rate(network, guard.policy, options.datagrams))
    except (ToolError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
