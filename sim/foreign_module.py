# SPDX-License-Identifier: BSD-2-Clause
"""Cores in Verilog from elsewhere, as read by Yosys, and the descriptions of their ports, in TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from utf8fpga.hdl.toolchain import ToolFailedError, run_yosys
from utf8fpga.model import InvalidArgumentError

Sources: TypeAlias = tuple[tuple[str, str], ...]
"""Names of our own, of which the suffix is one of `_READERS`, and contents of the files of a core."""

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
    **{f"{side}.{role}": "a string" for side, roles in OWN_PORTS.items() for role in roles},
}
"""The keys of a description and the types of their values."""

_READERS = {".v": "read_verilog", ".sv": "read_verilog -sv", ".il": "read_rtlil"}
"""The command of Yosys that reads a file with this suffix."""

_FLATTEN = (
    "proc; flatten; opt_clean; write_json ports.json; "
    "chformal -remove; delete t:$print; async2sync; rename -top top; write_rtlil flat.il"
)

_LATCHES = ("$dlatch", "$adlatch", "$dlatchsr", "$sr")


class CoreError(InvalidArgumentError):
    """A core cannot be measured or checked, or its description is wrong; the message is one line with the reason."""


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
    text = _text_of(path)
    try:
        description = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CoreError(f"{path} is not TOML: {error}") from None
    entries = dict(description)
    for table in ("constants", "input", "output"):
        if isinstance(inner := description.get(table), dict):
            entries |= {f"{table}.{key}": value for key, value in inner.items()}
    for key, value in entries.items():
        kind = "an integer" if key.startswith("constants.") else _KEYS.get(key)
        if kind is None:
            raise CoreError(f"{path}: unknown key {key!r} (known: {', '.join(_KEYS)})")
        if not isinstance(value, _TYPES[kind]):
            raise CoreError(f"{path}: {key} = {value!r} is not {kind}")
    return description


@dataclass(frozen=True)
class ForeignModule:
    """A module in Verilog and its ports.

    Attributes:
        where: the name of its first file, for error messages.
        sources: its files.
        clock: the name of the clock.
        reset: the name of the reset; empty where there is none.
        reset_low: whether the reset is active low.
        constants: name, width and value of each input that is tied off.
        inputs: names and widths of the other inputs.
        outputs: names and widths of the outputs.
        rtlil: the module, flat and without asynchronous resets, as the module ``top``.
    """

    where: str
    sources: Sources
    name: str
    clock: str
    reset: str
    reset_low: bool
    constants: tuple[tuple[str, int, int], ...]
    inputs: dict[str, int]
    outputs: dict[str, int]
    rtlil: str


def read_module(files: Sequence[Path], top: str | None, description: Mapping[str, Any]) -> ForeignModule:
    """Read a module from its files in Verilog, SystemVerilog or RTLIL.

    Args:
        files: its source files, whose names end in ``.v``, ``.sv`` or ``.il``.
        top: its name; default: the module that no other one instantiates.
        description: see `read_description`.

    Raises:
        CoreError: a file cannot be read, or its name has another end; Yosys rejects it; the description does not match
            the ports; or the module has a second clock, a latch or a register for the falling edge.
        ToolError: Yosys is missing.
    """
    for path in files:
        if path.suffix not in _READERS:
            raise CoreError(f"{path}: the name of a file must end in .v (Verilog), .sv (SystemVerilog) or .il (RTLIL)")
    # Names of users have characters that mean something to Yosys.
    sources = tuple((f"core{number}{path.suffix}", _text_of(path)) for number, path in enumerate(files))
    name, module, rtlil = _flat_module(files, sources, top)
    where, inputs, outputs = f"{files[0]}: {_module_name(name)}", dict[str, int](), dict[str, int]()
    for port, found in module["ports"].items():
        (inputs if found["direction"] == "input" else outputs)[port] = len(found["bits"])
    clock, reset = description.get("clock", "clk"), description.get("reset", "rst" if "rst" in inputs else "")
    reset, is_low = reset.removeprefix("!"), reset.startswith("!")
    for port in filter(None, (clock, reset)):
        if inputs.pop(port, 0) != 1:
            raise CoreError(f"{where} has no input {port!r} of one bit: name the clock and the reset with --ports")
    constants = []
    for port, value in description.get("constants", {}).items():
        if port not in inputs or value >> inputs[port]:
            raise CoreError(f"{where} has no input {port!r} into which the constant {value} fits")
        constants.append((port, inputs.pop(port), value))
    for cell in module["cells"].values():
        if not _is_for_rising_edge(cell, module["ports"][clock]["bits"]):
            place = cell["attributes"].get("src", "").partition(":")[2]
            raise CoreError(f"{where} has a latch, or a register not for the rising edge of {clock!r} (line {place})")
    return ForeignModule(str(files[0]), sources, name, clock, reset, is_low, tuple(constants), inputs, outputs, rtlil)


def _flat_module(files: Sequence[Path], sources: Sources, top: str | None) -> tuple[str, Any, str]:
    """The name of a module, what Yosys knows about it, and `ForeignModule.rtlil`."""
    chosen = f"-top {_module_name(top)}" if top else "-auto-top"
    script = f"{read_script(sources)}hierarchy -check {chosen}; {_FLATTEN}"
    try:
        ports, rtlil = run_yosys(script, dict(sources), "ports.json", "flat.il")
    except ToolFailedError as error:
        said = str(error).partition(": ")[2]
        place = re.match(r"core(\d+)\.\w+", said)
        raise CoreError(f"{files[int(place[1])]}{said[place.end() :]}" if place else f"{files[0]}: {said}") from None
    modules = json.loads(ports)["modules"]
    name = next(name for name, module in modules.items() if int(module["attributes"].get("top", "0"), 2))
    return name, modules[name], rtlil.decode()


def _is_for_rising_edge(cell: Any, clock: Sequence[Any]) -> bool:
    """Whether a cell is no latch, and no register or memory for another event than the rising edge of the clock."""
    parameters, given = cell["parameters"], cell["connections"].get("CLK", clock)
    is_clocked = int(parameters.get("CLK_ENABLE", "1"), 2)
    is_rising = given == clock and int(parameters.get("CLK_POLARITY", "1"), 2)
    return cell["type"] not in _LATCHES and bool(is_rising or not is_clocked)


def read_script(sources: Sources) -> str:
    """The commands with which Yosys reads the sources."""
    return "".join(f"{_READERS[Path(name).suffix]} {name}; " for name, _ in sources)


def _module_name(name: str) -> str:
    # In a script, other characters separate or quote words, end commands, begin comments or options, or are patterns.
    if not re.fullmatch(r"[\w\\$.:\[\]][\w\\$.:\[\]-]*", name):
        raise CoreError(f"{name!r} is not the name of a module")
    return name


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CoreError(f"cannot read {str(path)!r}: {error.strerror}") from None
