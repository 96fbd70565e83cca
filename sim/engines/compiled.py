# SPDX-License-Identifier: BSD-2-Clause
"""A core as machine code: compiled once, kept in the user's cache, driven with whole buffers of beats.

Yosys reduces the core to gates, `gates.py` writes them as a C function, and a C compiler makes a shared library of it
and of ``driver.c``, which drives both streams and checks the stream contract. The library is loaded into this process:
buffers are passed without a copy, and other threads run meanwhile.

A run is equal to one in Amaranth's simulator cycle by cycle. There are no waveforms: repeat a run in Amaranth's
simulator for one.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import json
import logging
import os
import platform
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import platformdirs
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module, Value

from utf8fpga.hdl.toolchain import ToolError, present_version, run_tool, tool_error, version_in
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.engines import gates
from utf8fpga.sim.simulation import PATIENCE, ContractError

__all__ = [
    "CompiledModel",
    "CoreLayout",
    "Session",
    "Transfers",
    "core_layout",
    "default_cache",
    "find_compiler",
    "random_pauses",
]

_FLAGS = ("-std=c11", "-O1", "-fPIC", "-shared", "-fvisibility=hidden")
"""-O2 compiles half as long again, and the result is not faster."""

_logger = logging.getLogger(__name__)

_COMPILERS = ("cc", "gcc", "clang")

_BUFFER_BYTES = 1 << 20
"""Upper bound on the bytes of output payloads per call, unless one call has less than `_FEWEST_BEATS`."""

_FEWEST_BEATS = 256

_BEATS_AT_ONCE = 4096
"""Input beats that `Session.stream` reads ahead."""


@dataclass(frozen=True)
class CoreLayout:
    """What the driver needs to know of the payloads of a core's two streams; positions are in bits.

    Attributes:
        in_bits: the width of the input payload.
        out_bits: the width of the output payload.
        lanes: symbols per input beat.
        symbol_bits: bits of a symbol, at most 32.
        symbols_first: the position of the first symbol; the others follow without a gap.
        keep_first: the position of the first `keep` bit at the input; there is one for each lane.
        in_last: the position of `last` at the input.
        out_last: the position of `last` at the output.
        out_content: the bits at the output of which one is set in each beat: `last` and all `keep`.
        absent: the value of the symbols whose `keep` is 0.
    """

    in_bits: int
    out_bits: int
    lanes: int
    symbol_bits: int
    symbols_first: int
    keep_first: int
    in_last: int
    out_last: int
    out_content: int
    absent: int


def _streams(core: Any) -> tuple[Any, Any]:
    """The input and the output stream of a core."""
    return core.units, core.items


def core_layout(core: Any) -> CoreLayout:
    """The layout of the payloads of a core.

    Args:
        core: an Amaranth component with an input and an output stream.
    """
    source, sink = (stream.payload.shape() for stream in _streams(core))
    symbols, items = source["units"], sink["items"]
    keep = items.shape.elem_shape["keep"].offset
    places = [items.offset + lane * items.shape.elem_shape.size + keep for lane in range(items.shape.length)]
    return CoreLayout(
        in_bits=source.size,
        out_bits=sink.size,
        lanes=symbols.shape.length,
        symbol_bits=Value.cast(core.units.payload.units[0]).shape().width,
        symbols_first=symbols.offset,
        keep_first=source["keep"].offset,
        in_last=source["last"].offset,
        out_last=sink["last"].offset,
        out_content=sum(1 << place for place in places) | 1 << sink["last"].offset,
        absent=max(core.table.rows, key=lambda row: len(row.units)).units[-1].last,
    )


def core_rtlil(core: Any) -> str:
    """A core in RTLIL with the ports that `driver.c` names; its reset is never asserted.

    Args:
        core: an Amaranth component with an input and an output stream.
    """
    source, sink = _streams(core)
    m = Module()
    # Without a port and without a driver, the reset is the constant 0.
    m.domains += (domain := ClockDomain("sync"))
    m.submodules.core = core
    signals = {
        gates.CLOCK: domain.clk,
        "in_payload": Value.cast(source.payload),
        "in_valid": source.valid,
        "in_ready": source.ready,
        "out_payload": Value.cast(sink.payload),
        "out_valid": sink.valid,
        "out_ready": sink.ready,
    }
    # Without a direction, it follows from whether the signal has a driver.
    ports = {name: (signal, None) for name, signal in signals.items()}
    return str(rtlil.convert(m, name="top", ports=ports, emit_src=False))


def default_cache() -> Path:
    """The folder ``utf8fpga/compiled`` in the system's folder for the user's caches."""
    return platformdirs.user_cache_path("utf8fpga") / "compiled"


def random_pauses(seed: int, share: float = 0.5, length: int = 65_521) -> list[bool]:
    """A pattern of pauses for either engine that is the same for the same arguments.

    With different prime lengths for input and output (65521 and 65519 are prime) the pair repeats after more than
    4 · 10⁹ cycles.

    Args:
        seed: any integer.
        share: the probability of a pause in a cycle, 0 to 1 without 1.
        length: cycles until the pattern repeats, at least 1.

    Raises:
        InvalidArgumentError: `share` or `length` is out of its range.
    """
    if not 0 <= share < 1:
        raise InvalidArgumentError(f"share {share!r} is not in 0..1 without 1")
    if length < 1:
        raise InvalidArgumentError(f"length {length!r} is less than 1")
    draw = random.Random(seed)
    return [False, *(draw.random() < share for _ in range(length - 1))]


def find_compiler() -> list[str]:
    """The command of a C compiler: the one that ``CC`` names, ``cc``, ``gcc`` or ``clang``, or that of ziglang.

    Raises:
        ToolError: none is installed, or ``CC`` names another program.
    """
    if chosen := shlex.split(os.environ.get("CC", "")):
        if found := shutil.which(chosen[0]):
            return [os.path.abspath(found), *chosen[1:]]
        raise ToolError(f"CC names {chosen[0]!r}, which is not a program")
    for name in _COMPILERS:
        if found := shutil.which(name):
            return [os.path.abspath(found)]
    if importlib.util.find_spec("ziglang") is not None:
        # Without -mcpu the code is for this processor only, while a cache may be shared.
        return [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]
    raise ToolError("no C compiler is installed: pip install 'utf8fpga[compiled]', or install gcc or clang")


@functools.cache
def _compiler_version(*command: str) -> str:
    try:
        printed = subprocess.run(
            [*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        ).stdout
    except OSError as error:
        raise ToolError(f"the C compiler cannot be started as {command[0]!r}: {error.strerror}") from None
    return f"{printed.partition(chr(10))[0]} {version_in(printed)}"


def _source(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str, compiler: Sequence[str]) -> str:
    parts = [
        text,
        _source("driver.c"),
        _source("gates.py"),
        present_version("yosys"),
        _compiler_version(*compiler),
        *compiler[1:],
        *_FLAGS,
        platform.system(),
        platform.machine(),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _library(text: str, cache: Path) -> ctypes.CDLL:
    """The library of a core in RTLIL: from the cache, otherwise built and put there if it can be written."""
    compiler = find_compiler()
    name = f"{_digest(text, compiler)}.{'dll' if os.name == 'nt' else 'so'}"
    if name in _loaded:
        return _loaded[name]
    with suppress(OSError):
        # A file of another system or a damaged one is replaced.
        return _loaded.setdefault(name, ctypes.CDLL(str(cache / name)))
    where: Path | None = cache
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
    except OSError:
        where = None
    # The folder is on the file system of the cache, so that the library can be renamed.
    with tempfile.TemporaryDirectory(dir=where, prefix=".build-", ignore_cleanup_errors=True) as folder:
        built = _build(text, compiler, Path(folder), where)
        if where is not None:
            os.replace(built, built := cache / name)
        return _loaded.setdefault(name, ctypes.CDLL(str(built)))


_loaded: dict[str, ctypes.CDLL] = {}
"""The libraries of this process by file name."""


def _build(text: str, compiler: Sequence[str], folder: Path, cache: Path | None) -> Path:
    _logger.info("compiling a simulation model")
    (folder / "top.il").write_text(text, encoding="utf-8")
    (folder / "top.ys").write_text(gates.SCRIPT, encoding="utf-8")
    run_tool("yosys", ["-q", "-s", "top.ys"], directory=folder)
    module = json.loads((folder / "top.json").read_text(encoding="utf-8"))["modules"]["top"]
    (folder / "circuit.h").write_text(gates.gate_level_c(module), encoding="utf-8")
    (folder / "driver.c").write_text(_source("driver.c"), encoding="utf-8")
    # Zig takes files of the same name in different folders for the same if it sees relative paths and one cache.
    environment = os.environ | {"ZIG_LOCAL_CACHE_DIR": str(folder / "zig")}
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str((cache or folder) / "zig"))
    library = folder / "library"
    command = [*compiler, *_FLAGS, "-I", str(folder), "-o", str(library), str(folder / "driver.c")]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise ToolError(f"the C compiler cannot be started as {compiler[0]!r}: {error.strerror}") from None
    if done.returncode:
        raise tool_error("the C compiler", done.returncode, done.stdout)
    return library


class _Settings(ctypes.Structure):
    _fields_ = [
        ("input_pauses", ctypes.c_char_p),
        ("output_pauses", ctypes.c_char_p),
        ("input_pauses_length", ctypes.c_uint64),
        ("output_pauses_length", ctypes.c_uint64),
        ("patience", ctypes.c_uint64),
        ("in_last", ctypes.c_uint64),
        ("out_last", ctypes.c_uint64),
        ("in_content_first", ctypes.c_uint64),
        ("in_content_length", ctypes.c_uint64),
        ("out_content", ctypes.c_char_p),
        ("symbols_first", ctypes.c_uint64),
        ("symbol_bits", ctypes.c_uint64),
        ("lanes", ctypes.c_uint64),
        ("keep_first", ctypes.c_uint64),
        ("absent", ctypes.c_uint64),
    ]


class _Buffers(ctypes.Structure):
    _fields_ = [
        ("inputs", ctypes.c_char_p),
        ("inputs_length", ctypes.c_uint64),
        ("ends", ctypes.c_void_p),
        ("separate", ctypes.c_char_p),
        ("ends_length", ctypes.c_uint64),
        ("more", ctypes.c_uint64),
        ("payloads", ctypes.c_void_p),
        ("shown", ctypes.c_void_p),
        ("transferred", ctypes.c_void_p),
        ("accepted", ctypes.c_void_p),
        ("room", ctypes.c_uint64),
    ]


_COUNTS = ("inputs_used", "ends_used", "outputs", "accepted", "cycle")

# The values of `enum status` in driver.c.
_DONE, _NEEDS_INPUT, _OUTPUT_FULL, _DEASSERTED, _CHANGED, _NULL_BEAT, _EARLY_LAST, _STUCK = range(8)


def _bytes_of(bits: int) -> int:
    """The bytes of a payload in a buffer: whole 64-bit words."""
    return -(-bits // 64) * 8


@dataclass(frozen=True)
class Transfers:
    """The transfers of some successive cycles; cycles are counted from the start of the run.

    Attributes:
        payloads: the output payloads, each of `payload_bytes` bytes, the low bits first.
        payload_bytes: a multiple of 8, so that ``numpy.frombuffer(payloads, "<u8")`` has whole words per beat.
        shown: for each output beat the first cycle in which `valid` was asserted for it.
        transferred: for each output beat the cycle of its transfer.
        accepted: the cycle of the transfer of each input beat that is not a null beat.
    """

    payloads: bytes
    payload_bytes: int
    shown: array[int]
    transferred: array[int]
    accepted: array[int]

    def __iter__(self) -> Iterator[int]:
        """The output payloads as integers."""
        size = self.payload_bytes
        for start in range(0, len(self.payloads), size):
            yield int.from_bytes(self.payloads[start : start + size], "little")


class Session:
    """A run of a compiled model whose input is given piece by piece, in fixed memory.

    Created by `CompiledModel.session`. A session must not be used by two threads at once.

    Attributes:
        cycle: the cycles simulated since the start of the run.
    """

    def __init__(
        self,
        model: CompiledModel,
        input_pauses: Sequence[bool],
        output_pauses: Sequence[bool],
        patience: int,
    ) -> None:
        for name, pattern in (("input_pauses", input_pauses), ("output_pauses", output_pauses)):
            if all(pattern):
                raise InvalidArgumentError(f"{name} {list(pattern)!r} has no cycle without a pause: include one False")
        self.model = model
        self.patience = patience
        layout, library = model.layout, model.library
        self._in_bytes, self._out_bytes = _bytes_of(layout.in_bits), _bytes_of(layout.out_bits)
        self._settings = _Settings(
            input_pauses=bytes(map(bool, input_pauses)),
            output_pauses=bytes(map(bool, output_pauses)),
            input_pauses_length=len(input_pauses),
            output_pauses_length=len(output_pauses),
            patience=patience,
            in_last=layout.in_last,
            out_last=layout.out_last,
            in_content_first=layout.keep_first,
            in_content_length=layout.lanes,
            out_content=bytes(layout.out_content >> n & 1 for n in range(layout.out_bits)),
            symbols_first=layout.symbols_first,
            symbol_bits=layout.symbol_bits,
            lanes=layout.lanes,
            keep_first=layout.keep_first,
            absent=layout.absent,
        )
        held = ctypes.c_uint8 * (self._out_bytes + 8)
        fields = [*((name, ctypes.c_uint64) for name in _COUNTS), ("held", held), ("payload", held)]
        self._results_type = type("_Results", (ctypes.Structure,), {"_fields_": fields})
        self._room = max(_FEWEST_BEATS, _BUFFER_BYTES // self._out_bytes // 4)
        self._payloads = ctypes.create_string_buffer(self._room * self._out_bytes)
        self._cycles = [(ctypes.c_uint64 * self._room)() for _ in range(3)]
        self._run = ctypes.create_string_buffer(library.run_size())
        self._symbol_bytes = 1 if layout.symbol_bits <= 8 else 2 if layout.symbol_bits <= 16 else 4
        self.reset()

    def reset(self) -> None:
        """Start a new run: all flip-flops and memories have their initial values, and the cycle is 0."""
        self.model.library.run_reset(self._run, ctypes.byref(self._settings))
        self.cycle = 0
        self._rest = b""
        self._packets = 0

    def send_payloads(self, payloads: bytes | bytearray | memoryview, *, more: bool) -> Iterator[Transfers]:
        """Send input beats.

        Args:
            payloads: the payloads, each in whole 64-bit words, the low bits first.
            more: whether other beats will follow; otherwise the run ends when all packets have ended at the output.

        Yields:
            The transfers, in pieces. The next beats can be sent once all were read.

        Raises:
            ContractError: the core violated the stream contract, or no beat was transferred for more than `patience`
                cycles. The transfers before that have been yielded.
            InvalidArgumentError: the length is not a multiple of the length of a payload.
        """
        data = bytes(payloads)
        if len(data) % self._in_bytes:
            raise InvalidArgumentError(f"{len(data)} bytes are not a multiple of {self._in_bytes}, a payload's bytes")
        yield from self._send(self.model.library.run_payloads, data, self._in_bytes, (), b"", more)

    def stream(self, payloads: Iterable[int]) -> Iterator[Transfers]:
        """Send all beats of a run, which are read on demand, some thousands at a time.

        Args:
            payloads: the payloads of the input beats; there may be null beats.

        Yields:
            The transfers, in pieces.

        Raises:
            ContractError: see `send_payloads`.
        """
        beats = iter(payloads)
        while some := b"".join(each.to_bytes(self._in_bytes, "little") for each in islice(beats, _BEATS_AT_ONCE)):
            yield from self.send_payloads(some, more=True)
        yield from self.send_payloads(b"", more=False)

    def send_symbols(
        self,
        symbols: bytes | bytearray | memoryview,
        ends: Sequence[int] = (),
        *,
        more: bool,
        separate_ends: Sequence[bool] = (False,),
    ) -> Iterator[Transfers]:
        """Send symbols, packed into full beats except at the end of a packet.

        Args:
            symbols: the symbols, each of 1 byte, or of 2 or 4 in this machine's order if they are wider than 8 or
                16 bits.
            ends: the number of symbols from the start of `symbols` to the end of each packet that ends here,
                ascending. Other packets may be continued by the next call.
            more: whether other symbols or ends will follow; otherwise the run ends when all packets have ended at the
                output. A packet that has not ended then is an error.
            separate_ends: for each packet from the start of the run, repeated, whether `last` is in a beat without
                symbols. It always is where the packet is empty.

        Yields:
            The transfers, in pieces. The next symbols can be sent once all were read.

        Raises:
            ContractError: see `send_payloads`.
            InvalidArgumentError: `ends` is not ascending or exceeds the symbols, `separate_ends` is empty, the bytes
                are not whole symbols, or a packet does not end though there is no more.
        """
        size = self._symbol_bytes
        given = bytes(symbols)
        if len(given) % size:
            raise InvalidArgumentError(f"{len(given)} bytes are not a multiple of {size}, the bytes of a symbol")
        before, data = len(self._rest) // size, self._rest + given if self._rest else given
        count = len(data) // size
        places = array("Q", (before + end for end in ends))
        if not separate_ends:
            raise InvalidArgumentError("separate_ends is empty: give at least one bool")
        if any(a > b for a, b in zip([before, *places], [*places, count], strict=True)):
            raise InvalidArgumentError(f"ends {list(ends)!r} are not ascending positions in {count - before} symbols")
        if not more and (places[-1] if places else 0) != count:
            raise InvalidArgumentError("the last packet has no end: give it in ends, or more=True")
        separate = bytes(bool(separate_ends[(self._packets + n) % len(separate_ends)]) for n in range(len(places)))
        self._packets += len(places)
        yield from self._send(self.model.library.run_symbols, data, size, places, separate, more)

    def _send(
        self, function: Any, data: bytes, size: int, ends: array[int] | tuple[()], separate: bytes, more: bool
    ) -> Iterator[Transfers]:
        positions = (ctypes.c_uint64 * len(ends))(*ends)
        buffers = _Buffers(
            inputs=data,
            inputs_length=len(data) // size,
            ends=ctypes.addressof(positions),
            separate=separate,
            ends_length=len(ends),
            more=more,
            payloads=ctypes.addressof(self._payloads),
            shown=ctypes.addressof(self._cycles[0]),
            transferred=ctypes.addressof(self._cycles[1]),
            accepted=ctypes.addressof(self._cycles[2]),
            room=self._room,
        )
        results = self._results_type()
        while True:
            results.outputs = results.accepted = 0
            status = function(self._run, ctypes.byref(buffers), ctypes.byref(results))
            self.cycle = results.cycle
            if results.outputs or results.accepted:
                yield self._transfers(results)
            if status in (_DONE, _NEEDS_INPUT):
                self._rest = data[results.inputs_used * size :]
                return
            if status != _OUTPUT_FULL:
                raise self._error(status, results)

    def _transfers(self, results: Any) -> Transfers:
        shown, transferred, accepted = self._cycles
        return Transfers(
            payloads=ctypes.string_at(self._payloads, results.outputs * self._out_bytes),
            payload_bytes=self._out_bytes,
            shown=_words(shown, results.outputs),
            transferred=_words(transferred, results.outputs),
            accepted=_words(accepted, results.accepted),
        )

    def _error(self, status: int, results: Any) -> ContractError:
        held, payload = (int.from_bytes(bytes(each), "little") for each in (results.held, results.payload))
        reason = {
            _DEASSERTED: f"valid was deasserted before the transfer of payload {held:#x}",
            _CHANGED: f"the payload changed from {held:#x} to {payload:#x} before its transfer",
            _NULL_BEAT: "a beat with neither a word nor last",
            _EARLY_LAST: "last is set at the output before a text has ended",
            _STUCK: f"no beat was transferred for {self.patience} cycles",
        }[status]
        return ContractError(f"cycle {results.cycle}: {reason}")


def _words(values: Any, count: int) -> array[int]:
    words = array("Q")
    words.frombytes(ctypes.string_at(values, 8 * count))
    return words


class CompiledModel:
    """A core as machine code, for any number of runs.

    The first model of a core takes seconds to build, for wide cores tens of seconds; then it is in the cache, by a
    digest of the circuit, the driver, the versions of the tools and the flags. Several processes may build the same
    model at once: a library is put in place whole. A cache that cannot be written is not used.

    Args:
        core: an Amaranth component with an input and an output stream, in the clock domain ``sync``.
        cache: the folder of the cache; default: `default_cache`.

    Attributes:
        layout: the layout of the payloads.
        library: the loaded library.

    Raises:
        ToolError: there is no C compiler, a tool failed, or the circuit has a second clock, a combinational loop or a
            cell that is not known.
    """

    def __init__(self, core: Any, *, cache: Path | None = None) -> None:
        self.layout = core_layout(core)
        self.library = _library(core_rtlil(core), cache or default_cache())
        self.library.run_size.restype = ctypes.c_uint64

    def session(
        self,
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
        patience: int = PATIENCE,
    ) -> Session:
        """A new run.

        Args:
            input_pauses: for each cycle, repeated, whether the next input beat is delayed. Once `valid` is asserted it
                stays asserted until the beat is transferred.
            output_pauses: for each cycle, repeated, whether `ready` is deasserted at the output.
            patience: upper bound on the cycles without a transfer while the output is ready and the input is valid or
                finished.

        Raises:
            InvalidArgumentError: a pattern is empty or consists of pauses only.
        """
        return Session(self, input_pauses, output_pauses, patience)

    def run(
        self,
        payloads: Iterable[int],
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
        patience: int = PATIENCE,
    ) -> tuple[Transfers, int]:
        """A run whose output fits into memory.

        Args:
            payloads: the payloads of the input beats.
            input_pauses: see `session`.
            output_pauses: see `session`.
            patience: see `session`.

        Returns:
            All transfers, and the length of the run in cycles.

        Raises:
            ContractError: see `Session.send_payloads`.
            InvalidArgumentError: a pattern is empty or consists of pauses only.
        """
        session = self.session(input_pauses=input_pauses, output_pauses=output_pauses, patience=patience)
        found = list(session.stream(payloads))
        cycles: list[array[int]] = [array("Q"), array("Q"), array("Q")]
        for each in found:
            for total, part in zip(cycles, (each.shown, each.transferred, each.accepted), strict=True):
                total.extend(part)
        whole = Transfers(b"".join(each.payloads for each in found), _bytes_of(self.layout.out_bits), *cycles)
        return whole, session.cycle
