# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of the ports of a foreign core, in TOML or JSON."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from utf8fpga.sim.foreign_module import CoreError, printable, text_of

_DESCRIPTION_SIZE = 1 << 20
"""Upper bound on the characters of a description."""

_ROLES: dict[str, tuple[str, ...]] = {
    "input": ("byte", "valid", "ready", "last", "keep"),
    "output": ("code_point", "valid", "ready", "last", "keep", "error"),
}
"""The signals that the tables `input` and `output` may name."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "reset_active": ("high", "low"),
    "kind": ("decoder", "validator"),
    "protocol": ("axi-stream", "strobe"),
}

_ABOVE_ZERO = ("lanes", "bytes_per_clock")

_TYPE_NAMES: dict[type, str] = {str: "a string", dict: "a table", int: "an integer", float: "a number"}


def read_description(path: Path) -> dict[str, Any]:
    """Read a description of a core's ports from TOML or, where the name ends in ``.json``, from JSON.

    The keys are those of `bench.design.foreign_core` and of `CheckedPorts`; every key is optional.

    ::

        clock = "clk"
        reset = "rst_n"             # "" where there is none
        reset_active = "low"        # or "high"; default: by the reset's name
        bytes_per_clock = 0.5       # on the worst input
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
    if not isinstance(value, _KEYS[key]) or isinstance(value, bool):
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


@dataclass(frozen=True)
class CheckedPorts:
    """What a description of a foreign core's ports states for its check.

    The tables `input` and `output` name a port for each role, with ``!`` before it if it is active low. Several bytes
    and several words are in order, the first in the low bits. If neither table names a port, the ports are those of
    this project's core of that kind.

    Attributes:
        clock: the clock, rising edge; default: by its name, and likewise the reset.
        reset: the reset; empty where there is none.
        reset_active: ``high`` or ``low``; default: by the name of the reset.
        constants: names and values of the inputs that are tied off.
        kind: ``decoder``, whose output is code points; or ``validator``, whose `error` is asserted in any output of an
            ill-formed text.
        protocol: ``axi-stream``; or ``strobe``, a beat in each cycle in which `valid` is asserted, without
            back-pressure, and likewise at the output.
        input: by role ``byte``, ``valid``, ``ready``, ``last``, ``keep`` (the same number of bits for each byte) the
            name of a port. Without ``last``, a text ends with a reset only, and incomplete sequences are not expected
            at the output.
        output: by role ``code_point``, ``valid``, ``ready``, ``last``, ``keep`` (the same number of bits for each
            word), ``error`` (a bit per word; of a validator any number) the name of a port.
    """

    clock: str | None = None
    reset: str | None = None
    reset_active: str | None = None
    constants: Mapping[str, int] = field(default_factory=dict)
    kind: str = "decoder"
    protocol: str = "axi-stream"
    input: Mapping[str, str] = field(default_factory=dict)
    output: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_end(self) -> bool:
        """Whether the core is told the end of a text."""
        return "last" in self.input

    @property
    def has_back_pressure(self) -> bool:
        """Whether the output can wait."""
        return "ready" in self.output

    @property
    def is_own(self) -> bool:
        """Whether the ports are those of this project's core."""
        return not self.input and not self.output and self.protocol == "axi-stream"

    def named(self) -> CheckedPorts:
        """The description with the names of this project, if it has none."""
        if not self.is_own:
            return self
        if self.kind != "validator":
            return replace(self, input=_OWN_INPUT, output=_OWN_OUTPUT)
        # The validator has the handshake of a stream as inputs.
        given = dict(_OWN_INPUT)
        return replace(
            self,
            protocol="strobe",
            constants={given.pop("ready"): 1, **self.constants},
            input=given,
            output={"error": "!report_well_formed", "valid": _REPORT_VALID, "last": _REPORT_VALID},
        )

    def fault(self) -> str | None:
        """What is missing in the description, or contradictory; None if it is usable."""
        if self.is_own:
            return None
        return next((text for wrong, text in self._faults() if wrong), None)

    def _faults(self) -> Iterator[tuple[bool, str]]:
        given, made = self.input, self.output
        required = {"input": ("byte", "valid"), "output": ("code_point", "valid")}
        if self.kind == "validator":
            required["output"] = ("error", "valid")
            yield "code_point" in made, "output.code_point is not that of kind = 'validator': leave it out"
        for side, roles in required.items():
            for role in roles:
                named = given if side == "input" else made
                yield role not in named, f"{side}.{role} is missing: name the port"
        if self.protocol == "axi-stream":
            yield "ready" not in given, "input.ready is missing: name the port, or choose protocol = 'strobe'"
        else:
            for side, ports in (("input", given), ("output", made)):
                yield "ready" in ports, f"protocol = 'strobe' has no back-pressure: leave out {side}.ready"
        yield not self.has_end and "last" in made, "output.last requires input.last: name both ports or neither"


def _field_type(hint: Any) -> type:
    """The type of a field's value other than None; a table is a dictionary."""
    kind = get_args(hint)[0] if isinstance(hint, UnionType) else hint
    return dict if get_origin(kind) is Mapping else kind


_KEYS: dict[str, tuple[type, ...]] = {
    name: (_field_type(hint),) for name, hint in get_type_hints(CheckedPorts).items()
} | {
    "title": (str,),
    "lanes": (int,),
    "latency": (int,),
    "bytes_per_clock": (int, float),
}
"""The keys of a description and the types of their values: the fields above, and what `bench.design.foreign_core` reads
beside some of them."""

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
