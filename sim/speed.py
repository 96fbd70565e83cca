# SPDX-License-Identifier: BSD-2-Clause
"""Measurement of the speeds of the simulation engines."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from time import monotonic, process_time
from typing import Any

from utf8fpga.hdl import CoreParameters
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.beats import PLAIN, symbol_width, text_beats
from utf8fpga.sim.engines import Events, create_engine, ignore
from utf8fpga.sim.engines.compiled import CompiledModel

_PACKET = 1000
"""Symbols per packet."""

_SECONDS = 1.0
"""The processor time of a measurement, about."""


def measure_engines(parameters: CoreParameters) -> dict[str, Any]:
    """Measure both engines for a core, one after another in this process: noise in packets of 1000 symbols, no pauses.

    Returns:
        build_seconds: the time of the processor to build the compiled model, including that of the tools.
        build_elapsed: the same by the clock.
        python, compiled: cycles per second of processor time, of the former without the time to take beats apart.
        ratio: how many times as fast the compiled engine is.
        worthwhile: the number of symbols from which building and using a compiled model takes less time.
    """
    core = parameters.build()
    with tempfile.TemporaryDirectory() as cache:
        # The processor time of this process and of its children that have ended.
        begun, used = monotonic(), sum(os.times()[:4])
        model = CompiledModel(core, parameters, cache=Path(cache))
        build_elapsed, build_seconds = monotonic() - begun, sum(os.times()[:4]) - used
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
    # Rounded to what a measurement can repeat.
    return {
        "core": parameters.title,
        "name": parameters.name,
        "lanes": core.lanes,
        "build_seconds": round(build_seconds, 1),
        "build_elapsed": round(build_elapsed, 1),
        "python": round(slow),
        "compiled": round(fast),
        "ratio": round(fast / slow),
        "mbyte_per_second": round(fast * symbols / 1e6, 1),
        "worthwhile": round(build_seconds * slow * symbols / (1 - slow / fast)),
    }


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
