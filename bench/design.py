# SPDX-License-Identifier: BSD-2-Clause
"""Cores to be measured, from this library or any other Verilog source, and the wrappers for the measurement."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import In

from utf8fpga.bench.cache import Cache
from utf8fpga.hdl import Core, CoreParameters, axi_rtlil, axi_signature, axi_verilog, module_name, verilog
from utf8fpga.hdl.toolchain import ToolError, present_version, run_tool
from utf8fpga.model import InvalidArgumentError

__all__ = ["CoreError", "Design", "Ports", "foreign_core", "measured_core", "read_ports"]


class CoreError(InvalidArgumentError):
    """A core cannot be measured, or its description is wrong; the message is one line with the reason."""


@dataclass(frozen=True)
class Design:
    """A Verilog module with a description of its ports and properties.

    Attributes:
        title: its title in tables.
        sources: file names and contents; the suffix ``.sv`` means SystemVerilog, ``.il`` RTLIL.
        top: the name of the top module.
        clock: the name of its clock, rising edge.
        inputs: names and widths of the inputs that are driven.
        outputs: names and widths of the outputs that are read; the others are unconnected.
        reset: the name of its reset; None where there is none.
        reset_low: whether the reset is active low.
        constants: name, width and value of each input that is tied off.
        is_whole: whether all outputs are connected.
        design: a digest of the logic, which shows whether recorded figures are current.
        series: the title of the line in the plot over lanes; empty for a foreign core.
        lanes: the number of bytes in a full beat; None where unknown, like the following.
        packed: whether the words of a beat are contiguous.
        latency: cycles from the byte that determines an item to the item.
        bytes_per_clock: bytes per cycle on the worst input.
    """

    title: str
    sources: tuple[tuple[str, str], ...]
    top: str
    clock: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    reset: str | None = None
    reset_low: bool = False
    constants: tuple[tuple[str, int, int], ...] = ()
    is_whole: bool = True
    design: str = ""
    series: str = ""
    lanes: int | None = None
    packed: bool | None = None
    latency: int | None = None
    bytes_per_clock: float | None = None

    @property
    def alone(self) -> tuple[tuple[tuple[str, str], ...], str]:
        """Sources and top module for the area: the core with constants tied off and without unused outputs."""
        if self.is_whole and not self.constants:
            return self.sources, self.top
        name = self._free_name("bare")
        widths = [
            *((f"in{number}", "input", width) for number, (_, width) in enumerate(self.inputs)),
            *((f"out{number}", "output", width) for number, (_, width) in enumerate(self.outputs)),
        ]
        ports = ["input clk", "input rst", *(f"{flow} [{width - 1}:0] {port}" for port, flow, width in widths)]
        connections = self._connections("rst", [port for port, _, _ in widths])
        text = f"module {name}({', '.join(ports)});\n  {_escaped(self.top)} core({connections});\nendmodule\n"
        return (*self.sources, (f"{name}.v", text)), name

    @property
    def between_registers(self) -> tuple[tuple[tuple[str, str], ...], str]:
        """Sources and top module for the speed: the core with a register on every input and output, and five pins."""
        name = self._free_name("wrapper")
        fed, read = (sum(width for _, width in ports) for ports in (self.inputs, self.outputs))
        shifted_in = f"{{feeding[{fed - 2}:0], feed}}" if fed > 1 else "feed"
        shifted_out = f"{{1'b0, reading[{read - 1}:1]}}" if read > 1 else "1'b0"
        bits = [*_slices("given", self.inputs), *_slices("result", self.outputs)]
        text = f"""
module {name}(input clk, input rst, input feed, input load, output read);
  reg reset;
  reg [{fed - 1}:0] feeding, given;
  wire [{read - 1}:0] result;
  reg [{read - 1}:0] taken, reading;
  assign read = reading[0];
  always @(posedge clk) begin
    reset <= {"~" if self.reset_low else ""}rst;
    feeding <= {shifted_in};
    given <= feeding;
    taken <= result;
    reading <= load ? taken : {shifted_out};
  end
  {_escaped(self.top)} core({self._connections("reset", bits)});
