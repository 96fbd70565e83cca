# SPDX-License-Identifier: BSD-2-Clause
"""Simulation engines: they transfer beats at both streams of a core and check the stream contract.

`python` is Amaranth's simulator. `compiled` is the core as machine code, a thousand times faster and equal in every
cycle; it needs a C compiler, and seconds to build the model of a core for the first time. `netlist` is the same for
what synthesis, or placement and routing, made of the core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from utf8fpga.hdl import Core, CoreParameters
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.sim.beats import Beat, StreamOptions
from utf8fpga.sim.engines.netlist import Netlist

__all__ = ["ENGINES", "Engine", "Events", "Netlist", "create_engine", "has_compiler", "ignore"]


def ignore(_: object) -> None:
    """An event that has no effect."""


@dataclass(frozen=True)
class Events:
    """Functions that an engine calls during a run, in the order of the cycles.

    Attributes:
        received: called with each output beat that was transferred: its payload, the cycle of the transfer, and the
            first cycle in which `valid` was asserted for it.
        accepted: called with the cycle of each transfer at the input, except for null beats.
        presented: called with each input beat when it becomes the next one.
    """

    received: Callable[[int, int, int], None]
    accepted: Callable[[int], None] = ignore
    presented: Callable[[Beat], None] = ignore


class Engine(Protocol):
    """A simulation engine for one core, for any number of runs, one at a time."""

    def run(self, beats: Iterator[Beat], events: Events, options: StreamOptions, *, vcd: Path | None = None) -> int:
        """Send beats to the core, from its initial state until all packets have ended at the output.

        Args:
            beats: the input beats, read on demand.
            options: the pauses; the other options have no effect on beats.
            vcd: a file for the waveform, if the engine can write one.

        Returns:
            The length of the run in cycles.

        Raises:
            ContractError: the core violated the stream contract.
            ToolError: the engine cannot be used.
        """


ENGINES = ("python", "compiled", "netlist")
"""The names of the engines; the first is the default."""

_DEFAULT = Netlist()


def create_engine(name: str, core: Core, parameters: CoreParameters, netlist: Netlist = _DEFAULT) -> Engine:
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

        return PythonEngine(core, parameters)
    from utf8fpga.sim.engines.compiled import CompiledModel
    from utf8fpga.sim.engines.native import Rtlil

    return CompiledModel(core, parameters, circuit=netlist.circuit if name == "netlist" else Rtlil)


def has_compiler() -> bool:
    """Whether there is a C compiler for the compiled engine."""
    from utf8fpga.sim.engines.native import find_compiler

    try:
        find_compiler()
    except ToolError:
        return False
    return True
