# SPDX-License-Identifier: BSD-2-Clause
"""A virtual board behind a pseudo-terminal, for the tests of serial ports."""

from __future__ import annotations

import os
import select
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from utf8fpga.boards.virtual import VirtualBoard


@contextmanager
def on_pty(board: VirtualBoard) -> Iterator[tuple[str, Callable[[], None]]]:
    """The name of a port with this board during the block, and a function that unplugs the cable."""
    host, device = os.openpty()
    tty.setraw(device)
    stopping = threading.Event()

    def serve() -> None:
        while not stopping.is_set():
            if select.select([host], [], [], 0.05)[0]:
                board.write(os.read(host, 64))
                answer = b"".join(iter(lambda: board.read(0), b""))
                while answer and not stopping.is_set():
                    if select.select([], [host], [], 0.05)[1]:
                        answer = answer[os.write(host, answer[:256]) :]

    def unplug() -> None:
        if not stopping.is_set():
            stopping.set()
            thread.join()
            os.close(device)
            os.close(host)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield os.ttyname(device), unplug
    finally:
        unplug()
