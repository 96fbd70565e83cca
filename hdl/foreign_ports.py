# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of the ports of a foreign core, in TOML or JSON."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from utf8fpga.hdl.core import field_kinds
from utf8fpga.hdl.foreign import CoreError, printable, text_of
from utf8fpga.model import TABLE_3_7, UTF_16, UTF_32, EncodingTable

_DESCRIPTION_SIZE = 1 << 20
"""Upper bound on the characters of a description."""

_ROLES: dict[str, tuple[str, ...]] = {
    "input": ("byte", "valid", "ready", "last", "keep", "code_point"),
    "output": ("code_point", "valid", "ready", "last", "keep", "error", "resend", "byte", "busy"),
}
"""The signals that the tables `input` and `output` may name."""

_OPERATIONS = ("write", "status", "read", "next", "clear", "flush")
"""The operations that the table `bus` may describe."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "reset_active": ("high", "low"),
    "kind": ("decoder", "validator", "transcoder", "encoder"),
    "form": ("utf-16", "utf-32", "utf-8"),
    "protocol": ("axi-stream", "strobe", "resend", "request", "four-phase", "bus"),
    "end": ("last", "flush", "none"),
    "marks": ("replace", "separate"),
}

_ABOVE_ZERO = ("lanes", "bytes_per_clock", "interval", "word_bits")

_TYPE_NAMES: dict[type, str] = {
    str: "a string",
    dict: "a table",
    int: "an integer",
    float: "a number",
    bool: "true or false",
}


def read_description(path: Path) -> dict[str, Any]:
    """Read a description of a core's ports from TOML or, where the name ends in ``.json``, from JSON.

    The keys are those of `bench.design.foreign_core` and of `CheckedPorts`; every key is optional.

    ::

        clock = "clk"
        reset = "rst_n"             # "" where there is none
        reset_active = "low"        # or "high"; default: by the reset's name
        bytes_per_clock = 0.5       # on the worst input
        inputs = { data = 8, valid = 1 }
        outputs = { code_point = 21, ready = 1 }
        constants = { enable = 1 }  # inputs that are tied off

    Raises:
        CoreError: the file cannot be read, or a key or a value is invalid.
    """
    where = printable(path)
    try:
        text = text_of(path, _DESCRIPTION_SIZE, errors="strict")
        specified: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except CoreError:
        raise
    except (ValueError, RecursionError) as error:
        form = "JSON" if path.suffix == ".json" else "TOML"
        raise CoreError(f"{where} is not {form}: {' '.join(str(error).split())}") from None
    if not isinstance(specified, dict):
        raise CoreError(f"{where} is not a table of {', '.join(_KEYS)}")
    for key, value in specified.items():
        if fault := _fault(key, value):
            raise CoreError(f"{where}: {fault}")
    return specified


def _fault(key: str, value: object) -> str | None:
    """The error in one key and value of a description of ports; None if they are valid."""
    if key not in _KEYS:
        return f"unknown key {key!r} (known: {', '.join(_KEYS)})"
    if not isinstance(value, _KEYS[key]) or isinstance(value, bool) != (_KEYS[key] == (bool,)):
        return f"{key} = {value!r} is not {_TYPE_NAMES[_KEYS[key][-1]]}"
    if key in _CHOICES and value not in _CHOICES[key]:
        *others, last = map(repr, _CHOICES[key])
        words = ("neither", "nor") if len(others) == 1 else ("none of", "and")
        return f"{key} = {value!r} is {words[0]} {', '.join(others)} {words[1]} {last}"
    if isinstance(value, dict):
        return _fault_of_table(key, value)
    if key in _ABOVE_ZERO and isinstance(value, int | float) and not value > 0:
        return f"{key} = {value!r} is not above 0"
    if key == "latency" and isinstance(value, int) and value < 0:
        return f"latency = {value} is negative: it must be 0 or more"
    return f"{key} = {value!r} is not finite" if value == math.inf else None


def _fault_of_table(key: str, value: Mapping[str, object]) -> str | None:
    if key == "bus":
        return next(filter(None, map(_fault_of_operation, value, value.values())), None)
    if key not in _ROLES:
        if not all(type(number) is int and number >= 0 for number in value.values()):
            return f"{key} = {value!r} is not a table of names and numbers"
        return None
    for role, name in value.items():
        if role not in _ROLES[key]:
            return f"unknown key {f'{key}.{role}'!r} (known: {', '.join(_ROLES[key])})"
        if not isinstance(name, str) or not name:
            return f"{key}.{role} = {name!r} is not the name of a port"
    return None


def _fault_of_operation(name: str, steps: object) -> str | None:
    if name not in _OPERATIONS:
        return f"unknown key {f'bus.{name}'!r} (known: {', '.join(_OPERATIONS)})"
    for step in cycles_of(steps):
        if not isinstance(step, dict):
            return f"bus.{name} = {step!r} is not a table of inputs and their values, or a list of such tables"
        for pin, value in step.items():
            if not (isinstance(value, str) or (type(value) is int and value >= 0)):
                return f"bus.{name}: {pin} = {value!r} is neither a number nor a string such as 'byte'"
    return None


def cycles_of(steps: Any) -> list[Any]:
    """The tables of an operation of a bus: a list, or one of them."""
    return steps if isinstance(steps, list) else [steps]


FORMS: dict[str, EncodingTable] = {"utf-16": UTF_16, "utf-32": UTF_32, "utf-8": TABLE_3_7}
"""The encoding forms of the output of a transcoder."""


@dataclass(frozen=True)
class CheckedPorts:
    """What a description of a foreign core's ports states for its check.

    The tables `input` and `output` name a port for each role. A port of the output may be an expression, see
    `port_expressions`, such as ``status[1:0] == 2``; one of the input may be inverted and a part, such as
    ``!ui_in[7]``. Several bytes and several words are in order, the first in the low bits. If neither table names a
    port, the ports are those of this project's core of that kind.

    Attributes:
        clock: the clock, rising edge; default: by its name, and likewise the reset.
        reset: the reset; empty where there is none.
        reset_active: ``high`` or ``low``; default: by the name of the reset.
        constants: names and values of the inputs that are tied off.
        kind: ``decoder``, whose output is code points; ``validator``, whose `error` is asserted in any output of an
            ill-formed text; ``transcoder``, whose output is code units; or ``encoder`` of code points to bytes.
        form: of a transcoder the encoding form of its output: ``utf-16``, ``utf-32`` or ``utf-8``.
        protocol: ``axi-stream``; ``strobe``, a byte in each cycle in which `valid` is asserted, without back-pressure,
            and likewise at the output; ``resend``, like ``strobe``, but the host sends a byte again if the core
            requests it `latency` cycles after the byte; ``request``, like ``strobe``, but the next byte follows only
            when the core asserts `ready`, `latency` cycles after the byte or later; ``four-phase``: `valid` is asserted
            until `ready` is, and then deasserted until `ready` is; or ``bus``: see `bus`.
        end: the end of a text: ``last`` with its last byte, ``flush`` for `last` in a cycle without a byte after the
            last one, or ``none``; then a text ends with a reset only, and incomplete sequences are not expected at the
            output. Default: ``last`` if the input `last` is named.
        marks: ``replace``: the word beside `error` stands for the ill-formed sequence; ``separate``: `error` is an
            ill-formed sequence of its own, whether or not there is a valid word, which then follows it; not for
            ``axi-stream``.
        sticky: whether `error` stays asserted until a reset, so that only its rising is a mark.
        level: whether the output is a level that is read once for each byte: `latency` cycles after it, or when it is
            acknowledged; otherwise each cycle in which `valid` is asserted is an output. Not for ``axi-stream``.
        replacement: whether the code point beside `error` must be U+FFFD.
        interval: cycles from a byte to the next byte, at least; for ``strobe`` and ``resend``.
        latency: cycles from a byte to its answer, or from an operation of a bus to its data.
        word_bits: bits per word at the output; default: 32 for code points if the port is wider, else all; of a
            transcoder those of a code unit; of an encoder bits per code point at the input.
        bus: for ``bus`` the operations, each a table of inputs and their values in one cycle, or a list of these:
            `write` a byte; look at the `status`, again while `busy` is asserted; if it shows an output, `read` its
            word, in parts from the low bits on, and go to the `next` output, if that is described; after an output,
            `clear` before the next byte; `flush` after the last byte. Values are numbers or expressions of ``byte``,
            ``code_point`` and ``last``. Between operations inputs have their constants; default: 0, or 1 for those
            named as ``!port``.
        input: by role ``byte``, or ``code_point`` of an encoder, ``valid``, ``ready``, ``last``, ``keep`` (the same
            number of bits for each byte) the name of a port. Of a bus only ``ready``, for which an operation waits.
        output: by role ``code_point``, or ``byte`` of an encoder, ``valid``, ``ready``, ``last``, ``keep`` (the same
            number of bits for each word), ``error`` (a bit per word; of a validator any number), ``resend``, ``busy``
            the name of a port. Default for ``resend``: `error`, except at the first byte of a sequence.
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
    sticky: bool = False
    level: bool = False
    replacement: bool = True
    interval: int = 1
    latency: int = 1
    word_bits: int | None = None
    bus: Mapping[str, Any] = field(default_factory=dict)
    input: Mapping[str, str] = field(default_factory=dict)
    output: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_end(self) -> bool:
        """Whether the core is told the end of a text."""
        return self.text_end != "none"

    @property
    def text_end(self) -> str:
        """`end`, or its default."""
        is_named = "last" in self.input or "last" in self._written
        return self.end or ("flush" if "flush" in self.bus else "last" if is_named else "none")

    @property
    def _written(self) -> list[Any]:
        """The values that a bus writes."""
        return [value for step in cycles_of(self.bus.get("write", [])) for value in step.values()]

    @property
    def data_in(self) -> str:
        """The role of the input's symbols."""
        return "code_point" if self.kind == "encoder" else "byte"

    @property
    def data_out(self) -> str:
        """The role of the output's words."""
        return "byte" if self.kind == "encoder" else "code_point"

    @property
    def is_own(self) -> bool:
        """Whether the ports are those of this project's core."""
        kept = ("clock", "reset", "reset_active", "constants", "kind", "form")
        return self == CheckedPorts(**{name: getattr(self, name) for name in kept})

    def named(self) -> CheckedPorts:
        """The description with the names of this project, if it has none."""
        if not self.is_own:
            return self
        if self.kind != "validator":
            given, made = (
                {roles.get(role, role): name for role, name in own.items()}
                for own, roles in ((_OWN_INPUT, {"byte": self.data_in}), (_OWN_OUTPUT, {"code_point": self.data_out}))
            )
            return replace(self, input=given, output=made)
        # The validator has the handshake of a stream as inputs.
        given = dict(_OWN_INPUT)
        return replace(
            self,
            protocol="strobe",
            constants={given.pop("ready"): 1, **self.constants},
            input=given,
            output={"error": "~report_well_formed", "valid": _REPORT_VALID, "last": _REPORT_VALID},
        )

    def fault(self) -> str | None:
        """What is missing in the description, or contradictory; None if it is usable."""
        if self.is_own:
            return None
        return next((text for wrong, text in self._faults() if wrong), None)

    def _faults(self) -> Iterator[tuple[bool, str]]:
        given, made = self.input, self.output
        is_bus, is_stream = self.protocol == "bus", self.protocol == "axi-stream"
        yield from self._faults_of_data()
        if is_stream:
            yield "ready" not in given, "input.ready is missing: name the port, or choose protocol = 'strobe'"
            yield self.end == "flush", "end = 'flush' is that of protocol = 'strobe' or 'resend'"
            yield self.level, "level = true is that of a protocol other than 'axi-stream'"
        else:
            answers = self.protocol in ("request", "four-phase")
            yield answers and "ready" not in given, f"protocol = {self.protocol!r} requires input.ready: name the port"
            for side, ports in (("input", {} if answers or is_bus else given), ("output", made)):
                yield "ready" in ports, f"protocol = {self.protocol!r} has no back-pressure: leave out {side}.ready"
            yield answers and self.end == "flush", "end = 'flush' is that of protocol = 'strobe' or 'resend'"
        if self.protocol not in ("strobe", "resend"):
            yield self.interval != 1, f"interval = {self.interval} is that of protocol = 'strobe' or 'resend'"
        if self.protocol == "resend":
            yield not {"resend", "error"} & made.keys(), "output.resend is missing: name the port, or output.error"
        elif not is_bus:
            yield "resend" in made, f"output.resend is that of protocol = 'resend', not {self.protocol!r}"
        yield from self._faults_of_bus() if is_bus else self._faults_of_ends()
        if self.marks == "separate":
            yield "error" not in made, "marks = 'separate' requires output.error: name the port"
            yield is_stream, "marks = 'separate' is that of protocol = 'strobe' or 'resend'"
        yield self.sticky and "error" not in made, "sticky = true requires output.error: name the port"

    def _faults_of_data(self) -> Iterator[tuple[bool, str]]:
        data = ("input", self.input, _DATA_IN, self.data_in), ("output", self.output, _DATA_OUT, self.data_out)
        for side, ports, roles, own in data:
            for role, kind in roles.items():
                is_wrong = role != own or (side == "output" and self.kind == "validator")
                said = f"{side}.{role} is that of {kind}: leave it out for kind = {self.kind!r}"
                yield is_wrong and role in ports, said
        for role in (self.data_in, "valid"):
            yield role not in self.input and self.protocol != "bus", f"input.{role} is missing: name the port"
        for role in (self.data_out, "valid"):
            yield role not in self.output and self.kind != "validator", f"output.{role} is missing: name the port"
        if self.kind == "validator":
            yield "error" not in self.output, "output.error is missing: name the port with the verdict"

    def _faults_of_ends(self) -> Iterator[tuple[bool, str]]:
        given, made = self.input, self.output
        yield bool(self.bus), f"the table bus is that of protocol = 'bus', not {self.protocol!r}"
        yield "busy" in made, f"output.busy is that of protocol = 'bus', not {self.protocol!r}"
        yield self.has_end and "last" not in given, f"end = {self.text_end!r} requires input.last: name the port"
        yield not self.has_end and "last" in given, "end = 'none' and input.last contradict each other: leave one out"
        yield not self.has_end and "last" in made, "output.last requires input.last: name both ports or neither"

    def _faults_of_bus(self) -> Iterator[tuple[bool, str]]:
        yield "write" not in self.bus, "bus.write is missing: state the values of the inputs that write a byte"
        for side, ports, roles in (("input", self.input, ("ready",)), ("output", self.output, _BUS_OUTPUT)):
            for role in ports:
                yield role not in roles, f"{side}.{role} is not that of protocol = 'bus': leave it out"
        yield self.level, "level = true is not that of protocol = 'bus', which always reads a level: leave it out"
        for end, is_known in (("flush", "flush" in self.bus), ("last", "last" in self._written)):
            described = "bus.flush" if end == "flush" else "'last' as a value in bus.write"
            yield self.text_end == end and not is_known, f"end = {end!r} requires {described}"


