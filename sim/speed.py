# SPDX-License-Identifier: BSD-2-Clause
"""Measurement of the speeds of the simulation engines."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import monotonic, process_time

from utf8fpga.hdl import CoreParameters
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.beats import PLAIN, symbol_width, text_beats
from utf8fpga.sim.engines import Events, create_engine, ignore
from utf8fpga.sim.engines.compiled import CompiledModel

_PACKET = 1000
"""Symbols per packet."""

_SECONDS = 1.0
"""The processor time of a measurement, about."""


@dataclass(frozen=True)
class EngineSpeeds:
    """The speeds of both engines for a core, with noise in packets of 1000 symbols, without pauses.

    All times are of the processor, including that of the tools, except for `build_elapsed`.

    Attributes:
        lanes: symbols per beat.
        build_seconds: the time to build the compiled model.
        build_elapsed: the same by the clock.
        python: cycles per second of the Python engine, without the time to take beats apart.
        compiled: cycles per second of the compiled engine.
    """

    title: str
    name: str
    lanes: int
    build_seconds: float
    build_elapsed: float
    python: float
    compiled: float
    symbols_per_cycle: float

    @property
    def ratio(self) -> float:
        """How many times as fast the compiled engine is."""
        return self.compiled / self.python

    @property
    def worthwhile(self) -> int:
        """The number of symbols from which building and using a compiled model takes less time."""
        return round(self.build_seconds * self.python * self.symbols_per_cycle / (1 - 1 / self.ratio))

    @property
    def figures(self) -> dict[str, float | str]:
        """All of them by name, rounded to what a measurement can repeat."""
        return {
            "core": self.title,
            "name": self.name,
            "lanes": self.lanes,
            "build_seconds": round(self.build_seconds, 1),
            "build_elapsed": round(self.build_elapsed, 1),
            "python": round(self.python),
            "compiled": round(self.compiled),
            "ratio": round(self.ratio),
            "mbyte_per_second": round(self.compiled * self.symbols_per_cycle / 1e6, 1),
            "worthwhile": self.worthwhile,
        }


def measure_engines(parameters: CoreParameters) -> EngineSpeeds:
    """Measure both engines for a core, one after another in this process."""
    core = parameters.build()
    with tempfile.TemporaryDirectory() as cache:
        begun, used = monotonic(), _processor_time()
        model = CompiledModel(core, parameters, cache=Path(cache))
        build_elapsed, build_seconds = monotonic() - begun, _processor_time() - used
    draw, width = random.Random(0), symbol_width(core)
    packet = [draw.randrange(1 << width) for _ in range(_PACKET)]
    python = create_engine("python", core, parameters)
    events = Events(lambda _payload, _cycle, _since: ignore(None))

    def by_python(packets: int) -> int:
        beats = chain.from_iterable(text_beats(packet, core.lanes) for _ in range(packets))
        return python.run(beats, events, PLAIN)

    session = model.session(gathers=model.can_gather)
    if model.symbol_bytes is None:
        raise InvalidArgumentError(f"input symbols of {width} bits are too wide for this measurement: at most 32")
    data = b"".join(symbol.to_bytes(model.symbol_bytes, sys.byteorder) for symbol in packet)

    def by_machine_code(packets: int) -> int:
        session.reset()
        ends = range(_PACKET, _PACKET * packets + 1, _PACKET)
        for _ in session.send_symbols(data * packets, ends, more=False):
            pass
        return session.cycle

    slow, _ = _cycles_per_second(by_python)
    if by_machine_code(1) != by_python(1):
        raise AssertionError(f"the engines need different numbers of cycles for {parameters.name}")
    fast, symbols = _cycles_per_second(by_machine_code)
    return EngineSpeeds(
        title=parameters.title,
        name=parameters.name,
        lanes=core.lanes,
        build_seconds=build_seconds,
        build_elapsed=build_elapsed,
        python=slow,
        compiled=fast,
        symbols_per_cycle=symbols,
    )


def _cycles_per_second(run: Callable[[int], int]) -> tuple[float, float]:
    """The cycles per second and the symbols per cycle of runs of a number of packets, which is increased."""
    run(1)  # The first run elaborates the core.
    packets = 1
    while True:
        begun = process_time()
        cycles = run(packets)
        used = process_time() - begun
        if used >= _SECONDS / 2:
            return cycles / used, packets * _PACKET / cycles
        packets = max(packets + 1, min(10 * packets, int(packets * _SECONDS / max(used, 1e-6))))


def _processor_time() -> float:
    """The processor time of this process and of its children that have ended, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
