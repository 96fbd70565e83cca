# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of the ports of a foreign core, in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from utf8fpga.sim.foreign_module import CoreError

OWN_PORTS: Mapping[str, Any] = {
    "input": {"byte": "s_axis_tdata"} | {role: f"s_axis_t{role}" for role in ("keep", "last", "valid", "ready")},
    "output": {"code_point": "m_axis_tdata", "error": "m_axis_tuser"}
    | {role: f"m_axis_t{role}" for role in ("keep", "last", "valid", "ready")},
}
"""The ports of the Verilog that `hdl.axi_verilog` writes for a decoder, which also has all roles."""

_TYPES = {"a string": str, "a table": dict, "an integer": int, "a number": int | float}

_KEYS = {
    **dict.fromkeys(("clock", "reset", "title"), "a string"),
    **dict.fromkeys(("constants", "input", "output"), "a table"),
    **dict.fromkeys(("lanes", "latency"), "an integer"),
    "bytes_per_clock": "a number",
}
"""The keys of a description and the types of their values."""


def read_description(path: Path) -> dict[str, Any]:
    """Read a description of a core's ports; every key is optional.

    ::

        clock = "clk"               # the default
        reset = "!rst_n"            # active low; default: "rst" if there is such an input
        constants = { enable = 1 }  # inputs that are tied off
        input = { byte = "data", valid = "valid", ready = "ready", last = "last" }
        output = { code_point = "point", valid = "out_valid", last = "out_last", error = "error" }

    The tables `input` and `output` name a port for each role, with ``!`` before it if it is active low; default:
    `OWN_PORTS`. Several bytes and several words are in order, the first in the low bits, and `keep` has a bit for each
    byte, and one or more for each word. Without ``input.ready`` the core takes a byte in each cycle with ``valid``.
    Without ``input.last`` a text ends with a reset only, and incomplete sequences are not expected at the output.
    Without ``output.error`` marks are U+FFFD. Without ``output.code_point`` the core is a validator, whose `error` is
    asserted in any output of an ill-formed text, and which needs ``output.last``. The keys `title`, `lanes`, `latency`
    and `bytes_per_clock` are those of `bench.design.foreign_core`.

    Raises:
        CoreError: the file cannot be read, or a key or a value is invalid.
    """
    try:
        description = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CoreError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except ValueError as error:
        raise CoreError(f"{path} is not TOML: {error}") from None
    if (fault := next(_faults(description), None)) is not None:
        raise CoreError(f"{path}: {fault}")
    return description


def _faults(description: Mapping[str, Any]) -> Iterator[str]:
    """What is invalid in a description."""
    kinds = _KEYS | {f"{side}.{role}": "a string" for side, roles in OWN_PORTS.items() for role in roles}
    for key, value in _entries(description):
        kind = "an integer" if key.startswith("constants.") else kinds.get(key)
        if kind is None:
            yield f"unknown key {key!r} (known: {', '.join(kinds)})"
        elif not isinstance(value, _TYPES[kind]):
            yield f"{key} = {value!r} is not {kind}"
    given, made = (description.get(side, roles) for side, roles in OWN_PORTS.items())
    needed = ["valid", *([] if "code_point" in made else ["error", "last"])]
    missing = [f"output.{role}" for role in needed if role not in made]
    needed = ["byte", "valid", *(["last"] if "last" in made else [])]
    missing += [f"input.{role}" for role in needed if role not in given]
    yield from (f"{key} is missing: name the port" for key in missing)


def _entries(description: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys, with those of tables behind a dot, and their values."""
    for key, value in description.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", each) for name, each in value.items())
        else:
            yield key, value