_KEYS: dict[str, tuple[type, ...]] = {
    name: (dict if kind is Mapping else kind,) for name, (kind, _) in field_kinds(CheckedPorts).items()
} | {"inputs": (dict,), "outputs": (dict,), "title": (str,), "lanes": (int,), "bytes_per_clock": (int, float)}
"""The keys of a description and the types of their values: the fields above, and what `bench.design.foreign_core` reads
beside some of them."""

_DATA_IN = {"byte": "a decoder", "code_point": "an encoder"}
_DATA_OUT = {"code_point": "a decoder", "byte": "an encoder"}
"""The roles of symbols and the kind of cores that have them."""

_BUS_OUTPUT = ("code_point", "byte", "valid", "error", "resend", "busy")
"""The roles of the output of a core on a bus."""

_OWN_INPUT = {"byte": "s_axis_tdata"} | {role: f"s_axis_t{role}" for role in ("keep", "last", "valid", "ready")}
_OWN_OUTPUT = {"code_point": "m_axis_tdata", "error": "m_axis_tuser"} | {
    role: f"m_axis_t{role}" for role in ("keep", "last", "valid", "ready")
}
_REPORT_VALID = "report_tvalid"
"""The ports of the Verilog that `hdl.axi_verilog` writes; this one only a tap has."""

OWN_PORTS = CheckedPorts()
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
