# SPDX-License-Identifier: BSD-2-Clause
"""Counts the texts and symbols that the tests simulate, by engine, for the summary of a test run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from utf8fpga.sim import HAS_GRAPH
from utf8fpga.sim.amaranth_engine import AmaranthEngine

Volume = Counter[str]
"""Numbers of texts and symbols, such as ``python texts``."""


def count_simulations(volume: Volume) -> None:
    """Count what every simulation of this process sends from now on."""

    engines: dict[str, Any] = {"python": AmaranthEngine}
    if HAS_GRAPH:
        from utf8fpga.sim.graph_engine import GraphEngine

        engines["graph"] = GraphEngine

    def counted(engine: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def counting(beats: Iterator[Any]) -> Iterator[Any]:
            for symbols, last in beats:
                volume[f"{engine} symbols"] += len(symbols)
                volume[f"{engine} texts"] += last
                yield symbols, last

        def call(self: Any, beats: Iterator[Any], *arguments: Any, **options: Any) -> Any:
            return run(self, counting(beats), *arguments, **options)

        return call

    for engine, kind in engines.items():
        kind.run = counted(engine, kind.run)  # replaced for the counts of the tests


def volume_line(volume: Volume) -> str:
    """The counts in a line."""
    parts = [
        f"{engine}: {volume[f'{engine} texts']:,} texts, {volume[f'{engine} symbols']:,} code units"
        for engine in ("python", "graph")
    ]
    return "simulated in the tests' processes: " + "; ".join(parts)
