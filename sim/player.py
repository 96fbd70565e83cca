# SPDX-License-Identifier: BSD-2-Clause
"""Cores as graphs: beats are sent to up to 64 runs of a core at once, and what they output is received and checked.

One compiled loop sends the beats and records the ports in each cycle; the rest reads these records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from utf8fpga.hdl import Core
from utf8fpga.sim.beats import ContractError, endless_output, patience_of
from utf8fpga.sim.graph import Graph, State, core_rtlil
from utf8fpga.sim.kernel import set_input, settle, tick

LAST, NULL = 1, 2
"""The kinds of an input beat: it ends its text; it is a null beat."""

DEASSERTED, CHANGED, PARTIAL, EARLY, STUCK, ENDLESS = range(6)
"""What a run may do wrong, in the order in which it is looked for in a cycle."""

_CYCLES, _CYCLES_OF_ONE = 128, 1024
"""Cycles that are simulated by one call of the compiled loop, of several runs and of one."""

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Bits = NDArray[np.uint8]

_OFFERED, _READY, _LEFT, _ACCEPTS, _VALID, _VIOLATION, _PAYLOAD = range(7)
"""The columns of a record: `valid` and `ready` as they are driven; whether a beat is left to be sent; `ready`, `valid`
and `violation` of the core; and its payload, from this column on."""


class Ports(NamedTuple):
    """The literals of the ports of a core: those that are driven, and those that are recorded."""

    payload: NDArray[np.int64]
    valid: int
    ready: int
    seen: NDArray[np.int64]


@numba.njit(cache=True)
def drive(values: Any, ports: Any, beats: Any, following: Any, ends: Any, offered: Any, row: Any, paused: bool) -> None:
    """Drive the input for a cycle, and record which runs have a beat left and offer it."""
    for literal in ports.payload:
        values[literal] = 0
    for run in range(len(ends)):
        bit = np.uint64(1) << np.uint64(run)
        if following[run] < ends[run]:
            offered[run] |= not paused
            row[_LEFT] |= bit
            beat = beats[following[run]]
            for place in range(len(beat)):
                values[ports.payload[place]] |= bit * beat[place]
        row[_OFFERED] |= bit * offered[run]
    for literal in ports.payload:
        values[literal ^ 1] = ~values[literal]
    set_input(values, ports.valid, row[_OFFERED])


@numba.njit(cache=True)
def play(
    circuit: Any,
    state: Any,
    ports: Any,
    beats: Any,
    following: Any,
    ends: Any,
    offered: Any,
    input_pauses: Any,
    output_pauses: Any,
    more: bool,
) -> Any:
    """Simulate cycles, and return their records; fewer if `more` and there is no beat left.

    Args:
        beats: the bits of the payloads of all runs.
        following, ends: for each run the number of its next beat, and that of the beat after its last one.
        offered: for each run whether `valid` is asserted.
        input_pauses, output_pauses: for each cycle whether the next beat, and `ready`, is delayed.
    """
    values, held = state.values, np.empty(len(circuit.following), np.uint64)
    rows = np.zeros((len(input_pauses), _ACCEPTS + len(ports.seen)), np.uint64)
    for cycle in range(len(rows)):
        if more and following[0] == ends[0]:
            return rows[:cycle]
        row = rows[cycle]
        drive(values, ports, beats, following, ends, offered, row, input_pauses[cycle])
        row[_READY] = np.uint64(0) if output_pauses[cycle] else state.active
        set_input(values, ports.ready, row[_READY])
        settle(circuit, state)
        for place in range(len(ports.seen)):
            row[_ACCEPTS + place] = values[ports.seen[place]]
        accepted = row[_OFFERED] & row[_ACCEPTS]
        for run in range(len(ends)):
            if accepted >> np.uint64(run) & np.uint64(1):
                following[run] += 1
                offered[run] = False
        tick(circuit, state, held)
    return rows


class CoreGraph:
    """A core as a graph, for any number of runs.

    Args:
        netlist: see `Graph.from_rtlil`.
    """

    def __init__(self, core: Core, *, netlist: str | None = None) -> None:
        self.graph = Graph.from_rtlil(core_rtlil(core), netlist=netlist)
        self.patience, self.last = patience_of(core), core.output.payload.shape()["last"].offset
        inputs, outputs = self.graph.inputs, self.graph.outputs
        seen = [*outputs["in_ready"], *outputs["out_valid"], *outputs.get("violation", [0]), *outputs["out_payload"]]
        self.ports = Ports(
            np.array(inputs["in_payload"]), inputs["in_valid"][0], inputs["out_ready"][0], np.array(seen)
        )

    def payloads(self, payloads: Sequence[int]) -> Bits:
        """The bits of input payloads."""
        bits = len(self.ports.payload)
        data = b"".join(payload.to_bytes(-(-bits // 8), "little") for payload in payloads)
        packed = np.frombuffer(data, np.uint8).reshape(len(payloads), -(-bits // 8))
        return np.unpackbits(packed, axis=1, count=bits, bitorder="little")


@dataclass
class Received:
    """What was transferred in some cycles, in their order.

    Attributes:
        accepted, accepted_by: the cycle and the run of each input beat but null beats.
        cycles, runs: those of each output beat.
        since: the first cycle in which `valid` was asserted for each output beat.
        payloads: the bits of each output beat.
    """

    accepted: Numbers
    accepted_by: Numbers
    cycles: Numbers
    runs: Numbers
    since: Numbers
    payloads: Bits


class Session:
    """Runs of a core that proceed together, whose input may be given piece by piece.

    Args:
        runs: their number, at most 64.
        input_pauses, output_pauses: see `StreamOptions`, for all runs.
        quiet: the cycles without output after which a run ends when all beats are accepted; 0: it ends when as many
            texts have ended at the output as at the input.

    Attributes:
        state: the state of the graph.
        cycle: the cycles simulated so far.
        ended: for each run the cycle before which, or in which something was wrong, it ended; -1 before.
        faults: for each run what it did wrong; -1 for nothing.
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
        self._model, self._runs, self._quiet = model, runs, quiet
        self._patterns = np.array(input_pauses, np.bool_), np.array(output_pauses, np.bool_)
        self._cycles = _CYCLES if runs > 1 else _CYCLES_OF_ONE
        self.state = model.graph.start(runs)
        self.begin(self.state)

    def begin(self, state: State) -> None:
        """Begin new runs from a state, which is copied."""
        self.state.values[:], self.state.memory[:] = state.values, state.memory
        self.cycle = 0
        self.ended, self.faults = np.full(self._runs, -1), np.full(self._runs, -1)
        self._offered, self._following = np.zeros(self._runs, np.bool_), np.zeros(self._runs, np.int64)
        self._row = np.zeros((1, _ACCEPTS + len(self._model.ports.seen)), np.uint64)
        names = ("waits", "open", "inside", "idle", "alone", "quiet", "since")
        self._before = {name: np.zeros(self._runs, np.int64) for name in names}
        """What is known of the cycle before, for each run; `_row` is its record."""

    def reset(self, cycles: int = 1) -> None:
        """Assert the reset, and forget what the runs have not finished."""
        graph = self._model.graph
        graph.set(self.state, "rst", self.state.active)
        self.idle(cycles)
        graph.set(self.state, "rst", 0)
        self.begin(self.state)

    def idle(self, cycles: int) -> NDArray[np.uint64]:
        """Simulate cycles without input in which the output is ready; the runs that accept input in each of them."""
        nothing = np.zeros((cycles, 1), np.uint64)
        inputs = {"in_valid": nothing, "out_ready": nothing | self.state.active}
        return self._model.graph.step(self.state, inputs, ["in_ready"])["in_ready"][:, 0]

    def send(self, beats: Bits, kinds: Bits, ends: Sequence[int], *, more: bool = False) -> Iterator[Received]:
        """Send beats until all runs have ended; what is received is yielded piece by piece.

        Args:
            beats: the bits of the payloads of all runs, run by run.
            kinds: for each beat `LAST` or `NULL` or 0.
            ends: for each run the number of its beats and of those of the runs before.
            more: whether other beats will follow, which requires a single run.
        """
        stops, model = np.array(ends, np.int64), self._model
        self._following[:] = [0, *ends[:-1]]
        while (self.ended < 0).any():
            cycles = np.arange(self.cycle, self.cycle + self._cycles)
            pauses = [pattern[cycles % len(pattern)] for pattern in self._patterns]
            first = self._following.copy()
            runs = beats, self._following, stops, self._offered
            rows = play(model.graph.circuit, self.state, model.ports, *runs, pauses[0], pauses[1], more)
            if len(rows):
                yield self._received(rows, kinds, first)
            if more and len(rows) < self._cycles:
                return

    def _received(self, rows: NDArray[np.uint64], kinds: Bits, first: Numbers) -> Received:
        """What was transferred in the cycles of some records, until each run ended."""
        number = np.arange(len(rows))[:, None]
        offered, ready, left, accepts, valid, violates = (self._flags(rows[:, column]) for column in range(_PAYLOAD))
        accepted, taken = offered & accepts, valid & ready
        places = first + np.cumsum(accepted, axis=0) - accepted
        kind = np.append(kinds, NULL)[np.where(accepted, places, len(kinds))]
        effective, is_last = kind != NULL, self._flags(rows[:, _PAYLOAD + self._model.last])
        opened = self._before["open"] + np.cumsum((kind == LAST).astype(int) - (taken & is_last), axis=0)
        was_open = self._shifted("open", opened)
        was_inside = self._shifted("inside", self._latest("inside", effective, kind != LAST))
        counts = ready & (offered | ~left)
        idle, alone = self._since("idle", counts, accepted | taken), self._since("alone", counts, accepted)
        before = self._before["quiet"]
        quiet = self._since("quiet", np.ones_like(counts), accepted | valid)
        was_quiet = np.concatenate([before[None], quiet[:-1]])
        waited = self._shifted("waits", valid & ~ready) != 0
        previous = np.concatenate([self._row, rows[:-1]])
        changes = np.bitwise_or.reduce(previous[:, _PAYLOAD:] ^ rows[:, _PAYLOAD:], axis=1)
        ends = ~left & (was_quiet > self._quiet if self._quiet else (was_open <= 0) & (was_inside == 0))
        patience = self._model.patience
        faults = {
            DEASSERTED: waited & ~valid,
            CHANGED: waited & valid & self._flags(changes),
            PARTIAL: violates,
            EARLY: (opened < 0) & (self._quiet == 0),
            STUCK: idle > patience,
            ENDLESS: alone > 2 * patience,
        }
        since = self._latest("since", valid & ~waited, number + self.cycle)
        self._shifted("since", since)
        self._end(ends, faults, previous, rows)
        is_part = (self.ended < 0) | (number + self.cycle < self.ended)
        at_end = (number + self.cycle == self.ended) & (self.faults > CHANGED)
        cycles, runs = np.nonzero(taken & (is_part | at_end))
        accepted_at, accepted_by = np.nonzero(effective & (is_part | at_end))
        payloads = rows[cycles, _PAYLOAD:] >> runs[:, None].astype(np.uint64) & np.uint64(1)
        start, self.cycle, self._row = self.cycle, self.cycle + len(rows), rows[-1:]
        times = accepted_at + start, accepted_by, cycles + start, runs, since[cycles, runs]
        return Received(*times, payloads.astype(np.uint8))

    def _flags(self, words: NDArray[np.uint64]) -> Flags:
        """For each word the bit of each run."""
        data = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), 8)
        return np.unpackbits(data, axis=1, count=self._runs, bitorder="little").astype(np.bool_)

    def _shifted(self, name: str, values: Any) -> Numbers:
        """The values of the cycle before each one."""
        found = np.concatenate([self._before[name][None], values[:-1]])
        self._before[name] = values[-1].astype(np.int64)
        return found

    def _latest(self, name: str, chosen: Flags, values: Any) -> Numbers:
        """The value of the latest cycle that is chosen; that of the cycle before if there is none."""
        latest = np.maximum.accumulate(np.where(chosen, np.arange(len(chosen))[:, None], -1), axis=0)
        values = np.broadcast_to(values, chosen.shape)
        return np.where(latest < 0, self._before[name], np.take_along_axis(values, np.maximum(latest, 0), 0))

    def _since(self, name: str, counts: Flags, resets: Flags) -> Numbers:
        """The number of cycles that count since the latest one that resets it, each one included."""
        sums = self._before[name] + np.cumsum(counts, axis=0)
        found = sums - np.maximum.accumulate(np.where(resets, sums, 0), axis=0)
        self._before[name] = found[-1]
        return found

    def _end(self, ends: Flags, faults: dict[int, Flags], previous: Any, rows: Any) -> None:
        """Note in which cycle each run ends, and why."""
        each = np.array([ends, *faults.values()])
        times = np.where(each.any(axis=1), each.argmax(axis=1), len(rows))
        now = (self.ended < 0) & (times.min(axis=0) < len(rows))
        # If there are several in a cycle, the first one.
        self.faults = np.where(now, times.argmin(axis=0) - 1, self.faults)
        self.ended = np.where(now, self.cycle + times.min(axis=0), self.ended)
        if now[0]:
            place = times.min(axis=0)[0]
            self._payloads = [_integer(part[place, _PAYLOAD:]) for part in (previous, rows)]

    def raise_error(self) -> None:
        """Raise what the first run did wrong.

        Raises:
            ContractError: the core violated the stream contract.
        """
        if self.faults[0] < 0:
            return
        (held, seen), patience = self._payloads, self._model.patience
        reasons = {
            DEASSERTED: f"valid was deasserted before the transfer of payload {held:#x}",
            CHANGED: f"the payload changed from {held:#x} to {seen:#x} before its transfer",
            PARTIAL: "keep selects a part of a word",
            EARLY: "last is set at the output before a text has ended",
            STUCK: f"no beat was transferred for {patience} cycles",
            ENDLESS: endless_output(patience),
        }
        raise ContractError(f"cycle {self.ended[0]}: {reasons[int(self.faults[0])]}")


def _integer(words: NDArray[np.uint64]) -> int:
    """The number whose bits are those of the first run."""
    return sum((int(word) & 1) << bit for bit, word in enumerate(words))
