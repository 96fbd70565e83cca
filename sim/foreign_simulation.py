# SPDX-License-Identifier: BSD-2-Clause
"""Texts for a foreign core: many runs, each from the state after a reset, and what the core outputs in each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from utf8fpga.sim.foreign_core import PARTIAL, PATIENCE, ForeignCore
from utf8fpga.sim.graph import RUNS, Numbers, State, Words
from utf8fpga.sim.session import CoreGraph, Session
from utf8fpga.sim.stream_kernel import Status

ERROR = 1 << 32
"""The flag of an ill-formed word in `Outcome`."""

CHANGED = "the output changed or was withdrawn before its transfer"

_QUIET = 96
"""Cycles without output after which a run ends."""

_RESET_CYCLES = 4

_REASONS: dict[int, str] = {
    Status.STUCK: f"input.ready was deasserted for {PATIENCE} cycles",
    Status.CHANGED: CHANGED,
    Status.DEASSERTED: CHANGED,
    Status.ENDLESS: "there is no end of the output",
    Status.VIOLATION: PARTIAL,
}
"""By status of a run; the others are correct."""


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
        self._model = CoreGraph(core, core.entry)
        session = Session(self._model, RUNS, quiet=_QUIET)
        self._wait = self._cycles_until_ready(session)
        self._reset(session)
        self._after_reset: State = session.state

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
        session = Session(self._model, RUNS, quiet=_QUIET, input_pauses=input_pauses, output_pauses=output_pauses)
        found = [Outcome(array("Q"), array("Q")) for _ in runs]
        # Runs of about the same length proceed together.
        order = sorted(range(len(runs)), key=lambda run: sum(map(len, runs[run])))
        for first in range(0, len(order), RUNS):
            chosen = order[first : first + RUNS]
            session.begin(self._after_reset)
            self._run_together(session, [runs[run] for run in chosen], [found[run] for run in chosen])
        return found

    def _run_together(self, session: Session, runs: Sequence[Sequence[bytes]], found: Sequence[Outcome]) -> None:
        if self.core.ports.has_end:
            self._send(session, runs, found)
            return
        for number in range(max(map(len, runs))):
            if number:
                self._reset(session)
            # What is wrong ends a run.
            texts = [run[number : number + 1] for run in runs]
            self._send(session, [() if each.reason else text for text, each in zip(texts, found, strict=True)], found)

    def _reset(self, session: Session) -> None:
        """Assert the reset, until the core accepts input."""
        session.reset(_RESET_CYCLES)
        session.idle(self._wait)

    def _cycles_until_ready(self, session: Session) -> int:
        """The cycles after a reset until the core accepts input; 0 if that depends on the input."""
        session.reset(_RESET_CYCLES)
        is_ready = session.idle(PATIENCE) != 0
        return int(is_ready.argmax()) + 1 if self.core.ports.protocol == "axi-stream" and is_ready.any() else 0

    def _send(self, session: Session, runs: Sequence[Sequence[bytes]], found: Sequence[Outcome]) -> None:
        """Send texts until the output of all runs is quiet, and add what is received."""
        texts = [text for run in runs for text in run]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        symbols = np.frombuffer(b"".join(texts), np.uint8).astype(np.int64)
        beats, kinds = self._model.beats(symbols, ends)
        # For each run the number of beats before its end.
        text_ends = np.concatenate([[0], np.flatnonzero(kinds) + 1])
        counts = np.cumsum([len(run) for run in runs] + [0] * (RUNS - len(runs)))
        parts = []
        for taken in session.send(beats, kinds, text_ends[counts]):
            count = session.lines["taken"]
            is_taken = np.arange(taken.payloads.shape[1]) < count[:, None]
            parts.append((np.repeat(np.arange(RUNS), count), taken.payloads[is_taken]))
        self._add(np.concatenate([run for run, _ in parts]), np.concatenate([each for _, each in parts]), found)
        for line, outcome in zip(session.lines, found, strict=False):
            outcome.reason = outcome.reason or _REASONS.get(line["status"], "")
            outcome.cycles = line["final"] - line["first"] + 1 if line["first"] >= 0 else 0

    def _add(self, runs: Numbers, payloads: Words, found: Sequence[Outcome]) -> None:
        """Add output beats to the outcomes of their runs."""
        order = np.argsort(runs, kind="stable")
        runs, payloads = runs[order], payloads[order]
        words, counts = self._model.symbols(payloads)
        word_ends, beat_ends = np.concatenate([[0], np.cumsum(counts)]), np.searchsorted(runs, np.arange(RUNS + 1))
        lasts = (
            np.flatnonzero(self._model.lasts(payloads)) + 1 if "last" in self.core.ports.output else np.array([], int)
        )
        for run, outcome in enumerate(found):
            first, end = word_ends[beat_ends[run]], word_ends[beat_ends[run + 1]]
            own = lasts[(lasts > beat_ends[run]) & (lasts <= beat_ends[run + 1])]
            outcome.ends.extend((word_ends[own] - first + len(outcome.words)).tolist())
            outcome.words.frombytes(words[first:end].tobytes())
