# SPDX-License-Identifier: BSD-2-Clause
"""The engine `graph`: a core as a graph, with one run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from utf8fpga.hdl import Core, CoreEntry
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.beats import Beat, BeatEncoder, StreamOptions, is_null
from utf8fpga.sim.engine import Events
from utf8fpga.sim.session import CoreGraph, Session
from utf8fpga.sim.stream_kernel import LAST, NULL, Taken

_BEATS_AT_ONCE = 4096
"""Input beats that a run reads ahead."""


class GraphEngine:
    """A core as a graph, see `Engine`."""

    def __init__(self, core: Core, entry: CoreEntry[Any], *, netlist: str | None = None) -> None:
        self.model = CoreGraph(core, entry, netlist=netlist)
        self._encode = BeatEncoder(core, entry)

    def run(self, beats: Iterator[Beat], events: Events, options: StreamOptions, *, vcd: Path | None = None) -> int:
        """See `Engine.run`.

        Raises:
            InvalidArgumentError: a waveform was requested.
        """
        if vcd is not None:
            raise InvalidArgumentError(f"graphs have no waveforms: leave out vcd {str(vcd)!r}")
        session = Session(self.model, input_pauses=options.input_pauses, output_pauses=options.output_pauses)
        while True:
            read = list(islice(beats, _BEATS_AT_ONCE))
            events.presented(read)
            kinds = np.array([NULL if is_null(beat) else LAST * beat[1] for beat in read], np.uint8)
            payloads, accepted = self.model.payloads([self._encode(beat) for beat in read]), 0
            for taken in session.send(payloads, kinds, np.array([len(read)]), more=bool(read)):
                count = session.lines[0]["accepted"]
                is_counted = kinds[accepted : accepted + count] != NULL
                for cycle in taken.accepted[0, :count][is_counted].tolist():
                    events.accepted(cycle)
                accepted += count
                _report(taken, session.lines[0]["taken"], events)
            session.raise_errors()
            if not read:
                return session.cycle


def _report(taken: Taken, count: int, events: Events) -> None:
    """Report the first output beats."""
    size, data = 8 * taken.payloads.shape[2], taken.payloads[0, :count].tobytes()
    cycles, since = taken.cycle[0, :count].tolist(), taken.since[0, :count].tolist()
    for number, (cycle, first) in enumerate(zip(cycles, since, strict=True)):
        events.received(int.from_bytes(data[number * size : (number + 1) * size], "little"), cycle, first)
