# SPDX-License-Identifier: BSD-2-Clause
"""A foreign core as a core: a decoder or validator from elsewhere behind two streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, ResetSignal, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from utf8fpga.hdl.beats import stage_ports
from utf8fpga.hdl.core import CoreEntry
from utf8fpga.hdl.cores import DecoderEntry
from utf8fpga.hdl.parameters import DecoderParameters
from utf8fpga.model import TABLE_3_7, Decoder, Practice
from utf8fpga.sim.foreign_module import CoreError, ForeignModule, read_module
from utf8fpga.sim.foreign_ports import OWN_PORTS, CheckedPorts

PATIENCE = 2048
"""Cycles after which a byte that is not accepted, or an output without end, is an error."""

WORD_BITS = 32
"""Bits of each of several code points, and upper bound on those of one."""

PARTIAL = "keep selects a part of a word"
"""What it means if `ForeignCore.violation` is asserted."""


class _PracticeEntry(DecoderEntry):
    """A decoder whose golden function has another practice."""

    def __init__(self, practice: Practice) -> None:
        super().__init__(DecoderParameters())
        self.practice = practice

    def golden(self) -> Decoder:
        """The golden decoder of the practice."""
        return Decoder(practice=self.practice)


class ForeignCore(wiring.Component):
    """A foreign core with the streams of a core, which a description, `CheckedPorts`, connects to its ports.

    Output symbols have the fields of those of a decoder of this library, with 32 bits for the word; of a
    validator only `error` is defined. Output beats may be null beats.

    A foreign core states no timing contract: `stall_cycles` is the patience of the simulation.

    Args:
        top: its top module; default: the module that no other one instantiates.
        ports: the description of its ports.
        practice: the replacement practice of its golden function.

    Ports:
        violation: see `PARTIAL`.

    Attributes:
        ports: the description, with all names.
        module: the module that this circuit instantiates by the name ``foreign``.

    Raises:
        CoreError: a file cannot be read, Yosys rejects it, the description does not match the ports, or the module has
            a second clock, a latch or a register for the falling edge.
        ToolError: Yosys is missing.
    """

    packed = False
    obstacle = "the core is foreign"
    latency = reset_cycles = drain_cycles = 0
    stall_cycles = PATIENCE

    def __init__(
        self,
        files: Sequence[Path],
        top: str | None = None,
        ports: CheckedPorts = OWN_PORTS,
        practice: Practice = Practice.MAXIMAL_SUBPARTS,
    ) -> None:
        self.module = module = read_module(files, top, flat=True)
        self.rtlil = module.rtlil
        self._is_own, ports = ports.is_own, ports.named()
        self._tied = tied = module.tie_off(ports.clock, ports.reset, ports.reset_active, ports.constants)
        _check_registers(module, tied.clock)
        self.name, self.ports, self.has_reset, self._practice = module.name, ports, tied.reset is not None, practice
        self._names = {
            f"{side}.{role}": name
            for side, roles in (("input", ports.input), ("output", ports.output))
            for role, name in roles.items()
        }
        self.lanes = self._lanes()
        self.words, self._bits = self._words()
        self._check_inputs()
        symbol = data.StructLayout({"code_point": WORD_BITS, "error": 1})
        super().__init__(stage_ports(8, symbol, self.lanes, self.words) | {"violation": Out(1)})

    @property
    def entry(self) -> CoreEntry[Any]:
        """A core of this library, with the golden function that this core is compared with."""
        return _PracticeEntry(self._practice)

    @property
    def sends_empty_texts(self) -> bool:
        """Whether a text without a byte can be sent."""
        return {"last", "keep"} <= self.ports.input.keys()

    @property
    def separates_texts(self) -> bool:
        """Whether a text can follow another one, after its end or a reset."""
        return self.ports.has_end or self.has_reset

    def _error(self, text: str) -> CoreError:
        return CoreError(f"{self.module.where}: {text}")

    def _port(self, role: str) -> tuple[str, bool]:
        """The name of the port of a role, and whether it is active low."""
        name = self._names[role]
        is_low = name.startswith("!")
        return name[is_low:], is_low

    def _width(self, role: str, width: int | None = None) -> int:
        """The width of the port of a role, which is checked if one is given; that is the default without a port."""
        if role not in self._names:
            return width or 1
        name, _ = self._port(role)
        # What is an input of the core for `ready` of the output is an output for that of the input.
        flow = "output" if role.startswith("output") != role.endswith("ready") else "input"
        known = self.module.outputs if flow == "output" else self._tied.free
        if name not in known:
            others = ", ".join(known) or "none"
            hint = ": name its ports in a file for --ports" if self._is_own else ""
            raise self._error(f"{self.name} has no {flow} {name!r} for {role} ({flow}s: {others}){hint}")
        if width is not None and known[name] != width:
            raise self._error(f"{role} {name!r} has {known[name]} bits, not {width}")
        return known[name]

    def _check_inputs(self) -> None:
        """Check that each input of the core is named once."""
        named = [self._port(role)[0] for role in self._names if role.startswith("input") != role.endswith("ready")]
        for name in self._tied.free:
            if name not in named:
                raise self._error(f"the input {name!r} of {self.name} is neither named nor a constant")
            if named.count(name) > 1:
                raise self._error(f"the input {name!r} of {self.name} is named twice")

    def _lanes(self) -> int:
        """Check the ports of the input, and return the number of its bytes."""
        width = self._width("input.byte")
        if width % 8:
            raise self._error(f"input.byte {self._names['input.byte']!r} has {width} bits, which are not whole bytes")
        lanes = width // 8
        for role in ("valid", "ready", "last"):
            self._width(f"input.{role}", 1)
        if "input.keep" in self._names:
            keep = self._width("input.keep")
            if keep % lanes:
                self._width("input.keep", lanes)
        elif lanes > 1:
            raise self._error(
                f"input.byte {self._names['input.byte']!r} has {lanes} bytes: name the port input.keep, too"
            )
        return lanes

    def _words(self) -> tuple[int, int]:
        """Check the ports of the output, and return the number of its words and the bits of one."""
        words = bits = 1
        ports = self.ports
        if ports.kind != "validator":
            width, name = self._width("output.code_point"), self._names["output.code_point"]
            least = TABLE_3_7.last_code_point.bit_length()
            bits = min(width, WORD_BITS)
            if width % bits:
                raise self._error(f"output.code_point {name!r} has {width} bits, which are not whole words of {bits}")
            if bits < least:
                raise self._error(f"output.code_point {name!r} has {bits} bits: it must have at least {least}")
            words = width // bits
            if words > 1 and "keep" not in ports.output:
                raise self._error(f"output.code_point {name!r} has {words} words: name the port output.keep, too")
        self._width("output.error", None if ports.kind == "validator" else words)
        keep = self._width("output.keep", None if "keep" in ports.output else words)
        if keep % words:
            raise self._error(f"output.keep {ports.output['keep']!r} has {keep} bits, not the same number per word")
        for role in ("valid", "ready", "last"):
            self._width(f"output.{role}", 1)
        return words, bits

    def elaborate(self, platform: object) -> Module:
        m, tied, module = Module(), self._tied, self.module
        pins: dict[str, Any] = {f"i_{tied.clock}": ClockSignal()}
        pins |= {f"i_{name}": Const(value, width) for name, width, value in tied.constants}
        if tied.reset:
            pins[f"i_{tied.reset}"] = ~ResetSignal() if tied.reset_low else ResetSignal()
        wires = {name: Signal(width, name=name) for name, width in module.outputs.items()}
        pins |= {f"o_{name}": wire for name, wire in wires.items()}

        def read(role: str, default: Value) -> Value:
            if role not in self._names:
                return default
            name, is_low = self._port(role)
            return ~wires[name] if is_low else wires[name]

        beat, has_content = self.input.payload, self._has_content
        keep = self._width("input.keep", self.lanes) // self.lanes
        driven = {
            "input.byte": Cat(beat.symbols),
            "input.keep": Cat(beat.keep[lane].replicate(keep) for lane in range(self.lanes)),
            "input.last": beat.last,
            "input.valid": self.input.valid & has_content,
            "output.ready": self.output.ready,
        }
        for role, value in driven.items():
            if role in self._names:
                name, is_low = self._port(role)
                pins[f"i_{name}"] = ~value if is_low else value
        m.submodules.core = Instance("foreign", **pins)
        m.d.comb += [
            self.input.ready.eq(read("input.ready", Const(1)) | (self.input.valid & ~has_content)),
            self.output.valid.eq(read("output.valid", Const(0))),
            self.output.payload.last.eq(read("output.last", Const(0))),
        ]
        error = read("output.error", Const(0, self.words))
        self._receive(
            m,
            read("output.code_point", Const(0, self.words * self._bits)),
            error.any() if self.ports.kind == "validator" else error,
            read("output.keep", Const((1 << self.words) - 1, self.words)),
        )
        return m

    @property
    def _has_content(self) -> Value:
        """Whether the core is sent an input beat, with a byte or an end that its ports can express."""
        beat = self.input.payload
        if not self.ports.has_end:
            return beat.keep[0]
        return Const(1) if "keep" in self.ports.input else beat.keep[0] | beat.last

    def _receive(self, m: Module, points: Value, error: Value, keep: Value) -> None:
        """Connect the payload of the output."""
        beat, words = self.output.payload, self.words
        parts = [keep.word_select(word, len(keep) // words) for word in range(words)]
        for word, part in enumerate(parts):
            m.d.comb += [
                Value.cast(beat.symbols[word])[:WORD_BITS].eq(points.word_select(word, self._bits)),
                beat.symbols[word].error.eq(error[word] & part.any()),
                beat.keep[word].eq(part.any()),
            ]
        is_partial = Cat(part.any() & ~part.all() for part in parts).any()
        m.d.comb += self.violation.eq(self.output.valid & self.output.ready & is_partial)


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
