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
from utf8fpga.sim.player import LAST, NULL, CoreGraph, Session

_BEATS_AT_ONCE = 4096
"""Input beats that a run reads ahead."""


class GraphEngine:
    """A core as a graph, see `Engine`."""

    def __init__(self, core: Core, entry: CoreEntry[Any], *, netlist: str | None = None) -> None:
        self._model = CoreGraph(core, netlist=netlist)
        self._encode = BeatEncoder(core, entry)

    def run(self, beats: Iterator[Beat], events: Events, options: StreamOptions, *, vcd: Path | None = None) -> int:
        """See `Engine.run`.

        Raises:
            InvalidArgumentError: a waveform was requested.
        """
        if vcd is not None:
            raise InvalidArgumentError(f"graphs have no waveforms: leave out vcd {str(vcd)!r}")
        session = Session(self._model, input_pauses=options.input_pauses, output_pauses=options.output_pauses)
        while True:
            read = list(islice(beats, _BEATS_AT_ONCE))
            events.presented(read)
            kinds = np.array([NULL if is_null(beat) else LAST * beat[1] for beat in read], np.uint8)
            payloads = self._model.payloads([self._encode(beat) for beat in read])
            for found in session.send(payloads, kinds, [len(read)], more=bool(read)):
                for cycle in found.accepted.tolist():
                    events.accepted(cycle)
                packed = np.packbits(found.payloads, axis=1, bitorder="little")
                for payload, cycle, since in zip(packed, found.cycles.tolist(), found.since.tolist(), strict=True):
                    events.received(int.from_bytes(payload.tobytes(), "little"), cycle, since)
            session.raise_error()
            if not read:
                return int(session.ended[0])