endmodule
"""
        return (*self.sources, (f"{name}.v", text)), name

    def _connections(self, reset: str, signals: Sequence[str]) -> str:
        given = [(self.clock, "clk")]
        if self.reset:
            given.append((self.reset, reset))
        given += zip([name for name, _ in (*self.inputs, *self.outputs)], signals, strict=True)
        given += [(name, f"{width}'d{value}") for name, width, value in self.constants]
        return ", ".join(f".{_escaped(port)}({signal})" for port, signal in given)

    def _free_name(self, name: str) -> str:
        """A module name that does not occur in the sources."""
        while any(re.search(rf"\b{name}\b", text) for _, text in self.sources):
            name += "_"
        return name


def _slices(register: str, ports: Sequence[tuple[str, int]]) -> list[str]:
    slices, at = [], 0
    for _, width in ports:
        slices.append(f"{register}[{at + width - 1}:{at}]")
        at += width
    return slices


def _escaped(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_$]*", name) else f"\\{name} "


_VERILOG_LANES = 16
"""Upper bound on the lanes of cores that are measured from Verilog; wider ones are measured from RTLIL."""


def measured_core(parameters: CoreParameters, title: str | None = None, *, cache: Cache | None = None) -> Design:
    """A core of this library with AXI4-Stream ports.

    Args:
        parameters: the parameters of the core.
        title: its title in tables; default: `CoreParameters.title`.
        cache: a cache for the Verilog; default: none.

    Raises:
        TableError: the architecture does not support the table.
        ToolError: Yosys is missing or failed.
        CacheError: the cache cannot be written.
    """
    core = parameters.build()
    lanes, members = core.lanes, axi_signature(core).members
    ports = [(name, member.flow, member.shape) for name, member in members.items() if name not in ("clk", "rst")]
    rtlil = axi_rtlil(core)
    return Design(
        title=title or parameters.title,
        # Yosys 0.70 fails with an internal assertion when it reads the Verilog of more lanes.
        sources=(("core.v", _verilog(core, rtlil, cache)) if lanes <= _VERILOG_LANES else ("core.il", rtlil),),
        top=module_name(core),
        clock="clk",
        reset="rst",
        inputs=tuple((name, width) for name, flow, width in ports if flow is In),
        outputs=tuple((name, width) for name, flow, width in ports if flow is not In),
        design=hashlib.sha256(rtlil.encode()).hexdigest(),
        series=parameters.series,
        lanes=lanes,
        packed=core.packed or lanes == 1,
        latency=core.latency,
        bytes_per_clock=members["s_axis_tdata"].shape // 8,
    )


def _verilog(core: Core, rtlil: str, cache: Cache | None) -> str:
    if cache is None:
        return axi_verilog(core)
    # The key includes the source of the module that writes the Verilog.
    given = ["Verilog", rtlil, inspect.getsource(verilog), present_version("yosys")]
    key = hashlib.sha256(json.dumps(given).encode()).hexdigest()
    text = cache.get(key)
    if not isinstance(text, str):
        text = axi_verilog(core)
        cache.put(key, text)
    return text


@dataclass(frozen=True)
class Ports:
    """A description of a foreign core's ports; attributes that are None are derived from its Verilog.

    Attributes:
        clock: the name of the clock.
        reset: the name of the reset; empty where there is none.
        reset_active: ``high`` or ``low``.
        inputs: names and widths of the inputs that are driven; all others must be constants.
        outputs: names and widths of the outputs that are read; the others are unconnected.
        constants: names and values of the inputs that are tied off.
        title: the title of the core in tables; default: the name of its module.
        lanes: the number of bytes in a full beat; default: unknown, as for the following.
        latency: cycles from the byte that determines an item to the item.
        bytes_per_clock: bytes per cycle on the worst input.
    """

    clock: str | None = None
    reset: str | None = None
    reset_active: str | None = None
    inputs: dict[str, int] | None = None
    outputs: dict[str, int] | None = None
    constants: dict[str, int] | None = None
    title: str | None = None
    lanes: int | None = None
    latency: int | None = None
    bytes_per_clock: float | None = None


_PORT_KEYS: dict[str, tuple[type, ...]] = {
    "clock": (str,),
    "reset": (str,),
    "reset_active": (str,),
    "inputs": (dict,),
    "outputs": (dict,),
    "constants": (dict,),
    "title": (str,),
    "lanes": (int,),
    "latency": (int,),
    "bytes_per_clock": (int, float),
}


_TYPE_NAMES: dict[type, str] = {str: "a string", dict: "a table", int: "an integer", float: "a number"}


def read_ports(path: Path) -> Ports:
    """Read a description of ports from TOML or, where the name ends in ``.json``, from JSON.

    ::

        clock = "clk"
        reset = "rst_n"             # "" where there is none
        reset_active = "low"        # or "high"; default: by the reset's name
        bytes_per_clock = 0.5       # on the worst input
        inputs = { data = 8, valid = 1 }
        outputs = { code_point = 21, ready = 1 }
        constants = { enable = 1 }  # inputs that are tied off

    Every key is optional; see `Ports` for the defaults and for the other keys.

    Raises:
        CoreError: the file cannot be read, or a key or a value is invalid.
    """
    where = _shown(path)
    try:
        text = path.read_text(encoding="utf-8")
        specified: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise CoreError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        form = "JSON" if path.suffix == ".json" else "TOML"
        raise CoreError(f"{where} is not {form}: {' '.join(str(error).split())}") from None
    if not isinstance(specified, dict):
        raise CoreError(f"{where} is not a table of {', '.join(_PORT_KEYS)}")
    for key, value in specified.items():
        if fault := _fault(key, value):
            raise CoreError(f"{where}: {fault}")
    if specified.get("reset_active", "high") not in ("high", "low"):
        raise CoreError(f"{where}: reset_active = {specified['reset_active']!r} is neither 'high' nor 'low'")
    return Ports(**specified)


def _fault(key: str, value: object) -> str | None:
    """The error in one key and value of a description of ports; None if they are valid."""
    if key not in _PORT_KEYS:
        return f"unknown key {key!r} (known: {', '.join(_PORT_KEYS)})"
    if not isinstance(value, _PORT_KEYS[key]) or isinstance(value, bool):
        return f"{key} = {value!r} is not {_TYPE_NAMES[_PORT_KEYS[key][-1]]}"
    if isinstance(value, dict) and not all(type(number) is int and number >= 0 for number in value.values()):
        return f"{key} = {value!r} is not a table of names and numbers"
    if key in ("lanes", "bytes_per_clock") and isinstance(value, int | float) and not value > 0:
        return f"{key} = {value!r} is not above 0"
    if key == "latency" and isinstance(value, int) and value < 0:
        return f"latency = {value} is negative: it must be 0 or more"
    return f"{key} = {value!r} is not finite" if value == math.inf else None


_CLOCK = re.compile(r"(?:[a-z]+_)?a?(?:clk|clock)(?:_?in?)?", re.IGNORECASE)
_RESET = re.compile(r"(?:[a-z]+_)?(?P<low>n)?a?(?:rst|reset)(?P<n>_?n|_?ni)?(?:_?in?)?", re.IGNORECASE)


def foreign_core(files: Sequence[Path], top: str | None = None, ports: Ports | None = None) -> Design:
    """Any other core in Verilog or SystemVerilog.

    Args:
        files: its source files; the suffix ``.sv`` means SystemVerilog.
        top: its top module; default: the module that no other one instantiates.
        ports: the description of its ports; default: all are read from the Verilog, and clock and
            reset are recognised by their names.

    Raises:
        CoreError: a file cannot be read, Yosys rejects it, or the description does not match the ports.
        ToolError: Yosys is missing.
    """
    ports = ports or Ports()
    sources = tuple((f"core{number or ''}{path.suffix}", _text(path)) for number, path in enumerate(files))
    where = _shown(files[0])
    top, found = _declared(sources, top, where)
    widths = {
        flow: {name: width for name, (as_, width) in found.items() if as_ == flow} for flow in ("input", "output")
    }
    if both := [name for name, (flow, _) in found.items() if flow not in widths]:
        raise CoreError(f"{where}: {top} has the port {both[0]!r} that is input and output, which cannot be measured")
    inputs, outputs = widths["input"], widths["output"]
    clock = _chosen(where, top, "clock", ports.clock, inputs, _CLOCK)
    if clock is None:
        raise CoreError(
            f"{where}: no input of {top} has the name of a clock (inputs: {', '.join(inputs) or 'none'}): "
            "specify it with --ports"
        )
    others = {name: width for name, width in inputs.items() if name != clock}
    reset = None if ports.reset == "" else _chosen(where, top, "reset", ports.reset, others, _RESET)
    low = ports.reset_active == "low" if ports.reset_active else bool(reset and _is_low(reset))
    others.pop(reset or "", None)
    constants = ports.constants or {}
    for name, value in constants.items():
        if name not in others:
            raise CoreError(f"{where}: {top} has no input {name!r} to tie off (inputs: {', '.join(others)})")
        if value >= 1 << others[name]:
            raise CoreError(f"{where}: {value} does not fit into the {others[name]} bits of the input {name!r}")
    free = {name: width for name, width in others.items() if name not in constants}
    driven = _checked(where, top, "input", ports.inputs, free)
    read = _checked(where, top, "output", ports.outputs, outputs)
    if left := [name for name in free if name not in driven]:
        raise CoreError(f"{where}: the input {left[0]!r} of {top} is neither among inputs nor among constants")
    if not driven or not read:
        raise CoreError(f"{where}: {top} has no {'outputs' if driven else 'inputs beside clock and reset'}")
    return Design(
        title=ports.title or top,
        sources=sources,
        top=top,
        clock=clock,
        reset=reset,
        reset_low=low,
        inputs=tuple(driven.items()),
        outputs=tuple(read.items()),
        constants=tuple((name, others[name], value) for name, value in constants.items()),
        is_whole=read.keys() == outputs.keys(),
        design=hashlib.sha256(json.dumps(sources).encode()).hexdigest(),
        lanes=ports.lanes,
        latency=ports.latency,
        bytes_per_clock=ports.bytes_per_clock,
    )


def _shown(path: Path) -> str:
    """A file name, quoted if it is not printable."""
    return str(path) if str(path).isprintable() else repr(str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CoreError(f"cannot read {str(path)!r}: {error.strerror}") from None


def read_script(sources: Sequence[tuple[str, str]]) -> str:
    """The commands with which Yosys reads the sources."""
    readers = {".sv": "read_verilog -sv", ".il": "read_rtlil"}
    return "".join(f"{readers.get(Path(name).suffix, 'read_verilog')} {name}; " for name, _ in sources)


def _declared(
    sources: Sequence[tuple[str, str]], top: str | None, where: str
) -> tuple[str, dict[str, tuple[str, int]]]:
    """The top module and the direction and width of each of its ports, as read by Yosys."""
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        for name, text in sources:
            (directory / name).write_text(text, encoding="utf-8")
        chosen = f"-top {_yosys_name(top)}" if top else "-auto-top"
        script = f"{read_script(sources)}hierarchy -check {chosen}; proc; write_json ports.json"
        try:
            run_tool("yosys", ["-q", "-p", script], directory=directory)
        except ToolError as error:
            if "failed with status" not in str(error):
                raise
            raise CoreError(f"{where}: {str(error).partition(': ')[2]}") from None
        modules: dict[str, Any] = json.loads((directory / "ports.json").read_text(encoding="utf-8"))["modules"]
    tops = [name for name, module in modules.items() if int(module["attributes"].get("top", "0"), 2)]
    if not tops:
        raise CoreError(f"{where}: it has no module that can be the top: specify one with --top")
    return tops[0], {name: (port["direction"], len(port["bits"])) for name, port in modules[tops[0]]["ports"].items()}


def _yosys_name(name: str) -> str:
    if re.search(r"[\s;\"']", name):
        raise CoreError(f"{name!r} is not the name of a module")
    return name


def _chosen(
    where: str, top: str, what: str, specified: str | None, inputs: dict[str, int], names: re.Pattern[str]
) -> str | None:
    """The name of the clock or the reset: as specified; default: the only input with such a name."""
    if specified is not None:
        if specified not in inputs:
            raise CoreError(f"{where}: {top} has no input {specified!r} for its {what} (inputs: {', '.join(inputs)})")
        if inputs[specified] != 1:
            raise CoreError(f"{where}: the {what} {specified!r} of {top} has {inputs[specified]} bits, not 1")
        return specified
    likely = [name for name, width in inputs.items() if width == 1 and names.fullmatch(name)]
    if len(likely) > 1:
        raise CoreError(f"{where}: {top} may have the {what} {' or '.join(likely)}: specify it with --ports")
    return likely[0] if likely else None


def _is_low(reset: str) -> bool:
    found = _RESET.fullmatch(reset)
    return bool(found and (found["low"] or found["n"]))


def _checked(
    where: str, top: str, flow: str, specified: dict[str, int] | None, found: dict[str, int]
) -> dict[str, int]:
    if specified is None:
        return found
    for name, width in specified.items():
        if name not in found:
            raise CoreError(f"{where}: {top} has no {flow} {name!r} ({flow}s: {', '.join(found)})")
        if width != found[name]:
            raise CoreError(f"{where}: the {flow} {name!r} of {top} has {found[name]} bits, not {width}")
    return specified
