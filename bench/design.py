# SPDX-License-Identifier: BSD-2-Clause
"""Cores to be measured, from this library or any other Verilog source, and the wrappers for the measurement."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from amaranth.lib.wiring import In

from utf8fpga.hdl import CoreParameters, axi_rtlil, axi_signature, build, command_words, entry_of, module_name
from utf8fpga.sim.foreign_module import CoreError, read_module

Sources = tuple[tuple[str, str], ...]
"""File names and contents; the suffix ``.sv`` means SystemVerilog, ``.il`` RTLIL."""


@dataclass(frozen=True)
class Design:
    """A module with a description of its ports and properties.

    Attributes:
        title: its name in tables.
        core: the words that select it on the command line; empty for a foreign core.
        digest: identifies the circuit, to show whether recorded figures are current.
        inputs: names and widths of the inputs that are driven.
        outputs: names and widths of the outputs.
        reset: the name of its reset; None where there is none.
        constants: name, width and value of each input that is tied off.
        lanes: the number of bytes in a full beat; None where unknown, like the following.
        latency: cycles from the byte that determines an item to the item.
        bytes_per_clock: bytes per cycle on the worst input.
    """

    title: str
    sources: Sources
    top: str
    clock: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    reset: str | None = None
    reset_low: bool = False
    constants: tuple[tuple[str, int, int], ...] = ()
    core: str = ""
    digest: str = ""
    lanes: int | None = None
    latency: int | None = None
    bytes_per_clock: float | None = None

    def bare(self) -> tuple[Sources, str]:
        """Sources and top module for the area: the core with constants tied off."""
        if not self.constants:
            return self.sources, self.top
        name = self._free_name("bare")
        inputs = [f"input [{width - 1}:0] in{number}" for number, (_, width) in enumerate(self.inputs)]
        outputs = [f"output [{width - 1}:0] out{number}" for number, (_, width) in enumerate(self.outputs)]
        signals = [port.split()[-1] for port in (*inputs, *outputs)]
        ports = ", ".join(["input clk", "input rst", *inputs, *outputs])
        text = f"module {name}({ports});\n  {self._instance('rst', signals)}\nendmodule\n"
        return (*self.sources, (f"{name}.v", text)), name

    def between_registers(self) -> tuple[Sources, str]:
        """Sources and top module for the speed: the core with a register on every input and output, and five pins.

        Without `keep`, synthesis would merge the register of one input with a delay of its neighbour.
        """
        name = self._free_name("wrapper")
        width_in, width_out = (sum(width for _, width in ports) for ports in (self.inputs, self.outputs))
        shifted_in = f"{{shift_in[{width_in - 2}:0], feed}}" if width_in > 1 else "feed"
        shifted_out = f"{{1'b0, shift_out[{width_out - 1}:1]}}" if width_out > 1 else "1'b0"
        signals = [*_slices("inputs", self.inputs), *_slices("outputs", self.outputs)]
        text = f"""
module {name}(input clk, input rst, input feed, input load, output read);
  reg reset;
  reg [{width_in - 1}:0] shift_in;
  (* keep *) reg [{width_in - 1}:0] inputs;
  wire [{width_out - 1}:0] outputs;
  reg [{width_out - 1}:0] outputs_held, shift_out;
  assign read = shift_out[0];
  always @(posedge clk) begin
    reset <= {"~" if self.reset_low else ""}rst;
    shift_in <= {shifted_in};
    inputs <= shift_in;
    outputs_held <= outputs;
    shift_out <= load ? outputs_held : {shifted_out};
  end
  {self._instance("reset", signals)}
endmodule
"""
        return (*self.sources, (f"{name}.v", text)), name

    def _instance(self, reset: str, signals: Sequence[str]) -> str:
        """The instance of the core in a wrapper, with a signal for each input and output."""
        connected = [(self.clock, "clk")]
        if self.reset:
            connected.append((self.reset, reset))
        connected += zip([name for name, _ in (*self.inputs, *self.outputs)], signals, strict=True)
        connected += [(name, f"{width}'d{value}") for name, width, value in self.constants]
        ports = ", ".join(f".{_escaped(port)}({signal})" for port, signal in connected)
        return f"{_escaped(self.top)} core({ports});"

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


def measured_core(parameters: CoreParameters) -> Design:
    """A core of this library with AXI4-Stream ports."""
    core, entry = build(parameters), entry_of(parameters)
    growth, members = entry.growth(core), axi_signature(core).members
    ports = [(name, member.flow, member.shape) for name, member in members.items() if name not in ("clk", "rst")]
    rtlil, size = axi_rtlil(core), members["s_axis_tdata"].shape // 8
    return Design(
        title=entry.title,
        sources=(("core.il", rtlil),),
        top=module_name(core),
        clock="clk",
        reset="rst",
        inputs=tuple((name, width) for name, flow, width in ports if flow is In),
        outputs=tuple((name, width) for name, flow, width in ports if flow is not In),
        core=" ".join(command_words(parameters)),
        digest=circuit_digest(rtlil),
        lanes=core.lanes,
        # Of a core with a tap only the tap is measured.
        latency=getattr(core, "tap", core).latency,
        bytes_per_clock=size if growth == 1 else size / growth,
    )


def circuit_digest(rtlil: str) -> str:
    """A digest of a circuit that its comments, and the names of its signals and cells, do not change.

    So a circuit can be made easier to read while figures that were measured for it stay valid.
    """
    text = re.sub(r"^ *attribute (?!\\init ).*\n", "", rtlil, flags=re.MULTILINE)
    declared = re.findall(r"^ *(?:wire(?! .*(?:input|output))|cell|memory|module) .*?(\S+)$", text, re.MULTILINE)
    numbers = {name: str(number) for number, name in enumerate(declared)}
    numbered = re.sub(r"[\\$]\S+", lambda name: numbers.get(name[0], name[0]), text)
    return hashlib.sha256(numbered.encode()).hexdigest()


def foreign_core(
    files: Sequence[Path], top: str | None = None, ports: Mapping[str, Any] = MappingProxyType({})
) -> Design:
    """Any other core in Verilog, SystemVerilog or RTLIL.

    Args:
        top: its top module; default: the module that no other one instantiates.
        ports: the description of its ports, see `read_description`; each key is optional: `clock` and `reset` are found
            by their names, and `title` is that of the module. `lanes`, `latency` and `bytes_per_clock` on the worst
            input are otherwise unknown.
    """
    module = read_module(files, top, ports)
    if not module.inputs or not module.outputs:
        missing = "outputs" if module.inputs else "inputs beside clock and reset"
        raise CoreError(f"{module.where}: {module.name} has no {missing}")
    return Design(
        title=ports.get("title") or module.name,
        sources=module.sources,
        top=module.name,
        clock=module.clock,
        reset=module.reset or None,
        reset_low=module.reset_low,
        inputs=tuple(module.inputs.items()),
        outputs=tuple(module.outputs.items()),
        constants=module.constants,
        digest=hashlib.sha256(json.dumps(module.sources).encode()).hexdigest(),
        lanes=ports.get("lanes"),
        latency=ports.get("latency"),
        bytes_per_clock=ports.get("bytes_per_clock"),
    )
