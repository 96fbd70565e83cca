# SPDX-License-Identifier: BSD-2-Clause
"""Attributes of ports, from which a vendor's tool takes the interfaces of a module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

PortAttributes = Mapping[str, Mapping[str, str]]
"""For each port the values of its attributes by name."""


def _vivado(ports: Iterable[str]) -> PortAttributes:
    """Those of Vivado's block designs: AXI4-Stream interfaces, a clock, a reset, AXI4-Lite and an interrupt.

    >>> _vivado(["s_axis_tdata"])
    {'s_axis_tdata': {'X_INTERFACE_INFO': 'xilinx.com:interface:axis:1.0 S_AXIS TDATA'}}
    """
    names = list(ports)
    buses = list(dict.fromkeys(name.rpartition("_")[0].upper() for name in names if re.search("_axis_t|_axil_", name)))
    (reset,) = [name for name in names if name.startswith("rst")] or ["rst"]
    found = {}
    for name in names:
        bus, _, signal = name.rpartition("_")
        if name == "clk":
            associated = f"ASSOCIATED_BUSIF {':'.join(buses)}, ASSOCIATED_RESET {reset}"
            found[name] = _interface("signal:clock:1.0 clk CLK", associated)
        elif name == reset:
            polarity = "ACTIVE_LOW" if name.endswith("_n") else "ACTIVE_HIGH"
            found[name] = _interface(f"signal:reset:1.0 {name} RST", f"POLARITY {polarity}")
        elif bus.upper() in buses:
            kind = "aximm" if bus.endswith("axil") else "axis"
            found[name] = _interface(f"interface:{kind}:1.0 {bus.upper()} {signal.upper()}")
        elif name == "irq":
            found[name] = _interface("signal:interrupt:1.0 irq INTERRUPT", "SENSITIVITY LEVEL_HIGH")
    return found


def _interface(port: str, parameter: str = "") -> dict[str, str]:
    attributes = {"X_INTERFACE_INFO": f"xilinx.com:{port}"}
    return attributes | ({"X_INTERFACE_PARAMETER": parameter} if parameter else {})


PORT_ATTRIBUTES: Mapping[str, Callable[[Iterable[str]], PortAttributes]] = MappingProxyType({"vivado": _vivado})
"""For each tool the attributes of ports with these names."""
