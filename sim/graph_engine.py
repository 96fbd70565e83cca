# SPDX-License-Identifier: BSD-2-Clause
"""The engine `graph`: a core as a graph, for up to 64 runs at once. It requires the extra ``fast``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from amaranth.back import rtlil
from numpy.typing import NDArray

from utf8fpga.hdl import Core
from utf8fpga.sim.beats import NULL_BEAT, PLAIN, Beat, BeatEncoder, StreamOptions, is_null, stream_ports
from utf8fpga.sim.contract import FIELDS, LAST, NULL, ContractError, fault_text, patience_of
from utf8fpga.sim.graph import Graph, Numbers, State, Words, numbers_of
from utf8fpga.sim.kernel import PAYLOAD, play

_BEATS_AT_ONCE = 4096
"""Input beats that a run reads ahead."""

_CYCLES = 256
"""Cycles that are simulated by one call of the compiled loop."""

_RUN = np.dtype([(name, np.int64) for name in (*FIELDS, "following", "end", "ended")])

Bits = NDArray[np.uint8]


class Ports(NamedTuple):
    """The literals of the ports of a core.

    Attributes:
        given, valid: payload and `valid` of the input.
        ready: that of the output.
        seen: what is recorded, see `kernel.PAYLOAD`.
        last: the place of `last` in `seen`.
        before: the values of `seen` in the cycle before.
    """

    given: Numbers
    valid: int
    ready: int
    seen: Numbers
    last: int
    before: Words


class Transfers(NamedTuple):
    """What was transferred in some cycles, in their order.

    Attributes:
        accepted: for each input beat but null beats the cycle and the run.
        received: for each output beat the cycle, the run and the first cycle in which it was valid.
        payloads: the bits of each output beat.
    """

    accepted: Numbers
    received: Numbers
    payloads: Bits


class CoreRuns:
    """Runs of a core that proceed together, whose input may be given piece by piece.

    Args:
        graph: the core, with the ports of `core_rtlil`.
        patience: see `patience_of`.
        count: their number, at most 64.
        last: the place of `last` in the output payload.
        silent: the cycles without output after which a run ends when all beats are accepted, whatever `last` says; 0:
            it ends when as many texts have ended at the output as at the input.

    Attributes:
        state: the state of the graph.
        runs: what is known of each run, see `kernel.play`.
    """

    def __init__(self, graph: Graph, patience: int, count: int = 1, *, last: int = 0, silent: int = 0) -> None:
        self.graph, self.patience, self._silent = graph, patience, silent
        inputs, outputs = graph.inputs, graph.outputs
        seen = [*outputs["in_ready"], *outputs["out_valid"], *outputs["out_payload"]]
        valid, ready, before = inputs["in_valid"][0], inputs["out_ready"][0], np.zeros(len(seen), np.uint64)
        self._ports = Ports(np.array(inputs["in_payload"]), valid, ready, np.array(seen), PAYLOAD + last, before)
        self.runs = np.zeros(count, _RUN)
        self.begin(self.graph.start(count))

    def begin(self, state: State) -> None:
        """Begin new runs from a state, which is copied."""
        self.state = State(state.values.copy(), state.memory.copy(), state.active)
        self.runs[:] = 0
        self.runs["ended"] = -1
        self._cycle = 0

    def reset(self, cycles: int) -> None:
        """Assert the reset for some cycles, wait for one, and begin new runs."""
        inputs = {name: np.zeros((cycles + 1, 1), np.uint64) for name in ("rst", "in_valid", "out_ready")}
        inputs["rst"][:cycles] = inputs["out_ready"][:] = self.state.active
        self.graph.step(self.state, inputs, [])
        self.begin(self.state)

    def bits(self, payloads: Sequence[int]) -> Bits:
        """The bits of input payloads."""
        bits = len(self._ports.given)
        data = b"".join(payload.to_bytes(-(-bits // 8), "little") for payload in payloads)
        packed = np.frombuffer(data, np.uint8).reshape(len(payloads), -(-bits // 8))
        return np.unpackbits(packed, axis=1, count=bits, bitorder="little")

    def send(
        self, beats: Bits, kinds: Numbers, ends: Sequence[int], options: StreamOptions = PLAIN, *, more: bool = False
    ) -> Iterator[Transfers]:
        """Send beats until all runs have ended; what is transferred is yielded piece by piece.

        Args:
            beats: the bits of the payloads of all runs, run by run.
            kinds: for each beat `LAST` or `NULL` or 0.
            ends: for each run the number of its beats and of those of the runs before.
            options: the pauses.
            more: whether other beats will follow.
        """
        runs, patterns = self.runs, (np.array(options.input_pauses), np.array(options.output_pauses))
        runs["end"], runs["following"] = ends, [0, *ends[:-1]]
        cycles = _CYCLES
        while cycles == _CYCLES:
            places = np.arange(self._cycle, self._cycle + _CYCLES)
            pauses = np.stack([pattern[places % len(pattern)] for pattern in patterns], axis=1)
            limits = self.patience, self._silent, more
            sent = beats, kinds, pauses
            cycles, *found = play(self.graph.circuit, self.state, self._ports, sent, runs, limits, self._cycle)
            self._cycle += cycles
            yield Transfers(*found)


def core_rtlil(core: Core) -> str:
    """A core in RTLIL: the module ``top`` with the ports of both streams, ``clk`` and ``rst``."""
    ports = {name: (value, None) for name, value in stream_ports(core).items()}
    return str(rtlil.convert(core, name="top", ports=ports, emit_src=False))


class GraphEngine:
    """A core as a graph, see `AmaranthEngine`."""

    def __init__(self, core: Core, encode: BeatEncoder, netlist: str | None = None) -> None:
        layout: Any = core.output.payload.shape()
        graph = Graph.from_rtlil(core_rtlil(core), netlist=netlist)
        self._runs, self._encode = CoreRuns(graph, patience_of(core), last=layout["last"].offset), encode

    def run(self, beats: Iterator[Beat], options: StreamOptions, record: Any) -> int:
        """See `AmaranthEngine.run`; there is no waveform."""
        core_runs, (run,) = self._runs, self._runs.runs
        core_runs.begin(core_runs.graph.start())
        read = [NULL_BEAT]
        while read:
            read = list(islice(beats, _BEATS_AT_ONCE))
            kinds = np.array([NULL if is_null(beat) else LAST * beat[1] for beat in read], np.int64)
            payloads = core_runs.bits([self._encode(beat) for beat in read])
            for found in core_runs.send(payloads, kinds, [len(read)], options, more=bool(read)):
                for cycle, _ in found.accepted.tolist():
                    record.accepted(cycle)
                for (cycle, _, since), payload in zip(found.received.tolist(), numbers_of(found.payloads), strict=True):
                    record.received(payload, cycle, since)
            if run["fault"]:
                raise ContractError(fault_text(run["fault"], run["ended"], core_runs.patience))
        return int(run["ended"])
