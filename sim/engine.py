# SPDX-License-Identifier: BSD-2-Clause
"""Simulation engines: they transfer beats at both streams of a core and check the stream contract.

`python` is Amaranth's simulator, which also writes waveforms. `graph` is the core as a graph, a hundred times
faster and equal in every cycle; it requires the extra ``fast``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from utf8fpga.sim.beats import Beat, StreamOptions

ENGINES = ("python", "graph")
"""The names of the engines; the first is the default."""

NETLISTS = ("ice40", "ecp5")
"""The FPGA families whose netlists after synthesis the engine `graph` simulates."""

HAS_GRAPH = find_spec("numba") is not None
"""Whether the extra ``fast`` is installed, without which there is no engine `graph`."""


def ignore(_: object) -> None:
    """An event that has no effect."""


@dataclass(frozen=True)
class Events:
    """Functions that an engine calls during a run, each in the order of the cycles.

    Attributes:
        received: called with each output beat that was transferred: its payload, the cycle of the transfer, and the
            first cycle in which `valid` was asserted for it.
        accepted: called with the cycle of each transfer at the input, except for null beats.
        presented: called with the next input beats before one of them is transferred.
    """

    received: Callable[[int, int, int], None]
    accepted: Callable[[int], None] = ignore
    presented: Callable[[Sequence[Beat]], None] = ignore


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
        """
