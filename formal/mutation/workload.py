# SPDX-License-Identifier: BSD-2-Clause
"""Many simulations at once: each bit of Python's long integers is a run of its own.

A circuit is an and-inverter graph; one cycle of all runs is one bitwise operation for each gate. The texts and pauses
of the runs are drawn once, with the handshake of a correct decoder, and are then the input of any number of mutants.
Their outputs are compared with the golden model.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from utf8fpga.formal.aiger import Aig
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.hdl.payloads import code_point_bits
from utf8fpga.model import DFA, START, TABLE_3_7, EncodingTable, Item
from utf8fpga.sim.beats import NULL_BEAT, Beat, ContractError, beat_payload, text_beats
from utf8fpga.sim.simulation import Simulation

__all__ = ["Workload", "drawn_texts"]

_SEEN = ("see_in_valid", "see_in_ready", "see_out_valid", "see_out_payload")

_BURST = 48
"""Upper bound on the cycles for which either side pauses: more than fill or drain any buffer."""


def drawn_texts(rng: random.Random, table: EncodingTable = TABLE_3_7) -> Iterator[list[int]]:
    """An endless stream of texts: range bounds and their neighbours; well-formed and damaged text."""
    bounds = {bound for row in table.rows for allowed in row.units for bound in (allowed.first, allowed.last)}
    top = (1 << table.unit_width) - 1
    near = sorted({unit for bound in bounds for unit in (bound - 1, bound, bound + 1) if 0 <= unit <= top} | {0, top})
    while True:
        kind = rng.randrange(5)
        if kind == 0:
            yield rng.choices(near, k=2)
        elif kind == 1:
            yield rng.choices(near, k=rng.randrange(9))
        elif kind == 2:
            yield [rng.randrange(top + 1) for _ in range(rng.randrange(6))]
        else:
            rows = rng.choices(table.rows, k=rng.randrange(1, 5))
            points = [rng.randint(row.code_points.first, row.code_points.last) for row in rows]
            text = list(chain.from_iterable(row.encode(point) for row, point in zip(rows, points, strict=True)))
            if kind == 3:
                place = rng.randrange(len(text))
                text[place : place + 1] = rng.choice([[], [text[place]] * 2, [rng.randrange(top + 1)]])
            yield text


@dataclass
class Workload:
    """The inputs of all runs, cycle by cycle, and the outputs of a correct decoder.

    Attributes:
        decoder: the correct decoder.
        runs: the number of runs.
        inputs: per cycle the bits of the ports `offer`, `ready`, `fresh` and `reset`, an integer of all runs each.
        seen: per cycle the ports of the correct decoder.
    """

    decoder: Any
    runs: int
    inputs: list[dict[str, list[int]]]
    seen: list[dict[str, list[int]]]

    @staticmethod
    def draw(aig: Aig, decoder: Any, *, runs: int = 1024, cycles: int = 168, seed: int = 1) -> Workload:
        """Draw texts and pauses, with `aig`, a `Harness` around the decoder, for the handshake."""
        rng = random.Random(seed)
        step, where = aig.stepper(_outputs(aig)), _places(aig)
        buffered = isinstance(decoder, ParallelDecoder)

        def drawn() -> Iterator[Beat]:
            return _beats(_joined(drawn_texts(rng, decoder.parameters.table), decoder.lanes, rng), decoder.lanes, rng)

        texts = [drawn() for _ in range(runs)]
        offers, ready = ([_willing(rng, bursts=buffered) for _ in range(runs)] for _ in range(2))
        # In every other run there is a reset in between.
        resets = [{0, rng.randrange(1, cycles)} if run % 2 else {0} for run in range(runs)]
        current = [next(beats) for beats in texts]
        offered, everyone = [False] * runs, (1 << runs) - 1
        workload = Workload(decoder, runs, [], [])
        state, width = [0] * len(aig.latches), (decoder.parameters.table.unit_width + 1) * decoder.lanes + 1
        for cycle in range(cycles):
            for run in range(runs):
                offered[run] = next(offers[run]) or offered[run]
            words = [beat_payload(decoder, beat) for beat in current]
            frame = {
                "offer": [_gather(offered)],
                "ready": [_gather([next(each) for each in ready])],
                "fresh": _columns(words, width),
                "reset": [_gather([cycle in those for those in resets])],
            }
            workload.inputs.append(frame)
            state, found = step(state, _frame(aig, frame), everyone)
            values = _ports(found, where)
            workload.seen.append(values)
            taken = values["see_in_valid"][0] & values["see_in_ready"][0]
            for run in range(runs):
                if cycle in resets[run]:
                    texts[run] = drawn()
                if cycle in resets[run] or taken >> run & 1:
                    current[run], offered[run] = next(texts[run]), False
        return workload

    def play(self, aig: Aig) -> list[dict[str, list[int]]]:
        """Simulate a harness around another decoder; per cycle the values of its ports."""
        step, where = aig.stepper(_outputs(aig)), _places(aig)
        state, seen = [0] * len(aig.latches), []
        for frame in self.inputs:
            state, found = step(state, _frame(aig, frame), (1 << self.runs) - 1)
            values = _ports(found, where)
            values["see_out_payload"] = self._fitted(values["see_out_payload"])
            seen.append(values)
        return seen

    def inputs_of(self, run: int) -> list[dict[str, int]]:
        """Per cycle the inputs of one run, by port."""
        return [
            {name: sum((word >> run & 1) << bit for bit, word in enumerate(words)) for name, words in frame.items()}
            for frame in self.inputs
        ]

    def _fitted(self, payload: list[int]) -> list[int]:
        """A payload with code points, the first field of each item, as wide as those of the correct decoder."""
        lanes, bits = self.decoder.lanes, code_point_bits(self.decoder.parameters.table)
        # Behind the items are `keep`, a bit per lane, and `last`.
        size = (len(payload) - 1) // lanes - 1
        missing = (len(self.seen[0]["see_out_payload"]) - 1) // lanes - 1 - size
        fitted: list[int] = []
        for start in range(0, lanes * size, size):
            item = payload[start : start + size]
            fitted += item[: bits - max(missing, 0)] + [0] * missing + item[bits - missing :]
        return fitted + payload[lanes * size :]

    def differing(self, seen: Sequence[dict[str, list[int]]]) -> list[int]:
        """The runs in which a port differs whose value is defined, in their order."""
        differ = 0
        for ours, theirs in zip(self.seen[1:], seen[1:], strict=True):
            valid = ours["see_out_valid"][0]
            for name in ("see_in_ready", "see_out_valid"):
                differ |= ours[name][0] ^ theirs[name][0]
            for left, right in zip(ours["see_out_payload"], theirs["see_out_payload"], strict=True):
                differ |= (left ^ right) & valid
        return [run for run in range(self.runs) if differ >> run & 1]

    def wrong(self, seen: Sequence[dict[str, list[int]]], run: int) -> str:
        """How a run violates the golden model or the contract of the streams; empty if it is correct."""
        decoder = self.decoder
        judged = _Judged(decoder)
        for cycle, (frame, values) in enumerate(zip(self.inputs, seen, strict=True)):
            if frame["reset"][0] >> run & 1:
                if reason := judged.items(cut=True):
                    return reason
                judged = _Judged(decoder)
                continue
            in_valid, in_ready, out_valid = (values[name][0] >> run & 1 for name in _SEEN[:3])
            fresh, payload = (
                sum((word >> run & 1) << bit for bit, word in enumerate(words))
                for words in (frame["fresh"], values["see_out_payload"])
            )
            ports = _Clock(in_valid, in_ready, out_valid, frame["ready"][0] >> run & 1, fresh, payload)
            if reason := judged.clock(ports):
                return f"cycle {cycle}: {reason}"
        return judged.items(cut=False)


@dataclass(frozen=True)
class _Clock:
    """The values of the ports in one cycle of one run."""

    in_valid: int
    in_ready: int
    out_valid: int
    ready: int
    fresh: int
    payload: int

    @property
    def waits(self) -> bool:
        """An output beat waits."""
        return bool(self.out_valid and not self.ready)


class _Judged:
    """One run from a reset on, compared with the golden model and the contract of the streams."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self._simulation = Simulation(decoder)
        self._text: list[int] = []
        self._given: list[Any] = []
        self._wanted: list[Any] = []
        self._previous: Any = None
        self._waiting: int | None = None
        self._held: int | None = None
        self._flow = _Flow(decoder) if isinstance(decoder, ParallelDecoder) else None

    def clock(self, now: _Clock) -> str:
        """The reason for which a cycle is incorrect; empty if it is correct."""
        decoder = self._decoder
        if self._waiting is not None and (not now.out_valid or now.payload != self._waiting):
            return "a waiting payload changed"
        self._waiting = now.payload if now.waits else None
        if not now.in_ready and (self._flow.settled if self._flow else not now.waits):
            return "a stall of its own"
        taken: tuple[list[int], bool] | None = None
        if now.in_valid:
            self._held = now.fresh if self._held is None else self._held
            if now.in_ready:
                units, last = _beat(decoder, self._held)
                taken = (units, last) if units or last else None
                self._text += units
                if last:
                    self._wanted += [*self._simulation.expected(self._text), None]
                    self._text = []
                self._held = None
        if now.out_valid and now.ready:
            items: list[Any] = []
            for lane in range(decoder.lanes):
                items.append(self._item(now.payload, lane))
                self._previous = items[-1] if isinstance(items[-1], Item) else self._previous
            ends = decoder.output.payload.shape().from_bits(now.payload).last
            self._previous = None if ends else self._previous
            found = [item for item in items if item is not None]
            if not (found or ends) or (decoder.packed and None in items[: len(found)]):
                return "a beat without meaning"
            self._given += found + [None] * ends
        return self._flow.clock(taken, len(self._given), waits=now.waits) if self._flow else ""

    def _item(self, payload: int, lane: int) -> Any:
        try:
            return self._simulation.symbol(payload, lane, self._previous)
        except ContractError as error:
            return str(error)

    def items(self, *, cut: bool) -> str:
        """The first difference of the items; empty if there is none. The last text may have items in flight."""
        given, decoder = self._given, self._decoder
        wanted = [*self._wanted, *self._simulation.expected(self._text)]
        if given != wanted[: len(given)]:
            return next(
                f"item {n}: {given[n]} in place of {wanted[n] if n < len(wanted) else 'nothing'}"
                for n in range(len(given))
                if n >= len(wanted) or given[n] != wanted[n]
            )
        missing = len(wanted) - len(given)
        # The items in a buffer, which may be full, are checked by `_Flow`.
        return f"{missing} items are missing" if not (cut or self._flow) and missing > 3 * (decoder.latency + 1) else ""


