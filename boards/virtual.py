# SPDX-License-Identifier: BSD-2-Clause
"""A board in simulation, which a host uses like the serial port of a real one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Fragment, Module
from amaranth.lib import io

from utf8fpga.boards.catalog import find_board
from utf8fpga.boards.forms import Form, Words
from utf8fpga.boards.top import BoardTop
from utf8fpga.boards.uart_core import UartCore
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.sim import HAS_GRAPH

if HAS_GRAPH:
    import numpy as np

    from utf8fpga.sim.graph import Graph

_FRAME_BITS = 10


class _Platform:
    """The part of a platform that the top module uses, with ports of a simulation and without LEDs."""

    def __init__(self) -> None:
        self.uart = SimpleNamespace(rx=io.SimulationPort("i", 1), tx=io.SimulationPort("o", 1))
        self.resources: set[tuple[str, int]] = set()

    def request(self, _name: str, _number: int, **_options: str) -> Any:
        return self.uart


class VirtualBoard:
    """The top module of a board as a graph, with a UART of a host at its pins; see `Port`.

    It requires the extra ``fast``.

    Args:
        board: a name in the catalogue.
        baud: bits per second of the board's UART.

    Raises:
        InvalidArgumentError: the speed is not possible with the clock of the board, or there is no such board.
        ToolError: the extra ``fast`` is not installed.
    """

    def __init__(self, board: str = "icebreaker", form: Form = Words, *, baud: float = 1_000_000) -> None:
        if not HAS_GRAPH:
            raise ToolError("a virtual board requires Numba: pip install -e '.[fast]'")
        self.name = f"virtual:{board}"
        clock_hz = float(find_board(board).create_platform().default_clk_frequency)
        self.bit = clock_hz / baud
        """The cycles of a bit at the host, which are also those at the board unless a test changes them."""
        self._graph = Graph.from_rtlil(_rtlil(UartCore(clock_hz, baud, form)))
        self._settle = round(4 * _FRAME_BITS * self.bit) + 256
        """Cycles in which TX is high, after which the board has nothing more to send."""
        self.reset()

    def reset(self) -> None:
        """Configure the board again: all flip-flops and memories have their initial values."""
        self._state = self._graph.start()
        self._levels = self._received = b""
        """The levels of the TX pin that are not decoded yet; the bytes that were not read yet."""
        self._quiet = 0
        self._run(b"\1" * self._settle)

    def read(self, seconds: float) -> bytes:
        """See `Port`; the time is that of the board, which is simulated until it sends something."""
        while not self._received and self._quiet < self._settle:
            self._run(b"\1" * round(4 * _FRAME_BITS * self.bit))
        found, self._received = self._received, b""
        return found

    def write(self, data: bytes) -> None:
        """See `Port`."""
        self._run(_levels(data, self.bit))

    def _run(self, levels: bytes) -> None:
        """Simulate a cycle for each level of the RX pin, and receive from the TX pin."""
        given = np.frombuffer(levels, np.uint8).astype(np.uint64).reshape(-1, 1)
        sent = self._graph.step(self._state, {"rx": given}, ["tx"])["tx"].astype(np.uint8).tobytes()
        # What the board sends for these bytes may start later.
        last = max(sent.rfind(0), levels.rfind(0))
        self._quiet = self._quiet + len(sent) if last < 0 else len(sent) - last - 1
        self._received += self._bytes_in(sent)

    def _bytes_in(self, sent: bytes) -> bytes:
        """The bytes that a UART receives; one without a stop bit is 0, as Linux delivers it."""
        levels = self._levels + sent
        places = [int((number + 0.5) * self.bit) for number in range(_FRAME_BITS)]
        found = bytearray()
        place = 0
        while (start := levels.find(0, place)) >= 0 and start + places[-1] < len(levels):
            bits = [levels[start + each] for each in places]
            found.append(sum(level << n for n, level in enumerate(bits[1:-1])) if bits[-1] else 0)
            place = start + places[-1]
            if not bits[-1] and (place := levels.find(1, place)) < 0:
                place = len(levels)
        self._levels = levels[start:] if start >= 0 else b""
        return bytes(found)


def _levels(data: bytes, bit: float) -> bytes:
    """The level of the line in each cycle, while a host sends these bytes."""
    levels = bytearray()
    end = 0.0
    for byte in data:
        for level in (0, *(byte >> n & 1 for n in range(8)), 1):
            end += bit
            levels += bytes([level]) * (round(end) - len(levels))
    return bytes(levels)


def _rtlil(core: UartCore) -> str:
    """The top module of a board as RTLIL with the ports ``rx`` and ``tx``."""
    platform = _Platform()
    m = Module()
    m.domains += (domain := ClockDomain("sync"))  # Some cores use its reset, which is not asserted here.
    m.submodules.top = Fragment.get(BoardTop(core, ()), platform)
    ports: Any = {"clk": (domain.clk, None), "rx": (platform.uart.rx.i, None), "tx": (platform.uart.tx.o, None)}
    return str(rtlil.convert(m, name="top", ports=ports, emit_src=False))
