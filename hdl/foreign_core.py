# SPDX-License-Identifier: BSD-2-Clause
"""A foreign core as a core: a decoder, validator or transcoder in Verilog from elsewhere behind two streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.core import CoreParameters
from utf8fpga.hdl.decoder.parameters import DecoderParameters
from utf8fpga.hdl.foreign import CoreError, ForeignModule, read_module
from utf8fpga.hdl.foreign_ports import FORMS, OWN_PORTS, CheckedPorts
from utf8fpga.hdl.transcoder.parameters import TranscoderParameters
from utf8fpga.model import REPLACEMENT_CHARACTER, TABLE_3_7, Practice

PATIENCE = 2048
"""Cycles after which a byte that is not accepted, or an output without end, is an error."""

_MOST_RESENT = 5
"""Requests for one byte from which on there is an error."""

_WORD_BITS = 32
"""Upper bound on the bits of a word."""


_RESENT, PARTIAL = 1, 2

VIOLATIONS = ("", f"the same byte was requested again {_MOST_RESENT} times", "keep selects a part of a word")
"""By value of `ForeignCore.violation` what it means."""


class _Part(NamedTuple):
    """Bits of an output port."""

    port: str
    low: int
    width: int
    inverted: bool


class _ForeignDecoderParameters(DecoderParameters):
    obstacle = "the core is foreign"


class _ForeignTranscoderParameters(TranscoderParameters):
    obstacle = "the core is foreign"


class ForeignCore(wiring.Component):
    """A foreign core with the streams of a core, which a description, `CheckedPorts`, connects to its ports.

    Output symbols have the fields of those of a decoder or transcoder of this library, with 32 bits for the word; of
    a validator only `error` is defined. With ``marks = "separate"`` an output beat has two symbols per word, the first
    for the mark. Output beats may be null beats.

    A foreign core states no timing contract: `stall_cycles` is the patience of the simulation.

    Args:
        files: see `read_module`.
        top: its top module; default: the module that no other one instantiates.
        ports: the description of its ports.
        practice: the replacement practice of its golden function.

    Ports:
        violation: see `VIOLATIONS`.

    Attributes:
        name: the name of the module.
        ports: the description, with all names.
        has_reset: whether it has a reset.
        words: words per output beat.
        module: the module that this circuit instantiates by the name ``foreign``.

    Raises:
        CoreError: a file cannot be read, Yosys rejects it, the description does not match the ports, or the module has
            a second clock, a latch or a register for the falling edge.
        ToolError: Yosys is missing.
    """

    packed = False
    latency = reset_cycles = drain_cycles = 0

    def __init__(
        self,
        files: Sequence[Path],
        top: str | None = None,
        ports: CheckedPorts = OWN_PORTS,
        practice: Practice = Practice.MAXIMAL_SUBPARTS,
    ) -> None:
        self.module = module = read_module(files, top, flat=True)
        self._is_own, ports = ports.is_own, ports.named(module.outputs)
        self._tied = tied = module.tie_off(ports.clock, ports.reset, ports.reset_active, ports.constants)
        _check_registers(module, tied.clock)
        self.name, self.ports, self.has_reset, self._practice = module.name, ports, tied.reset is not None, practice
        self._left = dict(tied.free)
        self._parts: dict[str, _Part] = {}
        """By role of an output port what it is."""
        bits = self._into("input.byte", None)
        if bits % 8:
            raise self._error(f"input.byte {ports.input['byte']!r} has {bits} bits, which are not whole bytes")
        self.lanes = bits // 8
        for role, width in (("valid", 1), ("last", 1), ("keep", self.lanes)):
            self._into(f"input.{role}", width)
        if self.lanes > 1 and "keep" not in ports.input:
            name = ports.input["byte"]
            raise self._error(f"input.byte {name!r} has {self.lanes} bytes: name the port input.keep, too")
        self._into("output.ready", 1)
        self._out_of("input.ready", 1)
        self.words, self._bits = self._connect_words()
        for role in ("last", "resend"):
            self._out_of(f"output.{role}", 1)
        if self._left:
            raise self._error(f"the input {next(iter(self._left))!r} of {module.name} is neither named nor a constant")
        self.stall_cycles = max(PATIENCE, 2 * _MOST_RESENT * (ports.interval + ports.latency))
        word = "unit" if ports.kind == "transcoder" else "code_point"
        symbol = data.StructLayout({word: _WORD_BITS, "error": 1})
        super().__init__(
            {
                "input": In(stream.Signature(beat_layout(8, self.lanes))),
                "output": Out(stream.Signature(beat_layout(symbol, self.words * (1 + self._is_separate)))),
                "violation": Out(2),
            }
        )

    @property
    def _is_separate(self) -> bool:
        return self.ports.marks == "separate"

    @property
    def parameters(self) -> CoreParameters:
        """The parameters of a core of this library that has the same golden function."""
        if self.ports.kind == "transcoder":
            form = self.ports.form if self.ports.form == "utf-8" else f"{self.ports.form}-le"
            return _ForeignTranscoderParameters(to=form)
        return _ForeignDecoderParameters(practice=self._practice)

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

    def _into(self, role: str, width: int | None) -> int:
        """Check the port of a role that is an input of the core, and return its width."""
        if (name := self._named(role)) is None:
            return width or 1
        if name not in self._left:
            raise self._absent("input", name, role, self._tied.free)
        found = self._left.pop(name)
        self._check_width(role, name, found, width)
        return found

    def _out_of(self, role: str, width: int | None) -> int:
        """Check the port of a role that is an output of the core, or a part of one, and return its width."""
        if (text := self._named(role)) is None:
            return width or 1
        outputs = self.module.outputs
        plain = text if text in outputs else text.removeprefix("~")
        found = re.fullmatch(r"(.*)\[([0-9]{1,6})(?::([0-9]{1,6}))?\]", plain) if plain not in outputs else None
        name = found[1] if found else plain
        if name not in outputs:
            raise self._absent("output", name, role, outputs)
        low, high = 0, outputs[name] - 1
        if found:
            low, high = int(found[3] or found[2]), int(found[2])
            if not low <= high < outputs[name]:
                raise self._error(f"{role} {text!r} is not a part of the {outputs[name]} bits of {name!r}")
        self._check_width(role, text, high - low + 1, width)
        self._parts[role] = _Part(name, low, high - low + 1, text != plain)
        return high - low + 1

    def _absent(self, flow: str, name: str, role: str, known: Mapping[str, int]) -> CoreError:
        others = ", ".join(known) or "none"
        hint = ": describe its ports with --ports" if self._is_own else ""
        return self._error(f"{self.name} has no {flow} {name!r} for {role} ({flow}s: {others}){hint}")

    def _check_width(self, role: str, name: str, found: int, width: int | None) -> None:
        if width is not None and found != width:
            raise self._error(f"{role} {name!r} has {found} bits, not {width}")

    def _connect_words(self) -> tuple[int, int]:
        """Check the ports of the output words, and return their number and the bits of one."""
        ports = self.ports
        words = bits = 1
        if ports.kind != "validator":
            width = self._out_of("output.code_point", None)
            unit = FORMS[ports.form].unit_width if ports.kind == "transcoder" else _WORD_BITS
            bits = ports.word_bits or min(width, unit)
            least = unit if ports.kind == "transcoder" else TABLE_3_7.last_code_point.bit_length()
            name = ports.output["code_point"]
            if width % bits:
                raise self._error(f"output.code_point {name!r} has {width} bits, which are not whole words of {bits}")
            if not least <= bits <= _WORD_BITS:
                raise self._error(
                    f"output.code_point {name!r} has words of {bits} bits: they must have {least} to {_WORD_BITS}"
                )
            words = width // bits
            if words > 1 and "keep" not in ports.output:
                raise self._error(f"output.code_point {name!r} has {words} words: name the port output.keep, too")
        self._out_of("output.error", None if ports.kind == "validator" else words)
        keep = self._out_of("output.keep", None)
        if keep % words:
            raise self._error(f"output.keep {ports.output['keep']!r} has {keep} bits, not the same number per word")
        self._out_of("output.valid", 1)
        return words, bits

    def elaborate(self, platform: object) -> Module:
        m, tied = Module(), self._tied
        wires = {name: Signal(width) for name, width in self.module.outputs.items()}

        def read(role: str, default: Any = 0) -> Value:
            if (part := self._parts.get(role)) is None:
                return Value.cast(default)
            value = wires[part.port][part.low : part.low + part.width]
            return ~value if part.inverted else value

        pins: dict[str, Any] = {f"o_{name}": wire for name, wire in wires.items()}
        pins[f"i_{tied.clock}"] = ClockSignal()
        if tied.reset:
            pins[f"i_{tied.reset}"] = ~ResetSignal() if tied.reset_low else ResetSignal()
        pins |= {f"i_{name}": Const(value, width) for name, width, value in tied.constants}
        drive = self._handshake if self.ports.protocol == "axi-stream" else self._strobe
        given = drive(m, read)
        pins |= {f"i_{name}": given[role] for role, name in self.ports.input.items() if role in given}
        if (ready := self.ports.output.get("ready")) is not None:
            pins[f"i_{ready}"] = self.output.ready
        m.submodules.core = Instance("foreign", **pins)
        self._receive(m, read)
        return m

    @property
    def _has_content(self) -> Value:
        """Whether the core is sent an input beat, with a byte or an end that its ports can express."""
        beat, ports = self.input.payload, self.ports
        if ports.text_end != "last":
            return beat.keep[0]
        return Const(1) if "keep" in ports.input else beat.keep[0] | beat.last

    def _handshake(self, m: Module, read: Any) -> dict[str, Value]:
        """Connect the input stream to a core with `ready`, and return its inputs by their roles."""
        beat = self.input.payload
        m.d.comb += self.input.ready.eq(read("input.ready") | (self.input.valid & ~self._has_content))
        valid = self.input.valid & self._has_content
        return {"byte": Value.cast(beat.symbols), "keep": beat.keep, "last": beat.last, "valid": valid}

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
            requests = Signal(range(_MOST_RESENT))
            with m.If(request):
                m.d.sync += requests.eq(requests + 1)
                with m.If(requests == _MOST_RESENT - 1):
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
        byte, sent = Value.cast(beat.symbols), Signal(8 * self.lanes)
        with m.If(sends):
            m.d.sync += sent.eq(byte)
        return {"byte": Mux(is_idle & has_byte, byte, sent), "keep": beat.keep, "last": last, "valid": sends}

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

    def _receive(self, m: Module, read: Any) -> None:
        """Connect the output stream."""
        words, bits = self.words, self._bits
        point, error = read("output.code_point", Const(0, words * bits)), read("output.error", Const(0, words))
        keep = read("output.keep", Const((1 << words) - 1, words))
        kept = [part.any() for part in (keep.word_select(word, len(keep) // words) for word in range(words))]
        is_part = Cat(kept[word] & ~keep.word_select(word, len(keep) // words).all() for word in range(words)).any()
        valid = read("output.valid")
        if self.ports.kind == "validator":
            error = error.any()
        if self.ports.kind == "validator" and "valid" not in self.ports.output:
            # One assertion of the level in a text counts.
            has_begun, is_counted = Signal(), Signal()
            valid = error[0] & ~is_counted & (has_begun | self.input.valid)
            m.d.sync += [has_begun.eq(has_begun | self.input.valid), is_counted.eq(is_counted | valid)]
        symbols = []
        for word in range(words):
            value, is_wrong = point.word_select(word, bits), error[word]
            if self._is_separate:
                # A mark without a word is one mark, whichever word it is beside.
                is_mark = Mux(valid, is_wrong & kept[word], error.any() if word == 0 else 0)
                symbols += [(REPLACEMENT_CHARACTER, is_mark, is_mark), (value, Const(0), valid & kept[word])]
            else:
                value = value if self.ports.replacement else Mux(is_wrong, REPLACEMENT_CHARACTER, value)
                symbols.append((value, is_wrong & kept[word], kept[word]))
        beat = self.output.payload
        for lane, (value, is_wrong, is_kept) in enumerate(symbols):
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
