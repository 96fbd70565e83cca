# SPDX-License-Identifier: BSD-2-Clause
"""Foreign cores: decoders, validators and transcoders in Verilog from elsewhere, compiled and driven by their protocol.

A description, `CheckedPorts`, states which port has which role. `ForeignCore` connects the roles to the ports that
``probe.c`` names, builds the library, and runs texts through it.
"""

from __future__ import annotations

import ctypes
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple

from utf8fpga.hdl.foreign import CoreError, ForeignModule, read_description, read_module
from utf8fpga.model import REPLACEMENT_CHARACTER, TABLE_3_7, UTF_16, UTF_32, EncodingTable
from utf8fpga.sim.engines import gates, native

__all__ = [
    "ERROR",
    "LAST",
    "NO_WORD",
    "OWN_PORTS",
    "CheckedPorts",
    "Connections",
    "ForeignCore",
    "Outcome",
    "read_checked_ports",
]

ERROR, LAST, NO_WORD = (1 << bit for bit in (32, 33, 34))
"""The flags of a word in `Outcome`: it is ill-formed, a text ends with it, and there is no word but an end."""

FORMS: dict[str, EncodingTable] = {"utf-16": UTF_16, "utf-32": UTF_32, "utf-8": TABLE_3_7}
"""The encoding forms of the output of a transcoder."""


@dataclass(frozen=True)
class CheckedPorts:
    """What a description of a foreign core's ports states for its check.

    The tables `input` and `output` name a port for each role. A port of the output may be a part, such as
    ``m_tdata[20:0]``. Several bytes and several words are in order, the first in the low bits.

    Attributes:
        clock: the clock, rising edge; default: by its name, and likewise the reset.
        reset: the reset; empty where there is none.
        reset_active: ``high`` or ``low``; default: by the name of the reset.
        constants: names and values of the inputs that are tied off.
        kind: ``decoder``, whose output is code points; ``validator``, whose `error` is asserted in any output of an
            ill-formed text; or ``transcoder``, whose output is code units.
        form: of a transcoder the encoding form of its output: ``utf-16``, ``utf-32`` or ``utf-8``.
        protocol: ``axi-stream``; ``strobe``, a byte in each cycle in which `valid` is asserted, without back-pressure,
            and likewise at the output; or ``resend``, like ``strobe``, but the host sends a byte again if the core
            requests it `latency` cycles after the byte.
        end: the end of a text: ``last`` with its last byte, ``flush`` for `last` in a cycle without a byte after the
            last one, or ``none``; then a text ends with a reset only, and incomplete sequences are not expected at the
            output. Default: ``last`` if the input `last` is named.
        marks: ``replace``: the word beside `error` stands for the ill-formed sequence; ``separate``: `error` is an
            ill-formed sequence of its own, whether or not there is a valid word, which then follows it; not for
            ``axi-stream``.
        replacement: whether the code point beside `error` must be U+FFFD.
        interval: cycles from a byte to the next byte, at least; not for ``axi-stream``.
        latency: for ``resend``: see `protocol`.
        word_bits: bits per word at the output; default: 32 for code points if the port is wider, else all; of a
            transcoder those of a code unit.
        input: by role ``byte``, ``valid``, ``ready``, ``last``, ``keep`` (a bit per byte) the name of a port.
        output: by role ``code_point``, ``valid``, ``ready``, ``last``, ``keep`` (the same number of bits for each
            word), ``error`` (a bit per word), ``resend`` the name of a port. Default for ``resend``: `error`, except
            at the first byte of a sequence.
    """

    clock: str | None = None
    reset: str | None = None
    reset_active: str | None = None
    constants: Mapping[str, int] = field(default_factory=dict)
    kind: str = "decoder"
    form: str = "utf-16"
    protocol: str = "axi-stream"
    end: str | None = None
    marks: str = "replace"
    replacement: bool = True
    interval: int = 1
    latency: int = 1
    word_bits: int | None = None
    input: Mapping[str, str] = field(default_factory=dict)
    output: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_end(self) -> bool:
        """Whether the core is told the end of a text."""
        return self.text_end != "none"

    @property
    def text_end(self) -> str:
        """`end`, or its default."""
        return self.end or ("last" if "last" in self.input else "none")

    def fault(self) -> str | None:
        """What is missing in the description, or contradictory; None if it is usable."""
        return next((text for wrong, text in self._faults() if wrong), None)

    def _faults(self) -> Iterator[tuple[bool, str]]:
        given, made = self.input, self.output
        for role in ("byte", "valid"):
            yield role not in given, f"input.{role} is missing: name the port"
        for role in ("code_point", "valid"):
            if self.kind != "validator":
                yield role not in made, f"output.{role} is missing: name the port"
            elif role == "code_point":
                yield role in made, "output.code_point is that of a decoder: leave it out for kind = 'validator'"
        if self.kind == "validator":
            yield "error" not in made, "output.error is missing: name the port with the verdict"
        if self.protocol == "axi-stream":
            yield "ready" not in given, "input.ready is missing: name the port, or choose protocol = 'strobe'"
            yield self.end == "flush", "end = 'flush' is that of protocol = 'strobe' or 'resend'"
            yield self.interval != 1, f"interval = {self.interval} is that of protocol = 'strobe' or 'resend'"
        else:
            for side, ports in (("input", given), ("output", made)):
                yield "ready" in ports, f"protocol = {self.protocol!r} has no back-pressure: leave out {side}.ready"
        if self.protocol == "resend":
            yield not {"resend", "error"} & made.keys(), "output.resend is missing: name the port, or output.error"
        else:
            yield "resend" in made, f"output.resend is that of protocol = 'resend', not {self.protocol!r}"
        yield self.has_end and "last" not in given, f"end = {self.text_end!r} requires input.last: name the port"
        yield not self.has_end and "last" in given, "end = 'none' and input.last contradict each other: leave one out"
        yield not self.has_end and "last" in made, "output.last requires input.last: name both ports or neither"
        if self.marks == "separate":
            yield "error" not in made, "marks = 'separate' requires output.error: name the port"
            yield self.protocol == "axi-stream", "marks = 'separate' is that of protocol = 'strobe' or 'resend'"


