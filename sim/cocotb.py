# SPDX-License-Identifier: BSD-2-Clause
"""cocotb benches around a generated core, on top of cocotbext-axi. Requires the extra ``cocotb``.

A test sends packets of bytes, and `DecoderBench` compares the words that arrive with the golden model. `CoreBench` does
the same for every core:

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from utf8fpga.hdl import build
from utf8fpga.hdl.axi_stream import SymbolPorts
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.parameters import CoreParameters
from utf8fpga.hdl.verilog.bench_vectors import expected_at_ports, report_fields
from utf8fpga.model import InvalidArgumentError, Item, decode
from utf8fpga.model.vectors import vectors

try:
    import cocotb
    from cocotb.clock import Clock
    from cocotb.queue import Queue
    from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout
    from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed: pip install 'utf8fpga[cocotb]'", name=error.name
    ) from None

_WORD_BYTES = 4


class Word(NamedTuple):
    """A word at the output of a decoder.

    Attributes:
        code_point: the code point; U+FFFD where ill-formed.
        error: whether the word stands for a maximal subpart of an ill-formed subsequence (D93b).
    """

    code_point: int
    error: bool

    def __str__(self) -> str:
        return f"U+{self.code_point:04X}{' (ill-formed)' if self.error else ''}"


def packet(data: bytes) -> AxiStreamFrame:
    """A packet for `AxiStreamSource.send`, also without a byte: then it is one beat with ``tlast`` and no ``tkeep``.

    Args:
        data: the bytes.
    """
    return AxiStreamFrame(data) if data else AxiStreamFrame(bytes(1), tkeep=[0])


def received_words(frame: AxiStreamFrame, lanes: int, user_bits: int = 1) -> list[Word]:
    """The words of a packet, those of sparse beats too.

    Args:
        frame: as returned by ``AxiStreamSink.recv(compact=False)``, which keeps the lane of each byte.
        lanes: words per beat.
        user_bits: bits of ``tuser`` for each word; more than 1 with ``--kind``.

    Raises:
        InvalidArgumentError: the frame is compact.
    """
    if frame.tkeep is None or len(frame.tdata) % (_WORD_BYTES * lanes):
        raise InvalidArgumentError("the lanes of a compact frame are unknown: receive it with recv(compact=False)")
    return [Word(data, bool(user & 1)) for data, user in _symbols(frame, lanes, _WORD_BYTES, user_bits)]


def _symbols(frame: AxiStreamFrame, lanes: int, size: int, user_bits: int) -> Iterator[tuple[int, int]]:
    """The data of each symbol that is present, of `size` bytes, and its user bits, of which the lowest is the flag."""
    for number, start in enumerate(range(0, len(frame.tdata), size)):
        if frame.tkeep[start]:
            data = int.from_bytes(bytes(frame.tdata[start : start + size]), "little")
            user = _at(frame.tuser, start) >> number % lanes * user_bits & ((1 << user_bits) - 1)
            yield data, user


def expected_words(data: bytes, golden: Callable[[bytes], Iterable[Item]] = decode) -> list[Word]:
    """The words for a packet.

    Args:
        data: the bytes of the packet.
        golden: the golden decoder; default: UTF-8, one U+FFFD per maximal subpart.
    """
    return [Word(item.code_point, item.error is not None) for item in golden(data)]


def pauses(seed: int, probability: float = 0.5) -> Iterator[bool]:
    """Random pauses for ``set_pause_generator`` of a source or a sink.

    Args:
        seed: determines them.
        probability: of a pause, in each cycle; 0 to less than 1.

    Raises:
        InvalidArgumentError: `probability` is out of range.
    """
    if not 0 <= probability < 1:
        raise InvalidArgumentError(f"probability {probability} is not at least 0 and less than 1")
    random = Random(seed)
    return iter(lambda: random.random() < probability, None)


class _Bench:
    """A source, a sink if there is an output stream, and a scoreboard on a generated core."""

    def __init__(self, dut: Any, period: int | None, *, has_sink: bool = True) -> None:
        self._clock, self._active = dut.clk, int(not hasattr(dut, "rst_n"))
        self._reset = dut.rst if self._active else dut.rst_n
        self._reset.value = 1 - self._active
        self.source: Any = self._side(dut, AxiStreamSource, "s_axis")
        self.sink: Any = self._side(dut, AxiStreamSink, "m_axis") if has_sink else None
        self._sent: deque[Sequence[int]] = deque()
        if period is not None:
            Clock(dut.clk, period, "ns").start()

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
        if self.sink:
            self.sink.clear()
        await ClockCycles(self._clock, 1)

    async def send(self, *packets: Sequence[int]) -> None:
        """Queue packets of bytes or other symbols, which may be empty.

        They are sent one behind the other, without a pause of their own.
        """
        for data in packets:
            self._sent.append(data)
            await self.source.send(self._packet(data))

    async def check(self, timeout_us: int = 1000) -> int:
        """Receive all packets that were sent, and compare them.

        Args:
            timeout_us: simulated time to wait for each packet, in microseconds.

        Returns:
            The number of symbols, or of the reports of a tap.

        Raises:
            AssertionError: a symbol or a report differs, or a packet did not arrive; the message says which.
        """
        count = 0
        for number in range(len(self._sent)):
            units = self._sent.popleft()
            if self.sink:
                frame = await self._in_time(self.sink.recv(compact=False), number, units, timeout_us)
                received, expected = self._received(frame), self._expected(units)
                if received != expected:
                    raise AssertionError(_difference(number, units, received, expected))
                count += len(received)
            count += await self._check_report(number, units, timeout_us)
        return count

    async def _in_time(self, received: Any, number: int, units: Sequence[int], timeout_us: int) -> Any:
        try:
            return await with_timeout(received, timeout_us, "us")
        except SimTimeoutError:
            raise AssertionError(f"packet {number} did not arrive within {timeout_us} us: {_shown(units)}") from None

    def _packet(self, units: Sequence[int]) -> AxiStreamFrame:
        raise NotImplementedError

    def _received(self, frame: AxiStreamFrame) -> Sequence[Any]:
        raise NotImplementedError

    def _expected(self, units: Sequence[int]) -> Sequence[Any]:
        raise NotImplementedError

    async def _check_report(self, number: int, units: Sequence[int], timeout_us: int) -> int:
        return 0


class DecoderBench(_Bench):
    """A source and a sink on a generated decoder, and a scoreboard: each packet is compared with the golden model.

    Args:
        dut: the decoder, or a module with its ports: ``clk``, ``rst`` or ``rst_n``, ``s_axis_…`` and ``m_axis_…``.
        golden: the golden decoder, see `expected_words`.
        period: of the clock, which the bench starts, in nanoseconds; None: the test drives the clock.

    Attributes:
        lanes: bytes per input beat, and words per output beat.
        source, sink: of cocotbext-axi, for `set_pause_generator` for instance.
    """

    def __init__(
        self,
        dut: Any,
        *,
        golden: Callable[[bytes], Iterable[Item]] = decode,
        period: int | None = 10,
    ) -> None:
        self._golden = golden
        self.lanes = len(dut.s_axis_tkeep)
        self._user_bits = len(dut.m_axis_tuser) // self.lanes if hasattr(dut, "m_axis_tuser") else 0
        super().__init__(dut, period)

    def _packet(self, units: Sequence[int]) -> AxiStreamFrame:
        return packet(bytes(units))

    def _received(self, frame: AxiStreamFrame) -> list[Word]:
        return received_words(frame, self.lanes, self._user_bits)

    def _expected(self, units: Sequence[int]) -> list[Word]:
        return expected_words(bytes(units), self._golden)


async def assert_utf8_core(dut: Any, **options: Any) -> int:
    """Send all named vectors through a decoder: alone, back to back, and with pauses on each side.

    Args:
        dut: see `DecoderBench`, whose clock and reset it drives.
        options: those of `DecoderBench`.

    Returns:
        The number of words that were compared.

    Raises:
        AssertionError: a word differs, or a packet did not arrive; the message says which.
    """
    bench, texts, count = DecoderBench(dut, **options), [vector.units for vector in vectors()], 0
    await bench.reset()
    for text in texts:
        await bench.send(text)
        count += await bench.check()
    for given, taken in ((0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.3, 0.3)):
        bench.source.set_pause_generator(pauses(1, given))
        bench.sink.set_pause_generator(pauses(2, taken))
        await bench.send(*texts)
        count += await bench.check()
    return count


class PortSymbol(NamedTuple):
    """A symbol at the output of a core.

    Attributes:
        value: the bits of ``tdata``, with a remover above them those of ``tuser``.
        error: the error flag.
    """

    value: int
    error: bool

    def __str__(self) -> str:
        return f"{self.value:X}{' (ill-formed)' if self.error else ''}"


class CoreBench(_Bench):
    """A source and a sink on any generated core, and a scoreboard: each packet is compared with the golden function.

    Of a validator, which has no output stream, the reports are compared, `sink` is None, and ``tready`` is asserted
    unless `ready_pauses` yields True for the cycle.

    Where no symbol is present, the data of encoders, transcoders and removers are undefined, which the sink does not
    accept in a simulation with unknown bits: run it with the variable ``COCOTB_RESOLVE_X=random``.

    Args:
        dut: the core, or a module with its ports.
        parameters: the parameters of the core.
        period: of the clock, which the bench starts, in nanoseconds; None: the test drives the clock.

    Attributes:
        source, sink: of cocotbext-axi.
        ready_pauses: see above.
    """

    def __init__(self, dut: Any, parameters: CoreParameters, *, period: int | None = 10) -> None:
        self._core, self._dut = build(parameters), dut
        self._given, self._is_tap = SymbolPorts.of(self._core.input), hasattr(self._core, "tap")
        self._made = None if self._is_tap else SymbolPorts.of(self._core.output)
        self._layout, self._reports = report_fields(self._core), Queue[int]()
        self.ready_pauses: Iterator[bool] | None = None
        super().__init__(dut, period, has_sink=not self._is_tap)
        if self._is_tap:
            cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        """Collect the reports of a tap, and drive ``tready``."""
        dut = self._dut
        while True:
            dut.s_axis_tready.value = int(not (self.ready_pauses and next(self.ready_pauses)))
            await RisingEdge(self._clock)
            if self._reset.value == 1 - self._active and dut.report_tvalid.value == 1:
                values = {name: int(getattr(dut, f"report_{name}").value) for name, _ in self._layout}
                self._reports.put_nowait(sum(value << self._layout[name].offset for name, value in values.items()))

    def _packet(self, units: Sequence[int]) -> AxiStreamFrame:
        given = self._given
        if not units:
            return AxiStreamFrame(bytes(given.size), tkeep=[0] * given.size)
        mask, lanes = (1 << given.bits) - 1, lanes_of(self._core.input)
        data = b"".join((unit & mask).to_bytes(given.size, "little") for unit in units)
        if not given.users:
            return AxiStreamFrame(data)
        # Of the bytes of a beat the source sends the user bits of one, so each has those of all.
        users = []
        for at in range(0, len(units), lanes):
            beat = units[at : at + lanes]
            user = sum((unit >> given.bits) << given.user_bits * lane for lane, unit in enumerate(beat))
            users += [user] * given.size * len(beat)
        return AxiStreamFrame(data, tuser=users)

    def _received(self, frame: AxiStreamFrame) -> list[PortSymbol]:
        made = self._made
        assert made is not None
        symbols = _symbols(frame, lanes_of(self._core.output), made.size, made.user_bits)
        if made.users and made.users[0][0] == "user":
            return [PortSymbol(data & ((1 << made.bits) - 1) | user << made.bits, False) for data, user in symbols]
        return [PortSymbol(data, bool(user & 1)) for data, user in symbols]

    def _expected(self, units: Sequence[int]) -> list[PortSymbol]:
        return [PortSymbol(*each) for each in expected_at_ports(self._core, units).symbols]

    async def _check_report(self, number: int, units: Sequence[int], timeout_us: int) -> int:
        """Compare the report of a tap on a packet; the number of reports."""
        expected = expected_at_ports(self._core, units).report
        if expected is None:
            return 0
        received = await self._in_time(self._reports.get(), number, units, timeout_us)
        if received != expected:
            pair = [", ".join(f"{name} {field}" for name, field in self._fields(each)) for each in (received, expected)]
            raise AssertionError(f"packet {number}: report {pair[0]}, expected {pair[1]}; input: {_shown(units)}")
        return 1

    def _fields(self, report: int) -> Iterator[tuple[str, int]]:
        for name, field in self._layout:
            yield str(name), report >> field.offset & ((1 << field.width) - 1)


def _difference(number: int, units: Sequence[int], received: Sequence[Any], expected: Sequence[Any]) -> str:
    pairs = zip(received, expected, strict=False)
    at = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(received), len(expected)))
    one, other = (str(symbols[at]) if at < len(symbols) else "the end" for symbols in (received, expected))
    noun, source = ("word", "bytes") if isinstance(units, bytes) else ("symbol", "input")
    return f"packet {number}, {noun} {at}: {one}, expected {other}; {source}: {_shown(units)}"


def _shown(units: Sequence[int], most: int = 64) -> str:
    shown = " ".join(f"{unit:02X}" for unit in units[:most])
    noun = "bytes" if isinstance(units, bytes) else "symbols"
    return shown + (f" … ({len(units)} {noun})" if len(units) > most else "")


def _at(values: Sequence[int] | int | None, place: int) -> int:
    """An element of a field of a frame, which cocotbext-axi may have replaced by a common value."""
    if values is None or isinstance(values, int):
        return values or 0
    return values[place]
