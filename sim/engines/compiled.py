# SPDX-License-Identifier: BSD-2-Clause
"""The engine `compiled`: a core as machine code, driven with whole buffers of beats.

A model is a library, see `native.py`, that is loaded into this process: buffers are passed without a copy, and other
threads run meanwhile. A run is equal to one in Amaranth's simulator cycle by cycle.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from itertools import accumulate, chain, islice
from mmap import mmap
from operator import le
from pathlib import Path
from typing import Any, Unpack

from amaranth.hdl import ClockDomain, Module, Shape, Value

from utf8fpga.hdl import Core, CoreEntry, entry_of, parameters_of
from utf8fpga.hdl.beats import lanes_of, symbol_shape
from utf8fpga.hdl.foreign_core import PARTIAL, ForeignCore
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.beats import (
    Beat,
    BeatEncoder,
    ContractError,
    StreamOptions,
    StreamWords,
    endless_output,
    is_null,
    output_fields,
    patience_of,
)
from utf8fpga.sim.engines import gates, native
from utf8fpga.sim.engines.engine import Events

_BUFFER_BYTES = 1 << 20
"""Upper bound on the bytes of output payloads per call, unless one call has less than `_FEWEST_BEATS`."""

_FEWEST_BEATS = 256

_BEATS_AT_ONCE = 4096
"""Input beats that a run reads ahead."""

_RUNS_AT_ONCE = 1 << 13
"""Runs per call of the driver."""

_PATTERNS = ("input_pauses", "output_pauses", "null_beats")


def _constants(core: Core, absent: int) -> dict[str, int]:
    """The constants of a core for ``driver.c``, which describes them."""
    foreign = core.ports if isinstance(core, ForeignCore) else None
    constants = {
        "FOREIGN": foreign is not None,
        "HANDSHAKE": foreign is not None and foreign.protocol == "axi-stream",
        "RESETS": foreign is not None and not foreign.has_end,
        "OUT_ERROR": output_fields(core).get("error", (-1, 1))[0],
        "PACKED": core.packed,
        # The driver makes beats of at most 32 bits per symbol only.
        "ABSENT": absent & 0xFFFFFFFF,
    }
    for prefix, stream in (("IN", core.input), ("OUT", core.output)):
        layout = stream.payload.shape()
        constants |= {
            f"{prefix}_BITS": layout.size,
            f"{prefix}_LANES": lanes_of(stream),
            f"{prefix}_SYMBOL_BITS": Shape.cast(symbol_shape(stream)).width,
            f"{prefix}_SYMBOLS": layout["symbols"].offset,
            f"{prefix}_KEEP": layout["keep"].offset,
            f"{prefix}_LAST": layout["last"].offset,
        }
    return {name: int(value) for name, value in constants.items()}


def core_rtlil(core: Core) -> str:
    """A core in RTLIL with the ports that ``driver.c`` names; its reset is never asserted."""
    m = Module()
    # Without a port and without a driver, the reset is the constant 0, as it is of cores of this library.
    m.domains += (domain := ClockDomain("sync"))
    m.submodules.core = core
    signals = {
        gates.CLOCK: domain.clk,
        "in_payload": Value.cast(core.input.payload),
        "in_valid": core.input.valid,
        "in_ready": core.input.ready,
        "out_payload": Value.cast(core.output.payload),
        "out_valid": core.output.valid,
        "out_ready": core.output.ready,
    }
    instantiated = ""
    if isinstance(core, ForeignCore):
        signals |= {"rst": domain.rst, "violation": core.violation}
        instantiated = core.module.rtlil
    return instantiated + native.rtlil_of(m, signals)


class Status(IntEnum):
    """Why a call of the driver returned: ``enum status`` in C."""

    DONE = 0
    NEEDS_INPUT = auto()
    OUTPUT_FULL = auto()
    DEASSERTED = auto()
    CHANGED = auto()
    NULL_BEAT = auto()
    EARLY_LAST = auto()
    STUCK = auto()
    GAP = auto()
    FLAG = auto()
    ENDLESS = auto()
    VIOLATION = auto()
    """A foreign core asserted `violation`."""


# The structures of the driver. Those in C are made from them.


class _Settings(ctypes.Structure):
    """The options of a run; if it does not gather symbols and ends of packets, the output is payloads and cycles."""

    _fields_ = [
        *((name, ctypes.c_char_p) for name in _PATTERNS),
        *((f"{name}_length", ctypes.c_uint64) for name in _PATTERNS),
        ("patience", ctypes.c_uint64),
        ("gathers", ctypes.c_uint64),
    ]


class _Buffers(ctypes.Structure):
    """The input of a call, and the room for its output.

    Attributes:
        inputs: payloads in whole 64-bit words, or symbols of 1, 2 or 4 bytes.
        ends: with symbols, the position in `inputs` after each packet.
        separate: with symbols, for each packet whether `last` is in a beat of its own.
        more: whether another call continues the input.
        valid_since: with gathering, for each end of a packet the number of symbols before it.
        room: elements for which there is room in each array of the output.
    """

    _fields_ = [
        ("inputs", ctypes.c_char_p),
        ("inputs_length", ctypes.c_uint64),
        ("ends", ctypes.c_void_p),
        ("separate", ctypes.c_char_p),
        ("ends_length", ctypes.c_uint64),
        ("more", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in ("payloads", "symbols", "valid_since", "transferred", "accepted")),
        ("room", ctypes.c_uint64),
    ]


def _results(payload_bytes: int) -> type[ctypes.Structure]:
    """The structure of counts after a call, and of payloads after a violation.

    Attributes:
        inputs_used: beats or symbols.
        outputs: beats or symbols.
        accepted: input beats, without gathering.
        packets: ends of packets at the output, with gathering.
        held, payload: the payload of the output beat that waited, and that of the cycle.
    """
    counts = ("inputs_used", "ends_used", "outputs", "accepted", "packets", "cycle", "lane")
    held = ctypes.c_uint8 * (payload_bytes + 8)
    fields = [*((name, ctypes.c_uint64) for name in counts), ("held", held), ("payload", held)]
    return type("_Results", (ctypes.Structure,), {"_fields_": fields})


class _Outcome(ctypes.Structure):
    """The numbers of symbols and packets of a run of `Session.run_each`, and the rest of what that yields."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("outputs", "packets", "status", "violation", "cycles")]


