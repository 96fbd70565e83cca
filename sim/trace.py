# SPDX-License-Identifier: BSD-2-Clause
"""A trace of the harness in terms of text: replayed in Amaranth's simulator, and shortened there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from utf8fpga.sim.beats import Beat, ContractError, StreamOptions, beat_of, is_null
from utf8fpga.sim.check import DEPENDS_ON_EARLIER, Mismatch, described, first_difference, shortest
from utf8fpga.sim.simulation import Simulation


@dataclass
class Trace:
    """The texts and the pauses of a trace since its last reset.

    Attributes:
        texts: the symbols of each text; the last one may be incomplete.
        starts: for each text the cycle in which its first beat was transferred.
        options: the pauses, null beats and ends.
        payloads: the output beats that were transferred.
    """

    texts: list[tuple[int, ...]]
    starts: list[int]
    options: StreamOptions
    payloads: list[int]

    @staticmethod
    def of(core: Any, cycles: Sequence[dict[str, int]]) -> Trace:
        """Read the values of `Environment.seen` in each cycle; a beat that waits at the end is taken as transferred."""
        start = max((number + 1 for number, cycle in enumerate(cycles) if cycle["see_reset"]), default=0)
        since = cycles[start:]
        beats = []
        for number, cycle in enumerate(since):
            if cycle["see_in_valid"] and (cycle["see_in_ready"] or number == len(since) - 1):
                beats.append((number, beat_of(core, cycle["see_in_payload"])))
        # The patterns repeat, so each has a cycle without a pause.
        options = StreamOptions(
            input_pauses=[*(not cycle["see_in_valid"] for cycle in since), False],
            output_pauses=[*(not cycle["see_out_ready"] for cycle in since), False],
            null_beats=[*(is_null(beat) for _, beat in beats), False],
        )
        payloads = [cycle["see_out_payload"] for cycle in since if cycle["see_out_valid"] and cycle["see_out_ready"]]
        trace = Trace([], [], options, payloads)
        trace._read([(number, beat) for number, beat in beats if not is_null(beat)])
        return trace

    def _read(self, beats: Sequence[tuple[int, Beat]]) -> None:
        """Read the texts of beats, of which the cycles are given."""
        ends: list[bool] = []
        is_inside = False
        for number, (slots, last) in beats:
            units = [slot for slot in slots if slot is not None]
            if not is_inside:
                self.texts.append(())
                self.starts.append(number)
                ends.append(False)
            self.texts[-1] += tuple(units)
            ends[-1] = last and not units
            is_inside = not last
        if is_inside:
            ends[-1] = True  # The end follows the trace.
        self.options = replace(self.options, separate_ends=ends or [False])

    def from_text(self, number: int) -> StreamOptions:
        """The pauses from the beginning of a text on."""
        patterns = {
            name: _rotated(getattr(self.options, name), self.starts[number])
            for name in ("input_pauses", "output_pauses")
        }
        return StreamOptions(**patterns)

    def given(self, simulation: Simulation) -> list[list[Any]]:
        """The symbols of each text at the output; what violates the contract is a symbol that is its message."""
        last = simulation.core.output.payload.shape()["last"].offset
        texts: list[list[Any]] = [[]]
        for payload in self.payloads:
            try:
                texts[-1] += simulation.read(payload)
            except ContractError as error:
                texts[-1].append(str(error))
            if payload >> last & 1:
                texts.append([])
        return texts


def _rotated(pattern: Sequence[bool], count: int) -> list[bool]:
    return [*pattern[count:], *pattern[:count]]


def mismatch_of(simulation: Simulation, cycles: Sequence[dict[str, int]], reason: str) -> Mismatch:
    """The first difference in a trace, which is replayed in Amaranth's simulator and shortened there.

    Args:
        cycles: the trace up to the cycle of the difference.
        reason: the property that does not hold, unless symbols differ.
    """
    trace = Trace.of(simulation.core, cycles)
    texts, given = trace.texts or [()], trace.given(simulation)
    expected = [simulation.expected(text) for text in texts]
    place = next((at for at, pair in enumerate(zip(given, expected, strict=False)) if not _begins(*pair)), -1)
    place = len(texts) - 1 if place < 0 else place
    python = simulation.on("python")
    # A text without output may follow one whose end is lost.
    for number in (place, place - 1):
        if 0 <= number < len(trace.texts):
            for options in (StreamOptions(), trace.from_text(number)):
                if found := first_difference(python, texts[number], options):
                    return shortest(python, found, options)
    simulated = given[place] if place < len(given) else []
    pairs = zip_longest(expected[place], simulated)
    wanted, symbol = next(((one, other) for one, other in pairs if one != other), (None, None))
    found = described(simulation, texts[place], StreamOptions(), 0, wanted, symbol, reason)
    return replace(found, replay=(), no_replay=DEPENDS_ON_EARLIER)


def _begins(part: Sequence[Any], whole: Sequence[Any]) -> bool:
    return list(part) == list(whole[: len(part)])
