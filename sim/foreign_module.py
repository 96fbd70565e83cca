# SPDX-License-Identifier: BSD-2-Clause
"""Cores in Verilog from elsewhere, and their ports, as read by Yosys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from utf8fpga.hdl.toolchain import ToolFailedError, run_yosys
from utf8fpga.model import InvalidArgumentError

Sources: TypeAlias = tuple[tuple[str, str], ...]
"""Names of our own, of which the suffix is one of `_READERS`, and contents of the files of a core."""

_READERS = {".v": "read_verilog", ".sv": "read_verilog -sv", ".il": "read_rtlil"}
"""The command of Yosys that reads a file with this suffix."""

_FLATTEN = (
    "proc; flatten; opt_clean; write_json ports.json; "
    "chformal -remove; delete t:$print; async2sync; rename -top top; write_rtlil flat.il"
)

_LATCHES = ("$dlatch", "$adlatch", "$dlatchsr", "$sr")


class CoreError(InvalidArgumentError):
    """A core cannot be measured or checked, or its description is wrong; the message is one line with the reason."""


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
    # Names of users have characters that mean something to Yosys.
    sources = tuple((f"core{number or ''}{path.suffix}", _text_of(path)) for number, path in enumerate(files))
    chosen = f"-top {_module_name(top)}" if top else "-auto-top"
    script = f"{read_script(sources)}hierarchy -check {chosen}; {_FLATTEN}"
    try:
        ports, rtlil = run_yosys(script, dict(sources), "ports.json", "flat.il")
    except ToolFailedError as error:
        said = str(error).partition(": ")[2]
        place = re.match(r"core(\d*)\.\w+", said)
        said = f"{files[int(place[1] or 0)]}{said[place.end() :]}" if place else f"{files[0]}: {said}"
        raise CoreError(said) from None
    modules = json.loads(ports)["modules"]
    name = next(name for name, module in modules.items() if int(module["attributes"].get("top", "0"), 2))
    where, module = f"{files[0]}: {_module_name(name)}", modules[name]
    inputs, outputs = (
        {port: len(found["bits"]) for port, found in module["ports"].items() if found["direction"] == flow}
        for flow in ("input", "output")
    )
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
    for cell in module.get("cells", {}).values():
        _check_register(where, cell, clock, module["ports"][clock]["bits"])
    return ForeignModule(
        str(files[0]), sources, name, clock, reset, is_low, tuple(constants), inputs, outputs, rtlil.decode()
    )


def _check_register(where: str, cell: Mapping[str, Any], clock: str, bits: Sequence[Any]) -> None:
    """Check that a cell is no latch, and no register or memory for another event than the rising edge of the clock."""
    parameters, given = cell["parameters"], cell["connections"].get("CLK", bits)
    is_clocked = int(parameters.get("CLK_ENABLE", "1"), 2)
    is_rising = given == bits and int(parameters.get("CLK_POLARITY", "1"), 2)
    if cell["type"] in _LATCHES or (is_clocked and not is_rising):
        place = cell["attributes"].get("src", "").partition(":")[2]
        raise CoreError(f"{where} has a latch, or a register not for the rising edge of {clock!r} (line {place})")


def read_script(sources: Sources) -> str:
    """The commands with which Yosys reads the sources."""
    return "".join(f"{_READERS[Path(name).suffix]} {name}; " for name, _ in sources)


def _module_name(name: str) -> str:
    # In a script, other characters separate or quote words, end commands, begin comments or options, or are patterns.
    if not re.fullmatch(r"[\w\\$.:\[\]][\w\\$.:\[\]-]*", name):
        raise CoreError(f"{name!r} is not the name of a module")
    return name


def _text_of(path: Path) -> str:
    if path.suffix not in _READERS:
        raise CoreError(f"{path}: the name of a file must end in .v (Verilog), .sv (SystemVerilog) or .il (RTLIL)")
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CoreError(f"cannot read {str(path)!r}: {error.strerror}") from None
