# SPDX-License-Identifier: BSD-2-Clause
"""Cores as graphs: beats are sent to up to 64 runs of a core at once, and its output is received and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Module, Shape, Value
from numpy.typing import NDArray

from utf8fpga.hdl import Core, CoreEntry
from utf8fpga.hdl.beats import lanes_of, symbol_shape
from utf8fpga.sim.beats import (
    BeatEncoder,
    ContractError,
    endless_output,
    patience_of,
    symbol_width,
)
from utf8fpga.sim.graph import Graph, Numbers, State, Words
from utf8fpga.sim.stream_kernel import LAST, LINE, Given, Limits, Ports, Status, Taken, drive

_BYTES_AT_ONCE = 1 << 22
"""Upper bound on the bytes of output payloads that are received at once, unless one call has less than
`_FEWEST_CYCLES`."""

_FEWEST_CYCLES, _MOST_CYCLES = 64, 4096
"""Cycles that are simulated by one call of the compiled loop."""


def core_rtlil(core: Core) -> str:
    """A core in RTLIL: the module ``top``, with the payload, `valid` and `ready` of both streams as ports."""
    m, domain = Module(), ClockDomain("sync")
    m.domains += domain
    m.submodules.core = core
    ports = {
        "clk": domain.clk,
        "rst": domain.rst,
        "in_payload": Value.cast(core.input.payload),
        "in_valid": core.input.valid,
        "in_ready": core.input.ready,
        "out_payload": Value.cast(core.output.payload),
        "out_valid": core.output.valid,
        "out_ready": core.output.ready,
    }
    if (violation := getattr(core, "violation", None)) is not None:
        ports["violation"] = violation
    directed = {name: (signal, None) for name, signal in ports.items()}
    text: str = rtlil.convert(m, name="top", ports=directed, emit_src=False)
    return getattr(core, "rtlil", "") + text


class CoreGraph:
    """A core as a graph, for any number of runs.

    Args:
        netlist: see `Graph.from_rtlil`.

    Attributes:
        graph: the graph.
        ports: the ports of its streams.
        patience: see `patience_of`.
    """

    def __init__(self, core: Core, entry: CoreEntry[Any], *, netlist: str | None = None) -> None:
        self._core, self._absent = core, BeatEncoder(core, entry).absent
        self.graph = Graph.from_rtlil(core_rtlil(core), netlist=netlist)
        self.patience = patience_of(core)
        inputs, outputs = self.graph.inputs, self.graph.outputs
        self._width = Shape.cast(symbol_shape(core.output)).width
        self.ports = Ports(
            in_payload=np.array(inputs["in_payload"], np.int64),
            in_valid=inputs["in_valid"][0],
            in_ready=outputs["in_ready"][0],
            out_payload=np.array(outputs["out_payload"], np.int64),
            out_valid=outputs["out_valid"][0],
            out_ready=inputs["out_ready"][0],
            last=core.output.payload.shape()["last"].offset,
            violation=outputs.get("violation", [0])[0],
        )
        self.in_words = -(-len(self.ports.in_payload) // 64)
        self.out_words = -(-len(self.ports.out_payload) // 64)

    def beats(self, symbols: Numbers, ends: Numbers) -> tuple[Words, NDArray[np.uint8]]:
        """The payloads and the kinds of the beats of packets, all full except the last of each.

        Args:
            symbols: the symbols of all packets.
            ends: for each packet the number of symbols before its end.
        """
        lengths, lanes = np.diff(ends, prepend=0), self._core.lanes
        counts = np.maximum(1, -(-lengths // lanes))
        kinds = np.zeros(counts.sum(), np.uint8)
        kinds[np.cumsum(counts) - 1] = LAST
        slots = np.full(len(kinds) * lanes, -1, np.int64)
        first = (np.cumsum(counts) - counts) * lanes - (ends - lengths)
        slots[np.arange(len(symbols)) + np.repeat(first, lengths)] = symbols
        keep, values = (slots >= 0).astype(np.uint64), np.where(slots < 0, self._absent, slots).astype(np.uint64)
        layout, width = self._core.input.payload.shape(), symbol_width(self._core)
        words = np.zeros((len(kinds), self.in_words), np.uint64)
        for lane in range(lanes):
            put(words, layout["symbols"].offset + lane * width, width, values[lane::lanes])
            put(words, layout["keep"].offset + lane, 1, keep[lane::lanes])
        put(words, layout["last"].offset, 1, (kinds == LAST).astype(np.uint64))
        return words, kinds

    def symbols(self, payloads: Words) -> tuple[Words, Numbers]:
        """The symbols of output payloads, of at most 64 bits, and the number of symbols in each payload."""
        layout, lanes = self._core.output.payload.shape(), range(lanes_of(self._core.output))
        keep = np.stack([get(payloads, layout["keep"].offset + lane, 1) for lane in lanes], axis=1) != 0
        first = layout["symbols"].offset
        fields = [get(payloads, first + lane * self._width, self._width) for lane in lanes]
        return np.stack(fields, axis=1)[keep], keep.sum(axis=1)

    def lasts(self, payloads: Words) -> NDArray[np.bool_]:
        """Whether output payloads end a packet."""
        found: NDArray[np.bool_] = get(payloads, self.ports.last, 1) != 0
        return found

    def payloads(self, payloads: Sequence[int]) -> Words:
        """Input payloads as words of 64 bits."""
        size = 8 * self.in_words
        data = b"".join(payload.to_bytes(size, "little") for payload in payloads)
        return np.frombuffer(bytearray(data), np.uint64).reshape(len(payloads), self.in_words)


def put(words: Words, offset: int, width: int, values: Words) -> None:
    """Write values into a field of each row of words, of at most 64 bits, which are 0 before."""
    word, shift = divmod(offset, 64)
    words[:, word] |= values << np.uint64(shift)
    if shift + width > 64:
        words[:, word + 1] |= values >> np.uint64(64 - shift)


def get(words: Words, offset: int, width: int) -> Words:
    """The values of a field of each row of words, of at most 64 bits."""
    word, shift = divmod(offset, 64)
    values = words[:, word] >> np.uint64(shift)
    if shift + width > 64:
        values = values | words[:, word + 1] << np.uint64(64 - shift)
    return values & np.uint64((1 << width) - 1)


class Session:
    """Runs of a core that proceed together, whose input may be given piece by piece.

    Args:
        model: the core.
        runs: their number, at most 64.
        input_pauses, output_pauses: see `StreamOptions`.
        quiet: see `Limits`.

    Attributes:
        state: the state of the graph.
        lines: the state of the runs, see `LINE`.
        cycle: the cycles simulated so far.
    """

    def __init__(
        self,
        model: CoreGraph,
        runs: int = 1,
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
        quiet: int = 0,
    ) -> None:
        self._model, self._quiet, self.cycle = model, quiet, 0
        self._pauses = [np.array(each, np.uint8) for each in (input_pauses, output_pauses)]
        self.state = model.graph.start(runs)
        self.lines = np.zeros(runs, LINE)
        self.lines["first"] = -1
        most = _BYTES_AT_ONCE // (8 * runs * model.out_words)
        self._cycles = max(_FEWEST_CYCLES, min(_MOST_CYCLES, most))
        self._taken = Taken(
            payloads=np.zeros((runs, self._cycles, model.out_words), np.uint64),
            cycle=np.zeros((runs, self._cycles), np.int64),
            since=np.zeros((runs, self._cycles), np.int64),
            accepted=np.zeros((runs, self._cycles), np.int64),
            waiting=np.zeros((runs, model.out_words), np.uint64),
            seen=np.zeros((runs, model.out_words), np.uint64),
        )

    def reset(self, cycles: int = 1) -> None:
        """Assert the reset, and forget what the runs have not finished."""
        graph = self._model.graph
        graph.set(self.state, "rst", self.state.active)
        graph.step(self.state, self._idle(cycles), [])
        graph.set(self.state, "rst", 0)
        self.begin(self.state)

    def idle(self, cycles: int) -> Words:
        """Simulate cycles without input in which the output is ready; the runs that accept input in each of them."""
        return self._model.graph.step(self.state, self._idle(cycles), ["in_ready"])["in_ready"][:, 0]

    def _idle(self, cycles: int) -> dict[str, Words]:
        nothing = np.zeros((cycles, 1), np.uint64)
        return {"in_valid": nothing, "out_ready": nothing | self.state.active}

    def begin(self, state: State) -> None:
        """Begin new runs from a state, which is copied."""
        self.state.values[:], self.state.memory[:] = state.values, state.memory
        self.lines[:] = np.zeros(1, LINE)
        self.lines["first"], self.cycle = -1, 0

    def send(
        self,
        beats: Words,
        kinds: NDArray[np.uint8],
        ends: NDArray[np.int64],
        *,
        more: bool = False,
    ) -> Iterator[Taken]:
        """Send beats.

        Args:
            beats: the payloads of the beats of all runs, run by run, in words of 64 bits.
            kinds: for each beat `LAST` or `NULL` or 0.
            ends: for each run the number of its beats and of those of the runs before.
            more: whether other beats will follow, which requires a single run.

        Yields:
            What was received, in pieces, each valid until the next one.
        """
        lines, model = self.lines, self._model
        lines["status"][lines["status"] == Status.NEEDS_INPUT] = Status.RUNNING
        lines["next"], lines["end"] = np.concatenate([[0], ends[:-1]]), ends
        given = Given(beats, kinds, *self._pauses)
        limits = Limits(model.patience, self._quiet, more)
        while (lines["status"] == Status.RUNNING).any():
            lines["accepted"] = lines["taken"] = 0
            arguments = model.graph.circuit, self.state, model.ports, given, lines, self._taken, limits
            self.cycle = drive(*arguments, self.cycle, self.cycle + self._cycles)
            yield self._taken

    def raise_errors(self, run: int = 0) -> None:
        """Raise the error of a run.

        Raises:
            ContractError: the core violated the stream contract.
        """
        held, seen = (_integer(each[run]) for each in (self._taken.waiting, self._taken.seen))
        reasons = {
            Status.DEASSERTED: f"valid was deasserted before the transfer of payload {held:#x}",
            Status.CHANGED: f"the payload changed from {held:#x} to {seen:#x} before its transfer",
            Status.EARLY_LAST: "last is set at the output before a text has ended",
            Status.STUCK: f"no beat was transferred for {self._model.patience} cycles",
            Status.ENDLESS: endless_output(self._model.patience),
            Status.VIOLATION: "keep selects a part of a word",
        }
        if reason := reasons.get(Status(self.lines[run]["status"])):
            raise ContractError(f"cycle {self.lines[run]['cycles']}: {reason}")


def _integer(words: Words) -> int:
    return int.from_bytes(words.tobytes(), "little")