@dataclass
class _Flow:
    """The flow through a decoder with a buffer: checks `Property.STALL`, `Property.LATENCY`, and that it drains.

    Attributes:
        settled: the input must be ready in the next cycle.
    """

    decoder: Any
    settled: bool = False
    _willing: int = 0
    _smooth: bool = False
    _state: int = START
    _came: int = 0
    _gone: int = 0
    _due: list[int] = field(default_factory=list)

    def clock(self, taken: tuple[list[int], bool] | None, gone: int, *, waits: bool) -> str:
        """The reason for which a cycle is incorrect; empty if it is correct.

        Args:
            taken: the beat that is accepted.
            gone: the number of events that have been transferred at the output.
            waits: an output beat waits.
        """
        inside = self._came - self._gone
        due = self._due[-1] if self._due else 0
        if taken:
            before = self._came
            self._step(*taken)
            # The events of a beat that ends within a sequence are due once the next beat is known.
            due = self._came if self._state == START else before
        self._due.append(due)
        self._gone = gone
        if self._smooth and not waits and gone < self._due_before(self.decoder.latency):
            return "an item is late"
        self._willing = 0 if waits else self._willing + 1
        drained = self.decoder.drain_cycles
        if self._willing > drained and gone < self._due_before(drained):
            return "an item is stuck"
        self.settled = self._willing >= self.decoder.stall_cycles
        self._smooth = (self._smooth or not inside) and not waits
        return ""

    def _due_before(self, cycles: int) -> int:
        return self._due[-1 - cycles] if len(self._due) > cycles else 0

    def _step(self, units: Sequence[int], last: bool) -> None:
        """Count the events of a beat, as in the reference."""
        dfa, state = DFA.of(self.decoder.parameters.table), self._state
        for unit in units:
            after = dfa.step(state, unit)
            if after < START and state != START:
                self._came += 1
                after = dfa.step(START, unit)
            self._came += after <= START
            state = max(after, START)
        if last:
            self._came += 1 + (state != START)
            state = START
        self._state = state


