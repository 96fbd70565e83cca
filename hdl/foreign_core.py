# SPDX-License-Identifier: BSD-2-Clause
"""A foreign core as a core: a decoder, validator, transcoder or encoder from elsewhere behind two streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from utf8fpga.hdl.beats import stage_ports
from utf8fpga.hdl.core import CoreParameters
from utf8fpga.hdl.decoder.parameters import DecoderParameters
from utf8fpga.hdl.encoder.parameters import EncoderParameters
from utf8fpga.hdl.foreign import CoreError, ForeignModule, read_module
from utf8fpga.hdl.foreign_bus import MOST_RESENT, connect_bus
from utf8fpga.hdl.foreign_ports import FORMS, OWN_PORTS, CheckedPorts, cycles_of
from utf8fpga.hdl.port_expressions import ExpressionError, Pin, parse
from utf8fpga.hdl.transcoder.parameters import TranscoderParameters
from utf8fpga.model import REPLACEMENT_CHARACTER, TABLE_3_7, IncrementalDecoder, Practice
from utf8fpga.model.golden import BulkGolden

PATIENCE = 2048
"""Cycles after which a byte that is not accepted, or an output without end, is an error."""

_WORD_BITS = 32
"""Upper bound on the bits of a word."""


_RESENT, PARTIAL = 1, 2

VIOLATIONS = ("", f"the same byte was requested again {MOST_RESENT} times", "keep selects a part of a word")
"""By value of `ForeignCore.violation` what it means."""


@dataclass(frozen=True, kw_only=True)
class _PracticeParameters(DecoderParameters):
    """A decoder whose golden function has another practice."""

    practice: Practice = Practice.MAXIMAL_SUBPARTS

    def golden(self) -> IncrementalDecoder:
        """The golden decoder of the practice."""
        return IncrementalDecoder(self.practice)

    def bulk_golden(self) -> BulkGolden | None:
        """A decoder of arrays, for maximal subparts."""
        return super().bulk_golden() if self.practice is Practice.MAXIMAL_SUBPARTS else None


class ForeignCore(wiring.Component):
    """A foreign core with the streams of a core, which a description, `CheckedPorts`, connects to its ports.

    Output symbols have the fields of those of a decoder, transcoder or encoder of this library, with 32 bits for the
    word; of a validator only `error` is defined. With ``marks = "separate"`` an output beat has two symbols per word,
    the first for the mark. Output beats may be null beats.

    A foreign core states no timing contract: `stall_cycles` is the patience of the simulation.

    Args:
        top: its top module; default: the module that no other one instantiates.
        ports: the description of its ports.
        practice: the replacement practice of its golden function.

    Ports:
        violation: see `VIOLATIONS`.

    Attributes:
        ports: the description, with all names.
        symbol_bits: bits of an input symbol that its ports have.
        module: the module that this circuit instantiates by the name ``foreign``.

    Raises:
        CoreError: a file cannot be read, Yosys rejects it, the description does not match the ports, or the module has
            a second clock, a latch or a register for the falling edge.
        ToolError: Yosys is missing.
    """

    packed = False
    obstacle = "the core is foreign"
    latency = reset_cycles = drain_cycles = 0

    def __init__(
        self,
        files: Sequence[Path],
        top: str | None = None,
        ports: CheckedPorts = OWN_PORTS,
        practice: Practice = Practice.MAXIMAL_SUBPARTS,
    ) -> None:
        self.module = module = read_module(files, top, flat=True)
        self._is_own, ports = ports.is_own, ports.named()
        whole = {name: value for name, value in ports.constants.items() if Pin.of(name).high is None}
        self._tied = tied = module.tie_off(ports.clock, ports.reset, ports.reset_active, whole)
        _check_registers(module, tied.clock)
        self.name, self.ports, self.has_reset, self._practice = module.name, ports, tied.reset is not None, practice
        self._left = {name: set(range(width)) for name, width in tied.free.items()}
        self._wires = {name: Signal(width, name=name) for name, width in module.outputs.items()}
        self._idle = {name: value for name, _, value in tied.constants}
        """By name of an input port its value where nothing else is stated."""
        for text in ports.constants.keys() - whole.keys():
            self._tie_off(text, ports.constants[text])
        self._values: dict[str, Value] = {}
        """By role of an output port its value."""
        self._pins: dict[str, Pin] = {}
        """By role of an input port what it is."""
        if ports.protocol == "bus":
            self.lanes, self.symbol_bits = 1, _WORD_BITS if ports.kind == "encoder" else 8
            self._operations, self._bus_values = self._bus_operations()
        else:
            self.lanes, self.symbol_bits = self._connect_symbols()
        self._connect_input("output.ready", 1)
        self._connect_output("input.ready", 1)
        self.words, self._bits = self._connect_words()
        for role in ("last", "resend", "busy"):
            self._connect_output(f"output.{role}", 1)
        for name, left in self._left.items():
            if left:
                bits = "" if len(left) == module.inputs[name] else f"bit {min(left)} of "
                raise self._error(f"{bits}the input {name!r} of {module.name} is neither named nor a constant")
        self.stall_cycles = max(PATIENCE, 2 * MOST_RESENT * (ports.interval + ports.latency))
        word = "unit" if ports.kind in ("transcoder", "encoder") else "code_point"
        symbol = data.StructLayout({word: _WORD_BITS, "error": 1})
        given, outputs = _WORD_BITS if ports.kind == "encoder" else 8, self.words * (1 + self._is_separate)
        super().__init__(stage_ports(given, symbol, self.lanes, outputs) | {"violation": Out(2)})

    @property
    def _is_separate(self) -> bool:
        return self.ports.marks == "separate"

    @property
    def parameters(self) -> CoreParameters:
        """The parameters of a core of this library that has the same golden function."""
        if self.ports.kind == "encoder":
            return EncoderParameters()
        if self.ports.kind == "transcoder":
            form = self.ports.form if self.ports.form == "utf-8" else f"{self.ports.form}-le"
            return TranscoderParameters(to=form)
        return _PracticeParameters(practice=self._practice)

    @property
    def sends_empty_texts(self) -> bool:
        """Whether a text without a byte can be sent."""
        return self.ports.text_end == "flush" or (self.ports.text_end == "last" and "keep" in self.ports.input)

    @property
    def separates_texts(self) -> bool:
        """Whether a text can follow another one, after its end or a reset."""
        return self.ports.has_end or self.has_reset

    def _error(self, text: str) -> CoreError:
        return CoreError(f"{self.module.where}: {text}")

    def _named(self, role: str) -> str | None:
        """The name of the port of a role."""
        side, _, name = role.partition(".")
        return (self.ports.input if side == "input" else self.ports.output).get(name)

    def _pin(self, role: str, text: str, known: Mapping[str, int]) -> Pin:
        """The bits of an input of the core, which are then no longer left."""
        pin = Pin(False, text) if text in known else Pin.of(text)
        if pin.port not in known:
            raise self._absent("input", pin.port, role, known)
        high = known[pin.port] - 1 if pin.high is None else pin.high
        if not pin.low <= high < known[pin.port]:
            raise self._error(f"{role} {text!r} is not a part of the {known[pin.port]} bits of {pin.port!r}")
        return pin._replace(high=high)

    def _take(self, role: str, text: str) -> Pin:
        """The bits of an input of the core that nothing else is connected to."""
        pin = self._pin(role, text, self._tied.free)
        if not pin.bits <= self._left[pin.port]:
            raise self._error(f"{role} {text!r} has bits of {pin.port!r} that are connected to something else")
        self._left[pin.port] -= pin.bits
        return pin

    def _tie_off(self, text: str, value: int) -> None:
        """Connect a part of an input to a constant."""
        pin = self._take("constants", text)
        if value >= 1 << len(pin.bits):
            raise self._error(f"{value} does not fit into the {len(pin.bits)} bits of {text!r}")
        self._idle[pin.port] = self._idle.get(pin.port, 0) | (value ^ pin.mask) << pin.low

    def _connect_input(self, role: str, width: int | None) -> int:
        """Note which port of the core, an input, has a role, and return its width, which is checked if it is given."""
        if (text := self._named(role)) is None:
            return width or 1
        self._pins[role] = pin = self._take(role, text)
        self._check_width(role, text, len(pin.bits), width)
        return len(pin.bits)

    def _connect_output(self, role: str, width: int | None) -> int:
        """Note the expression of the core's outputs that has a role, and return its width, checked likewise."""
        if (text := self._named(role)) is None:
            return width or 1

        def port(name: str) -> Value:
            if name not in self._wires:
                raise self._absent("output", name, role, self.module.outputs)
            return self._wires[name]

        self._values[role] = value = self._wires[text] if text in self._wires else self._parsed(role, text, port)
        self._check_width(role, text, len(value), width)
        return len(value)

    def _parsed(self, role: str, text: str, port: Callable[[str], Value]) -> Value:
        try:
            return parse(text, port)
        except ExpressionError as error:
            raise self._error(f"{role} {text!r} {error}") from None

    def _connect_symbols(self) -> tuple[int, int]:
        """Check the ports of the input symbols, and return their number and the bits of one."""
        ports, role = self.ports, f"input.{self.ports.data_in}"
        width, name = self._connect_input(role, None), ports.input[ports.data_in]
        bits, noun = 8, "bytes"
        if ports.kind == "encoder":
            bits, noun = ports.word_bits or min(width, _WORD_BITS), "words"
            self._check_word(role, bits, TABLE_3_7.last_code_point.bit_length())
        if width % bits:
            raise self._error(
                f"{role} {name!r} has {width} bits, which are not whole {noun}" + f" of {bits}" * (bits > 8)
            )
        lanes = width // bits
        self._connect_input("input.valid", 1)
        self._connect_input("input.last", 1)
        keep = self._connect_input("input.keep", None)
        if "keep" in ports.input and keep % lanes:
            self._check_width("input.keep", ports.input["keep"], keep, lanes)
        if lanes > 1 and "keep" not in ports.input:
            raise self._error(f"{role} {name!r} has {lanes} {noun}: name the port input.keep, too")
        return lanes, bits

    def _check_word(self, role: str, bits: int, least: int) -> None:
        if not least <= bits <= _WORD_BITS:
            name = self._named(role)
            raise self._error(f"{role} {name!r} has words of {bits} bits: they must have {least} to {_WORD_BITS}")

    def _bus_operations(self) -> tuple[dict[str, list[list[tuple[Pin, Value]]]], dict[str, Value]]:
        """Check the inputs of the operations of a bus: their values, and by name the signals that these refer to."""
        inputs = {name: width for name, width in self.module.inputs.items() if name != self._tied.clock}
        symbol = Signal(self.symbol_bits)
        values: dict[str, Value] = {self.ports.data_in: symbol, "last": Signal()}

        def value_of(name: str) -> Value:
            if name not in values:
                raise self._error(f"the values of a bus know no {name!r}: they are numbers, {' and '.join(values)}")
            return values[name]

        operations: dict[str, list[list[tuple[Pin, Value]]]] = {}
        for operation, described in self.ports.bus.items():
            cycles: list[list[tuple[Pin, Value]]] = []
            operations[operation] = cycles
            for step in cycles_of(described):
                cycles.append(found := [])
                for text, given in step.items():
                    role = f"bus.{operation}"
                    pin = self._pin(role, text, inputs)
                    value = self._parsed(role, str(given), value_of)
                    if len(value) > len(pin.bits):
                        raise self._error(f"{role}: {given!r} does not fit into the {len(pin.bits)} bits of {text!r}")
                    found.append((pin, value))
                    left = self._left.get(pin.port, set())
                    if pin.inverted and pin.bits <= left:
                        self._idle[pin.port] = self._idle.get(pin.port, 0) | pin.mask << pin.low
                    left -= pin.bits
        return operations, values

    def _absent(self, flow: str, name: str, role: str, known: Mapping[str, int]) -> CoreError:
        others = ", ".join(known) or "none"
        hint = ": describe its ports in a file, which utf8fpga check --write-ports proposes" if self._is_own else ""
        return self._error(f"{self.name} has no {flow} {name!r} for {role} ({flow}s: {others}){hint}")

    def _check_width(self, role: str, name: str, found: int, width: int | None) -> None:
        if width is not None and found != width:
            raise self._error(f"{role} {name!r} has {found} bits, not {width}")

    def _connect_words(self) -> tuple[int, int]:
        """Check the ports of the output words, and return their number and the bits of one."""
        ports = self.ports
        words = bits = 1
        if ports.kind != "validator":
            role, name = f"output.{ports.data_out}", ports.output[ports.data_out]
            width = self._connect_output(role, None) * len(cycles_of(ports.bus.get("read", {})))
            unit, least = _WORD_BITS, TABLE_3_7.last_code_point.bit_length()
            if ports.kind != "decoder":
                unit = least = 8 if ports.kind == "encoder" else FORMS[ports.form].unit_width
            bits = (ports.word_bits if ports.kind != "encoder" else None) or min(width, unit)
            if width % bits:
                raise self._error(f"{role} {name!r} has {width} bits, which are not whole words of {bits}")
            self._check_word(role, bits, least)
            words = width // bits
            if words > 1 and "keep" not in ports.output:
                raise self._error(f"{role} {name!r} has {words} words: name the port output.keep, too")
        self._connect_output("output.error", None if ports.kind == "validator" else words)
        keep = self._connect_output("output.keep", None)
        if keep % words:
            raise self._error(f"output.keep {ports.output['keep']!r} has {keep} bits, not the same number per word")
        self._connect_output("output.valid", 1)
        return words, bits

    def elaborate(self, platform: object) -> Module:
        m, tied, module = Module(), self._tied, self.module
        drive = {
            name: Signal(width, init=self._idle.get(name, 0), name=f"to_{name}")
            for name, width in module.inputs.items()
            if name != tied.clock
        }
        if tied.reset:
            m.d.comb += drive[tied.reset].eq(~ResetSignal() if tied.reset_low else ResetSignal())

        def read(role: str, default: Any = 0) -> Value:
            return self._values[role] if role in self._values else Value.cast(default)

        protocols = {"axi-stream": self._handshake, "request": self._request, "four-phase": self._request}
        if self.ports.protocol == "bus":
            symbol, last = self._bus_values.values()
            m.d.comb += [symbol.eq(self.input.payload.symbols[0]), last.eq(self.input.payload.last)]
            looked_at, is_resent, read = connect_bus(m, self.ports, self._operations, self.input, drive, read)
            m.d.comb += self.violation.eq(Mux(is_resent, _RESENT, 0))
        else:
            given = protocols.get(self.ports.protocol, self._strobe)(m, read)
            looked_at = given.pop("answer") if self.ports.level else None
            for role, pin in self._pins.items():
                side, _, name = role.partition(".")
                value = given[name] if side == "input" else self.output.ready
                m.d.comb += drive[pin.port][pin.part].eq(value ^ pin.mask)
        pins: dict[str, Any] = {f"i_{name}": signal for name, signal in drive.items()}
        pins |= {f"o_{name}": wire for name, wire in self._wires.items()}
        m.submodules.core = Instance("foreign", **{f"i_{tied.clock}": ClockSignal()}, **pins)
        self._receive(m, read, looked_at)
        return m

    @property
    def _has_content(self) -> Value:
        """Whether the core is sent an input beat, with a byte or an end that its ports can express."""
        beat, ports = self.input.payload, self.ports
        if ports.text_end != "last" or ports.protocol == "bus":
            return beat.keep[0]
        return Const(1) if "keep" in ports.input else beat.keep[0] | beat.last

    @property
    def _symbols(self) -> dict[str, Value]:
        """The values of the input beat by role."""
        beat = self.input.payload
        symbols = Cat(beat.symbols[lane][: self.symbol_bits] for lane in range(self.lanes))
        keep = self._pins["input.keep"].bits if "input.keep" in self._pins else [0]
        kept = Cat(beat.keep[lane].replicate(max(1, len(keep) // self.lanes)) for lane in range(self.lanes))
        return {self.ports.data_in: symbols, "keep": kept, "last": beat.last}

    def _handshake(self, m: Module, read: Any) -> dict[str, Value]:
        """Connect the input stream to a core with `ready`, and return its inputs by their roles."""
        m.d.comb += self.input.ready.eq(read("input.ready") | (self.input.valid & ~self._has_content))
        return {**self._symbols, "valid": self.input.valid & self._has_content}

    def _request(self, m: Module, read: Any) -> dict[str, Value]:
        """Send each byte until it is acknowledged, by `valid` in the first cycle only or in all of them."""
        latency, has_byte = self.ports.latency, self._has_content
        is_sent, is_answered, answer, age = Signal(), Signal(), Signal(), Signal(range(latency + 1))
        sends = self.input.valid & has_byte & ~is_answered
        m.d.comb += self.input.ready.eq(answer | (self.input.valid & ~has_byte))
        if self.ports.protocol == "four-phase":
            m.d.comb += answer.eq(sends & read("input.ready"))
            m.d.sync += is_answered.eq(answer | (is_answered & read("input.ready")))
        else:
            m.d.comb += answer.eq(sends & (age == latency) & read("input.ready"))
            m.d.sync += is_sent.eq(sends & ~answer)
            m.d.sync += age.eq(Mux(sends & ~answer, Mux(age == latency, age, age + 1), 0))
        return {**self._symbols, "valid": sends & ~is_sent, "answer": answer}

    def _strobe(self, m: Module, read: Any) -> dict[str, Value]:
        """Send each byte in one cycle, again as often as it is requested, and return the core's inputs by their roles.

        `phase` counts the cycles from a byte to its answer, and on to the earliest next byte.
        """
        ports, beat = self.ports, self.input.payload
        answer = ports.latency if ports.protocol == "resend" else 0
        longest = answer + ports.interval
        phase, is_flushed, sends, request = Signal(range(longest)), Signal(), Signal(), Signal()
        is_idle = (phase == 0) & ~is_flushed
        has_byte = self._has_content
        is_answered = (phase == answer) & ~is_flushed
        m.d.comb += [
            sends.eq(is_idle & self.input.valid & has_byte),
            self.input.ready.eq((is_answered & ~request) | (is_idle & ~has_byte)),
        ]
        if ports.protocol == "resend":
            is_pending = is_answered & (sends if answer == 0 else 1)
            m.d.comb += request.eq(is_pending & self._is_requested(m, read, is_pending))
            requests = Signal(range(MOST_RESENT))
            with m.If(request):
                m.d.sync += requests.eq(requests + 1)
                with m.If(requests == MOST_RESENT - 1):
                    m.d.comb += self.violation.eq(_RESENT)
            with m.Elif(is_pending):
                m.d.sync += requests.eq(0)
        with m.If(sends | (phase != 0)):
            m.d.sync += phase.eq(Mux(request | (phase == longest - 1), 0, phase + 1))
        last: Value = beat.last & (phase == 0)
        if ports.text_end == "flush":
            ends_after_byte = self.input.valid & self.input.ready & has_byte & beat.last
            m.d.sync += is_flushed.eq(ends_after_byte | (is_flushed & (phase != 0)))
            last = (is_flushed & (phase == 0)) | (is_idle & self.input.valid & ~has_byte & beat.last)
        # The byte stays until the next one is due.
        given = self._symbols
        byte = given[ports.data_in]
        sent = Signal(len(byte))
        with m.If(sends):
            m.d.sync += sent.eq(byte)
        looks = sends | last if ports.text_end == "flush" else sends
        for _ in range(ports.latency if ports.level else 0):
            m.d.sync += (later := Signal()).eq(looks)
            looks = later
        given[ports.data_in] = Mux(is_idle & has_byte, byte, sent)
        return {**given, "last": last, "valid": sends, "answer": looks}

    def _is_requested(self, m: Module, read: Any, is_pending: Value) -> Value:
        """Whether the core requests a byte again in the cycle of its answer."""
        if "resend" in self.ports.output:
            return read("output.resend")
        # An error is a request, except at the first byte after an output.
        error, valid = read("output.error").any(), read("output.valid")
        if self._is_separate:
            valid = valid | error
        is_inside = Signal()
        with m.If(is_pending):
            m.d.sync += is_inside.eq(~valid & ~self.input.payload.last)
        return read("output.error")[0] & valid & is_inside

    def _receive(self, m: Module, read: Any, looked_at: Value | None) -> None:
        """Connect the output stream, from an output that is read in these cycles only, if they are given."""
        words = self.words
        keep = read("output.keep", Const((1 << words) - 1, words))
        parts = [keep.word_select(word, len(keep) // words) for word in range(words)]
        kept = [part.any() for part in parts]
        is_part = Cat(some & ~part.all() for some, part in zip(kept, parts, strict=True)).any()
        valid, error = self._valid_and_error(m, read, looked_at)
        beat = self.output.payload
        for lane, (value, is_wrong, is_kept) in enumerate(self._output_symbols(read, valid, error, kept)):
            m.d.comb += [
                Value.cast(beat.symbols[lane])[:_WORD_BITS].eq(value),
                beat.symbols[lane].error.eq(is_wrong),
                beat.keep[lane].eq(is_kept),
            ]
        m.d.comb += [
            self.output.valid.eq(valid | (error.any() if self._is_separate else 0)),
            beat.last.eq(read("output.last")),
        ]
        with m.If(valid & self.output.ready & is_part):
            m.d.comb += self.violation.eq(PARTIAL)

    def _valid_and_error(self, m: Module, read: Any, looked_at: Value | None) -> tuple[Value, Value]:
        """Whether there is an output, and its errors, by word except for a validator."""
        error, valid = read("output.error", Const(0, self.words)), read("output.valid")
        if self.ports.kind == "validator":
            error = error.any()
        if looked_at is not None:
            valid, error = valid & looked_at, Mux(looked_at, error, 0)
        if self.ports.sticky:
            # What is read in the other cycles does not count as deasserted.
            before = Signal(len(error))
            reads = looked_at if looked_at is not None else 1 if self._is_separate else valid & self.output.ready
            with m.If(reads):
                m.d.sync += before.eq(error)
            error = error & ~before
        if self.ports.kind == "validator" and "valid" not in self.ports.output:
            # One assertion of the level in a text counts.
            has_begun, is_counted = Signal(), Signal()
            valid = error[0] & ~is_counted & (has_begun | self.input.valid)
            m.d.sync += [has_begun.eq(has_begun | self.input.valid), is_counted.eq(is_counted | valid)]
        return valid, error

    def _output_symbols(
        self, read: Any, valid: Value, error: Value, kept: Sequence[Value]
    ) -> Iterator[tuple[Value | int, Value, Value]]:
        """By output lane the value of the symbol, whether it is ill-formed, and whether it is present."""
        point = read(f"output.{self.ports.data_out}", Const(0, self.words * self._bits))
        for word, is_kept in enumerate(kept):
            value, is_wrong = point.word_select(word, self._bits), error[word]
            if self._is_separate:
                # A mark without a word is one mark, whichever word it is beside.
                is_mark = Mux(valid, is_wrong & is_kept, error.any() if word == 0 else 0)
                yield REPLACEMENT_CHARACTER, is_mark, is_mark
                yield value, Const(0), valid & is_kept
            else:
                value = value if self.ports.replacement else Mux(is_wrong, REPLACEMENT_CHARACTER, value)
                yield value, is_wrong & is_kept, is_kept


def _check_registers(module: ForeignModule, clock: str) -> None:
    """Check that all registers and memories are for the rising edge of one clock."""
    (expected,) = module.bits[clock]
    where, top = module.where, module.name
    for cell in module.cells.values():
        if cell["type"] in ("$dlatch", "$adlatch", "$dlatchsr", "$sr"):
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
