# SPDX-License-Identifier: BSD-2-Clause
"""Cores to be measured, from this library or any other Verilog source, and the wrappers for the measurement."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from amaranth.lib.wiring import In

from utf8fpga.bench import flat
from utf8fpga.bench.cache import Cache
from utf8fpga.bench.digest import logic_digest
from utf8fpga.hdl import CoreParameters, axi_rtlil, axi_signature, module_name
from utf8fpga.hdl.foreign import CoreError, read_module
from utf8fpga.hdl.toolchain import present_version


@dataclass(frozen=True)
class Design:
    """A Verilog module with a description of its ports and properties.

    Attributes:
        sources: file names and contents; the suffix ``.sv`` means SystemVerilog, ``.il`` RTLIL.
        clock: the name of its clock, rising edge.
        inputs: names and widths of the inputs that are driven.
        outputs: names and widths of the outputs that are read; the others are unconnected.
        reset: the name of its reset; None where there is none.
        constants: name, width and value of each input that is tied off.
        is_whole: whether all outputs are connected.
        design: a digest of the logic, which shows whether recorded figures are current.
        expression: the Python expression that builds it; empty for a foreign core.
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
    expression: str = ""
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


VERILOG_LANES = 16
"""Upper bound on the lanes of cores that are measured from Verilog; wider ones are measured from RTLIL."""


def measured_core(parameters: CoreParameters, title: str | None = None, *, cache: Cache | None = None) -> Design:
    """A core of this library with AXI4-Stream ports.

    Args:
        title: its title in tables; default: `CoreParameters.title`.
        cache: a cache for the Verilog; default: none.

    Raises:
        TableError: the architecture does not support the table.
        ToolError: Yosys is missing or failed.
        CacheError: the cache cannot be written.
    """
    core = parameters.build()
    lanes, growth, members = core.lanes, parameters.growth(core), axi_signature(core).members
    ports = [(name, member.flow, member.shape) for name, member in members.items() if name not in ("clk", "rst")]
    rtlil, size = axi_rtlil(core), members["s_axis_tdata"].shape // 8
    source = "core.il", rtlil
    # Yosys 0.70 fails with an internal assertion when it reads the Verilog of more lanes.
    if lanes <= VERILOG_LANES:
        source = "core.v", _verilog(rtlil, module_name(core), cache)
    return Design(
        title=title or parameters.title,
        sources=(source,),
        top=module_name(core),
        clock="clk",
        reset="rst",
        inputs=tuple((name, width) for name, flow, width in ports if flow is In),
        outputs=tuple((name, width) for name, flow, width in ports if flow is not In),
        design=logic_digest(rtlil),
        expression=parameters.expression(),
        series=parameters.series,
        lanes=lanes,
        packed=core.packed or lanes == 1,
        # Of a core with a tap only the tap is measured.
        latency=getattr(core, "tap", core).latency,
        bytes_per_clock=size if growth == 1 else size / growth,
    )


def _verilog(rtlil: str, top: str, cache: Cache | None) -> str:
    if cache is None:
        return flat.flat_verilog(rtlil, top)
    # The key includes the source of the module that writes the Verilog.
    given = ["Verilog", rtlil, inspect.getsource(flat), present_version("yosys")]
    key = hashlib.sha256(json.dumps(given).encode()).hexdigest()
    if (kept := cache.get(key)) is not None:
        return kept.decode()
    written = flat.flat_verilog(rtlil, top)
    cache.put(key, written.encode())
    return written


def foreign_core(
    files: Sequence[Path], top: str | None = None, ports: Mapping[str, Any] = MappingProxyType({})
) -> Design:
    """Any other core in Verilog, SystemVerilog or RTLIL.

    Args:
        top: its top module; default: the module that no other one instantiates.
        ports: the description of its ports, see `read_description`; each key is optional, and by default read from the
            Verilog: `clock`, `reset` (empty where there is none) and `reset_active` by their names, `inputs` that are
            driven and `outputs` that are read (all), `constants` of the inputs that are tied off (none), `title` (the
            name of the module). `lanes`, `latency` and `bytes_per_clock` on the worst input are otherwise unknown.
    """
    module = read_module(files, top)
    where, name = module.where, module.name
    reset, active = ports.get("reset"), ports.get("reset_active")
    tied = module.tie_off(ports.get("clock"), reset, active, ports.get("constants", {}))
    driven = _checked(where, name, "input", ports.get("inputs"), tied.free)
    read = _checked(where, name, "output", ports.get("outputs"), module.outputs)
    if left := [port for port in tied.free if port not in driven]:
        raise CoreError(f"{where}: the input {left[0]!r} of {name} is neither among inputs nor among constants")
    if not driven or not read:
        raise CoreError(f"{where}: {name} has no {'outputs' if driven else 'inputs beside clock and reset'}")
    return Design(
        title=ports.get("title") or name,
        sources=module.sources,
        top=name,
        clock=tied.clock,
        reset=tied.reset,
        reset_low=tied.reset_low,
        inputs=tuple(driven.items()),
        outputs=tuple(read.items()),
        constants=tied.constants,
        is_whole=read.keys() == module.outputs.keys(),
        design=hashlib.sha256(json.dumps(module.sources).encode()).hexdigest(),
        lanes=ports.get("lanes"),
        latency=ports.get("latency"),
        bytes_per_clock=ports.get("bytes_per_clock"),
    )


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
