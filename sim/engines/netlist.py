# SPDX-License-Identifier: BSD-2-Clause
"""Netlists for the engine `netlist`: a core after synthesis, and for iCE40 after placement and routing.

The cells have models of this project, ``ice40.v`` and ``ecp5.v``. With them a netlist is a circuit of gates like any
other, and the compiled engine simulates it.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, repeat
from pathlib import Path
from typing import Any

from utf8fpga.hdl.toolchain import ToolError, after_synthesis, present_version, run_tool
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.engines import gates, native
from utf8fpga.sim.engines.native import Circuit, source

FAMILIES = ("ice40", "ecp5")
"""The FPGA families whose cells have models; the first is the default."""

ROUTED_FAMILIES = ("ice40",)
"""The families of which the models include the cells of a routed design."""

_DEVICE = ("--hx8k", "--package", "ct256")
"""The device for routed cores: the iCE40 with most pins."""

_PINS = 206
"""Its pins for signals."""

_SEED = "1"


@dataclass(frozen=True)
class Netlist:
    """What the engine `netlist` simulates.

    Attributes:
        family: one of `FAMILIES`.
        routed: the design that nextpnr has packed, placed and routed, otherwise the synthesised netlist. A routed core
            has a pin for each bit of its streams, at most 206 with the clock.

    Raises:
        InvalidArgumentError: there is no such family, or its routed designs have no models.
    """

    family: str = FAMILIES[0]
    routed: bool = False

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise InvalidArgumentError(f"family {self.family!r} is not one of {', '.join(FAMILIES)}")
        if self.routed and self.family not in ROUTED_FAMILIES:
            raise InvalidArgumentError(
                f"routed designs are simulated for {', '.join(ROUTED_FAMILIES)}, not for {self.family}"
            )

    def circuit(self, design: str) -> Circuit:
        """The circuit of a core.

        Args:
            design: the core in RTLIL, with the top module ``top``.
        """
        return NetlistCircuit(design, self)

    def write_json(self, design: str, folder: Path, name: str) -> None:
        """Write the netlist of a core as JSON of Yosys.

        Args:
            design: see `circuit`.
            folder: the folder for this and other files.
            name: the name of the file in it.

        Raises:
            InvalidArgumentError: the routed design has too many pins.
            ToolError: a tool is missing or failed.
        """
        finish, files = after_synthesis(self.family)
        for file, text in {"design.il": design, **files}.items():
            (folder / file).write_text(text, encoding="utf-8")
        synthesised = "synthesised.json" if self.routed else name
        script = f"read_rtlil design.il; synth_{self.family} -top top; {finish}write_json {synthesised}"
        run_tool("yosys", ["-q", "-p", script], directory=folder)
        if self.routed:
            ports = _top(json.loads((folder / synthesised).read_text(encoding="utf-8")))["ports"]
            if (pins := sum(len(port["bits"]) for port in ports.values())) > _PINS:
                raise InvalidArgumentError(
                    f"the core has {pins} pins, but a routed design at most {_PINS}: use fewer lanes"
                )
            arguments = ["--json", synthesised, "--write", name, "--seed", _SEED, "--quiet", *_DEVICE]
            run_tool("nextpnr-ice40", arguments, directory=folder)


@dataclass(frozen=True)
class NetlistCircuit:
    """The netlist of a core as a circuit of gates; see `Circuit`.

    Attributes:
        changes: commands for Yosys, each with its semicolon, that change the netlist, for tests that this is found.
    """

    design: str
    netlist: Netlist
    changes: str = ""

    @property
    def key(self) -> Sequence[str]:
        netlist = self.netlist
        router = present_version("nextpnr-ice40") if netlist.routed else ""
        files = after_synthesis(netlist.family)[1].values()
        sources = source("netlist.py"), source(f"{netlist.family}.v")
        return [self.design, netlist.family, router, self.changes, *sources, *files]

    def write(self, folder: Path) -> None:
        self.netlist.write_json(self.design, folder, "netlist.json")
        text = (folder / "netlist.json").read_text(encoding="utf-8")
        _write_modelled(text, self.netlist.family, folder, changes=self.changes)


@dataclass(frozen=True)
class LineCircuit:
    """A routed iCE40 with an input line and an output line as a circuit of gates; see `Circuit`.

    Attributes:
        netlist: its netlist in JSON of Yosys, or in Verilog as written by ``icebox_vlog``, with the top module ``top``.
        clock: the name of the port of the clock.
        rx: the name of the port of the input line.
        tx: the name of the port of the output line.
    """

    netlist: str
    is_verilog: bool
    clock: str
    rx: str
    tx: str

    @property
    def key(self) -> Sequence[str]:
        return [self.netlist, self.clock, self.rx, self.tx, source("netlist.py"), source("ice40.v")]

    def write(self, folder: Path) -> None:
        ports = {self.clock: "clk", self.rx: "rx", self.tx: "tx"}
        changes = "cd top; " + "".join(f"rename {port} {name}; " for port, name in ports.items()) + "cd ..; "
        if self.is_verilog:
            (folder / "netlist.v").write_text(self.netlist, encoding="utf-8")
            _write_gates(f"read_verilog netlist.v; {changes}", "ice40", folder)
        else:
            design = json.loads(self.netlist)
            for name, port in _top(design)["ports"].items():
                # Ports of pads are bidirectional.
                port["direction"] = "input" if name in (self.clock, self.rx) else "output"
            _write_modelled(json.dumps(design), "ice40", folder, changes=changes)


class Line:
    """A simulation of a circuit with the ports ``clk``, ``rx`` and ``tx``, and optionally ``leds``.

    Attributes:
        leds: for each LED whether it was on in one of the cycles of the last call.

    Args:
        leds: the width of its output ``leds``; 0: it has none.
    """

    def __init__(self, circuit: Circuit, *, leds: int = 0) -> None:
        definitions = f"#define LEDS {leds}\n" if leds else ""
        self._library = native.library(circuit, definitions, native.default_cache(), driver="line.c")
        self._library.line_size.restype = ctypes.c_uint64
        self._state = ctypes.create_string_buffer(self._library.line_size())
        self._leds = leds
        self.leds = [False] * leds
        self.reset()

    def reset(self) -> None:
        """Set all flip-flops and memories to their initial values."""
        self._library.line_reset(self._state)

    def run(self, levels: bytes) -> bytes:
        """The level of the output line in each of the next cycles.

        Args:
            levels: the level of the input line in each of them, 0 or 1.
        """
        found, leds = ctypes.create_string_buffer(len(levels)), ctypes.create_string_buffer(max(1, self._leds))
        self._library.line_run(self._state, levels, found, ctypes.c_uint64(len(levels)), leds)
        self.leds = [byte != 0 for byte in leds.raw[: self._leds]]
        return found.raw


def _write_modelled(netlist: str, family: str, folder: Path, *, changes: str = "") -> None:
    """Write a netlist in JSON of Yosys as gates, after commands for Yosys, each with its semicolon, that change it."""
    modules = json.loads(netlist)
    top = _top(modules)
    cells, nets = top["cells"], (bit for net in top["netnames"].values() for bit in net["bits"])
    fresh = count(1 + max(bit for bit in nets if isinstance(bit, int)))
    for name, cell in cells.items():
        # nextpnr lists the pins without a connection, for which the models have values.
        cell["connections"] = {pin: bits for pin, bits in cell["connections"].items() if bits}
        if cell["type"] in _BUSES:
            _join_pins(name, cell, fresh)
        if cell["type"] == "SB_GB" and "USER_SIGNAL_TO_GLOBAL_BUFFER" not in cell["connections"]:
            # The buffer of a pad, to which nextpnr has no connection but in the name.
            pad = cells.get(name.removeprefix("$gbuf_").removesuffix("_io"))
            if pad is None:
                raise ToolError(f"the global buffer {name!r} has no input in the netlist")
            cell["connections"]["USER_SIGNAL_TO_GLOBAL_BUFFER"] = pad["connections"]["PACKAGE_PIN"]
            cell.setdefault("port_directions", {})["USER_SIGNAL_TO_GLOBAL_BUFFER"] = "input"
    (folder / "connected.json").write_text(json.dumps(modules), encoding="utf-8")
    _write_gates(f"read_json connected.json; delete =A:blackbox; {changes}", family, folder)


_BUSES = {
    "ICESTORM_RAM": {"RADDR_": 11, "WADDR_": 11, "WDATA_": 16, "MASK_": 16, "RDATA_": 16},
    "DP16KD": {"DIA": 18, "DIB": 18, "ADA": 14, "ADB": 14, "CSA": 3, "CSB": 3, "DOA": 18, "DOB": 18},
}
"""By type of a block RAM its pins of single bits, which are buses of the model, with their widths."""

_OUTPUTS = ("RDATA_", "DOA", "DOB")


def _join_pins(name: str, cell: dict[str, Any], fresh: Iterator[int]) -> None:
    """Change a block RAM to the cell that has a model; nets for outputs without a connection are `fresh`."""
    pins, parameters = cell["connections"], cell["parameters"]
    for bus, width in _BUSES[cell["type"]].items():
        free = fresh if bus in _OUTPUTS else repeat("0")
        pins[bus.rstrip("_")] = [(pins.pop(f"{bus}{n}", None) or [next(free)])[0] for n in range(width)]
    if cell["type"] == "ICESTORM_RAM":
        cell["type"] = "SB_RAM40_4K"
    elif any("1" in parameters.pop(each) for each in [*parameters] if each.startswith("INITVAL_")):
        raise gates.UnknownCellError(f"the compiled engine does not know a DP16KD that is not 0 at the start ({name})")


def _write_gates(read: str, family: str, folder: Path) -> None:
    """Write the netlist that commands for Yosys read, with models in place of its cells, as ``top.il``."""
    (folder / "cells.v").write_text(source(f"{family}.v"), encoding="utf-8")
    # Undefined bits are 0, since a device has no others.
    script = (
        f"{read} setundef -zero -params; read_verilog cells.v; "
        "hierarchy -top top; proc; flatten; memory_collect; setundef -zero -undriven; opt_clean; write_rtlil top.il"
    )
    run_tool("yosys", ["-q", "-p", script], directory=folder)


def _top(design: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = design["modules"]["top"]
    except KeyError:
        raise ToolError("the netlist has no module top") from None
    return found