OWN_PORTS = CheckedPorts(
    clock="clk",
    reset="rst",
    reset_active="high",
    input={
        "byte": "s_axis_tdata",
        "keep": "s_axis_tkeep",
        "last": "s_axis_tlast",
        "valid": "s_axis_tvalid",
        "ready": "s_axis_tready",
    },
    output={
        "code_point": "m_axis_tdata",
        "keep": "m_axis_tkeep",
        "error": "m_axis_tuser",
        "last": "m_axis_tlast",
        "valid": "m_axis_tvalid",
        "ready": "m_axis_tready",
    },
)
"""The ports of the Verilog that `hdl.axi_verilog` writes for a decoder."""


def read_checked_ports(path: Path) -> CheckedPorts:
    """Read the description of a foreign core's ports, see `read_description`.

    Raises:
        CoreError: the file cannot be read, a key or a value is invalid, or the roles do not fit the protocol.
    """
    specified = read_description(path)
    ports = CheckedPorts(**{each.name: specified[each.name] for each in fields(CheckedPorts) if each.name in specified})
    if fault := ports.fault():
        raise CoreError(f"{path}: {fault}")
    return ports


class Outcome(NamedTuple):
    """What a core did in a run.

    Attributes:
        words: its output words with the flags `ERROR`, `LAST` and `NO_WORD`.
        reason: why the run was cut off, or what was wrong apart from the words; empty if nothing was.
        cycles: the cycles from the first accepted byte to the last one, both included; 0 without a byte.
    """

    words: array[int]
    reason: str
    cycles: int


_PATIENCE = 2048
"""Cycles after which a byte that is not accepted, or an output without end, is an error."""

_MOST_RESENT = 5
"""Requests for one byte from which on there is an error."""

_REASONS = (
    "",
    f"input.ready was deasserted for {_PATIENCE} cycles",
    "the output changed or was withdrawn before its transfer",
    "there is no end of the output",
    f"the same byte was requested again {_MOST_RESENT} times",
    "keep selects a part of a word",
)
"""By value of `enum status` in ``probe.c``."""

_ENDS = {"none": 0, "last": 1, "flush": 2}

_RUNS_AT_ONCE = 1 << 13


class _Settings(ctypes.Structure):
    _fields_ = [
        ("input_pauses", ctypes.c_char_p),
        ("output_pauses", ctypes.c_char_p),
        ("input_pauses_length", ctypes.c_uint64),
        ("output_pauses_length", ctypes.c_uint64),
    ]


