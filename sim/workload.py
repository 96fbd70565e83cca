# SPDX-License-Identifier: BSD-2-Clause
"""A thousand simulations at once: each bit of Python's long integers is a run of its own.

A circuit is an and-inverter graph; one clock of all runs is one bitwise operation for each gate. The
texts and pauses of the runs are drawn once, with the handshake of a right decoder, and then played
to any number of mutants. What comes out is judged by the golden model.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from utf8fpga.hdl.ports import code_point_bits
from utf8fpga.model import TABLE_3_7, EncodingTable, Item, decode
from utf8fpga.sim.engine import Aig
from utf8fpga.sim.simulation import Beat, ContractError, Simulation, beat_payload, text_beats

__all__ = ["Workload", "drawn_texts"]

_SEEN = ("see_in_valid", "see_in_ready", "see_out_valid", "see_out_payload")


def drawn_texts(rng: random.Random, table: EncodingTable = TABLE_3_7) -> Iterator[list[int]]:
    """Texts without end: pairs and strings of range bounds and their neighbours, well-formed and damaged text."""
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
    """What every run is given, clock by clock, and what a right decoder did.

    Attributes:
        decoder: the right decoder.
        runs: how many.
        inputs: per clock the bits of the ports `offer`, `ready`, `fresh` and `reset`, an integer of all runs each.
        seen: per clock what the right decoder's ports were.
    """

    decoder: Any
    runs: int
    inputs: list[dict[str, list[int]]]
    seen: list[dict[str, list[int]]]

    @staticmethod
    def draw(aig: Aig, decoder: Any, *, runs: int = 1024, clocks: int = 168, seed: int = 1) -> Workload:
        """Draw texts and pauses, with `aig`, a `Harness` around the decoder, for the handshake."""
        rng = random.Random(seed)
        step, where = aig.stepper(_outputs(aig)), _places(aig)
        texts = [_beats(drawn_texts(rng, decoder.table), decoder.lanes, rng) for _ in range(runs)]
        busy_in, busy_out = ([rng.choice((0, 0, 0.4)) for _ in range(runs)] for _ in range(2))
        current = [next(beats) for beats in texts]
        offered, everyone = [False] * runs, (1 << runs) - 1
        workload = Workload(decoder, runs, [], [])
        state, width = [0] * len(aig.latches), (decoder.table.unit_width + 1) * decoder.lanes + 1
        for clock in range(clocks):
            for run in range(runs):
                offered[run] = offered[run] or rng.random() >= busy_in[run]
            words = [beat_payload(decoder, beat) for beat in current]
            frame = {
                "offer": [_gather(offered)],
                "ready": [_gather([rng.random() >= busy for busy in busy_out])],
                "fresh": [_gather([word >> bit & 1 for word in words]) for bit in range(width)],
                "reset": [0 if clock else everyone],
            }
            workload.inputs.append(frame)
            state, found = step(state, _frame(aig, frame), everyone)
            values = _ports(found, where)
            workload.seen.append(values)
            taken = values["see_in_valid"][0] & values["see_in_ready"][0] if clock else 0
            for run in range(runs):
                if taken >> run & 1:
                    current[run], offered[run] = next(texts[run]), False
        return workload

    def play(self, aig: Aig) -> list[dict[str, list[int]]]:
        """What the ports of a harness around another decoder are, per clock."""
        step, where = aig.stepper(_outputs(aig)), _places(aig)
        state, seen = [0] * len(aig.latches), []
        for frame in self.inputs:
            state, found = step(state, _frame(aig, frame), (1 << self.runs) - 1)
            values = _ports(found, where)
            values["see_out_payload"] = self._fitted(values["see_out_payload"])
            seen.append(values)
        return seen

    def _fitted(self, payload: list[int]) -> list[int]:
        """A payload with as many bits of code point, its first field, as the right decoder has."""
        missing = len(self.seen[0]["see_out_payload"]) - len(payload)
        bits = code_point_bits(self.decoder.table)
        return payload[: bits - max(missing, 0)] + [0] * missing + payload[bits - missing :]

    def differing(self, seen: Sequence[dict[str, list[int]]]) -> list[int]:
        """The runs in which anything differs that an onlooker may look at, in their order."""
        differ = 0
        for ours, theirs in zip(self.seen[1:], seen[1:], strict=True):
            valid = ours["see_out_valid"][0]
            for name in ("see_in_ready", "see_out_valid"):
                differ |= ours[name][0] ^ theirs[name][0]
            for left, right in zip(ours["see_out_payload"], theirs["see_out_payload"], strict=True):
                differ |= (left ^ right) & valid
        return [run for run in range(self.runs) if differ >> run & 1]

    def wrong(self, seen: Sequence[dict[str, list[int]]], run: int) -> str:
        """Why the golden model or the streams' contract say that a run is wrong; nothing if it is right."""
        simulation, decoder = Simulation(self.decoder), self.decoder
        text: list[int] = []
        given: list[Any] = []
        wanted: list[Any] = []
        waiting: int | None = None
        inputs = list(zip(self.inputs, seen, strict=True))[1:]
        held: int | None = None
        for clock, (frame, values) in enumerate(inputs, 1):
            ready = frame["ready"][0] >> run & 1
            in_valid, in_ready, out_valid = (values[name][0] >> run & 1 for name in _SEEN[:3])
            payload = sum((word >> run & 1) << bit for bit, word in enumerate(values["see_out_payload"]))
            if waiting is not None and (not out_valid or payload != waiting):
                return f"clock {clock}: a waiting payload changed"
            waiting = payload if out_valid and not ready else None
            if not in_ready and (ready or not out_valid):
                return f"clock {clock}: a stall of its own"
            if in_valid:
                fresh = sum((word >> run & 1) << bit for bit, word in enumerate(frame["fresh"]))
                held = fresh if held is None else held
                if in_ready:
                    units, last = _beat(decoder, held)
                    text += units
                    if last:
                        wanted += [*map(simulation.like, decode(text, decoder.table)), None]
                        text = []
                    held = None
            if out_valid and ready:
                items = [_item(simulation, payload, lane, given) for lane in range(decoder.lanes)]
                ends = decoder.items.payload.shape().from_bits(payload).last
                found = [item for item in items if item is not None]
                if not (found or ends) or (decoder.packed and None in items[: len(found)]):
                    return f"clock {clock}: a beat without meaning"
                given += found + [None] * ends
        # The last text is cut off, and the last items are still inside.
        wanted += map(simulation.like, decode(text, decoder.table))
        if given != wanted[: len(given)]:
            return next(
                f"item {n}: {given[n]} in place of {wanted[n] if n < len(wanted) else 'nothing'}"
                for n in range(len(given))
                if n >= len(wanted) or given[n] != wanted[n]
            )
        missing = len(wanted) - len(given)
        return f"{missing} items are missing" if missing > 3 * (decoder.latency + 1) else ""


def _item(simulation: Simulation, payload: int, lane: int, given: Sequence[Any]) -> Any:
    start = max((n + 1 for n, item in enumerate(given) if item is None), default=0)
    offset = sum(item.length for item in given[start:] if isinstance(item, Item))
    try:
        return simulation.item(payload, lane, offset)
    except (ContractError, ValueError) as error:
        return str(error)


def _beats(texts: Iterator[list[int]], lanes: int, rng: random.Random) -> Iterator[Beat]:
    for text in texts:
        yield from text_beats(text, lanes, separate_end=rng.random() < 0.3)


def _beat(decoder: Any, payload: int) -> tuple[list[int], bool]:
    """The units of an input beat as the harness completes it, and whether its text ends."""
    width, lanes = decoder.table.unit_width, decoder.lanes
    last = bool(payload >> (width + 1) * lanes)
    there = (1 << lanes) - 1 if not last else payload >> width * lanes
    units = [payload >> width * lane & (1 << width) - 1 for lane in range(lanes)]
    return units[: next((lane for lane in range(lanes) if not there >> lane & 1), lanes)], last


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
