# SPDX-License-Identifier: BSD-2-Clause
"""cocotb benches around a generated core, on top of cocotbext-axi. Requires the extra ``cocotb``.

A test sends packets of bytes, and `DecoderBench` compares the words that arrive with the golden model:

.. code-block:: python

    @cocotb.test()
    async def accents(dut):
        bench = DecoderBench(dut)
        await bench.reset()
        await bench.send("né".encode())
        await bench.check()
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from random import Random
from typing import Any

from utf8fpga.model import Item, decode

try:
    from cocotb.clock import Clock
    from cocotb.triggers import ClockCycles, SimTimeoutError, with_timeout
    from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error.name} is not installed: pip install -e '.[cocotb]'", name=error.name) from None

_WORD_BYTES = 4

_PERIOD = 10
"""Nanoseconds of a cycle of the clock."""


Word = tuple[int, bool]
"""A word at the output of a decoder: the code point, U+FFFD where ill-formed, and whether it is ill-formed."""


def packet(data: bytes) -> AxiStreamFrame:
    """A packet for `AxiStreamSource.send`, also without a byte: then it is one beat with ``tlast`` and no ``tkeep``."""
    return AxiStreamFrame(data) if data else AxiStreamFrame(bytes(1), tkeep=[0])


def pauses(seed: int, probability: float = 0.5) -> Iterator[bool]:
    """Random pauses for ``set_pause_generator`` of a source or a sink.

    Args:
        seed: determines them.
        probability: of a pause, in each cycle; less than 1.
    """
    random = Random(seed)
    while True:
        yield random.random() < probability


class DecoderBench:
    """A source and a sink on a generated decoder, and a scoreboard: each packet is compared with the golden model.

    Args:
        dut: the decoder, or a module with its ports: ``clk``, ``rst`` or ``rst_n``, ``s_axis_…`` and ``m_axis_…``.
        golden: the golden decoder; default: UTF-8, one U+FFFD per maximal subpart.

    Attributes:
        lanes: bytes per input beat, and words per output beat.
        source, sink: of cocotbext-axi, for `set_pause_generator` for instance.
    """

    def __init__(self, dut: Any, *, golden: Callable[[bytes], Iterable[Item]] = decode) -> None:
        self._golden = golden
        self.lanes = len(dut.s_axis_tkeep)
        self._user_bits = len(dut.m_axis_tuser) // self.lanes
        self._clock, self._active = dut.clk, int(not hasattr(dut, "rst_n"))
        self._reset = dut.rst if self._active else dut.rst_n
        self._reset.value = 1 - self._active
        self.source: Any = self._side(dut, AxiStreamSource, "s_axis")
        self.sink: Any = self._side(dut, AxiStreamSink, "m_axis")
        self._sent: deque[bytes] = deque()
        Clock(dut.clk, _PERIOD, "ns").start(start_high=False)  # No edge before the inputs have values.

    def _side(self, dut: Any, kind: Any, prefix: str) -> Any:
        found = kind(AxiStreamBus.from_prefix(dut, prefix), dut.clk, self._reset, bool(self._active))
        found.log.setLevel("ERROR")  # It logs each packet, byte by byte.
        return found

    async def reset(self, cycles: int = 2) -> None:
        """Assert the reset. Packets that have not been received are forgotten.

        Args:
            cycles: of the clock, at least 1.
        """
        self._reset.value = self._active
        await ClockCycles(self._clock, cycles)
        self._reset.value = 1 - self._active
        self._sent.clear()
        self.source.clear()
        self.sink.clear()
        await ClockCycles(self._clock, 1)

    async def send(self, *packets: bytes) -> None:
        """Queue packets, which may be empty.

        They are sent one behind the other, without a pause of their own.
        """
        for data in packets:
            self._sent.append(data)
            await self.source.send(packet(data))

    async def check(self, timeout_us: int = 1000) -> int:
        """Receive all packets that were sent, and compare them.

        Args:
            timeout_us: simulated time to wait for each packet, in microseconds.

        Returns:
            The number of words.

        Raises:
            AssertionError: a word differs, or a packet did not arrive; the message says which.
        """
        count = 0
        for number in range(len(self._sent)):
            data = self._sent.popleft()
            given = data.hex(" ").upper()
            try:
                frame = await with_timeout(self.sink.recv(compact=False), timeout_us, "us")
            except SimTimeoutError:
                raise AssertionError(f"packet {number} did not arrive within {timeout_us} us: {given}") from None
            received = _words(frame, self.lanes, self._user_bits)
            expected = [(item.code_point, item.error is not None) for item in self._golden(data)]
            for at, (one, other) in enumerate(zip_longest(received, expected)):
                if one != other:
                    words = f"{_shown(one)}, expected {_shown(other)}"
                    raise AssertionError(f"packet {number}, word {at}: {words}; bytes: {given}")
            count += len(received)
        return count


def _words(frame: AxiStreamFrame, lanes: int, user_bits: int) -> list[Word]:
    """The words of a packet, those of sparse beats too.

    Args:
        frame: as returned by ``AxiStreamSink.recv(compact=False)``, which keeps the lane of each byte.
        lanes: words per beat.
        user_bits: bits of ``tuser`` for each word; more than 1 with ``--kind``.
    """
    words = []
    for number, start in enumerate(range(0, len(frame.tdata), _WORD_BYTES)):
        if frame.tkeep[start]:
            code_point = int.from_bytes(bytes(frame.tdata[start : start + _WORD_BYTES]), "little")
            words.append((code_point, bool(frame.tuser[start] >> number % lanes * user_bits & 1)))
    return words


def _shown(word: Word | None) -> str:
    if word is None:
        return "the end"
    code_point, is_error = word
    return f"U+{code_point:04X}{' (ill-formed)' if is_error else ''}"