class _Runs(ctypes.Structure):
    _fields_ = [
        ("bytes", ctypes.c_char_p),
        ("text_ends", ctypes.c_void_p),
        ("run_ends", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("words", ctypes.c_void_p),
        ("word_ends", ctypes.c_void_p),
        ("statuses", ctypes.c_void_p),
        ("cycles", ctypes.c_void_p),
    ]


class ForeignCore:
    """A foreign core, compiled.

    Args:
        files: see `read_module`.
        top: its top module; default: the module that no other one instantiates.
        ports: the description of its ports.
        cache: the folder of the cache; default: `native.default_cache`.

    Attributes:
        name: the name of the module.
        ports: the description.
        lanes: bytes per beat.
        has_reset: whether it has a reset.
        connections: the connections of its ports.

    Raises:
        CoreError: a file cannot be read, Yosys rejects it, the description does not match the ports, or the module has
            a second clock, a latch or a register for the falling edge.
        ToolError: Yosys or a C compiler is missing, or the module has a combinational loop or a cell that cannot be
            simulated.
    """

    def __init__(
        self,
        files: Sequence[Path],
        top: str | None = None,
        ports: CheckedPorts = OWN_PORTS,
        *,
        cache: Path | None = None,
    ) -> None:
        self.connections = connected = Connections(files, top, ports)
        self.name, self.ports, self.has_reset = connected.name, ports, connected.has_reset
        self.lanes = connected.constants["LANES"]
        self._library: Any = native.library(
            native.Rtlil(connected.rtlil()), connected.constants, cache or native.default_cache(), driver="probe.c"
        )
        self._library.probe_size.restype = ctypes.c_uint64
        self._probe = ctypes.create_string_buffer(self._library.probe_size())
        self._library.probe_start(self._probe)

    @property
    def sends_empty_texts(self) -> bool:
        """Whether a text without a byte can be sent."""
        return self.ports.text_end == "flush" or (self.ports.text_end == "last" and "keep" in self.ports.input)

    @property
    def separates_texts(self) -> bool:
        """Whether a text can follow another one, after its end or a reset."""
        return self.ports.has_end or self.has_reset

    def run(
        self,
        runs: Sequence[Sequence[bytes]],
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
    ) -> Iterator[Outcome]:
        """Run texts through the core, each run from the state after a reset.

        Args:
            runs: for each run its texts, which follow each other without a pause or, if the core has no end of text,
                after a reset.
            input_pauses: for each cycle, repeated, whether the next input is delayed; at least one is not.
            output_pauses: for each cycle, repeated, whether the output is not ready; at least one is not. It has no
                effect on outputs without `ready`.

        Yields:
            The outcome of each run.
        """
        given, taken = bytes(map(bool, input_pauses)), bytes(map(bool, output_pauses))
        settings = _Settings(given, taken, len(given), len(taken))
        remaining = iter(runs)
        while chunk := list(islice(remaining, _RUNS_AT_ONCE)):
            yield from self._run(chunk, settings)

    def _run(self, runs: Sequence[Sequence[bytes]], settings: _Settings) -> Iterator[Outcome]:
        data = b"".join(text for texts in runs for text in texts)
        text_ends = array("Q", accumulate(len(text) for texts in runs for text in texts))
        run_ends = array("Q", accumulate(map(len, runs)))
        count = len(runs)
        words = (ctypes.c_uint64 * (6 * len(data) + 64 * count))()
        word_ends, cycles = ((ctypes.c_uint64 * count)() for _ in range(2))
        statuses = (ctypes.c_uint8 * count)()
        self._library.probe_runs(
            self._probe,
            ctypes.byref(settings),
            ctypes.byref(
                _Runs(
                    data,
                    text_ends.buffer_info()[0],
                    run_ends.buffer_info()[0],
                    count,
                    *(ctypes.addressof(each) for each in (words, word_ends, statuses, cycles)),
                )
            ),
        )
        found = array("Q", bytes(memoryview(words)[: word_ends[count - 1]]))
        start = 0
        for end, status, length in zip(word_ends, statuses, cycles, strict=True):
            yield Outcome(found[start:end], _REASONS[status], length)
            start = end


def _check_registers(module: ForeignModule, clock: str) -> None:
    """Check that all registers and memories are for the rising edge of one clock."""
    (expected,) = module.bits[clock]
    where, top = module.where, module.name
    for cell in module.cells.values():
        kind = cell["type"]
        if kind in ("$dlatch", "$adlatch", "$dlatchsr", "$sr"):
            raise CoreError(f"{where}: {top} has a latch ({_source(cell)}): only registers can be simulated")
        parameters = cell["parameters"]
        if "CLK" not in cell["connections"] or not _number(parameters.get("CLK_ENABLE", "1")):
            continue
        if cell["connections"]["CLK"] != [expected]:
            raise CoreError(
                f"{where}: {top} has a register with another clock than {clock!r} ({_source(cell)}): "
                "only one clock can be simulated"
            )
        if not _number(parameters.get("CLK_POLARITY", "1")):
            raise CoreError(
                f"{where}: {top} has a register for the falling edge of {clock!r} ({_source(cell)}): "
                "only the rising edge can be simulated"
            )


def _source(cell: Mapping[str, Any]) -> str:
    """The place of a cell in the sources."""
    found = re.search(r":(\d+)", cell["attributes"].get("src", ""))
    return f"line {found[1]}" if found else cell["type"]


def _number(parameter: str | int) -> int:
    return parameter if isinstance(parameter, int) else int(parameter.replace("x", "0"), 2)


class Connections:
    """A foreign core in RTLIL, with the roles of a description connected to its ports.

    Args:
        files: see `ForeignCore`, as for the other arguments.
        top: the top module.
        ports: the description.

    Attributes:
        name: the name of the module.
        has_reset: whether it has a reset.
        constants: the constants for ``probe.c``.

    Raises:
        CoreError: see `ForeignCore`.
        ToolError: Yosys is missing.
    """

    def __init__(self, files: Sequence[Path], top: str | None, ports: CheckedPorts) -> None:
        module = read_module(files, top, flat=True)
        tied = module.tie_off(ports.clock, ports.reset, ports.reset_active, ports.constants)
        _check_registers(module, tied.clock)
        self.name, self.has_reset = module.name, tied.reset is not None
        self._module, self._tied, self._ports = module, tied, ports
        self._left = dict(tied.free)
        self._wires: dict[str, tuple[str, int]] = {}
        """By wire of the top module the direction and width."""
        self._pins: dict[str, str] = {}
        """By port of the core the signal that is connected."""
        self._assigned: list[tuple[str, str]] = []
        self._connect_control()
        bits = self._into("input", "byte", "in_data", None)
        if bits % 8:
            raise self._error(f"input.byte {ports.input['byte']!r} has {bits} bits, which are not whole bytes")
        lanes = bits // 8
        for role in ("valid", "last"):
            self._into("input", role, f"in_{role}", 1)
        self._into("input", "keep", "in_keep", lanes)
        if lanes > 1 and "keep" not in ports.input:
            raise self._error(f"input.byte {ports.input['byte']!r} has {lanes} bytes: name the port input.keep, too")
        self._into("output", "ready", "out_ready", 1)
        self._out_of("input", "ready", "in_ready", 1, "1'1")
        words, word_bits, word_keep = self._connect_words()
        self._out_of("output", "last", "out_last", 1, "1'0")
        self._out_of("output", "resend", "resend", 1, "1'0")
        if self._left:
            raise self._error(f"the input {next(iter(self._left))!r} of {module.name} is neither named nor a constant")
        self.constants = {
            "LANES": lanes,
            "WORDS": words,
            "WORD_BITS": word_bits,
            "WORD_KEEP": word_keep,
            "RESET_LEVEL": int(not tied.reset_low),
            "HANDSHAKE": int(ports.protocol == "axi-stream"),
            "OUT_READY": int("ready" in ports.output),
            "END": _ENDS[ports.text_end],
            "OUT_LAST": int("last" in ports.output),
            "SEPARATE": int(ports.marks == "separate"),
            "LEVEL": int(ports.kind == "validator" and "valid" not in ports.output),
            "MARK": REPLACEMENT_CHARACTER,
            "ANY_WORD": int(not ports.replacement),
            "RESENDS": 0 if ports.protocol != "resend" else 1 if "resend" in ports.output else 2,
            "LATENCY": ports.latency,
            "MOST_RESENT": _MOST_RESENT,
            "INTERVAL": ports.interval,
            "PATIENCE": _PATIENCE,
        }

    def _error(self, text: str) -> CoreError:
        return CoreError(f"{self._module.where}: {text}")

    def _connect_control(self) -> None:
        tied = self._tied
        self._wires[gates.CLOCK] = ("input", 1)
        self._wires["rst"] = ("input", 1)
        self._pins[tied.clock] = f"\\{gates.CLOCK}"
        if tied.reset:
            self._pins[tied.reset] = "\\rst"
        for name, width, value in tied.constants:
            self._pins[name] = f"{width}'{value:0{width}b}"

    def _into(self, side: str, role: str, wire: str, width: int | None) -> int:
        """Connect a role whose port is an input of the core, and return its width."""
        table = self._ports.input if side == "input" else self._ports.output
        if (name := table.get(role)) is None:
            self._wires[wire] = ("input", width or 1)
            return width or 1
        if name not in self._left:
            raise self._absent("input", name, f"{side}.{role}", self._tied.free)
        found = self._left.pop(name)
        self._check_width(f"{side}.{role}", name, found, width)
        self._wires[wire] = ("input", found)
        self._pins[name] = f"\\{wire}"
        return found

    def _out_of(self, side: str, role: str, wire: str, width: int | None, default: str) -> int:
        """Connect a role whose port is an output of the core, or a part of one, and return its width."""
        table = self._ports.input if side == "input" else self._ports.output
        if (text := table.get(role)) is None:
            self._wires[wire] = ("output", width or 1)
            self._assigned.append((wire, default))
            return width or 1
        found = re.fullmatch(r"(.*)\[([0-9]{1,6})(?::([0-9]{1,6}))?\]", text)
        name = found[1] if found and text not in self._module.outputs else text
        if name not in self._module.outputs:
            raise self._absent("output", name, f"{side}.{role}", self._module.outputs)
        whole = self._module.outputs[name]
        high, low = whole - 1, 0
        if found and name != text:
            high = int(found[2])
            low = int(found[3] or found[2])
            if not low <= high < whole:
                raise self._error(f"{side}.{role} {text!r} is not a part of the {whole} bits of {name!r}")
        self._check_width(f"{side}.{role}", text, high - low + 1, width)
        self._wires[wire] = ("output", high - low + 1)
        self._wires[f"core.{name}"] = ("", whole)
        self._pins[name] = f"\\core.{name}"
        self._assigned.append((wire, f"\\core.{name} [{high}:{low}]"))
        return high - low + 1

    def _absent(self, flow: str, name: str, role: str, known: Mapping[str, int]) -> CoreError:
        others = ", ".join(known) or "none"
        hint = ": describe its ports with --ports" if self._ports is OWN_PORTS else ""
        return self._error(f"{self._module.name} has no {flow} {name!r} for {role} ({flow}s: {others}){hint}")

    def _check_width(self, role: str, name: str, found: int, width: int | None) -> None:
        if width is not None and found != width:
            raise self._error(f"{role} {name!r} has {found} bits, not {width}")

    def _connect_words(self) -> tuple[int, int, int]:
        """Connect the output words, and return their number, the bits of one, and the bits of `keep` for one."""
        ports = self._ports
        if ports.kind == "validator":
            self._out_of("output", "code_point", "out_data", 1, "1'0")
            words = bits = 1
        else:
            width = self._out_of("output", "code_point", "out_data", None, "")
            unit = FORMS[ports.form].unit_width if ports.kind == "transcoder" else 32
            bits = ports.word_bits or min(width, unit)
            least = unit if ports.kind == "transcoder" else TABLE_3_7.last_code_point.bit_length()
            name = ports.output["code_point"]
            if width % bits:
                raise self._error(f"output.code_point {name!r} has {width} bits, which are not whole words of {bits}")
            if not least <= bits <= 32:
                raise self._error(f"output.code_point {name!r} has words of {bits} bits: they must have {least} to 32")
            words = width // bits
            if words > 1 and "keep" not in ports.output:
                raise self._error(f"output.code_point {name!r} has {words} words: name the port output.keep, too")
        self._out_of("output", "error", "out_error", words, f"{words}'{'0' * words}")
        keep = self._out_of("output", "keep", "out_keep", None, "1'1")
        if keep % words:
            raise self._error(f"output.keep {ports.output['keep']!r} has {keep} bits, not the same number per word")
        self._out_of("output", "valid", "out_valid", 1, "1'0")
        return words, bits, keep // words

    def rtlil(self, name: str = "top") -> str:
        """The core and a module of this name around it with the ports that ``probe.c`` names."""
        lines = [self._module.rtlil, f"module \\{name}"]
        numbers = iter(range(1, len(self._wires) + 1))
        for wire, (flow, width) in self._wires.items():
            direction = f"{flow} {next(numbers)} " if flow else ""
            lines.append(f"  wire width {width} {direction}\\{wire}")
        lines.append("  cell \\foreign \\core")
        lines += [f"    connect \\{port} {signal}" for port, signal in self._pins.items()]
        lines.append("  end")
        lines += [f"  connect \\{wire} {value}" for wire, value in self._assigned]
        return "\n".join([*lines, "end", ""])
