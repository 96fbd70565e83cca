# SPDX-License-Identifier: BSD-2-Clause
"""Texts for a foreign core: many runs, each from the state after a reset, and what the core outputs in each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from utf8fpga.sim import contract
from utf8fpga.sim.beats import BeatEncoder, StreamOptions
from utf8fpga.sim.contract import LAST
from utf8fpga.sim.foreign_core import PARTIAL, PATIENCE, WORD_BITS, ForeignCore
from utf8fpga.sim.graph import RUNS, Numbers
from utf8fpga.sim.graph_engine import Bits, CoreRuns

ERROR = 1 << 32
"""The flag of an ill-formed word in `Outcome`."""

CHANGED = "the output changed or was withdrawn before its transfer"

_QUIET = 96
"""Cycles without output after which a run ends."""

_RESET_CYCLES = 4

_REASONS: dict[int, str] = {
    contract.DEASSERTED: CHANGED,
    contract.CHANGED: CHANGED,
    contract.PARTIAL: PARTIAL,
    contract.STUCK: f"input.ready was deasserted for {PATIENCE} cycles",
    contract.ENDLESS: "there is no end of the output",
}
"""By what a run did wrong."""


@dataclass
class Outcome:
    """What a core did in a run.

    Attributes:
        words: its output words, with the flag `ERROR`.
        ends: for each asserted `last` the number of words up to it.
        reason: why the run was cut off, or what was wrong apart from the words; empty if nothing was.
        cycles: the cycles from the first accepted byte to the last one, both included; 0 without a byte.
    """

    words: array[int]
    ends: array[int]
    reason: str = ""
    cycles: int = 0


class ForeignSimulation:
    """A foreign core as a graph."""

    def __init__(self, core: ForeignCore) -> None:
        self.core = core
        self._absent = BeatEncoder(core, core.entry).absent
        self._runs = CoreRuns(core, RUNS, silent=_QUIET)
        self._wait = self._cycles_until_ready()
        self._reset()
        self._after_reset = self._runs.state

    def run(
        self,
        runs: Sequence[Sequence[bytes]],
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
    ) -> list[Outcome]:
        """Run texts through the core, each run from the state after a reset.

        Args:
            runs: for each run its texts, which follow each other without a pause or, if the core has no end of text,
                after a reset.
            input_pauses: for each cycle, repeated, whether the next input is delayed; at least one is not.
            output_pauses: for each cycle, repeated, whether the output is not ready; at least one is not. It has no
                effect on outputs without `ready`.
        """
        if not self.core.ports.has_back_pressure:
            output_pauses = (False,)
        options = StreamOptions(input_pauses, output_pauses)
        found = [Outcome(array("Q"), array("Q")) for _ in runs]
        # Runs of about the same length proceed together.
        order = sorted(range(len(runs)), key=lambda run: sum(map(len, runs[run])))
        for first in range(0, len(order), RUNS):
            chosen = order[first : first + RUNS]
            self._runs.begin(self._after_reset)
            self._run_together(options, [runs[run] for run in chosen], [found[run] for run in chosen])
        return found

    def _run_together(self, options: StreamOptions, runs: Sequence[Sequence[bytes]], found: Sequence[Outcome]) -> None:
        if self.core.ports.has_end:
            self._send(options, runs, found)
            return
        for number in range(max(map(len, runs))):
            if number:
                self._reset()
            # What is wrong ends a run.
            texts = [run[number : number + 1] for run in runs]
            self._send(options, [() if each.reason else text for text, each in zip(texts, found, strict=True)], found)

    def _reset(self) -> None:
        """Assert the reset, until the core accepts input."""
        self._runs.reset(_RESET_CYCLES, self._wait)

    def _cycles_until_ready(self) -> int:
        """The cycles after a reset until the core accepts input; 1 if that depends on the input."""
        is_ready = self._runs.reset(_RESET_CYCLES, PATIENCE) != 0
        return int(is_ready.argmax()) + 1 if self.core.ports.protocol == "axi-stream" else 1

    def _send(self, options: StreamOptions, runs: Sequence[Sequence[bytes]], found: Sequence[Outcome]) -> None:
        """Send texts until the output of all runs is quiet, and add what is received."""
        beats, text_ends = self._beats([text for run in runs for text in run])
        counts = np.cumsum([len(run) for run in runs] + [0] * (RUNS - len(runs)))
        kinds = np.zeros(len(beats), np.int64)
        kinds[text_ends[1:] - 1] = LAST
        parts = list(self._runs.send(beats, kinds, text_ends[counts].tolist(), options))
        of_runs = np.concatenate([part.received[:, 1] for part in parts])
        order = np.argsort(of_runs, kind="stable")
        payloads = np.concatenate([part.payloads for part in parts])[order]
        bounds = np.searchsorted(of_runs[order], np.arange(RUNS + 1))
        accepted = np.zeros(RUNS, np.int64)
        for part in parts:
            np.maximum.at(accepted, part.accepted[:, 1], part.accepted[:, 0] + 1)
        for number, outcome in enumerate(found):
            self._add(payloads[bounds[number] : bounds[number + 1]], outcome)
            outcome.reason = outcome.reason or _REASONS.get(int(self._runs.runs["fault"][number]), "")
            outcome.cycles = int(accepted[number])

    def _beats(self, texts: Sequence[bytes]) -> tuple[Bits, Numbers]:
        """The bits of the beats of texts, all full except the last of each, and the number of beats before each end."""
        lanes, layout = self.core.lanes, self.core.input.payload.shape()
        lengths = np.array([len(text) for text in texts], np.int64)
        counts = np.maximum(1, -(-lengths // lanes))
        ends = np.concatenate([[0], np.cumsum(counts)])
        first = ends[:-1] * lanes - np.cumsum(lengths) + lengths
        places = np.arange(lengths.sum()) + np.repeat(first, lengths)
        symbols, keep = np.full(ends[-1] * lanes, self._absent, np.uint8), np.zeros(ends[-1] * lanes, np.uint8)
        symbols[places], keep[places] = np.frombuffer(b"".join(texts), np.uint8), 1
        beats = np.zeros((ends[-1], layout.size), np.uint8)
        bits = np.unpackbits(symbols.reshape(-1, lanes), axis=1, bitorder="little")
        beats[:, layout["symbols"].offset :][:, : 8 * lanes] = bits
        beats[:, layout["keep"].offset :][:, :lanes] = keep.reshape(-1, lanes)
        beats[ends[1:] - 1, layout["last"].offset] = 1
        return beats, ends

    def _add(self, payloads: Bits, outcome: Outcome) -> None:
        """Add output beats to an outcome."""
        layout: Any = self.core.output.payload.shape()
        symbols = payloads[:, layout["symbols"].offset :][:, : self.core.words * (WORD_BITS + 1)]
        symbols = symbols.reshape(len(payloads), self.core.words, WORD_BITS + 1)
        words = symbols.astype(np.uint64) @ (np.uint64(1) << np.arange(WORD_BITS + 1, dtype=np.uint64))
        is_kept = payloads[:, layout["keep"].offset :][:, : self.core.words] != 0
        if "last" in self.core.ports.output:
            sums = np.cumsum(is_kept.sum(axis=1)) + len(outcome.words)
            outcome.ends.extend(sums[payloads[:, layout["last"].offset] != 0].tolist())
        outcome.words.extend(words[is_kept].tolist())
