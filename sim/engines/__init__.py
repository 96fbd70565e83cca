# SPDX-License-Identifier: BSD-2-Clause
"""Simulation engines: they transfer beats at both streams of a core and check the stream contract.

`python` is Amaranth's simulator. `compiled` is the core as machine code, a thousand times faster and equal in every
cycle; it needs a C compiler, and seconds to build the model of a core for the first time. `netlist` is the same for
what synthesis, or placement and routing, made of the core.
"""

from __future__ import annotations

from typing import Any

from utf8fpga.hdl import Core, CoreEntry
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.sim.engines.engine import Engine, Events, ignore
from utf8fpga.sim.engines.netlist import Netlist

__all__ = ["ENGINES", "Engine", "Events", "Netlist", "create_engine", "has_compiler", "ignore"]


ENGINES = ("python", "compiled", "netlist")
"""The names of the engines; the first is the default."""

_DEFAULT = Netlist()


def create_engine(name: str, core: Core, entry: CoreEntry[Any], netlist: Netlist = _DEFAULT) -> Engine:
    """An engine for a core.

    Args:
        name: one of `ENGINES`.
        netlist: what the engine `netlist` simulates; default: see `Netlist`.

    Raises:
        InvalidArgumentError: the routed design has too many pins.
        ToolError: an engine other than `python` has no C compiler, or the model cannot be built.
    """
    if name == "python":
        from utf8fpga.sim.engines.python import PythonEngine

        return PythonEngine(core, entry)
    from utf8fpga.sim.engines.compiled import CompiledModel
    from utf8fpga.sim.engines.native import Rtlil

    return CompiledModel(core, entry, circuit=netlist.circuit if name == "netlist" else Rtlil)


def has_compiler() -> bool:
    """Whether there is a C compiler for the compiled engine."""
    from utf8fpga.sim.engines.native import find_compiler

    try:
        find_compiler()
    except ToolError:
        return False
    return True
