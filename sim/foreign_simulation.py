# SPDX-License-Identifier: BSD-2-Clause
"""Texts for a foreign core: many runs, each from the state after a reset, and what the core outputs in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from utf8fpga.model import TABLE_3_7
from utf8fpga.sim import contract
from utf8fpga.sim.beats import StreamOptions
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.graph import RUNS, Numbers
from utf8fpga.sim.graph_engine import Bits, CoreRuns
from utf8fpga.sim.kernel import set_input

CHANGED = "the output changed or was withdrawn before its transfer"

Pauses = tuple[str, str]
"""For each cycle, repeated, 1 where the next input is delayed, and 1 where the output is not ready; not always 1."""

NO_PAUSES = ("0", "0")

_PATIENCE = 2048
"""Cycles after which a byte that is not accepted, or an output without end, is an error."""

_QUIET = 96
"""Cycles without output after which a run ends."""

_RESET_CYCLES = 4

_ABSENT = TABLE_3_7.rows[-1].units[-1].last
"""The byte in lanes without one: a core that does not ignore it fails."""

_REASONS: dict[int, str] = {
    contract.DEASSERTED: CHANGED,
    contract.CHANGED: CHANGED,
    contract.STUCK: f"input.ready was deasserted for {_PATIENCE} cycles",
    contract.ENDLESS: "there is no end of the output",
}
"""By what a run did wrong."""


@dataclass
class Outcome:
    """What a core did in a run.

    Attributes:
        words: its output words, see `word`; those of which a part is missing are left out.
        ends: for each asserted `last` the number of words up to it.
        reason: why the run was cut off, or what was wrong apart from the words; empty if nothing was.
        cycles: the cycles from the first accepted byte to the last one, both included; 0 without a byte.
    """

    words: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    reason: str = ""
    cycles: int = 0


def word(code_point: int, has_error: bool) -> str:
    """A word as a text: the code point in hexadecimal, with ``!`` before it if `error` is asserted."""
    return f"{'!' if has_error else ''}{code_point:04X}"


class ForeignSimulation:
    """A foreign core as a graph."""

    def __init__(self, core: ForeignCore) -> None:
        self._core, graph = core, core.graph()
        self._runs = runs = CoreRuns(graph, _PATIENCE, RUNS, silent=_QUIET)
        for name, _, value in core.module.constants:
            for place, literal in enumerate(graph.inputs[name]):
                set_input(runs.state.values, literal, runs.state.active if value >> place & 1 else np.uint64(0))
        # A core may accept input some time after the reset.
        self._wait = int((runs.reset(_RESET_CYCLES, _PATIENCE) != 0).argmax()) + 1
        runs.reset(_RESET_CYCLES, self._wait)
        self._after_reset = runs.state

    def run(self, runs: Sequence[Sequence[bytes]], pauses: Pauses = NO_PAUSES) -> list[Outcome]:
        """Run texts through the core, each run from the state after a reset.

        Args:
            runs: for each run its texts, which follow each other without a pause or, if the core has no end of text,
                after a reset.
        """
        given, taken = ([digit == "1" for digit in pattern] for pattern in pauses)
        options = StreamOptions(given, taken if self._core.has_back_pressure else [False])
        found = [Outcome() for _ in runs]
        for first in range(0, len(runs), RUNS):
            chosen, outcomes = runs[first : first + RUNS], found[first : first + RUNS]
            self._runs.begin(self._after_reset)
            if self._core.has_end:
                self._send(options, chosen, outcomes)
                continue
            for number in range(max(map(len, chosen))):
                if number:
                    self._runs.reset(_RESET_CYCLES, self._wait)
                # What is wrong ends a run.
                pairs = zip(chosen, outcomes, strict=True)
                texts = [() if outcome.reason else run[number : number + 1] for run, outcome in pairs]
                self._send(options, texts, outcomes)
        return found

    def _send(self, options: StreamOptions, runs: Sequence[Sequence[bytes]], found: Sequence[Outcome]) -> None:
        """Send texts until the output of all runs is quiet, and add what is received."""
        beats, text_ends = self._beats([text for run in runs for text in run])
        counts = np.cumsum([len(run) for run in runs] + [0] * (RUNS - len(runs)))
        # The kinds of beats do not matter, since a run ends when its output is quiet.
        kinds = np.zeros(len(beats), np.int64)
        parts = list(self._runs.send(beats, kinds, text_ends[counts].tolist(), options))
        of_runs = np.concatenate([part.received[:, 1] for part in parts])
        payloads = np.concatenate([part.payloads for part in parts])
        accepted = np.concatenate([part.accepted for part in parts])
        for number, outcome in enumerate(found):
            self._add(payloads[of_runs == number], outcome)
            outcome.reason = outcome.reason or _REASONS.get(int(self._runs.runs["fault"][number]), "")
            cycles = accepted[accepted[:, 1] == number, 0]
            outcome.cycles = int(cycles.max(initial=-1)) + 1

    def _beats(self, texts: Sequence[bytes]) -> tuple[Bits, Numbers]:
        """The bits of the beats of texts, all full except the last of each, and the number of beats before each end."""
        lanes = self._core.lanes
        lengths = np.array([len(text) for text in texts], np.int64)
        counts = np.maximum(1, -(-lengths // lanes))
        ends = np.concatenate([[0], np.cumsum(counts)])
        first = ends[:-1] * lanes - np.cumsum(lengths) + lengths
        places = np.arange(lengths.sum()) + np.repeat(first, lengths)
        symbols, keep = np.full(ends[-1] * lanes, _ABSENT, np.uint8), np.zeros(ends[-1] * lanes, np.uint8)
        symbols[places], keep[places] = np.frombuffer(b"".join(texts), np.uint8), 1
        last = np.zeros((ends[-1], 1), np.uint8)
        last[ends[1:] - 1] = 1
        beats = [np.unpackbits(symbols.reshape(-1, lanes), axis=1, bitorder="little")]
        ports = self._core.ports["input"]
        beats += [bits for role, bits in (("keep", keep.reshape(-1, lanes)), ("last", last)) if role in ports]
        return np.concatenate(beats, axis=1), ends

    def _add(self, payloads: Bits, outcome: Outcome) -> None:
        """Add output beats to an outcome."""
        core, words = self._core, self._core.words
        sizes = words * np.array([core.point_bits, 1, core.keep_bits])
        points, errors, keep, last = np.split(payloads, np.cumsum(sizes), axis=1)
        powers = np.int64(1) << np.arange(core.point_bits)
        found = points.reshape(len(payloads), words, core.point_bits) @ powers
        is_kept = keep.reshape(len(payloads), words, core.keep_bits).all(axis=2)
        sums = np.cumsum(is_kept.sum(axis=1)) + len(outcome.words)
        outcome.ends += sums[last[:, 0] != 0].tolist()
        outcome.words += map(word, found[is_kept].tolist(), errors[is_kept].tolist())