_C_TYPES = {ctypes.c_char_p: "const uint8_t *", ctypes.c_void_p: "uint64_t *", ctypes.c_uint64: "uint64_t "}


def _in_c(name: str, structure: type[ctypes.Structure]) -> str:
    """The declaration of a structure in C."""
    members = [
        f"{_C_TYPES[each[1]]}{each[0]};" if each[1] in _C_TYPES else f"uint8_t {each[0]}[{ctypes.sizeof(each[1])}];"
        for each in structure._fields_
    ]
    return f"struct {name} {{ {' '.join(members)} }};\n"


def _definitions(constants: Mapping[str, int]) -> str:
    """What ``driver.c`` requires: the constants of a core, the values of `Status`, and the structures."""
    structures: dict[str, type[ctypes.Structure]] = {
        "settings": _Settings,
        "buffers": _Buffers,
        "results": _results(_bytes_of(constants["OUT_BITS"])),
        "outcome": _Outcome,
    }
    return "".join(
        [
            *(f"#define {name} {value}\n" for name, value in constants.items()),
            f"enum status {{ {', '.join(Status.__members__)} }};\n",
            *(_in_c(*each) for each in structures.items()),
        ]
    )


def _bytes_of(bits: int) -> int:
    """The bytes of a payload in a buffer: whole 64-bit words."""
    return -(-bits // 64) * 8


@dataclass(frozen=True)
class Transfers:
    """The transfers of some successive cycles; cycles are counted from the start of the run.

    Attributes:
        payloads: the output payloads, each of `payload_bytes` bytes, the low bits first.
        payload_bytes: a multiple of 8.
        valid_since: for each output beat the first cycle in which `valid` was asserted for it.
        transferred: for each output beat the cycle of its transfer.
        accepted: the cycle of the transfer of each input beat.
    """

    payloads: bytes
    payload_bytes: int
    valid_since: array[int]
    transferred: array[int]
    accepted: array[int]

    def __iter__(self) -> Iterator[int]:
        """The output payloads as integers."""
        size = self.payload_bytes
        for start in range(0, len(self.payloads), size):
            yield int.from_bytes(self.payloads[start : start + size], "little")


@dataclass(frozen=True)
class Gathered:
    """The output symbols of some successive cycles.

    Attributes:
        symbols: the symbols as integers of 64 bits in this machine's order.
        ends: for each packet that ended, the number of these symbols before its end.
    """

    symbols: bytes
    ends: array[int]


class Session:
    """A run of a compiled model whose input is given piece by piece, in fixed memory.

    Created by `CompiledModel.session`. A session must not be used by two threads at once.

    Attributes:
        cycle: the cycles simulated since the start of the run.
    """

    def __init__(self, model: CompiledModel, options: StreamOptions, gathers: bool) -> None:
        self._model, self._gathers, self._separate_ends = model, gathers, options.separate_ends
        constants, library = model.constants, model.library
        self._in_bytes, self._out_bytes = (_bytes_of(constants[name]) for name in ("IN_BITS", "OUT_BITS"))
        given = {name: bytes(map(bool, getattr(options, name))) for name in _PATTERNS}
        lengths = {f"{name}_length": len(pattern) for name, pattern in given.items()}
        self._settings = _Settings(**given, **lengths, patience=model.patience, gathers=gathers)
        self._results_type = _results(self._out_bytes)
        element = 8 if gathers else self._out_bytes
        self._room = max(_FEWEST_BEATS, constants["OUT_LANES"], _BUFFER_BYTES // element // 4)
        self._outputs = ctypes.create_string_buffer(self._room * element)
        self._cycles = [(ctypes.c_uint64 * self._room)() for _ in range(1 if gathers else 3)]
        self._run = ctypes.create_string_buffer(library.run_size())
        self.reset()

    def reset(self) -> None:
        """Start a new run: all flip-flops and memories have their initial values, and the cycle is 0."""
        self._model.library.run_reset(self._run, ctypes.byref(self._settings))
        self.cycle = 0
        self._rest = b""
        self._packets = 0

    def send_payloads(self, payloads: bytes | bytearray | memoryview, *, more: bool) -> Iterator[Any]:
        """Send input beats. The patterns of null beats and of separate ends have no effect.

        Args:
            payloads: the payloads, each in whole 64-bit words, the low bits first.
            more: whether other beats will follow; otherwise the run ends when all packets have ended at the output.

        Yields:
            The output in pieces, `Transfers` or `Gathered`. The next beats can be sent once all were read.

        Raises:
            ContractError: the core violated the stream contract. The output before that has been yielded.
            InvalidArgumentError: the length is not a multiple of the length of a payload.
        """
        data = bytes(payloads)
        if len(data) % self._in_bytes:
            raise InvalidArgumentError(f"{len(data)} bytes are not a multiple of {self._in_bytes}, a payload's bytes")
        yield from self._send(self._model.library.run_payloads, data, self._in_bytes, array("Q"), b"", more)

    def send_symbols(
        self, symbols: bytes | bytearray | memoryview, ends: Sequence[int] = (), *, more: bool
    ) -> Iterator[Any]:
        """Send symbols, packed into full beats except at the end of a packet.

        Args:
            symbols: the symbols, each of 1 byte, or of 2 or 4 in this machine's order if they are wider than 8 or
                16 bits.
            ends: the number of symbols from the start of `symbols` to the end of each packet that ends here,
                ascending. Other packets may be continued by the next call.
            more: whether other symbols or ends will follow; otherwise the run ends when all packets have ended at the
                output. A packet that has not ended then is an error.

        Yields:
            The output in pieces, `Transfers` or `Gathered`. The next symbols can be sent once all were read.

        Raises:
            InvalidArgumentError: symbols have more than 32 bits, `ends` is not ascending or exceeds the symbols, the
                bytes are not whole symbols, or a packet does not end though there is no more.
        """
        size = self._model.symbol_bytes
        if size is None:
            raise InvalidArgumentError("input symbols are wider than 32 bits: send payloads")
        given = bytes(symbols)
        if len(given) % size:
            raise InvalidArgumentError(f"{len(given)} bytes are not a multiple of {size}, the bytes of a symbol")
        before, data = len(self._rest) // size, self._rest + given if self._rest else given
        count = len(data) // size
        places = array("Q", [before + end for end in ends] if before else ends)
        if not all(map(le, [before, *places], [*places, count])):
            raise InvalidArgumentError(f"ends {list(ends)!r} are not ascending positions in {count - before} symbols")
        if not more and (places[-1] if places else 0) != count:
            raise InvalidArgumentError("the last packet has no end: give it in ends, or more=True")
        pattern = bytes(map(bool, self._separate_ends))
        start = self._packets % len(pattern)
        separate = (pattern * (len(places) // len(pattern) + 2))[start : start + len(places)]
        self._packets += len(places)
        yield from self._send(self._model.library.run_symbols, data, size, places, separate, more)

    def run_each(self, runs: Sequence[Sequence[bytes]]) -> Iterator[tuple[array[int], array[int], int, int, int]]:
        """Send packets of bytes to a foreign core, each run from the state after a reset, with gathering.

        Args:
            runs: the packets of each run, at least one; symbols as in `send_symbols`.

        Yields:
            For each run the output symbols as integers; for each packet that ended, the number of symbols before its
            end; the `Status`; the value of `violation`; and the cycles from that in which the first input beat was
            valid to the last transfer of one, 0 without.
        """
        library, remaining, size = self._model.library, iter(runs), self._model.symbol_bytes
        assert size is not None
        while chunk := list(islice(remaining, _RUNS_AT_ONCE)):
            data = b"".join(chain.from_iterable(chunk))
            ends = array("Q", accumulate(len(packet) // size for packet in chain.from_iterable(chunk)))
            run_ends = array("Q", accumulate(map(len, chunk)))
            # As much as `run_each` in driver.c may use, of which the system provides only what is used.
            room = ctypes.c_uint64 * (6 * len(data) + 64 * len(chunk))
            symbols, places = (room.from_buffer(mmap(-1, ctypes.sizeof(room))) for _ in range(2))
            outcomes, results = (_Outcome * len(chunk))(), self._results_type()
            buffers = _Buffers(
                inputs=data,
                ends=ends.buffer_info()[0],
                separate=bytes(len(ends)),
                symbols=ctypes.addressof(symbols),
                valid_since=ctypes.addressof(places),
            )
            address = ctypes.c_void_p(run_ends.buffer_info()[0])
            count = ctypes.c_uint64(len(chunk))
            self.reset()
            library.run_each(self._run, ctypes.byref(buffers), address, count, ctypes.byref(results), outcomes)
            columns = [array("Q", bytes(outcomes))[n :: len(_Outcome._fields_)] for n in range(len(_Outcome._fields_))]
            outputs, packets, *_ = columns
            all_words, all_ends = _words(symbols, sum(outputs)), _words(places, sum(packets))
            word = end = 0
            for words, packet_ends, *rest in zip(*columns, strict=True):
                yield (all_words[word : word + words], all_ends[end : end + packet_ends], *rest)
                word, end = word + words, end + packet_ends

    def _send(
        self, function: Any, data: bytes, size: int, ends: array[int], separate: bytes, more: bool
    ) -> Iterator[Any]:
        positions = (ctypes.c_uint64 * len(ends)).from_buffer(ends) if ends else (ctypes.c_uint64 * 0)()
        outputs, cycles = ctypes.addressof(self._outputs), [ctypes.addressof(each) for each in self._cycles]
        arrays = dict(zip(("valid_since", "transferred", "accepted"), cycles, strict=False))
        buffers = _Buffers(
            inputs=data,
            inputs_length=len(data) // size,
            ends=ctypes.addressof(positions),
            separate=separate,
            ends_length=len(ends),
            more=more,
            **{"symbols" if self._gathers else "payloads": outputs},
            **arrays,
            room=self._room,
        )
        results = self._results_type()
        while True:
            results.outputs = results.accepted = results.packets = 0
            status = function(self._run, ctypes.byref(buffers), ctypes.byref(results))
            self.cycle = results.cycle
            if results.outputs or results.accepted or results.packets:
                yield self._gathered(results) if self._gathers else self._transfers(results)
            if status in (Status.DONE, Status.NEEDS_INPUT):
                self._rest = data[results.inputs_used * size :]
                return
            if status != Status.OUTPUT_FULL:
                raise self._error(status, results)

    def _gathered(self, results: Any) -> Gathered:
        return Gathered(ctypes.string_at(self._outputs, 8 * results.outputs), _words(self._cycles[0], results.packets))

    def _transfers(self, results: Any) -> Transfers:
        valid_since, transferred, accepted = self._cycles
        return Transfers(
            payloads=ctypes.string_at(self._outputs, results.outputs * self._out_bytes),
            payload_bytes=self._out_bytes,
            valid_since=_words(valid_since, results.outputs),
            transferred=_words(transferred, results.outputs),
            accepted=_words(accepted, results.accepted),
        )

    def _error(self, status: int, results: Any) -> ContractError:
        if status == Status.FLAG:
            return ContractError(f"the error flag of word {results.lane} is set, but there is no word")
        held, payload = (int.from_bytes(bytes(each), "little") for each in (results.held, results.payload))
        reason = {
            Status.DEASSERTED: f"valid was deasserted before the transfer of payload {held:#x}",
            Status.CHANGED: f"the payload changed from {held:#x} to {payload:#x} before its transfer",
            Status.NULL_BEAT: "a beat with neither a word nor last",
            Status.EARLY_LAST: "last is set at the output before a text has ended",
            Status.STUCK: f"no beat was transferred for {self._model.patience} cycles",
            Status.GAP: f"a gap before word {results.lane} of packed words",
            Status.ENDLESS: endless_output(self._model.patience),
            Status.VIOLATION: PARTIAL,
        }[Status(status)]
        return ContractError(f"cycle {results.cycle}: {reason}")


def _words(values: Any, count: int) -> array[int]:
    words = array("Q")
    words.frombytes(ctypes.string_at(values, 8 * count))
    return words


class CompiledModel:
    """A core as machine code, for any number of runs: the engine `compiled`, see `Engine`.

    The first model of a core takes seconds to build, for wide cores tens of seconds; then it is in the cache, by a
    digest of the circuit, the driver, the versions of the tools and the flags. Several processes may build the same
    model at once: a library is put in place whole. A cache that cannot be written is not used.

    Args:
        entry: what the core is; default: that of its parameters.
        cache: the folder of the cache; default: `native.default_cache`.
        circuit: the function that makes a circuit of the core in RTLIL; default: the RTLIL itself.

    Attributes:
        constants: the constants of the core in ``driver.c``.
        patience: see `patience_of`.
        symbol_bytes: the bytes of an input symbol in `Session.send_symbols`; None if it has more than 32 bits.
    """

    def __init__(
        self,
        core: Core,
        entry: CoreEntry[Any] | None = None,
        *,
        cache: Path | None = None,
        circuit: Callable[[str], native.Circuit] = native.Rtlil,
    ) -> None:
        self.encode = BeatEncoder(core, entry or entry_of(parameters_of(core)))
        self.constants = _constants(core, self.encode.absent)
        width = self.constants["IN_SYMBOL_BITS"]
        self.patience = patience_of(core)
        self.symbol_bytes: int | None = next((size for size in (1, 2, 4) if width <= 8 * size), None)
        self.library = native.library(
            circuit(core_rtlil(core)), _definitions(self.constants), cache or native.default_cache()
        )
        self.library.run_size.restype = ctypes.c_uint64

    @property
    def can_gather(self) -> bool:
        """Whether `session` has `gathers`: an output symbol has at most 64 bits."""
        return bool(self.library.can_gather())

    def session(self, *, gathers: bool = False, **streams: Unpack[StreamWords]) -> Session:
        """A new run.

        Args:
            gathers: the output is `Gathered`, otherwise `Transfers`. Then the lanes of each beat are checked, too.
            streams: the attributes of `StreamOptions`; gaps have no effect.

        Raises:
            InvalidArgumentError: see `StreamOptions`; or symbols are too wide to gather.
        """
        if gathers and not self.can_gather:
            raise InvalidArgumentError(
                f"output symbols of {self.constants['OUT_SYMBOL_BITS']} bits are too wide to gather: at most 64"
            )
        return Session(self, StreamOptions(**streams), gathers)

    def run(self, beats: Iterator[Beat], events: Events, options: StreamOptions, *, vcd: Path | None = None) -> int:
        """See `Engine.run`.

        Raises:
            InvalidArgumentError: a waveform was requested.
        """
        if vcd is not None:
            raise InvalidArgumentError(f"compiled models have no waveforms: leave out vcd {str(vcd)!r}")
        session, size = Session(self, options, gathers=False), _bytes_of(self.constants["IN_BITS"])
        while read := list(islice(beats, _BEATS_AT_ONCE)):
            waiting = deque(read)
            events.presented(read[0])
            payloads = b"".join(self.encode(beat).to_bytes(size, "little") for beat in read)
            for each in session.send_payloads(payloads, more=True):
                _report(each, waiting, events)
        for each in session.send_payloads(b"", more=False):
            _report(each, waiting, events)
        return session.cycle


def _report(transfers: Transfers, waiting: deque[Beat], events: Events) -> None:
    """Report transfers in the order of their cycles; in one cycle the output comes first."""
    accepted = deque(transfers.accepted)

    def accept(until: int) -> None:
        while accepted and accepted[0] < until:
            cycle = accepted.popleft()
            if not is_null(waiting.popleft()):
                events.accepted(cycle)
            if waiting:
                events.presented(waiting[0])

    for payload, cycle, valid_since in zip(transfers, transfers.transferred, transfers.valid_since, strict=True):
        accept(cycle)
        events.received(payload, cycle, valid_since)
    accept(sys.maxsize)