def _joined(texts: Iterator[list[int]], lanes: int, rng: random.Random) -> Iterator[list[int]]:
    """Texts, for several lanes some of them joined, so that the sequences of a text begin in any lane."""
    while True:
        yield list(chain.from_iterable(next(texts) for _ in range(rng.choice((1, 1, 2, lanes)) if lanes > 1 else 1)))


def _willing(rng: random.Random, *, bursts: bool) -> Iterator[bool]:
    """Whether one side is ready, cycle by cycle: always, at random, or in bursts with pauses in between."""
    busy = rng.choice((0, 0, 0.4))
    in_bursts = bursts and rng.random() < 0.5
    while True:
        if not in_bursts:
            yield rng.random() >= busy
            continue
        for ready in (True, False):
            for _ in range(rng.randrange(1, rng.choice((4, _BURST)))):
                yield ready


def _beats(texts: Iterator[list[int]], lanes: int, rng: random.Random) -> Iterator[Beat]:
    null_beats = rng.choice((0, 0, 0, 0.3))
    for text in texts:
        for beat in text_beats(text, lanes, separate_end=rng.random() < 0.3):
            while rng.random() < null_beats:
                yield NULL_BEAT
            yield beat


def _beat(decoder: Any, payload: int) -> tuple[list[int], bool]:
    """The units of an input beat, with `keep` as the harness corrects it, and whether its text ends."""
    width, lanes = decoder.parameters.table.unit_width, decoder.lanes
    last = bool(payload >> (width + 1) * lanes)
    there = payload >> width * lanes
    if not last:
        there = (1 << lanes) - 1 if there & 1 else 0
    units = [payload >> width * lane & (1 << width) - 1 for lane in range(lanes)]
    return units[: next((lane for lane in range(lanes) if not there >> lane & 1), lanes)], last


def _columns(words: Sequence[int], width: int) -> list[int]:
    """Per bit of the words an integer whose bit n is that bit of word n."""
    rows = [f"{word:0{width}b}" for word in reversed(words)]
    return [int("".join(column), 2) for column in reversed(list(zip(*rows, strict=True)))]


def _gather(bits: Sequence[int]) -> int:
    return int("".join("1" if bit else "0" for bit in reversed(bits)), 2)


def _outputs(aig: Aig) -> list[int]:
    return [where for name in _SEEN for where in aig.output_bits[name]]


def _places(aig: Aig) -> dict[str, slice]:
    places, start = {}, 0
    for name in _SEEN:
        places[name] = slice(start, start + len(aig.output_bits[name]))
        start = places[name].stop
    return places


def _ports(found: Sequence[int], places: dict[str, slice]) -> dict[str, list[int]]:
    return {name: list(found[place]) for name, place in places.items()}


def _frame(aig: Aig, ports: dict[str, list[int]]) -> list[int]:
    frame = [0] * aig.inputs
    for name, words in ports.items():
        for where, word in zip(aig.input_bits.get(name, ()), words, strict=False):
            frame[where] = word
    return frame
