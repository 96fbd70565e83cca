# SPDX-License-Identifier: BSD-2-Clause
"""Texts for a foreign core: many short runs, each from the state after a reset, and what the core outputs in each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from utf8fpga.hdl.foreign_core import PARTIAL, PATIENCE, ForeignCore
from utf8fpga.sim.engines.compiled import CompiledModel, Status

ERROR = 1 << 32
"""The flag of an ill-formed word in `Outcome`."""

CHANGED = "the output changed or was withdrawn before its transfer"
_ENDLESS = "there is no end of the output"

_REASONS: dict[int, str] = {
    Status.DONE: "",
    Status.STUCK: f"input.ready was deasserted for {PATIENCE} cycles",
    Status.CHANGED: CHANGED,
    Status.DEASSERTED: CHANGED,
    Status.ENDLESS: _ENDLESS,
    Status.OUTPUT_FULL: _ENDLESS,
}
"""By status of a run, unless there is a violation."""


class Outcome(NamedTuple):
    """What a core did in a run.

    Attributes:
        words: its output words, with the flag `ERROR`.
        ends: for each asserted `last` the number of words up to it.
        reason: why the run was cut off, or what was wrong apart from the words; empty if nothing was.
        cycles: the cycles from the first accepted byte to the last one, both included; 0 without a byte.
    """

    words: array[int]
    ends: array[int]
    reason: str
    cycles: int


class ForeignSimulation:
    """A compiled foreign core."""

    def __init__(self, core: ForeignCore) -> None:
        self.core = core
        self._model = CompiledModel(core, core.entry)

    def run(
        self,
        runs: Sequence[Sequence[bytes]],
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
    ) -> Iterator[Outcome]:
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
        session = self._model.session(input_pauses=input_pauses, output_pauses=output_pauses, gathers=True)
        has_last = "last" in self.core.ports.output
        for words, ends, status, violation, cycles in session.run_each(runs):
            yield Outcome(
                words,
                ends if has_last else array("Q"),
                PARTIAL if violation else _REASONS[status],
                cycles,
            )
